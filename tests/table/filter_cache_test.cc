// SPDX-License-Identifier: Apache-2.0

//  Whole filters in block caches that do not keep them: what the log says, and
//  what the statistics count.

#include "plugin/filter_statistics.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/statistics.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kInCache[] = "cache_index_and_filter_blocks=true;";
constexpr char kInParts[] =
    "partition_filters=true;index_type=kTwoLevelIndexSearch;"
    "metadata_block_size=1024;";

class FilterCacheTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kKeys = 10000;

  FilterCacheTest() : path_(test::PerThreadDBPath("filter_cache")) {
    options_ = UnthrottledFiles();
    options_.create_if_missing = true;
    options_.info_log = log_;
    options_.statistics = CreateDBStatistics();
    EXPECT_OK(DestroyDB(path_, Options()));
  }
  ~FilterCacheTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, Options()));
  }

  void SetTable(const std::string& table, std::shared_ptr<Cache> cache) {
    options_.table_factory =
        NewTable("ProteanTable", "filter_policy=proteus:12:bloom;" + table);
    options_.table_factory->GetOptions<BlockBasedTableOptions>()->block_cache =
        std::move(cache);
  }
  void Open() {
    db_.reset();
    log_->Clear();
    ASSERT_OK(OpenDB(&db_, options_, path_));
  }
  static std::string Key(uint64_t i) { return BigEndian(1000 * i); }

  // Adds a file of level 0, whose filter has about 15 KB.
  void AddFile(uint64_t keys = kKeys) {
    for (uint64_t i = 0; i < keys; i++) {
      ASSERT_OK(db_->Put(WriteOptions(), Key(i), "value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions()));
  }
  // Opens a DB with files in one or two levels, and opens it again.
  void Make(const std::string& table, const std::shared_ptr<Cache>& cache,
            int files) {
    db_.reset();
    ASSERT_OK(DestroyDB(path_, Options()));
    SetTable(table, cache);
    Open();
    for (int i = 0; i < files; i++) AddFile();
    Open();
  }

  // Absent keys that lie among the files' keys.
  void GetAbsentKeys(uint64_t gets) {
    for (uint64_t i = 0; i < gets; i++) {
      std::string value;
      ASSERT_TRUE(db_->Get(ReadOptions(),
                           BigEndian(1000 * (i * 7919 % kKeys) + 1), &value)
                      .IsNotFound());
    }
  }
  void SeekEmptyRanges(uint64_t seeks) {
    for (uint64_t i = 0; i < seeks; i++) {
      const std::string end = BigEndian(1000 * (i * 7919 % kKeys) + 9);
      const Slice bound = end;
      ReadOptions options;
      options.iterate_upper_bound = &bound;
      const std::unique_ptr<Iterator> it(db_->NewIterator(options));
      it->Seek(BigEndian(1000 * (i * 7919 % kKeys) + 1));
      ASSERT_FALSE(it->Valid());
    }
  }

  FilterStatistics Now() {
    FilterStatistics statistics;
    EXPECT_OK(GetFilterStatistics(db_.get(), db_->DefaultColumnFamily(),
                                  &statistics));
    return statistics;
  }
  uint64_t Ticks(Tickers ticker) const {
    return options_.statistics->getTickerCount(ticker);
  }
  Keys Lines() const { return log_->Lines({"Protean: the filter"}); }

  const std::string path_;
  const std::shared_ptr<RecordingLogger> log_ =
      std::make_shared<RecordingLogger>();
  Options options_;
  std::unique_ptr<DB> db_;
};

std::shared_ptr<Cache> HyperClock(size_t capacity, size_t charge) {
  return HyperClockCacheOptions(capacity, charge, /*_num_shard_bits=*/3)
      .MakeSharedCache();
}

}  // namespace

// ---- The log ----

TEST_F(FilterCacheTest, ALineForAFilterLargerThanAShard) {
  const std::pair<std::shared_ptr<Cache>, const char*> cases[] = {
      {NewLRUCache(160 << 10, /*num_shard_bits=*/4), "16 shards"},
      {HyperClock(80 << 10, 0), "8 shards"},
      {HyperClock(80 << 10, 4 << 10), "8 shards"}};
  for (const auto& [cache, shards] : cases) {
    SCOPED_TRACE(cache->Name());
    ASSERT_NO_FATAL_FAILURE(Make(kInCache, cache, 3));
    const Keys lines = Lines();
    ASSERT_EQ(1u, lines.size());
    const std::string file = Now().files.at(0).path;
    for (const std::string& words :
         {file.substr(0, file.rfind('/')), std::string(".sst"),
          std::string("column family default"), std::string(shards),
          std::string("shards of 10240"),
          std::to_string(Now().files.at(0).filter_bytes),
          std::string("partition_filters=true; "
                      "index_type=kTwoLevelIndexSearch; "
                      "pin_top_level_index_and_filter=true")}) {
      EXPECT_NE(std::string::npos, lines[0].find(words)) << lines[0];
    }
    // Neither more files nor reads make another line.
    AddFile();
    GetAbsentKeys(100);
    EXPECT_EQ(1u, Lines().size());
  }
}

TEST_F(FilterCacheTest, ALineForACacheSmallerThanTheFilters) {
  const auto cache = NewLRUCache(40 << 10, /*num_shard_bits=*/0);
  ASSERT_NO_FATAL_FAILURE(Make(kInCache, cache, 2));
  EXPECT_TRUE(Lines().empty());
  for (int i = 0; i < 3; i++) AddFile();
  const Keys lines = Lines();
  ASSERT_EQ(1u, lines.size());
  for (const std::string words :
       {"the 3 files opened so far", "40960", "partition_filters=true"}) {
    EXPECT_NE(std::string::npos, lines[0].find(words)) << lines[0];
  }
}

// Column families that share a cache share its line.
TEST_F(FilterCacheTest, ColumnFamiliesShareACache) {
  const auto cache = NewLRUCache(40 << 10, /*num_shard_bits=*/0);
  ASSERT_NO_FATAL_FAILURE(Make(kInCache, cache, 2));
  ColumnFamilyHandle* other;
  ASSERT_OK(db_->CreateColumnFamily(options_, "other", &other));
  for (uint64_t i = 0; i < kKeys; i++) {
    ASSERT_OK(db_->Put(WriteOptions(), other, Key(i), "value"));
  }
  ASSERT_OK(db_->Flush(FlushOptions(), other));
  EXPECT_EQ(1u, Lines().size());
  ASSERT_OK(db_->DestroyColumnFamilyHandle(other));
}

// Files that are gone do not count.
TEST_F(FilterCacheTest, CompactedFilesDoNotCount) {
  const auto cache = NewLRUCache(64 << 10, /*num_shard_bits=*/0);
  ASSERT_NO_FATAL_FAILURE(Make(kInCache, cache, 1));
  for (int i = 0; i < 8; i++) {
    AddFile();
    ASSERT_OK(CompactLevel0(db_.get(), 3, 1 << 20));
  }
  EXPECT_EQ(1u, Now().total.files);
  EXPECT_TRUE(Lines().empty());
}

TEST_F(FilterCacheTest, ALineForEachCapacity) {
  const auto cache = NewLRUCache(1 << 20, /*num_shard_bits=*/4);
  ASSERT_NO_FATAL_FAILURE(Make(kInCache, cache, 1));
  EXPECT_TRUE(Lines().empty());
  // The cache shrinks: the next file, however small, makes the line.
  cache->SetCapacity(128 << 10);
  EXPECT_TRUE(Lines().empty());
  AddFile(10);
  EXPECT_EQ(1u, Lines().size());
  AddFile(10);
  EXPECT_EQ(1u, Lines().size());
  // The cache grows, but not enough.
  cache->SetCapacity(160 << 10);
  AddFile(10);
  ASSERT_EQ(2u, Lines().size());
  EXPECT_NE(std::string::npos,
            Lines()[1].find("163840 bytes, in 16 shards of 10240"));
  // What the line asks for is enough.
  const std::string mark = "give the cache at least ";
  const std::string& line = Lines()[1];
  cache->SetCapacity(std::stoull(line.substr(line.find(mark) + mark.size())));
  log_->Clear();
  AddFile(10);
  EXPECT_TRUE(Lines().empty());
}

TEST_F(FilterCacheTest, NoLineWhereThereIsNoCliff) {
  const auto small = [] { return NewLRUCache(8 << 10, /*num_shard_bits=*/2); };
  LRUCacheOptions with_secondary;
  with_secondary.capacity = 8 << 10;
  with_secondary.secondary_cache = NewCompressedSecondaryCache(1 << 20);
  const struct {
    std::string table;
    std::shared_ptr<Cache> cache;
  } cases[] = {
      {"cache_index_and_filter_blocks=false", small()},
      {std::string(kInCache) +
           "metadata_cache_options={unpartitioned_pinning=kAll}",
       small()},
      {std::string(kInCache) + "pin_l0_filter_and_index_blocks_in_cache=true",
       small()},
      {std::string(kInCache) + kInParts, small()},
      {kInCache, NewLRUCache(1 << 20)},
      {kInCache, HyperClock(1 << 20, 0)},
      {kInCache, with_secondary.MakeSharedCache()}};
  for (const auto& [table, cache] : cases) {
    SCOPED_TRACE(table);
    ASSERT_NO_FATAL_FAILURE(Make(table, cache, 3));
    GetAbsentKeys(10);
    EXPECT_TRUE(Lines().empty());
    EXPECT_EQ(3u, Now().total.used());
  }
}

// ---- The statistics ----

// Each query that asks a file reads its filter, if the filter is larger than a
// shard of an LRUCache.
TEST_F(FilterCacheTest, EachQueryReadsFiltersLargerThanAShard) {
  constexpr uint64_t kReads = 50;
  ASSERT_NO_FATAL_FAILURE(
      Make(kInCache, NewLRUCache(160 << 10, /*num_shard_bits=*/4), 2));
  const FilterStatistics before = Now();
  const uint64_t bytes = before.files.at(0).filter_bytes;
  EXPECT_EQ(bytes, before.files.at(1).filter_bytes);
  ASSERT_OK(options_.statistics->Reset());
  GetAbsentKeys(kReads);
  const FilterStatistics gets = Now();
  EXPECT_EQ(before.total.filter_blocks_loaded + 2 * kReads,
            gets.total.filter_blocks_loaded);
  EXPECT_EQ(before.total.filter_bytes_loaded + 2 * kReads * bytes,
            gets.total.filter_bytes_loaded);
  for (size_t i : {0, 1}) {
    EXPECT_EQ(before.files[i].filter_blocks_loaded + kReads,
              gets.files[i].filter_blocks_loaded);
  }
  SeekEmptyRanges(kReads);
  const FilterStatistics seeks = Now();
  EXPECT_LE(gets.total.filter_blocks_loaded + 2 * kReads,
            seeks.total.filter_blocks_loaded);
  EXPECT_EQ(
      Ticks(BLOCK_CACHE_FILTER_MISS),
      seeks.total.filter_blocks_loaded - before.total.filter_blocks_loaded);
}

// Other caches that are too small lose the filters when data blocks come.
TEST_F(FilterCacheTest, DataBlocksPushFiltersOut) {
  constexpr uint64_t kRounds = 20;
  const struct {
    std::shared_ptr<Cache> cache;
    bool fits;
  } cases[] = {{HyperClock(80 << 10, 0), false},
               {HyperClock(80 << 10, 4 << 10), false},
               {NewLRUCache(20 << 10, /*num_shard_bits=*/0), false},
               {NewLRUCache(8 << 20, /*num_shard_bits=*/4), true},
               {HyperClock(8 << 20, 0), true}};
  for (const auto& [cache, fits] : cases) {
    SCOPED_TRACE(cache->Name());
    ASSERT_NO_FATAL_FAILURE(Make(kInCache, cache, 2));
    EXPECT_EQ(fits, Lines().empty());
    GetAbsentKeys(1);
    const uint64_t before = Now().total.filter_blocks_loaded;
    ASSERT_OK(options_.statistics->Reset());
    for (uint64_t round = 0; round < kRounds; round++) {
      const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
      }
      GetAbsentKeys(1);
    }
    const uint64_t loads = Now().total.filter_blocks_loaded - before;
    EXPECT_EQ(Ticks(BLOCK_CACHE_FILTER_MISS), loads);
    if (fits) {
      EXPECT_EQ(0u, loads);
    } else {
      EXPECT_LE(kRounds, loads);
    }
  }
}

