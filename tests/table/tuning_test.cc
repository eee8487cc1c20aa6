// SPDX-License-Identifier: Apache-2.0

//  Whatever options of the DB, of reads and of the table are set, answers stay
//  right and filters are used. Each level may have a filter policy of its own,
//  by one options string.

#include "filter_policy/levels_policy.h"
#include "plugin/filter_properties.h"
#include "rocksdb/sst_file_reader.h"
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

// An existing key may exist; most absent keys are known not to.
TEST_P(TuningTest, KeyMayExist) {
  const auto dbs = NewTree();
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

// ---- A filter policy for each level ----

namespace {

class LevelsPolicyTest : public OwnDBTest {
 protected:
  LevelsPolicyTest() : OwnDBTest(Options()) {
    options_.disable_auto_compactions = true;
  }

  Status Set(const std::string& policy) {
    return AddOptions(ProteanTableText(policy), &options_);
  }

  static std::string Key(int i) { return Digits(i, 8); }
  // A file in each of the levels 2, 1 and 0, which was written there, with keys
  // at even numbers.
  void FillLevels() {
    for (const int level : {2, 1, 0}) {
      for (int i = 0; i < kKeys; i++) Put(Key(20 * i + 2 * level));
      Flush();
      if (level > 0) CompactLevel0Into(level);
    }
  }

  // The policy named in the files' properties, and the bits per key, by level.
  std::map<int, std::string> PoliciesOfFiles() {
    const TablePropertiesCollection tables = PropertiesOf(db_.get());
    std::map<int, std::string> policies;
    for (const LiveFileMetaData& file : Files()) {
      const TableProperties& table = *tables.at(file.directory + file.name);
      char text[100];
      snprintf(text, sizeof(text), "%s %.0f", table.filter_policy_name.c_str(),
               8.0 * static_cast<double>(table.filter_size) /
                   static_cast<double>(table.num_entries));
      policies[file.level] = text;
    }
    return policies;
  }

  // Seeks in the gaps between keys, all of which are empty.
  void SeekInGaps() {
    for (int i = 0; i < kKeys; i++) {
      ASSERT_EQ("", FirstIn(Key(20 * i + 7), Key(20 * i + 8)));
    }
  }
  // The filters of all three files deny absent keys.
  void ExpectFilteredGets() {
    const uint64_t before = Ticks(BLOOM_FILTER_USEFUL);
    for (int i = 0; i < kKeys; i++) ASSERT_FALSE(Has(Key(20 * i + 7)));
    EXPECT_GT(Ticks(BLOOM_FILTER_USEFUL) - before, 2.9 * kKeys);
  }

  static constexpr int kKeys = 3000;
};

}  // namespace

TEST_F(LevelsPolicyTest, EachLevelHasItsPolicy) {
  ASSERT_OK(Set("levels:bloomfilter:10,surf:0:8,proteus:16"));
  Open();
  FillLevels();
  auto policies = PoliciesOfFiles();
  EXPECT_EQ(3u, policies.size());
  EXPECT_EQ("bloomfilter 10", policies[0]);
  EXPECT_EQ("protean.SuRF", policies[1].substr(0, 12));
  EXPECT_EQ("protean.Proteus", policies[2].substr(0, 15));

  // All three filters deny Gets, and all except level 0's deny seeks.
  ExpectFilteredGets();
  for (int i = 0; i < kKeys; i++) ASSERT_TRUE(Has(Key(20 * i + 2 * (i % 3))));
  SeekInGaps();
  EXPECT_GT(FilteredSeeks(), 1.8 * kKeys);
  EXPECT_LE(FilteredSeeks(), 2u * kKeys);

  // Nothing changes when the DB is opened again by its OPTIONS file.
  Close();
  const auto statistics = options_.statistics;
  options_ = OptionsOnDisk();
  options_.statistics = statistics;
  Open();
  EXPECT_EQ(policies, PoliciesOfFiles());
  CompactTo(2);
  policies = PoliciesOfFiles();
  EXPECT_EQ(1u, policies.size());
  EXPECT_EQ("protean.Proteus", policies[2].substr(0, 15));
}

TEST_F(LevelsPolicyTest, NoFilterInALevel) {
  ASSERT_OK(Set("levels:nullptr,proteus:12"));
  Open();
  FillLevels();
  auto policies = PoliciesOfFiles();
  EXPECT_EQ(" 0", policies[0]);
  EXPECT_EQ("protean.Proteus 12", policies[1]);
  EXPECT_EQ("protean.Proteus 12", policies[2]);
  SeekInGaps();
}

// A policy of RocksDB has no part in files that only the last policy builds.
TEST_F(LevelsPolicyTest, FilesFromOutside) {
  ASSERT_OK(Set("levels:bloomfilter:10,surf:0:8"));
  const std::string file = path_ + ".sst";
  Keys keys;
  for (int i = 0; i < kKeys; i++) keys.push_back(Key(i));
  WriteSstFile(options_, file, keys);
  SstFileReader reader(options_);
  ASSERT_OK(reader.Open(file));
  EXPECT_EQ("protean.SuRF", reader.GetTableProperties()->filter_policy_name);
  ASSERT_OK(Env::Default()->DeleteFile(file));
}

// Queries of any level are samples for the filters of all levels.
TEST_F(LevelsPolicyTest, PoliciesShareTheirSamples) {
  ASSERT_OK(
      Set("{id=protean.Levels;policies={proteus:10,bloomfilter:10,"
          "{id=protean.Proteus;bits_per_key=14;sample_every=1}}}"));
  Open();
  FillLevels();
  auto policies = PoliciesOfFiles();
  EXPECT_EQ("protean.Proteus 10", policies[0]);
  EXPECT_EQ("bloomfilter 10", policies[1]);
  EXPECT_EQ("protean.Proteus 14", policies[2]);
  SeekInGaps();
  const auto queue = ProteanPolicyOf(options_)->Samples()->Queue(
      kDefaultColumnFamilyName, Env::Default(),
      /*logger=*/nullptr);
  EXPECT_GT(queue->size(), kKeys / 100u);  // of the first policy
  CompactTo(2);
  std::map<std::string, FilterProperties> files;
  ASSERT_OK(GetFilterProperties(db_.get(), db_->DefaultColumnFamily(), &files));
  ASSERT_EQ(1u, files.size());
  EXPECT_GT(files.begin()->second.samples, 10u);
  EXPECT_LT(files.begin()->second.bits_per_key, 14.3);
}

TEST_F(LevelsPolicyTest, Refused) {
  const auto expect_refused = [&](const std::string& policy,
                                  const std::string& word) {
    ExpectRefused(Set(policy), {word});
  };
  expect_refused("levels:", "missing");
  expect_refused("levels:proteus:12,", "missing");
  expect_refused("levels:proteus:12,proteus:1000", "proteus:1000");
  expect_refused("levels:proteus:12,unheard_of:3", "unheard_of");
  expect_refused("levels:proteus:12,levels:proteus:12", "part of a list");
  std::string deep;
  for (int i = 0; i < 100000; i++) deep += "levels:";
  expect_refused(deep, "part of a list");
  expect_refused(
      "{id=protean.Levels;policies={{id=protean.Levels;policies="
      "{surf:0:4}}}}",
      "part of a list");
  expect_refused("levels:{id=protean.Levels}", "part of a list");
  expect_refused("levels:proteus:12,{id=protean.Proteus;seed_file=a{b}",
                 "braces");
}

// RocksDB writes the list in braces, and removes them or not when it reads it
// back, depending on its version.
TEST_F(LevelsPolicyTest, BracesAroundTheList) {
  for (const std::string list :
       {"surf:0:8", "bloomfilter:10,surf:0:8",
        "{id=protean.Proteus;bits_per_key=12}",
        "{id=protean.Proteus;bits_per_key=12},surf:0:8"}) {
    SCOPED_TRACE(list);
    for (const std::string& text :
         {"levels:" + list, "levels:{" + list + "}", "levels: " + list + " ",
          "{id=protean.Levels;policies={" + list + "}}"}) {
      std::shared_ptr<const FilterPolicy> policy;
      ASSERT_OK(FilterPolicy::CreateFromString(ConfigOptions(), text, &policy));
      std::string written;
      ASSERT_OK(policy->GetOption(ConfigOptions(), "policies", &written));
      EXPECT_EQ("{" + list + "}", written);
      std::shared_ptr<const FilterPolicy> again;
      ASSERT_OK(FilterPolicy::CreateFromString(
          ConfigOptions(), policy->ToString(ConfigOptions()), &again));
      std::string mismatch;
      EXPECT_TRUE(
          policy->AreEquivalent(ConfigOptions(), again.get(), &mismatch))
          << mismatch;
    }
  }
}

// RocksDB's own table factory knows one policy only.
TEST_F(LevelsPolicyTest, InRocksDBsOwnTable) {
  const auto stock = [](const std::string& policy) {
    BlockBasedTableOptions table;
    EXPECT_OK(FilterPolicy::CreateFromString(ConfigOptions(), policy,
                                             &table.filter_policy));
    return std::shared_ptr<TableFactory>(NewBlockBasedTableFactory(table));
  };
  options_.table_factory = stock("levels:bloomfilter:10,proteus:12");
  ExpectRefused(TryOpen(), {"ProteanTable"});
  options_.table_factory = stock("levels:surf:0:8,proteus:12");
  Open();
  FillLevels();
  ExpectFilteredGets();
}

// With another policy than Protean's, or none, the filters of existing files
// keep working.
TEST_F(LevelsPolicyTest, FiltersOutliveTheirPolicy) {
  for (const std::string policy : {"bloomfilter:10", "nullptr"}) {
    SCOPED_TRACE(policy);
    ASSERT_OK(Set("surf:0:8"));
    Open();
    FillLevels();
    ASSERT_OK(Set(policy));
    ASSERT_OK(options_.statistics->Reset());
    Open();
    SeekInGaps();
    EXPECT_GE(FilteredSeeks(), 2.9 * kKeys);
    ExpectFilteredGets();
    for (int i = 0; i < kKeys; i++) ASSERT_TRUE(Has(Key(20 * i + 2)));
    CompactTo(2);
    const auto policies = PoliciesOfFiles();
    EXPECT_EQ(policy == "nullptr" ? " 0" : "bloomfilter 10", policies.at(2));
    Destroy();
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
