// SPDX-License-Identifier: Apache-2.0

//  Measures how well filters do: filter policies build the filters of a column
//  family's files in memory, and reads are replayed against them.
//
//  One half of the reads, chosen at random, teaches the policies that design
//  their filters for queries, as the samples of a DB would. The other half is
//  replayed: for each read, it is known which files it asks, and which of them
//  in vain (read_truth.h). A file is read if it has something for the read, or
//  if its filter does not know better; the blocks of these files add up to the
//  cost of the read.
//
//  Policies that give small runs more bits (level_bits.h) are told the tree as
//  it will be once all files have been rewritten under the policy.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/filter_policy.h"
#include "tools/read_truth.h"

namespace ROCKSDB_NAMESPACE::protean {

struct Candidate {
  std::string name;
  std::shared_ptr<const FilterPolicy> policy;  // nullptr: no filters
};

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

inline constexpr char kGetsOfAbsentKeys[] = "gets of absent keys";

// Reads of one kind. A filter can serve one kind well and another one badly, so
// Gets of keys that are absent count apart from Gets of keys that are there.
struct ReplayKind {
  std::string name;  // such as kGetsOfAbsentKeys
  uint64_t reads = 0;
  uint64_t blocks = 0;

  double BlocksPerRead() const {
    return static_cast<double>(blocks) /
           static_cast<double>(reads > 0 ? reads : 1);
  }
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

struct ReplayReport {
  // First the existing filters, then those of the candidates.
  std::vector<ReplayResult> results;
  uint64_t replayed = 0;  // reads
  uint64_t taught = 0;    // samples given to the policies
  size_t built_files = 0;
  uint64_t built_bytes = 0;
  size_t files_gone = 0;
  bool levels_settled = false;  // whether a policy was told the tree
  // Files whose existing filters are not asked, because the column family's
  // policy does not know them.
  size_t files_not_asked = 0;
  uint64_t range_deletions = 0;  // which are ignored
  // Whether filters of some chosen files were not built, since a stop was
  // requested.
  bool stopped = false;
};

// Builds filters for files of at most `max_bytes` in all, chosen evenly from
// each level, for each candidate, and replays the reads. Once `stop_requested`
// returns true, no more files are begun; those before, at least one, have to
// do. Corruption names a file that is damaged.
Status ReplayReads(const TargetFamily& family,
                   const std::vector<ReadQuery>& reads, const ReadTruth& truth,
                   const std::vector<Candidate>& candidates, uint64_t max_bytes,
                   const ReportShare& progress,
                   const std::function<bool()>& stop_requested,
                   ReplayReport* report);

// The samples that the reads give: the ranges in which they find nothing, one
// for each read that asks a file in vain, except for reads for which `skip` is
// true.
std::vector<SampleQuery> SamplesOf(const std::vector<ReadQuery>& reads,
                                   const ReadTruth& truth,
                                   const std::vector<bool>& skip);

}  // namespace ROCKSDB_NAMESPACE::protean
