// SPDX-License-Identifier: Apache-2.0

//  Whatever options of the DB, of reads and of the table are set, answers stay
//  right and filters are used.

#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// What is set beside the options of every feature test, and tickers that must
// count then.
struct Setting {
  const char* name;
  std::string options = "";
  std::string table = "";
  std::function<void(Options*, BlockBasedTableOptions*)> more = {};
  std::vector<Tickers> counted = {};
};

constexpr char kFiltersInCache[] = "cache_index_and_filter_blocks=true;";

// Others are drawn by differential_test, in all combinations: files that are
// mapped, few open files, kinds of indexes, and where filter blocks are held.
// Those of an open DB change in concurrency_test.
std::vector<Setting> AllSettings() {
  return {
      {"direct reads",
       "use_direct_reads=true;use_direct_io_for_flush_and_compaction=true"},
      {"row cache",
       "",
       "",
       [](Options* options, BlockBasedTableOptions*) {
         options->row_cache = NewLRUCache(1 << 20);
       },
       {ROW_CACHE_HIT}},
      {"compression",
       "compression=kLZ4Compression;bottommost_compression=kZSTD;"
       "bottommost_compression_opts={enabled=true;max_dict_bytes=4096}"},
      {"no filters in the last level",
       "optimize_filters_for_hits=true",
       "",
       {},
       {NON_LAST_LEVEL_SEEK_FILTERED}},
      {"clock cache with filters", "", kFiltersInCache,
       [](Options*, BlockBasedTableOptions* table) {
         HyperClockCacheOptions options(/*capacity=*/64 << 10, 0);
         table->block_cache = options.MakeSharedCache();
       }},
      {"clock cache without filters", "", "cache_index_and_filter_blocks=false",
       [](Options*, BlockBasedTableOptions* table) {
         HyperClockCacheOptions options(/*capacity=*/1 << 20, 256);
         table->block_cache = options.MakeSharedCache();
       }},
      // Blocks come back from it, filters too.
      {"secondary cache",
       "",
       kFiltersInCache,
       [](Options*, BlockBasedTableOptions* table) {
         CompressedSecondaryCacheOptions secondary;
         secondary.capacity = 4 << 20;
         LRUCacheOptions options(/*_capacity=*/8 << 10, /*_num_shard_bits=*/0,
                                 /*_strict_capacity_limit=*/false,
                                 /*_high_pri_pool_ratio=*/0.5);
         options.secondary_cache = secondary.MakeSharedSecondaryCache();
         table->block_cache = options.MakeSharedCache();
       },
       {SECONDARY_CACHE_HITS, SECONDARY_CACHE_FILTER_HITS}},
      {"blocks with hashes and no checksums", "",
       "data_block_index_type=kDataBlockBinaryAndHash;format_version=6;"
       "checksum=kNoChecksum"},
      {"blocks of an old format", "",
       "format_version=2;checksum=kCRC32c;block_restart_interval=1;"
       "read_amp_bytes_per_bit=8"},
      {"aligned blocks", "",
       "use_delta_encoding=false;block_align=true;"
       "optimize_filters_for_memory=true;"
       "detect_filter_construct_corruption=true"}};
}

bool HasDirectReads() {
  const std::string probe = test::PerThreadDBPath("direct_reads");
  EXPECT_OK(WriteStringToFile(Env::Default(), std::string(4096, 'x'), probe));
  EnvOptions direct;
  direct.use_direct_reads = true;
  std::unique_ptr<RandomAccessFile> file;
  const Status s = Env::Default()->NewRandomAccessFile(probe, &file, direct);
  EXPECT_OK(Env::Default()->DeleteFile(probe));
  return s.ok();
}

}  // namespace

class TuningTest : public FeatureTest {
 protected:
  // Each setting is for one of the policies.
  static bool IsMine(size_t setting) {
    const size_t index = setting % std::size(kFeaturePolicies);
    return GetParam().name == std::string(kFeaturePolicies[index].name);
  }

  void CompareSetting(const Setting& setting) {
    Options options;
    ASSERT_OK(GetOptionsFromString(ManySmallFiles(kLevels), setting.options,
                                   &options));
    const auto dbs = NewTwins(
        options, setting.table.empty()
                     ? "block_size=512"
                     : "block_size=256;block_cache=32M;" + setting.table);
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      Options& own = dbs->options(twin);
      auto* const table =
          own.table_factory->GetOptions<BlockBasedTableOptions>();
      if (setting.more) setting.more(&own, table);
    }
    CompareTuned(dbs.get());
  }
};

PROTEAN_FEATURE_TEST(TuningTest);

TEST_P(TuningTest, AnswersStayRight) {
  size_t number = 0;
  for (const Setting& setting : AllSettings()) {
    if (!IsMine(number++)) continue;
    SCOPED_TRACE(setting.name);
    if (setting.name == std::string("direct reads") && !HasDirectReads()) {
      printf("No direct I/O here: it is not tested.\n");
      continue;
    }
    ASSERT_OK(statistics_->Reset());
    CompareSetting(setting);
    if (HasFailure()) return;
    for (const Tickers ticker : setting.counted) {
      EXPECT_GT(Ticks(ticker), 0u) << "ticker " << ticker;
    }
  }
}

TEST_P(TuningTest, OptionsOfPointReads) {
  const auto dbs = NewTree();
  ReadOptions options;
  options.value_size_soft_limit = 200;
  CompareMultiGets(dbs.get(), queries_, -1, options);

  // An existing key may exist; most absent keys are known not to.
  dbs->Compact();
  size_t absent = 0;
  size_t known = 0;
  for (const std::string& key : queries_) {
    std::string value;
    const bool may = dbs->protean()->KeyMayExist(ReadOptions(), key, &value);
    if (Has(dbs->plain(), key)) {
      EXPECT_TRUE(may) << Hex(key);
    } else {
      absent++;
      known += may ? 0 : 1;
    }
  }
  EXPECT_GT(absent, 100u);
  EXPECT_GT(known, absent / 4);
}

}  // namespace ROCKSDB_NAMESPACE::protean
