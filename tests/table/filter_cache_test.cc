// SPDX-License-Identifier: Apache-2.0

//  Filters in block caches: what the statistics count.

#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kInCache[] = "cache_index_and_filter_blocks=true;";

class FilterCacheTest : public NumberedDBTest {
 protected:
  static constexpr uint64_t kKeys = 10000;

  void UseTable(const std::string& table, std::shared_ptr<Cache> cache) {
    SetTable("filter_policy=proteus:12:bloom;" + table);
    options_.table_factory->GetOptions<BlockBasedTableOptions>()->block_cache =
        std::move(cache);
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

  // Absent keys that lie among the files' keys.
  void GetAbsentKeys(uint64_t gets) {
    for (uint64_t i = 0; i < gets; i++) {
      ASSERT_FALSE(Has(Gap(i * 7919 % kKeys)));
    }
  }
  void SeekEmptyRanges(uint64_t seeks) {
    for (uint64_t i = 0; i < seeks; i++) {
      const uint64_t key = i * 7919 % kKeys;
      ASSERT_EQ("", FirstIn(Gap(key), Gap(key, 9)));
    }
  }
};

}  // namespace

// A shard of the cache is smaller than a filter, and keeps some of its parts.
TEST_F(FilterCacheTest, FiltersLargerThanAShard) {
  constexpr uint64_t kReads = 200;
  ASSERT_NO_FATAL_FAILURE(
      Make(std::string(kInCache) + "metadata_block_size=512;",
           NewLRUCache(160 << 10, /*num_shard_bits=*/4), 2));
  EXPECT_LT((160u << 10) / 16, FilterStats().files.at(0).filter_bytes);
  GetAbsentKeys(kReads);
  const uint64_t before = FilterStats().total.filter_blocks_loaded;
  ASSERT_OK(options_.statistics->Reset());
  GetAbsentKeys(kReads);
  const uint64_t loads = FilterStats().total.filter_blocks_loaded - before;
  EXPECT_EQ(Ticks(BLOCK_CACHE_FILTER_MISS), loads);
  // Some shards have more parts than others, and data blocks push out a few. A
  // whole filter would be read for each key.
  EXPECT_GT(kReads / 2, loads);
}

// A cache without room for a part loses it when data blocks come.
TEST_F(FilterCacheTest, DataBlocksPushFiltersOut) {
  constexpr uint64_t kRounds = 20;
  const struct {
    std::shared_ptr<Cache> cache;
    bool fits;
  } cases[] = {{NewLRUCache(1 << 10, /*num_shard_bits=*/0), false},
               {NewLRUCache(8 << 20, /*num_shard_bits=*/4), true},
               {HyperClockCacheOptions(8 << 20, /*_estimated_entry_charge=*/0,
                                       /*_num_shard_bits=*/3)
                    .MakeSharedCache(),
                true}};
  for (const auto& [cache, fits] : cases) {
    SCOPED_TRACE(cache->Name());
    ASSERT_NO_FATAL_FAILURE(Make(kInCache, cache, 2));
    GetAbsentKeys(1);
    const uint64_t before = FilterStats().total.filter_blocks_loaded;
    ASSERT_OK(options_.statistics->Reset());
    for (uint64_t round = 0; round < kRounds; round++) {
      const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
      }
      GetAbsentKeys(1);
    }
    const uint64_t loads = FilterStats().total.filter_blocks_loaded - before;
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
// them keeps them; another one reads single parts.
TEST_F(FilterCacheTest, PartsThatAreRead) {
  const std::string table = std::string(kInCache) + "metadata_block_size=1024;";
  for (const bool fits : {true, false}) {
    SCOPED_TRACE(fits);
    ASSERT_NO_FATAL_FAILURE(Make(table, NewLRUCache(4 << 20), 1));
    UseTable(table, NewLRUCache(fits ? 4 << 20 : 8 << 10,
                                /*num_shard_bits=*/0));
    Open();
    const FilterSums before = FilterStats().total;
    EXPECT_LT(10u, before.filter_blocks_loaded);
    EXPECT_LT(0.9 * before.filter_bytes, before.filter_bytes_loaded);
    EXPECT_GT(1.1 * before.filter_bytes, before.filter_bytes_loaded);
    ASSERT_OK(options_.statistics->Reset());
    GetAbsentKeys(1000);
    const FilterSums now = FilterStats().total;
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
  SetPolicy("bloomfilter:10");
  Open();
  EXPECT_EQ(1u, FilterStats().total.filter_blocks_loaded);
  AddFile();
  EXPECT_EQ(1u, FilterStats().total.filter_blocks_loaded);
  SetPolicy("surf:0:8");
  Open();
  EXPECT_EQ(1u, FilterStats().total.filter_blocks_loaded);
}

}  // namespace ROCKSDB_NAMESPACE::protean
