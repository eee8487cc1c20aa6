// SPDX-License-Identifier: Apache-2.0

//  Scans over deletions: whatever is skipped (table/seek/seek_decision.h), and
//  whatever earlier scans have found to be deleted (table/seek/run_search.h),
//  answers are those of a plain RocksDB, in all small trees; and what is
//  skipped. (Existence and counts: count_test.cc.)

#include "filter_policy/open_db/dead_ranges.h"
#include "rocksdb/utilities/transaction_db.h"
#include "table/seek/seek_decision.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class DeletionsDBTest : public testing::Test {
 protected:
  explicit DeletionsDBTest(const std::string& policy)
      : dbs_("deletions_db", OptionsOf(),
             NewTable("ProteanTable", "block_size=256;filter_policy=" + policy),
             NewTable("BlockBasedTable", "block_size=256")) {}

  // Checks that a new iterator finds this key first, or none.
  void ExpectFirst(const std::string& target, const std::string& found,
                   const ReadOptions& options = {}) {
    TwinIterator it(&dbs_, options, /*lower=*/false, /*upper=*/false);
    EXPECT_EQ(found, it.Seek(target) ? it.key().ToString() : "");
  }
  // How often deletions have been skipped.
  uint64_t Skips() {
    const FilterSums total = StatisticsOf(dbs_.protean()).total;
    return total.bounded_seeks.deletion_skips +
           total.unbounded_seeks.deletion_skips;
  }

  static Options OptionsOf() {
    Options options = UnthrottledFiles();
    EXPECT_OK(AddOptions("merge_operator=stringappend", &options));
    options.write_buffer_size = 1 << 30;
    return options;
  }

  TwinDB dbs_;
};

// ---- All small trees ----

// A tree has three keys, and four places where each may have an entry: three
// runs, the oldest first, and the memtable. Each key stands for four neighbors
// that have the same entries, since shorter stretches are not listed. All trees
// up to a number of entries in which a run deletes something lie side by side
// in one DB. A tree's entries are the cells of a table, key by key.
enum class Cell : char { kNone, kPut, kDelete, kMerge, kDeleteRange };
constexpr int kSmallKeys = 3;
constexpr int kPlaces = 4;
constexpr int kNeighbors = 4;
using SmallTree = std::array<Cell, kSmallKeys * kPlaces>;

// Whether there is anything to skip: a run with a deletion.
bool RunsDelete(const SmallTree& tree) {
  for (size_t cell = 0; cell < tree.size(); cell++) {
    const bool is_in_run = cell % kPlaces < kPlaces - 1;
    if (is_in_run && tree[cell] == Cell::kDelete) return true;
  }
  return false;
}

void AddTrees(int first_cell, int entries, SmallTree* tree,
              std::vector<SmallTree>* trees) {
  if (RunsDelete(*tree)) trees->push_back(*tree);
  if (entries == 0) return;
  for (int cell = first_cell; cell < kSmallKeys * kPlaces; cell++) {
    for (Cell entry : {Cell::kPut, Cell::kDelete, Cell::kMerge}) {
      (*tree)[cell] = entry;
      AddTrees(cell + 1, entries - 1, tree, trees);
    }
    (*tree)[cell] = Cell::kNone;
  }
}

// Random trees, in which the oldest run has few values, and the next one many
// deletions.
std::vector<SmallTree> RandomTrees(size_t count, bool range_deletions) {
  const int one_in = range_deletions ? 5 : 20;
  const int kinds = range_deletions ? 4 : 3;
  Random random(1);
  std::vector<SmallTree> trees(count);
  for (SmallTree& tree : trees) {
    for (int key = 0; key < kSmallKeys; key++) {
      Cell* const cells = &tree[key * kPlaces];
      cells[0] = random.OneIn(5) ? Cell::kPut : Cell::kNone;
      cells[1] = random.OneIn(2) ? Cell::kDelete : Cell::kNone;
      for (int place = 2; place < kPlaces; place++) {
        cells[place] = random.OneIn(one_in) ? Cell(1 + random.Uniform(kinds))
                                            : Cell::kNone;
      }
    }
  }
  return trees;
}

struct Layout {
  // Whether the runs are on level 0, or on levels of small files.
  bool levels;
  // Whether the two oldest runs are one, whose keys have several versions.
  bool versions;
  // How many runs, the oldest first, have values between the trees.
  int guarded_runs;
  const char* policy;
  // Whether range deletions lie in the trees and between them. They end files,
  // too: behind the keys of such a file, its iterator is at no key, and the
  // next file of the level may have values.
  bool range_deletions;
};

