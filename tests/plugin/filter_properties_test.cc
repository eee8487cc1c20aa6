// SPDX-License-Identifier: Apache-2.0

//  Facts about filters in the table properties of SST files.

#include "plugin/filter_properties.h"

#include "filter_policy/filter_properties.h"
#include "rocksdb/sst_file_reader.h"
#include "tests/protean_db.h"

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

class FilterPropertiesTest : public OwnDBTest {
 protected:
  FilterPropertiesTest() {
    options_.target_file_size_base = 64 << 20;
    options_.table_properties_collector_factories.push_back(
        std::make_shared<CountingCollectorFactory>());
  }

  static std::string Key(int i) { return Digits(37 * i, 8); }
  static Keys SomeKeys(int first = 0) {
    Keys keys;
    for (int i = 0; i < kKeys; i++) keys.push_back(Key(first + i));
    return keys;
  }

  std::map<std::string, FilterProperties> All() {
    std::map<std::string, FilterProperties> files;
    EXPECT_OK(
        GetFilterProperties(db_.get(), db_->DefaultColumnFamily(), &files));
    return files;
  }
  // The properties of the only file.
  FilterProperties Only() {
    const auto files = All();
    EXPECT_EQ(1u, files.size());
    return files.empty() ? FilterProperties() : files.begin()->second;
  }
  // Checks the bits per key that the properties of a file tell.
  static void ExpectBits(const TableProperties& table,
                         const FilterProperties& filter, double tolerance) {
    EXPECT_NEAR(8 * static_cast<double>(table.filter_size) /
                    static_cast<double>(table.num_entries),
                filter.bits_per_key, tolerance);
  }

  static constexpr int kKeys = 5000;
};

}  // namespace

TEST_F(FilterPropertiesTest, TellsTheKindAndTheSize) {
  SetPolicy("surf:0:8");
  Open();
  WriteFile(SomeKeys());
  const FilterProperties surf = Only();
  EXPECT_EQ("SuRF", surf.kind);
  EXPECT_EQ("trie, 8 real bits", surf.design);
  EXPECT_EQ("", surf.basis);
  EXPECT_LT(surf.predicted_fpr, 0);
  const auto tables = PropertiesOf(db_.get());
  const TableProperties& table = *tables.begin()->second;
  ExpectBits(table, surf, 0.1);
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
  WriteFile(SomeKeys());
  const FilterProperties untaught = Only();
  EXPECT_EQ("Proteus", untaught.kind);
  EXPECT_EQ("from the keys alone", untaught.basis);
  EXPECT_EQ(0u, untaught.samples);
  ExpectBits(*PropertiesOf(db_.get()).begin()->second, untaught, 0.1);
  EXPECT_LE(untaught.bits_per_key, 16);
  EXPECT_GE(untaught.predicted_fpr, 0);
  EXPECT_LE(untaught.predicted_fpr, 1);
  EXPECT_GT(untaught.model_micros, 0u);

  for (int i = 0; i < 300; i++) {
    ASSERT_FALSE(Has(Key(i).substr(0, 7) + "x"));
  }
  Compact();
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
  Open();
  WriteFile(SomeKeys());
  WriteFile(SomeKeys(kKeys));
  Compact();
  WriteFile(SomeKeys());
  const auto tables = PropertiesOf(db_.get());
  EXPECT_GT(tables.size(), 3u);
  EXPECT_EQ(tables.size(), All().size());
  for (const auto& [path, filter] : All()) {
    SCOPED_TRACE(path);
    ExpectBits(*tables.at(path), filter, 0.3);
  }
}

TEST_F(FilterPropertiesTest, FilesFromOutside) {
  SetPolicy("proteus:12");
  Open();
  const std::string file = path_ + "/outside.sst";
  WriteSstFile(options_, file, SomeKeys());
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
  const OddComparator odd;
  options_.comparator = &odd;
  SetPolicy("proteus:12");
  Open();
  WriteFile(SomeKeys());
  const FilterProperties none = Only();
  EXPECT_EQ("none", none.kind);
  EXPECT_NE(std::string::npos, none.design.find("order")) << none.design;
  Destroy();  // while there is the comparator
}

TEST_F(FilterPropertiesTest, OtherFiltersHaveNone) {
  for (const char* policy : {"bloomfilter:10", "nullptr"}) {
    SCOPED_TRACE(policy);
    SetPolicy(policy);
    OpenNew();
    WriteFile(SomeKeys());
    EXPECT_EQ(1u, PropertiesOf(db_.get()).size());
    EXPECT_TRUE(All().empty());
    EXPECT_EQ(1u, PropertiesOf(db_.get())
                      .begin()
                      ->second->user_collected_properties.count("app.count"));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
