// SPDX-License-Identifier: Apache-2.0

//  How bits are divided among the sorted runs of a tree: the rule alone,
//  without a DB.

#include <gtest/gtest.h>

#include <cmath>

#include "filter_policy/filter_budget.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr double kBits = 12;

FileFilter FileOf(int level, uint64_t keys, double bits_per_key = kBits) {
  FileFilter file;
  file.level = level;
  file.keys = keys;
  file.bits = static_cast<uint64_t>(bits_per_key * static_cast<double>(keys));
  return file;
}

// The bits per key of a new file.
double BitsOf(const std::vector<FileFilter>& tree, int level, uint64_t keys,
              bool is_bottommost = false, double bits_per_key = kBits) {
  return BitsOfFile(tree, {level, is_bottommost, keys}, bits_per_key);
}

// Returns levels `first` to `first` + 2, each `ratio` times as large as the one
// above it.
std::vector<FileFilter> ThreeLevels(int first, uint64_t ratio) {
  return {FileOf(first, 100000), FileOf(first + 1, 100000 * ratio),
          FileOf(first + 2, 100000 * ratio * ratio)};
}

// The bits per key of all files together.
double Average(const std::vector<FileFilter>& tree) {
  double keys = 0;
  double bits = 0;
  for (const FileFilter& file : tree) {
    keys += static_cast<double>(file.keys);
    bits += static_cast<double>(file.bits);
  }
  return bits / keys;
}

// Writes each file of the tree again, as a whole level, from the last one up.
void Rewrite(std::vector<FileFilter>* tree) {
  for (size_t i = tree->size(); i-- > 0;) {
    FileFilter& file = (*tree)[i];
    const bool last = i + 1 == tree->size();
    file = FileOf(file.level, file.keys,
                  BitsOf(*tree, file.level, file.keys, last));
  }
}

}  // namespace

TEST(LevelBitsTest, UnknownMeansEqual) {
  const std::vector<FileFilter> tree = ThreeLevels(4, 10);
  EXPECT_EQ(kBits, BitsOf(tree, -1, 1000));
  EXPECT_EQ(kBits, BitsOf(tree, -1, 1000, true));
  EXPECT_EQ(kBits, BitsOf(tree, 0, 0));
  for (int level = 0; level < 7; level++) {
    for (bool last : {false, true}) {
      EXPECT_EQ(kBits, BitsOf({}, level, 1000, last));
      EXPECT_EQ(kBits, BitsOf({FileOf(6, 0)}, level, 1000, last));
    }
  }
}

// Runs of one size gain nothing, and a single run gives up nothing.
TEST(LevelBitsTest, EqualRunsHaveEqualBits) {
  std::vector<FileFilter> tree;
  for (int files = 1; files < 40; files++) {
    tree.push_back(FileOf(0, 50000));
    EXPECT_DOUBLE_EQ(kBits, BitsOf(tree, 0, 50000)) << files;
  }
  const std::vector<FileFilter> last(7, FileOf(6, 1000000));
  EXPECT_DOUBLE_EQ(kBits, BitsOf(last, 6, 1000000, true));
  EXPECT_DOUBLE_EQ(kBits, BitsOf(last, 6, 1000000, false));
}

// The rule holds for whatever levels the tree uses, as with dynamic level
// sizes.
TEST(LevelBitsTest, SmallRunsGetMore) {
  for (int first : {1, 3, 4}) {
    std::vector<FileFilter> tree = ThreeLevels(first, 10);
    for (int i = 0; i < 4; i++) Rewrite(&tree);
    const auto bits = [&](size_t i) { return Average({tree[i]}); };
    EXPECT_NEAR(11.75, bits(2), 0.01);
    EXPECT_NEAR(14.1, bits(1), 0.2);
    EXPECT_NEAR(16.7, bits(0), 0.3);
    EXPECT_NEAR(kBits, Average(tree), 0.05);
    // A flushed file is a run of its own, and gets the most bits.
    EXPECT_NEAR(bits(0), BitsOf(tree, 0, 100000), 0.1);
    EXPECT_GT(BitsOf(tree, 0, 10000), bits(0) + 2);
    EXPECT_LE(BitsOf(tree, 0, 1), kBits + kMaxTaken);
    // A bottommost file gives, whatever its level.
    EXPECT_NEAR(11.75, BitsOf(tree, first, 1000, true), 0.01);
  }
}

