// SPDX-License-Identifier: Apache-2.0

//  The filters of the open files of each tree, by which the sizes of new
//  filters are planned (level_bits.h). RocksDB does not tell a filter policy
//  what is in the tree; the readers of the SST files do. With max_open_files =
//  -1, RocksDB's default, all files are open; otherwise only the most recently
//  used ones are listed.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "filter_policy/level_bits.h"
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

  TreeFilters() = default;
  TreeFilters(const TreeFilters&) = delete;
  TreeFilters& operator=(const TreeFilters&) = delete;

  std::vector<FileFilter> FiltersOf(const Tree& tree) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<FileFilter> found;
    const auto range = files_.equal_range(tree);
    for (auto file = range.first; file != range.second; ++file) {
      found.push_back(file->second);
    }
    return found;
  }

 private:
  friend class TreeEntry;

  mutable std::mutex mutex_;
  std::multimap<Tree, FileFilter> files_;
};

// One file's filter, listed in its tree for as long as this object lives.
class TreeEntry {
 public:
  TreeEntry(std::shared_ptr<TreeFilters> trees, TreeFilters::Tree tree,
            const FileFilter& file)
      : trees_(std::move(trees)) {
    const std::lock_guard<std::mutex> lock(trees_->mutex_);
    place_ = trees_->files_.emplace(std::move(tree), file);
  }
  ~TreeEntry() {
    const std::lock_guard<std::mutex> lock(trees_->mutex_);
    trees_->files_.erase(place_);
  }

  TreeEntry(const TreeEntry&) = delete;
  TreeEntry& operator=(const TreeEntry&) = delete;

 private:
  const std::shared_ptr<TreeFilters> trees_;
  std::multimap<TreeFilters::Tree, FileFilter>::iterator place_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
