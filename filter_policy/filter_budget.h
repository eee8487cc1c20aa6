// SPDX-License-Identifier: Apache-2.0

//  The number of bits per key that the filter of a new file should have, if all
//  filters together have a budget in bytes (option filter_budget_bytes).
//
//  A filter of b bits per key lets through about 2^-b of the queries that it
//  should deny. Let file i have n_i keys, and let it be asked q_i times. The
//  sum of q_i 2^-b_i is smallest, for a given sum of n_i b_i, if
//
//    b_i = line + log2(q_i / n_i),
//
//  where the line is the same for all files, and such that the budget is used
//  up. Where all queries are alike, each sorted run is asked by each query, and
//  a file is asked in proportion to its part of the run's keys N_i. Then b_i =
//  line - log2(N_i), the rule of level bits. In general, with a file's heat
//  h_i,
//
//    b_i = line - log2(N_i) + h_i,
//    h_i = log2(asked / expected),
//
//  where `asked` counts the sample queries within the file's keys, and
//  `expected` is the number that a file with as large a part of its run has on
//  average. Both get kPriorQueries more, so that few samples change little:
//  with 8, chance costs less than 2 % more false positives, however many
//  samples a file has. The heat is limited to kMaxHeat either way.
//
//  Files keep their bits, while the tree grows. Three rules keep bits even:
//
//  - The line is that of the whole tree, as if no file had a filter yet. So all
//    files of a compaction get the same bits, in whatever order they come.
//  - The runs that a compaction empties fill again. The line leaves room for
//    their keys, up to as many as the run has that they are merged into, until
//    the tree's last run is written again.
//  - If the filters would exceed the budget, the line is that of a smaller one,
//    by kExcessGain times the excess. Each filter that is written brings the
//    tree nearer to its budget, and none has to make up for all others. In a
//    tree that is rewritten each time it has grown by a share g, the sum then
//    exceeds the budget by about g / (2 + 2 kExcessGain).
//
//  A compaction does not tell which files it replaces, but the keys that it has
//  written do. A file of its output level whose keys lie between them is
//  replaced: otherwise the two would overlap. As many further keys as it takes
//  come from other files that overlap the output, from its level and the level
//  above in proportion to their sizes, as compactions take them on average. A
//  universal compaction replaces all runs down to its level. One within level 0
//  is taken to replace the smallest runs, or all of them if nothing lies below.
//  A flush replaces nothing. Keys that a compaction drops are not known to be
//  replaced until the output is part of the tree.
//
//  No filter has fewer than kMinBudgetedBits bits per key, because a smaller
//  one denies too little for the time that it takes to ask it. As long as the
//  budget has as many for every key of the tree, no file goes without a filter:
//  what older files hold beyond their share is exceeded by the minimum, until
//  they are compacted or refreshed. A tree that has outgrown the budget gives
//  all bits of a file to others once the line gives it less than
//
//    kLeastLine = log2(m ln 2 / (1 - 2^-m)), m = kMinBudgetedBits:
//
//  below that, a filter of m bits saves less than m bits per key save in the
//  files at the line. Files of the last level are the first to do so, the cold
//  ones before the hot ones: a filter of a small run saves as many reads for
//  fewer bits. Among equals, files get the minimum as long as the budget lasts.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Level bits ----

// The number of bits per key that the filter of a new file should have, given
// all other files of the tree: the same memory on average, with fewer false
// positives. What counts is the sum of the sorted runs' false positive rates,
// since a query asks all of them, and bits are cheapest in small runs (Monkey:
// Dayan, Athanassoulis and Idreos, SIGMOD 2017). Let a bit per key divide a
// run's rate by 2, roughly as in a Ribbon filter. For a given total, the sum
// is smallest if the rates are in proportion to the keys of the runs. A run
// with a share p of the keys then has
//
//   b + (h - H) bits per key,   h = log2(1 / p) its height,
//                               H = the sum of p * h over all runs.
//
// The average is b, whatever the shape of the tree, and the sum is 2^H times
// the rate that a single run has with b bits. If every run is T = 10 times as
// large as the one above it, the last one gives up 0.36 bits, and three runs
// have 1.42 instead of 3 times the false positives of one run.
//
// Three restrictions make this safe (docs/internals/proteus.md):
//
// - A bit divides the rate of a range filter by 1.1 (text) to 3 (where one
//   more bit lets a trie fit), so no factor is right for all. The rule is
//   scaled such that the last level, in which most reads end, gives up at most
//   kMaxGiven bits. Three runs then have 1.48 instead of 1.42 times the false
//   positives of one with T = 10, and 2.18 instead of 1.95 times with T = 4.
// - All files in the output level of a compaction and above may end up in the
//   run that it writes, so they are counted as that run. The computed height is
//   too low by log2(T / (T - 1)) bits. A file of level 0 is a run of its own.
// - The rule goes by the filters that exist (open_db/file_budget.h). Together
//   with the new run, all filters take at most kTolerance more than promised,
//   and none gives bits that others have not taken.

