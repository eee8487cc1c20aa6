// SPDX-License-Identifier: Apache-2.0

//  Designs of Proteus, 1PBF and 2PBF that are chosen by hand instead of by the
//  model, to compare its predictions with the observed rates (Proteus paper,
//  section 5.1). For benchmarks only.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/proteus/proteus_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

// The specs that DesignPolicy::Create accepts, for messages.
std::string DesignForm();

// Builds filters of one design for all keys and queries. They predict their
// false positive rate from samples, like filters that chose their design
// themselves.
class DesignPolicy : public ProteanFilterPolicy {
 public:
  // `spec` is design:BITS_PER_KEY:PART:... with one part or several, in any
  // order:
  //   trieN              a trie of N bits
  //   leadN              the trie has N zeros in front of its prefixes
  //   firstN             2PBF: the first set has prefixes of N bits
  //   shareN             2PBF: the first set gets N percent of the memory;
  //                      default: 50
  //   bloomN, ribbonN, or another AMQ: the second layer has prefixes of N bits
  //   strideN            the second layer continues with a prefix every N bits
  // Nullptr if it is anything else.
  static std::shared_ptr<const FilterPolicy> Create(const std::string& spec);

  const char* Name() const override { return "protean.bench.Design"; }
  FileBuilders NewFileBuilders(const FilterBuildingContext& context, Env* env,
                               uint64_t price) const override;
  std::shared_ptr<SampleStore> Samples() const override { return samples_; }

 private:
  explicit DesignPolicy(ProteusSettings settings)
      : settings_(std::move(settings)),
        samples_(std::make_shared<SampleStore>(SampleStoreOptions())) {}

  const ProteusSettings settings_;
  const std::shared_ptr<SampleStore> samples_;
};

// The spaces that --designs accepts, for messages.
std::string DesignSpaceForm();

// All designs of a space as specs for DesignPolicy. `space` is 1pbf, 2pbf or
// proteus, then :BITS_PER_KEY, then optionally : and an AMQ; InvalidArgument if
// it is anything else. Tries have their best lead, and those that exceed the
// memory are left out; the sets of 2PBF share the memory evenly. `keys` ascend.
Status DesignsOf(const std::string& space, const std::vector<std::string>& keys,
                 std::vector<std::string>* specs);

}  // namespace ROCKSDB_NAMESPACE::protean
