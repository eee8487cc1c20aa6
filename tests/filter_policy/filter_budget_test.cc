// SPDX-License-Identifier: Apache-2.0

//  How bits are divided among the sorted runs of a tree, and a budget among its
//  files, compared with the best allocation there is. No test has a DB.

#include "filter_policy/filter_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "test_util/testharness.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Files = std::vector<FileFilter>;

// Keys are numbers below kKeySpace, in text.
constexpr double kKeySpace = 1e12;

std::string KeyOfNumber(double number) {
  char text[32];
  snprintf(text, sizeof(text), "%013.0f", number);
  return text;
}

// A file of the keys from the share `begin` to `end` of the key space.
FileFilter FileOf(int level, uint64_t keys, double begin = 0, double end = 1,
                  double bits_per_key = 0) {
  FileFilter file;
  file.level = level;
  file.keys = keys;
  file.bits = static_cast<uint64_t>(bits_per_key * static_cast<double>(keys));
  file.smallest = KeyOfNumber(begin * kKeySpace);
  file.largest = KeyOfNumber(end * kKeySpace - 1);
  return file;
}

void AddRun(int level, uint64_t keys, int files, Files* tree) {
  for (int i = 0; i < files; i++) {
    tree->push_back(FileOf(level, keys / static_cast<uint64_t>(files),
                           1.0 * i / files, (i + 1.0) / files));
  }
}

BudgetedTree TreeOf(const Files& files,
                    const std::vector<std::string>& queries = {}) {
  BudgetedTree tree;
  for (const FileFilter& file : files) {
    tree.files.push_back(std::make_shared<const FileFilter>(file));
  }
  tree.queries = queries;
  return tree;
}

double BitsOf(const Files& tree) {
  double bits = 0;
  for (const FileFilter& file : tree) bits += static_cast<double>(file.bits);
  return bits;
}

double KeysOf(const Files& tree) {
  double keys = 0;
  for (const FileFilter& file : tree) keys += static_cast<double>(file.keys);
  return keys;
}

double PerKey(const FileFilter& file) {
  return static_cast<double>(file.bits) / static_cast<double>(file.keys);
}

// Queries begin at the share u^`skew` of the key space, u being uniform: evenly
// for a skew of 1, and mostly near its beginning for a larger one.
std::vector<std::string> Queries(int number, double skew) {
  std::vector<std::string> queries;
  Random64 random(301);
  for (int i = 0; i < number; i++) {
    const double u = static_cast<double>(random.Uniform(1 << 30)) / (1 << 30);
    queries.push_back(KeyOfNumber(std::pow(u, skew) * kKeySpace));
  }
  std::sort(queries.begin(), queries.end());
  return queries;
}

// The share of such queries that ask a file.
double Asked(const FileFilter& file, double skew) {
  const auto share = [skew](double key) {
    return std::pow(key / kKeySpace, 1 / skew);
  };
  return share(std::stod(file.largest) + 1) - share(std::stod(file.smallest));
}

// False positives per query.
double Cost(const Files& tree, double skew) {
  double cost = 0;
  for (const FileFilter& file : tree) {
    cost += Asked(file, skew) * std::exp2(-PerKey(file));
  }
  return cost;
}

// A lower bound of the false positives per query that any allocation within the
// limits has: the largest value of the Lagrangian's dual function.
double LeastCost(const Files& tree, double budget, double skew) {
  // The keys of each file, and the share of queries that ask it.
  std::vector<std::pair<double, double>> files;
  for (const FileFilter& file : tree) {
    files.emplace_back(file.keys, Asked(file, skew));
  }
  double best = 0;
  for (double line = -40; line < 60; line += 0.03) {
    const double price = std::log(2.0) * std::exp2(-line);  // of a bit
    double cost = -price * budget;
    for (const auto& [keys, asked] : files) {
      const double bits = std::clamp(line + std::log2(asked / keys),
                                     kMinBudgetedBits, kMaxBudgetedBits);
      cost += std::min(asked, asked * std::exp2(-bits) + price * keys * bits);
    }
    best = std::max(best, cost);
  }
  return best;
}

