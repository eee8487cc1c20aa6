// SPDX-License-Identifier: Apache-2.0

//  Filters in block caches: how RocksDB loads and keeps their parts, what the
//  statistics count, parts of filters in two units, and what many DBs in one
//  process keep beside filters that are in one small cache.

#include "filter_policy/kept_memory.h"
#include "filter_policy/open_db/unit_heat.h"
#include "filter_policy/parted_filter.h"
#include "tests/sst_damage.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- What the statistics count ----

constexpr char kInCache[] = "cache_index_and_filter_blocks=true;";

// Notes the filter blocks that are inserted.
class NotingCache : public CacheWrapper {
 public:
  explicit NotingCache(std::shared_ptr<Cache> cache)
      : CacheWrapper(std::move(cache)) {}
  const char* Name() const override { return "NotingCache"; }
  Status Insert(const Slice& key, ObjectPtr value,
                const CacheItemHelper* helper, size_t charge, Handle** handle,
                Priority priority, const Slice& compressed,
                CompressionType type) override {
    if (helper != nullptr && helper->role == CacheEntryRole::kFilterBlock) {
      keys.insert(key.ToString());
      charges.push_back(charge);
      priorities.insert(priority);
    }
    return target_->Insert(key, value, helper, charge, handle, priority,
                           compressed, type);
  }

  std::set<std::string> keys;
  std::vector<size_t> charges;
  std::set<Priority> priorities;
};

class FilterCacheTest : public NumberedDBTest {
 protected:
  static constexpr uint64_t kKeys = 10000;

  void UseTable(const std::string& table, std::shared_ptr<Cache> cache) {
    SetTable("filter_policy=proteus:12:bloom;" + table);
    TableOf(options_)->block_cache = std::move(cache);
  }

  // Adds a file of level 0, whose filter has about 15 KB.
  void AddFile() { WriteNumbers(0, kKeys - 1); }
  // Opens a DB with files in one or two levels, and opens it again.
  void Make(const std::string& table, const std::shared_ptr<Cache>& cache,
            int files) {
    Destroy();
    UseTable("miss_cache_size=0;" + table, cache);
    Open();
    for (int i = 0; i < files; i++) AddFile();
    Open();
  }

  void GetAbsentKeys(uint64_t gets) {
    for (uint64_t i = 0; i < gets; i++) {
      ASSERT_FALSE(Has(Gap(i * 7919 % kKeys)));
    }
  }
};

// RocksDB holds these filters itself.
TEST_F(FilterCacheTest, FiltersReadWithTheirFiles) {
  ASSERT_NO_FATAL_FAILURE(Make("", NewLRUCache(1 << 20), 2));
  GetAbsentKeys(50);
  for (uint64_t i = 0; i < 50; i++) {
    const uint64_t key = i * 7919 % kKeys;
    ASSERT_EQ("", FirstIn(Gap(key), Gap(key, 9)));
  }
  const FilterStatistics now = FilterStats();
  EXPECT_EQ(2u, now.total.filter_blocks_loaded);
  EXPECT_EQ(now.total.filter_bytes, now.total.filter_bytes_loaded);
  // Compaction leaves the counts.
  CompactLevel0Into(3, 1 << 20);
  const FilterStatistics later = FilterStats();
  EXPECT_EQ(1u, later.total.open_files);
  EXPECT_EQ(3u, later.total.filter_blocks_loaded);
  EXPECT_EQ(2u, later.levels.at(0).sums.filter_blocks_loaded);
}

