// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/write_run.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/process_memory.h"
#include "db_bench_ext/seed_samples.h"
#include "db_bench_ext/stopwatch.h"
#include "db_bench_ext/table_layout.h"
#include "db_bench_ext/values.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/listener.h"
#include "rocksdb/statistics.h"
#include "table/rocksdb_internals/versions.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Small enough that the default amount of data is flushed five times, compacted
// when there are four files, and compacted once more in the end.
constexpr uint64_t kBufferBytes = 16 << 20;
constexpr uint64_t kLevelBytes = 4 * kBufferBytes;
constexpr uint64_t kCacheBytes = 8 << 20;
// Keys that samples are drawn around, and that no sample finds.
constexpr uint64_t kKeysOfSamples = 10000;
// One of that many records is also read by Get and Seek.
constexpr uint64_t kRecordsPerLookup = 64;

// Sums up the processor time that compactions report.
class CompactionClock : public EventListener {
 public:
  void OnCompactionCompleted(DB* /*db*/,
                             const CompactionJobInfo& info) override {
    micros_ += info.stats.cpu_micros;
  }
  double Seconds() const { return static_cast<double>(micros_) / 1e6; }

 private:
  std::atomic<uint64_t> micros_{0};
};

// The records, the same ones in the same order each time that they are drawn.
class Records {
 public:
  Records(const KeySource& source, size_t value_bytes, uint64_t seed)
      : source_(source),
        seed_(seed),
        rng_(seed + 1),
        values_(value_bytes, &rng_) {
    Restart();
  }

  void Restart() { rng_.seed(seed_); }
  const std::string& NextKey() {
    key_ = source_.draw(&rng_);
    return key_;
  }
  const std::string& ValueOf(const Slice& key) {
    values_.Fill(GetSliceHash64(key), &value_);
    return value_;
  }

 private:
  const KeySource& source_;
  const uint64_t seed_;
  Rng rng_;
  const Values values_;
  std::string key_;
  std::string value_;
};

// A database that a run writes.
class WrittenDb {
 public:
  Status Open(const WriteRunOptions& options) {
    std::string spec = options.filter;
    TableLayout layout;
    TableLayoutOptions table_options;
    Status s = TakeTableLayout(&spec, &layout);
    if (s.ok()) s = MakeFilterPolicy(spec, &policy_);
    if (s.ok()) s = table_options.Init(layout, policy_);
    if (!s.ok()) return s;
    BlockBasedTableOptions table;
    table.block_cache = NewLRUCache(kCacheBytes);
    Options db_options;
    db_options.create_if_missing = true;
    db_options.compression = kNoCompression;
    db_options.write_buffer_size = kBufferBytes;
    db_options.target_file_size_base = kBufferBytes;
    db_options.max_bytes_for_level_base = kLevelBytes;
    db_options.max_background_jobs = 2;
    db_options.statistics = statistics_;
    db_options.listeners.push_back(compactions_);
    s = table_options.Apply(table, &db_options);
    return s.ok() ? OpenDB(&db_, db_options, options.path) : s;
  }

  // Reads what flushes and compactions have cost so far.
  Status ReadCosts(WriteCost* cost) const {
    cost->stall_seconds =
        static_cast<double>(statistics_->getTickerCount(STALL_MICROS)) / 1e6;
    cost->written_bytes = statistics_->getTickerCount(FLUSH_WRITE_BYTES) +
                          statistics_->getTickerCount(COMPACT_WRITE_BYTES);
    cost->compaction_cpu_seconds = compactions_->Seconds();
    std::map<std::string, std::string> stats;
    if (!db_->GetMapProperty(DB::Properties::kCFStats, &stats)) {
      return Status::NotSupported("RocksDB has no statistics of its levels");
    }
    // RocksDB counts a flush as a compaction of level 0.
    const double all =
        strtod(stats["compaction.Sum.CompMergeCPU"].c_str(), nullptr);
    cost->flush_cpu_seconds = std::max(0.0, all - cost->compaction_cpu_seconds);
    return SumFiles(db_.get(), &cost->files);
  }

  DB* db() const { return db_.get(); }
  const FilterPolicy* policy() const { return policy_.get(); }

 private:
  std::shared_ptr<const FilterPolicy> policy_;
  std::shared_ptr<Statistics> statistics_ = CreateDBStatistics();
  std::shared_ptr<CompactionClock> compactions_ =
      std::make_shared<CompactionClock>();
  std::unique_ptr<DB> db_;
};