// Writes each file of the tree again, from the last one up, a few times.
void Settle(Files* tree, double budget,
            const std::vector<std::string>& queries = {}) {
  std::vector<BudgetedTree> trees = {TreeOf(*tree, queries)};
  auto& files = trees[0].files;
  for (int time = 0; time < 4; time++) {
    for (size_t i = tree->size(); i-- > 0;) {
      FileFilter& file = (*tree)[i];
      BudgetedFile added;
      added.file = file;
      added.file.bits = 0;
      added.is_flush = true;
      // The compaction that writes a file again replaces this file alone.
      files.erase(files.begin() + static_cast<ptrdiff_t>(i));
      file.bits = static_cast<uint64_t>(
          PlanBits(trees, 0, added, budget).per_key * file.keys);
      files.insert(files.begin() + static_cast<ptrdiff_t>(i),
                   std::make_shared<const FileFilter>(file));
    }
  }
}

Files Leveled(int ratio, uint64_t file_keys = 50000) {
  Files tree;
  for (int i = 0; i < 3; i++) tree.push_back(FileOf(0, 25000));
  uint64_t keys = 100000;
  for (int level = 1; level <= 3;
       level++, keys *= static_cast<uint64_t>(ratio)) {
    AddRun(level, keys, static_cast<int>(keys / file_keys), &tree);
  }
  return tree;
}

Files Universal() {
  Files tree;
  for (int i = 0; i < 4; i++) tree.push_back(FileOf(0, 20000));
  AddRun(4, 80000, 4, &tree);
  AddRun(5, 400000, 10, &tree);
  AddRun(6, 2000000, 40, &tree);
  return tree;
}

// Once all files are written again, the tree is within 5 % of the best.
TEST(FilterBudgetTest, NearTheBest) {
  for (const auto& shape : {Leveled(4), Leveled(10), Universal()}) {
    for (const double bits : {5.0, 12.0, 20.0}) {
      for (const double skew : {1.0, 8.0}) {
        SCOPED_TRACE(testing::Message() << shape.size() << " files, " << bits
                                        << " bits, skew " << skew);
        Files tree = shape;
        const double budget = bits * KeysOf(tree);
        Settle(&tree, budget, Queries(20000, skew));
        EXPECT_LE(Cost(tree, skew), 1.05 * LeastCost(tree, budget, skew));
        EXPECT_LE(BitsOf(tree), budget);
        EXPECT_GE(BitsOf(tree), 0.98 * budget);
      }
    }
  }
}

// If the tree has outgrown the budget, the files of the largest run go without.
TEST(FilterBudgetTest, TheLargestRunGoesWithout) {
  for (const double bits : {0.5, 1.0, 2.0, 3.0}) {
    SCOPED_TRACE(bits);
    Files tree = Leveled(4, /*file_keys=*/10000);
    const double budget = bits * KeysOf(tree);
    Settle(&tree, budget);
    int largest_with = 0;
    int smallest_without = 7;
    for (const FileFilter& file : tree) {
      EXPECT_TRUE(file.bits == 0 || PerKey(file) >= kMinBudgetedBits - 1e-3);
      if (file.bits > 0) largest_with = std::max(largest_with, file.level);
      if (file.bits == 0) {
        smallest_without = std::min(smallest_without, file.level);
      }
    }
    EXPECT_LE(largest_with, smallest_without);
    EXPECT_LE(smallest_without, 3);
    EXPECT_LE(BitsOf(tree), budget);
    EXPECT_LE(Cost(tree, 1), 1.05 * LeastCost(tree, budget, 1));
  }
}

// The bits per key of a file that is added to a tree.
double PlannedBits(const FileFilter& file, double budget,
                   const BudgetedTree& tree = {}, bool is_flush = true) {
  return PlanBits({tree}, 0, {file, is_flush, false, {}}, budget).per_key;
}