// RocksDB reads all parts when it opens the file. A cache that has room for
// them and for all data blocks keeps them; another one reads single parts.
TEST_F(FilterCacheTest, PartsThatAreRead) {
  const std::string table = std::string(kInCache) + "metadata_block_size=1024;";
  const std::pair<std::shared_ptr<Cache>, bool> caches[] = {
      {NewLRUCache(4 << 20, /*num_shard_bits=*/0), true},
      {HyperClockCacheOptions(8 << 20, /*_estimated_entry_charge=*/0,
                              /*_num_shard_bits=*/3)
           .MakeSharedCache(),
       true},
      {NewLRUCache(8 << 10, /*num_shard_bits=*/0), false}};
  for (const auto& [cache, fits] : caches) {
    SCOPED_TRACE(std::string(cache->Name()) + (fits ? "" : ", a small one"));
    ASSERT_NO_FATAL_FAILURE(Make(table, NewLRUCache(4 << 20), 1));
    UseTable(table, cache);
    Open();
    const FilterSums before = FilterStats().total;
    EXPECT_LT(10u, before.filter_blocks_loaded);
    EXPECT_LT(0.9 * before.filter_bytes, before.filter_bytes_loaded);
    EXPECT_GT(1.1 * before.filter_bytes, before.filter_bytes_loaded);
    ASSERT_OK(options_.statistics->Reset());
    AllRecords(db_.get());
    GetAbsentKeys(1000);
    const FilterSums now = FilterStats().total;
    const uint64_t blocks =
        now.filter_blocks_loaded - before.filter_blocks_loaded;
    // What the cache lacks.
    EXPECT_EQ(Ticks(BLOCK_CACHE_FILTER_MISS), blocks);
    if (fits) {
      EXPECT_EQ(0u, blocks);
      continue;
    }
    EXPECT_LT(200u, blocks);
    const uint64_t bytes = now.filter_bytes_loaded - before.filter_bytes_loaded;
    EXPECT_LT(500 * blocks, bytes);
    EXPECT_GE(1024 * blocks, bytes);
  }
}

// Files of Protean under a policy of RocksDB count; filters of RocksDB do not.
TEST_F(FilterCacheTest, WhoseFiltersCount) {
  ASSERT_NO_FATAL_FAILURE(Make("", NewLRUCache(1 << 20), 1));
  SetPolicy("bloomfilter:10");
  Open();
  EXPECT_EQ(1u, FilterStats().total.filter_blocks_loaded);
  AddFile();
  EXPECT_EQ(1u, FilterStats().total.filter_blocks_loaded);
  SetPolicy("surf:0:8");
  Open();
  EXPECT_EQ(1u, FilterStats().total.filter_blocks_loaded);
}

// ---- How RocksDB loads and keeps parts ----

// CachedFilter has RocksDB load parts of a filter as if they were blocks. If a
// test fails, look at what RocksDB does with partitioned filters now: its
// reader's GetFilterPartitionBlock, and how a block's trailer and cache key are
// read.
class CachedFilterTest : public FilterCacheTest {
 protected:
  static constexpr size_t kPartBytes = 512;

  // Opens a DB of one file, with nothing in its cache.
  void MakeParts(const std::string& more = "") {
    const std::string table = std::string(kInCache) +
                              "filter_policy=surf:0:16;metadata_block_size=" +
                              std::to_string(kPartBytes) + ";" + more;
    Make(table, NewLRUCache(8 << 20), 1);
    // The parts of files of level 0 are read when these are opened.
    CompactLevel0Into(3, 1 << 20);
    cache_ = std::make_shared<NotingCache>(NewLRUCache(8 << 20));
    UseTable(table, cache_);
    Open();
    ASSERT_OK(options_.statistics->Reset());
    get_perf_context()->Reset();
  }
  size_t NumParts() {
    const std::string bytes = FilterBytes(OneFile());
    FilterDirectory directory;
    EXPECT_OK(directory.Read(bytes, bytes.size()));
    return directory.parts().size();
  }
  void GetAbsent(uint64_t i) { ASSERT_FALSE(Has(Gap(i, 500))); }

  std::shared_ptr<NotingCache> cache_;
};

