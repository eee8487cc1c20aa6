// SPDX-License-Identifier: Apache-2.0

//  CachedFilter has RocksDB load parts of a filter as if they were blocks, and
//  stands where RocksDB's table has its own filter. If a test fails, look at
//  what RocksDB does with partitioned filters now: its reader's
//  GetFilterPartitionBlock, and how a block's trailer and cache key are read.

#include "table/rocksdb_internals/cached_filter.h"

#include "tests/sst_damage.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

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

class CachedFilterTest : public ContractTest {
 protected:
  static constexpr int kKeys = 40000;
  static constexpr size_t kPartBytes = 512;

  static std::string Key(int i) { return "key " + std::to_string(100000 + i); }

  void Make(const std::function<void(BlockBasedTableOptions*)>& change = {}) {
    Destroy();
    cache_ = std::make_shared<NotingCache>(NewLRUCache(8 << 20));
    table_ = BlockBasedTableOptions();
    table_.filter_policy = NewSurfFilterPolicy({0, 16});
    table_.cache_index_and_filter_blocks = true;
    table_.metadata_block_size = kPartBytes;
    table_.block_cache = cache_;
    if (change) change(&table_);
    options_.table_factory = std::make_shared<ProteanTableFactory>(table_);
    Open();
    for (int i = 0; i < kKeys; i += 2) Put(Key(i), "value of " + Key(i));
    Flush();
    CompactLevel0Into(3, 64 << 20);
    Reopen();
  }
  void Reopen() {
    Close();
    cache_->EraseUnRefEntries();
    cache_->keys.clear();
    cache_->charges.clear();
    cache_->priorities.clear();
    Open();
    ASSERT_OK(options_.statistics->Reset());
    get_perf_context()->Reset();
  }
  // The file's directory.
  size_t NumParts() {
    const std::string path = OneFile();
    FilterLocation location;
    FindFilter(path, &location);
    std::string bytes;
    EXPECT_OK(ReadFileToString(Env::Default(), path, &bytes));
    FilterDirectory directory;
    EXPECT_OK(directory.Read(
        Slice(bytes.data() + location.handle.offset(), location.handle.size()),
        location.handle.size()));
    return directory.parts().size();
  }
  void GetAbsent(int i) { ASSERT_FALSE(Has(Key(i | 1))); }

  BlockBasedTableOptions table_;
  std::shared_ptr<NotingCache> cache_;
};

}  // namespace

TEST_F(CachedFilterTest, AGetReadsOnePartOnce) {
  Make();
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
  for (int i = 0; i < kKeys; i += 3) GetAbsent(i);
  EXPECT_EQ(parts, get_perf_context()->filter_block_read_count);
  EXPECT_EQ(parts, cache_->keys.size());
  for (const size_t charge : cache_->charges) {
    EXPECT_GT(charge, kPartBytes / 4);
    EXPECT_LT(charge, 4 * kPartBytes);
  }
  for (int i = 0; i < kKeys; i += 2) {
    std::string value;
    ASSERT_OK(db_->Get(ReadOptions(), Key(i), &value));
    ASSERT_EQ("value of " + Key(i), value);
  }
  EXPECT_EQ(kKeys / 2u, Ticks(BLOOM_FILTER_FULL_TRUE_POSITIVE));
}

TEST_F(CachedFilterTest, Priorities) {
  for (const bool high : {false, true}) {
    Make([high](BlockBasedTableOptions* table) {
      table->cache_index_and_filter_blocks_with_high_priority = high;
    });
    GetAbsent(1);
    EXPECT_EQ((std::set<Cache::Priority>{high ? Cache::Priority::HIGH
                                              : Cache::Priority::LOW}),
              cache_->priorities);
  }
}

TEST_F(CachedFilterTest, PinnedParts) {
  for (const bool partitioned : {false, true}) {
    for (const bool pinned : {false, true}) {
      SCOPED_TRACE(std::string(partitioned ? "partition_pinning" : "") +
                   (pinned ? " kAll" : " kNone"));
      Make([=](BlockBasedTableOptions* table) {
        MetadataCacheOptions& pinning = table->metadata_cache_options;
        (partitioned ? pinning.partition_pinning
                     : pinning.unpartitioned_pinning) =
            pinned ? PinningTier::kAll : PinningTier::kNone;
        if (!partitioned) return;
        table->partition_filters = true;
        table->index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
      });
      EXPECT_EQ(pinned ? NumParts() : 0u, cache_->keys.size());
      cache_->EraseUnRefEntries();
      get_perf_context()->Reset();
      GetAbsent(7);
      EXPECT_EQ(pinned ? 0u : 1u, get_perf_context()->filter_block_read_count);
    }
  }
}

// The parts of a file that is deleted leave the cache, if RocksDB is asked for
// that.
TEST_F(CachedFilterTest, PartsOfObsoleteFiles) {
  size_t left[2];
  for (const bool uncached : {false, true}) {
    options_.uncache_aggressiveness = uncached ? 1000 : 0;
    Make();
    for (int i = 0; i < kKeys; i += 3) GetAbsent(i);
    ASSERT_OK(db_->DeleteRange(WriteOptions(), Key(0), "l"));
    ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    left[uncached] = cache_->GetUsage();
  }
  EXPECT_LT(left[1] + 3000, left[0]);
}

// Without I/O, a part that is not in memory lets keys through.
TEST_F(CachedFilterTest, BlockCacheTier) {
  Make();
  ReadOptions cached;
  cached.read_tier = kBlockCacheTier;
  std::string value;
  EXPECT_TRUE(db_->Get(cached, Key(9), &value).IsIncomplete());
  GetAbsent(8);
  EXPECT_FALSE(Has(Key(9), cached));
  EXPECT_TRUE(db_->Get(cached, Key(kKeys - 9), &value).IsIncomplete());
}

// A directory larger than the first read of it.
TEST_F(CachedFilterTest, ALargeDirectory) {
  Make([](BlockBasedTableOptions* table) { table->metadata_block_size = 16; });
  EXPECT_GT(NumParts(), 500u);
  for (int i = 0; i < kKeys; i += 2) {
    ASSERT_TRUE(Has(Key(i)));
  }
  GetAbsent(9);
  EXPECT_GE(Ticks(BLOOM_FILTER_USEFUL), 1u);
}

// A prefix seek asks the filter.
TEST_F(CachedFilterTest, PrefixSeeks) {
  options_.prefix_extractor.reset(NewFixedPrefixTransform(8));
  Make();
  ReadOptions options;
  options.prefix_same_as_start = true;
  const std::unique_ptr<Iterator> it(db_->NewIterator(options));
  it->Seek("key 999999");
  EXPECT_FALSE(it->Valid());
  it->Seek(Key(10));
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(Key(10), it->key().ToString());
}

}  // namespace ROCKSDB_NAMESPACE::protean
