// SPDX-License-Identifier: Apache-2.0

//  Options that DB::SetOptions changes in an open DB, while threads read and
//  write: those of a policy, whose samples stay, and the switch of all filters.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "filter_policy/protean_filter_policy.h"
#include "plugin/filter_statistics.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/statistics.h"
#include "rocksdb/utilities/options_util.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr int kKeys = 20'000;

// Spread over the key space.
std::string KeyOf(int number) {
  char key[20];
  snprintf(key, sizeof(key), "%016llx",
           static_cast<unsigned long long>(number) * 0x9e3779b97f4a7c15);
  return key;
}

class MutableOptionsTest : public testing::Test {
 protected:
  void SetUp() override {
    EXPECT_OK(DestroyDB(path_, Options()));
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    options_.statistics = ROCKSDB_NAMESPACE::CreateDBStatistics();
  }
  ~MutableOptionsTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, options_));
  }

  void Open(const std::string& table) {
    ConfigOptions strict;
    strict.ignore_unknown_options = false;
    strict.ignore_unsupported_options = false;
    ASSERT_OK(GetColumnFamilyOptionsFromString(
        strict, options_, "table_factory={id=ProteanTable;" + table + "}",
        &options_));
    ASSERT_OK(OpenDB(&db_, options_, path_));
  }
  // Writes a file of even numbers.
  void WriteFile() {
    for (int i = 0; i < kKeys; i += 2) {
      ASSERT_OK(db_->Put(WriteOptions(), KeyOf(i), "value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions()));
  }
  // Asks for odd numbers, by Get and by bounded seeks.
  void AskForAbsent() {
    std::string value;
    for (int i = 1; i < kKeys; i += 2) {
      const std::unique_ptr<Iterator> it(NewBounded());
      ASSERT_TRUE(db_->Get(ReadOptions(), KeyOf(i), &value).IsNotFound());
      Seek(it.get(), i);
      ASSERT_FALSE(it->Valid());
      ASSERT_OK(it->status());
    }
  }
  Iterator* NewBounded() {
    ReadOptions read;
    read.iterate_upper_bound = &bound_;
    return db_->NewIterator(read);
  }
  void Seek(Iterator* it, int number) {
    bound_key_ = KeyOf(number) + "~";
    bound_ = bound_key_;
    it->Seek(KeyOf(number));
  }

  FilterStatistics StatisticsOf() {
    FilterStatistics statistics;
    EXPECT_OK(GetFilterStatistics(db_.get(), db_->DefaultColumnFamily(),
                                  &statistics));
    return statistics;
  }
  const ProteanFilterPolicy* Policy() {
    return AsProteanFilterPolicy(
        db_->GetOptions()
            .table_factory->GetOptions<BlockBasedTableOptions>()
            ->filter_policy.get());
  }
  std::string Option(const std::string& name) {
    std::string value;
    EXPECT_OK(Policy()->GetOption(ConfigOptions(), name, &value));
    return value;
  }
  Status Set(const std::string& name, const std::string& value) {
    return db_->SetOptions({{"table_factory." + name, value}});
  }
  void ExpectInLog(const std::string& line, int times) {
    std::string log;
    ASSERT_OK(ReadFileToString(Env::Default(), path_ + "/LOG", &log));
    int found = 0;
    for (size_t at = 0; (at = log.find(line, at)) != std::string::npos; at++) {
      found++;
    }
    EXPECT_EQ(times, found) << line;
  }
  uint64_t BlocksRead() {
    return options_.statistics->getTickerCount(BLOCK_CACHE_DATA_HIT) +
           options_.statistics->getTickerCount(BLOCK_CACHE_DATA_MISS);
  }

  const std::string path_ = test::PerThreadDBPath("mutable_options");
  std::string bound_key_;
  Slice bound_;
  Options options_;
  std::unique_ptr<DB> db_;
};

// The bits per key of the newest file.
double NewestBits(DB* db) {
  std::vector<LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  TablePropertiesCollection all;
  EXPECT_OK(db->GetPropertiesOfAllTables(&all));
  std::string newest;
  double bits = 0;
  for (const auto& [name, properties] : all) {
    if (name < newest) continue;
    newest = name;
    bits = 8.0 * static_cast<double>(properties->filter_size) /
           static_cast<double>(properties->num_entries);
  }
  return bits;
}

}  // namespace

TEST_F(MutableOptionsTest, OptionsOfAPolicy) {
  ASSERT_NO_FATAL_FAILURE(
      Open("filter_policy={id=protean.Proteus;bits_per_key=10;"
           "level_bits=kEqual;sample_every=1}"));
  ASSERT_NO_FATAL_FAILURE(WriteFile());
  EXPECT_NEAR(10, NewestBits(db_.get()), 0.6);
  ASSERT_NO_FATAL_FAILURE(AskForAbsent());
  const ProteanFilterPolicy* const policy = Policy();
  const auto queue = policy->Samples()->Queue(kDefaultColumnFamilyName,
                                              Env::Default(), nullptr);
  const size_t samples = queue->size();
  ASSERT_GT(samples, 10'000u);

  ASSERT_OK(Set("filter_policy.bits_per_key", "16"));
  EXPECT_EQ(policy, Policy()) << "the policy is another one";
  ASSERT_NO_FATAL_FAILURE(WriteFile());
  EXPECT_NEAR(16, NewestBits(db_.get()), 0.6);
  EXPECT_EQ(samples, queue->size());

  ASSERT_OK(Set("filter_policy.sample_every", "1000"));
  ASSERT_OK(Set("filter_policy.sample_capacity", "200"));
  EXPECT_EQ(queue, policy->Samples()->Queue(kDefaultColumnFamilyName,
                                            Env::Default(), nullptr));
  const uint64_t recorded = queue->recorded();
  ASSERT_NO_FATAL_FAILURE(AskForAbsent());
  EXPECT_LT(queue->recorded() - recorded, 100u);
  EXPECT_LE(queue->size(), 200u);
  ASSERT_OK(Set("filter_policy.sample_every", "1"));
  ASSERT_NO_FATAL_FAILURE(AskForAbsent());
  EXPECT_GT(queue->recorded() - recorded, 10'000u);

  ASSERT_OK(Set("filter_policy.filter_budget_bytes", "64K"));
  ASSERT_OK(Set("filter_policy.false_positive_cost_micros", "2"));
  ASSERT_OK(Set("filter_policy.prefix_filter_type", "kBloom"));
  ASSERT_OK(Set("filter_policy.level_bits", "auto"));
  EXPECT_EQ("65536", Option("filter_budget_bytes"));
  EXPECT_EQ("2", Option("false_positive_cost_micros"));
  EXPECT_EQ(2000u, policy->PriceFor(1));

  // What is refused changes nothing.
  for (const auto& [name, value] : {std::pair("bits_per_key", "1"),
                                    {"bits_per_key", "many"},
                                    {"sample_every", "0"},
                                    {"prefix_filter_type", "cuckoo"},
                                    {"filter_budget_bytes", "5"},
                                    {"no_such_option", "1"},
                                    {"samples_file", "/tmp/a"}}) {
    EXPECT_NOK(Set(std::string("filter_policy.") + name, value)) << name;
  }
  EXPECT_EQ(policy, Policy());
  EXPECT_EQ(16, std::stod(Option("bits_per_key")));

  // The OPTIONS file has the changes.
  db_.reset();
  DBOptions db_options;
  std::vector<ColumnFamilyDescriptor> families;
  ASSERT_OK(LoadLatestOptions(ConfigOptions(), path_, &db_options, &families));
  const std::string table =
      families[0].options.table_factory->ToString(ConfigOptions());
  for (const char* text : {"bits_per_key=16", "sample_capacity=200",
                           "prefix_filter_type=kBloom"}) {
    EXPECT_NE(std::string::npos, table.find(text)) << table;
  }
}

TEST_F(MutableOptionsTest, RangeFiltersAreSwitchedOffAndOn) {
  ASSERT_NO_FATAL_FAILURE(
      Open("filter_policy={id=protean.Proteus;bits_per_key=20;"
           "sample_every=1}"));
  ASSERT_NO_FATAL_FAILURE(WriteFile());
  const auto queue = Policy()->Samples()->Queue(kDefaultColumnFamilyName,
                                                Env::Default(), nullptr);
  std::unique_ptr<Iterator> old(NewBounded());
  uint64_t before = BlocksRead();
  ASSERT_NO_FATAL_FAILURE(AskForAbsent());
  EXPECT_LT(BlocksRead() - before, 100u);
  const uint64_t recorded = queue->recorded();
  EXPECT_GT(recorded, 10'000u);

  ASSERT_OK(Set("range_filters", "false"));
  before = BlocksRead();
  ASSERT_NO_FATAL_FAILURE(AskForAbsent());
  EXPECT_GE(BlocksRead() - before, uint64_t{kKeys} - 1);
  EXPECT_EQ(recorded, queue->recorded());
  // MultiGet, and an iterator that was there before.
  before = BlocksRead();
  Seek(old.get(), 101);
  EXPECT_FALSE(old->Valid());
  EXPECT_EQ(1, BlocksRead() - before);
  old.reset();
  const std::string absent = KeyOf(301);
  std::vector<std::string> values;
  before = BlocksRead();
  EXPECT_TRUE(db_->MultiGet(ReadOptions(), {absent}, &values)[0].IsNotFound());
  EXPECT_EQ(1, BlocksRead() - before);
  // Files get filters as before.
  ASSERT_NO_FATAL_FAILURE(WriteFile());
  EXPECT_GT(NewestBits(db_.get()), 15);

  EXPECT_NOK(Set("range_filters", "perhaps"));
  ASSERT_OK(Set("range_filters", "true"));
  before = BlocksRead();
  ASSERT_NO_FATAL_FAILURE(AskForAbsent());
  EXPECT_LT(BlocksRead() - before, 200u);

  // A DB is opened as its OPTIONS file says.
  ASSERT_OK(Set("range_filters", "false"));
  db_.reset();
  DBOptions db_options;
  std::vector<ColumnFamilyDescriptor> families;
  ASSERT_OK(LoadLatestOptions(ConfigOptions(), path_, &db_options, &families));
  options_.table_factory = families[0].options.table_factory;
  ASSERT_OK(OpenDB(&db_, options_, path_));
  before = BlocksRead();
  ASSERT_NO_FATAL_FAILURE(AskForAbsent());
  EXPECT_GE(BlocksRead() - before, uint64_t{kKeys} - 1);
}

// The variable is read once, so this is a process of its own.
TEST_F(MutableOptionsTest, TheEnvironmentSwitchesFiltersOff) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto blocks_are_read = [this] {
    setenv("PROTEAN_RANGE_FILTERS", "off", 1);
    Open("filter_policy=proteus:20;range_filters=true");
    WriteFile();
    const uint64_t before = BlocksRead();
    AskForAbsent();
    ExpectInLog("PROTEAN_RANGE_FILTERS switches all range filters", 1);
    return BlocksRead() - before >= uint64_t{kKeys} - 1 && !HasFailure();
  };
  EXPECT_EXIT(_exit(blocks_are_read() ? 0 : 1), testing::ExitedWithCode(0), "");
}

// Threads read and write while options change; nothing that was written is
// missed.
TEST_F(MutableOptionsTest, UnderLoad) {
  ASSERT_NO_FATAL_FAILURE(
      Open("filter_policy={id=protean.Proteus;sample_every=3}"));
  ASSERT_NO_FATAL_FAILURE(WriteFile());
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; t++) {
    threads.emplace_back([&, t] {
      std::string value;
      for (int i = t; !stop; i = (i + 7) % kKeys) {
        const Status s = db_->Get(ReadOptions(), KeyOf(i), &value);
        if (i % 2 == 0 ? !s.ok() : !s.IsNotFound()) wrong++;
        const std::string limit = KeyOf(i) + "~";
        const Slice bound = limit;
        ReadOptions read;
        read.iterate_upper_bound = &bound;
        const std::unique_ptr<Iterator> it(db_->NewIterator(read));
        it->Seek(KeyOf(i));
        if (it->Valid() != (i % 2 == 0) || !it->status().ok()) wrong++;
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) {
      for (int i = 0; i < kKeys && !stop; i += 2) {
        if (!db_->Put(WriteOptions(), KeyOf(i), "value").ok()) wrong++;
      }
      if (!db_->Flush(FlushOptions()).ok()) wrong++;
    }
  });
  for (int round = 0; round < 60; round++) {
    ASSERT_OK(Set("range_filters", round % 2 == 0 ? "false" : "true"));
    ASSERT_OK(Set("filter_policy.bits_per_key", std::to_string(8 + round % 9)));
    ASSERT_OK(Set("filter_policy.sample_every", std::to_string(1 + round % 5)));
    ASSERT_OK(
        Set("filter_policy.sample_capacity", std::to_string(10 + 97 * round)));
    ASSERT_OK(
        Set("filter_policy.filter_budget_bytes", round % 3 == 0 ? "32K" : "0"));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0, wrong);
}

// A line in the log tells what leaves a part of the work undone, once.
TEST_F(MutableOptionsTest, HalfOnIsSaid) {
  BlockBasedTableOptions table;
  table.filter_policy = NewProteusFilterPolicy();
  options_.table_factory.reset(NewBlockBasedTableFactory(table));
  ASSERT_OK(OpenDB(&db_, options_, path_));
  ASSERT_NO_FATAL_FAILURE(WriteFile());
  ASSERT_NO_FATAL_FAILURE(WriteFile());
  ExpectInLog(
      "so Get asks the filters, but Seek and Next do not; set "
      "table_factory={id=ProteanTable;...}",
      1);
  // With ProteanTable, and filters on all levels, there is nothing to say.
  for (const bool for_hits : {false, true}) {
    db_.reset();
    options_.table_factory = NewProteanTableFactory(table);
    options_.optimize_filters_for_hits = for_hits;
    ASSERT_OK(OpenDB(&db_, options_, path_));
    ASSERT_NO_FATAL_FAILURE(WriteFile());
    ASSERT_NO_FATAL_FAILURE(WriteFile());
    ExpectInLog("Seek and Next do not", 0);
    ExpectInLog(
        "optimize_filters_for_hits=true leaves the files of the last level",
        for_hits ? 1 : 0);
  }
}

// RocksDB gives the options of the factory that is there to the one of another
// name, if it may stand for that.
TEST_F(MutableOptionsTest, TextLeadsBackToTheBlockBasedTable) {
  ConfigOptions strict;
  strict.ignore_unknown_options = false;
  ASSERT_OK(GetColumnFamilyOptionsFromString(
      strict, options_,
      "table_factory={id=ProteanTable;filter_policy=proteus;block_size=8192}",
      &options_));
  ASSERT_OK(GetColumnFamilyOptionsFromString(
      strict, options_,
      "table_factory={id=BlockBasedTable;filter_policy=bloomfilter:10}",
      &options_));
  EXPECT_STREQ("BlockBasedTable", options_.table_factory->Name());
}

}  // namespace ROCKSDB_NAMESPACE::protean
