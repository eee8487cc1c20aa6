// SPDX-License-Identifier: Apache-2.0

//  The database that the engine benchmarks read: the same data in the same tree
//  for every filter, and the measurements that RocksDB takes itself.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/table_layout.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/statistics.h"

namespace ROCKSDB_NAMESPACE::protean {

// The tree that is loaded: sorted runs over the whole key space, each on a
// level of its own, from the last one up to level 1.
struct SortedRuns {
  uint32_t count = 3;       // at most kMax
  uint32_t size_ratio = 2;  // of each run to the one above it
  static constexpr uint32_t kMax = 8;

  int Level(size_t run) const {
    return static_cast<int>(count) - static_cast<int>(run);
  }
  // The size of all runs together, in sizes of the first one.
  uint64_t Size() const;
  // The run of a record, by a random number; the last level's is 0.
  uint8_t Pick(uint64_t random) const;
};

struct BenchDbOptions {
  std::string path;
  // The tree is the one that compactions make of records in random order, with
  // RocksDB's sizes of levels and the compression of the Proteus paper, section
  // 6.1. It is made once, at `path` + "_compacted", without filters; each
  // filter gets a copy, and rewrites its levels. `runs` is not used then.
  bool compacted = false;
  std::string filter;            // as in filter_spec.h, perhaps with suffixes
  uint64_t cache_bytes = 0;      // block cache
  bool direct_reads = false;     // past the page cache
  uint32_t read_latency_us = 0;  // added to each read of a file
  // Whether filters and indexes that are not partitioned stay in the block
  // cache.
  bool pin_filters = true;
  SortedRuns runs;
  // Number of times each run is rewritten once all are there, the last level
  // first. Compactions do this in the long run, and a filter may depend on the
  // whole tree.
  uint32_t rewrites = 0;
  // Bytes that will be loaded and bytes that will be written afterwards. With
  // the latter, the tree compacts itself once it is loaded, and its files and
  // memtables are small enough for dozens of flushes and compactions.
  uint64_t loaded_bytes = 0;
  uint64_t written_bytes = 0;
  // About the number of files that are loaded; 0: as many as a fixed size
  // makes.
  uint32_t files = 0;
};

// The result of a seek.
struct SeekResult {
  Status status;
  std::string key;  // empty if nothing
  size_t value_bytes = 0;
};

class JobCounter;

class BenchDb {
 public:
  // Gives record number `index`; keys ascend.
  using RecordSource =
      std::function<void(size_t index, std::string* key, std::string* value)>;
  // Receives the share of the work that is done.
  using Progress = std::function<void(double done)>;

  // Removes what is in options.path and opens an empty database there.
  static Status Create(const BenchDbOptions& options,
                       std::unique_ptr<BenchDb>* db);
  // Closes the database and removes its files.
  ~BenchDb();
  // Removes the tree that the databases at `path` are copied from.
  static Status RemoveCompacted(const std::string& path);

  // Writes all records, record i into sorted run runs[i] unless the tree is
  // compacted. There are no other compactions than those of this function, so
  // the tree's shape depends on the data alone.
  Status Load(const std::vector<uint8_t>& runs, const RecordSource& records,
              const Progress& progress);

  // Writes each level once more, the last one first.
  Status RewriteLevels();
  // Compacts the files of a level to a level.
  Status CompactLevel(int from, int to);

  // Reads stored records until the block cache is full.
  Status WarmUp(size_t num_records, const RecordSource& records, uint64_t seed);

  // Closes the database and opens it with an empty block cache.
  Status Reopen();
  // Reopens with a block cache of this size, which later reopens keep.
  Status Reopen(uint64_t cache_bytes);

  DB* db() { return db_.get(); }

  // Seeks the first key at or after `lo`, and before `*upper_bound` if given.
  SeekResult SeekFirst(const Slice& lo, const Slice* upper_bound) const;

  // Counts the records with keys in [lo, hi): from the filters if they are
  // Protean's, else in a scan. `*estimated` says whether any file's share is an
  // estimate.
  Status Count(const Slice& lo, const Slice& hi, uint64_t* count,
               bool* estimated) const;

  // For the options of iterators.
  const TableLayoutOptions& layout() const { return layout_; }
  // Nullptr if there are no filters.
  const FilterPolicy* filter_policy() const { return policy_.get(); }
  uint64_t Ticker(Tickers ticker) const {
    return statistics_->getTickerCount(ticker);
  }

  // Flushes and compactions completed so far.
  uint64_t BackgroundJobs() const;

  // The files of each level that has any, such as "L1: 4, L2: 7, L3: 14 files".
  std::string TreeShape() const;
  // Bytes of filter blocks that the block cache holds now.
  uint64_t FilterBytesInCache() const;
  // Number of shards that RocksDB cuts a block cache of this size into.
  uint32_t CacheShards() const;

 private:
  BenchDb() = default;

  // Makes one without opening a database.
  static Status Make(const BenchDbOptions& options,
                     std::unique_ptr<BenchDb>* db);
  Status Open(bool loaded);
  Status LoadRun(size_t run, const std::vector<uint8_t>& runs,
                 const RecordSource& records, const Progress& progress);
  // Writes the records in this order, and flushes.
  Status Write(const std::vector<uint32_t>& order, const RecordSource& records,
               const Progress& progress);
  // Writes the records in random order, and waits for RocksDB's compactions.
  Status LoadCompacted(size_t num_records, const RecordSource& records,
                       const Progress& progress);
  BenchDbOptions options_;
  // All opens share the policy, as it may hold sample queries.
  std::shared_ptr<const FilterPolicy> policy_;
  TableLayoutOptions layout_;
  std::shared_ptr<JobCounter> jobs_;
  std::unique_ptr<Env> env_;
  std::shared_ptr<Cache> cache_;
  std::shared_ptr<Statistics> statistics_;
  std::unique_ptr<DB> db_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