// Scans ask early, so that they skip much in small trees, and remember all that
// they find.
class AsksEarly {
 public:
  AsksEarly() : before_(DeletionSkips::ask_after) {
    DeletionSkips::ask_after = 2;
    DeadRangeFinder::SetMinEntries(1);
  }
  ~AsksEarly() {
    DeletionSkips::ask_after = before_;
    DeadRangeFinder::SetMinEntries(DeadRangeFinder::kMinEntries);
  }

 private:
  const uint32_t before_;
};

class SmallTreesTest : public DeletionsDBTest,
                       public testing::WithParamInterface<Layout> {
 protected:
  SmallTreesTest() : DeletionsDBTest(GetParam().policy) {}

  static constexpr char kGuard = '~';

  static std::string Key(size_t tree, int key, int neighbor) {
    return Digits(tree, 6) + static_cast<char>('a' + key) +
           static_cast<char>('0' + neighbor);
  }

  // Returns true if the deletion of the key may be a SingleDelete: it is the
  // last entry, and there is one before, which is a put.
  static bool MayBeSingle(const SmallTree& tree, int key, int place) {
    int puts = 0;
    for (int other = 0; other < kPlaces; other++) {
      if (other == place) continue;
      const Cell cell = tree[key * kPlaces + other];
      if (cell == Cell::kNone) continue;
      if (other > place || cell != Cell::kPut) return false;
      puts++;
    }
    return puts == 1;
  }

  void WritePlace(int place) {
    const std::string value = std::to_string(place);
    WriteBatch batch;
    for (size_t i = 0; i < trees_.size(); i++) {
      for (int n = 0; n < kSmallKeys * kNeighbors; n++) {
        const int key = n / kNeighbors;
        const std::string name = Key(i, key, n % kNeighbors);
        switch (trees_[i][key * kPlaces + place]) {
          case Cell::kNone:
            break;
          case Cell::kPut:
            ASSERT_OK(batch.Put(name, value));
            break;
          case Cell::kMerge:
            ASSERT_OK(batch.Merge(name, value));
            break;
          case Cell::kDelete:
            ASSERT_OK(i % 2 == 0 && MayBeSingle(trees_[i], key, place)
                          ? batch.SingleDelete(name)
                          : batch.Delete(name));
            break;
          case Cell::kDeleteRange:
            // All neighbors, or two of them.
            if (n % kNeighbors == static_cast<int>(i % 2)) {
              const int end = i % 2 == 0 ? kNeighbors : 3;
              ASSERT_OK(batch.DeleteRange(name, Key(i, key, end)));
            }
            break;
        }
      }
      if (place < GetParam().guarded_runs) {
        ASSERT_OK(batch.Put(Digits(i, 6) + kGuard, ""));
      }
      if (GetParam().range_deletions) {
        ASSERT_OK(batch.DeleteRange(Digits(i, 6) + "x", Digits(i, 6) + "z"));
      }
    }
    dbs_.Both([&](DB* db) { return db->Write(WriteOptions(), &batch); });
  }

  // Seeks to a tree and to some of its keys, goes on to the next tree, and
  // turns.
  void ReadTree(TwinIterator* it, size_t tree, bool bounded) {
    const std::string begin = Digits(tree, 6);
    if (bounded) it->SetUpper(Digits(tree + 1, 6));
    // Without guards, many trees in a row may have no value.
    for (const std::string& target :
         {begin, begin + "b", begin + "a2", begin + "c0", begin + "b3"}) {
      bool valid = it->Seek(target);
      for (int i = 0; i < 4 && valid; i++) valid = it->Next();
      if (!valid || target != begin) continue;
      if (!it->Prev() || !it->Prev()) continue;
      if (it->Next()) it->Next();
    }
  }

  void ReadAll(TwinIterator* it, size_t first, size_t stride,
               bool bounded = false) {
    for (size_t i = first; i < trees_.size() && !HasFailure(); i += stride) {
      ReadTree(it, i, bounded);
    }
  }

  std::vector<SmallTree> trees_;
  const AsksEarly asks_early_;
};

