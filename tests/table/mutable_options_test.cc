// SPDX-License-Identifier: Apache-2.0

//  Options that DB::SetOptions changes in an open DB, while threads read and
//  write; and filter policies of single levels.

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "filter_policy/levels_policy.h"
#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/sst_file_reader.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr int kNumKeys = 20'000;

// Spread over the key space.
std::string KeyOf(int number) {
  return Hex(BigEndian(static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15));
}

class MutableOptionsTest : public OwnDBTest {
 protected:
  MutableOptionsTest() : OwnDBTest(Options()) {
    options_.disable_auto_compactions = true;
  }

  void OpenWith(const std::string& policy, const std::string& more = "") {
    SetPolicy(policy, more);
    Open();
  }
  // Writes a file of even numbers.
  void WriteFile() {
    for (int i = 0; i < kNumKeys; i += 2) Put(KeyOf(i));
    Flush();
  }
  // Asks for odd numbers, by Get and by bounded seeks.
  void AskForAbsent() {
    for (int i = 1; i < kNumKeys; i += 2) {
      ASSERT_FALSE(Has(KeyOf(i)));
      ASSERT_EQ("", FirstIn(KeyOf(i), KeyOf(i) + "~"));
    }
  }

  const ProteanFilterPolicy* Policy() {
    return ProteanPolicyOf(db_->GetOptions());
  }
  std::shared_ptr<QueryQueue> Queue() {
    return Policy()->Samples()->Queue(kDefaultColumnFamilyName, Env::Default(),
                                      nullptr);
  }
  std::string Option(const std::string& name) {
    return OptionOf(Policy(), name);
  }
  Status Set(const std::string& name, const std::string& value) {
    return db_->SetOptions({{"table_factory." + name, value}});
  }
  void ExpectInLog(const std::string& line, size_t times) {
    EXPECT_EQ(times, log_->Lines({line}).size()) << line;
  }
  uint64_t DataBlocksForAbsent() {
    const uint64_t before = DataBlocks();
    AskForAbsent();
    return DataBlocks() - before;
  }
  // The bits per key of the newest file.
  double NewestBits() {
    const TablePropertiesCollection all = PropertiesOf(db_.get());
    const auto newest = std::max_element(
        all.begin(), all.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    return 8.0 * static_cast<double>(newest->second->filter_size) /
           static_cast<double>(newest->second->num_entries);
  }
};

TEST_F(MutableOptionsTest, OptionsOfAPolicy) {
  OpenWith(
      "{id=protean.Proteus;bits_per_key=10;"
      "level_bits=kEqual;sample_every=1;queries_per_key=1000}");
  WriteFile();
  EXPECT_NEAR(10, NewestBits(), 0.6);
  AskForAbsent();
  const ProteanFilterPolicy* const policy = Policy();
  const auto queue = Queue();
  const size_t samples = queue->size();
  ASSERT_GT(samples, 10'000u);

  ASSERT_OK(Set("filter_policy.bits_per_key", "16"));
  EXPECT_EQ(policy, Policy()) << "the policy is another one";
  WriteFile();
  EXPECT_NEAR(16, NewestBits(), 0.6);
  EXPECT_EQ(samples, queue->size());

  ASSERT_OK(Set("filter_policy.sample_every", "1000"));
  ASSERT_OK(Set("filter_policy.sample_capacity", "200"));
  EXPECT_EQ(queue, Queue());
  const uint64_t recorded = queue->recorded();
  AskForAbsent();
  EXPECT_LT(queue->recorded() - recorded, 100u);
  EXPECT_LE(queue->size(), 200u);
  ASSERT_OK(Set("filter_policy.sample_every", "1"));
  AskForAbsent();
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
  ExpectHas(
      OptionsOnDisk().table_factory->ToString(ConfigOptions()),
      {"bits_per_key=16", "sample_capacity=200", "prefix_filter_type=kBloom"});
}

TEST_F(MutableOptionsTest, RangeFiltersAreSwitchedOffAndOn) {
  OpenWith("{id=protean.Proteus;bits_per_key=20;sample_every=1}");
  WriteFile();
  const auto queue = Queue();
  const std::string end = KeyOf(101) + "~";
  const Slice bound = end;
  ReadOptions read;
  read.iterate_upper_bound = &bound;
  std::unique_ptr<Iterator> old(db_->NewIterator(read));
  EXPECT_LT(DataBlocksForAbsent(), 100u);
  const uint64_t recorded = queue->recorded();
  EXPECT_GT(recorded, 10'000u);

  ASSERT_OK(Set("range_filters", "false"));
  EXPECT_GE(DataBlocksForAbsent(), uint64_t{kNumKeys} - 1);
  EXPECT_EQ(recorded, queue->recorded());
  // MultiGet, and an iterator that was there before.
  uint64_t before = DataBlocks();
  old->Seek(KeyOf(101));
  EXPECT_FALSE(old->Valid());
  EXPECT_EQ(1, DataBlocks() - before);
  old.reset();
  std::vector<PinnableSlice> values;
  before = DataBlocks();
  EXPECT_TRUE(MultiGet(db_.get(), {KeyOf(301)}, &values)[0].IsNotFound());
  EXPECT_EQ(1, DataBlocks() - before);
  // Files get filters as before.
  WriteFile();
  EXPECT_GT(NewestBits(), 15);

  EXPECT_NOK(Set("range_filters", "perhaps"));
  ASSERT_OK(Set("range_filters", "true"));
  EXPECT_LT(DataBlocksForAbsent(), 200u);

  // A DB is opened as its OPTIONS file says.
  ASSERT_OK(Set("range_filters", "false"));
  options_.table_factory = OptionsOnDisk().table_factory;
  Open();
  EXPECT_GE(DataBlocksForAbsent(), uint64_t{kNumKeys} - 1);
}

// The variable is read once, so this is a process of its own.
TEST_F(MutableOptionsTest, TheEnvironmentSwitchesFiltersOff) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto read_blocks = [this](const std::string& line, bool off) {
    OpenWith("proteus:20", "range_filters=true");
    WriteFile();
    EXPECT_EQ(off, DataBlocksForAbsent() >= uint64_t{kNumKeys} - 1);
    ExpectInLog("PROTEAN_RANGE_FILTERS " + line, line.empty() ? 0 : 1);
    _exit(HasFailure() ? 1 : 0);
  };
  for (const auto& [value, line, off] :
       {std::tuple("off", "switches all range filters", true),
        {"No", "switches all range filters", true},
        {"of", "is ignored", false},
        {"Yes", "", false}}) {
    setenv("PROTEAN_RANGE_FILTERS", value, 1);
    EXPECT_EXIT(read_blocks(line, off), testing::ExitedWithCode(0), "")
        << value;
  }
  unsetenv("PROTEAN_RANGE_FILTERS");
}

TEST_F(MutableOptionsTest, UnderLoad) {
  OpenWith("{id=protean.Proteus;sample_every=3}");
  WriteFile();
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; t++) {
    threads.emplace_back([&, t] {
      std::string value;
      for (int i = t; !stop; i = (i + 7) % kNumKeys) {
        const Status s = db_->Get(ReadOptions(), KeyOf(i), &value);
        if (i % 2 == 0 ? !s.ok() : !s.IsNotFound()) wrong++;
        const bool found = FirstIn(KeyOf(i), KeyOf(i) + "~") == KeyOf(i);
        if (found != (i % 2 == 0)) wrong++;
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) {
      for (int i = 0; i < kNumKeys && !stop; i += 2) {
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

// A line in the log tells what leaves a part of the work undone, once. With
// ProteanTable, and filters on all levels, there is nothing to say.
TEST_F(MutableOptionsTest, HalfOnIsSaid) {
  for (const auto& [half_on, for_hits] :
       {std::pair(true, false), {false, false}, {false, true}}) {
    SetTable("filter_policy=proteus",
             half_on ? "BlockBasedTable" : "ProteanTable");
    options_.optimize_filters_for_hits = for_hits;
    Close();
    log_->Clear();
    Open();
    for (int file = 0; file < 2; file++) WriteFile();
    ExpectInLog(
        "so Get asks the filters, but Seek and Next do not; set "
        "table_factory={id=ProteanTable;...}",
        half_on ? 1 : 0);
    ExpectInLog(
        "optimize_filters_for_hits=true leaves the files of the last level",
        for_hits ? 1 : 0);
  }
}

// RocksDB gives the options of the factory that is there to the one of another
// name, if it may stand for that.
TEST_F(MutableOptionsTest, TextLeadsBackToTheBlockBasedTable) {
  for (const char* table :
       {"{id=ProteanTable;filter_policy=proteus;block_size=8192}",
        "{id=BlockBasedTable;filter_policy=bloomfilter:10}"}) {
    ASSERT_OK(AddOptions(std::string("table_factory=") + table, &options_));
  }
  EXPECT_STREQ("BlockBasedTable", options_.table_factory->Name());
}

// ---- A filter policy for each level ----

class LevelsPolicyTest : public MutableOptionsTest {
 protected:
  Status Set(const std::string& policy) {
    return AddOptions(ProteanTableText(policy), &options_);
  }

  // Opens a DB with the policy, and returns those of its files.
  std::map<int, std::string> PoliciesWith(const std::string& policy) {
    EXPECT_OK(Set(policy));
    Open();
    FillLevels();
    return PoliciesOfFiles();
  }

  static std::string Key(int i) { return Digits(i, 8); }
  // A file in each of the levels 2, 1 and 0, with keys at even numbers.
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

TEST_F(LevelsPolicyTest, EachLevelHasItsPolicy) {
  auto policies = PoliciesWith("levels:bloomfilter:10,surf:0:8,proteus:16");
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
  EXPECT_EQ(
      (std::map<int, std::string>{
          {0, " 0"}, {1, "protean.Proteus 12"}, {2, "protean.Proteus 12"}}),
      PoliciesWith("levels:nullptr,proteus:12"));
  SeekInGaps();
}

// A policy of RocksDB has no part in files that only the last policy builds.
TEST_F(LevelsPolicyTest, FilesFromOutside) {
  ASSERT_OK(Set("levels:bloomfilter:10,surf:0:8"));
  const std::string file = path_ + ".sst";
  WriteSstFile(options_, file, MakeKeys(kKeys, Key));
  SstFileReader reader(options_);
  ASSERT_OK(reader.Open(file));
  EXPECT_EQ("protean.SuRF", reader.GetTableProperties()->filter_policy_name);
}

TEST_F(LevelsPolicyTest, PoliciesShareTheirSamples) {
  EXPECT_EQ(
      (std::map<int, std::string>{{0, "protean.Proteus 10"},
                                  {1, "bloomfilter 10"},
                                  {2, "protean.Proteus 14"}}),
      PoliciesWith("{id=protean.Levels;policies={proteus:10,bloomfilter:10,"
                   "{id=protean.Proteus;bits_per_key=14;sample_every=1}}}"));
  SeekInGaps();
  EXPECT_GT(Queue()->size(), kKeys / 100u);  // of the first policy
  CompactTo(2);
  const auto files = FilterPropertiesOf(db_.get());
  ASSERT_EQ(1u, files.size());
  EXPECT_GT(files.begin()->second.samples, 10u);
  EXPECT_LT(files.begin()->second.bits_per_key, 14.3);
}

TEST_F(LevelsPolicyTest, Refused) {
  std::string deep;
  for (int i = 0; i < 100000; i++) deep += "levels:";
  for (const auto& [policy, word] :
       {std::pair<std::string, const char*>{"levels:", "missing"},
        {"levels:proteus:12,", "missing"},
        {"levels:proteus:12,proteus:1000", "proteus:1000"},
        {"levels:proteus:12,unheard_of:3", "unheard_of"},
        {"levels:proteus:12,levels:proteus:12", "part of a list"},
        {deep, "part of a list"},
        {"{id=protean.Levels;policies={{id=protean.Levels;policies={surf:0:4}}}"
         "}",
         "part of a list"},
        {"levels:{id=protean.Levels}", "part of a list"},
        {"levels:proteus:12,{id=protean.Proteus;seed_file=a{b}", "braces"}}) {
    ExpectRefused(Set(policy), {word});
  }
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
      EXPECT_EQ("{" + list + "}", OptionOf(policy.get(), "policies"));
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
  SetTable("filter_policy=levels:bloomfilter:10,proteus:12", "BlockBasedTable");
  ExpectRefused(TryOpen(), {"ProteanTable"});
  SetTable("filter_policy=levels:surf:0:8,proteus:12", "BlockBasedTable");
  Open();
  FillLevels();
  ExpectFilteredGets();
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
