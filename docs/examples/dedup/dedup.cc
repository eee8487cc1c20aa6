// SPDX-License-Identifier: Apache-2.0

//  Drops the events of a stream that have been seen before, and stores the
//  others in a RocksDB.
//
//      dedup FOLDER WAY [EVENTS [MIB]]
//
//  There are four ways to ask whether an event is new:
//
//    get        DB::Get for each event, as it comes
//    multi_get  DB::MultiGet for a batch of events
//    may_exist  KeysMayExist for a batch, and MultiGet for the events of it
//               that may be there
//    cascade    a cascade filter, and MultiGet for what may be in it
//
//  Batches are sorted, so that neighbours find their part of a filter, or their
//  page, where the one before has left it. Every tenth event is one that came
//  before.
//
//  Each way has MIB of memory, 32 if not given, besides the memtables: a block
//  cache that also holds the DB's filters, or a smaller one and a cascade
//  filter. For each tenth of the stream, the program prints what an event has
//  cost: processor time of all threads, and blocks and pages that were read.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/plugin/protean/experimental/cascade_filter.h"
#include "rocksdb/plugin/protean/may_exist.h"
#include "rocksdb/plugin/protean/protean.h"
#include "rocksdb/write_batch.h"

using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::protean::CascadeFilter;

namespace {

constexpr uint64_t kRepeatEvery = 10;
constexpr uint64_t kBatch = 100000;

void Require(const Status& s) {
  if (s.ok()) return;
  fprintf(stderr, "dedup: %s\n", s.ToString().c_str());
  exit(1);
}

// ---- The stream ----

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

// ---- What was seen ----

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
    table.filter_policy = rocksdb::protean::NewProteusFilterPolicy({12});
    options.table_factory = rocksdb::protean::NewProteanTableFactory(table);
#if ROCKSDB_MAJOR >= 11
    Require(rocksdb::DB::Open(options, folder, &db_));
#else
    rocksdb::DB* opened = nullptr;
    Require(rocksdb::DB::Open(options, folder, &opened));
    db_.reset(opened);
#endif
  }

  // Whether the event is there.
  bool Has(const Slice& key) {
    asked_++;
    rocksdb::PinnableSlice value;
    const Status s = db_->Get(rocksdb::ReadOptions(),
                              db_->DefaultColumnFamily(), key, &value);
    if (!s.IsNotFound()) Require(s);
    return s.ok();
  }
  // Whether each event is there. The keys are in ascending order.
  std::vector<bool> HasEach(const std::vector<Slice>& keys) {
    asked_ += keys.size();
    std::vector<rocksdb::PinnableSlice> values(keys.size());
    std::vector<Status> statuses(keys.size());
    db_->MultiGet(rocksdb::ReadOptions(), db_->DefaultColumnFamily(),
                  keys.size(), keys.data(), values.data(), statuses.data(),
                  /*sorted_input=*/true);
    std::vector<bool> has;
    for (const Status& s : statuses) {
      if (!s.IsNotFound()) Require(s);
      has.push_back(s.ok());
    }
    return has;
  }
  // Whether each may be there, without reading a block of data.
  std::vector<bool> MayHaveEach(const std::vector<Slice>& keys) {
    const auto may_exist = std::make_unique<bool[]>(keys.size());
    Require(rocksdb::protean::KeysMayExist(
        db_.get(), rocksdb::ReadOptions(), db_->DefaultColumnFamily(),
        keys.size(), keys.data(), may_exist.get()));
    return {may_exist.get(), may_exist.get() + keys.size()};
  }

  void Write(const std::vector<Slice>& keys) {
    rocksdb::WriteBatch batch;
    for (const Slice& key : keys) {
      Require(batch.Put(key, "what the event is about"));
    }
    rocksdb::WriteOptions options;
    // The source of the stream can send it again.
    options.disableWAL = true;
    Require(db_->Write(options, &batch));
  }

  // The events that were looked up, by Has or HasEach.
  uint64_t asked() const { return asked_; }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  uint64_t asked_ = 0;
};

// A cascade filter that has `memory` bytes: most of them for fingerprints that
// are not on flash yet, so that there are few runs; a lookup reads a page of
// each. The page cache only needs to hold the pages where a sorted batch is.
std::unique_ptr<CascadeFilter> OpenCascade(const std::string& folder,
                                           size_t memory) {
  constexpr size_t kPageCache = 1 << 20;
  rocksdb::protean::CascadeFilterOptions options;
  options.memory = memory - kPageCache;
  options.page_cache = rocksdb::NewLRUCache(kPageCache, /*num_shard_bits=*/0);
  std::unique_ptr<CascadeFilter> filter;
  Require(CascadeFilter::Open(options, folder, &filter));
  return filter;
}

// ---- The ways ----

struct Ingest {
  Ingest(const std::string& folder, const std::string& the_way, size_t memory)
      : way(the_way),
        store(folder + ".db", the_way == "cascade" ? memory / 4 : memory) {
    if (way == "cascade") {
      cascade = OpenCascade(folder + ".cascade", memory - memory / 4);
    }
  }

  // Returns how many of the events [begin, end) were dropped.
  uint64_t Run(uint64_t begin, uint64_t end);

  const std::string way;
  Store store;
  std::unique_ptr<CascadeFilter> cascade;
};