TEST(FilterBudgetTest, Limits) {
  // A huge budget gives as many bits as a filter may have, and no more.
  EXPECT_EQ(kMaxBudgetedBits, PlannedBits(FileOf(0, 1000), 1e15));
  EXPECT_EQ(0, PlannedBits(FileOf(0, 0), 1e15));
  // A budget that is far too small is outgrown.
  EXPECT_EQ(0, PlannedBits(FileOf(0, 1000000), 8000));
  // One tree alone has all of the budget, two have it together.
  const double alone = PlannedBits(FileOf(6, 100000), 2e6);
  const double together = PlanBits({TreeOf({FileOf(6, 100000)}), {}}, 1,
                                   {FileOf(6, 100000), true, false, {}}, 2e6)
                              .per_key;
  EXPECT_NEAR(20, alone, 0.01);
  EXPECT_NEAR(alone / 2, together, 0.01);
}

// New files get the minimum: none goes without.
TEST(FilterBudgetTest, OldFilesHoldTheBudget) {
  Files files;
  AddRun(6, 1000000, 10, &files);
  for (FileFilter& file : files) file.bits = 20 * file.keys;
  const BudgetedTree tree = TreeOf(files);
  const double budget = 10.0 * 1000000;
  const BudgetedBits flushed =
      PlanBits({tree}, 0, {FileOf(0, 10000), true, false, {}}, budget);
  EXPECT_EQ(kMinBudgetedBits, flushed.per_key);
  EXPECT_NEAR(budget, flushed.excess, 0.03 * budget);
  EXPECT_EQ(kMinBudgetedBits, PlannedBits(FileOf(6, 100000, 0, 0.1), budget,
                                          tree, /*is_flush=*/false));
}

// The files of one compaction, which do not see each other in the tree, get
// about the same bits, and leave room for the runs that it has emptied.
TEST(FilterBudgetTest, FullCompaction) {
  for (const bool is_universal : {false, true}) {
    for (const int files : {1, 2, 10, 60}) {
      SCOPED_TRACE(testing::Message() << is_universal << " " << files);
      Files replaced = Leveled(4);
      const double all_keys = KeysOf(replaced);
      const double emptied = all_keys - 1600000;
      const double budget = 12 * all_keys;
      Settle(&replaced, budget);
      BudgetedTree tree = TreeOf(replaced);
      tree.is_universal = is_universal;
      FileFilter before;
      const double keys = all_keys / files;
      double least = kMaxBudgetedBits;
      double most = 0;
      for (int i = 0; i < files; i++) {
        BudgetedFile added;
        added.file = FileOf(3, static_cast<uint64_t>(keys), 1.0 * i / files,
                            (i + 1.0) / files);
        added.before = before;
        added.is_bottommost = true;
        const BudgetedBits planned = PlanBits({tree}, 0, added, budget);
        least = std::min(least, planned.per_key);
        most = std::max(most, planned.per_key);
        tree.expected_keys = planned.expected_keys;
        added.file.bits = static_cast<uint64_t>(planned.per_key * keys);
        AddTo(&before, added.file);
      }
      EXPECT_NEAR(all_keys + emptied, tree.expected_keys, 0.01 * all_keys);
      EXPECT_LE(most, (is_universal ? 1.01 : 1.3) * least);
      // The room is as large as the filters of a run of as many keys.
      const double room = budget - static_cast<double>(before.bits);
      EXPECT_NEAR(PerKey(before) + std::log2(all_keys / emptied),
                  room / emptied, is_universal ? 1.3 : 2);
      // A compaction that empties no run uses it.
      BudgetedTree run = TreeOf({before});
      run.is_universal = is_universal;
      BudgetedFile again;
      again.file = FileOf(3, before.keys);
      again.is_bottommost = true;
      EXPECT_NEAR(12, PlanBits({run}, 0, again, budget).per_key, 0.01);
    }
  }
}

