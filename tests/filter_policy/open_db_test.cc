// SPDX-License-Identifier: Apache-2.0

//  What an open DB knows of its files, from files that are registered without a
//  DB.

#include <gtest/gtest.h>

#include <thread>

#include "filter_policy/filter_properties.h"
#include "filter_policy/open_db/open_families.h"
#include "filter_policy/proteus/proteus_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class NullLogger : public Logger {
 public:
  using Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

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

std::unique_ptr<OpenFile> Open(const FileDescription& description,
                               FilterUse use = FilterUse::kUsed,
                               const std::string& id = "open_db_test",
                               const ProteanFilterPolicy* policy = nullptr) {
  return std::make_unique<OpenFile>(id, description, use, policy);
}

void Count(SeekKind kind, SeekEvent event, uint16_t times, OpenFile* file) {
  SeekTally tally;
  tally(kind, event) = times;
  file->Add(tally, times);
}

FamilyState StateOf(int family = 0, const std::string& id = "open_db_test") {
  const auto db = DBSession::Find(id);
  return db == nullptr ? FamilyState() : db->StateOf(&kFamilies[family]);
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
  EXPECT_EQ(nullptr, DBSession::Find("open_db_test"));
  auto a = Open(Describe(1));
  auto b = Open(Describe(1));
  EXPECT_EQ(DBSession::Find("open_db_test"), DBSession::Join("open_db_test"));
  a.reset();
  EXPECT_EQ(1u, StateOf().open_files.size());
  EXPECT_EQ(nullptr, DBSession::Find("another DB"));
  b.reset();
  EXPECT_EQ(nullptr, DBSession::Find("open_db_test"));
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

// Counts answers of a filter to this thread, as RocksDB does.
void Answer(uint64_t negatives, uint64_t positives) {
  get_perf_context()->bloom_sst_miss_count += negatives;
  get_perf_context()->bloom_sst_hit_count += positives;
}

// Lookups that asked no filter, answers, and positives that found a key.
void ExpectCounts(const GetTally& level, uint64_t unasked, uint64_t negatives,
                  uint64_t positives, uint64_t true_positives) {
  const GetCounts counts = level.Load();
  EXPECT_EQ(unasked, counts.unasked);
  EXPECT_EQ(negatives, counts.negatives);
  EXPECT_EQ(positives, counts.positives);
  EXPECT_EQ(true_positives, counts.true_positives);
}

void CountGet(uint64_t negatives, uint64_t positives, bool found,
              GetTally* level) {
  const FilterAnswers answer;
  Answer(negatives, positives);
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
      ExpectCounts(*levels[level], n, n, 2 * n, n);
    }
  }
}