// A filter that RocksDB holds itself is read once, with its file.
TEST_F(FilterCacheTest, FiltersReadWithTheirFiles) {
  ASSERT_NO_FATAL_FAILURE(Make("", NewLRUCache(1 << 20), 2));
  GetAbsentKeys(50);
  SeekEmptyRanges(50);
  const FilterStatistics now = Now();
  EXPECT_EQ(2u, now.total.filter_blocks_loaded);
  EXPECT_EQ(now.total.filter_bytes, now.total.filter_bytes_loaded);
  // Compaction leaves the counts.
  ASSERT_OK(CompactLevel0(db_.get(), 3, 1 << 20));
  const FilterStatistics later = Now();
  EXPECT_EQ(1u, later.total.files);
  EXPECT_EQ(3u, later.total.filter_blocks_loaded);
  EXPECT_EQ(2u, later.levels.at(0).sums.filter_blocks_loaded);
}

// RocksDB reads all parts when it opens the file. A cache that has room for
// them keeps them; another one reads single parts.
TEST_F(FilterCacheTest, PartsThatAreRead) {
  const std::string table = std::string(kInCache) + kInParts;
  for (const bool fits : {true, false}) {
    SCOPED_TRACE(fits);
    ASSERT_NO_FATAL_FAILURE(Make(table, NewLRUCache(4 << 20), 1));
    SetTable(table, NewLRUCache(fits ? 4 << 20 : 8 << 10,
                                /*num_shard_bits=*/0));
    Open();
    const FilterSums before = Now().total;
    EXPECT_LT(10u, before.filter_blocks_loaded);
    EXPECT_LT(0.9 * before.filter_bytes, before.filter_bytes_loaded);
    EXPECT_GT(1.1 * before.filter_bytes, before.filter_bytes_loaded);
    ASSERT_OK(options_.statistics->Reset());
    GetAbsentKeys(1000);
    const FilterSums now = Now().total;
    const uint64_t blocks =
        now.filter_blocks_loaded - before.filter_blocks_loaded;
    if (fits) {
      EXPECT_EQ(0u, blocks);
      continue;
    }
    const uint64_t bytes = now.filter_bytes_loaded - before.filter_bytes_loaded;
    EXPECT_LT(200u, blocks);
    EXPECT_LT(500 * blocks, bytes);
    EXPECT_GE(1024 * blocks, bytes);
  }
}

// Files of Protean under a policy of RocksDB count; filters of RocksDB do not.
TEST_F(FilterCacheTest, WhoseFiltersCount) {
  ASSERT_NO_FATAL_FAILURE(Make("", NewLRUCache(1 << 20), 1));
  const auto set_policy = [&](const char* policy) {
    options_.table_factory =
        NewTable("ProteanTable", std::string("filter_policy=") + policy);
  };
  set_policy("bloomfilter:10");
  Open();
  EXPECT_EQ(1u, Now().total.filter_blocks_loaded);
  AddFile();
  EXPECT_EQ(1u, Now().total.filter_blocks_loaded);
  set_policy("surf:0:8");
  Open();
  EXPECT_EQ(1u, Now().total.filter_blocks_loaded);
}

}  // namespace ROCKSDB_NAMESPACE::protean
