// SPDX-License-Identifier: Apache-2.0

//  What an open DB knows of its files, from files that are registered without a
//  DB; the cost of a false positive; and seeks that stop waiting.

#include <cmath>

#include "filter_policy/filter_properties.h"
#include "filter_policy/open_db/open_families.h"
#include "filter_policy/open_db/seek_backoff.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "filter_policy/query_demand.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Column families are told apart by an address.
const char kFamilies[] = {'a', 'b'};

FileDescription Describe(int level, int family = 0,
                         const std::string& family_name = "family") {
  FileDescription description;
  description.family = &kFamilies[family];
  description.family_name = family_name;
  description.level = level;
  auto properties = std::make_shared<TableProperties>();
  properties->num_entries = 12;
  properties->num_filter_entries = 10;
  properties->filter_size = 5;
  description.properties = properties;
  return description;
}

const char kId[] = "open_db_test";

std::unique_ptr<OpenFile> Open(const FileDescription& description,
                               FilterUse use = FilterUse::kUsed,
                               const std::string& id = kId,
                               const ProteanFilterPolicy* policy = nullptr) {
  return std::make_unique<OpenFile>(id, description, use, policy);
}
std::unique_ptr<OpenFile> OpenOfLevel(int level, int family = 0) {
  return Open(Describe(level, family));
}

void Count(SeekKind kind, SeekEvent event, uint16_t times, OpenFile* file) {
  SeekTally tally;
  tally(kind, event) = times;
  file->Add(tally, times);
}

FamilyState CurrentState() {
  const auto db = DBSession::Find(kId);
  return db == nullptr ? FamilyState() : db->StateOf(&kFamilies[0]);
}

void LearnThatReadsAreCheap(OpenFile* file) {
  SeekBackoff backoff = file->NewBackoff();
  for (int i = 0; i < 100; i++) backoff.OnRead(/*from_cache=*/true);
}

void LearnNotToWait(OpenFile* file) {
  SeekBackoff backoff = file->NewBackoff();
  for (int i = 0; i < 1000; i++) backoff.OnReached();
}

TEST(DBSessionTest, LivesAsLongAsItsFiles) {
  EXPECT_EQ(nullptr, DBSession::Find(kId));
  auto a = OpenOfLevel(1);
  auto b = OpenOfLevel(1);
  EXPECT_EQ(DBSession::Find(kId), DBSession::Join(kId));
  a.reset();
  EXPECT_EQ(1u, CurrentState().open_files.size());
  EXPECT_EQ(nullptr, DBSession::Find("another DB"));
  b.reset();
  EXPECT_EQ(nullptr, DBSession::Find(kId));
}

TEST(DBSessionTest, FilesOutsideOfADBShareNothing) {
  const auto a = Open(Describe(1), FilterUse::kUsed, "");
  const auto b = Open(Describe(1), FilterUse::kUsed, "");
  EXPECT_EQ(nullptr, DBSession::Find(""));
  LearnNotToWait(a.get());
  EXPECT_FALSE(a->NewBackoff().ShouldWait());
  EXPECT_TRUE(b->NewBackoff().ShouldWait());
}

TEST(DBSessionTest, TheLogStandsInForAnId) {
  EXPECT_EQ("id", DBSession::IdOf("id", nullptr));
  EXPECT_EQ("", DBSession::IdOf("", nullptr));
  const auto* log = reinterpret_cast<const Logger*>(&kFamilies);
  EXPECT_NE("", DBSession::IdOf("", log));
  EXPECT_EQ("id", DBSession::IdOf("id", log));
}

