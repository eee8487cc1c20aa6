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
  const TreeBits bits = policy.BitsInTree();
  if (bits.memory == 0) {
    return bits.average <= 0
               ? 0
               : BitsOfFile(bits.filters->FiltersOf(tree),
                            {file.level, /*is_bottommost=*/false, file.keys},
                            bits.average);
  }
  const BlockBasedTableOptions table;
  // Without a log, the file is not counted as written.
  FilterBuildingContext context(table);
  context.column_family_name = tree.column_family;
  context.level_at_creation = file.level;
  context.reason = TableFileCreationReason::kCompaction;
  return FileBits(bits, policy.Samples(), context, env)
      .BitsFor(file.keys, /*more_follow=*/false, file.smallest, file.largest);
}

std::shared_ptr<TreeFilters> PlanTree(const ProteanFilterPolicy& policy,
                                      const TreeFilters::Tree& tree,
                                      const std::vector<FileFilter>& files) {
  const TreeBits bits = policy.BitsInTree();
  if (files.empty() || (bits.memory == 0 && bits.average <= 0)) return nullptr;
  std::vector<FileFilter> planned = files;
  // The budget is divided as if no file had a filter yet.
  for (FileFilter& file : planned) file.bits = 0;
  if (bits.memory == 0) planned = SettledTree(files, bits.average);
  bits.filters->Plan(tree, std::move(planned));
  return {bits.filters.get(), [filters = bits.filters, tree](TreeFilters*) {
            filters->Plan(tree, std::nullopt);
          }};
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

}  // namespace

FileBits::FileBits(const TreeBits& bits, std::shared_ptr<SampleStore> samples,
                   const FilterBuildingContext& context, Env* env)
    : bits_(bits),
      samples_(std::move(samples)),
      env_(env),
      info_log_(context.info_log),
      is_flush_(context.reason == TableFileCreationReason::kFlush ||
                context.reason == TableFileCreationReason::kRecovery),
      is_bottommost_(context.is_bottommost),
      is_universal_(context.compaction_style == kCompactionStyleUniversal),
      tree_{context.info_log, ColumnFamilyOf(context)} {
  file_.level = context.level_at_creation;
  if (bits.memory == 0) return;
  if (info_log_ == nullptr) {
    tree_ = bits.filters->FindTree(tree_.column_family);
    return;
  }
  const uint64_t machine = MachineMemory();
  if (machine > 0 && bits.memory > machine &&
      !bits.filters->told_beyond_memory.exchange(true)) {
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: filter_budget_bytes=%" PRIu64 " is more than the %" PRIu64
        " bytes of memory that this machine has; filters may take all of it",
        bits.memory, machine);
  }
}

double FileBits::AverageBits(double min, double max) const {
  double keys = 0;
  FileFilter before;
  for (const TreeFilters::Tree& tree : bits_.filters->TreesWith(tree_)) {
    for (const auto& file :
         bits_.filters->Budgeted(tree, file_.level, &before).files) {
      keys += static_cast<double>(file->keys);
    }
  }
  return keys == 0 ? bits_.average
                   : std::clamp(8 * static_cast<double>(bits_.memory) / keys,
                                min, max);
}

void FileBits::Plan(bool more_follow, const Slice& largest) {
  std::vector<BudgetedTree> trees;
  BudgetedFile added;
  added.is_flush = is_flush_;
  added.is_bottommost = is_bottommost_;
  for (const TreeFilters::Tree& tree : bits_.filters->TreesWith(tree_)) {
    added.before = FileFilter();  // that of tree_, which comes last
    trees.push_back(bits_.filters->Budgeted(tree, file_.level, &added.before));
    std::vector<std::string>* const queries = &trees.back().queries;
    for (SampleQuery& query :
         samples_->Queue(tree.column_family, env_, /*logger=*/nullptr)
             ->Snapshot()) {
      queries->push_back(std::move(query.lo));
    }
    std::sort(queries->begin(), queries->end());
  }
  trees.back().is_universal = is_universal_;
  added.keys_in_range = keys_;
  uint64_t keys = keys_;
  if (more_follow) {
    keys = std::max(
        keys, planned_keys_ > 0
                  ? 2 * planned_keys_
                  : UsualKeys(bits_.filters->FiltersOf(tree_), file_.level));
  }
  // What has been counted of this file is planned again.
  added.before.keys -= std::min(added.before.keys, file_.keys);
  added.before.bits -= std::min(added.before.bits, file_.bits);
  added.file = {file_.level, keys, /*bits=*/0, smallest_, largest.ToString()};
  const BudgetedBits planned = PlanBits(trees, trees.size() - 1, added,
                                        8 * static_cast<double>(bits_.memory));
  planned_keys_ = keys;
  // A file of which some keys have a filter gets one for the others.
  bits_per_key_ = bits_per_key_ > 0
                      ? std::max(kMinBudgetedBits, planned.per_key)
                      : planned.per_key;
  if (info_log_ == nullptr) return;
  bits_.filters->Expect(tree_, planned.expected_keys);
  if (bits_per_key_ == 0 &&
      !bits_.filters->told_without_filter.exchange(true)) {
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: filter_budget_bytes=%" PRIu64
        " is used up, so that a file of level %d in column family %s gets no "
        "filter: the tree has outgrown it. The largest levels go without "
        "first. Later files that get none are not logged",
        bits_.memory, file_.level, tree_.column_family.c_str());
  }
  constexpr double kMuch = 0.2;  // more than growth alone does
  if (planned.excess > kMuch * 8 * static_cast<double>(bits_.memory) &&
      !bits_.filters->told_exceeded.exchange(true)) {
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: filter_budget_bytes=%" PRIu64
        " is exceeded by %.0f bytes, because older files have the filters of a "
        "smaller tree, until they are compacted. RefreshFilters, or protean "
        "refresh, evens that out now",
        bits_.memory, planned.excess / 8);
  }
}

double FileBits::BitsFor(uint64_t keys, bool more_follow, const Slice& smallest,
                         const Slice& largest) {
  if (keys_ == 0) smallest_ = smallest.ToString();
  keys_ += keys;
  if (bits_.memory == 0) {
    // Looking at the tree takes time. Groups look again only when the keys have
    // become twice as many.
    if (bits_per_key_ == 0 || keys_ >= 2 * planned_keys_) {
      const std::vector<FileFilter> others = bits_.filters->FiltersOf(tree_);
      planned_keys_ =
          more_follow ? std::max(keys_, UsualKeys(others, file_.level)) : keys_;
      bits_per_key_ = BitsOfFile(
          others, {file_.level, is_bottommost_, planned_keys_}, bits_.average);
    }
    return bits_per_key_;
  }
  if (keys_ > planned_keys_) Plan(more_follow, largest);
  if (info_log_ != nullptr) {
    const auto bits =
        static_cast<uint64_t>(bits_per_key_ * static_cast<double>(keys));
    bits_.filters->AddWritten(
        tree_, {file_.level, keys, bits, smallest_, largest.ToString()});
    file_.keys += keys;
    file_.bits += bits;
  }
  return bits_per_key_;
}

}  // namespace ROCKSDB_NAMESPACE::protean
