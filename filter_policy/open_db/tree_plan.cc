// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/tree_plan.h"

#include <cstdlib>
#include <string>

#include "filter_policy/open_db/file_budget.h"
#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The bits per key that the files of a tree have on average under a policy with
// level_bits=kAuto; 0 for other policies.
double AverageBits(const ProteanFilterPolicy& policy) {
  const ConfigOptions config;
  std::string text;
  if (policy.FilterMemory() > 0 ||
      !policy.GetOption(config, "level_bits", &text).ok() || text != "kAuto" ||
      !policy.GetOption(config, "bits_per_key", &text).ok()) {
    return 0;
  }
  return strtod(text.c_str(), nullptr);
}

// The bits per key that the budget would now give a file.
double BudgetedBitsNow(const ProteanFilterPolicy& policy,
                       const std::string& column_family, const FileFilter& file,
                       Env* env) {
  const BlockBasedTableOptions table;
  // Without a log, the file is not counted as written.
  FilterBuildingContext context(table);
  context.column_family_name = column_family;
  context.level_at_creation = file.level;
  context.reason = TableFileCreationReason::kCompaction;
  return FileBudget(policy.Filters(), std::make_shared<BudgetLog>(),
                    policy.Samples(), policy.FilterMemory(), context, env)
      .BitsFor(file.keys, /*more_follow=*/false, file.smallest, file.largest);
}

}  // namespace

double BitsOfFileNow(const ProteanFilterPolicy& policy,
                     const TreeFilters::Tree& tree, const FileFilter& file,
                     Env* env) {
  const auto filters = policy.Filters();
  if (filters == nullptr) return 0;
  if (policy.FilterMemory() > 0) {
    return BudgetedBitsNow(policy, tree.column_family, file, env);
  }
  const double bits_per_key = AverageBits(policy);
  return bits_per_key <= 0
             ? 0
             : BitsOfFile(filters->FiltersOf(tree),
                          {file.level, /*is_bottommost=*/false, file.keys},
                          bits_per_key);
}

TreePlan::TreePlan(const ProteanFilterPolicy& policy,
                   const TreeFilters::Tree& tree,
                   const std::vector<FileFilter>& files)
    : tree_(tree) {
  const double bits_per_key = AverageBits(policy);
  const bool has_budget = policy.FilterMemory() > 0;
  if (files.empty() || (bits_per_key <= 0 && !has_budget)) return;
  filters_ = policy.Filters();
  if (filters_ == nullptr) return;
  std::vector<FileFilter> planned = files;
  // The budget is divided as if no file had a filter yet.
  for (FileFilter& file : planned) file.bits = 0;
  if (!has_budget) planned = SettledTree(files, bits_per_key);
  filters_->Plan(tree_, std::move(planned));
}

TreePlan::~TreePlan() {
  if (filters_ != nullptr) filters_->EndPlan(tree_);
}

}  // namespace ROCKSDB_NAMESPACE::protean
