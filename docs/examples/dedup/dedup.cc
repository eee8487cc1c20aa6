// SPDX-License-Identifier: Apache-2.0

//  Drops the events of a stream that have been seen before, and stores the
//  others in a RocksDB.
//
//      dedup FOLDER WAY [EVENTS]
//
//  There are three ways to ask whether an event is new:
//
//    get        DB::Get for each event
//    may_exist  KeysMayExist for a batch of events, and DB::Get for those that
//               may be there
//    cascade    a cascade filter in front, and DB::Get for those that may be in
//               it
//
//  Every tenth event is one that came before. All ways have the same memory: a
//  block cache with the DB's filters, of which the cascade filter gets a half.
//  The program prints the events a second, and the blocks and pages that were
//  read.

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/plugin/protean/cascade_filter.h"
#include "rocksdb/plugin/protean/may_exist.h"
#include "rocksdb/plugin/protean/protean.h"
#include "rocksdb/write_batch.h"

using rocksdb::Slice;
using rocksdb::Status;

namespace {

constexpr uint64_t kRepeatEvery = 10;
constexpr size_t kBatch = 1000;
// What each way has of memory, besides the DB's memtables.
constexpr size_t kMemory = 32 << 20;

void Require(const Status& s) {
  if (s.ok()) return;
  fprintf(stderr, "dedup: %s\n", s.ToString().c_str());
  exit(1);
}

// A number that looks random and is the same each time (SplitMix64).
uint64_t Mix(uint64_t n) {
  n = (n + 1) * 0x9e3779b97f4a7c15;
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9;
  n = (n ^ n >> 27) * 0x94d049bb133111eb;
  return n ^ n >> 31;
}

// The key of the n-th event: 16 bytes. Some events repeat an earlier one.
std::string KeyOf(uint64_t n) {
  if (n % kRepeatEvery == kRepeatEvery - 1) {
    n = Mix(n) % n;
    if (n % kRepeatEvery == kRepeatEvery - 1) n--;
  }
  const uint64_t halves[] = {Mix(n), Mix(~n)};
  return std::string(reinterpret_cast<const char*>(halves), sizeof(halves));
}

// The stored events.
class Store {
 public:
  Store(const std::string& folder, size_t block_cache) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.max_background_jobs = 2;
    options.write_buffer_size = 16 << 20;
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(block_cache);
    // The filters count as part of the cache.
    table.cache_index_and_filter_blocks = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.partition_filters = true;
    table.filter_policy = rocksdb::protean::NewProteusFilterPolicy(12);
    options.table_factory = rocksdb::protean::NewProteanTableFactory(table);
#if ROCKSDB_MAJOR >= 11
    Require(rocksdb::DB::Open(options, folder, &db_));
#else
    rocksdb::DB* opened = nullptr;
    Require(rocksdb::DB::Open(options, folder, &opened));
    db_.reset(opened);
#endif
  }

  bool Has(const std::string& key) {
    gets_++;
    rocksdb::PinnableSlice value;
    const Status s = db_->Get(rocksdb::ReadOptions(),
                              db_->DefaultColumnFamily(), key, &value);
    if (!s.IsNotFound()) Require(s);
    return s.ok();
  }
  // Whether each of the keys may be there, without reading a block of data.
  std::vector<bool> MayHave(const std::vector<std::string>& keys) {
    const std::vector<Slice> slices(keys.begin(), keys.end());
    std::vector<bool> may_exist;
    Require(rocksdb::protean::KeysMayExist(db_.get(), rocksdb::ReadOptions(),
                                           db_->DefaultColumnFamily(), slices,
                                           &may_exist));
    return may_exist;
  }
  void Write(const std::vector<std::string>& keys) {
    rocksdb::WriteBatch batch;
    for (const std::string& key : keys) {
      Require(batch.Put(key, "what the event is about"));
    }
    rocksdb::WriteOptions options;
    // The source of the stream can send it again.
    options.disableWAL = true;
    Require(db_->Write(options, &batch));
  }
  uint64_t gets() const { return gets_; }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  uint64_t gets_ = 0;
};

std::unique_ptr<rocksdb::protean::CascadeFilter> OpenCascade(
    const std::string& folder) {
  rocksdb::protean::CascadeFilterOptions options;
  options.memory = kMemory / 4;
  options.page_cache = rocksdb::NewLRUCache(kMemory / 4);
  std::unique_ptr<rocksdb::protean::CascadeFilter> filter;
  Require(rocksdb::protean::CascadeFilter::Open(options, folder, &filter));
  return filter;
}

// For each event of a batch, whether it may have been seen before the batch.
std::vector<bool> MayBeOld(const std::string& way,
                           const std::vector<std::string>& keys, Store* store,
                           rocksdb::protean::CascadeFilter* cascade) {
  if (way == "may_exist") return store->MayHave(keys);
  std::vector<bool> may_be_old(keys.size(), true);
  if (way == "cascade") {
    for (size_t i = 0; i < keys.size(); i++) {
      may_be_old[i] = cascade->MayContain(keys[i]);
    }
  }
  return may_be_old;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 2 ? argv[2] : "";
  if (argc > 4 || (way != "get" && way != "may_exist" && way != "cascade")) {
    fprintf(stderr, "usage: dedup FOLDER get|may_exist|cascade [EVENTS]\n");
    return 2;
  }
  const std::string folder = argv[1];
  const uint64_t events = argc > 3 ? strtoull(argv[3], nullptr, 10) : 1000000;
  if (events == 0) {
    fprintf(stderr, "dedup: '%s' is not a number of events\n", argv[3]);
    return 2;
  }
  Store store(folder + ".db", way == "cascade" ? kMemory / 2 : kMemory);
  std::unique_ptr<rocksdb::protean::CascadeFilter> cascade;
  if (way == "cascade") cascade = OpenCascade(folder + ".cascade");

  uint64_t dropped = 0;
  rocksdb::get_perf_context()->Reset();
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t n = 0; n < events; n += kBatch) {
    std::vector<std::string> keys;
    for (uint64_t i = n; i < std::min(n + kBatch, events); i++) {
      keys.push_back(KeyOf(i));
    }
    const std::vector<bool> may_be_old =
        MayBeOld(way, keys, &store, cascade.get());
    std::vector<std::string> fresh;
    std::unordered_set<std::string> in_batch;
    for (size_t i = 0; i < keys.size(); i++) {
      if (!in_batch.insert(keys[i]).second ||
          (may_be_old[i] && store.Has(keys[i]))) {
        dropped++;
      } else {
        fresh.push_back(keys[i]);
      }
    }
    store.Write(fresh);
    for (const std::string& key : fresh) {
      if (cascade != nullptr) Require(cascade->Insert(key));
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  const auto per_event = [&](uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(events);
  };
  printf("%s: %" PRIu64 " events, %" PRIu64
         " dropped, %.0f events a second, %.4f Gets and %.4f blocks read for "
         "each event",
         way.c_str(), events, dropped, static_cast<double>(events) / seconds,
         per_event(store.gets()),
         per_event(rocksdb::get_perf_context()->block_read_count));
  if (cascade != nullptr) {
    const auto statistics = cascade->GetStatistics();
    printf(
        ", %.4f pages of the cascade filter; %.1f MB in memory, %.1f MB on "
        "flash",
        per_event(statistics.pages_read),
        static_cast<double>(statistics.memory_bytes) / 1e6,
        static_cast<double>(statistics.flash_bytes) / 1e6);
  }
  printf("\n");
  return 0;
}
