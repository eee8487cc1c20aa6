// SPDX-License-Identifier: Apache-2.0

//  Statistics of Get and MultiGet by column family and level, and of filters
//  that were built; and facts about filters in the properties of SST files.

#include <chrono>
#include <random>

#include "filter_policy/filter_properties.h"
#include "plugin/filter_properties.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/sst_file_reader.h"
#include "tests/plugin/filter_statistics_fixture.h"
#include "utilities/merge_operators.h"

namespace ROCKSDB_NAMESPACE::protean {

class FilterGetsTest : public FilterStatisticsTest {
 protected:
  std::string Get(int key, const ReadOptions& read = {}) {
    std::string value;
    const Status s = db_->Get(read, Key(key), &value);
    EXPECT_TRUE(s.ok() || s.IsNotFound()) << s.ToString();
    return s.ok() ? value : "";
  }
  void MultiGet(const std::vector<int>& numbers) {
    Keys keys;
    for (const int number : numbers) keys.push_back(Key(number));
    std::vector<PinnableSlice> values;
    for (const Status& s : protean::MultiGet(db_.get(), keys, &values)) {
      EXPECT_TRUE(s.ok() || s.IsNotFound()) << s.ToString();
    }
  }

  // Unasked, negatives, true positives, false positives.
  static Numbers NumbersOf(const FilterLookups& gets) {
    return {gets.unasked, gets.negatives, gets.true_positives,
            gets.false_positives};
  }
  // The numbers of levels 0, 1 and 2.
  std::vector<Numbers> Gets() {
    const FilterStatistics now = FilterStats();
    return {NumbersOf(Level(now, 0).gets), NumbersOf(Level(now, 1).gets),
            NumbersOf(Level(now, 2).gets)};
  }
  Numbers AllGets() { return NumbersOf(FilterStats().total.gets); }
  void ExpectGets(const std::vector<Numbers>& expected) {
    EXPECT_EQ(expected, Gets());
  }
};

TEST_F(FilterGetsTest, Outcomes) {
  EXPECT_EQ("value", Get(12));  // in level 0
  ExpectGets({{0, 0, 1, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}});
  EXPECT_EQ("", Get(13));  // nowhere
  ExpectGets({{0, 1, 1, 0}, {0, 1, 0, 0}, {0, 1, 0, 0}});
  EXPECT_EQ("value", Get(10));  // in level 2
  ExpectGets({{0, 2, 1, 0}, {0, 2, 0, 0}, {0, 1, 1, 0}});
  // A file is not asked for a key outside of its range.
  EXPECT_EQ("", Get(97));
  ExpectGets({{0, 2, 1, 0}, {0, 2, 0, 0}, {0, 2, 1, 0}});
  MultiGet({12, 13, 15, 10, 99});
  ExpectGets({{0, 5, 2, 0}, {0, 4, 1, 0}, {0, 4, 2, 0}});
  // Deletions answer.
  Delete(Key(10));
  Flush();
  EXPECT_EQ("", Get(10));
  const FilterSums total = FilterStats().total;
  EXPECT_EQ((Numbers{0, 13, 6, 0}), NumbersOf(total.gets));
  EXPECT_EQ(19u, total.gets.asked());
  EXPECT_EQ(0, total.gets.fpr());
  // Seeks are no Gets, and Gets are no seeks.
  EXPECT_EQ(0u, total.bounded_seeks.asked() + total.unbounded_seeks.asked());
  EXPECT_EQ("", FirstIn(Key(6), Key(9)));
  EXPECT_EQ((Numbers{0, 13, 6, 0}), AllGets());
  EXPECT_EQ(-1, FilterLookups().fpr());
  EXPECT_FALSE(FilterStats().ticker_gets.known);
}

TEST_F(FilterGetsTest, FalsePositives) {
  SetTable(kBlind);
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("value", Get(10));  // in level 2
  ExpectGets({{0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 1, 0}});
  MultiGet({5, 6});
  ExpectGets({{0, 0, 0, 3}, {0, 0, 1, 2}, {0, 0, 1, 1}});
  EXPECT_EQ(1, FilterStats().levels[0].sums.gets.fpr());
  // The filter is right, but the key is too new for the snapshot.
  SetTable("oracle");
  OpenNew();
  const Snapshot* const before = db_->GetSnapshot();
  AddFile(0, 0);
  ReadOptions read;
  read.snapshot = before;
  EXPECT_EQ("", Get(10, read));
  EXPECT_EQ((Numbers{0, 0, 0, 1}), Gets()[0]);
  db_->ReleaseSnapshot(before);
}

// A look-up that has found operands of a merge goes on.
TEST_F(FilterGetsTest, Merges) {
  for (const std::string policy : {kBlind, "oracle"}) {
    SCOPED_TRACE(policy);
    options_.merge_operator = MergeOperators::CreateStringAppendOperator();
    SetTable(policy);
    OpenNew();
    // All files have keys 0 and 90. Levels 2 and 0 know key 5, which begins as
    // key 0 does.
    for (const int level : {2, 1, 0}) {
      for (const int key : {0, 90}) Put(Key(key));
      if (level != 1) {
        ASSERT_OK(db_->Merge(WriteOptions(), Key(5), std::to_string(level)));
      }
      Flush();
      if (level > 0) CompactLevel0Into(level);
    }
    EXPECT_EQ("2,0", Get(5));
    const Numbers useless =
        policy == kBlind ? Numbers{0, 0, 0, 1} : Numbers{0, 1, 0, 0};
    ExpectGets({{0, 0, 1, 0}, useless, {0, 0, 1, 0}});
    MultiGet({5});
    Numbers twice = useless;
    for (uint64_t& number : twice) number *= 2;
    ExpectGets({{0, 0, 2, 0}, twice, {0, 0, 2, 0}});
  }
}

TEST_F(FilterGetsTest, FilesWithoutFilters) {
  SetTable("nullptr");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("value", Get(5));  // in level 1
  MultiGet({5, 6});
  ExpectGets({{3, 0, 0, 0}, {3, 0, 0, 0}, {1, 0, 0, 0}});
  ExpectHas(FilterStats().ToString(), {", gets.unasked 7\n"});
  EXPECT_EQ(0u, FilterStats().builds.filters);
}

// RocksDB's tickers count the same for the whole DB, whatever the filter.
TEST_F(FilterGetsTest, SameAsTickers) {
  for (const char* table :
       {"oracle", "{id=protean.Proteus;bits_per_key=6}", kBlind,
        "bloomfilter:3", "ribbonfilter:3",
        "surf:0:0;partition_filters=true;index_type=kTwoLevelIndexSearch;"
        "metadata_block_size=64",
        "bloomfilter:3;partition_filters=true;index_type=kTwoLevelIndexSearch;"
        "metadata_block_size=64",
        "oracle;cache_index_and_filter_blocks=true"}) {
    SCOPED_TRACE(table);
    options_.statistics = CreateDBStatistics();
    SetTable(table);
    ASSERT_NO_FATAL_FAILURE(MakeTree());
    std::mt19937 random(1);
    const auto draw = [&] { return static_cast<int>(random() % 105); };
    for (int i = 0; i < 300; i++) Get(draw());
    for (int i = 0; i < 40; i++) {
      std::vector<int> keys(1 + random() % 40);
      for (int& key : keys) key = draw();
      MultiGet(keys);
    }
    const FilterStatistics now = FilterStats();
    const TickerGets& gets = now.ticker_gets;
    EXPECT_TRUE(gets.known);
    EXPECT_LT(500u,
              gets.negatives + gets.true_positives + gets.false_positives);
    EXPECT_LT(0u, gets.true_positives);
    EXPECT_EQ(
        (Numbers{0, gets.negatives, gets.true_positives, gets.false_positives}),
        NumbersOf(now.total.gets));
  }
}

// A filter that the table keeps in memory is asked without RocksDB, one in the
// block cache by RocksDB. Both are counted alike, and so are keys for which
// RocksDB need not ask again, because its own counts are off.
TEST_F(FilterGetsTest, FiltersInMemoryAndInTheCacheCountAlike) {
  const auto count = [this](const char* policy, const char* table,
                            bool statistics, bool by_level) {
    options_.statistics = statistics ? CreateDBStatistics() : nullptr;
    SetTable(policy, table);
    MakeTree();
    PerfContext* const counters = get_perf_context();
    counters->Reset();
    if (by_level) counters->EnablePerLevelPerfContext();
    std::mt19937 random(1);
    for (int i = 0; i < 300; i++) Get(static_cast<int>(random() % 105));
    Numbers numbers = {counters->bloom_sst_hit_count,
                       counters->bloom_sst_miss_count};
    EXPECT_LT(100u, numbers[1]);
    for (const Numbers& gets : Gets()) {
      numbers.insert(numbers.end(), gets.begin(), gets.end());
    }
    if (by_level) {
      for (const auto& [level, of_level] : *counters->level_to_perf_context) {
        numbers.insert(numbers.end(),
                       {level, of_level.bloom_filter_useful,
                        of_level.bloom_filter_full_positive,
                        of_level.bloom_filter_full_true_positive});
      }
      counters->ClearPerLevelPerfContext();
      counters->DisablePerLevelPerfContext();
    }
    if (statistics) {
      EXPECT_EQ(numbers[1], Ticks(BLOOM_FILTER_USEFUL));
      numbers.insert(numbers.end(), {Ticks(BLOOM_FILTER_FULL_POSITIVE),
                                     Ticks(BLOOM_FILTER_FULL_TRUE_POSITIVE)});
    }
    return numbers;
  };
  for (const char* policy :
       {"oracle", "surf:8:0", "{id=protean.Proteus;bits_per_key=6}"}) {
    for (const auto& [statistics, by_level] :
         {std::pair(false, false), {true, false}, {true, true}}) {
      SCOPED_TRACE(std::string(policy) + " " + std::to_string(statistics) +
                   std::to_string(by_level));
      EXPECT_EQ(count(policy, "cache_index_and_filter_blocks=true", statistics,
                      by_level),
                count(policy, "", statistics, by_level));
    }
  }
}

TEST_F(FilterGetsTest, NoAnswerIsKnownWithoutThePerfContext) {
  get_perf_context()->Reset();
  SetPerfLevel(kDisable);
  EXPECT_EQ("", Get(13));       // nowhere
  EXPECT_EQ("value", Get(10));  // in level 2
  EXPECT_EQ(0u, get_perf_context()->bloom_sst_miss_count);
  EXPECT_EQ(0u, get_perf_context()->bloom_sst_hit_count);
  ExpectGets({{2, 0, 0, 0}, {2, 0, 0, 0}, {2, 0, 0, 0}});
}

// A key may lie between two blocks. The index then knows that none need be
// read, but only if RocksDB asks the filter.
TEST_F(FilterGetsTest, IndexWithFirstKeysSparesReads) {
  for (const char* where : {"", "cache_index_and_filter_blocks=true"}) {
    SCOPED_TRACE(where);
    SetTable(kBlind,
             std::string("index_type=kBinarySearchWithFirstKey;block_size=1;"
                         "index_shortening=kNoShortening;") +
                 where);
    OpenNew();
    AddFile(0, 0);
    for (int key = 1; key < 90; key++) Get(key);
    PerfContext* const counters = get_perf_context();
    counters->Reset();
    uint64_t found = 0;
    for (int key = 1; key < 90; key++) found += Get(key).empty() ? 0 : 1;
    const uint64_t data_blocks = counters->block_cache_hit_count -
                                 counters->block_cache_index_hit_count -
                                 counters->block_cache_filter_hit_count;
    EXPECT_EQ(8u, found);
    EXPECT_EQ(found, data_blocks + counters->block_read_count);
  }
}

// Files that were written before the DB came to Protean.
TEST_F(FilterGetsTest, FiltersOfRocksDB) {
  SetTable("bloomfilter:20");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  SetTable("oracle");
  Open();
  EXPECT_EQ("value", Get(10));
  ExpectGets({{0, 1, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}});
  AddFile(0, 3);
  const FilterSums total = FilterStats().total;
  EXPECT_EQ((std::map<std::string, uint64_t>{{"rocksdb_filter", 3}}),
            total.unused_files);
  EXPECT_EQ(1u, total.used_files());
}

TEST_F(FilterGetsTest, ColumnFamiliesAndReopening) {
  ColumnFamilyHandle* const family = NewFamily("other");
  ASSERT_OK(db_->Put(WriteOptions(), family, Key(1), "value"));
  ASSERT_OK(db_->Flush(FlushOptions(), family));
  std::string value;
  ASSERT_OK(db_->Get(ReadOptions(), family, Key(1), &value));
  EXPECT_EQ((Numbers{0, 0, 1, 0}),
            NumbersOf(StatisticsOf(db_.get(), family).total.gets));
  EXPECT_EQ((Numbers{0, 0, 0, 0}), AllGets());
  EXPECT_EQ("", Get(13));
  // A compaction leaves the counts to the levels.
  CompactTo(3);
  ExpectGets({{0, 1, 0, 0}, {0, 1, 0, 0}, {0, 1, 0, 0}});
  EXPECT_EQ("", Get(13));
  EXPECT_EQ((Numbers{0, 4, 0, 0}), AllGets());
  EXPECT_EQ((Numbers{0, 4, 1, 0}), NumbersOf(GetFilterSums(path_).gets));
  ASSERT_OK(db_->DropColumnFamily(family));
  // Other levels had the same counters.
  Open();
  EXPECT_EQ((Numbers{0, 0, 0, 0}), AllGets());
  EXPECT_EQ("", Get(13));
  EXPECT_EQ((Numbers{0, 1, 0, 0}), AllGets());
}

// Counts of Gets are there at once, while threads run and when they have ended.
TEST_F(FilterGetsTest, Threads) {
  constexpr uint64_t kThreads = 8;
  constexpr uint64_t kRounds = 500;
  std::atomic<uint64_t> done{0};
  std::atomic<bool> seen{false};
  std::vector<std::thread> threads;
  const ReadOptions read = UpTo(9);
  for (uint64_t i = 0; i < kThreads; i++) {
    threads.emplace_back([&] {
      for (uint64_t j = 0; j < kRounds; j++) {
        EXPECT_EQ("", Get(13));
        EXPECT_EQ("value", Get(12));
        EXPECT_EQ("", FirstIn(Key(6), Key(9)));
        EXPECT_EQ(Key(2), FirstIn(Key(1), Key(100)));
      }
      {
        const std::unique_ptr<Iterator> it(db_->NewIterator(read));
        for (uint64_t j = 0; j < 5 * kRounds; j++) it->Seek(Key(6));
      }
      done++;
      while (!seen) std::this_thread::yield();
    });
  }
  while (done < kThreads) {
    // Sums never fall.
    const FilterSums before = FilterStats().total;
    const FilterSums after = FilterStats().total;
    EXPECT_LE(before.gets.negatives, after.gets.negatives);
    EXPECT_LE(before.bounded_seeks.asked(), after.bounded_seeks.asked());
  }
  const Numbers all = {0, 3 * kThreads * kRounds, kThreads * kRounds, 0};
  EXPECT_EQ(all, AllGets());
  seen = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all, AllGets());
  std::thread([&] { EXPECT_EQ("", Get(13)); }).join();
  EXPECT_EQ(all[1] + 3, FilterStats().total.gets.negatives);