TEST(FilterBudgetTest, LittleDataDoesNoHarm) {
  Files even = Leveled(4);
  const double budget = 12 * KeysOf(even);
  Settle(&even, budget);
  for (const int queries : {1, 10, 100, 1000}) {
    SCOPED_TRACE(queries);
    Files tree = Leveled(4);
    Settle(&tree, budget, Queries(queries, 1));
    EXPECT_LE(Cost(tree, 1), 1.05 * Cost(even, 1));
  }
}

// ---- Levels ----

constexpr double kUsualBits = 12;

FileFilter RunOf(int level, uint64_t keys, double bits_per_key = kUsualBits) {
  return FileOf(level, keys, 0, 1, bits_per_key);
}

// The bits per key of a new file.
double BitsOf(const Files& tree, int level, uint64_t keys,
              bool is_bottommost = false, double bits_per_key = kUsualBits) {
  return BitsOfFile(tree, {level, keys, 0, "", ""}, is_bottommost,
                    bits_per_key);
}

// Levels from `first` on, each `ratio` times as large as the one above it.
Files ThreeLevels(int first, uint64_t ratio) {
  return {RunOf(first, 100000), RunOf(first + 1, 100000 * ratio),
          RunOf(first + 2, 100000 * ratio * ratio)};
}

double Average(const Files& tree) { return BitsOf(tree) / KeysOf(tree); }

// Writes each file of the tree again, as a whole level, from the last one up.
void Rewrite(Files* tree) {
  for (size_t i = tree->size(); i-- > 0;) {
    FileFilter& file = (*tree)[i];
    const bool last = i + 1 == tree->size();
    file = RunOf(file.level, file.keys,
                 BitsOf(*tree, file.level, file.keys, last));
  }
}

TEST(LevelBitsTest, UnknownOrEqualRunsHaveEqualBits) {
  const Files three = ThreeLevels(4, 10);
  EXPECT_EQ(kUsualBits, BitsOf(three, 0, 0));
  for (bool last : {false, true}) {
    EXPECT_EQ(kUsualBits, BitsOf(three, -1, 1000, last));
    for (int level = 0; level < 7; level++) {
      EXPECT_EQ(kUsualBits, BitsOf({}, level, 1000, last));
      EXPECT_EQ(kUsualBits, BitsOf({RunOf(6, 0)}, level, 1000, last));
    }
    EXPECT_DOUBLE_EQ(kUsualBits,
                     BitsOf(Files(7, RunOf(6, 1000000)), 6, 1000000, last));
  }
  Files tree;
  for (int files = 1; files < 40; files++) {
    tree.push_back(RunOf(0, 50000));
    EXPECT_DOUBLE_EQ(kUsualBits, BitsOf(tree, 0, 50000)) << files;
  }
}

// Whatever levels the tree uses, as with dynamic level sizes.
TEST(LevelBitsTest, SmallRunsGetMore) {
  for (int first : {1, 3, 4}) {
    Files tree = ThreeLevels(first, 10);
    for (int i = 0; i < 4; i++) Rewrite(&tree);
    const auto bits = [&](size_t i) { return PerKey(tree[i]); };
    EXPECT_NEAR(11.75, bits(2), 0.01);
    EXPECT_NEAR(14.1, bits(1), 0.2);
    EXPECT_NEAR(16.7, bits(0), 0.3);
    EXPECT_NEAR(kUsualBits, Average(tree), 0.05);
    // A flushed file is a run of its own, and gets the most bits.
    EXPECT_NEAR(bits(0), BitsOf(tree, 0, 100000), 0.1);
    EXPECT_GT(BitsOf(tree, 0, 10000), bits(0) + 2);
    EXPECT_LE(BitsOf(tree, 0, 1), kUsualBits + kMaxTaken);
    // A bottommost file gives, whatever its level.
    EXPECT_NEAR(11.75, BitsOf(tree, first, 1000, true), 0.01);
  }
}

