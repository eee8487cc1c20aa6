// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/file_budget.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <set>

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/table.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Tree filters ----

namespace {

// All objects of this process. Its mutex is locked before theirs.
struct AllTreeFilters {
  std::mutex mutex;
  std::set<const TreeFilters*> all;
};

AllTreeFilters& All() {
  static auto* const all = new AllTreeFilters;
  return *all;
}

}  // namespace

TreeFilters::TreeFilters() {
  const Lock lock(All().mutex);
  All().all.insert(this);
}

TreeFilters::~TreeFilters() {
  const Lock lock(All().mutex);
  All().all.erase(this);
}

std::vector<FileFilter> TreeFilters::FiltersOf(const Tree& tree) const {
  std::vector<FileFilter> found;
  const Lock lock(mutex_);
  const State* const state = Find(tree);
  if (state == nullptr) return found;
  if (state->plan.has_value()) return *state->plan;
  found.reserve(state->files.size());
  for (const auto& file : state->files) {
    found.push_back({file->level, file->keys, file->bits, "", ""});
  }
  return found;
}

std::vector<TreeFilters::Tree> TreeFilters::TreesWith(const Tree& tree) const {
  const Lock lock(mutex_);
  std::vector<Tree> trees;
  for (const auto& [other, state] : states_) {
    const bool is_other = other < tree || tree < other;
    if (is_other && !state.files.empty()) trees.push_back(other);
  }
  trees.push_back(tree);
  return trees;
}

TreeFilters::Tree TreeFilters::FindTree(
    const std::string& column_family) const {
  const Lock lock(mutex_);
  const Tree unknown = {nullptr, column_family};
  Tree found = unknown;
  for (const auto& [tree, state] : states_) {
    if (tree.column_family != column_family || state.files.empty()) continue;
    if (found.info_log != nullptr) return unknown;
    found = tree;
  }
  return found;
}

BudgetedTree TreeFilters::Budgeted(const Tree& tree, int level,
                                   FileFilter* before) const {
  BudgetedTree result;
  {
    const Lock lock(mutex_);
    const State* const state = Find(tree);
    if (state != nullptr && state->plan.has_value()) {
      for (const FileFilter& file : *state->plan) {
        result.files.push_back(std::make_shared<const FileFilter>(file));
      }
      return result;
    }
  }
  const Lock lock_all(All().mutex);
  for (const TreeFilters* filters : All().all) {
    // Without a log, trees of different DBs are not told apart.
    if (filters != this && tree.info_log == nullptr) continue;
    const Lock lock(filters->mutex_);
    const State* const state = filters->Find(tree);
    if (state == nullptr) continue;
    if (filters == this) result.expected_keys = state->expected_keys;
    result.files.insert(result.files.end(), state->files.begin(),
                        state->files.end());
    for (const auto& [writer, sum] : state->written) {
      if (writer == std::make_pair(level, std::this_thread::get_id())) {
        AddTo(before, sum);
      } else {
        result.written.push_back(sum);
      }
    }
  }
  return result;
}

void TreeFilters::AddWritten(const Tree& tree, const FileFilter& file) {
  const Lock lock(mutex_);
  AddTo(&states_[tree].written[{file.level, std::this_thread::get_id()}], file);
}

std::shared_ptr<void> TreeFilters::Add(const Tree& tree,
                                       const FileFilter& file) {
  Files::iterator place;
  {
    const Lock lock(mutex_);
    State& state = states_[tree];
    for (auto sum = state.written.begin(); sum != state.written.end();) {
      sum = sum->first.first == file.level ? state.written.erase(sum)
                                           : std::next(sum);
    }
    place = state.files.insert(state.files.end(),
                               std::make_shared<const FileFilter>(file));
  }
  return {nullptr, [trees = shared_from_this(), tree, place](void*) {
            const Lock lock(trees->mutex_);
            const auto found = trees->states_.find(tree);
            State& state = found->second;
            state.files.erase(place);
            if (!state.files.empty()) return;
            // Another DB may get a log at the same address.
            state.expected_keys = 0;
            if (!state.plan.has_value() && state.written.empty()) {
              trees->states_.erase(found);
            }
          }};
}

