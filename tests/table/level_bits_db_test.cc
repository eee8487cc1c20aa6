// SPDX-License-Identifier: Apache-2.0

//  What level_bits=kAuto does in real trees, above all in trees of unusual
//  shapes: the filters of a tree take what bits_per_key promises, and the
//  filters of the last level lose next to nothing.

#include "filter_policy/filter_budget.h"
#include "rocksdb/utilities/table_properties_collectors.h"
#include "tests/table/growing_tree.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr double kBits = 12;

class LevelBitsDBTest : public GrowingTreeTest {
 protected:
  LevelBitsDBTest() {
    SetPolicy("{id=protean.Proteus;bits_per_key=12;level_bits=kAuto}");
    options_.max_bytes_for_level_base = 512 << 10;
    value_ = "a value";
  }

  // The bits per key that rounding may have cost.
  static double Rounded(const FilterSize& size) {
    return 8 * kRoundedBytes * size.files / size.keys;
  }
  // Checks that the tree takes no more bits than it may, and no level fewer
  // than it should.
  void Check() {
    EXPECT_LE(Total().PerKey(), (1 + kTolerance) * kBits);
    for (const auto& [level, size] : Levels()) {
      EXPECT_GE(size.PerKey(), kBits - kMaxGiven - Rounded(size)) << level;
    }
    if (HasFailure()) Print();
  }
  void Write(int files, bool ascending = false) {
    for (int i = 0; i < files; i++) {
      WriteNewFile(ascending);
      if (i % 4 == 3) WaitForCompactions();
      Check();
      if (HasFailure()) return;
    }
  }
};

}  // namespace

TEST_F(LevelBitsDBTest, Leveled) {
  struct Tree {
    int ratio;
    uint64_t base;
    bool dynamic;
  };
  for (const Tree& tree : {Tree{4, 512 << 10, false}, {10, 256 << 10, true}}) {
    SCOPED_TRACE(tree.ratio);
    Destroy();
    options_.max_bytes_for_level_base = tree.base;
    options_.max_bytes_for_level_multiplier = tree.ratio;
    options_.level_compaction_dynamic_level_bytes = tree.dynamic;
    Open();
    Write(120);
    const std::map<int, FilterSize> levels = Levels();
    // The other levels have the bits that the last level has given.
    ASSERT_GE(levels.size(), 2u);
    EXPECT_LT(levels.rbegin()->second.PerKey(), kBits);
    EXPECT_GT(levels.begin()->second.PerKey(), kBits + 0.5);
    // A full compaction leaves one run, which still has about that many bits.
    ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    Check();
    // The tree is known as soon as the DB is opened again.
    Open();
    WriteNewFile();
    const double flushed = Levels()[0].PerKey();
    EXPECT_GT(flushed, kBits + 2);
    Write(20);
  }
}

// With few open files, the rule sees only a part of the tree.
TEST_F(LevelBitsDBTest, FewOpenFiles) {
  options_.max_open_files = 20;
  options_.table_cache_numshardbits = 0;
  Open();
  Write(100);
}

TEST_F(LevelBitsDBTest, Universal) {
  options_.compaction_style = kCompactionStyleUniversal;
  for (int levels : {1, 7}) {
    Destroy();
    options_.num_levels = levels;
    Open();
    Write(120);
  }
}

// Ascending keys are written once: their files move down unchanged.
TEST_F(LevelBitsDBTest, FilesThatMove) {
  // A trie of ascending numbers would take less than its share.
  SetPolicy("{id=protean.PrefixBloom;bits_per_key=12;level_bits=kAuto}");
  Open();
  Write(60, /*ascending=*/true);
  Open();
  Check();
  Write(60, /*ascending=*/true);
  Write(60, /*ascending=*/false);
}

TEST_F(LevelBitsDBTest, CompactionIsBehind) {
  options_.disable_auto_compactions = true;
  options_.level0_slowdown_writes_trigger = 1000;
  options_.level0_stop_writes_trigger = 1000;
  Open();
  Write(60);
  // Runs of one size have equal bits.
  EXPECT_NEAR(kBits, Levels()[0].PerKey(), Rounded(Levels()[0]));
  // The single run into which they are merged has as many bits.
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  ASSERT_EQ(1u, Levels().size());
  EXPECT_NEAR(kBits, Total().PerKey(), Rounded(Total()));
  Write(100);
  EXPECT_GT(Levels()[0].PerKey(), kBits);
}

// A file that is written outside of the DB has exactly bits_per_key.
TEST_F(LevelBitsDBTest, FilesFromOutside) {
  // A trie of ascending numbers would take less than its share.
  SetPolicy("{id=protean.PrefixBloom;bits_per_key=12;level_bits=kAuto}");
  Open();
  for (int i = 0; i < 5; i++) {
    Keys keys;
    for (int k = 0; k < 100000; k++) {
      keys.push_back(NextKey(/*ascending=*/true));
    }
    Ingest(keys);
  }
  ASSERT_EQ(1u, Levels().size());
  EXPECT_NEAR(kBits, Total().PerKey(), 0.01);
  Write(60);
}

TEST_F(LevelBitsDBTest, Equal) {
  SetPolicy("{id=protean.Proteus;bits_per_key=12;level_bits=kEqual}");
  Open();
  for (int i = 0; i < 60; i++) WriteNewFile();
  WaitForCompactions();
  ASSERT_GE(Levels().size(), 2u);
  for (const auto& [level, size] : Levels()) {
    EXPECT_NEAR(kBits, size.PerKey(), 0.02 * kBits) << level;
  }
}

// Each column family is a tree of its own.
TEST_F(LevelBitsDBTest, ColumnFamilies) {
  Open();
  Write(40);
  ColumnFamilyHandle* const other = NewFamily("other");
  for (int file = 0; file < 3; file++) WriteNewFile(false, other);
  const TablePropertiesCollection properties = PropertiesOf(db_.get(), other);
  ASSERT_EQ(3u, properties.size());
  for (const auto& [name, file] : properties) {
    EXPECT_NEAR(kBits,
                8 * static_cast<double>(file->filter_size) /
                    static_cast<double>(file->num_filter_entries),
                0.02 * kBits);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
