// SPDX-License-Identifier: Apache-2.0

//  What reads find in the sorted runs of a column family, independent of
//  filters: which files a read asks, which of them it asks in vain, and how
//  many blocks a visit costs. The truth is found by reading the files without
//  their filters.
//
//  A sorted run is a file of level 0, or all files of a deeper level. Files
//  given by path, whose levels are unknown, are a run each. The contents of
//  memtables are unknown.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/reads.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// One read that asks one file of a sorted run. The run's other files are ruled
// out by their key ranges.
struct Question {
  uint32_t read = 0;
  uint32_t file = 0;  // index in the column family
  // Number of data blocks that a visit to the file reads. A second block is
  // sometimes needed, where a key lies between two blocks.
  uint32_t blocks = 0;
  // Whether the file has nothing that matters to the read: not the key, no key
  // in the range, or no key before the one at which the seek ends. A perfect
  // filter would say so.
  bool in_vain = false;
  // Whether a seek finds a key in the run, and the first one; it may lie in a
  // later file of the run, and may have been deleted.
  bool found = false;
  std::string first_key;
};

struct ReadTruth {
  // Ordered by read.
  std::vector<Question> questions;
  // For each read, whether a forward seek finds a key, and which.
  struct End {
    bool found = false;
    std::string key;
  };
  std::vector<End> ends;
  // Number of files of a DB in use that were deleted before they could be read.
  size_t files_gone = 0;
};

// Called with the share of the work that is done.
using ReportShare = std::function<void(double done)>;

// Stores the smallest and largest key of files given by path, read from the
// files themselves. Corruption or NotFound names the file that cannot be read.
Status FindKeyRanges(TargetFamily* family);

// Finds the truth about `reads`, by reading a few blocks for each. REQUIRES:
// the comparator of the family is the bytewise one. Corruption names a file
// that is damaged.
Status FindTruth(const TargetFamily& family,
                 const std::vector<ReadQuery>& reads,
                 const ReportShare& progress, ReadTruth* truth);

}  // namespace ROCKSDB_NAMESPACE::protean
