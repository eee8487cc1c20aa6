// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/bench_db.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <random>

#include "cache/sharded_cache.h"
#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/slow_env.h"
#include "filter_policy/protean_filter_policy.h"
#include "plugin/approximate_count.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/listener.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/checkpoint.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kFileBytes = 16 << 20;
// Minimum number of flushes among the writes after loading.
constexpr uint64_t kMinFlushes = 100;
// Both papers warm the block cache with as many.
constexpr size_t kMaxWarmUpGets = 1000000;

// If data is written after loading, the tree has about as many files as in the
// Proteus paper, section 6.4.
uint64_t FileBytes(const BenchDbOptions& options) {
  if (options.files > 0) {
    // Records take a tenth more in a file, and a run's last file may be small.
    return std::max<uint64_t>(options.loaded_bytes * 5 / 4 / options.files, 1);
  }
  constexpr uint64_t kFiles = 40;
  return options.written_bytes == 0
             ? kFileBytes
             : std::clamp<uint64_t>(options.loaded_bytes / kFiles, 64 << 10,
                                    kFileBytes);
}

std::string CompactedPath(const std::string& path) {
  return path + "_compacted";
}

}  // namespace

class JobCounter : public EventListener {
 public:
  void OnFlushCompleted(DB*, const FlushJobInfo&) override { jobs_++; }
  void OnCompactionCompleted(DB*, const CompactionJobInfo&) override {
    jobs_++;
  }
  uint64_t jobs() const { return jobs_; }

 private:
  std::atomic<uint64_t> jobs_{0};
};

uint64_t SortedRuns::Size() const {
  uint64_t size = 0;
  for (uint32_t run = 0; run < count; run++) size = size * size_ratio + 1;
  return size;
}

uint8_t SortedRuns::Pick(uint64_t random) const {
  uint64_t pick = random % Size();
  uint64_t size = Size() - Size() / size_ratio;  // of the last level
  uint8_t run = 0;
  for (; pick >= size; size /= size_ratio, run++) pick -= size;
  return run;
}

SeekResult BenchDb::SeekFirst(const Slice& lo, const Slice* upper_bound) const {
  const SeekOptions options(layout_, lo, upper_bound);
  const std::unique_ptr<Iterator> it(db_->NewIterator(options.get()));
  it->Seek(lo);
  SeekResult result;
  result.status = it->status();
  if (it->Valid()) {
    result.key = it->key().ToString();
    result.value_bytes = it->value().size();
  }
  return result;
}

Status BenchDb::Count(const Slice& lo, const Slice& hi, uint64_t* count,
                      bool* estimated) const {
  if (AsProteanFilterPolicy(policy_.get()) != nullptr) {
    CountResult result;
    const Status s =
        ApproximateCount(db_.get(), ReadOptions(), db_->DefaultColumnFamily(),
                         {&lo, &hi}, &result);
    *count = result.count;
    *estimated = result.files_estimated > 0;
    return s;
  }
  const SeekOptions options(layout_, lo, &hi);
  const std::unique_ptr<Iterator> it(db_->NewIterator(options.get()));
  *count = 0;
  *estimated = false;
  for (it->Seek(lo); it->Valid(); it->Next()) ++*count;
  return it->status();
}

Status BenchDb::Make(const BenchDbOptions& options,
                     std::unique_ptr<BenchDb>* db) {
  std::unique_ptr<BenchDb> bench(new BenchDb);
  bench->options_ = options;
  bench->statistics_ = CreateDBStatistics();
  bench->jobs_ = std::make_shared<JobCounter>();
  std::string spec = options.filter;
  TableLayout layout;
  Status s = TakeTableLayout(&spec, &layout);
  if (s.ok()) s = MakeFilterPolicy(spec, &bench->policy_);
  if (s.ok()) s = bench->layout_.Init(layout, bench->policy_);
  if (!s.ok()) return s;
  if (options.read_latency_us > 0) {
    bench->env_ = NewSlowEnv(options.read_latency_us, Wait::kAsleep);
  }
  *db = std::move(bench);
  return s;
}

Status BenchDb::Create(const BenchDbOptions& options,
                       std::unique_ptr<BenchDb>* db) {
  Status s = Make(options, db);
  if (s.ok()) s = DestroyDB(options.path, Options());
  return s.ok() ? (*db)->Open(/*loaded=*/false) : s;
}

Status BenchDb::Reopen() { return Open(/*loaded=*/true); }

