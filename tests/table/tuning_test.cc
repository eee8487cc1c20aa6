// SPDX-License-Identifier: Apache-2.0

//  Whatever options of the DB, of reads and of the table are set, answers stay
//  right and filters are used.

#include <unordered_map>

#include "rocksdb/slice_transform.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

class TuningOptionsTest : public FeatureTest {
 protected:
  using SetOptions = std::function<void(Options*)>;
  void CompareOptions(const std::vector<SetOptions>& options) {
    for (size_t i = 0; i < options.size(); i++) {
      if (options.size() > 1 && !IsMyTurn(i)) continue;
      SCOPED_TRACE(i);
      const auto dbs = NewTwins();
      for (TwinDB::Twin twin : TwinDB::kTwins) {
        options[i](&dbs->options(twin));
      }
      CompareTuned(dbs.get());
      if (HasFailure()) return;
    }
  }
};

PROTEAN_FEATURE_TEST(TuningOptionsTest);

// ---- How files are read ----

TEST_P(TuningOptionsTest, MmapReads) {
  CompareOptions({[](Options* options) { options->allow_mmap_reads = true; }});
}

TEST_P(TuningOptionsTest, DirectReads) {
  const std::string probe = test::PerThreadDBPath("direct_reads");
  ASSERT_OK(WriteStringToFile(Env::Default(), std::string(4096, 'x'), probe));
  EnvOptions direct;
  direct.use_direct_reads = true;
  std::unique_ptr<RandomAccessFile> file;
  const Status s = Env::Default()->NewRandomAccessFile(probe, &file, direct);
  ASSERT_OK(Env::Default()->DeleteFile(probe));
  if (!s.ok()) GTEST_SKIP() << "no direct I/O here: " << s.ToString();
  CompareOptions({[](Options* options) {
    options->use_direct_reads = true;
    options->use_direct_io_for_flush_and_compaction = true;
  }});
}

// Files are opened and closed all the time.
TEST_P(TuningOptionsTest, FewOpenFiles) {
  CompareOptions({[](Options* options) {
    options->max_open_files = 1;  // RocksDB takes 20, of which 10 are for files
    options->table_cache_numshardbits = 0;
  }});
}

TEST_P(TuningOptionsTest, MultiGetOptions) {
  const auto dbs = NewTree();
  for (bool async : {false, true}) {
    for (bool for_io : {false, true}) {
      ReadOptions options;
      options.async_io = async;
      options.optimize_multiget_for_io = for_io;
      ExpectFilteredGets(
          [&] { CompareMultiGets(dbs.get(), queries_, -1, options); });
      options.value_size_soft_limit = 200;
      CompareMultiGets(dbs.get(), queries_, -1, options);
    }
  }
  // Batches are sorted already or not, and some keys occur twice.
  ReadOptions options;
  for (bool sorted : {false, true}) {
    ExpectFilteredGets([&] {
      for (size_t i = 0; i + 20 <= queries_.size(); i += 20) {
        dbs->Same([&](TwinDB::Twin twin) {
          DB* db = dbs->db(twin);
          std::vector<Slice> batch;
          for (size_t k = 0; k < 20; k++) {
            batch.insert(batch.end(), k % 3 == 0 ? 2 : 1, queries_[i + k]);
          }
          std::vector<PinnableSlice> values(batch.size());
          std::vector<Status> statuses(batch.size());
          db->MultiGet(options, db->DefaultColumnFamily(), batch.size(),
                       batch.data(), values.data(), statuses.data(), sorted);
          std::string described;
          for (size_t k = 0; k < batch.size(); k++) {
            described += statuses[k].ToString() + values[k].ToString() + " ";
          }
          return described;
        });
      }
    });
  }
}