TEST(LevelBitsTest, TheLastLevelGivesAQuarterOfABitAtMost) {
  for (uint64_t ratio : {1, 2, 3, 4, 7, 10, 30, 100}) {
    for (double bits : {2.0, 8.0, 12.0, 64.0}) {
      const std::vector<FileFilter> tree = ThreeLevels(2, ratio);
      for (int level = 0; level < 7; level++) {
        for (bool last : {false, true}) {
          const double got = BitsOf(tree, level, 5000, last, bits);
          EXPECT_GE(got, bits - kMaxGiven - 1e-9);
          EXPECT_LE(got, bits + kMaxTaken + 1e-9);
          if (last) {
            EXPECT_LE(got, bits);
          }
        }
      }
    }
  }
}

// No file takes bits that have not been given: the last level still has all of
// its bits.
TEST(LevelBitsTest, TheTotalIsKeptWhateverTheTree) {
  for (uint64_t ratio : {2, 4, 10, 100}) {
    std::vector<FileFilter> tree = ThreeLevels(4, ratio);
    for (int i = 0; i < 200; i++) {
      const double bits = BitsOf(tree, 0, 20000);
      EXPECT_GE(bits, kBits - kMaxGiven - 1e-9);
      tree.push_back(FileOf(0, 20000, bits));
      EXPECT_LE(Average(tree), (1 + kTolerance) * kBits);
    }
  }
  // The last level has been dropped, and the remaining files have more than
  // their share: new files do not add to that.
  const std::vector<FileFilter> rest = {FileOf(4, 1000, 18),
                                        FileOf(5, 9000, 14)};
  EXPECT_LE(BitsOf(rest, 0, 10), kBits);
  EXPECT_LE(BitsOf(rest, 4, 1000), kBits);
}

// No file gives bits if none has taken any.
TEST(LevelBitsTest, NothingIsGivenInVain) {
  const std::vector<FileFilter> tree = ThreeLevels(4, 10);
  EXPECT_DOUBLE_EQ(kBits, BitsOf(tree, 6, 1000, true));
  std::vector<FileFilter> level0;
  for (uint64_t keys = 1000; keys < 100000; keys *= 2) {
    level0.push_back(FileOf(0, keys));
  }
  EXPECT_DOUBLE_EQ(kBits, BitsOf(level0, 1, 100000, true));
  // If a little has been taken, a little is given.
  std::vector<FileFilter> some = tree;
  some[0] = FileOf(4, 100000, kBits + 1);
  const double given = kBits - BitsOf(some, 6, 1000, true);
  EXPECT_NEAR(1.0 / 110, given, 1e-4);
}

// The files that a compaction writes do not see each other.
TEST(LevelBitsTest, ManyFilesOfOneCompaction) {
  std::vector<FileFilter> tree = ThreeLevels(4, 10);
  const double bits = BitsOf(tree, 5, 10000);
  EXPECT_GT(bits, kBits + 1);
  // Levels 4 and 5 are written again in files of 10,000 keys, while the old
  // files are still there.
  for (int i = 0; i < 110; i++) tree.push_back(FileOf(5, 10000, bits));
  EXPECT_LE(Average(tree), (1 + kTolerance) * kBits);
}

// Each file of a settled tree gets the bits that it has: in total those of the
// average, and more of them in smaller runs.
TEST(LevelBitsTest, SettledTreeStays) {
  constexpr double kBits = 10;
  const std::vector<FileFilter> files = {
      FileOf(3, 600000, 0), FileOf(0, 1000, 0), FileOf(3, 300000, 0),
      FileOf(2, 90000, 0), FileOf(0, 2000, 0)};
  const std::vector<FileFilter> tree = SettledTree(files, kBits);
  ASSERT_EQ(4u, tree.size());
  uint64_t keys = 0;
  for (const FileFilter& file : tree) {
    const double has = Average({file});
    EXPECT_NEAR(BitsOf(tree, file.level, file.keys, false, kBits), has, 0.01);
    EXPECT_EQ(file.level<3, has> kBits) << file.level;
    keys += file.keys;
  }
  EXPECT_EQ(993000u, keys);
  EXPECT_LE(Average(tree), (1 + kTolerance) * kBits);
  EXPECT_GE(Average(tree), kBits - kMaxGiven);
  EXPECT_TRUE(SettledTree({}, kBits).empty());
}

}  // namespace ROCKSDB_NAMESPACE::protean
