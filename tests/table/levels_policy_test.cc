// SPDX-License-Identifier: Apache-2.0

//  A filter policy for each level, by one options string.

#include "filter_policy/levels_policy.h"

#include "plugin/filter_properties.h"
#include "rocksdb/sst_file_reader.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

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