TEST_F(CachedFilterTest, AGetReadsOnePartOnce) {
  MakeParts();
  const size_t parts = NumParts();
  ASSERT_GT(parts, 5u);
  EXPECT_EQ(0u, cache_->keys.size());
  GetAbsent(kKeys / 2);
  EXPECT_EQ(1u, get_perf_context()->filter_block_read_count);
  EXPECT_LE(get_perf_context()->block_read_byte, 2 * kPartBytes);
  EXPECT_EQ(1u, Ticks(BLOCK_CACHE_FILTER_MISS));
  EXPECT_EQ(1u, Ticks(BLOCK_CACHE_FILTER_ADD));
  EXPECT_EQ(1u, Ticks(BLOOM_FILTER_USEFUL));
  GetAbsent(kKeys / 2);
  EXPECT_EQ(1u, get_perf_context()->filter_block_read_count);
  EXPECT_EQ(1u, Ticks(BLOCK_CACHE_FILTER_HIT));
  // Each part has a key of its own in the cache, and the rest of the file has
  // other ones.
  for (uint64_t i = 0; i < kKeys; i += 2) GetAbsent(i);
  EXPECT_EQ(parts, get_perf_context()->filter_block_read_count);
  EXPECT_EQ(parts, cache_->keys.size());
  cache_->charges.pop_back();  // the last part may be smaller
  for (const size_t charge : cache_->charges) {
    EXPECT_GT(charge, kPartBytes / 4);
    EXPECT_LT(charge, 4 * kPartBytes);
  }
  for (uint64_t i = 0; i < kKeys; i++) ASSERT_TRUE(Has(Key(i)));
  EXPECT_EQ(kKeys, Ticks(BLOOM_FILTER_FULL_TRUE_POSITIVE));
}

TEST_F(CachedFilterTest, Priorities) {
  for (const bool high : {false, true}) {
    MakeParts(std::string("cache_index_and_filter_blocks_with_high_priority=") +
              (high ? "true" : "false"));
    GetAbsent(1);
    EXPECT_EQ((std::set<Cache::Priority>{high ? Cache::Priority::HIGH
                                              : Cache::Priority::LOW}),
              cache_->priorities);
  }
}

// A filter that RocksDB's table pins is not cut into parts when it is written.
TEST_F(CachedFilterTest, PinnedParts) {
  const struct {
    std::string index;
    std::string pinning;
    bool in_parts;
    bool pinned;
  } rows[] = {{"", "unpartitioned_pinning=kNone", true, false},
              {"", "unpartitioned_pinning=kFlushedAndSimilar", true, false},
              {"", "unpartitioned_pinning=kAll", false, true},
              {"kTwoLevelIndexSearch", "partition_pinning=kNone", true, false},
              {"kTwoLevelIndexSearch", "partition_pinning=kAll", true, true}};
  for (const auto& [index, pinning, in_parts, pinned] : rows) {
    SCOPED_TRACE(index + " " + pinning);
    MakeParts(
        "metadata_cache_options={" + pinning + "};" +
        (index.empty() ? "" : "partition_filters=true;index_type=" + index));
    const size_t parts = NumParts();
    EXPECT_GE(parts, in_parts ? 6u : 1u);
    EXPECT_LE(parts, in_parts ? kKeys : 1u);
    EXPECT_EQ(pinned ? parts : 0u, cache_->keys.size());
    cache_->EraseUnRefEntries();
    get_perf_context()->Reset();
    GetAbsent(7);
    EXPECT_EQ(pinned ? 0u : 1u, get_perf_context()->filter_block_read_count);
  }
}

// The parts of a file that is deleted leave the cache, if RocksDB is asked for
// that.
TEST_F(CachedFilterTest, PartsOfObsoleteFiles) {
  size_t left[2];
  for (const bool uncached : {false, true}) {
    options_.uncache_aggressiveness = uncached ? 1000 : 0;
    MakeParts();
    for (uint64_t i = 0; i < kKeys; i += 2) GetAbsent(i);
    ASSERT_OK(db_->DeleteRange(WriteOptions(), Key(0), Key(kKeys)));
    ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    left[uncached] = cache_->GetUsage();
  }
  EXPECT_LT(left[1] + 3000, left[0]);
}

