// SPDX-License-Identifier: Apache-2.0

//  The OPTIONS files of docs/examples do what they say.

#include <gtest/gtest.h>

#include <algorithm>

#include "plugin/filter_properties.h"
#include "plugin/protean.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::string kExamples = PROTEAN_SOURCE_DIR "/docs/examples/";

using Families = std::vector<ColumnFamilyDescriptor>;

// The policy as text, with all of its options.
std::string PolicyString(const ColumnFamilyOptions& options) {
  const auto* table =
      options.table_factory->GetOptions<BlockBasedTableOptions>();
  return table->filter_policy->ToString(ConfigOptions());
}

class OptionsFileTest : public testing::Test {
 protected:
  OptionsFileTest() { Clean(); }
  ~OptionsFileTest() override {
    Close();
    Clean();
  }
  void Clean() {
    EXPECT_OK(DestroyDB(path_, Options(), families_));
    Env::Default()->DeleteFile(file_);
    Env::Default()->DeleteFile(path_ + ".events.samples");
  }

  // /data/ in the example is replaced by a path of this test.
  void Load(const std::string& name) {
    std::string text;
    ASSERT_OK(ReadFileToString(Env::Default(), kExamples + name, &text));
    const std::string folder = "/data/";
    for (size_t at = text.find(folder); at != std::string::npos;
         at = text.find(folder, at)) {
      text.replace(at, folder.size(), path_ + ".");
    }
    ASSERT_OK(WriteStringToFile(Env::Default(), text, file_));
    ConfigOptions config;
    config.ignore_unknown_options = false;
    config.ignore_unsupported_options = false;
    ASSERT_OK(LoadOptionsFromFile(config, file_, &db_options_, &families_));
  }
  void Open() {
    ASSERT_OK(OpenDB(&db_, db_options_, path_, families_, &handles_));
  }
  void Close() {
    if (db_ == nullptr) return;
    for (ColumnFamilyHandle* handle : handles_) {
      EXPECT_OK(db_->DestroyColumnFamilyHandle(handle));
    }
    handles_.clear();
    db_.reset();
  }

