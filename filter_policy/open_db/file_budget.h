// SPDX-License-Identifier: Apache-2.0

//  The bits per key of one file's filter, where they depend on the filters of
//  the other files: what filter_budget.h decides, for the tree as it is known
//  when the file's keys have come.
//
//  RocksDB does not tell a filter policy what is in the tree; the readers of
//  the SST files do, so only open files are known. A budget in bytes also
//  depends on files that other policies have opened, as after a change of
//  options, and on the files of a compaction, which RocksDB opens when all of
//  them are written.

#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "filter_policy/filter_budget.h"
#include "filter_policy/samples/sample_store.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Tree filters ----

// The filters of the trees of one filter policy. Thread safe.
class TreeFilters : public std::enable_shared_from_this<TreeFilters> {
 public:
  // A column family. The log tells apart the DBs that share a policy.
  struct Tree {
    const Logger* info_log = nullptr;
    std::string column_family;

    bool operator<(const Tree& other) const {
      return std::tie(info_log, column_family) <
             std::tie(other.info_log, other.column_family);
    }
  };

  TreeFilters();
  ~TreeFilters();
  TreeFilters(const TreeFilters&) = delete;
  TreeFilters& operator=(const TreeFilters&) = delete;

  // Lists the filter of an open file in its tree for as long as the result
  // lives.
  std::shared_ptr<void> Add(const Tree& tree, const FileFilter& file);

  // The sizes of the filters of the tree: those of its plan if it has one, else
  // those of its open files, whose keys are not copied.
  std::vector<FileFilter> FiltersOf(const Tree& tree) const;

  // The trees with files, and `tree`, which comes last.
  std::vector<Tree> TreesWith(const Tree& tree) const;
  // The tree of the column family if there is exactly one; else without a log.
  Tree FindTree(const std::string& column_family) const;

  // The open files of a tree, whichever policy has opened them, and those that
  // have been written to it; or only those of its plan. What this thread has
  // written to `level` is not in the result, but added to `*before`.
  BudgetedTree Budgeted(const Tree& tree, int level, FileFilter* before) const;

  // Counts a file that this thread has written, until a file of its level is
  // opened.
  void AddWritten(const Tree& tree, const FileFilter& file);

  // Sets BudgetedTree::expected_keys.
  void Expect(const Tree& tree, double keys) {
    const Lock lock(mutex_);
    states_[tree].expected_keys = keys;
  }

  // Plans a tree, or ends its plan. If it is planned twice at a time, the later
  // plan counts until either ends.
  void Plan(const Tree& tree, std::optional<std::vector<FileFilter>> files) {
    const Lock lock(mutex_);
    // A tree whose plan has ended may be gone.
    if (!files.has_value() && states_.count(tree) == 0) return;
    states_[tree].plan = std::move(files);
  }

  // Each is true once the log has been told of it, which happens once: a file
  // without a filter, a budget that is exceeded, one beyond the memory.
  std::atomic<bool> told_without_filter{false};
  std::atomic<bool> told_exceeded{false};
  std::atomic<bool> told_beyond_memory{false};

 private:
  using Lock = std::lock_guard<std::mutex>;
  using Files = std::list<std::shared_ptr<const FileFilter>>;

  // One tree.
  struct State {
    Files files;
    std::optional<std::vector<FileFilter>> plan;  // of PlanTree
    // The sums of what each thread has written to each level.
    std::map<std::pair<int, std::thread::id>, FileFilter> written;
    double expected_keys = 0;
  };

  // Requires mutex_.
  const State* Find(const Tree& tree) const {
    const auto found = states_.find(tree);
    return found == states_.end() ? nullptr : &found->second;
  }

  mutable std::mutex mutex_;
  std::map<Tree, State> states_;
};

// ---- Tree plan ----

// The tree as it will be once all of its files have been rewritten under a
// policy whose filters share their memory: level_bits=kAuto or
// filter_budget_bytes (filter_budget.h). The bits of a file depend on the
// filters of all others, so files that are rewritten one after the other would
// reach their sizes only when all have been rewritten several times. While a
// plan lives, each new file gets its final size at once.

class ProteanFilterPolicy;

// The bits per key that the policy would now give a file of the tree, which is
// of the DB with this Env; 0 if they do not depend on other files.
double BitsOfFileNow(const ProteanFilterPolicy& policy,
                     const TreeFilters::Tree& tree, const FileFilter& file,
                     Env* env);

// Plans the tree, which has these files, whatever their bits are, for as long
// as the result lives. Nullptr if there are none, or if bits do not depend on
// other files.
std::shared_ptr<TreeFilters> PlanTree(const ProteanFilterPolicy& policy,
                                      const TreeFilters::Tree& tree,
                                      const std::vector<FileFilter>& files);

// ---- File budget ----

// The bits per key of the filter of one file, whose keys come in groups. Not
// thread safe.
class FileBits {
 public:
  // The budget is `memory` bytes for all trees of `filters`; or 0, if the
  // filters of the tree are to have `average` bits per key. The log of
  // `context` outlives this object. It is absent if the filter is built on
  // trial: the file is then not counted as written, and with a budget, its
  // column family alone tells which tree it belongs to.
  FileBits(std::shared_ptr<TreeFilters> filters,
           std::shared_ptr<SampleStore> samples, uint64_t memory,
           double average, const FilterBuildingContext& context, Env* env);

  // Bits per key of a budget over all trees, within the limits; the average if
  // there are no files.
  double AverageBits(double min, double max) const;

  // Returns the bits per key, or 0 for no filter, of a file that has `keys`
  // keys more, in this range. If `more_follow`, it is called again: the result
  // changes if the keys are twice as many as was expected.
  double BitsFor(uint64_t keys, bool more_follow, const Slice& smallest,
                 const Slice& largest);

 private:
  // Plans the keys so far, of which this is the largest one, in the budget.
  void Plan(bool more_follow, const Slice& largest);

  const std::shared_ptr<TreeFilters> filters_;
  const std::shared_ptr<SampleStore> samples_;
  const uint64_t memory_;
  const double average_;
  Env* const env_;
  Logger* const info_log_;
  const bool is_universal_;
  TreeFilters::Tree tree_;
  // The file: `file.keys` is the planned number of its keys, 0 before the first
  // plan, and `keys_in_range` the number of those that have come.
  BudgetedFile file_;
  // The keys that have been counted as written, and the bits of their filters.
  uint64_t counted_keys_ = 0;
  uint64_t counted_bits_ = 0;
  double bits_per_key_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
