// SPDX-License-Identifier: Apache-2.0

//  Adds up what reads cost under the filters of one policy.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/filter_answers.h"
#include "tools/replayed_reads.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// Sums over a level, or over all levels. Keys, sizes and times cover all files
// of the level, extrapolated from the files whose filters were built.
struct ReplaySum {
  size_t files = 0;
  uint64_t bytes = 0;
  // The files whose filters were built.
  size_t built_files = 0;
  uint64_t built_bytes = 0;

  double keys = 0;
  double filter_bytes = 0;
  double build_nanos = 0;  // of CPU
  // The memory that building the filter of one of the files takes, at most.
  uint64_t build_memory = 0;

  // The reads that were replayed.
  uint64_t in_vain = 0;          // asked a file that has nothing for them
  uint64_t false_positives = 0;  // read such a file
  uint64_t blocks = 0;
  // The false positives that the filters predict for reads in vain, and the
  // number of these reads whose filter predicts a rate.
  double predicted = 0;
  uint64_t predicting = 0;

  void Add(const ReplaySum& other);

  double BitsPerKey() const { return keys > 0 ? 8 * filter_bytes / keys : 0; }
  double FalsePositiveRate() const;
  // Negative if no filter predicts a rate.
  double PredictedRate() const;
};

struct ReplayResult {
  std::string name;
  std::map<int, ReplaySum> levels;
  ReplaySum all;
  double blocks_per_read = 0;
  // CPU time of asking filters, for one read of all files that it asks, as if
  // files whose filters were not built were like the others.
  double asking_nanos_per_read = 0;
  // The kinds of the reads that were replayed, in the same order in each
  // result.
  std::vector<ReplayKind> kinds;
};

// The outcome for a file under one policy.
struct FileOutcome {
  double keys = 0;
  uint64_t filter_bytes = 0;
  uint64_t build_nanos = 0;
  uint64_t build_memory = 0;
  double predicted = -1;  // false positives; negative if it is not known
};

// The sums of one policy's filters. All files have answers; those that were
// asked have an outcome, too. `keys` has the number of each file's keys.
ReplayResult SumUp(const std::string& name, const ReplayedReads& reads,
                   const std::vector<TargetFile>& files,
                   const std::vector<uint64_t>& keys,
                   const std::vector<FileOutcome>& outcomes,
                   const FilterAnswers& answers);

}  // namespace ROCKSDB_NAMESPACE::protean
