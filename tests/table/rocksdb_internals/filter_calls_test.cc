// SPDX-License-Identifier: Apache-2.0

//  What RocksDB asks the builders and readers of filters, and how it loads and
//  keeps filters.

#include "rocksdb/slice_transform.h"
#include "table/block_based/filter_policy_internal.h"
#include "table/rocksdb_internals/cached_filter.h"
#include "tests/sst_damage.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Parts in the cache ----

// CachedFilter has RocksDB load parts of a filter as if they were blocks, and
// stands where RocksDB's table has its own filter. If a test fails, look at
// what RocksDB does with partitioned filters now: its reader's
// GetFilterPartitionBlock, and how a block's trailer and cache key are read.

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

  // Opens a DB of one file, with every other key, and with nothing in its
  // cache.
  void Make(const std::function<void(BlockBasedTableOptions*)>& change = {}) {
    Destroy();
    BlockBasedTableOptions table;
    table.filter_policy = NewSurfFilterPolicy({0, 16});
    table.cache_index_and_filter_blocks = true;
    table.metadata_block_size = kPartBytes;
    if (change) change(&table);
    for (const bool written : {false, true}) {
      table.block_cache = cache_ =
          std::make_shared<NotingCache>(NewLRUCache(8 << 20));
      options_.table_factory = std::make_shared<ProteanTableFactory>(table);
      Open();
      if (written) break;
      for (int i = 0; i < kKeys; i += 2) Put(Key(i), "value of " + Key(i));
      Flush();
      CompactLevel0Into(3, 64 << 20);
    }
    ASSERT_OK(options_.statistics->Reset());
    get_perf_context()->Reset();
  }
  // The file's directory.
  size_t NumParts() {
    const std::string bytes = FilterBytes(OneFile());
    FilterDirectory directory;
    EXPECT_OK(directory.Read(bytes, bytes.size()));
    return directory.parts().size();
  }
  void GetAbsent(int i) { ASSERT_FALSE(Has(Key(i | 1))); }

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

// A directory larger than the first read of it.
TEST_F(CachedFilterTest, ALargeDirectory) {
  Make([](BlockBasedTableOptions* table) { table->metadata_block_size = 16; });
  EXPECT_GT(NumParts(), 500u);
  for (int i = 0; i < kKeys; i += 2) ASSERT_TRUE(Has(Key(i)));
  GetAbsent(9);
  EXPECT_GE(Ticks(BLOOM_FILTER_USEFUL), 1u);
}

// ---- Questions ----

namespace {

// A policy that records what its builders and readers are given.
class RecordingPolicy : public FilterPolicy {
 public:
  explicit RecordingPolicy(Keys* calls) : calls_(calls) {}

  const char* Name() const override { return "RecordingPolicy"; }
  const char* CompatibilityName() const override { return Name(); }

  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext&) const override {
    return new Builder(calls_);
  }
  FilterBitsReader* GetFilterBitsReader(const Slice&) const override {
    return new Reader(calls_);
  }

 private:
  struct Builder : FilterBitsBuilder {
    explicit Builder(Keys* noted) : calls(noted) {}
    void AddKey(const Slice& key) override {
      calls->push_back("add " + key.ToString());
    }
    void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
      calls->push_back("add " + key.ToString() + " and " + alt.ToString());
    }
    size_t EstimateEntriesAdded() override { return 1; }
    using FilterBitsBuilder::Finish;
    Slice Finish(std::unique_ptr<const char[]>* buf) override {
      buf->reset(new char[1]());
      return Slice(buf->get(), 1);
    }
    size_t ApproximateNumEntries(size_t) override { return 1; }
    // RocksDB has these two since 10.9.
    virtual size_t CalculateSpace(size_t) { return 1; }
    virtual double EstimatedFpRate(size_t, size_t) { return 1; }
    Keys* const calls;
  };

  struct Reader : FilterBitsReader {
    explicit Reader(Keys* noted) : calls(noted) {}
    using FilterBitsReader::MayMatch;
    bool MayMatch(const Slice& entry) override {
      calls->push_back("ask " + entry.ToString());
      return true;
    }
    void MayMatch(int num_keys, Slice** keys, bool* may_match) override {
      std::string call = "ask";
      for (int i = 0; i < num_keys; i++) {
        call += " " + keys[i]->ToString();
        may_match[i] = true;
      }
      calls->push_back(call);
    }
    Keys* const calls;
  };

  Keys* const calls_;
};

}  // namespace

// Builders get the keys in order, and with a prefix extractor each key together
// with its prefix. Get asks readers for whole keys. Get without whole-key
// filtering and prefix seeks ask them for prefixes, and do not say that these
// are prefixes. FilterBlockHeader::kAskedForPrefixes rests on it.
TEST_F(ContractTest, KeysAndPrefixes) {
  for (const bool prefixes : {false, true}) {
    for (const bool whole_keys : {true, false}) {
      if (!prefixes && !whole_keys) continue;
      SCOPED_TRACE(prefixes ? "with prefixes" : "without prefixes");
      SCOPED_TRACE(whole_keys ? "with whole keys" : "without whole keys");
      Keys calls;
      BlockBasedTableOptions table;
      table.filter_policy = std::make_shared<RecordingPolicy>(&calls);
      table.whole_key_filtering = whole_keys;
      options_.table_factory = NewProteanTableFactory(table);
      if (prefixes) {
        options_.prefix_extractor.reset(NewFixedPrefixTransform(1));
      }
      Open();
      AddFile(db_.get(), 0, {"a1", "a2", "b1"});
      EXPECT_EQ(!prefixes ? (Keys{"add a1", "add a2", "add b1"})
                : whole_keys
                    ? (Keys{"add a1 and a", "add a2 and a", "add b1 and b"})
                    : (Keys{"add a", "add a", "add b"}),
                calls);

      const std::string asked = whole_keys ? "ask a2" : "ask a";
      calls.clear();
      ASSERT_TRUE(Has("a2"));
      EXPECT_EQ(Keys{asked}, calls);

      calls.clear();
      std::vector<PinnableSlice> values;
      MultiGet(db_.get(), {"a2", "b1"}, &values);
      EXPECT_EQ(Keys{whole_keys ? "ask a2 b1" : "ask a b"}, calls);

      calls.clear();
      EXPECT_EQ("a2", FirstFrom("a2"));
      EXPECT_EQ(prefixes ? Keys{"ask a"} : Keys{}, calls);
      calls.clear();
      ReadOptions total;
      total.total_order_seek = true;
      EXPECT_EQ("a2", FirstFrom("a2", total));
      EXPECT_EQ(Keys{}, calls);

      Destroy();
      options_.prefix_extractor.reset();
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
