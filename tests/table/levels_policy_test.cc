// SPDX-License-Identifier: Apache-2.0

//  A filter policy for each level, by one options string.

#include "filter_policy/levels_policy.h"

#include <gtest/gtest.h>

#include "plugin/filter_properties.h"
#include "plugin/protean.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/convenience.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/statistics.h"
#include "rocksdb/utilities/options_util.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string Table(const std::string& policy) {
  return "table_factory={id=ProteanTable;filter_policy=" + policy + "}";
}

const FilterPolicy* PolicyOf(const ColumnFamilyOptions& options) {
  return options.table_factory->GetOptions<BlockBasedTableOptions>()
      ->filter_policy.get();
}

class LevelsPolicyTest : public testing::Test {
 protected:
  LevelsPolicyTest() {
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    options_.statistics = CreateDBStatistics();
    EXPECT_OK(DestroyDB(path_, options_));
  }
  ~LevelsPolicyTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, options_));
  }

  Status Set(const std::string& policy) {
    return GetColumnFamilyOptionsFromString(ConfigOptions(), options_,
                                            Table(policy), &options_);
  }
  void Open() { ASSERT_OK(OpenDB(&db_, options_, path_)); }

  static std::string Key(int i) {
    char key[16];
    snprintf(key, sizeof(key), "%08d", i);
    return key;
  }
  // Keys at even numbers.
  void Flush(int rest) {
    for (int i = 0; i < kKeys; i++) {
      ASSERT_OK(db_->Put(WriteOptions(), Key(20 * i + 2 * rest), "value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions()));
  }
  void MoveTo(int level) {
    CompactRangeOptions all;
    all.bottommost_level_compaction = BottommostLevelCompaction::kForce;
    all.change_level = true;
    all.target_level = level;
    ASSERT_OK(db_->CompactRange(all, nullptr, nullptr));
  }
  // A file in each of the levels 2, 1 and 0, which was written there.
  void FillLevels() {
    for (const int level : {2, 1}) {
      Flush(level);
      std::vector<LiveFileMetaData> files;
      db_->GetLiveFilesMetaData(&files);
      for (const LiveFileMetaData& file : files) {
        if (file.level != 0) continue;
        ASSERT_OK(db_->CompactFiles(CompactionOptions(), {file.name}, level));
      }
    }
    Flush(0);
  }

  // The policy named in the files' properties, and the bits per key, by level.
  std::map<int, std::string> PoliciesOfFiles() {
    TablePropertiesCollection tables;
    EXPECT_OK(db_->GetPropertiesOfAllTables(&tables));
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    std::map<int, std::string> policies;
    for (const LiveFileMetaData& file : files) {
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
      const std::string end = Key(20 * i + 8);
      const Slice upper = end;
      ReadOptions read_options;
      read_options.iterate_upper_bound = &upper;
      const std::unique_ptr<Iterator> it(db_->NewIterator(read_options));
      it->Seek(Key(20 * i + 7));
      ASSERT_FALSE(it->Valid());
      ASSERT_OK(it->status());
    }
  }

  static constexpr int kKeys = 3000;

  const std::string path_ = test::PerThreadDBPath("levels_policy");
  Options options_;
  std::unique_ptr<DB> db_;
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
  for (int i = 0; i < kKeys; i++) {
    std::string value;
    ASSERT_TRUE(db_->Get(ReadOptions(), Key(20 * i + 7), &value).IsNotFound());
    ASSERT_OK(db_->Get(ReadOptions(), Key(20 * i + 2 * (i % 3)), &value));
  }
  EXPECT_GT(options_.statistics->getTickerCount(BLOOM_FILTER_USEFUL),
            2.9 * kKeys);
  SeekInGaps();
  const uint64_t skipped =
      options_.statistics->getTickerCount(LAST_LEVEL_SEEK_FILTERED) +
      options_.statistics->getTickerCount(NON_LAST_LEVEL_SEEK_FILTERED);
  EXPECT_GT(skipped, 1.8 * kKeys);
  EXPECT_LE(skipped, 2u * kKeys);

  // Nothing changes when the DB is opened again by its OPTIONS file.
  db_.reset();
  DBOptions db_options;
  std::vector<ColumnFamilyDescriptor> families;
  ASSERT_OK(LoadLatestOptions(ConfigOptions(), path_, &db_options, &families));
  options_ = Options(db_options, families[0].options);
  Open();
  EXPECT_EQ(policies, PoliciesOfFiles());
  MoveTo(2);
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

  RefreshResult result;
  ASSERT_OK(RefreshFilters(db_.get(), db_->DefaultColumnFamily(),
                           RefreshOptions(), &result));
  for (const RefreshedFile& file : result.files) {
    EXPECT_EQ(file.level == 0, file.outcome == RefreshOutcome::kUnfiltered)
        << file.name << ": " << ToString(file.outcome);
  }
}

// A policy of RocksDB has no part in files that only the last policy builds.
TEST_F(LevelsPolicyTest, FilesFromOutside) {
  ASSERT_OK(Set("levels:bloomfilter:10,surf:0:8"));
  const std::string file = path_ + ".sst";
  SstFileWriter writer(EnvOptions(), options_);
  ASSERT_OK(writer.Open(file));
  for (int i = 0; i < kKeys; i++) ASSERT_OK(writer.Put(Key(i), "value"));
  ASSERT_OK(writer.Finish());
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
  const auto queue = AsProteanFilterPolicy(PolicyOf(options_))
                         ->Samples()
                         ->Queue(kDefaultColumnFamilyName, Env::Default(),
                                 /*logger=*/nullptr);
  EXPECT_GT(queue->size(), kKeys / 100u);  // of the first policy
  MoveTo(2);
  std::map<std::string, FilterProperties> files;
  ASSERT_OK(GetFilterProperties(db_.get(), db_->DefaultColumnFamily(), &files));
  ASSERT_EQ(1u, files.size());
  EXPECT_GT(files.begin()->second.samples, 10u);
  EXPECT_LT(files.begin()->second.bits_per_key, 14.3);
}

TEST_F(LevelsPolicyTest, Refused) {
  const auto expect_refused = [&](const std::string& policy,
                                  const std::string& word) {
    SCOPED_TRACE(policy);
    const Status s = Set(policy);
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_NE(std::string::npos, s.ToString().find(word)) << s.ToString();
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
  ASSERT_OK(Set("{id=protean.Levels}"));
  const Status s = OpenDB(&db_, options_, path_);
  EXPECT_TRUE(s.IsInvalidArgument());
  EXPECT_NE(std::string::npos, s.ToString().find("no policy")) << s.ToString();
}

// A # begins a comment in an OPTIONS file.
TEST_F(LevelsPolicyTest, HashInAFileName) {
  ASSERT_OK(
      Set("{id=protean.Levels;policies={surf:0:4,{id=protean.Proteus;"
          "samples_file=" +
          path_ + "/a#b#c}}}"));
  ASSERT_OK(Env::Default()->CreateDirIfMissing(path_));
  ASSERT_OK(OpenDB(&db_, options_, path_));
  const auto text = [](const ColumnFamilyOptions& options) {
    return options.table_factory->GetOptions<BlockBasedTableOptions>()
        ->filter_policy->ToString(ConfigOptions());
  };
  for (int i = 0; i < 3; i++) {
    db_.reset();
    DBOptions db_options;
    std::vector<ColumnFamilyDescriptor> families;
    ASSERT_OK(
        LoadLatestOptions(ConfigOptions(), path_, &db_options, &families));
    EXPECT_EQ(text(options_), text(families[0].options));
    options_ = Options(db_options, families[0].options);
    ASSERT_OK(OpenDB(&db_, options_, path_));
  }
  ASSERT_OK(db_->Put(WriteOptions(), "k", "v"));
  ASSERT_OK(db_->Flush(FlushOptions()));
  std::string value;
  for (int i = 0; i < 1000; i++) {
    EXPECT_TRUE(db_->Get(ReadOptions(), "k0", &value).IsNotFound());
  }
  db_.reset();
  EXPECT_OK(Env::Default()->FileExists(path_ + "/a#b#c"));
  EXPECT_OK(Env::Default()->DeleteFile(path_ + "/a#b#c"));
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
  const Status s = OpenDB(&db_, options_, path_);
  EXPECT_TRUE(s.IsInvalidArgument());
  EXPECT_NE(std::string::npos, s.ToString().find("ProteanTable"))
      << s.ToString();
  options_.table_factory = stock("levels:surf:0:8,proteus:12");
  Open();
  FillLevels();
  std::string value;
  for (int i = 0; i < kKeys; i++) {
    ASSERT_TRUE(db_->Get(ReadOptions(), Key(20 * i + 7), &value).IsNotFound());
  }
  EXPECT_GT(options_.statistics->getTickerCount(BLOOM_FILTER_USEFUL),
            2.9 * kKeys);
}

// With another policy than Protean's, or none, the filters of existing files
// keep working.
TEST_F(LevelsPolicyTest, FiltersOutliveTheirPolicy) {
  for (const std::string policy : {"bloomfilter:10", "nullptr"}) {
    SCOPED_TRACE(policy);
    ASSERT_OK(Set("surf:0:8"));
    Open();
    FillLevels();
    db_.reset();
    ASSERT_OK(Set(policy));
    options_.statistics = CreateDBStatistics();
    Open();
    SeekInGaps();
    EXPECT_GE(
        options_.statistics->getTickerCount(LAST_LEVEL_SEEK_FILTERED) +
            options_.statistics->getTickerCount(NON_LAST_LEVEL_SEEK_FILTERED),
        2.9 * kKeys);
    std::string value;
    for (int i = 0; i < kKeys; i++) {
      ASSERT_TRUE(
          db_->Get(ReadOptions(), Key(20 * i + 7), &value).IsNotFound());
      ASSERT_OK(db_->Get(ReadOptions(), Key(20 * i + 2), &value));
    }
    EXPECT_GT(options_.statistics->getTickerCount(BLOOM_FILTER_USEFUL),
              2.9 * kKeys);
    MoveTo(2);
    const auto policies = PoliciesOfFiles();
    EXPECT_EQ(policy == "nullptr" ? " 0" : "bloomfilter 10", policies.at(2));
    db_.reset();
    ASSERT_OK(DestroyDB(path_, options_));
  }
}

TEST_F(LevelsPolicyTest, ChangedInAnOpenDB) {
  ASSERT_OK(Set("proteus:12"));
  Open();
  Flush(0);
  ASSERT_OK(db_->SetOptions(
      {{"table_factory.filter_policy", "levels:bloomfilter:10,surf:0:8"}}));
  Flush(1);
  TablePropertiesCollection tables;
  ASSERT_OK(db_->GetPropertiesOfAllTables(&tables));
  std::set<std::string> names;
  for (const auto& [path, table] : tables) {
    names.insert(table->filter_policy_name);
  }
  EXPECT_EQ((std::set<std::string>{"protean.Proteus", "bloomfilter"}), names);
  SeekInGaps();
}

}  // namespace ROCKSDB_NAMESPACE::protean