// The first file of a DB is written before one is open.
TEST(DBSessionTest, FiltersBuilt) {
  const int family = 0;
  const int other = 0;
  const BuildCounts counts = {1, 20, 300, 4000, 50};
  DBSession::AddBuilt("db", &family, "a", counts);
  {
    const auto session = DBSession::Join("db");
    DBSession::AddBuilt("db", &family, "a", counts);
    DBSession::AddBuilt("db", &other, "b", counts);
    DBSession::AddBuilt("", &family, "a", counts);
    const BuildCounts sum = session->StateOf(&family).builds;
    EXPECT_EQ(2u, sum.filters);
    EXPECT_EQ(40u, sum.keys);
    EXPECT_EQ(600u, sum.bytes);
    EXPECT_EQ(8000u, sum.nanos);
    EXPECT_EQ(100u, sum.model_nanos);
    EXPECT_EQ(1u, session->StateOf(&other).builds.filters);
    // A column family at the address of one that was dropped.
    DBSession::AddBuilt("db", &other, "c", counts);
    EXPECT_EQ(1u, session->StateOf(&other).builds.filters);
    // DBs that are closed before they open a file are forgotten in the end.
    const auto closed = [](int i) { return "closed" + std::to_string(i); };
    size_t kept = 0;
    for (int i = 0; i < 200; i++) {
      DBSession::AddBuilt(closed(i), &family, "a", counts);
    }
    for (int i = 0; i < 200; i++) {
      kept += DBSession::Join(closed(i))->StateOf(&family).builds.filters;
    }
    EXPECT_LE(kept, 70u);
    EXPECT_GE(kept, 1u);
    EXPECT_EQ(2u, session->StateOf(&family).builds.filters);
  }
  EXPECT_EQ(0u, DBSession::Join("db")->StateOf(&family).builds.filters);
}

// The answers of a filter are counted for this thread, as RocksDB does.
void CountGet(uint64_t negatives, uint64_t positives, bool found,
              GetTally* level) {
  const FilterAnswers answer;
  get_perf_context()->bloom_sst_miss_count += negatives;
  get_perf_context()->bloom_sst_hit_count += positives;
  level->Count(answer, found);
}

// A level has its own counters, whatever an earlier one has counted there.
TEST(GetTallyTest, RowsAreUsedAgain) {
  for (int i = 0; i < 3; i++) {
    std::vector<std::unique_ptr<GetTally>> levels;
    for (uint64_t level = 0; level < 50; level++) {
      levels.push_back(std::make_unique<GetTally>());
      EXPECT_TRUE(levels.back()->Load().IsZero());
      for (uint64_t j = 0; j <= level; j++) {
        CountGet(0, 0, /*found=*/false, levels.back().get());
        CountGet(0, 1, /*found=*/false, levels.back().get());
        CountGet(0, 1, /*found=*/true, levels.back().get());
        CountGet(1, 0, /*found=*/false, levels.back().get());
      }
    }
    for (uint64_t level = 0; level < 50; level++) {
      const uint64_t n = level + 1;
      const GetCounts counts = levels[level]->Load();
      EXPECT_EQ(n, counts.unasked);
      EXPECT_EQ(n, counts.negatives);
      EXPECT_EQ(2 * n, counts.positives);
      EXPECT_EQ(n, counts.true_positives);
    }
  }
}

// A thread may read a DB when its own objects are being destroyed.
TEST(GetTallyTest, ThreadsThatEnd) {
  GetTally level;
  struct Last {
    ~Last() {
      if (level != nullptr) level->Count(FilterAnswers(), false);
    }
    GetTally* level = nullptr;
  };
  std::thread([&] {
    // Destroyed after what was made later: the counters of the thread.
    static thread_local Last last;
    last.level = &level;
    CountGet(0, 0, /*found=*/false, &level);
  }).join();
  EXPECT_EQ(2u, level.Load().unasked);
}