// A directory larger than the first read of it.
TEST_F(CachedFilterTest, ALargeDirectory) {
  MakeParts("metadata_block_size=16");
  EXPECT_GT(NumParts(), 500u);
  for (uint64_t i = 0; i < kKeys; i++) ASSERT_TRUE(Has(Key(i)));
  GetAbsent(9);
  EXPECT_GE(Ticks(BLOOM_FILTER_USEFUL), 1u);
}

// ---- Parts in two units ----

using Action = UnitHeat::Action;

// The number of queries, this one included, until the unit is loaded; `most` if
// it is not.
int PassesUntilLoaded(UnitHeat* heat, double share, int most = 1 << 20) {
  for (int passes = 1; passes < most; passes++) {
    const Action action =
        heat->OnPass(AskedFor::kGet, [share] { return share; });
    if (action == Action::kLoad) return passes;
    EXPECT_EQ(Action::kSkip, action);
  }
  return most;
}

TEST(UnitHeatTest, StopsWhatReadsInVainAndNothingElse) {
  UnitHeat heat;
  for (int i = 0; i < 10; i++) {
    EXPECT_EQ(1, PassesUntilLoaded(&heat, 1));
    EXPECT_EQ(Action::kLook, heat.OnPass(AskedFor::kGet, [] { return 1.0; }));
    heat.OnGone();
  }
  UnitHeat finds_keys;
  EXPECT_EQ(1 << 20, PassesUntilLoaded(&finds_keys, 0));
  EXPECT_EQ(Action::kLoad,
            finds_keys.OnPass(AskedFor::kOpenSeek, [] { return 0.0; }));
}

// A unit that the cache drops before it is asked again takes more than twice as
// many queries the next time, and fewer if it has been asked.
TEST(UnitHeatTest, WaitsForEnoughQueries) {
  constexpr double kShare = 0.125;
  UnitHeat heat;
  EXPECT_EQ(1, PassesUntilLoaded(&heat, kShare));
  heat.OnGone();
  // One of eight queries reads in vain, which costs as much as two loads.
  EXPECT_EQ(4, PassesUntilLoaded(&heat, kShare));
  heat.OnGone();
  EXPECT_EQ(16, PassesUntilLoaded(&heat, kShare));
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(Action::kLook,
              heat.OnPass(AskedFor::kGet, [] { return kShare; }));
    heat.OnFound();
  }
  heat.OnGone();
  EXPECT_EQ(4, PassesUntilLoaded(&heat, kShare));
  for (int i = 0; i < 50; i++) {
    heat.OnGone();
    EXPECT_LE(PassesUntilLoaded(&heat, kShare), 512);
  }
}

class FilterUnitsTest : public NumberedDBTest {
 protected:
  static constexpr uint64_t kKeys = 20000;

  FilterUnitsTest() { options_.target_file_size_base = 64 << 20; }

  // One file, of which the filter has learned from Gets of absent keys. Stores
  // what its filter block has.
  void Fill(const std::string& table) {
    table_ =
        "cache_index_and_filter_blocks=true;"
        "filter_policy={id=protean.Proteus;bits_per_key=12;"
        "sample_every=1};" +
        table;
    SetTable(table_);
    Open();
    WriteNumbers(1, kKeys);
    for (uint64_t i = 0; i < 2000; i++) GetAbsent(7 * i);
    Compact();
    file_ = OneFile();
    block_ = FilterBytes(file_);
    ASSERT_OK(directory_.Read(block_, block_.size()));
    for (const FilterPart& part : parts()) ASSERT_TRUE(part.HasSecond());
    ASSERT_GT(parts().size(), 5u);
    EXPECT_LE(8 * block_.size(), 12 * kKeys);
  }
  // Opens the DB again, with an empty cache.
  void Reopen(const std::string& more = "") {
    SetTable(table_ + more);
    Open();
    ASSERT_OK(options_.statistics->Reset());
    get_perf_context()->Reset();
  }

