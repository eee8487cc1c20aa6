// SPDX-License-Identifier: Apache-2.0

//  The number of bits per key that the filter of a new file should have, if all
//  filters together have a budget in bytes (option filter_memory).
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
//  A file keeps the bits that it was written with. The line is therefore not
//  that of an ideal tree, but the level up to which the budget fills the tree
//  as it is, when the new file has been written: every file counts with what it
//  has or with what the line gives it, whichever is more. From this follows:
//
//  - Files that were written when the tree was smaller have more than their
//    share. They lower the line for the others until they are compacted.
//  - A file below the line has a claim to the difference, which it gets when it
//    is compacted. What a compaction of the last level gives back therefore
//    goes first to small runs that have been written with too little.
//  - If every file takes no more than the line gives it, all filters together
//    never take more than the budget.
//
//  A compaction does not tell which files it replaces, but the keys that it has
//  written do. A file of its output level whose keys lie between them is
//  replaced: otherwise the two would overlap. As many further keys as it takes
//  come from other files that overlap the output, from its level and the level
//  above in proportion to their sizes, as compactions take them on average. A
//  compaction within level 0 is assumed to replace the files with the fewest
//  bits per key, because the sizes of these runs say nothing. The output files
//  that have been written before, but are not open yet, count as part of the
//  tree; so the last file of a full compaction knows what the others have left.
//  A flush replaces nothing. Keys that a compaction drops, because they were
//  written several times, are not known to be replaced until the output is part
//  of the tree: what their bits leave goes to the compactions after it.
//
//  Compactions leave kReserve of the budget to the flushes that come before
//  the next compaction, besides what the files of level 0 leave that they
//  replace. A flush may use that, and kFlushTolerance beyond the budget. The
//  rest of the promised 2 % is for filters that are a little larger than
//  planned.
//
//  If the filters take more than that, compactions bring them back, while they
//  write a share of kReliefShare of the tree: a file takes less than it
//  replaces in proportion to its part of that. So no file has to make up for
//  all that flushes have taken. A compaction never takes more than it replaces
//  then.
//
//  What happens if the tree outgrows the budget: no filter has fewer than
//  kMinBudgetedBits bits per key, because a smaller one denies too little for
//  the time that it takes to ask it. Where the line gives a file less, it is
//  better to give all of the file's bits to others once the line gives it less
//  than
//
//    kLeastLine = log2(m ln 2 / (1 - 2^-m)), m = kMinBudgetedBits:
//
//  below that, a filter of m bits saves less than m bits per key save in the
//  files at the line. Then the file goes without a filter. Files of the last
//  level are the first to do so, the cold ones before the hot ones: a filter of
//  a small run saves as many reads for fewer bits. Among equals, files get the
//  minimum as long as the budget lasts.
//
//  If old files have taken all of the budget, but a file should have a filter,
//  the file gets the minimum. A flush gets it only within the promised 2 %; a
//  compaction also if it replaces at least as many bits. So filters that were
//  too large when the option was set shrink to the budget, and keys that are
//  never compacted cannot exceed it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "filter_policy/level_bits.h"

namespace ROCKSDB_NAMESPACE::protean {

// Limits of the bits per key of a file that has a filter.
constexpr double kMinBudgetedBits = 4;
constexpr double kMaxBudgetedBits = 64;

// Maximum heat of a file, and its least negative.
constexpr double kMaxHeat = 6;
constexpr double kPriorQueries = 8;

// Share of the budget that compactions leave to flushes, and share by which
// flushes may exceed it.
constexpr double kReserve = 0.0025;
constexpr double kFlushTolerance = 0.01;

// Share of the tree's keys that compactions write while they bring the filters
// back to the budget.
constexpr double kReliefShare = 0.05;

// Maximum bits per key that a file gets beyond what it would have in an ideal
// tree, for what the other files of its compaction have left.
constexpr double kMaxAboveIdeal = 4;

// A tree whose filters share a budget.
struct BudgetedTree {
  std::vector<FileFilter> files;
  // Files that have been written since, and are not open yet: the sums of those
  // that one thread has written to one level. Those of level 0 are flushed.
  std::vector<FileFilter> written;
  // The lower bounds of the sample queries, in ascending order.
  std::vector<std::string> queries;
};

// How the filter of a file is planned.
struct BudgetedBits {
  double per_key = 0;  // 0 if the file goes without a filter
  // Why the file goes without: the budget is too small for the tree, rather
  // than held by older files.
  bool outgrown = false;
};

// A file whose filter is about to be built.
struct BudgetedFile {
  FileFilter file;        // without bits
  bool is_flush = false;  // it replaces no other file
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