// ---- Tree plan ----

double BitsOfFileNow(const ProteanFilterPolicy& policy,
                     const TreeFilters::Tree& tree, const FileFilter& file,
                     Env* env) {
  const auto filters = policy.Filters();
  if (filters == nullptr) return 0;
  if (policy.FilterMemory() == 0) {
    const double average = policy.AverageBits();
    return average <= 0 ? 0
                        : BitsOfFile(filters->FiltersOf(tree), file,
                                     /*is_bottommost=*/false, average);
  }
  const BlockBasedTableOptions table;
  // Without a log, the file is not counted as written.
  FilterBuildingContext context(table);
  context.column_family_name = tree.column_family;
  context.level_at_creation = file.level;
  context.reason = TableFileCreationReason::kCompaction;
  return FileBits(filters, policy.Samples(), policy.FilterMemory(),
                  /*average=*/0, context, env)
      .BitsFor(file.keys, /*more_follow=*/false, file.smallest, file.largest);
}

std::shared_ptr<TreeFilters> PlanTree(const ProteanFilterPolicy& policy,
                                      const TreeFilters::Tree& tree,
                                      const std::vector<FileFilter>& files) {
  const double bits_per_key = policy.AverageBits();
  const bool has_budget = policy.FilterMemory() > 0;
  const auto filters = policy.Filters();
  if (files.empty() || (bits_per_key <= 0 && !has_budget) ||
      filters == nullptr) {
    return nullptr;
  }
  std::vector<FileFilter> planned = files;
  // The budget is divided as if no file had a filter yet.
  for (FileFilter& file : planned) file.bits = 0;
  if (!has_budget) planned = SettledTree(files, bits_per_key);
  filters->Plan(tree, std::move(planned));
  return {filters.get(),
          [filters, tree](TreeFilters*) { filters->Plan(tree, std::nullopt); }};
}

// ---- File budget ----

FileBits::FileBits(std::shared_ptr<TreeFilters> filters,
                   std::shared_ptr<SampleStore> samples, uint64_t memory,
                   double average, const FilterBuildingContext& context,
                   Env* env)
    : filters_(std::move(filters)),
      samples_(std::move(samples)),
      memory_(memory),
      average_(average),
      env_(env),
      info_log_(context.info_log),
      is_universal_(context.compaction_style == kCompactionStyleUniversal),
      tree_{context.info_log, ColumnFamilyOf(context)} {
  if (memory > 0 && info_log_ == nullptr) {
    tree_ = filters_->FindTree(tree_.column_family);
  }
  file_.is_flush = context.reason == TableFileCreationReason::kFlush ||
                   context.reason == TableFileCreationReason::kRecovery;
  file_.is_bottommost = context.is_bottommost;
  file_.file.level = context.level_at_creation;
  if (memory == 0 || info_log_ == nullptr) return;
  // sysconf returns a negative number for what it does not know.
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGE_SIZE);
  const uint64_t machine =
      static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_size);
  if (pages > 0 && page_size > 0 && memory > machine &&
      !filters_->told_beyond_memory.exchange(true)) {
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: filter_budget_bytes=%" PRIu64 " is more than the %" PRIu64
        " bytes of memory that this machine has; filters may take all of it",
        memory, machine);
  }
}

double FileBits::AverageBits(double min, double max) const {
  double keys = 0;
  FileFilter before;
  for (const TreeFilters::Tree& tree : filters_->TreesWith(tree_)) {
    for (const auto& file :
         filters_->Budgeted(tree, file_.file.level, &before).files) {
      keys += static_cast<double>(file->keys);
    }
  }
  return keys == 0
             ? average_
             : std::clamp(8 * static_cast<double>(memory_) / keys, min, max);
}