  // `step` leaves some keys out.
  void Fill(ColumnFamilyHandle* family, int step) {
    for (int i = 0; i < kKeys; i += step) {
      ASSERT_OK(db_->Put(WriteOptions(), family, Key(i), "value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions(), family));
  }
  static std::string Key(int i) { return Number(37 * i); }
  static std::string Number(int i) {
    char digits[16];
    snprintf(digits, sizeof(digits), "%08d", i);
    return digits;
  }

  // The names of the files' policies, and the properties of Protean's filters.
  std::vector<std::string> PolicyNames(ColumnFamilyHandle* family) {
    TablePropertiesCollection tables;
    EXPECT_OK(db_->GetPropertiesOfAllTables(family, &tables));
    std::vector<std::string> names;
    for (const auto& [path, table] : tables) {
      EXPECT_GT(table->filter_size, 0u) << path;
      names.push_back(table->filter_policy_name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::vector<FilterProperties> Filters(ColumnFamilyHandle* family) {
    std::map<std::string, FilterProperties> files;
    EXPECT_OK(GetFilterProperties(db_.get(), family, &files));
    std::vector<FilterProperties> filters;
    for (const auto& [path, filter] : files) filters.push_back(filter);
    return filters;
  }

  static constexpr int kKeys = 5000;

  const std::string path_ = test::PerThreadDBPath("options_file");
  const std::string file_ = path_ + ".ini";
  DBOptions db_options_;
  Families families_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> handles_;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_F(OptionsFileTest, TheExampleBuildsTheFiltersThatItPromises) {
  Load("OPTIONS.example.ini");
  ASSERT_EQ(2u, families_.size());
  ASSERT_NE(nullptr, db_options_.statistics);
  const auto* table =
      families_[0].options.table_factory->GetOptions<BlockBasedTableOptions>();
  EXPECT_EQ(512u << 20, table->block_cache->GetCapacity());
  Open();

  Fill(handles_[0], 1);
  ASSERT_EQ(Names{"protean.Proteus"}, PolicyNames(handles_[0]));
  const std::vector<FilterProperties> events = Filters(handles_[0]);
  ASSERT_EQ(1u, events.size());
  EXPECT_EQ("Proteus", events[0].kind);
  EXPECT_NEAR(12, events[0].bits_per_key, 0.5);
  EXPECT_GT(table->block_cache->GetPinnedUsage(), 0u);

  // A Bloom filter on level 0, and Proteus below.
  Fill(handles_[1], 1);
  EXPECT_EQ(Names{"bloomfilter"}, PolicyNames(handles_[1]));
  EXPECT_TRUE(Filters(handles_[1]).empty());
  CompactRangeOptions all;
  all.bottommost_level_compaction = BottommostLevelCompaction::kForce;
  ASSERT_OK(db_->CompactRange(all, handles_[1], nullptr, nullptr));
  EXPECT_EQ(Names{"protean.Proteus"}, PolicyNames(handles_[1]));
  Fill(handles_[1], 2);
  EXPECT_EQ((Names{"bloomfilter", "protean.Proteus"}),
            PolicyNames(handles_[1]));

  // Filters are used in both column families.
  for (ColumnFamilyHandle* family : handles_) {
    ASSERT_OK(db_options_.statistics->Reset());
    for (int i = 0; i < 1000; i++) {
      const std::string low = Number(37 * i + 10);
      const std::string high = Number(37 * i + 20);
      const Slice bound = high;
      ReadOptions options;
      options.iterate_upper_bound = &bound;
      const std::unique_ptr<Iterator> it(db_->NewIterator(options, family));
      it->Seek(low);
      ASSERT_FALSE(it->Valid());
      ASSERT_OK(it->status());
    }
    EXPECT_GT(db_options_.statistics->getTickerCount(LAST_LEVEL_SEEK_FILTERED) +
                  db_options_.statistics->getTickerCount(
                      NON_LAST_LEVEL_SEEK_FILTERED),
              900u);
  }
}

TEST_F(OptionsFileTest, WhatRocksDBWritesIsTheSame) {
  Load("OPTIONS.example.ini");
  const Families given = families_;
  EXPECT_NE(std::string::npos,
            PolicyString(given[0].options).find(".events.samples"));
  EXPECT_NE(std::string::npos,
            PolicyString(given[1].options).find("bloomfilter:10,proteus:12"));
  Open();
  Close();
  // The second time, the options come from the file that RocksDB wrote the
  // first time.
  for (int i = 0; i < 2; i++) {
    ASSERT_OK(
        LoadLatestOptions(ConfigOptions(), path_, &db_options_, &families_));
    ASSERT_EQ(given.size(), families_.size());
    for (size_t k = 0; k < given.size(); k++) {
      EXPECT_EQ(given[k].name, families_[k].name);
      EXPECT_STREQ("ProteanTable", families_[k].options.table_factory->Name());
      EXPECT_EQ(PolicyString(given[k].options),
                PolicyString(families_[k].options));
      // Set as the example says.
      const auto* table =
          families_[k]
              .options.table_factory->GetOptions<BlockBasedTableOptions>();
      EXPECT_EQ(PinningTier::kAll,
                table->metadata_cache_options.unpartitioned_pinning);
    }
    EXPECT_EQ(nullptr, db_options_.statistics);
    Open();
    Close();
  }
}

TEST_F(OptionsFileTest, SetOptionsChangesWhatTheNextFlushBuilds) {
  Load("OPTIONS.example.ini");
  families_[0].options.disable_auto_compactions = true;  // of these files
  Open();
  Fill(handles_[0], 1);
  ASSERT_OK(db_->SetOptions(handles_[0],
                            {{"table_factory.filter_policy", "surf:0:8"}}));
  Fill(handles_[0], 2);
  EXPECT_EQ((Names{"protean.Proteus", "protean.SuRF"}),
            PolicyNames(handles_[0]));
  ASSERT_OK(db_->SetOptions(
      handles_[0], {{"table_factory.filter_policy", "levels:surf:4:0"}}));
  Fill(handles_[0], 3);
  EXPECT_EQ((Names{"protean.Proteus", "protean.SuRF", "protean.SuRF"}),
            PolicyNames(handles_[0]));
  // An invalid value changes nothing.
  EXPECT_TRUE(
      db_->SetOptions(handles_[0], {{"table_factory.filter_policy", "surf:x"}})
          .IsInvalidArgument());
  Fill(handles_[0], 4);
  EXPECT_EQ(4u, PolicyNames(handles_[0]).size());
  // RocksDB has written the present values.
  Close();
  ASSERT_OK(
      LoadLatestOptions(ConfigOptions(), path_, &db_options_, &families_));
  EXPECT_NE(std::string::npos,
            PolicyString(families_[0].options).find("surf:4:0"))
      << PolicyString(families_[0].options);
}

// A program without Protean does not know the table factory.
TEST_F(OptionsFileTest, AnUnknownTableFactory) {
  Load("db_bench/proteus12.ini");
  std::string text;
  ASSERT_OK(ReadFileToString(Env::Default(), file_, &text));
  const std::string name = "ProteanTable";
  for (size_t at = text.find(name); at != std::string::npos;
       at = text.find(name, at)) {
    text.replace(at, name.size(), "NoSuchTable");
  }
  ASSERT_OK(WriteStringToFile(Env::Default(), text, file_));
  ConfigOptions config;
  config.ignore_unsupported_options = false;
  const Status s = LoadOptionsFromFile(config, file_, &db_options_, &families_);
  EXPECT_NE(std::string::npos, s.ToString().find("NoSuchTable"))
      << s.ToString();
  config.ignore_unsupported_options = true;
  ASSERT_OK(LoadOptionsFromFile(config, file_, &db_options_, &families_));
  EXPECT_EQ(nullptr, families_[0].options.table_factory);
  families_.clear();  // DestroyDB would look into the table factory
}

// The name of the section decides: here, it is RocksDB's own table.
TEST_F(OptionsFileTest, ASectionOfAnotherTable) {
  Load("db_bench/proteus12.ini");
  std::string text;
  ASSERT_OK(ReadFileToString(Env::Default(), file_, &text));
  const std::string name = "/ProteanTable";
  text.replace(text.find(name), name.size(), "/BlockBasedTable");
  ASSERT_OK(WriteStringToFile(Env::Default(), text, file_));
  ASSERT_OK(
      LoadOptionsFromFile(ConfigOptions(), file_, &db_options_, &families_));
  EXPECT_STREQ("BlockBasedTable", families_[0].options.table_factory->Name());
}

TEST_F(OptionsFileTest, ThoseOfDbBench) {
  const std::map<std::string, std::string> policies = {
      {"bloom12", "bloomfilter"},
      {"bloom12_first_key", "bloomfilter"},
      {"proteus12", "protean.Proteus"},
      {"surf04", "protean.SuRF"}};
  std::vector<std::string> names;
  ASSERT_OK(Env::Default()->GetChildren(kExamples + "db_bench", &names));
  EXPECT_EQ(policies.size(), names.size());
  for (const auto& [name, policy] : policies) {
    SCOPED_TRACE(name);
    Load("db_bench/" + name + ".ini");
    db_options_.create_if_missing = true;
    db_options_.use_direct_reads = false;  // not every file system has them
    db_options_.use_direct_io_for_flush_and_compaction = false;
    Open();
    Fill(handles_[0], 1);
    EXPECT_EQ(Names{policy}, PolicyNames(handles_[0]));
    Close();
    Clean();
  }
}

// ---- The page of all options ----

// The section with this heading has a row for each option in a text of options,
// and no other row.
void ExpectOptions(const std::string& heading, const std::string& options) {
  SCOPED_TRACE(heading);
  std::string page;
  ASSERT_OK(ReadFileToString(Env::Default(),
                             PROTEAN_SOURCE_DIR "/docs/options.md", &page));
  const size_t begin = page.find("## " + heading);
  ASSERT_NE(std::string::npos, begin);
  const std::string section =
      page.substr(begin, page.find("\n## ", begin) - begin);
  std::unordered_map<std::string, std::string> values;
  ASSERT_OK(StringToMap(options, &values));
  values.erase("id");
  for (const auto& [name, value] : values) {
    EXPECT_NE(std::string::npos, section.find("\n| `" + name + "` |")) << name;
  }
  size_t rows = 0;
  for (size_t at = 0;
       (at = section.find("\n| `", at + 1)) != std::string::npos;) {
    rows++;
  }
  EXPECT_EQ(values.size(), rows);
}

TEST(OptionsPageTest, HasEachOption) {
  ProteusOptions with_files;  // empty texts are left out
  with_files.seed_file = "/data/seed";
  with_files.samples_file = "/data/samples";
  for (const auto& [heading, policy] :
       {std::make_pair("Proteus", NewProteusFilterPolicy(with_files)),
        std::make_pair("SuRF", NewSurfFilterPolicy())}) {
    ExpectOptions(heading, policy->ToString(ConfigOptions()));
  }
  ExpectOptions("Refreshing", RefreshOptions().ToString());
}

}  // namespace ROCKSDB_NAMESPACE::protean
