//  How well filters do, measured: filter policies build the filters of a column
//  family's files in memory, and reads are replayed over them.
//
//  One half of the reads, chosen at random, teaches the policies that design
//  their filters for queries, as a DB's own samples would. The other half is
//  replayed: for each read, the files that it asks are known, and so is which
//  of them it asks in vain (read_truth.h). A file is read if it is not in vain,
//  or if its filter does not know better; so the blocks that a read costs add
//  up.
//
//  Policies that give small runs more bits (level_bits.h) are told the tree as
//  it comes to be once all files have been rewritten under the policy.

#pragma once

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

// Of a level, or of all. What is not counted in reads or files is of all files
// of the level, from those that were built.
struct ReplaySum {
  size_t files = 0;
  uint64_t bytes = 0;
  // Of which filters were built.
  size_t built_files = 0;
  uint64_t built_bytes = 0;

  double keys = 0;
  double filter_bytes = 0;
  double build_nanos = 0;

  // Of the reads that were replayed.
  uint64_t in_vain = 0;          // asked a file that has nothing for them
  uint64_t false_positives = 0;  // of these, read the file
  uint64_t blocks = 0;
  // What the filters promise of those in vain, as far as they do.
  double predicted = 0;
  uint64_t predicting = 0;

  void Add(const ReplaySum& other);

  double BitsPerKey() const { return keys > 0 ? 8 * filter_bytes / keys : 0; }
  double FalsePositiveRate() const;
  // Negative if the filters promise nothing.
  double PredictedRate() const;
};

struct ReplayResult {
  std::string name;
  std::map<int, ReplaySum> levels;
  ReplaySum all;
  double blocks_per_read = 0;
};

struct ReplayReport {
  // First the filters as they are, then those of the candidates.
  std::vector<ReplayResult> results;
  uint64_t replayed = 0;  // reads
  uint64_t taught = 0;    // samples that the policies had
  size_t built_files = 0;
  uint64_t built_bytes = 0;
  size_t files_gone = 0;
  bool levels_settled = false;  // whether a policy was told the tree
  // Files whose filters, as they are, could not be asked: partitioned ones.
  size_t files_not_asked = 0;
  uint64_t range_deletions = 0;  // which are not taken into account
};

// Builds filters of files of at most `max_bytes`, chosen evenly from each
// level, for each candidate. Corruption names a file that is damaged.
Status ReplayReads(const TargetFamily& family,
                   const std::vector<ReadQuery>& reads, const ReadTruth& truth,
                   const std::vector<Candidate>& candidates, uint64_t max_bytes,
                   const ReportShare& progress, ReplayReport* report);

// What the reads teach: the ranges in which they find nothing, one for each
// read that asks a file in vain, unless `skip` says true of it.
std::vector<SampleQuery> SamplesOf(const std::vector<ReadQuery>& reads,
                                   const ReadTruth& truth,
                                   const std::vector<bool>& skip);

}  // namespace ROCKSDB_NAMESPACE::protean
