// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/file_budget.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <set>
#include <string>

#include "filter_policy/filter_budget.h"
#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Tree plan ----

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

// ---- File budget ----

namespace {

// Bytes of memory of this machine; 0 if unknown.
uint64_t MachineMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGE_SIZE);
  return pages < 0 || size < 0
             ? 0
             : static_cast<uint64_t>(pages) * static_cast<uint64_t>(size);
}

TreeFilters::Tree TreeOf(const FilterBuildingContext& context,
                         const TreeFilters& filters) {
  const std::string& family = ColumnFamilyOf(context);
  return context.info_log == nullptr
             ? filters.FindTree(family)
             : TreeFilters::Tree{context.info_log, family};
}

}  // namespace

FileBudget::FileBudget(std::shared_ptr<TreeFilters> filters,
                       std::shared_ptr<BudgetLog> log,
                       std::shared_ptr<SampleStore> samples, uint64_t memory,
                       const FilterBuildingContext& context, Env* env)
    : filters_(std::move(filters)),
      log_(std::move(log)),
      samples_(std::move(samples)),
      memory_(memory),
      env_(env),
      info_log_(context.info_log),
      is_flush_(context.reason == TableFileCreationReason::kFlush ||
                context.reason == TableFileCreationReason::kRecovery),
      is_bottommost_(context.is_bottommost),
      is_universal_(context.compaction_style == kCompactionStyleUniversal),
      tree_(TreeOf(context, *filters_)) {
  file_.level = context.level_at_creation;
  const uint64_t machine = MachineMemory();
  if (info_log_ != nullptr && machine > 0 && memory > machine &&
      !log_->beyond_memory.exchange(true)) {
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: filter_budget_bytes=%" PRIu64 " is more than the %" PRIu64
        " bytes of memory that this machine has; filters may take all of it",
        memory, machine);
  }
}

double FileBudget::AverageBits(double otherwise, double min, double max) const {
  double keys = 0;
  FileFilter before;
  for (const TreeFilters::Tree& tree : filters_->TreesWith(tree_)) {
    for (const auto& file :
         filters_->Budgeted(tree, file_.level, &before).files) {
      keys += static_cast<double>(file->keys);
    }
  }
  return keys == 0
             ? otherwise
             : std::clamp(8 * static_cast<double>(memory_) / keys, min, max);
}

void FileBudget::Plan(uint64_t keys, bool more_follow, const Slice& smallest,
                      const Slice& largest) {
  std::vector<BudgetedTree> trees;
  BudgetedFile added;
  added.is_flush = is_flush_;
  added.is_bottommost = is_bottommost_;
  for (const TreeFilters::Tree& tree : filters_->TreesWith(tree_)) {
    FileFilter before;
    trees.push_back(filters_->Budgeted(tree, file_.level, &before));
    added.before = before;  // that of tree_, which comes last
    std::vector<std::string>* const queries = &trees.back().queries;
    for (SampleQuery& query :
         samples_->Queue(tree.column_family, env_, /*logger=*/nullptr)
             ->Snapshot()) {
      queries->push_back(std::move(query.lo));
    }
    std::sort(queries->begin(), queries->end());
  }
  trees.back().is_universal = is_universal_;
  added.keys_in_range = keys;
  if (more_follow) {
    keys = std::max(keys,
                    planned_keys_ > 0
                        ? 2 * planned_keys_
                        : UsualKeys(filters_->FiltersOf(tree_), file_.level));
  }
  // What has been counted of this file is planned again.
  added.before.keys -= std::min(added.before.keys, file_.keys);
  added.before.bits -= std::min(added.before.bits, file_.bits);
  added.file.level = file_.level;
  added.file.keys = keys;
  added.file.smallest = smallest.ToString();
  added.file.largest = largest.ToString();
  const BudgetedBits planned = PlanBits(trees, trees.size() - 1, added,
                                        8 * static_cast<double>(memory_));
  planned_keys_ = keys;
  // A file of which some keys have a filter gets one for the others.
  bits_per_key_ = bits_per_key_ > 0
                      ? std::max(kMinBudgetedBits, planned.per_key)
                      : planned.per_key;
  if (info_log_ == nullptr) return;
  filters_->Expect(tree_, planned.expected_keys);
  if (bits_per_key_ == 0 && !log_->without_filter.exchange(true)) {
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: filter_budget_bytes=%" PRIu64
        " is used up, so that a file of level %d in column family %s gets no "
        "filter: the tree has outgrown it. The largest levels go without "
        "first. Later files that get none are not logged",
        memory_, file_.level, tree_.column_family.c_str());
  }
  constexpr double kMuch = 0.2;  // more than growth alone does
  if (planned.excess > kMuch * 8 * static_cast<double>(memory_) &&
      !log_->exceeded.exchange(true)) {
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: filter_budget_bytes=%" PRIu64
        " is exceeded by %.0f bytes, because older files have the filters of a "
        "smaller tree, until they are compacted. RefreshFilters, or protean "
        "refresh, evens that out now",
        memory_, planned.excess / 8);
  }
}

double FileBudget::BitsFor(uint64_t keys, bool more_follow,
                           const Slice& smallest, const Slice& largest) {
  if (keys > planned_keys_) Plan(keys, more_follow, smallest, largest);
  if (info_log_ != nullptr) {
    FileFilter more;
    more.level = file_.level;
    more.keys = keys - file_.keys;
    more.bits =
        static_cast<uint64_t>(bits_per_key_ * static_cast<double>(more.keys));
    more.smallest = smallest.ToString();
    more.largest = largest.ToString();
    filters_->AddWritten(tree_, more);
    file_.keys += more.keys;
    file_.bits += more.bits;
  }
  return bits_per_key_;
}

}  // namespace ROCKSDB_NAMESPACE::protean
