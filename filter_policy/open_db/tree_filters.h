// SPDX-License-Identifier: Apache-2.0

//  The filters of the open files of each tree, by which the sizes of new
//  filters are planned (level_bits.h). RocksDB does not tell a filter policy
//  what is in the tree; the readers of the SST files do. With max_open_files =
//  -1, RocksDB's default, all files are open; otherwise only the most recently
//  used ones are listed.
//
//  A budget in bytes (filter_budget.h) also depends on files that other
//  policies have opened, as after a change of options, and on files that have
//  been written but are not open yet: RocksDB opens the files of a compaction
//  when all of them are written.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "filter_policy/filter_budget.h"
#include "rocksdb/env.h"

namespace ROCKSDB_NAMESPACE::protean {

// The trees of one filter policy. Thread safe.
class TreeFilters {
 public:
  // A column family of a DB. The log tells apart the DBs that share a policy.
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

  // The sizes of the filters of the tree: those of its plan if it has one, else
  // those of its open files. The rule of level_bits.h asks for them with each
  // file that is written, so the keys of open files are not copied.
  std::vector<FileFilter> FiltersOf(const Tree& tree) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto plan = plans_.find(tree);
    return plan == plans_.end() ? FiltersOf(tree, lock) : plan->second;
  }

  // The trees with files, and `tree`, which comes last.
  std::vector<Tree> TreesWith(const Tree& tree) const;
  // The tree of the column family if there is exactly one; else without a log.
  Tree FindTree(const std::string& column_family) const;

  // The open files of a tree, whichever policy has opened them, and the files
  // that have been written to it. `*before` is the sum of those that this
  // thread has written to `level`, which are not in the result. If the tree has
  // a plan, only the files of that.
  BudgetedTree Budgeted(const Tree& tree, int level, FileFilter* before) const;

  // Counts a file that this thread has written, until a file of its level is
  // opened.
  void AddWritten(const Tree& tree, const FileFilter& file);

  // Stores the number of keys that a tree is planned for, which Budgeted
  // returns.
  void Expect(const Tree& tree, double keys) {
    const Lock lock(mutex_);
    expected_keys_[tree] = keys;
  }

 private:
  friend class TreeEntry;
  friend class TreePlan;
  using Files = std::multimap<Tree, std::shared_ptr<const FileFilter>>;
  using Lock = std::lock_guard<std::mutex>;

  std::vector<FileFilter> FiltersOf(const Tree& tree, const Lock&) const {
    std::vector<FileFilter> found;
    const auto range = files_.equal_range(tree);
    for (auto file = range.first; file != range.second; ++file) {
      const FileFilter& filter = *file->second;
      found.push_back({filter.level, filter.keys, filter.bits, "", ""});
    }
    return found;
  }
  Files::iterator Add(Tree tree, const FileFilter& file);
  // If a tree is planned twice at a time, the later plan counts until either
  // ends.
  void Plan(const Tree& tree, std::vector<FileFilter> files) {
    const Lock lock(mutex_);
    plans_[tree] = std::move(files);
  }
  void EndPlan(const Tree& tree) {
    const Lock lock(mutex_);
    plans_.erase(tree);
  }

  mutable std::mutex mutex_;
  Files files_;
  std::map<Tree, std::vector<FileFilter>> plans_;  // of tree_plan.h
  std::map<Tree, std::map<std::pair<int, std::thread::id>, FileFilter>>
      written_;
  std::map<Tree, double> expected_keys_;
};

// One file's filter, listed in its tree for as long as this object lives.
class TreeEntry {
 public:
  TreeEntry(std::shared_ptr<TreeFilters> trees, TreeFilters::Tree tree,
            const FileFilter& file)
      : trees_(std::move(trees)), place_(trees_->Add(std::move(tree), file)) {}
  ~TreeEntry() {
    const std::lock_guard<std::mutex> lock(trees_->mutex_);
    const TreeFilters::Tree tree = place_->first;
    trees_->files_.erase(place_);
    // Another DB may get a log at the same address.
    if (trees_->files_.find(tree) == trees_->files_.end())
      trees_->expected_keys_.erase(tree);
  }

  TreeEntry(const TreeEntry&) = delete;
  TreeEntry& operator=(const TreeEntry&) = delete;

 private:
  const std::shared_ptr<TreeFilters> trees_;
  const TreeFilters::Files::iterator place_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
