// SPDX-License-Identifier: Apache-2.0

//  What a design is worth: its false positive rate on the model's queries, and
//  a penalty if it breaks the promise for points (prior.h). What has been
//  computed for a design is kept for others that have it in common.

#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "filter_policy/proteus/model/sample_rates.h"
#include "filter_policy/proteus/search/candidates.h"

namespace ROCKSDB_NAMESPACE::protean {

// The queries that the last race looks at, in its first round. Designs that are
// judged by fewer have rough plans.
constexpr size_t kRaceQueries = 2048;
constexpr size_t kAllQueries = std::numeric_limits<size_t>::max();

class DesignJudge {
 public:
  // The model and the statistics must outlive it.
  DesignJudge(const CpfprModel& model, const KeyStatistics& statistics);

  // Sets the candidate's false positive rate, estimated from at least
  // `num_queries` queries or from all. The rate of two sets of prefixes that is
  // above `most` need not be found: a lower one, above `most` too, is set then,
  // and false returned. Before the race, plans are rough.
  bool Evaluate(uint64_t bytes, size_t num_queries, DesignCandidate* candidate,
                double most = std::numeric_limits<double>::infinity()) const;
  // Evaluate with the sets that have been planned for the candidate.
  bool EvaluateSets(
      const PrefixSets& sets, uint64_t bytes, size_t num_queries,
      DesignCandidate* candidate,
      double most = std::numeric_limits<double>::infinity()) const;
  // Sets what a query tests, which else is only roughly known.
  void CountTests(uint64_t bytes, DesignCandidate* candidate) const;

  // The rate of RocksDB's Bloom filter of `bytes` bytes, with a margin: what is
  // promised of points.
  double PromisedRate(uint64_t bytes) const;
  // A design that is worse on the promised queries than RocksDB's Bloom filter
  // of as many bytes has this added to its false positive rate.
  double Penalty(double promised_rate, uint64_t bytes) const;

  KeyStatistics::TrieSize SizeOfTrie(uint32_t bits, uint64_t bytes) const;
  // Every `step`-th query, kept for all designs.
  const QuerySample& SampleOf(size_t step) const;
  // Every how many-th query is taken so that at least `num_queries` are, beside
  // the promised points.
  size_t StepFor(size_t num_queries) const {
    return std::max<size_t>(1, model_.num_before_points() / num_queries);
  }

 private:
  // The groups of the model's queries for the lengths of a design, kept for
  // other designs of these lengths.
  const QueryGroups& GroupsOf(const ProteusDesign& design, size_t step) const;

  const CpfprModel& model_;
  const KeyStatistics& statistics_;
  // The share of the prior among all queries, if any of it is promised.
  double promises_ = 0;
  // What has been computed, for the next designs.
  struct Known {
    // Keys are the number of bytes, or the depth and the number of bytes.
    std::map<uint64_t, double> promised_rates;
    std::map<std::pair<uint32_t, uint64_t>, KeyStatistics::TrieSize> tries;
    // The key is the step.
    std::map<size_t, QuerySample> samples;
    // The keys are the step and the lengths.
    std::map<std::array<size_t, 4>, QueryGroups> groups;
  };
  mutable Known known_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
