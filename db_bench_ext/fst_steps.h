//  The trie of SuRF-Base as it would be without some of its parts, for
//  benchmarks only.

#pragma once

#include <string>

#include "filter_policy/surf/surf_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

// What FstStepsPolicy::Create takes, for messages.
extern const char kFstSteps[];

// Builds a SuRF-Base whose trie has the parts up to one step, in this order:
//   sparse      LOUDS-Sparse on all levels
//   dense       LOUDS-Dense above it, as in the SuRF paper
//   quotient    LOUDS-Quotient between the two
//   exceptions  edges to nodes, or to leaves, listed where they are few
//   alphabet    labels of as few bits as the bytes that occur need
//   runs        paths without forks in one node
class FstStepsPolicy : public SurfFilterPolicy {
 public:
  // Nullptr if there is no such step.
  static std::shared_ptr<const FilterPolicy> Create(const std::string& step);

  std::unique_ptr<RangeFilterBuilder> NewRangeFilterBuilder(
      const FilterBuildingContext& /*context*/, Env* /*env*/) const override;

 private:
  explicit FstStepsPolicy(size_t steps);

  const size_t steps_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