TEST(DBSessionTest, ClosedFilesLeaveTheirCounts) {
  const auto loads = std::make_shared<SharedFilterLoads>();
  FileDescription loaded = Describe(4);
  loaded.filter_loads = loads;
  auto without_seeks = Open(loaded);
  loads->Add(5);
  loads->Add(7);
  auto a = OpenOfLevel(1);
  auto b = OpenOfLevel(2);
  auto only_inspected = OpenOfLevel(3);
  const auto other = OpenOfLevel(1, /*family=*/1);
  Count(SeekKind::kClosed, SeekEvent::kNegative, 3, a.get());
  Count(SeekKind::kClosed, SeekEvent::kNegative, 4, b.get());
  Count(SeekKind::kOpen, SeekEvent::kPassed, 5, b.get());
  b.reset();
  only_inspected.reset();
  EXPECT_EQ(2u, CurrentState().open_files.size());
  without_seeks.reset();
  const FamilyState family = CurrentState();
  EXPECT_EQ(1u, family.open_files.size());
  LevelSums total;
  const std::map<int, LevelSums> levels = SumByLevel(family, &total);
  EXPECT_EQ(7u, total.counts.seeks(SeekKind::kClosed, SeekEvent::kNegative));
  EXPECT_EQ(2u, total.counts.loads.blocks);
  EXPECT_EQ(12u, total.counts.loads.bytes);
  ASSERT_EQ(3u, levels.size());
  EXPECT_EQ(2u, levels.at(4).counts.loads.blocks);
  EXPECT_EQ(
      " L1: open_files 1, used_files 1, bits_per_key 4.0,"
      " bounded_seeks.negatives 3, bounded_seeks.passed 0,"
      " bounded_seeks.true_positives 0, bounded_seeks.false_positives 0,"
      " unbounded_seeks.negatives 0, unbounded_seeks.passed 0,"
      " unbounded_seeks.true_positives 0, unbounded_seeks.false_positives 0;"
      " L2: open_files 0, used_files 0, bits_per_key 0.0,"
      " bounded_seeks.negatives 4, bounded_seeks.passed 0,"
      " bounded_seeks.true_positives 0, bounded_seeks.false_positives 0,"
      " unbounded_seeks.negatives 0, unbounded_seeks.passed 5,"
      " unbounded_seeks.true_positives 0, unbounded_seeks.false_positives 0.",
      ToLogLine(levels));
}

// From earlier ones over the same sorted run, and of reads from all over the
// level. What has been learned outlasts the files, as the counts do.
TEST(DBSessionTest, IteratorsLearnByLevel) {
  auto level1 = OpenOfLevel(1);
  auto beside = OpenOfLevel(1);
  const auto level2 = OpenOfLevel(2);
  const auto other = OpenOfLevel(1, /*family=*/1);
  LearnNotToWait(level1.get());
  LearnThatReadsAreCheap(level1.get());
  EXPECT_FALSE(beside->NewBackoff().ShouldWait());
  EXPECT_TRUE(beside->NewBackoff().ReadsAreCheap());
  for (OpenFile* file : {level2.get(), other.get()}) {
    EXPECT_TRUE(file->NewBackoff().ShouldWait());
    EXPECT_FALSE(file->NewBackoff().ReadsAreCheap());
  }
  level1.reset();
  beside.reset();
  beside = OpenOfLevel(1);
  EXPECT_FALSE(beside->NewBackoff().ShouldWait());
  // Each file of level 0 is a sorted run.
  const auto level0 = OpenOfLevel(0);
  const auto newer = OpenOfLevel(0);
  LearnNotToWait(level0.get());
  LearnThatReadsAreCheap(level0.get());
  EXPECT_FALSE(level0->NewBackoff().ShouldWait());
  EXPECT_TRUE(newer->NewBackoff().ShouldWait());
  EXPECT_TRUE(newer->NewBackoff().ReadsAreCheap());
}

// The second family may be where the first has been in memory.
TEST(DBSessionTest, AColumnFamilyAfterAnotherStartsAfresh) {
  const auto held = OpenOfLevel(1, /*family=*/1);
  for (int i = 0; i < 3; i++) {
    const auto file = Open(Describe(1, /*family=*/0, std::to_string(i)));
    EXPECT_TRUE(file->NewBackoff().ShouldWait()) << i;
    EXPECT_TRUE(CurrentState().levels.empty()) << i;
    Count(SeekKind::kOpen, SeekEvent::kPassed, 1, file.get());
    LearnNotToWait(file.get());
  }
  EXPECT_EQ(1u, CurrentState().levels.size());
}