Status BenchDb::Reopen(uint64_t cache_bytes) {
  options_.cache_bytes = cache_bytes;
  return Reopen();
}

Status BenchDb::Open(bool loaded) {
  db_.reset();
  cache_ = NewLRUCache(options_.cache_bytes);
  BlockBasedTableOptions table;
  // Indexes and filters live in the block cache, as in the SuRF paper, section
  // 6. Pinned there, every filter is measured warm.
  table.block_cache = cache_;
  table.cache_index_and_filter_blocks = true;
  if (options_.pin_filters) {
    table.metadata_cache_options.unpartitioned_pinning = PinningTier::kAll;
  }
  Options db_options;
  const Status s = layout_.Apply(table, &db_options);
  if (!s.ok()) return s;
  if (env_ != nullptr) db_options.env = env_.get();
  db_options.create_if_missing = true;
  db_options.statistics = statistics_;
  db_options.compression = kNoCompression;
  db_options.disable_auto_compactions = true;
  db_options.target_file_size_base = FileBytes(options_);
  db_options.write_buffer_size = 4 * kFileBytes;
  db_options.max_background_jobs = 2;
  db_options.num_levels = options_.runs.Level(0) + 1;
  db_options.level_compaction_dynamic_level_bytes = false;
  db_options.listeners.push_back(jobs_);
  if (loaded && options_.written_bytes > 0) {
    // The levels are full and in proportion, like those of the loaded tree; the
    // last one takes all later writes.
    db_options.disable_auto_compactions = false;
    db_options.max_bytes_for_level_base =
        options_.loaded_bytes / options_.runs.Size();
    db_options.max_bytes_for_level_multiplier = options_.runs.size_ratio + 1;
    db_options.write_buffer_size = std::clamp<uint64_t>(
        options_.written_bytes / kMinFlushes, 64 << 10, 4 * kFileBytes);
  }
  if (options_.compacted) {
    const Options defaults;
    db_options.num_levels = defaults.num_levels;
    db_options.target_file_size_base = defaults.target_file_size_base;
    db_options.write_buffer_size = defaults.write_buffer_size;
    db_options.compression_per_level = {kNoCompression, kNoCompression,
                                        kLZ4Compression, kZSTD};
    db_options.disable_auto_compactions = loaded;
    db_options.max_background_jobs = 4;
  } else {
    db_options.level0_slowdown_writes_trigger = 1 << 30;
    db_options.level0_stop_writes_trigger = 1 << 30;
  }
  db_options.use_direct_reads = options_.direct_reads;
  return OpenDB(&db_, db_options, options_.path);
}

BenchDb::~BenchDb() {
  if (db_ == nullptr) return;
  Options options;
  options.env = db_->GetEnv();
  db_.reset();
  DestroyDB(options_.path, options).PermitUncheckedError();
}

Status BenchDb::RemoveCompacted(const std::string& path) {
  return DestroyDB(CompactedPath(path), Options());
}

Status BenchDb::Load(const std::vector<uint8_t>& runs,
                     const RecordSource& records, const Progress& progress) {
  Status s;
  if (options_.compacted) s = LoadCompacted(runs.size(), records, progress);
  const uint32_t count = options_.compacted ? 0 : options_.runs.count;
  for (size_t run = 0; run < count && s.ok(); run++) {
    s = LoadRun(run, runs, records, [&](double done) {
      progress((static_cast<double>(run) + done) / count);
    });
  }
  for (uint32_t i = 0; i < options_.rewrites && s.ok(); i++) {
    s = RewriteLevels();
  }
  return s;
}