TEST_P(SmallTreesTest, AnswersAreThoseOfPlainRocksDB) {
  if (GetParam().guarded_runs > 0) {
    SmallTree tree{};
    AddTrees(0, /*entries=*/3, &tree, &trees_);
  } else {
    const bool range_deletions = GetParam().range_deletions;
    trees_ = RandomTrees(range_deletions ? 3000 : 6000, range_deletions);
  }
  dbs_.Open();
  if (GetParam().levels) {
    // With data below them, deletions stay where they are.
    dbs_.Put("0", "first");
    dbs_.Put("9999999", "last");
    dbs_.Flush();
    dbs_.CompactLevel0Into(3, 1 << 20);
  }
  for (int place = 0; place < kPlaces; place++) {
    // What is written after a scan, here to the memtable, is seen.
    if (place == kPlaces - 1) {
      TwinIterator it(&dbs_, {}, /*lower=*/false, /*upper=*/false);
      ReadAll(&it, 1, 3);
    }
    WritePlace(place);
    if (place == kPlaces - 1) break;
    dbs_.TakeSnapshot();
    if (place == 0 && GetParam().versions) continue;
    dbs_.Flush();
    if (GetParam().levels && place < 2) {
      dbs_.CompactLevel0Into(place == 0 ? 2 : 1, 1 << 10);
    }
  }
  // What a scan has found to be deleted, the next ones skip, if they see it.
  for (int snapshot = -1; snapshot < dbs_.num_snapshots(); snapshot++) {
    TwinIterator open(&dbs_, {}, /*lower=*/false, /*upper=*/false, snapshot);
    ReadAll(&open, snapshot + 1, 1);
    // These scans end as their iterators are destroyed, wherever their files
    // are.
    for (size_t i = snapshot + 1; i < trees_.size() && !HasFailure(); i += 3) {
      TwinIterator closed(&dbs_, {}, /*lower=*/false, /*upper=*/true, snapshot);
      ReadTree(&closed, i, /*bounded=*/true);
    }
  }
  // Now the scans at newer snapshots have come before those at older ones, too.
  {
    TwinIterator open(&dbs_, {}, /*lower=*/false, /*upper=*/false);
    TwinIterator closed(&dbs_, {}, /*lower=*/false, /*upper=*/true);
    for (int snapshot = -1; snapshot < dbs_.num_snapshots(); snapshot++) {
      const size_t stride = snapshot < 0 ? 1 : 3;
      open.Refresh(&dbs_, snapshot);
      ReadAll(&open, snapshot + 1, stride);
      closed.Refresh(&dbs_, snapshot);
      ReadAll(&closed, snapshot + 1, 3 * stride, /*bounded=*/true);
    }
    dbs_.Flush();
    ReadOptions pin_data;
    pin_data.pin_data = true;
    TwinIterator pinned(&dbs_, pin_data, /*lower=*/false, /*upper=*/false);
    ReadAll(&pinned, 0, 7);
  }
  EXPECT_GT(Skips(), trees_.size() / 10);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, SmallTreesTest,
    testing::Values(Layout{false, false, 3, "proteus:12", false},
                    Layout{false, true, 1, "surf:0:8", false},
                    Layout{true, false, 3, "surf:0:8", false},
                    Layout{true, false, 1, "proteus:12", false},
                    Layout{false, false, 0, "proteus:12", false},
                    Layout{true, false, 0, "surf:0:8", false},
                    Layout{true, true, 0, "surf:0:8", false},
                    Layout{true, false, 0, "surf:0:8", true}));

// ---- Single rules ----

class DeletionSkipsTest : public DeletionsDBTest {
 protected:
  DeletionSkipsTest() : DeletionsDBTest("surf:0:8") {}

  // Checks that a seek finds this key. Returns how often it has skipped.
  uint64_t SkipsTo(const std::string& found, const ReadOptions& options = {}) {
    const uint64_t before = Skips();
    ExpectFirst("1c", found, options);
    return Skips() - before;
  }

  const AsksEarly asks_early_;
};

// A file without a filter is asked for values all the same, and so is one whose
// filter iterators are told to skip, on the last level.
TEST_F(DeletionSkipsTest, FilesWithoutFiltersMayHaveValues) {
  Options& options = dbs_.options(TwinDB::kProtean);
  const auto with_filters = options.table_factory;
  for (const bool last_level : {false, true}) {
    options.optimize_filters_for_hits = last_level;
    if (!last_level) options.table_factory = NewTable("ProteanTable", "");
    dbs_.OpenAnew();
    dbs_.WriteRun({"0", "2a", "9"}, 3);
    options.table_factory = with_filters;
    dbs_.Reopen();
    dbs_.WriteRun({"-1c", "-1d", "-1e", "-1f", "-2a", "-2b", "3"}, 1);
    EXPECT_EQ(1u, SkipsTo("3")) << last_level;
  }
}