TEST(LevelSumsTest, FiltersInUseAndOthers) {
  const auto predicted = [](int level, const char* fpr, uint64_t keys) {
    FileDescription file = Describe(level);
    auto properties = std::make_shared<TableProperties>(*file.properties);
    properties->user_collected_properties = {{kKindProperty, "Proteus"},
                                             {kPredictedFprProperty, fpr}};
    properties->num_filter_entries = keys;
    file.properties = properties;
    return file;
  };
  const auto a = Open(predicted(1, "0.25", 30));
  const auto b = OpenOfLevel(1);
  const auto c = Open(predicted(1, "0.25", 30), FilterUse::kForeign);
  const auto d = Open(predicted(2, "0.05", 10));
  LevelSums sums;
  EXPECT_EQ(2u, SumByLevel(CurrentState(), &sums).size());
  EXPECT_EQ(4u, sums.files);
  EXPECT_EQ(3u, sums.used_files);
  EXPECT_EQ(48u, sums.entries);
  EXPECT_EQ(50u, sums.keys);
  EXPECT_EQ(15u, sums.filter_bytes);
  EXPECT_DOUBLE_EQ(8 * 15 / 50., sums.BitsPerKey());
  EXPECT_DOUBLE_EQ((30 * 0.25 + 10 * 0.05) / 40, sums.PredictedFpr());
  EXPECT_EQ(-1, LevelSums().PredictedFpr());
  EXPECT_EQ(0, LevelSums().BitsPerKey());
}

TEST(OpenFileTest, SharesWhatThePolicyKeeps) {
  const ProteusFilterPolicy policy(DesignSpace::kProteus);
  auto file = Open(Describe(2), FilterUse::kUsed, kId, &policy);
  // A file without a level is not in a tree.
  const auto outside = Open(Describe(-1), FilterUse::kUsed, kId, &policy);
  const auto other = OpenOfLevel(2);
  const TreeFilters::Tree tree{nullptr, "family"};
  const std::vector<FileFilter> found = policy.Filters()->FiltersOf(tree);
  ASSERT_EQ(1u, found.size());
  EXPECT_EQ(2, found[0].level);
  EXPECT_EQ(10u, found[0].keys);
  EXPECT_EQ(40u, found[0].bits);
  ASSERT_NE(nullptr, file->queue());
  EXPECT_EQ(file->queue(), outside->queue());
  EXPECT_EQ(nullptr, other->queue());
  file.reset();
  EXPECT_TRUE(policy.Filters()->FiltersOf(tree).empty());
}

// Files that any policy has opened, and those that are written until then.
TEST(TreeFiltersTest, Budgeted) {
  const auto trees = std::make_shared<TreeFilters>();
  const auto other_policy = std::make_shared<TreeFilters>();
  RecordingLogger log;
  const TreeFilters::Tree tree{&log, "family"};
  const auto a = trees->Add(tree, FileFilter{1, 10, 120, "a", "c"});
  const auto b = other_policy->Add(tree, FileFilter{2, 20, 240, "b", "d"});
  FileFilter before;
  EXPECT_EQ(2u, trees->Budgeted(tree, 1, &before).files.size());
  EXPECT_EQ(0u, before.keys);
  trees->AddWritten(tree, FileFilter{1, 5, 50, "k", "l"});
  trees->AddWritten(tree, FileFilter{1, 6, 60, "m", "n"});
  trees->AddWritten(tree, FileFilter{2, 7, 70, "o", "p"});
  const BudgetedTree budgeted = trees->Budgeted(tree, 1, &before);
  EXPECT_EQ(11u, before.keys);
  EXPECT_EQ(110u, before.bits);
  EXPECT_EQ("k", before.smallest);
  EXPECT_EQ("n", before.largest);
  ASSERT_EQ(1u, budgeted.written.size());
  EXPECT_EQ(7u, budgeted.written[0].keys);
  // Another thread has written none of them.
  std::thread([&] {
    FileFilter none;
    EXPECT_EQ(2u, trees->Budgeted(tree, 1, &none).written.size());
    EXPECT_EQ(0u, none.keys);
  }).join();
  const auto opened = trees->Add(tree, FileFilter{1, 11, 110, "k", "n"});
  before = FileFilter();
  EXPECT_EQ(1u, trees->Budgeted(tree, 1, &before).written.size());
  EXPECT_EQ(0u, before.keys);
  // A filter on trial has no log, and is told by its family if one DB has it.
  EXPECT_EQ(&log, trees->FindTree("family").info_log);
  EXPECT_EQ(nullptr, trees->FindTree("other").info_log);
  RecordingLogger second_log;
  const auto second = trees->Add({&second_log, "family"}, FileFilter());
  EXPECT_EQ(nullptr, trees->FindTree("family").info_log);
  EXPECT_EQ(2u, trees->TreesWith(tree).size());
}