  const uint64_t negatives = kThreads * 6 * kRounds;
  const uint64_t others = kThreads * kRounds;
  // A seek of which RocksDB takes a sample reads where it would have waited.
  const uint64_t sampled = MostSampledSeeks(2 * others);
  const std::vector<Numbers> news = News(/*open=*/false);
  EXPECT_EQ((Numbers{negatives, 0, others}),
            Numbers(news[0].begin(), news[0].begin() + 3));
  for (const size_t level : {1, 2}) {
    EXPECT_EQ(negatives, news[level][0]);
    EXPECT_EQ(others, news[level][1] + news[level][2]);
    EXPECT_LE(news[level][2], sampled);
  }
  const uint64_t avoided = FilterStats().total.blocks_avoided();
  EXPECT_LE(avoided, 3 * negatives + 2 * others);
  EXPECT_GE(avoided + sampled, 3 * negatives + 2 * others);
}

// ---- Filters built ----

TEST_F(FilterGetsTest, FiltersBuilt) {
  SetTable("{id=protean.Proteus;bits_per_key=14}");
  OpenNew();
  // The first file is written when no file of the DB is open.
  const auto begin = std::chrono::steady_clock::now();
  AddFile(0, 0, 500);
  FilterStatistics now = FilterStats();
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(1u, now.builds.filters);
  EXPECT_EQ(500u, now.builds.keys);
  EXPECT_EQ(now.total.filter_bytes, now.builds.filter_bytes);
  EXPECT_EQ(now.total.model_micros, now.builds.model_micros);
  EXPECT_LT(0u, now.builds.model_micros);
  EXPECT_LT(0u, now.builds.build_micros);
  EXPECT_GT(spent.count() * 1e6, static_cast<double>(now.builds.build_micros +
                                                     now.builds.model_micros));
  ExpectHas(now.ToString(), {"\nbuilds: filters 1, keys 500, "});
  AddFile(0, 5, 100);
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  const uint64_t compacted = FilterStats().live_files;
  const FilterBuilds builds = FilterStats().builds;
  EXPECT_EQ(2 + compacted, builds.filters);
  EXPECT_EQ(500u + 100 + 600, builds.keys);
  EXPECT_LE(now.builds.build_micros, builds.build_micros);
  // Not of another column family.
  ColumnFamilyHandle* const family = NewFamily("other");
  ASSERT_OK(db_->Put(WriteOptions(), family, Key(2), "value"));
  ASSERT_OK(db_->Flush(FlushOptions(), family));
  EXPECT_EQ(1u, StatisticsOf(db_.get(), family).builds.filters);
  EXPECT_EQ(2 + compacted, FilterStats().builds.filters);
  ASSERT_OK(db_->DropColumnFamily(family));
  Open();
  EXPECT_EQ(0u, FilterStats().builds.filters);
}

