// SPDX-License-Identifier: Apache-2.0

//  A filter policy for each level. The first policy of a list is for the files
//  of level 0, the next one for level 1, and so on. The last policy is for all
//  further levels, and for files that are written outside of a DB. The list may
//  have RocksDB's own policies, and nullptr for no filter.
//
//  The rule of filter_budget.h for levels is not applied. Policies that design
//  their filters share one store of samples, that of the first one of them.

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
    std::string text;  // as given in the options
    std::shared_ptr<const FilterPolicy> policy;
  };
  // Policies from level 0 on; at least one.
  std::vector<Entry> policies;
};

// Splits a list at its commas, except for commas within braces, which belong to
// the options of a policy.
std::vector<std::string> SplitPolicies(const std::string& list);

// The policy as an entry of a list says it, so that the list can be read again;
// "nullptr" for none.
std::string TextOf(const FilterPolicy* policy);

// The policy's names in options; part of a FilterType.
PolicyType LevelsPolicyType();

class LevelsFilterPolicy : public ProteanFilterPolicy {
 public:
  explicit LevelsFilterPolicy(LevelsPolicyOptions options = {});

  static const char* kClassName() { return "protean.Levels"; }
  static const char* kNickName() { return "levels"; }
  const char* Name() const override { return kClassName(); }
  const char* NickName() const override { return kNickName(); }

  // InvalidArgument if the list is empty, if one of the policies is a list, if
  // two of them have a budget, if one refuses the options, or if one is
  // RocksDB's, whose own table factory cannot read files of several policies.
  Status ValidateOptions(const DBOptions& db_opts,
                         const ColumnFamilyOptions& cf_opts) const override;

  // Makes no filter where the file's policy is one of RocksDB's: ProteanTable
  // asks that policy.
  FileBuilders NewFileBuilders(const FilterBuildingContext& context, Env* env,
                               uint64_t price) const override;

  const FilterPolicy* ForLevel(int level) const override;

  std::shared_ptr<SampleStore> Samples() const override;

  // Filters and FilterMemory return what the one policy with a budget returns.
  std::shared_ptr<TreeFilters> Filters() const override;
  uint64_t FilterMemory() const override;
  std::shared_ptr<void> SearchAllDesigns() const override;

 private:
  // The policies of Protean, in order.
  std::vector<const ProteanFilterPolicy*> Own() const;
  // The policy that has a budget, or nullptr.
  const ProteanFilterPolicy* Budgeted() const;

  LevelsPolicyOptions options_;
  // Set by the first call of Samples(), when all options are known.
  mutable std::once_flag samples_shared_;
  mutable std::shared_ptr<SampleStore> samples_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
