// SPDX-License-Identifier: Apache-2.0

//  Scans over deletions: whatever is skipped (table/seek/next_value.h), answers
//  are those of a plain RocksDB, in all small trees; and what is skipped.

#include "table/protean_table_factory.h"
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
// of up to so many entries lie side by side in one DB. A tree's entries are the
// cells of a table, key by key.
enum class Cell : char { kNone, kPut, kDelete, kMerge };
constexpr int kKeys = 3;
constexpr int kPlaces = 4;
constexpr int kNeighbors = 4;
using SmallTree = std::array<Cell, kKeys * kPlaces>;

void AddTrees(int first_cell, int entries, SmallTree* tree,
              std::vector<SmallTree>* trees) {
  trees->push_back(*tree);
  if (entries == 0) return;
  for (int cell = first_cell; cell < kKeys * kPlaces; cell++) {
    for (Cell entry : {Cell::kPut, Cell::kDelete, Cell::kMerge}) {
      (*tree)[cell] = entry;
      AddTrees(cell + 1, entries - 1, tree, trees);
    }
    (*tree)[cell] = Cell::kNone;
  }
}

struct Layout {
  // Whether the runs are on level 0, or on levels of small files.
  bool levels;
  // Whether the two oldest runs are one, whose keys have several versions.
  bool versions;
  // How many runs, the oldest first, have values between the trees.
  int guarded_runs;
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

  void WritePlace(DB* db, const std::vector<SmallTree>& trees, int place) {
    WriteBatch batch;
    for (size_t i = 0; i < trees.size(); i++) {
      for (int key = 0; key < kKeys; key++) {
        for (int neighbor = 0; neighbor < kNeighbors; neighbor++) {
          const std::string name = Key(i, key, neighbor);
          const std::string value = std::to_string(place);
          switch (trees[i][key * kPlaces + place]) {
            case Cell::kNone:
              break;
            case Cell::kPut:
              ASSERT_OK(batch.Put(name, value));
              break;
            case Cell::kMerge:
              ASSERT_OK(batch.Merge(name, value));
              break;
            case Cell::kDelete:
              ASSERT_OK(i % 2 == 0 && MayBeSingle(trees[i], key, place)
                            ? batch.SingleDelete(name)
                            : batch.Delete(name));
              break;
          }
        }
      }
      if (place < GetParam().guarded_runs) {
        ASSERT_OK(batch.Put(Digits(i, 6) + kGuard, ""));
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

  void ReadAll(size_t trees, const ReadOptions& options, bool bounded,
               int snapshot, size_t stride) {
    TwinIterator it(&dbs_, options, /*lower=*/false, bounded, snapshot);
    for (size_t i = snapshot + 1; i < trees && !HasFailure(); i += stride) {
      ReadTree(&it, i, bounded);
    }
  }
  static Options OptionsOf() {
    Options options = UnthrottledFiles();
    EXPECT_OK(AddOptions("merge_operator=stringappend", &options));
    options.write_buffer_size = 1 << 30;
    return options;
  }

  TwinDB dbs_{"deletion_skips", OptionsOf(),
              NewTable("ProteanTable",
                       "filter_policy=proteus:12;block_size=256"),
              NewTable("BlockBasedTable", "block_size=256")};
};

TEST_P(SmallTreesTest, AnswersAreThoseOfPlainRocksDB) {
  std::vector<SmallTree> trees;
  SmallTree tree{};
  AddTrees(0, /*entries=*/3, &tree, &trees);
  dbs_.Open();
  for (int place = 0; place < kPlaces; place++) {
    dbs_.Both([&](DB* db) {
      WritePlace(db, trees, place);
      return Status::OK();
    });
    if (place == kPlaces - 1) break;
    dbs_.TakeSnapshot();
    if (place == 0 && GetParam().versions) continue;
    dbs_.Flush();
    if (GetParam().levels && place < 2) {
      dbs_.CompactLevel0Into(place == 0 ? 3 : 2, 1 << 10);
    }
  }
  for (const bool bounded : {false, true}) {
    ReadAll(trees.size(), ReadOptions(), bounded, /*snapshot=*/-1, 1);
    for (int snapshot = 0; snapshot < dbs_.num_snapshots(); snapshot++) {
      ReadAll(trees.size(), ReadOptions(), bounded, snapshot, 7);
    }
  }
  ReadOptions pinned;
  pinned.pin_data = true;
  ReadAll(trees.size(), pinned, /*bounded=*/false, -1, 7);
  EXPECT_GT(SkipsOf(dbs_.protean()), trees.size() / 10);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, SmallTreesTest,
    testing::Values(Layout{false, false, 3}, Layout{false, true, 1},
                    Layout{true, false, 3}, Layout{true, false, 1},
                    Layout{true, true, 0}));

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
