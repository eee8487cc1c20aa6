// SPDX-License-Identifier: Apache-2.0

//  Scans over deletions: whatever is skipped (table/seek/seek_decision.h),
//  answers are those of a plain RocksDB, in all small trees; and what is
//  skipped. (Existence and counts: count_test.cc.)

#include "filter_policy/open_db/dead_ranges.h"
#include "table/seek/seek_decision.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

uint64_t SkipsOf(DB* db) {
  const FilterSeeks bounded = StatisticsOf(db).total.bounded_seeks;
  const FilterSeeks unbounded = StatisticsOf(db).total.unbounded_seeks;
  return bounded.deletion_skips + unbounded.deletion_skips;
}

// ---- All small trees ----

// A tree has three keys, and four places where each may have an entry: three
// runs, the oldest first, and the memtable. Each key stands for four neighbors
// that have the same entries, since shorter stretches are not listed. All trees
// up to a number of entries lie side by side in one DB. A tree's entries are
// the cells of a table, key by key.
enum class Cell : char { kNone, kPut, kDelete, kMerge };
constexpr int kSmallKeys = 3;
constexpr int kPlaces = 4;
constexpr int kNeighbors = 4;
using SmallTree = std::array<Cell, kSmallKeys * kPlaces>;

void AddTrees(int first_cell, int entries, SmallTree* tree,
              std::vector<SmallTree>* trees) {
  trees->push_back(*tree);
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
std::vector<SmallTree> RandomTrees(size_t count) {
  Random random(1);
  std::vector<SmallTree> trees(count);
  for (SmallTree& tree : trees) {
    for (int key = 0; key < kSmallKeys; key++) {
      Cell* const cells = &tree[key * kPlaces];
      cells[0] = random.OneIn(5) ? Cell::kPut : Cell::kNone;
      cells[1] = random.OneIn(2) ? Cell::kDelete : Cell::kNone;
      for (int place = 2; place < kPlaces; place++) {
        cells[place] =
            random.OneIn(20) ? Cell(1 + random.Uniform(3)) : Cell::kNone;
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
  // Whether range deletions lie between the trees. They end files, too.
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

class SmallTreesTest : public testing::TestWithParam<Layout> {
 protected:
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

  void WritePlace(DB* db, int place) {
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
        }
      }
      if (place < GetParam().guarded_runs) {
        ASSERT_OK(batch.Put(Digits(i, 6) + kGuard, ""));
      }
      if (GetParam().range_deletions) {
        ASSERT_OK(batch.DeleteRange(Digits(i, 6) + "x", Digits(i, 6) + "z"));
      }
    }
    ASSERT_OK(db->Write(WriteOptions(), &batch));
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
  static Options OptionsOf() {
    Options options = UnthrottledFiles();
    EXPECT_OK(AddOptions("merge_operator=stringappend", &options));
    options.write_buffer_size = 1 << 30;
    return options;
  }

  std::vector<SmallTree> trees_;
  const AsksEarly asks_early_;
  TwinDB dbs_{
      "deletion_skips", OptionsOf(),
      NewTable("ProteanTable", std::string("block_size=256;filter_policy=") +
                                   GetParam().policy),
      NewTable("BlockBasedTable", "block_size=256")};
};

TEST_P(SmallTreesTest, AnswersAreThoseOfPlainRocksDB) {
  if (GetParam().guarded_runs > 0) {
    SmallTree tree{};
    AddTrees(0, /*entries=*/3, &tree, &trees_);
  } else {
    trees_ = RandomTrees(GetParam().range_deletions ? 3000 : 6000);
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
    dbs_.Both([&](DB* db) {
      WritePlace(db, place);
      return Status::OK();
    });
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
    TwinIterator closed(&dbs_, {}, /*lower=*/false, /*upper=*/true, snapshot);
    ReadAll(&closed, snapshot + 1, 3, /*bounded=*/true);
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
    ReadOptions pin_data;
    pin_data.pin_data = true;
    TwinIterator pinned(&dbs_, pin_data, /*lower=*/false, /*upper=*/false);
    ReadAll(&pinned, 0, 7);
  }
  EXPECT_GT(SkipsOf(dbs_.protean()), trees_.size() / 10);
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

class DeletionSkipsTest : public testing::Test {
 protected:
  // Checks that a seek finds this key, or none. Returns how often deletions
  // were skipped.
  uint64_t SkipsOfSeek(const std::string& target, const std::string& found,
                       const ReadOptions& options = {}) {
    const uint64_t before = SkipsOf(dbs_.protean());
    {
      TwinIterator it(&dbs_, options, /*lower=*/false, /*upper=*/false);
      EXPECT_EQ(found, it.Seek(target) ? it.key().ToString() : "");
    }
    return SkipsOf(dbs_.protean()) - before;
  }

  const AsksEarly asks_early_;
  TwinDB dbs_{"deletion_skips", UnthrottledFiles(),
              NewTable("ProteanTable", "filter_policy=surf:0:8")};
};

// The iterator over the older level is at no key, since its file ends with a
// range deletion above its keys. The next file of the level has values.
TEST_F(DeletionSkipsTest, AFileMayEndBehindItsKeys) {
  dbs_.Open();
  dbs_.WriteRun({"0", "9"}, 3);  // keeps the range deletion alive
  dbs_.DeleteRange("1x", "1z");
  dbs_.WriteRun({"1a"}, 2);
  dbs_.WriteRun({"2a", "2b", "2c"}, 2);
  dbs_.WriteRun({"-1c", "-1d", "-1e", "-1f", "-2a", "-2b", "-2c", "3"}, 1);
  EXPECT_EQ(0u, SkipsOfSeek("1c", "3"));
}

// Without the range deletion, the same deletions are skipped.
TEST_F(DeletionSkipsTest, DeletionsThatHideNothingAreSkipped) {
  dbs_.Open();
  dbs_.WriteRun({"0", "9"}, 3);
  dbs_.WriteRun({"1a", "2a", "2b", "2c"}, 2);
  dbs_.WriteRun({"-1c", "-1d", "-1e", "-1f", "-1g", "-1h", "-2a", "-2b", "3"},
                1);
  EXPECT_EQ(1u, SkipsOfSeek("1c", "2c"));
  // A file that is read may keep its blocks, and is at no marker then.
  ReadOptions pinned;
  pinned.pin_data = true;
  EXPECT_EQ(0u, SkipsOfSeek("1c", "2c", pinned));
}

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
    EXPECT_EQ(1u, SkipsOfSeek("1c", "3")) << last_level;
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
  EXPECT_EQ(1u, SkipsOfSeek("1c", "1z"));
  ReadOptions filtered;
  filtered.table_filter = [](const TableProperties& properties) {
    return properties.num_entries != 2;
  };
  EXPECT_EQ(0u, SkipsOfSeek("1c", "3", filtered));
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