TEST(LevelBitsTest, TheLastLevelGivesAQuarterOfABitAtMost) {
  for (uint64_t ratio : {1, 2, 3, 4, 7, 10, 30, 100}) {
    for (double bits : {2.0, 8.0, 12.0, 64.0}) {
      const Files tree = ThreeLevels(2, ratio);
      for (int level = 0; level < 7; level++) {
        for (bool last : {false, true}) {
          const double got = BitsOf(tree, level, 5000, last, bits);
          EXPECT_GE(got, bits - kMaxGiven - 1e-9);
          EXPECT_LE(got, bits + (last ? 0 : kMaxTaken + 1e-9));
        }
      }
    }
  }
}

// No file takes bits that the last level has not given.
TEST(LevelBitsTest, TheTotalIsKeptWhateverTheTree) {
  for (uint64_t ratio : {2, 4, 10, 100}) {
    Files tree = ThreeLevels(4, ratio);
    for (int i = 0; i < 200; i++) {
      const double bits = BitsOf(tree, 0, 20000);
      EXPECT_GE(bits, kUsualBits - kMaxGiven - 1e-9);
      tree.push_back(RunOf(0, 20000, bits));
      EXPECT_LE(Average(tree), (1 + kTolerance) * kUsualBits);
    }
  }
  // Without the last level, the others have more than their share already.
  const Files rest = {RunOf(4, 1000, 18), RunOf(5, 9000, 14)};
  EXPECT_LE(BitsOf(rest, 0, 10), kUsualBits);
  EXPECT_LE(BitsOf(rest, 4, 1000), kUsualBits);
}

// No file gives bits if none has taken any.
TEST(LevelBitsTest, NothingIsGivenInVain) {
  const Files tree = ThreeLevels(4, 10);
  EXPECT_DOUBLE_EQ(kUsualBits, BitsOf(tree, 6, 1000, true));
  Files level0;
  for (uint64_t keys = 1000; keys < 100000; keys *= 2) {
    level0.push_back(RunOf(0, keys));
  }
  EXPECT_DOUBLE_EQ(kUsualBits, BitsOf(level0, 1, 100000, true));
  Files some = tree;
  some[0] = RunOf(4, 100000, kUsualBits + 1);
  EXPECT_NEAR(1.0 / 110, kUsualBits - BitsOf(some, 6, 1000, true), 1e-4);
}

// The files that a compaction writes do not see each other.
TEST(LevelBitsTest, ManyFilesOfOneCompaction) {
  Files tree = ThreeLevels(4, 10);
  const double bits = BitsOf(tree, 5, 10000);
  EXPECT_GT(bits, kUsualBits + 1);
  // Levels 4 and 5 are written again, while the old files are still there.
  for (int i = 0; i < 110; i++) tree.push_back(RunOf(5, 10000, bits));
  EXPECT_LE(Average(tree), (1 + kTolerance) * kUsualBits);
}

// Each file gets the bits that it has: the average, and more in smaller runs.
TEST(LevelBitsTest, SettledTreeStays) {
  constexpr double kFew = 10;
  const Files files = {RunOf(3, 600000, 0), RunOf(0, 1000, 0),
                       RunOf(3, 300000, 0), RunOf(2, 90000, 0),
                       RunOf(0, 2000, 0)};
  const Files tree = SettledTree(files, kFew);
  ASSERT_EQ(4u, tree.size());
  for (const FileFilter& file : tree) {
    const double has = PerKey(file);
    EXPECT_NEAR(BitsOf(tree, file.level, file.keys, false, kFew), has, 0.01);
    EXPECT_EQ(file.level<3, has> kFew) << file.level;
  }
  EXPECT_EQ(993000, KeysOf(tree));
  EXPECT_LE(Average(tree), (1 + kTolerance) * kFew);
  EXPECT_GE(Average(tree), kFew - kMaxGiven);
  EXPECT_TRUE(SettledTree({}, kFew).empty());
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
