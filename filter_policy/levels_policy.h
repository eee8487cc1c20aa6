//  A filter policy for each level: the first one of a list for the files of
//  level 0, the next one for those of level 1, and so on; the last one for
//  those of all further levels, and for files that are written outside of a DB.
//  RocksDB's own policies may be in the list, and nullptr for no filter.
//
//  Each policy gives its filters the size that it says (level_bits.h has no
//  part in it). Those that design their filters share one queue of samples,
//  that of the first one of them.

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "filter_policy/protean_filter_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

struct LevelsPolicyOptions {
  static const char* kName() { return "LevelsPolicyOptions"; }

  struct Entry {
    std::string text;  // as it was given
    std::shared_ptr<const FilterPolicy> policy;
  };
  // From level 0 on; at least one.
  std::vector<Entry> policies;
};

// The parts of a list between the commas that are not within braces, as the
// options of a policy are.
std::vector<std::string> SplitPolicies(const std::string& list);

// How options name it; part of a FilterType.
PolicyType LevelsPolicyType();

class LevelsFilterPolicy : public ProteanFilterPolicy {
 public:
  explicit LevelsFilterPolicy(LevelsPolicyOptions options = {});

  static const char* kClassName() { return "protean.Levels"; }
  static const char* kNickName() { return "levels"; }
  const char* Name() const override { return kClassName(); }
  const char* NickName() const override { return kNickName(); }

  // InvalidArgument if the list is empty, if one of the policies refuses the
  // options, or if there are policies of RocksDB's in it and the table factory
  // is not ProteanTable: RocksDB's own cannot read files of several policies.
  Status ValidateOptions(const DBOptions& db_opts,
                         const ColumnFamilyOptions& cf_opts) const override;

  // Nullptr where the file's policy is not one of Protean's: ProteanTable asks
  // ForLevel.
  FilterBitsBuilder* NewBuilder(
      const FilterBuildingContext& context, Env* env,
      std::shared_ptr<UserCollectedProperties> properties) const override;

  bool ForLevel(int level,
                std::shared_ptr<const FilterPolicy>* policy) const override;

  std::shared_ptr<SampleStore> Samples() const override;

 private:
  LevelsPolicyOptions options_;
  // Made when it is first asked for: by then all options are set.
  mutable std::once_flag samples_shared_;
  mutable std::shared_ptr<SampleStore> samples_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
