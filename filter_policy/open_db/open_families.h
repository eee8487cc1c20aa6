// SPDX-License-Identifier: Apache-2.0

//  The column families of an open DB and their open files. A file that is
//  closed leaves its counts to its level, so that the sums of a level never
//  fall while the DB is open.
//
//  Now and then the DB's log gets a line with these sums. RocksDB does not call
//  a plugin when it dumps its own statistics, and a thread for this would
//  surprise the application. So the line is written by the thread that hands
//  counts over, or opens or closes a file, once the period is over. An idle DB
//  writes no line.

#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/open_db/get_tally.h"
#include "filter_policy/open_db/level_price.h"
#include "filter_policy/open_db/level_sums.h"
#include "filter_policy/open_db/seek_backoff.h"
#include "port/port.h"
#include "rocksdb/env.h"

namespace ROCKSDB_NAMESPACE::protean {

// What a file's reader tells when it opens the file.
struct FileDescription {
  // The address of the column family's options, which differs between the
  // column families of a DB.
  const void* family = nullptr;
  std::string family_name;  // empty if the file does not tell
  std::string path;
  int level = -1;                                         // -1 if unknown
  std::shared_ptr<const TableProperties> properties;      // never nullptr
  std::shared_ptr<const SharedFilterLoads> filter_loads;  // may be nullptr
  // The DB's Env and log, which outlive the reader.
  Env* env = nullptr;
  Logger* info_log = nullptr;
  uint64_t log_period_seconds = 0;  // 0 if unknown, or if no lines are wanted
};

// Thread safe.
class OpenFamilies {
 public:
  struct File;

  struct Level {
    // Shared by the iterators over the level's files.
    SeekBackoff::Shared backoff{0};
    SeekBackoff::CachedReads cached_reads{0};
    // Counts of the level's files that have been closed.
    FileCounts closed_files;
    // What files of the level answered to Get, open or closed, and where reads
    // of them found their blocks.
    GetTally gets;
    // What a false positive costs. Not used without OpenFamilies.
    LevelPrice price;
  };

  // RocksDB does not tell a plugin that a column family is dropped, so its
  // entry stays behind.
  struct Family {
    std::string name;
    std::set<const File*> open_files;
    std::map<int, Level> levels;
    std::atomic<uint64_t> next_line_micros{0};
    // Whether the log has had the warning that seeks come without bounds.
    std::atomic<bool> warned_of_unbounded{false};
  };

  // An open file.
  struct File {
    File(FileDescription file, FilterUse filter_use)
        : description(std::move(file)), use(filter_use) {}
    FileState State() const {
      return {description.path, description.level,
              use.load(std::memory_order_relaxed), description.properties,
              Counts()};
    }
    FileCounts Counts() const {
      const auto& loads = description.filter_loads;
      return {counts.Load(), loads == nullptr ? FilterLoads() : loads->Load()};
    }

    const FileDescription description;
    std::atomic<FilterUse> use;
    // Set by Add. Only members that are atomic may be used without
    // OpenFamilies.
    Family* family = nullptr;
    Level* level = nullptr;
    // On a cache line apart from the members above, which every seek reads.
    alignas(CACHE_LINE_SIZE) SharedSeekCounts counts;
  };

  OpenFamilies() = default;
  OpenFamilies(const OpenFamilies&) = delete;
  OpenFamilies& operator=(const OpenFamilies&) = delete;

  // `file` must be removed before it is destroyed.
  void Add(File* file);
  void Remove(File* file);

  // Writes the line of the file's column family to the log if it is due.
  void LogIfDue(const File& file);

  // What a false positive costs in files of a level, in a class of prices
  // (false_positive_price.h), by its reads since the price was last found; 0 if
  // there have been too few. The times of reads from files are those in
  // `statistics`, unless this is nullptr.
  uint64_t PriceOf(const void* family, int level, const Statistics* statistics);

  // Empty if the column family (FileDescription::family) has had no file.
  FamilyState StateOf(const void* family) const;
  // Returns the column families that have an open file with a path that
  // `selects` says yes to.
  using PathFilter = std::function<bool(const std::string&)>;
  std::vector<FamilyState> StatesIn(const PathFilter& selects) const;

 private:
  // Requires mutex_.
  static FamilyState StateOf(const Family& family);

  // RocksDB does not tell the period to all table factories. The period that
  // one of the DB's files knows is used for all of them.
  std::atomic<uint64_t> log_period_seconds_{0};
  mutable std::mutex mutex_;
  FileReadTime file_read_time_;
  std::map<const void*, Family> families_;  // by FileDescription::family
};

// Returns true if there are many seeks and nearly all have no upper bound,
// which the log then warns of.
bool SeeksAreUnbounded(uint64_t unbounded, uint64_t bounded);

}  // namespace ROCKSDB_NAMESPACE::protean