Status Seed(const WriteRunOptions& options, Records* records,
            const FilterPolicy* policy) {
  if (options.samples == 0) return Status::OK();
  std::vector<std::string> keys;
  records->Restart();
  for (uint64_t i = 0; i < kKeysOfSamples; i++) {
    keys.push_back(records->NextKey());
  }
  std::sort(keys.begin(), keys.end());
  Rng rng(options.seed + 2);
  std::vector<Query> samples;
  const Status s = QuerySource(options.queries, options.keys, keys)
                       .DrawEmpty(options.samples, &rng, &samples);
  if (s.ok()) SeedSamples(policy, samples);
  return s;
}

Status Write(uint64_t count, Records* records, DB* db) {
  WriteOptions write_options;
  write_options.disableWAL = true;
  records->Restart();
  Status s;
  for (uint64_t i = 0; i < count && s.ok(); i++) {
    const std::string& key = records->NextKey();
    s = db->Put(write_options, key, records->ValueOf(key));
  }
  if (s.ok()) s = db->Flush(FlushOptions());
  if (s.ok()) s = db->WaitForCompact(WaitForCompactOptions());
  // Else a file that overlaps no other would only be moved.
  CompactRangeOptions all;
  all.bottommost_level_compaction = BottommostLevelCompaction::kForceOptimized;
  return s.ok() ? db->CompactRange(all, nullptr, nullptr) : s;
}

Status Wrong(const std::string& filter, const char* what) {
  return Status::Corruption("filter " + filter, what);
}

Status Lookup(const std::string& filter, const std::string& key,
              const std::string& value, DB* db) {
  std::string found;
  if (!db->Get(ReadOptions(), key, &found).ok() || found != value) {
    return Wrong(filter, "a key that was written is not found by Get");
  }
  const std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  it->Seek(key);
  return it->Valid() && it->key() == key
             ? Status::OK()
             : Wrong(filter, "a key that was written is not found by Seek");
}

// Compares what the database holds with what was written.
Status Verify(const std::string& filter, uint64_t count, Records* records,
              DB* db) {
  std::vector<uint64_t> written;
  records->Restart();
  Status s;
  for (uint64_t i = 0; i < count && s.ok(); i++) {
    const std::string& key = records->NextKey();
    written.push_back(GetSliceHash64(key));
    if (i % kRecordsPerLookup == 0) {
      s = Lookup(filter, key, records->ValueOf(key), db);
    }
  }
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  std::vector<uint64_t> read;
  ReadOptions read_options;
  read_options.total_order_seek = true;
  const std::unique_ptr<Iterator> it(db->NewIterator(read_options));
  for (it->SeekToFirst(); it->Valid() && s.ok(); it->Next()) {
    read.push_back(GetSliceHash64(it->key()));
    if (it->value() != records->ValueOf(it->key())) {
      s = Wrong(filter, "a value is not the one that was written");
    }
  }
  if (s.ok()) s = it->status();
  std::sort(read.begin(), read.end());
  return !s.ok()           ? s
         : read == written ? s
                           : Wrong(filter, "other keys than were written");
}

Status Run(const WriteRunOptions& options, WriteCost* cost) {
  Records records(options.keys, options.value_bytes, options.seed);
  const size_t record_bytes = records.NextKey().size() + options.value_bytes;
  cost->records = std::max<uint64_t>(1, options.bytes / record_bytes);
  WrittenDb written;
  Status s = written.Open(options);
  if (s.ok()) s = Seed(options, &records, written.policy());
  if (!s.ok()) return s;
  ResetPeakMemory();
  const Stopwatch wall;
  const CpuStopwatch cpu;
  s = Write(cost->records, &records, written.db());
  cost->wall_seconds = wall.Seconds();
  cost->cpu_seconds = cpu.Seconds();
  cost->peak_mb = ProcessMiB("VmHWM:");
  if (s.ok()) s = written.ReadCosts(cost);
  return s.ok() ? Verify(options.filter, cost->records, &records, written.db())
                : s;
}

}  // namespace

Status MeasureWriting(const WriteRunOptions& options, WriteCost* cost) {
  Status s = DestroyDB(options.path, Options());
  if (s.ok()) s = Run(options, cost);
  const Status removed = DestroyDB(options.path, Options());
  return s.ok() ? removed : s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
