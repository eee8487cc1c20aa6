//  What reads find in the sorted runs of a column family, whatever filters its
//  files have: which files a read asks, in which of them it is in vain, and
//  what a visit costs. It is found in the files themselves, without filters.
//
//  A sorted run is a file of level 0, or all files of a deeper level; files
//  that were given without their levels are a run each. What the memtables hold
//  is not known.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/read_queries.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// A read asks a file of a sorted run. The others of the run are ruled out by
// their key ranges.
struct Question {
  uint32_t read = 0;
  uint32_t file = 0;  // of the column family's
  // Of data, that a visit to the file asks for. A second one is needed now and
  // then, where a key lies between two blocks.
  uint32_t blocks = 0;
  // Whether the file has nothing that matters to the read: not the key, no key
  // in the range, or none before the one at which the search ends. A filter
  // that knew all would say so.
  bool in_vain = false;
};

struct ReadTruth {
  // By read.
  std::vector<Question> questions;
  // For each read, whether a forward seek finds a key, and which.
  struct End {
    bool found = false;
    std::string key;
  };
  std::vector<End> ends;
  // Of a DB that is in use: they were gone when they were to be read.
  size_t files_gone = 0;
};

// Told what share has been done.
using ReportShare = std::function<void(double done)>;

// Stores where the keys of files that were given begin and end, from the files
// themselves. Corruption or NotFound names the file that cannot be read.
Status FindKeyRanges(TargetFamily* family);

// Finds out the truth about `reads`, by reading a few blocks for each. The
// family's comparator is the bytewise one. Corruption names a file that is
// damaged.
Status FindTruth(const TargetFamily& family,
                 const std::vector<ReadQuery>& reads,
                 const ReportShare& progress, ReadTruth* truth);

}  // namespace ROCKSDB_NAMESPACE::protean
