//  Designs of Proteus, 1PBF and 2PBF that are chosen by hand instead of by the
//  model, to compare what it predicts for them with what they do (Proteus
//  paper, section 5.1). For benchmarks only.

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/proteus/proteus_builder.h"

namespace ROCKSDB_NAMESPACE::protean {

// What DesignPolicy::Create takes, for messages.
std::string DesignForm();

// Builds filters of one design, whatever keys and queries are. They predict
// their false positive rate from samples as a filter does that chose its design
// itself.
class DesignPolicy : public RangeFilterPolicy {
 public:
  // `spec` is design:BITS_PER_KEY:PART:... with one part or several, in any
  // order:
  //   trieN              a trie of N bits
  //   leadN              with N zeros in front of its prefixes
  //   firstN             2PBF: the first set is of N bits,
  //   shareN             and gets N percent of the memory; 50 unless given
  //   bloomN, ribbonN, or another AMQ: the second layer is of N bits
  //   strideN            and a series that goes on every N bits
  // Nullptr if it is anything else.
  static std::shared_ptr<const FilterPolicy> Create(const std::string& spec);

  const char* Name() const override { return "protean.bench.Design"; }
  FilterKind kind() const override { return kProteusKind; }
  std::unique_ptr<RangeFilterBuilder> NewRangeFilterBuilder(
      const FilterBuildingContext& context, Env* env) const override;
  std::shared_ptr<SampleStore> Samples() const override { return samples_; }

 private:
  explicit DesignPolicy(ProteusSettings settings)
      : settings_(std::move(settings)),
        samples_(std::make_shared<SampleStore>(SampleStoreOptions())) {}

  const ProteusSettings settings_;
  const std::shared_ptr<SampleStore> samples_;
};

// What --designs takes, for messages.
std::string DesignSpaceForm();

// All designs of a space as specs for DesignPolicy: `space` is 1pbf, 2pbf or
// proteus, then :BITS_PER_KEY, then perhaps : and an AMQ. Tries have the
// lead that suits them, and those that do not fit are left out; sets of 2PBF
// share the memory evenly. `keys` ascend.
// InvalidArgument if `space` is anything else.
Status DesignsOf(const std::string& space, const std::vector<std::string>& keys,
                 std::vector<std::string>* specs);

}  // namespace ROCKSDB_NAMESPACE::protean