TEST(TreeFiltersTest, TreesAreToldApart) {
  const auto trees = std::make_shared<TreeFilters>();
  const TreeFilters::Tree one{nullptr, "one"};
  const TreeFilters::Tree two{nullptr, "two"};
  auto a = trees->Add(one, FileFilter{0, 10, 120, "", ""});
  auto b = trees->Add(one, FileFilter{0, 20, 240, "", ""});
  const auto c = trees->Add(two, FileFilter{6, 30, 360, "", ""});
  EXPECT_EQ(2u, trees->FiltersOf(one).size());
  EXPECT_EQ(1u, trees->FiltersOf(two).size());
  trees->Expect(one, 100);
  FileFilter before;
  EXPECT_EQ(100, trees->Budgeted(one, 0, &before).expected_keys);
  a.reset();
  ASSERT_EQ(1u, trees->FiltersOf(one).size());
  EXPECT_EQ(20u, trees->FiltersOf(one)[0].keys);
  b.reset();
  EXPECT_TRUE(trees->FiltersOf(one).empty());
  EXPECT_EQ(0, trees->Budgeted(one, 0, &before).expected_keys);
  EXPECT_TRUE(trees->FiltersOf({nullptr, "three"}).empty());
  EXPECT_EQ(1u, trees->FiltersOf(two).size());
}