// Reads that may not access files are right, or say that they are incomplete.
TEST_P(TuningOptionsTest, BlockCacheTier) {
  for (bool cached : {false, true}) {
    const auto dbs = NewTwins(ManySmallFiles(kLevels),
                              std::string("block_cache=32M;block_size=256;"
                                          "cache_index_and_filter_blocks=") +
                                  (cached ? "true" : "false"));
    dbs->Open();
    Fill(dbs.get());
    dbs->Reopen();
    ReadOptions in_memory;
    in_memory.read_tier = kBlockCacheTier;
    size_t complete = 0;
    size_t incomplete = 0;
    const auto count = [&](const Status& s) {
      s.IsIncomplete() ? incomplete++ : complete++;
      return !s.IsIncomplete();
    };
    const auto compare = [&] {
      for (size_t i = 0; i + 1 < queries_.size(); i++) {
        std::string expected;
        std::string got;
        Status s = dbs->protean()->Get(in_memory, queries_[i], &got);
        if (count(s)) {
          EXPECT_EQ(dbs->plain()->Get(ReadOptions(), queries_[i], &expected),
                    s);
          EXPECT_EQ(expected, got);
        }
        const Slice upper(queries_[i + 1]);
        ReadOptions closed;
        closed.iterate_upper_bound = &upper;
        const std::unique_ptr<Iterator> plain(
            dbs->plain()->NewIterator(closed));
        plain->Seek(queries_[i]);
        closed.read_tier = kBlockCacheTier;
        const std::unique_ptr<Iterator> it(dbs->protean()->NewIterator(closed));
        it->Seek(queries_[i]);
        if (count(it->status())) {
          ASSERT_EQ(plain->Valid(), it->Valid()) << Hex(queries_[i]);
          if (it->Valid()) {
            EXPECT_EQ(plain->key(), it->key());
            EXPECT_EQ(plain->value(), it->value());
          }
        }
      }
    };
    compare();
    EXPECT_GT(incomplete, 0u);
    CompareReads(dbs.get(), queries_);
    complete = incomplete = 0;
    ExpectFiltered(compare);
    EXPECT_GT(complete, 0u);
    EXPECT_EQ(0u, incomplete);
  }
}

// Gets are answered from memtables or the WAL only.
TEST_P(TuningOptionsTest, OtherReadTiers) {
  const auto dbs = NewTree();
  for (ReadTier tier : {kPersistedTier, kMemtableTier}) {
    ReadOptions options;
    options.read_tier = tier;
    CompareGets(dbs.get(), queries_, -1, options);
    if (tier == kPersistedTier) {
      CompareMultiGets(dbs.get(), queries_, -1, options);
    }
  }
}

// An existing key may exist; most absent keys are known not to.
TEST_P(TuningOptionsTest, KeyMayExist) {
  const auto dbs = NewTree();
  dbs->Compact();
  size_t absent = 0;
  size_t known = 0;
  for (const std::string& key : queries_) {
    std::string value;
    const bool there = dbs->plain()->Get(ReadOptions(), key, &value).ok();
    const bool may = dbs->protean()->KeyMayExist(ReadOptions(), key, &value);
    if (there) {
      EXPECT_TRUE(may) << Hex(key);
    } else {
      absent++;
      known += may ? 0 : 1;
    }
  }
  EXPECT_GT(absent, 100u);
  EXPECT_GT(known, absent / 4);
}

// ---- How the tree is shaped and held ----

TEST_P(TuningOptionsTest, RowCache) {
  CompareOptions(
      {[](Options* options) { options->row_cache = NewLRUCache(1 << 20); }});
  EXPECT_GT(Ticks(ROW_CACHE_HIT), 0u);
}

TEST_P(TuningOptionsTest, Compression) {
  CompareOptions({[](Options* options) {
    options->compression = kLZ4Compression;
    options->bottommost_compression = kZSTD;
    options->bottommost_compression_opts.enabled = true;
    options->bottommost_compression_opts.max_dict_bytes = 4096;
  }});
}

TEST_P(TuningOptionsTest, Memtables) {
  CompareOptions({[](Options* options) {
    options->memtable_whole_key_filtering = true;
    options->memtable_prefix_bloom_size_ratio = 0.1;
  }});
}

// Iterators seek anew instead of going over old versions of a key.
TEST_P(TuningOptionsTest, Reseeks) {
  CompareOptions(
      {[](Options* options) { options->max_sequential_skip_in_iterations = 0; },
       [](Options* options) {
         options->max_sequential_skip_in_iterations = 1;
       }});
  EXPECT_GT(Ticks(NUMBER_OF_RESEEKS_IN_ITERATION), 0u);
}