// A level may stand at the end of a file that is not in the search, before a
// file that is.
TEST_F(DeletionSkipsTest, ATableFilterLeavesFilesOut) {
  dbs_.Open();
  dbs_.WriteRun({"0", "9"}, 3);
  dbs_.WriteRun({"1a", "1z"}, 2);
  dbs_.WriteRun({"2a", "2b", "2c"}, 2);
  dbs_.WriteRun({"-1c", "-1d", "-1e", "-1f", "-2a", "-2b", "-2c", "3"}, 1);
  EXPECT_EQ(1u, SkipsTo("1z"));
  ReadOptions filtered;
  filtered.table_filter = [](const TableProperties& properties) {
    return properties.num_entries != 2;
  };
  EXPECT_EQ(0u, SkipsTo("3", filtered));
}

// ---- Dead ranges ----

class DeadRangesDBTest : public DeletionsDBTest,
                         public testing::WithParamInterface<const char*> {
 protected:
  DeadRangesDBTest() : DeletionsDBTest(GetParam()) {}

  static constexpr int kItems = 200;

  static std::string Item(int i) { return "q" + Digits(i, 3); }

  void PutItems(int begin, int end) {
    for (int i = begin; i < end; i++) dbs_.Put(Item(i), "value");
  }
  void DeleteItems(int begin, int end) {
    for (int i = begin; i < end; i++) dbs_.Delete(Item(i));
  }

  // The older run has all items, and the newer one deletions of the first half.
  void MakeQueue(int older_level = 0, int newer_level = 0,
                 uint64_t file_size = 1 << 20) {
    dbs_.OpenAnew();
    dbs_.Put("a", "before");
    PutItems(0, kItems);
    dbs_.Put("z", "after");
    dbs_.Flush();
    if (older_level > 0) dbs_.CompactLevel0Into(older_level, file_size);
    dbs_.TakeSnapshot();
    dbs_.Put("c", "before");
    DeleteItems(0, kItems / 2);
    dbs_.Put("y", "after");
    dbs_.Flush();
    if (newer_level > 0) dbs_.CompactLevel0Into(newer_level, file_size);
  }

  // A seek to the head of the queue must find this key. Returns the entries
  // that the next iterator steps over.
  uint64_t StepsToHead(const std::string& found) {
    ExpectFirst("q", found);
    return StepsOf("q");
  }
  uint64_t StepsOf(const std::string& target) {
    const std::unique_ptr<Iterator> it(
        dbs_.protean()->NewIterator(ReadOptions()));
    get_perf_context()->Reset();
    it->Seek(target);
    return get_perf_context()->internal_delete_skipped_count +
           get_perf_context()->internal_key_skipped_count;
  }

  // Checks that all keys are found as without filters, now and at all
  // snapshots, from everywhere, and in both directions.
  void CheckScans() {
    for (int snapshot = -1; snapshot < dbs_.num_snapshots(); snapshot++) {
      for (const char* target : {"", "q", "q050", "q0999"}) {
        TwinIterator it(&dbs_, {}, /*lower=*/false, /*upper=*/false, snapshot);
        for (bool valid = it.Seek(target); valid;) valid = it.Next();
        bool valid = it.Seek(target);
        for (int i = 0; i < 3 && valid; i++) valid = it.Prev();
      }
      CompareScans(&dbs_, snapshot);
    }
  }
};

constexpr uint64_t kFewSteps = 8;

TEST_P(DeadRangesDBTest, TheSecondReadSkipsWhatTheFirstHasSteppedOver) {
  MakeQueue();
  EXPECT_LT(StepsToHead(Item(100)), kFewSteps);
  CheckScans();
  EXPECT_LT(StepsOf("q"), kFewSteps);
  EXPECT_LT(StepsOf("d"), kFewSteps);
  EXPECT_LT(StepsOf(Item(50)), kFewSteps);
  // Before the first read, and with nothing to remember, each entry is a step.
  dbs_.Reopen();
  EXPECT_GE(StepsOf("q"), 100u);
}