void FileBits::Plan(bool more_follow, const Slice& largest) {
  std::vector<BudgetedTree> trees;
  FileFilter& before = file_.before;
  for (const TreeFilters::Tree& tree : filters_->TreesWith(tree_)) {
    before = FileFilter();  // that of tree_, which comes last
    trees.push_back(filters_->Budgeted(tree, file_.file.level, &before));
    std::vector<std::string>* const queries = &trees.back().queries;
    for (SampleQuery& query :
         samples_->Queue(tree.column_family, env_, /*logger=*/nullptr)
             ->Snapshot()) {
      queries->push_back(std::move(query.lo));
    }
    std::sort(queries->begin(), queries->end());
  }
  trees.back().is_universal = is_universal_;
  const uint64_t expected =
      !more_follow ? 0
      : file_.file.keys > 0
          ? 2 * file_.file.keys
          : UsualKeys(filters_->FiltersOf(tree_), file_.file.level);
  file_.file.keys = std::max(file_.keys_in_range, expected);
  // What has been counted of this file is planned again.
  before.keys -= std::min(before.keys, counted_keys_);
  before.bits -= std::min(before.bits, counted_bits_);
  file_.file.largest = largest.ToString();
  const BudgetedBits planned = PlanBits(trees, trees.size() - 1, file_,
                                        8 * static_cast<double>(memory_));
  // A file of which some keys have a filter gets one for the others.
  bits_per_key_ = bits_per_key_ > 0
                      ? std::max(kMinBudgetedBits, planned.per_key)
                      : planned.per_key;
  if (info_log_ == nullptr) return;
  filters_->Expect(tree_, planned.expected_keys);
  if (bits_per_key_ == 0 && !filters_->told_without_filter.exchange(true)) {
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: filter_budget_bytes=%" PRIu64
        " is used up, so that a file of level %d in column family %s gets no "
        "filter: the tree has outgrown it. The largest levels go without "
        "first. Later files that get none are not logged",
        memory_, file_.file.level, tree_.column_family.c_str());
  }
  constexpr double kMuch = 0.2;  // more than growth alone does
  if (planned.excess > kMuch * 8 * static_cast<double>(memory_) &&
      !filters_->told_exceeded.exchange(true)) {
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: filter_budget_bytes=%" PRIu64
        " is exceeded by %.0f bytes, because older files have the filters of a "
        "smaller tree, until they are compacted. RefreshFilters, or protean "
        "refresh, evens that out now",
        memory_, planned.excess / 8);
  }
}

double FileBits::BitsFor(uint64_t keys, bool more_follow, const Slice& smallest,
                         const Slice& largest) {
  FileFilter& file = file_.file;
  uint64_t& so_far = file_.keys_in_range;
  if (so_far == 0) file.smallest = smallest.ToString();
  so_far += keys;
  if (memory_ == 0) {
    // Looking at the tree takes time. Groups look again only when the keys have
    // become twice as many.
    if (bits_per_key_ == 0 || so_far >= 2 * file.keys) {
      const std::vector<FileFilter> others = filters_->FiltersOf(tree_);
      file.keys = more_follow ? std::max(so_far, UsualKeys(others, file.level))
                              : so_far;
      bits_per_key_ = BitsOfFile(others, file, file_.is_bottommost, average_);
    }
    return bits_per_key_;
  }
  if (so_far > file.keys) Plan(more_follow, largest);
  if (info_log_ != nullptr) {
    const auto bits =
        static_cast<uint64_t>(bits_per_key_ * static_cast<double>(keys));
    filters_->AddWritten(
        tree_, {file.level, keys, bits, file.smallest, largest.ToString()});
    counted_keys_ += keys;
    counted_bits_ += bits;
  }
  return bits_per_key_;
}

}  // namespace ROCKSDB_NAMESPACE::protean