  const std::vector<FilterPart>& parts() const { return directory_.parts(); }
  void GetAbsent(uint64_t i) { ASSERT_FALSE(Has(Gap(i % kKeys, 500))); }
  void GetPresent(uint64_t i) { ASSERT_TRUE(Has(Key(1 + i % kKeys))); }
  uint64_t UnitsLoaded() const { return Ticks(BLOCK_CACHE_FILTER_ADD); }
  uint64_t FalsePositives() const {
    return Ticks(BLOOM_FILTER_FULL_POSITIVE) -
           Ticks(BLOOM_FILTER_FULL_TRUE_POSITIVE);
  }

  std::string table_;
  std::string file_;
  std::string block_;
  FilterDirectory directory_;
};

// Present keys load only the first ones.
TEST_F(FilterUnitsTest, AbsentKeysLoadSecondUnits) {
  ASSERT_NO_FATAL_FAILURE(Fill("block_cache=8M;"));
  Reopen();
  for (uint64_t i = 0; i < kKeys; i++) GetPresent(i);
  EXPECT_LE(UnitsLoaded(), parts().size() + 2);
  Reopen();
  for (uint64_t i = 0; i < kKeys; i++) GetAbsent(i);
  EXPECT_EQ(2 * parts().size(), UnitsLoaded());
  const uint64_t before = FalsePositives();
  for (uint64_t i = 0; i < kKeys; i++) GetAbsent(i + 3);
  EXPECT_EQ(2 * parts().size(), UnitsLoaded());
  EXPECT_LT(FalsePositives() - before, kKeys / 100);
  // All units are pinned where a filter is that has been cut.
  Reopen("metadata_cache_options={unpartitioned_pinning=kAll};");
  for (uint64_t i = 0; i < 5000; i++) GetAbsent(i);
  EXPECT_EQ(0u, UnitsLoaded());
  EXPECT_EQ(0u, get_perf_context()->filter_block_read_count);
  EXPECT_LT(FalsePositives(), 50u);
}

// In a cache that holds a fraction of the filters, absent keys are denied by
// first units, of about half of the bytes, and read hardly anything else.
TEST_F(FilterUnitsTest, FirstUnitsFilterASmallCache) {
  ASSERT_NO_FATAL_FAILURE(
      Fill("block_cache={capacity=8K;num_shard_bits=0};block_size=1024;"));
  Reopen();
  constexpr uint64_t kReads = 5000;
  Random64 random(1);
  for (uint64_t n = 0; n < kReads; n++) GetAbsent(random.Uniform(kKeys));
  const PerfContext& perf = *get_perf_context();
  EXPECT_LE(perf.filter_block_read_count, kReads + kReads / 10);
  EXPECT_LE(perf.block_read_count, kReads + kReads / 10);
  EXPECT_LE(perf.block_read_byte, kReads * 4096 * 6 / 10);
  for (uint64_t i = 0; i < kKeys; i += 7) GetPresent(i);
}

// A second unit that is damaged costs false positives of its part alone.
TEST_F(FilterUnitsTest, DamageOfASecondUnit) {
  ASSERT_NO_FATAL_FAILURE(Fill("block_cache=8M;"));
  db_.reset();
  const FilterUnit& unit = parts()[2].second;
  ASSERT_NO_FATAL_FAILURE(DamageFilter(
      file_, unit.offset + unit.payload_size / 2, /*right_checksum=*/true));
  Reopen();
  for (uint64_t i = 0; i < kKeys; i++) GetAbsent(i);
  for (uint64_t i = 0; i < kKeys; i++) GetPresent(i);
  EXPECT_GT(FalsePositives(), 0u);
  EXPECT_LT(FalsePositives(), kKeys / 20);
  EXPECT_EQ(1u, Ticks(BLOCK_CHECKSUM_MISMATCH_COUNT));
  EXPECT_GT(FilterStats().total.filter_loads_failed, 0u);
}