// RocksDB asks the filter for a batch, and for the values later.
TEST(GetTallyTest, Batches) {
  GetTally level;
  const FilterAnswers answers;
  Answer(/*negatives=*/1, /*positives=*/3);
  level.CountBatch(answers, 5, 2);
  ExpectCounts(level, 1, 1, 3, 2);
  level.CountBatchOfFilter(answers);
  level.CountFound(1);
  ExpectCounts(level, 1, 2, 6, 3);
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
  auto a = Open(Describe(1));
  auto b = Open(Describe(2));
  auto only_inspected = Open(Describe(3));
  const auto other = Open(Describe(1, /*family=*/1));
  Count(SeekKind::kClosed, SeekEvent::kNegative, 3, a.get());
  Count(SeekKind::kClosed, SeekEvent::kNegative, 4, b.get());
  Count(SeekKind::kOpen, SeekEvent::kPassed, 5, b.get());
  b.reset();
  only_inspected.reset();
  EXPECT_EQ(2u, StateOf().open_files.size());
  without_seeks.reset();
  const FamilyState family = StateOf();
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

// An iterator learns from earlier ones over the same sorted run, and from all
// over the level how cheap reads are. What has been learned outlasts the files,
// as the counts do.
TEST(DBSessionTest, IteratorsLearnByLevel) {
  auto level1 = Open(Describe(1));
  auto beside = Open(Describe(1));
  const auto level2 = Open(Describe(2));
  const auto other = Open(Describe(1, /*family=*/1));
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
  beside = Open(Describe(1));
  EXPECT_FALSE(beside->NewBackoff().ShouldWait());
  // Each file of level 0 is a sorted run.
  const auto level0 = Open(Describe(0));
  const auto newer = Open(Describe(0));
  LearnNotToWait(level0.get());
  LearnThatReadsAreCheap(level0.get());
  EXPECT_FALSE(level0->NewBackoff().ShouldWait());
  EXPECT_TRUE(newer->NewBackoff().ShouldWait());
  EXPECT_TRUE(newer->NewBackoff().ReadsAreCheap());
}

// Column families come and go while the DB is open, and one may be where
// another has been in memory.
TEST(DBSessionTest, AColumnFamilyAfterAnotherStartsAfresh) {
  const auto held = Open(Describe(1, /*family=*/1));
  for (int i = 0; i < 3; i++) {
    const auto file = Open(Describe(1, /*family=*/0, std::to_string(i)));
    EXPECT_TRUE(file->NewBackoff().ShouldWait()) << i;
    EXPECT_TRUE(StateOf().closed_files.empty()) << i;
    Count(SeekKind::kOpen, SeekEvent::kPassed, 1, file.get());
    LearnNotToWait(file.get());
  }
  EXPECT_EQ(1u, StateOf().closed_files.size());
}

TEST(DBSessionTest, FamiliesInAFolder) {
  FileDescription description = Describe(-1);
  description.path = "/folder/1.sst";
  const auto a = Open(description);
  description.path = "/folder/2.sst";
  const auto b = Open(description, FilterUse::kUsed, "another DB");
  const auto states_in = [](const std::string& start) {
    return DBSession::StatesIn([&start](const std::string& path) {
      return path.compare(0, start.size(), start) == 0;
    });
  };
  EXPECT_EQ(2u, states_in("/folder/").size());
  const auto found = states_in("/folder/2");
  ASSERT_EQ(1u, found.size());
  EXPECT_EQ(description.path, found[0].open_files.at(0).path);
  EXPECT_TRUE(states_in("/elsewhere").empty());
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
  const auto b = Open(Describe(1));
  const auto c = Open(predicted(1, "0.25", 30), FilterUse::kForeign);
  const auto d = Open(predicted(2, "0.05", 10));
  LevelSums sums;
  EXPECT_EQ(2u, SumByLevel(StateOf(), &sums).size());
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
  auto file = Open(Describe(2), FilterUse::kUsed, "open_db_test", &policy);
  // A file without a level is not in a tree.
  const auto outside =
      Open(Describe(-1), FilterUse::kUsed, "open_db_test", &policy);
  const auto other = Open(Describe(2));
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

// A budget counts the files that any policy has opened, and those that are
// written until they are opened.
TEST(TreeFiltersTest, Budgeted) {
  const auto trees = std::make_shared<TreeFilters>();
  const auto other_policy = std::make_shared<TreeFilters>();
  NullLogger log;
  const TreeFilters::Tree tree{&log, "family"};
  const TreeEntry a(trees, tree, FileFilter{1, 10, 120, "a", "c"});
  const TreeEntry b(other_policy, tree, FileFilter{2, 20, 240, "b", "d"});
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
  const TreeEntry opened(trees, tree, FileFilter{1, 11, 110, "k", "n"});
  before = FileFilter();
  EXPECT_EQ(1u, trees->Budgeted(tree, 1, &before).written.size());
  EXPECT_EQ(0u, before.keys);
  // A filter on trial has no log. The column family tells the tree, unless
  // several DBs have such a one.
  EXPECT_EQ(&log, trees->FindTree("family").info_log);
  EXPECT_EQ(nullptr, trees->FindTree("other").info_log);
  NullLogger second_log;
  const TreeEntry second(trees, {&second_log, "family"}, FileFilter());
  EXPECT_EQ(nullptr, trees->FindTree("family").info_log);
  EXPECT_EQ(2u, trees->TreesWith(tree).size());
}

TEST(TreeFiltersTest, TreesAreToldApart) {
  const auto trees = std::make_shared<TreeFilters>();
  const TreeFilters::Tree one{nullptr, "one"};
  const TreeFilters::Tree two{nullptr, "two"};
  auto a =
      std::make_unique<TreeEntry>(trees, one, FileFilter{0, 10, 120, "", ""});
  auto b =
      std::make_unique<TreeEntry>(trees, one, FileFilter{0, 20, 240, "", ""});
  const TreeEntry c(trees, two, FileFilter{6, 30, 360, "", ""});
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

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
