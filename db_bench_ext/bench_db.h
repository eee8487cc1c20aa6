//  The database that the engine benchmarks read: the same data in the same tree
//  for every filter, and the measurements that RocksDB takes itself.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/statistics.h"

namespace ROCKSDB_NAMESPACE::protean {

struct BenchDbOptions {
  std::string path;
  std::string filter;            // as in filter_spec.h
  uint64_t cache_bytes = 0;      // block cache
  bool direct_reads = false;     // past the page cache
  uint32_t read_latency_us = 0;  // added to each read of a file
};

// A sorted run of the tree: its level and how many records it has.
struct BenchRun {
  int level;
  size_t records;
};

class BenchDb {
 public:
  // Gives record number `index` of the run that is being loaded; the keys of a
  // run ascend.
  using RecordSource =
      std::function<void(size_t index, std::string* key, std::string* value)>;
  // Told of the share of the work that is done.
  using Progress = std::function<void(double done)>;

  // Removes what is in options.path and opens an empty database there.
  static Status Create(const BenchDbOptions& options,
                       std::unique_ptr<BenchDb>* db);
  // Closes the database and removes its files.
  ~BenchDb();

  // Writes one sorted run and moves it to its level. Call from the bottommost
  // level upwards. Nothing is compacted but by this, so the tree's shape
  // depends on the data alone.
  Status LoadRun(const BenchRun& run, const RecordSource& records,
                 const Progress& progress);

  // Closes the database and opens it with an empty block cache.
  Status Reopen();

  DB* db() { return db_.get(); }
  uint64_t Ticker(Tickers ticker) const {
    return statistics_->getTickerCount(ticker);
  }

  // The files of each level that has any, such as "L1: 4, L2: 7, L3: 14 files".
  std::string TreeShape() const;
  // Bits of filter per key over all files; 0 without filters.
  Status FilterBitsPerKey(double* bits) const;
  // Bytes of filter blocks that the block cache holds now.
  uint64_t FilterBytesInCache() const;

 private:
  BenchDb() = default;

  BenchDbOptions options_;
  std::unique_ptr<Env> env_;
  std::shared_ptr<Cache> cache_;
  std::shared_ptr<Statistics> statistics_;
  std::unique_ptr<DB> db_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
