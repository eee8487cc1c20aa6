// SPDX-License-Identifier: Apache-2.0

//  Facts about filters in the table properties of SST files.

#include "plugin/filter_properties.h"

#include <gtest/gtest.h>

#include "filter_policy/filter_properties.h"
#include "plugin/protean.h"
#include "rocksdb/comparator.h"
#include "rocksdb/convenience.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A collector of an application.
class CountingCollector : public TablePropertiesCollector {
 public:
  const char* Name() const override { return "CountingCollector"; }
  Status AddUserKey(const Slice&, const Slice&, EntryType, SequenceNumber,
                    uint64_t) override {
    count_++;
    return Status::OK();
  }
  Status Finish(UserCollectedProperties* properties) override {
    (*properties)["app.count"] = std::to_string(count_);
    return Status::OK();
  }
  UserCollectedProperties GetReadableProperties() const override { return {}; }

 private:
  int count_ = 0;
};

class CountingCollectorFactory : public TablePropertiesCollectorFactory {
 public:
  const char* Name() const override { return "CountingCollectorFactory"; }
  TablePropertiesCollector* CreateTablePropertiesCollector(
      TablePropertiesCollectorFactory::Context /*context*/) override {
    return new CountingCollector;
  }
};

// Orders keys by their last byte first.
class OddComparator : public Comparator {
 public:
  const char* Name() const override { return "OddComparator"; }
  int Compare(const Slice& a, const Slice& b) const override {
    const int order = a[a.size() - 1] - b[b.size() - 1];
    return order != 0 ? order : a.compare(b);
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

class FilterPropertiesTest : public testing::Test {
 protected:
  FilterPropertiesTest() {
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    options_.table_properties_collector_factories.push_back(
        std::make_shared<CountingCollectorFactory>());
    EXPECT_OK(DestroyDB(path_, options_));
  }
  ~FilterPropertiesTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, options_));
  }

  void SetPolicy(const std::string& policy) {
    ASSERT_OK(GetColumnFamilyOptionsFromString(
        ConfigOptions(), options_,
        "table_factory={id=ProteanTable;filter_policy=" + policy + "}",
        &options_));
  }
  void Open() { ASSERT_OK(OpenDB(&db_, options_, path_)); }

  void Fill(int first = 0) {
    for (int i = 0; i < kKeys; i++) {
      ASSERT_OK(db_->Put(WriteOptions(), Key(first + i), "value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions()));
  }
  static std::string Key(int i) {
    char key[16];
    snprintf(key, sizeof(key), "%08d", 37 * i);
    return key;
  }

  std::map<std::string, FilterProperties> All() {
    std::map<std::string, FilterProperties> files;
    EXPECT_OK(
        GetFilterProperties(db_.get(), db_->DefaultColumnFamily(), &files));
    return files;
  }
  FilterProperties Only() {
    const auto files = All();
    EXPECT_EQ(1u, files.size());
    return files.empty() ? FilterProperties() : files.begin()->second;
  }
  TablePropertiesCollection Tables() {
    TablePropertiesCollection tables;
    EXPECT_OK(db_->GetPropertiesOfAllTables(&tables));
    return tables;
  }

  static constexpr int kKeys = 5000;

  const std::string path_ = test::PerThreadDBPath("filter_properties");
  Options options_;
  std::unique_ptr<DB> db_;
};

}  // namespace

TEST_F(FilterPropertiesTest, TellsTheKindAndTheSize) {
  SetPolicy("surf:0:8");
  Open();
  Fill();
  const FilterProperties surf = Only();
  EXPECT_EQ("SuRF", surf.kind);
  EXPECT_EQ("trie, 8 real bits", surf.design);
  EXPECT_EQ("", surf.basis);
  EXPECT_LT(surf.predicted_fpr, 0);
  const auto tables = Tables();
  const TableProperties& table = *tables.begin()->second;
  EXPECT_NEAR(8.0 * static_cast<double>(table.filter_size) / kKeys,
              surf.bits_per_key, 0.1);
  // The application's collectors work as without Protean.
  EXPECT_EQ(std::to_string(kKeys),
            table.user_collected_properties.at("app.count"));
  EXPECT_EQ("protean.SuRF", table.filter_policy_name);
  EXPECT_EQ("[CountingCollectorFactory]", table.property_collectors_names);
}

TEST(FilterPropertiesSizeTest, DoesNotDependOnTheClock) {
  FilterReport report;
  report.basis = "any";
  for (const uint32_t micros : {0u, 7u, 4'000'000'000u}) {
    report.model_micros = micros;
    const std::string text =
        MakeFilterProperties("any", 1, report).at(kModelMicrosProperty);
    EXPECT_EQ(10u, text.size());
    EXPECT_EQ(micros, std::stoull(text));
  }
}

TEST_F(FilterPropertiesTest, TellsOnWhatADesignRests) {
  SetPolicy("{id=protean.Proteus;bits_per_key=16;sample_every=1}");
  Open();
  Fill();
  const FilterProperties untaught = Only();
  EXPECT_EQ("Proteus", untaught.kind);
  EXPECT_EQ("from the keys alone", untaught.basis);
  EXPECT_EQ(0u, untaught.samples);
  EXPECT_NEAR(
      8.0 * static_cast<double>(Tables().begin()->second->filter_size) / kKeys,
      untaught.bits_per_key, 0.1);
  EXPECT_LE(untaught.bits_per_key, 16);
  EXPECT_GE(untaught.predicted_fpr, 0);
  EXPECT_LE(untaught.predicted_fpr, 1);
  EXPECT_GT(untaught.model_micros, 0u);

  for (int i = 0; i < 300; i++) {
    std::string value;
    ASSERT_TRUE(db_->Get(ReadOptions(), Key(i).substr(0, 7) + "x", &value)
                    .IsNotFound());
  }
  CompactRangeOptions all;
  all.bottommost_level_compaction = BottommostLevelCompaction::kForce;
  ASSERT_OK(db_->CompactRange(all, nullptr, nullptr));
  const FilterProperties taught = Only();
  EXPECT_EQ(300u, taught.samples);
  EXPECT_EQ("from 300 sample queries and the keys", taught.basis);
  EXPECT_NE("", taught.design);
}

// Each file has its own properties, in whatever way it is created and whatever
// other threads write at the same time.
TEST_F(FilterPropertiesTest, EachFileHasItsOwn) {
  SetPolicy("{id=protean.Proteus;level_bits=kEqual}");
  options_.target_file_size_base = 40 << 10;
  options_.max_background_jobs = 4;
  options_.max_subcompactions = 4;
  options_.compression = kNoCompression;
  Open();
  Fill();
  Fill(kKeys);
  CompactRangeOptions all;
  all.bottommost_level_compaction = BottommostLevelCompaction::kForce;
  ASSERT_OK(db_->CompactRange(all, nullptr, nullptr));
  Fill();
  const auto tables = Tables();
  EXPECT_GT(tables.size(), 3u);
  EXPECT_EQ(tables.size(), All().size());
  for (const auto& [path, filter] : All()) {
    SCOPED_TRACE(path);
    EXPECT_NEAR(8 * static_cast<double>(tables.at(path)->filter_size) /
                    static_cast<double>(tables.at(path)->num_entries),
                filter.bits_per_key, 0.3);
  }
}

TEST_F(FilterPropertiesTest, FilesFromOutside) {
  SetPolicy("proteus:12");
  Open();
  const std::string file = path_ + "/outside.sst";
  SstFileWriter writer(EnvOptions(), options_);
  ASSERT_OK(writer.Open(file));
  for (int i = 0; i < kKeys; i++) ASSERT_OK(writer.Put(Key(i), "value"));
  ASSERT_OK(writer.Finish());
  // Stock RocksDB can read the properties.
  SstFileReader reader((Options()));
  ASSERT_OK(reader.Open(file));
  FilterProperties filter;
  ASSERT_TRUE(GetFilterProperties(*reader.GetTableProperties(), &filter));
  EXPECT_EQ("Proteus", filter.kind);
  ASSERT_OK(db_->IngestExternalFile({file}, IngestExternalFileOptions()));
  EXPECT_EQ(filter.design, Only().design);
}

TEST_F(FilterPropertiesTest, SaysWhyThereIsNoFilter) {
  OddComparator odd;
  options_.comparator = &odd;
  SetPolicy("proteus:12");
  Open();
  Fill();
  const FilterProperties none = Only();
  EXPECT_EQ("none", none.kind);
  EXPECT_NE(std::string::npos, none.design.find("order")) << none.design;
  db_.reset();
}

TEST_F(FilterPropertiesTest, OtherFiltersHaveNone) {
  for (const char* policy : {"bloomfilter:10", "nullptr"}) {
    SCOPED_TRACE(policy);
    SetPolicy(policy);
    Open();
    Fill();
    EXPECT_EQ(1u, Tables().size());
    EXPECT_TRUE(All().empty());
    EXPECT_EQ(1u, Tables().begin()->second->user_collected_properties.count(
                      "app.count"));
    db_.reset();
    ASSERT_OK(DestroyDB(path_, options_));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
