// SPDX-License-Identifier: Apache-2.0

//  The number of bits per key that the filter of a new file should have, given
//  all other files of the tree: the same memory on average, with fewer false
//  positives.
//
//  A query asks every sorted run, and each false positive costs a block,
//  whichever run it comes from. What counts is therefore the sum of the runs'
//  false positive rates, and bits are cheapest in small runs: ten bits for each
//  of a tenth of the keys cost as much as one bit for each of all keys (Monkey:
//  Dayan, Athanassoulis and Idreos, SIGMOD 2017). Let a bit per key divide a
//  run's rate by 2, roughly as in a Ribbon filter. For a given total, the sum
//  is smallest if the rates are in proportion to the keys of the runs. A run
//  with a share p of the keys then has
//
//    b + (h - H) bits per key,   h = log2(1 / p) its height,
//                                H = the sum of p * h over all runs.
//
//  The average is b, whatever the shape of the tree, and the sum is 2^H times
//  the rate that a single run has with b bits. If every run is T = 10 times as
//  large as the one above it, the last one gives up 0.36 bits. That gives 3
//  bits more to the next run, and more than 6 to the one above it: three runs
//  have 1.42 instead of 3 times the false positives of one run, five runs
//  have 1.43 instead of 5 times.
//
//  Three restrictions make this safe:
//
//  - A bit divides the rate of a range filter by 1.1 (text) to 3 (where one
//    more bit lets a trie fit), so no factor is right for all. The rule is
//    scaled such that the last level, in which most reads end, gives up at most
//    kMaxGiven bits: a quarter of a bit, a factor of 1.2. Three runs then have
//    1.48 instead of 1.42 times the false positives of one with T = 10, and
//    2.18 instead of 1.95 times with T = 4.
//  - A compaction does not tell how many keys it will write. All files in its
//    output level and above may end up in the run that it writes, so they are
//    counted as that run. The computed height is too low by log2(T / (T - 1))
//    bits. A file of level 0 is a run of its own.
//  - Files may end up in another level than the one they were written for
//    (trivial moves: keys that ascend are never rewritten below level 0), runs
//    may be merged all at once, and a tree may lose its last level. So the rule
//    goes by the filters that exist, and not by the filters that there should
//    be. No filter takes bits that are not left: together with the new run, all
//    filters take at most kTolerance more than promised. And no filter gives
//    bits that others have not taken.
//
//  FilterBuildingContext alone is not enough for this. It has the level, but
//  neither T nor the number of levels in use, nor the size of the tree. A fixed
//  surplus for all levels but the last would either be too small to gain
//  anything (if all files are on level 0, 2 % of 12 bits is 0.24 bits), or
//  break the promise. So the open files are counted (open_db/tree_filters.h).

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// A file of the tree, and the size of its filter.
struct FileFilter {
  int level = 0;
  uint64_t keys = 0;
  uint64_t bits = 0;
  // The smallest and the largest key, or the beginnings of them. Both are empty
  // if they are unknown.
  std::string smallest;
  std::string largest;
};

// A file whose filter is about to be built.
struct NewFile {
  int level = -1;  // negative if unknown
  // No file below has keys in the key range of this file.
  bool is_bottommost = false;
  uint64_t keys = 0;
};

// Maximum bits per key that the last level gives up, and that a file gets in
// addition. With 8 more bits, the false positives that remain hardly count.
constexpr double kMaxGiven = 0.25;
constexpr double kMaxTaken = 8;

// Share by which the tree's filters may exceed the promised size.
constexpr double kTolerance = 0.02;

// Returns the bits per key for a file, if the files of the tree are to have
// `bits_per_key` on average: at most kMaxGiven less, and at most kMaxTaken
// more. Exactly `bits_per_key` if the file's level or the tree is unknown. The
// tree includes the files that a compaction is about to replace.
double BitsOfFile(const std::vector<FileFilter>& tree, const NewFile& file,
                  double bits_per_key);

// Returns the tree that these files, of which levels and keys count, become
// once all of them have been rewritten by BitsOfFile, so often that nothing
// changes any more. The files of each level but level 0 are put together.
std::vector<FileFilter> SettledTree(const std::vector<FileFilter>& files,
                                    double bits_per_key);

// Returns the average number of keys of the tree's files in a level, or in all
// levels if that one has no files; 0 for an empty tree.
uint64_t UsualKeys(const std::vector<FileFilter>& tree, int level);

}  // namespace ROCKSDB_NAMESPACE::protean