// The last level has no filters, the others do.
TEST_P(TuningOptionsTest, OptimizeFiltersForHits) {
  CompareOptions(
      {[](Options* options) { options->optimize_filters_for_hits = true; }});
  EXPECT_GT(Ticks(NON_LAST_LEVEL_SEEK_FILTERED), 0u);
}

TEST_P(TuningOptionsTest, DynamicLevels) {
  CompareOptions({[](Options* options) {
    options->level_compaction_dynamic_level_bytes = true;
    options->max_subcompactions = 2;
    options->paranoid_file_checks = true;
  }});
}

TEST_P(TuningOptionsTest, OtherCompactionStyles) {
  for (CompactionStyle style :
       {kCompactionStyleUniversal, kCompactionStyleFIFO}) {
    SCOPED_TRACE(style);
    Options options;
    options.compaction_style = style;
    options.level0_file_num_compaction_trigger = 3;
    const bool fifo = style == kCompactionStyleFIFO;
    options.compaction_options_fifo.allow_compaction = true;
    if (fifo) options.num_levels = 1;
    const auto dbs = NewTwins(options);
    dbs->Open();
    Random rnd(61);
    for (int round = 0; round < 6; round++) {
      for (const std::string& key : keys_) {
        if (rnd.OneIn(2)) dbs->Put(key, "of round " + std::to_string(round));
        if (rnd.OneIn(10)) dbs->Delete(key);
      }
      if (round == 1) {
        CompareGets(dbs.get(), queries_);
        CompareWalks(dbs.get(), queries_);
      }
      if (round < 5) dbs->Flush();
    }
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
    dbs->Compact();
    dbs->Reopen();
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
  }
}

// ---- Options that change while the DB is open ----

TEST_P(TuningOptionsTest, ChangedTableOptions) {
  const auto dbs = NewTree();
  using Change = std::unordered_map<std::string, std::string>;
  for (const Change& change :
       {Change{{"table_factory.block_size", "4096"}},
        Change{{"table_factory.block_size", "128"},
               {"table_factory.block_restart_interval", "2"}},
        Change{{"max_sequential_skip_in_iterations", "1"},
               {"level0_file_num_compaction_trigger", "2"}}}) {
    dbs->Both([&](DB* db) { return db->SetOptions(change); });
    for (size_t i = 0; i < keys_.size(); i += 3) dbs->Put(keys_[i], "changed");
    dbs->Flush();
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
  }
  dbs->Compact();
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
  dbs->Reopen();
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
}

// The policy is changed to another one, none, RocksDB's own table, and back,
// while all files are open. Open files keep the filters that they have.
TEST_P(TuningOptionsTest, ChangedPolicies) {
  const auto dbs = NewTree();
  DB* db = dbs->protean();
  for (const std::string& change :
       {std::string("{id=ProteanTable;filter_policy=surf:8:0}"),
        std::string("{id=ProteanTable;filter_policy=bloomfilter:10}"),
        std::string("{id=BlockBasedTable}"),
        std::string("{id=ProteanTable;filter_policy=") +
            GetParam().filter_policy + "}"}) {
    SCOPED_TRACE(change);
    ASSERT_OK(db->SetOptions({{"table_factory", change}}));
    for (size_t i = 0; i < keys_.size(); i += 3) dbs->Put(keys_[i], change);
    dbs->Flush();
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
  }
  dbs->Compact();
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });

  // Refused changes have no effect. The name of another table is refused by
  // RocksDB itself.
  EXPECT_TRUE(db->SetOptions({{"table_factory.filter_policy", "surf:99:0"}})
                  .IsInvalidArgument());
  EXPECT_TRUE(
      db->SetOptions({{"block_based_table_factory", "{block_size=4096}"}})
          .IsInvalidArgument());
  EXPECT_STREQ("ProteanTable", db->GetOptions().table_factory->Name());
  dbs->Put("new", "value");
  dbs->Flush();
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
}

// ---- Options of the table ----

class TuningTableTest : public FeatureTest {
 protected:
  using SetTable = std::function<void(BlockBasedTableOptions*)>;

  // `set` is called for each of the twins, so that they share no cache.
  std::unique_ptr<TwinDB> NewTunedTwins(const Options& options,
                                        const SetTable& set) {
    auto dbs = NewTwins(options);
    for (TwinDB::Twin twin : TwinDB::kTwins) {
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