Status BenchDb::LoadCompacted(size_t num_records, const RecordSource& records,
                              const Progress& progress) {
  BenchDbOptions without_filters = options_;
  without_filters.path = CompactedPath(options_.path);
  without_filters.filter = "none";
  without_filters.pin_filters = false;
  std::unique_ptr<BenchDb> original;
  Status s = Make(without_filters, &original);
  if (!s.ok()) return s;
  if (Env::Default()->FileExists(without_filters.path + "/CURRENT").ok()) {
    s = original->Open(/*loaded=*/true);
  } else {
    std::vector<uint32_t> order(num_records);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(num_records));
    s = original->Open(/*loaded=*/false);
    if (s.ok()) s = original->Write(order, records, progress);
    const WaitForCompactOptions wait;
    if (s.ok()) s = original->db_->WaitForCompact(wait);
    // The paper's level 0 is empty.
    if (s.ok()) s = original->CompactLevel(0, 1);
    if (s.ok()) s = original->db_->WaitForCompact(wait);
  }
  db_.reset();
  if (s.ok()) s = DestroyDB(options_.path, Options());
  Checkpoint* checkpoint = nullptr;
  if (s.ok()) s = Checkpoint::Create(original->db(), &checkpoint);
  const std::unique_ptr<Checkpoint> owned(checkpoint);
  if (s.ok()) s = checkpoint->CreateCheckpoint(options_.path);
  original->db_.reset();  // so that its files stay
  if (s.ok()) s = Open(/*loaded=*/true);
  // From above, as compactions go: a policy that gives bits by levels only
  // knows the levels that have filters.
  for (int level = 1; s.ok() && level < db_->NumberLevels(); level++) {
    s = CompactLevel(level, level);
  }
  return s;
}

Status BenchDb::RewriteLevels() {
  Status s;
  for (int level = db_->NumberLevels() - 1; level > 0 && s.ok(); level--) {
    s = CompactLevel(level, level);
  }
  return s;
}

Status BenchDb::LoadRun(size_t run, const std::vector<uint8_t>& runs,
                        const RecordSource& records, const Progress& progress) {
  std::vector<uint32_t> of_run;
  for (size_t i = 0; i < runs.size(); i++) {
    if (runs[i] == run) of_run.push_back(static_cast<uint32_t>(i));
  }
  const Status s = Write(of_run, records, progress);
  return s.ok() ? CompactLevel(0, options_.runs.Level(run)) : s;
}

Status BenchDb::Write(const std::vector<uint32_t>& order,
                      const RecordSource& records, const Progress& progress) {
  WriteOptions write_options;
  write_options.disableWAL = true;
  WriteBatch batch;
  std::string key;
  std::string value;
  Status s;
  for (size_t i = 0; i < order.size() && s.ok(); i++) {
    records(order[i], &key, &value);
    s = batch.Put(key, value);
    if (s.ok() && (batch.Count() == 64 || i + 1 == order.size())) {
      s = db_->Write(write_options, &batch);
      batch.Clear();
      progress(static_cast<double>(i) / static_cast<double>(order.size()));
    }
  }
  return s.ok() ? db_->Flush(FlushOptions()) : s;
}

Status BenchDb::CompactLevel(int from, int to) {
  std::vector<LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  std::vector<std::string> names;
  for (const LiveFileMetaData& file : files) {
    if (file.level == from) names.push_back(file.name);
  }
  CompactionOptions compaction;
  compaction.compression =
      options_.compacted ? kDisableCompressionOption : kNoCompression;
  compaction.output_file_size_limit = db_->GetOptions().target_file_size_base;
  return names.empty() ? Status::OK()
                       : db_->CompactFiles(compaction, names, to);
}

Status BenchDb::WarmUp(size_t num_records, const RecordSource& records,
                       uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::string key;
  std::string value;
  Status s;
  const size_t gets = std::min<size_t>(num_records / 8, kMaxWarmUpGets);
  for (size_t i = 0; i < gets && s.ok(); i++) {
    records(rng() % num_records, &key, &value);
    s = db_->Get(ReadOptions(), key, &value);
  }
  return s;
}

uint64_t BenchDb::BackgroundJobs() const { return jobs_->jobs(); }

std::string BenchDb::TreeShape() const {
  std::vector<LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  std::map<int, int> files_by_level;
  for (const LiveFileMetaData& file : files) files_by_level[file.level]++;
  std::string shape;
  for (const auto& [level, count] : files_by_level) {
    shape += (shape.empty() ? "L" : ", L") + std::to_string(level) + ": " +
             std::to_string(count);
  }
  return shape + " files";
}

uint64_t BenchDb::FilterBytesInCache() const {
  uint64_t bytes = 0;
  cache_->ApplyToAllEntries(
      [&bytes](const Slice& /*key*/, Cache::ObjectPtr /*value*/, size_t charge,
               const Cache::CacheItemHelper* helper) {
        if (helper->role == CacheEntryRole::kFilterBlock) bytes += charge;
      },
      {});
  return bytes;
}

uint32_t BenchDb::CacheShards() const {
  return uint32_t{1} << GetDefaultCacheShardBits(options_.cache_bytes);
}

}  // namespace ROCKSDB_NAMESPACE::protean
