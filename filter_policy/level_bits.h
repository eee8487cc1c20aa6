//  How many bits per key the filter of a new file should have, given all other
//  files of the tree: the same memory on average, with fewer false positives.
//
//  A query asks every sorted run, and each false positive costs it a block,
//  whichever run it comes from. So what counts is the sum of the runs' false
//  positive rates, and bits are cheapest in small runs: ten bits for each of a
//  tenth of the keys cost as much as one bit for each of all (Monkey: Dayan,
//  Athanassoulis and Idreos, SIGMOD 2017). Let a bit per key divide a run's
//  rate by 2, roughly as in a Ribbon filter. The sum is least, at a given
//  total, where the rates are in proportion to the keys of the runs. A run with
//  a share p of the keys then has
//
//    b + (h - H) bits per key,   h = log2(1 / p) its height,
//                                H = the sum of p * h over all runs.
//
//  The average is b, whatever the shape of the tree, and the sum is 2^H times
//  the rate that one run has with b bits. If every run is T = 10 times as large
//  as the one above it, the last one gives up 0.36 bits. That buys the next
//  one 3 bits, and the one above it more than 6: three runs have 1.42 instead
//  of 3 times the false positives of one, five have 1.43 instead of 5 times.
//
//  Three departures make that safe:
//
//  - A bit divides the rate of a range filter by 1.1 (text) to 3 (where a trie
//    comes to fit), so no factor is right for all. The rule is scaled such that
//    the last level, which most reads end in, gives up at most kMostGiven bits:
//    a quarter of a bit, a factor of 1.2. Then three runs have 1.48 instead of
//    1.42 times the false positives of one with T = 10, and 2.18 instead
//    of 1.95 times with T = 4.
//  - A compaction does not say how many keys it will write. All files in its
//    output level and above may end up in the run that it writes, so they count
//    as that run. Its height comes out low, by log2(T / (T - 1)) bits. A file
//    of level 0 is a run of its own.
//  - Files may come to lie elsewhere than where they were written (trivial
//    moves: keys that ascend are never rewritten below level 0), runs may be
//    merged all at once, and a tree may lose its last level. So the filters
//    that are there decide, not those that should be. Nobody takes what is not
//    left: together with the new run, all filters take at most kTolerance more
//    than promised. And nobody gives what others have not taken.
//
//  From FilterBuildingContext alone, nothing of this can be had. It has the
//  level, but neither T nor the number of levels in use, nor the size of
//  the tree. A fixed surplus for all but the last level is either so small that
//  it gains nothing (if all files are of level 0, 2 % of 12 bits is 0.24 bits)
//  or breaks the promise. So the open files are counted (open_filters.h).

#pragma once

#include <cstdint>
#include <vector>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// The filter of a file in the tree.
struct FileFilter {
  int level = 0;
  uint64_t keys = 0;
  uint64_t bits = 0;
};

// A file that is about to get a filter.
struct NewFile {
  int level = -1;  // negative if unknown
  // Nothing of its key range lies below it.
  bool is_bottommost = false;
  uint64_t keys = 0;
};

// What the last level gives up, in bits per key, and the most that any file
// gets in addition; what that leaves is next to nothing.
constexpr double kMostGiven = 0.25;
constexpr double kMostTaken = 8;

// By that share the tree's filters may exceed what they should have.
constexpr double kTolerance = 0.02;

// The bits per key for a file, if the files of the tree are to have
// `bits_per_key` on average: at least kMostGiven less, and at most kMostTaken
// more. Exactly `bits_per_key` if the file's level is unknown or the tree is.
// What a compaction is about to replace is part of the tree.
double BitsOfFile(const std::vector<FileFilter>& tree, const NewFile& file,
                  double bits_per_key);

}  // namespace ROCKSDB_NAMESPACE::protean