// A file of the tree, and the size of its filter.
struct FileFilter {
  int level = 0;  // negative if unknown
  uint64_t keys = 0;
  uint64_t bits = 0;
  // The beginnings of the smallest and the largest key; both empty if unknown.
  std::string smallest;
  std::string largest;
};

// Maximum bits per key that the last level gives up, and that a file gets in
// addition. With 8 more bits, the false positives that remain hardly count.
constexpr double kMaxGiven = 0.25;
constexpr double kMaxTaken = 8;

// Share by which the tree's filters may exceed the promised size.
constexpr double kTolerance = 0.02;

// Returns the bits per key for a file whose filter is about to be built, if the
// files of the tree are to have `bits_per_key` on average; these, if the file's
// level or the tree is unknown. Its level and keys count, and whether it
// `is_bottommost`: no older run has keys in its range. The tree includes the
// files that a compaction is about to replace.
double BitsOfFile(const std::vector<FileFilter>& tree, const FileFilter& file,
                  bool is_bottommost, double bits_per_key);

// Returns the tree that these files become once all of them have been rewritten
// by BitsOfFile, so often that nothing changes any more. The files of each
// level but level 0 are put together.
std::vector<FileFilter> SettledTree(const std::vector<FileFilter>& files,
                                    double bits_per_key);

// Returns the average number of keys of the tree's files in a level, or in all
// levels if that one has no files; 0 for an empty tree.
uint64_t UsualKeys(const std::vector<FileFilter>& tree, int level);

// Limits of the bits per key of a file that has a filter.
constexpr double kMinBudgetedBits = 4;
constexpr double kMaxBudgetedBits = 64;

// Maximum heat of a file, and its least negative.
constexpr double kMaxHeat = 6;
constexpr double kPriorQueries = 8;

// Factor by which filters that exceed the budget shrink those that follow.
constexpr double kExcessGain = 3;

// A tree whose filters share a budget.
struct BudgetedTree {
  // The files are shared with the list of open files: there may be thousands.
  std::vector<std::shared_ptr<const FileFilter>> files;
  // Files that have been written since, and are not open yet: the sums of those
  // that one thread has written to one level. Those of level 0 are flushed.
  std::vector<FileFilter> written;
  // The lower bounds of the sample queries, in ascending order.
  std::vector<std::string> queries;
  bool is_universal = false;
  // The number of keys that the tree is planned for, if it has fewer now.
  double expected_keys = 0;
};

// How the filter of a file is planned.
struct BudgetedBits {
  double per_key = 0;        // 0 if the tree has outgrown the budget
  double expected_keys = 0;  // that the tree is now planned for
  double excess = 0;         // bits beyond the budget once the file is written
};

// A file whose filter is about to be built.
struct BudgetedFile {
  FileFilter file;             // without bits
  bool is_flush = false;       // it replaces no other file
  bool is_bottommost = false;  // as in BitsOfFile
  // The sum of the files that the same compaction has written before, which are
  // not in BudgetedTree::written.
  FileFilter before;
  // The number of keys that have come, which are those in the file's range; 0
  // stands for all.
  uint64_t keys_in_range = 0;
};

// Adds a file to a sum of files of its level.
void AddTo(FileFilter* sum, const FileFilter& file);

// Plans the filter of a file of `trees[tree]`, within a budget in bits.
BudgetedBits PlanBits(const std::vector<BudgetedTree>& trees, size_t tree,
                      const BudgetedFile& added, double budget);

}  // namespace ROCKSDB_NAMESPACE::protean