// Seeks with bounds, or too few without, give no reason to warn.
TEST(DBSessionTest, SeeksWithoutBounds) {
  EXPECT_TRUE(SeeksAreUnbounded(10'000, 0));
  EXPECT_TRUE(SeeksAreUnbounded(1'000'000, 50'000));
  EXPECT_FALSE(SeeksAreUnbounded(1'000'000, 50'001));
  EXPECT_FALSE(SeeksAreUnbounded(9'999, 0));
  EXPECT_FALSE(SeeksAreUnbounded(0, 1'000'000));
}

// ---- The price of a false positive ----

TEST(FalsePositivePriceTest, PriceOfReads) {
  // Too few reads tell nothing.
  EXPECT_EQ(200000, PriceOfFalsePositive({}, 0));
  EXPECT_EQ(200000, PriceOfFalsePositive({63, 0}, 0));
  EXPECT_EQ(200000, PriceOfFalsePositive({0, 63}, 5000));
  EXPECT_EQ(2000, PriceOfFalsePositive({64, 0}, 0));
  EXPECT_EQ(2000, PriceOfFalsePositive({64, 0}, 100));
  // The time of reads from files is unknown, or between the limits.
  EXPECT_EQ(200000, PriceOfFalsePositive({0, 64}, 0));
  EXPECT_EQ(90000, PriceOfFalsePositive({0, 64}, 90));
  EXPECT_EQ(20000, PriceOfFalsePositive({0, 64}, 3));
  EXPECT_EQ(50e6, PriceOfFalsePositive({0, 64}, 50000));
  EXPECT_EQ(10e9, PriceOfFalsePositive({0, 64}, 12e6));
  // The mean of both kinds.
  EXPECT_EQ(101000, PriceOfFalsePositive({500, 500}, 0));
  EXPECT_EQ(11800, PriceOfFalsePositive({900, 100}, 100));
}

TEST(FalsePositivePriceTest, NearestClass) {
  const auto expect = [](uint64_t expected, const std::vector<double>& prices) {
    for (const double price : prices) {
      EXPECT_EQ(expected, PriceClassOf(price, 0)) << price;
    }
  };
  // Far from the usual price, the nearest class is taken.
  expect(2000, {2000, 6000});
  expect(20000, {7000, 20000});
  expect(2000000, {6e6});
  // Storage that is far away.
  expect(20000000, {10e6, 50e6});
  expect(200000000, {100e6});
  expect(2000000000, {3e9, 10e9});
  // Reads of an SSD of any speed are usual.
  const std::vector<double> usual = {40e3, 60e3, 100e3, 200e3, 300e3, 1e6};
  expect(200000, usual);
  for (const double price : usual) {
    EXPECT_EQ(200000u, PriceClassOf(price, 200000)) << price;
  }
  EXPECT_EQ(2000u, PriceClassOf(2000, 2000000));
  EXPECT_EQ(2000000u, PriceClassOf(6e6, 2000));
}

// Wherever a price fluctuates by a factor of 3, the class changes once at most.
TEST(FalsePositivePriceTest, FluctuationsChangeNothing) {
  for (double price = 1500; price < 10e9; price *= 1.1) {
    uint64_t price_class = PriceClassOf(price, 0);
    int changes = 0;
    for (int i = 0; i < 100; i++) {
      const double factor = i % 2 == 0 ? std::sqrt(3.0) : 1 / std::sqrt(3.0);
      const uint64_t now = PriceClassOf(price * factor, price_class);
      if (now != price_class) changes++;
      price_class = now;
    }
    EXPECT_LE(changes, 1) << price;
  }
}

TEST(FalsePositivePriceTest, RateForTime) {
  EXPECT_EQ(0.002, MaxRateForTime(200000));
  EXPECT_EQ(0.0002, MaxRateForTime(2000000));
  EXPECT_EQ(0.00002, MaxRateForTime(20000000));
  EXPECT_EQ(0.02, MaxRateForTime(20000));
  EXPECT_EQ(0.02, MaxRateForTime(2000));
}

TEST(FalsePositivePriceTest, Text) {
  for (const auto& [text, price] :
       {std::pair<const char*, uint64_t>{"1us", 1000},
        {"2us", 2000},
        {"2.5us", 2500},
        {"10us", 10000},
        {"200us", 200000},
        {"1ms", 1000000},
        {"1.25ms", 1250000},
        {"100ms", 100000000},
        {"2000ms", 2000000000},
        {"10000ms", 10000000000}}) {
    uint64_t parsed = 0;
    EXPECT_TRUE(ParsePrice(text, &parsed)) << text;
    EXPECT_EQ(price, parsed) << text;
    EXPECT_EQ(text, PriceText(price));
  }
  uint64_t price = 17;
  EXPECT_TRUE(ParsePrice("0.2ms", &price));
  EXPECT_EQ(200000u, price);
  price = 17;
  for (const char* text :
       {"", "us", "ms", "2", "2s", "2 us", "-2us", "+2us", "2us ", "2US", "0us",
        "0.9us", "10001ms", "1e3us", "nanus", "2us2us", "1..5us",
        "99999999999999999999999999ms", "auto"}) {
    EXPECT_FALSE(ParsePrice(text, &price)) << text;
    EXPECT_EQ(17u, price) << text;
  }
}

TEST(FalsePositivePriceTest, LevelsCountReadsAnew) {
  LevelPrice level;
  EXPECT_EQ(0u, level.Update({0, 0}, 0));
  EXPECT_EQ(0u, level.Update({63, 0}, 0));
  EXPECT_EQ(2000u, level.Update({64, 0}, 0));
  // Too few new reads change nothing.
  EXPECT_EQ(2000u, level.Update({64, 63}, 0));
  EXPECT_EQ(200000u, level.Update({64, 64}, 0));
  // A long time with cached reads is not remembered.
  EXPECT_EQ(2000u, level.Update({1000064, 64}, 0));
  EXPECT_EQ(200000u, level.Update({1000064, 164}, 0));
  EXPECT_EQ(2000000u, level.Update({1000064, 264}, 6000));
  // Counts that are read while threads go on may seem to fall.
  EXPECT_EQ(2000000u, level.Update({1000000, 364}, 6000));
  EXPECT_EQ(2000000u, level.Update({1000063, 300}, 6000));
  EXPECT_EQ(2000u, level.Update({1000200, 300}, 6000));
}

TEST(FalsePositivePriceTest, TimeOfFileReads) {
  FileReadTime time;
  EXPECT_EQ(0, time.Update(nullptr));
  const auto statistics = CreateDBStatistics();
  EXPECT_EQ(0, time.Update(statistics.get()));
  const auto read = [&](Histograms kind, uint64_t micros, int times) {
    for (int i = 0; i < times; i++) statistics->recordInHistogram(kind, micros);
  };
  read(FILE_READ_GET_MICROS, 100, 40);
  read(SST_READ_MICROS, 9000, 200);
  read(FILE_READ_COMPACTION_MICROS, 9000, 200);
  EXPECT_EQ(0, time.Update(statistics.get()));
  read(FILE_READ_DB_ITERATOR_MICROS, 60, 40);
  EXPECT_EQ(80, time.Update(statistics.get()));
  EXPECT_EQ(80, time.Update(statistics.get()));
  read(FILE_READ_GET_MICROS, 10, 100);
  EXPECT_EQ(10, time.Update(statistics.get()));
  // The statistics may be reset, or be away for a while.
  EXPECT_EQ(10, time.Update(nullptr));
  ASSERT_TRUE(statistics->Reset().ok());
  EXPECT_EQ(10, time.Update(statistics.get()));
  read(FILE_READ_GET_MICROS, 500, 70);
  EXPECT_EQ(500, time.Update(statistics.get()));
}

// Waits go on where one in four is worth it.
TEST(SeekBackoffTest, WaitsWhereThatSavesReads) {
  constexpr int kSeeks = 100000;
  for (const auto& [from_cache, some_pass, least, most] :
       {std::tuple{false, false, 1001, 3999},
        {true, false, 101, 999},
        {false, true, kSeeks, kSeeks},
        {true, true, 90000, kSeeks}}) {
    SeekBackoff::Shared shared;
    SeekBackoff::CachedReads cached{0};
    Random random(1);
    int waits = 0;
    for (int i = 0; i < kSeeks; i++) {
      SeekBackoff backoff(&shared, &cached);
      const bool waited = backoff.ShouldWait();
      waits += waited;
      if (waited && some_pass && random.OneIn(4)) {
        backoff.OnPassed();
        continue;
      }
      if (waited) backoff.OnReached();
      if (waited || !some_pass) backoff.OnRead(from_cache);
    }
    EXPECT_GE(waits, least) << from_cache << some_pass;
    EXPECT_LE(waits, most) << from_cache << some_pass;
  }
}

// What was learned of cached blocks is forgotten when one is read from disk.
TEST(SeekBackoffTest, FilesOfALevelShareWhatReadsCost) {
  SeekBackoff::Shared shared;
  SeekBackoff::Shared other_shared;
  SeekBackoff::CachedReads cached{0};
  SeekBackoff backoff(&shared, &cached);
  SeekBackoff other(&other_shared, &cached);
  for (int i = 0; i < 50; i++) {
    backoff.OnRead(/*from_cache=*/true);
    other.OnRead(/*from_cache=*/true);
  }
  EXPECT_TRUE(backoff.ReadsAreCheap());
  EXPECT_TRUE(other.ReadsAreCheap());
  for (int i = 0; i < 32; i++) other.OnReached();
  EXPECT_FALSE(other.ShouldWait());
  EXPECT_TRUE(backoff.ShouldWait());
  backoff.OnRead(/*from_cache=*/false);
  EXPECT_FALSE(other.ReadsAreCheap());
  EXPECT_TRUE(other.ShouldWait());
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
