//  The filters of the files that a DB has open, by which new ones are planned
//  (level_bits.h). RocksDB does not tell a filter policy what is in the tree;
//  the readers of the SST files do. With max_open_files = -1, RocksDB's
//  default, all files are open; else this is a part of them, the latest ones
//  first.

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

// Thread safe.
class OpenFilters {
 public:
  // The log tells the DBs that share a policy apart.
  struct Tree {
    const Logger* info_log = nullptr;
    std::string column_family;

    bool operator<(const Tree& other) const {
      return std::tie(info_log, column_family) <
             std::tie(other.info_log, other.column_family);
    }
  };

  OpenFilters() = default;
  OpenFilters(const OpenFilters&) = delete;
  OpenFilters& operator=(const OpenFilters&) = delete;

  // Those of a column family.
  std::vector<FileFilter> Of(const Tree& tree) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<FileFilter> found;
    const auto range = files_.equal_range(tree);
    for (auto file = range.first; file != range.second; ++file) {
      found.push_back(file->second);
    }
    return found;
  }

 private:
  friend class OpenFilter;

  mutable std::mutex mutex_;
  std::multimap<Tree, FileFilter> files_;
};

// One of them, for as long as this object lives.
class OpenFilter {
 public:
  OpenFilter(std::shared_ptr<OpenFilters> all, OpenFilters::Tree tree,
             const FileFilter& file)
      : all_(std::move(all)) {
    const std::lock_guard<std::mutex> lock(all_->mutex_);
    place_ = all_->files_.emplace(std::move(tree), file);
  }
  ~OpenFilter() {
    const std::lock_guard<std::mutex> lock(all_->mutex_);
    all_->files_.erase(place_);
  }

  OpenFilter(const OpenFilter&) = delete;
  OpenFilter& operator=(const OpenFilter&) = delete;

 private:
  const std::shared_ptr<OpenFilters> all_;
  std::multimap<OpenFilters::Tree, FileFilter>::iterator place_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
