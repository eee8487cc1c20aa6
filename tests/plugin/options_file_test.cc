// SPDX-License-Identifier: Apache-2.0

//  The OPTIONS files of docs/examples do what they say.

#include "plugin/filter_properties.h"
#include "plugin/refresh_filters.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::string kExamples = PROTEAN_SOURCE_DIR "/docs/examples/";

using Families = std::vector<ColumnFamilyDescriptor>;

// The policy as text, with all of its options.
std::string PolicyString(const ColumnFamilyOptions& options) {
  return PolicyOf(options)->ToString(ConfigOptions());
}

class OptionsFileTest : public OwnDBTest {
 protected:
  // Writes an example into file_. In it, /data/ is replaced by a path of this
  // test, and `from` by `to`.
  void Copy(const std::string& name, const std::string& from = "",
            const std::string& to = "") {
    std::string text = ContentsOf(kExamples + name);
    for (const auto& [old, now] :
         {std::pair<std::string, std::string>("/data/", path_ + "."),
          {from, to}}) {
      for (size_t at = 0;
           !old.empty() && (at = text.find(old, at)) != std::string::npos;
           at += now.size()) {
        text.replace(at, old.size(), now);
      }
    }
    ASSERT_OK(WriteStringToFile(Env::Default(), text, file_));
  }
  void Load(const std::string& name) {
    ASSERT_NO_FATAL_FAILURE(Copy(name));
    ConfigOptions config;
    config.ignore_unknown_options = false;
    config.ignore_unsupported_options = false;
    ASSERT_OK(LoadOptionsFromFile(config, file_, &db_options_, &loaded_));
  }
  // Opens the DB with the column families that were loaded.
  void Open() {
    Close();
    ASSERT_OK(OpenDB(&db_, db_options_, path_, loaded_, &families_));
  }

  // `step` leaves some keys out.
  void Fill(ColumnFamilyHandle* family, int step) {
    for (int i = 0; i < kKeys; i += step) {
      ASSERT_OK(db_->Put(WriteOptions(), family, Digits(37 * i, 8), "value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions(), family));
  }

  // The names of the files' policies, and the properties of Protean's filters.
  Keys PolicyNames(ColumnFamilyHandle* family) {
    Keys names;
    for (const auto& [path, table] : PropertiesOf(db_.get(), family)) {
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

  const std::string file_ = path_ + ".ini";
  DBOptions db_options_;
  Families loaded_;
};

}  // namespace

TEST_F(OptionsFileTest, TheExampleBuildsTheFiltersThatItPromises) {
  Load("OPTIONS.example.ini");
  ASSERT_EQ(2u, loaded_.size());
  ASSERT_NE(nullptr, db_options_.statistics);
  const auto* table =
      loaded_[0].options.table_factory->GetOptions<BlockBasedTableOptions>();
  EXPECT_EQ(512u << 20, table->block_cache->GetCapacity());
  Open();

  Fill(families_[0], 1);
  ASSERT_EQ(Keys{"protean.Proteus"}, PolicyNames(families_[0]));
  const std::vector<FilterProperties> events = Filters(families_[0]);
  ASSERT_EQ(1u, events.size());
  EXPECT_EQ("Proteus", events[0].kind);
  EXPECT_NEAR(12, events[0].bits_per_key, 0.5);
  EXPECT_GT(table->block_cache->GetPinnedUsage(), 0u);

  // A Bloom filter on level 0, and Proteus below.
  Fill(families_[1], 1);
  EXPECT_EQ(Keys{"bloomfilter"}, PolicyNames(families_[1]));
  EXPECT_TRUE(Filters(families_[1]).empty());
  ASSERT_OK(CompactAll(db_.get(), families_[1]));
  EXPECT_EQ(Keys{"protean.Proteus"}, PolicyNames(families_[1]));
  Fill(families_[1], 2);
  EXPECT_EQ((Keys{"bloomfilter", "protean.Proteus"}),
            PolicyNames(families_[1]));

  // Filters are used in both column families.
  for (ColumnFamilyHandle* family : families_) {
    ASSERT_OK(db_options_.statistics->Reset());
    for (int i = 0; i < 1000; i++) {
      ASSERT_EQ("", protean::FirstIn(db_.get(), Digits(37 * i + 10, 8),
                                     Digits(37 * i + 20, 8), {}, family));
    }
    EXPECT_GT(db_options_.statistics->getTickerCount(LAST_LEVEL_SEEK_FILTERED) +
                  db_options_.statistics->getTickerCount(
                      NON_LAST_LEVEL_SEEK_FILTERED),
              900u);
  }
}

TEST_F(OptionsFileTest, WhatRocksDBWritesIsTheSame) {
  Load("OPTIONS.example.ini");
  const Families given = loaded_;
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
        LoadLatestOptions(ConfigOptions(), path_, &db_options_, &loaded_));
    ASSERT_EQ(given.size(), loaded_.size());
    for (size_t k = 0; k < given.size(); k++) {
      EXPECT_EQ(given[k].name, loaded_[k].name);
      EXPECT_STREQ("ProteanTable", loaded_[k].options.table_factory->Name());
      EXPECT_EQ(PolicyString(given[k].options),
                PolicyString(loaded_[k].options));
      // Set as the example says.
      const auto* table =
          loaded_[k]
              .options.table_factory->GetOptions<BlockBasedTableOptions>();
      EXPECT_EQ(PinningTier::kAll,
                table->metadata_cache_options.unpartitioned_pinning);
    }
    EXPECT_EQ(nullptr, db_options_.statistics);
    Open();
    Close();
  }
}

// A program without Protean does not know the table factory.
TEST_F(OptionsFileTest, AnUnknownTableFactory) {
  Copy("db_bench/proteus12.ini", "ProteanTable", "NoSuchTable");
  ConfigOptions config;
  config.ignore_unsupported_options = false;
  const Status s = LoadOptionsFromFile(config, file_, &db_options_, &loaded_);
  EXPECT_NE(std::string::npos, s.ToString().find("NoSuchTable"))
      << s.ToString();
  config.ignore_unsupported_options = true;
  ASSERT_OK(LoadOptionsFromFile(config, file_, &db_options_, &loaded_));
  EXPECT_EQ(nullptr, loaded_[0].options.table_factory);
}

// The name of the section decides: here, it is RocksDB's own table.
TEST_F(OptionsFileTest, ASectionOfAnotherTable) {
  Copy("db_bench/proteus12.ini", "/ProteanTable", "/BlockBasedTable");
  ASSERT_OK(
      LoadOptionsFromFile(ConfigOptions(), file_, &db_options_, &loaded_));
  EXPECT_STREQ("BlockBasedTable", loaded_[0].options.table_factory->Name());
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
    Fill(families_[0], 1);
    EXPECT_EQ(Keys{policy}, PolicyNames(families_[0]));
    Destroy();
  }
}

// ---- The page of all options ----

// The section with this heading has a row for each option in a text of options,
// and no other row.
void ExpectOptions(const std::string& heading, const std::string& options) {
  SCOPED_TRACE(heading);
  const std::string page = ContentsOf(PROTEAN_SOURCE_DIR "/docs/options.md");
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