// Returns the keys that have not been seen. `keys` are sorted.
std::vector<Slice> Unseen(const std::vector<Slice>& keys, Ingest* ingest) {
  std::vector<bool> may_be_old(keys.size(), true);
  if (ingest->way == "may_exist") {
    may_be_old = ingest->store.MayHaveEach(keys);
  } else if (ingest->way == "cascade") {
    ingest->cascade->MayContainEach(keys, &may_be_old);
  }
  std::vector<Slice> doubtful;
  for (size_t i = 0; i < keys.size(); i++) {
    if (may_be_old[i]) doubtful.push_back(keys[i]);
  }
  const std::vector<bool> is_old = ingest->store.HasEach(doubtful);
  std::vector<Slice> unseen;
  for (size_t i = 0, asked = 0; i < keys.size(); i++) {
    if (!may_be_old[i] || !is_old[asked++]) unseen.push_back(keys[i]);
  }
  return unseen;
}

uint64_t Ingest::Run(uint64_t begin, uint64_t end) {
  if (way == "get") {
    uint64_t dropped = 0;
    for (uint64_t n = begin; n < end; n++) {
      const std::string key = KeyOf(n);
      if (store.Has(key)) {
        dropped++;
      } else {
        store.Write({key});
      }
    }
    return dropped;
  }
  std::vector<std::string> events;
  for (uint64_t n = begin; n < end; n++) events.push_back(KeyOf(n));
  std::sort(events.begin(), events.end());
  // Some are twice in the batch.
  events.erase(std::unique(events.begin(), events.end()), events.end());
  const std::vector<Slice> unseen =
      Unseen(std::vector<Slice>(events.begin(), events.end()), this);
  store.Write(unseen);
  for (const Slice& key : unseen) {
    if (cascade != nullptr) Require(cascade->Insert(key));
  }
  return end - begin - unseen.size();
}

// ---- What it costs ----

struct Cost {
  uint64_t events = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  uint64_t asked = 0;
  uint64_t blocks = 0;
  uint64_t pages = 0;

  static Cost Now(uint64_t events, const Ingest& ingest) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const auto in_seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) +
             static_cast<double>(time.tv_usec) / 1e6;
    };
    Cost cost;
    cost.events = events;
    cost.seconds = std::chrono::duration<double>(now).count();
    cost.cpu_seconds = in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
    cost.asked = ingest.store.asked();
    cost.blocks = rocksdb::get_perf_context()->block_read_count;
    if (ingest.cascade != nullptr) {
      cost.pages = ingest.cascade->GetStatistics().pages_read;
    }
    return cost;
  }
};

void Print(const char* what, const Cost& begin, const Cost& end) {
  const auto events = static_cast<double>(end.events - begin.events);
  const auto per_event = [&](uint64_t before, uint64_t after) {
    return static_cast<double>(after - before) / events;
  };
  printf("%-9s %11" PRIu64 " %10.0f %8.2f %8.4f %8.4f %8.4f\n", what,
         end.events, events / (end.seconds - begin.seconds),
         (end.cpu_seconds - begin.cpu_seconds) * 1e6 / events,
         per_event(begin.asked, end.asked), per_event(begin.blocks, end.blocks),
         per_event(begin.pages, end.pages));
  fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 2 ? argv[2] : "";
  const uint64_t events = argc > 3 ? strtoull(argv[3], nullptr, 10) : 1000000;
  const uint64_t mib = argc > 4 ? strtoull(argv[4], nullptr, 10) : 32;
  if (argc > 5 || events == 0 || mib < 4 ||
      (way != "get" && way != "multi_get" && way != "may_exist" &&
       way != "cascade")) {
    fprintf(stderr,
            "usage: dedup FOLDER get|multi_get|may_exist|cascade [EVENTS "
            "[MIB]], with at least one event and 4 MiB\n");
    return 2;
  }
  Ingest ingest(argv[1], way, mib << 20);

  printf("%-9s %11s %10s %8s %8s %8s %8s\n", "way", "events", "events/s",
         "CPU us", "lookups", "blocks", "pages");
  rocksdb::get_perf_context()->Reset();
  const Cost first = Cost::Now(0, ingest);
  Cost before = first;
  uint64_t dropped = 0;
  for (uint64_t n = 0; n < events;) {
    const uint64_t end = std::min(n + kBatch, events);
    dropped += ingest.Run(n, end);
    n = end;
    if (n == events || n - before.events >= std::max(events / 10, kBatch)) {
      const Cost now = Cost::Now(n, ingest);
      Print(way.c_str(), before, now);
      before = now;
    }
  }
  Print("all", first, before);
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%s: %" PRIu64 " dropped; at most %.1f MB of memory", way.c_str(),
         dropped, static_cast<double>(usage.ru_maxrss) * 1024 / 1e6);
  if (ingest.cascade != nullptr) {
    const auto statistics = ingest.cascade->GetStatistics();
    printf("; the cascade filter has %" PRIu64
           " runs, %.1f MB in memory and %.1f MB on flash",
           statistics.runs, static_cast<double>(statistics.memory_bytes) / 1e6,
           static_cast<double>(statistics.flash_bytes) / 1e6);
  }
  printf("\n");
  return 0;
}
