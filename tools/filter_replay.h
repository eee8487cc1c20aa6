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
//  Policies that give small runs more bits (filter_budget.h) are told the tree
//  as it will be once all files have been rewritten under the policy.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/filter_policy.h"
#include "tools/filter_answers.h"
#include "tools/read_truth.h"

namespace ROCKSDB_NAMESPACE::protean {

struct Candidate {
  std::string name;
  std::shared_ptr<const FilterPolicy> policy;  // nullptr: no filters
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

}  // namespace ROCKSDB_NAMESPACE::protean
