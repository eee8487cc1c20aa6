// SPDX-License-Identifier: Apache-2.0

//  Whatever options of the table are set, answers stay right and filters are
//  used.

#include "rocksdb/cache.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice_transform.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

class TuningTableTest : public FeatureTest {
 protected:
  using SetTable = std::function<void(BlockBasedTableOptions*)>;

  // `set` is called for each of the twins, so that they share no cache.
  std::unique_ptr<TwinDB> NewTunedTwins(const Options& options,
                                        const SetTable& set) {
    auto dbs = NewTwins(options);
    for (TwinDB::Twin twin : {TwinDB::kProtean, TwinDB::kPlain}) {
      BlockBasedTableOptions table;
      table.block_size = 256;
      set(&table);
      auto& factory = dbs->options(twin).table_factory;
      if (twin == TwinDB::kPlain) {
        factory.reset(NewBlockBasedTableFactory(table));
        continue;
      }
      EXPECT_OK(FilterPolicy::CreateFromString(
          ConfigOptions(), GetParam().filter_policy, &table.filter_policy));
      factory = NewProteanTableFactory(table);
    }
    return dbs;
  }

  void CompareTables(const std::vector<SetTable>& tables,
                     const Options& options = ManySmallFiles(kLevels),
                     const ReadOptions& read_options = {}) {
    for (size_t i = 0; i < tables.size(); i++) {
      if (tables.size() > 1 && !IsMyTurn(i)) continue;
      SCOPED_TRACE(i);
      const auto dbs = NewTunedTwins(options, tables[i]);
      CompareTuned(dbs.get(), read_options);
      if (HasFailure()) return;
    }
  }
};

PROTEAN_FEATURE_TEST(TuningTableTest);

// ---- Where blocks are held ----

TEST_P(TuningTableTest, FilterBlocksInTheCache) {
  const SetTable cached = [](BlockBasedTableOptions* table) {
    table->cache_index_and_filter_blocks = true;
  };
  const SetTable cached_in_little = [&](BlockBasedTableOptions* table) {
    cached(table);
    table->block_cache = NewLRUCache(8 << 10);
  };
  const SetTable level0_pinned = [&](BlockBasedTableOptions* table) {
    cached(table);
    table->pin_l0_filter_and_index_blocks_in_cache = true;
  };
  const SetTable all_pinned = [&](BlockBasedTableOptions* table) {
    cached(table);
    table->metadata_cache_options.unpartitioned_pinning = PinningTier::kAll;
    table->metadata_cache_options.top_level_index_pinning = PinningTier::kAll;
  };
  const SetTable no_cache = [](BlockBasedTableOptions* table) {
    table->no_block_cache = true;
  };
  const SetTable filled_at_flush = [&](BlockBasedTableOptions* table) {
    cached(table);
    table->prepopulate_block_cache =
        BlockBasedTableOptions::PrepopulateBlockCache::kFlushOnly;
  };
  CompareTables({cached, cached_in_little, level0_pinned, all_pinned, no_cache,
                 filled_at_flush});
}

TEST_P(TuningTableTest, KindsOfCache) {
  CompareTables({[](BlockBasedTableOptions* table) {
                   table->cache_index_and_filter_blocks = true;
                   HyperClockCacheOptions options(/*capacity=*/64 << 10, 0);
                   table->block_cache = options.MakeSharedCache();
                 },
                 [](BlockBasedTableOptions* table) {
                   HyperClockCacheOptions options(/*capacity=*/1 << 20, 256);
                   table->block_cache = options.MakeSharedCache();
                 }});
}

// Blocks come back from a secondary cache, filters too.
TEST_P(TuningTableTest, SecondaryCache) {
  CompareTables({[](BlockBasedTableOptions* table) {
    table->cache_index_and_filter_blocks = true;
    CompressedSecondaryCacheOptions secondary;
    secondary.capacity = 4 << 20;
    LRUCacheOptions options(/*_capacity=*/8 << 10, /*_num_shard_bits=*/0,
                            /*_strict_capacity_limit=*/false,
                            /*_high_pri_pool_ratio=*/0.5);
    options.secondary_cache = secondary.MakeSharedSecondaryCache();
    table->block_cache = options.MakeSharedCache();
  }});
  EXPECT_GT(Ticks(SECONDARY_CACHE_HITS), 0u);
  EXPECT_GT(Ticks(SECONDARY_CACHE_FILTER_HITS), 0u);
}

// ---- How files are laid out ----

TEST_P(TuningTableTest, Indexes) {
  using Table = BlockBasedTableOptions;
  CompareTables(
      {[](Table* table) {
         table->index_type = Table::kTwoLevelIndexSearch;
         table->metadata_block_size = 128;
       },
       [](Table* table) {
         table->index_type = Table::kTwoLevelIndexSearch;
         table->metadata_block_size = 128;
         table->cache_index_and_filter_blocks = true;
         table->pin_top_level_index_and_filter = false;
       },
       [](Table* table) {
         table->index_type = Table::kBinarySearchWithFirstKey;
         table->index_shortening = Table::IndexShorteningMode::kNoShortening;
       },
       [](Table* table) {
         table->index_shortening =
             Table::IndexShorteningMode::kShortenSeparatorsAndSuccessor;
         table->enable_index_compression = false;
         table->index_block_restart_interval = 8;
       }});
}

TEST_P(TuningTableTest, HashIndex) {
  Options options = ManySmallFiles(kLevels);
  options.prefix_extractor.reset(NewCappedPrefixTransform(2));
  ReadOptions read_options;
  read_options.total_order_seek = true;
  CompareTables({[](BlockBasedTableOptions* table) {
                  table->index_type = BlockBasedTableOptions::kHashSearch;
                }},
                options, read_options);
}

TEST_P(TuningTableTest, Blocks) {
  using Table = BlockBasedTableOptions;
  CompareTables({[](Table* table) {
                   table->data_block_index_type =
                       Table::kDataBlockBinaryAndHash;
                   table->format_version = 6;
                   table->checksum = kNoChecksum;
                 },
                 [](Table* table) {
                   table->format_version = 2;
                   table->checksum = kCRC32c;
                   table->block_restart_interval = 1;
                   table->read_amp_bytes_per_bit = 8;
                 },
                 [](Table* table) {
                   table->use_delta_encoding = false;
                   table->block_align = true;
                   table->optimize_filters_for_memory = true;
                   table->detect_filter_construct_corruption = true;
                 }});
}

}  // namespace ROCKSDB_NAMESPACE::protean