TEST_F(FilterGetsTest, PartitionedFiltersBuilt) {
  SetTable("surf:0:4",
           "partition_filters=true;index_type=kTwoLevelIndexSearch;"
           "metadata_block_size=64");
  OpenNew();
  AddFile(0, 0, 500);
  const FilterBuilds builds = FilterStats().builds;
  EXPECT_EQ(1u, builds.filters);
  EXPECT_EQ(500u, builds.keys);
  // The filter's size includes the index of the parts.
  EXPECT_LT(0u, builds.filter_bytes);
  EXPECT_LE(builds.filter_bytes, FilterStats().total.filter_bytes);
  EXPECT_EQ(0u, builds.model_micros);
  EXPECT_LT(0u, builds.build_micros);
}

// ---- Table properties ----

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
  TablePropertiesCollector* CreateTablePropertiesCollector(Context) override {
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
    return MakeKeys(kKeys,
                    [=](size_t i) { return Key(first + static_cast<int>(i)); });
  }

  // The properties of the only file.
  FilterProperties Only() {
    const auto files = FilterPropertiesOf(db_.get());
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
  for (const auto& [policy, filtered] : {std::pair("surf:0:8", true),
                                         {"bloomfilter:10", false},
                                         {"nullptr", false}}) {
    SCOPED_TRACE(policy);
    SetPolicy(policy);
    OpenNew();
    WriteFile(SomeKeys());
    const auto tables = PropertiesOf(db_.get());
    ASSERT_EQ(1u, tables.size());
    const TableProperties& table = *tables.begin()->second;
    // The application's collectors work as without Protean.
    EXPECT_EQ(std::to_string(kKeys),
              table.user_collected_properties.at("app.count"));
    EXPECT_EQ("[CountingCollectorFactory]", table.property_collectors_names);
    EXPECT_EQ(filtered, !FilterPropertiesOf(db_.get()).empty());
    if (!filtered) continue;
    const FilterProperties surf = Only();
    EXPECT_EQ("SuRF", surf.kind);
    EXPECT_EQ("trie, 8 real bits", surf.design);
    EXPECT_EQ("", surf.basis);
    EXPECT_LT(surf.predicted_fpr, 0);
    ExpectBits(table, surf, 0.1);
    EXPECT_EQ("protean.SuRF", table.filter_policy_name);
  }
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

  for (int i = 0; i < 300; i++) ASSERT_FALSE(Has(Key(i).substr(0, 7) + "x"));
  Compact();
  const FilterProperties taught = Only();
  EXPECT_EQ(300u, taught.samples);
  EXPECT_EQ("from 300 sample queries and the keys", taught.basis);
  EXPECT_NE("", taught.design);
}

// In whatever way it is created, and whatever other threads write meanwhile.
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
  EXPECT_EQ(tables.size(), FilterPropertiesOf(db_.get()).size());
  for (const auto& [path, filter] : FilterPropertiesOf(db_.get())) {
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
  ExpectHas(none.design, {"order"});
  Destroy();  // while there is the comparator
}

}  // namespace ROCKSDB_NAMESPACE::protean