TEST_P(DeadRangesDBTest, LevelsOfManyFiles) {
  MakeQueue(/*older_level=*/3, /*newer_level=*/1, /*file_size=*/1 << 9);
  ASSERT_GT(dbs_.NumFiles(), 6u);
  CheckScans();
  EXPECT_LT(StepsOf("q"), 4 * kFewSteps);
  CheckScans();
}

TEST_P(DeadRangesDBTest, CompactionsEndARange) {
  MakeQueue(/*older_level=*/2, /*newer_level=*/1);
  StepsToHead(Item(100));
  dbs_.Compact();
  CheckScans();
  DeleteItems(100, 150);
  dbs_.Flush();
  CheckScans();
  EXPECT_LT(StepsToHead(Item(150)), kFewSteps);
  // One of two files is gone, and what it hid is alive.
  dbs_.Put(Item(120), "again");
  dbs_.Flush();
  CheckScans();
  StepsToHead(Item(120));
}

TEST_P(DeadRangesDBTest, ARangeGrows) {
  MakeQueue();
  for (int head = 100; head < kItems; head += 20) {
    EXPECT_LT(StepsToHead(Item(head)), kFewSteps) << head;
    DeleteItems(head, head + 20);
    CheckScans();
    dbs_.Flush();
  }
}

// Many short reads from anywhere, next to a range that is being deleted from
// its beginning on.
TEST_P(DeadRangesDBTest, ReadsFromAnywhere) {
  constexpr int kEnd = 1 << 30;
  for (int seed = 301; seed < 321 && !HasFailure(); seed++) {
    dbs_.OpenAnew();
    Random random(seed);
    std::set<std::string> keys;
    for (int run = 0; run < 3; run++) {
      for (int i = 0; i < 1000; i++) {
        const std::string key = Digits(random.Uniform(kEnd), 10);
        keys.insert(key);
        dbs_.Put(key, std::to_string(run));
        const auto gone = keys.lower_bound(Digits(kEnd / 2, 10));
        if (i % 10 < 9 || gone == keys.end()) continue;
        dbs_.Delete(*gone);
        keys.erase(gone);
      }
      dbs_.Flush();
      for (int i = 0; i < 300 && !HasFailure(); i++) {
        const int from = random.Uniform(kEnd - 1000);
        {
          TwinIterator it(&dbs_, ReadOptions(), /*lower=*/true, /*upper=*/true);
          it.SetLower(Digits(from, 10));
          it.SetUpper(Digits(from + 1000, 10));
          it.Seek(Digits(from, 10));
          it.SeekForPrev(Digits(from + 999, 10));
        }
        TwinIterator it(&dbs_, ReadOptions(), /*lower=*/false, /*upper=*/false);
        if (it.Seek(Digits(from, 10))) it.Next();
      }
    }
  }
}

// Readers of transactions that are prepared before they are committed do not
// see entries in the order of their sequence numbers.
TEST_P(DeadRangesDBTest, PreparedTransactions) {
  dbs_.SetOpener([this](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
    TransactionDBOptions transactions;
    transactions.write_policy = TxnDBWritePolicy::WRITE_PREPARED;
    return OpenAs<TransactionDB>(db, dbs_.options(twin), transactions,
                                 dbs_.path(twin));
  });
  dbs_.Open();
  PutItems(0, kItems);
  dbs_.Put("z", "after");
  dbs_.Flush();
  std::vector<std::unique_ptr<Transaction>> transactions;
  dbs_.Both([&](DB* db) {
    auto* const transaction_db = static_cast<TransactionDB*>(db);
    transactions.emplace_back(transaction_db->BeginTransaction(WriteOptions()));
    Status s = transactions.back()->SetName("deletes");
    for (int i = 0; s.ok() && i < kItems / 2; i++) {
      s = transactions.back()->Delete(Item(i));
    }
    return s.ok() ? transactions.back()->Prepare() : s;
  });
  dbs_.Flush();
  dbs_.TakeSnapshot();
  CheckScans();
  for (auto& transaction : transactions) ASSERT_OK(transaction->Commit());
  CheckScans();
  StepsToHead(Item(100));
  transactions.clear();
}

INSTANTIATE_TEST_SUITE_P(Policies, DeadRangesDBTest,
                         testing::Values("surf:0:8", "proteus:12"));

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
