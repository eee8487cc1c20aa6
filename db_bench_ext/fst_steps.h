// SPDX-License-Identifier: Apache-2.0

//  The trie of SuRF-Base without some of its parts, for benchmarks only.

#pragma once

#include <string>

#include "filter_policy/surf/surf_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

// The steps that FstStepsPolicy::Create accepts, for messages.
extern const char kFstSteps[];

// Builds a SuRF-Base whose trie has the parts up to one step, in this order:
//   sparse      LOUDS-Sparse on all levels
//   dense       LOUDS-Dense above it, as in the SuRF paper
//   quotient    LOUDS-Quotient between the two
//   exceptions  lists of the edges to nodes, or to leaves, where they are few
//   alphabet    labels with only as many bits as the bytes in use need
//   runs        paths without forks stored as one node
//   digits      text in an order-preserving code, where that is smaller
class FstStepsPolicy : public SurfFilterPolicy {
 public:
  // Nullptr if there is no such step.
  static std::shared_ptr<const FilterPolicy> Create(const std::string& step);

  FileBuilders NewFileBuilders(const FilterBuildingContext& context, Env* env,
                               uint64_t price) const override;

 private:
  explicit FstStepsPolicy(size_t steps);

  const size_t steps_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
