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
//  up. Bits are affine in the logarithm of the frequency with which a key's
//  neighborhood is asked. Where all queries are alike, each sorted run is asked
//  by each query, and a file is asked in proportion to its part of the run's
//  keys N_i. Then b_i = line - log2(N_i), which is Monkey's rule and that of
//  level_bits.h. In general, with the heat h_i of a file,
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
//  Files are written one after the other and keep their bits, while the tree
//  grows. Three rules keep the bits even all the same:
//
//  - The line is that of the whole tree, as if no file had a filter yet. So all
//    files of a compaction get the same bits, in whatever order they come.
//  - The runs that a compaction empties fill again. The line leaves room for
//    their keys, up to as many as the run has that they are merged into. The
//    tree expects these keys until its last run is written again.
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
//  universal compaction replaces all runs down to its level. A compaction
//  within level 0 is taken to replace the smallest runs, or all of them if
//  nothing lies below. The output files that have been written before, but are
//  not open yet, count as part of the tree. A flush replaces nothing. Keys that
//  a compaction drops, because they were written several times, are not known
//  to be replaced until the output is part of the tree.
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

#include "filter_policy/level_bits.h"

namespace ROCKSDB_NAMESPACE::protean {

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
  double per_key = 0;  // 0 if the tree has outgrown the budget
  // The number of keys that the tree is now planned for.
  double expected_keys = 0;
  // Bits by which the filters exceed the budget once the file is written.
  double excess = 0;
};

// A file whose filter is about to be built.
struct BudgetedFile {
  FileFilter file;             // without bits
  bool is_flush = false;       // it replaces no other file
  bool is_bottommost = false;  // no older run has keys in its range
  // The sum of the files that the same compaction has written before, which are
  // not in BudgetedTree::written.
  FileFilter before;
  // The number of keys in the file's range, if that ends before the last key
  // because not all keys have come; else 0.
  uint64_t keys_in_range = 0;
};

// Adds a file to a sum of files of its level.
void AddTo(FileFilter* sum, const FileFilter& file);

// Plans the filter of a file of `trees[tree]`, within a budget in bits.
BudgetedBits PlanBits(const std::vector<BudgetedTree>& trees, size_t tree,
                      const BudgetedFile& added, double budget);

}  // namespace ROCKSDB_NAMESPACE::protean