// ---- Many DBs ----

// What they keep beside filters (filter_policy/kept_memory.h).

constexpr int kDBs = 24;
constexpr size_t kCache = 2 << 20;

class KeptMemoryDBTest : public testing::Test {
 protected:
  static constexpr int kKeys = 300;

  KeptMemoryDBTest() {
    for (int i = 0; i < kDBs; i++) {
      dbs_.push_back(std::make_unique<OwnDB>(UnthrottledFiles(),
                                             "db" + std::to_string(i)));
      dbs_.back()->SetPolicy(
          "{id=protean.Proteus;bits_per_key=4;sample_every=1}",
          "cache_index_and_filter_blocks=true;block_size=512");
      TableOf(dbs_.back()->options_)->block_cache = cache_;
    }
  }
  static std::string KeyOf(int db, int i) {
    return "key of db " + Digits(db, 2) + " and " + Digits(17 * i, 8);
  }
  void Fill(int db) {
    dbs_[db]->Open();
    for (int run = 0; run < 2; run++) {
      dbs_[db]->WriteFile(MakeKeys(
          kKeys / 2, [=](size_t i) { return KeyOf(db, 2 * i + run); }));
    }
  }
  // Asks for all keys, and for ranges without any, each several times.
  void Read(int db) {
    for (int i = 0; i < kKeys; i++) {
      const std::string key = KeyOf(db, i);
      ASSERT_TRUE(dbs_[db]->Has(key));
      for (int times = 0; times < 3; times++) {
        ASSERT_EQ("", dbs_[db]->FirstIn(key + "+", key + "9"));
      }
    }
    const KeptMemoryUsage usage = KeptMemory::UsageOf(cache_.get());
    ASSERT_EQ(kCache / 8, usage.max_bytes);
    ASSERT_LE(usage.bytes, usage.max_bytes);
  }

  const std::shared_ptr<Cache> cache_ = NewLRUCache(kCache);
  std::vector<std::unique_ptr<OwnDB>> dbs_;
};

TEST_F(KeptMemoryDBTest, ManyDBsShareOneCap) {
  uint64_t held_alone = 0;
  for (int db = 0; db < kDBs; db++) {
    Fill(db);
    Read(db);
    const FilterStatistics statistics = dbs_[db]->FilterStats();
    EXPECT_EQ(kCache / 8, statistics.kept_memory.max_bytes);
    EXPECT_EQ(KeptMemory::UsageOf(cache_.get()).bytes,
              statistics.kept_memory.bytes);
    EXPECT_GT(statistics.samples.held, 15u);
    if (db == 0) held_alone = statistics.samples.held;
  }
  EXPECT_GT(KeptMemory::UsageOf(cache_.get()).bytes, kCache / 16);
  EXPECT_LT(dbs_[0]->FilterStats().samples.held, held_alone / 2);
  // All answers are right while files are rewritten and designs are kept.
  for (int db = 0; db < kDBs; db++) {
    dbs_[db]->Compact();
    Read(db);
  }
  // A DB that is closed leaves its share to others.
  const uint64_t all = KeptMemory::UsageOf(cache_.get()).bytes;
  for (int db = 1; db < kDBs; db++) dbs_[db]->Close();
  EXPECT_LT(KeptMemory::UsageOf(cache_.get()).bytes, all / 2);
  Read(0);
  EXPECT_GT(dbs_[0]->FilterStats().samples.held, held_alone / 2);
  dbs_[0]->Close();
  EXPECT_EQ(0u, KeptMemory::UsageOf(cache_.get()).bytes);
  // And it is there again when the DB is opened.
  dbs_[3]->Open();
  EXPECT_GT(dbs_[3]->FilterStats().samples.held, 15u);
  Read(3);
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
