// SPDX-License-Identifier: Apache-2.0

//  What a design is worth: its false positive rate on the model's queries, and
//  a penalty if it breaks the promise for points (prior.h). What has been
//  computed for a design is kept for others that have it in common.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "filter_policy/amq/amq.h"
#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/model/query_sample.h"

namespace ROCKSDB_NAMESPACE::protean {

// The cost of a query in a trie, in nanoseconds, as `filter_micro --costs`
// measures it. The costs of the prefixes tested in a set are in the set's
// AmqType.
constexpr double kTrieNanos = 45;
// The time that building a trie takes for each key.
constexpr double kTrieBuildNanos = 40;

struct DesignCandidate {
  ProteusDesign design;
  double fpr = 1;     // and the penalty
  PrefixTests tests;  // of a query, on average
  uint64_t trie_bytes = 0;
  // The time to build the filter, for each key, in nanoseconds.
  double build_nanos = 0;

  void TestApart(double number) { tests = {number, number}; }
  // The time that a query takes, in nanoseconds.
  double Nanos() const;
};

// The cost of false positives and of time, in false positives.
inline double CostOf(const DesignCandidate& candidate,
                     const FilterDemand& demand) {
  return candidate.fpr + candidate.Nanos() / static_cast<double>(demand.price) +
         demand.CostOfBuilding(candidate.build_nanos);
}

// Keeps the candidates of the lowest false positive rates, the best one first,
// and after them those of the lowest costs: `most` of each. None of infinite
// rates.
void KeepBest(size_t most, const FilterDemand& demand,
              std::vector<DesignCandidate>* candidates);

// The lowest false positive rate. Penalties make it more than one where nothing
// keeps the promise.
double LeastRate(const std::vector<DesignCandidate>& candidates);

// The candidate of the lowest cost among those whose false positive rates are
// at most `more` above the lowest one. REQUIRES: there are candidates
const DesignCandidate& BestWithin(
    const std::vector<DesignCandidate>& candidates, double more,
    const FilterDemand& demand);

// The least of some costs or rates.
class LeastCosts {
 public:
  explicit LeastCosts(size_t number) : number_(number) {}

  void Add(double cost) {
    if (cost >= Most()) return;
    costs_.push(cost);
    if (costs_.size() > number_) costs_.pop();
  }
  // The highest of them; no limit as long as there are fewer.
  double Most() const {
    return costs_.size() < number_ ? std::numeric_limits<double>::infinity()
                                   : costs_.top();
  }

 private:
  const size_t number_;
  std::priority_queue<double> costs_;
};

// The rate of RocksDB's Bloom filter of `bytes` bytes.
double BloomRate(uint64_t bytes, uint64_t num_keys);

// The queries that the last race looks at, in its first round.
constexpr size_t kRaceQueries = 2048;
// A set of a higher rate is not worth the time to test it.
constexpr double kUselessRate = 0.9;
constexpr size_t kAllQueries = std::numeric_limits<size_t>::max();

// Twice the standard error of a rate on that number of queries. Penalties make
// rates more than one where nothing keeps the promise.
inline double TwoStandardErrors(double rate, size_t queries) {
  rate = std::min(rate, 1.0);
  return 2 * std::sqrt(rate * (1 - rate) / static_cast<double>(queries));
}

class DesignJudge {
 public:
  // The model must outlive it.
  explicit DesignJudge(const CpfprModel& model);

  // Sets the candidate's false positive rate, estimated from at least
  // `num_queries` queries or from all. It is infinite if a set is useless or
  // would take too long to build. The rate of two sets of prefixes that is
  // above `most` need not be found: a lower one, above `most` too, is set then,
  // and false returned.
  bool Evaluate(uint64_t bytes, size_t num_queries, DesignCandidate* candidate,
                double most = std::numeric_limits<double>::infinity()) const;
  // The time to build a set of that number of hashes, for each key.
  double BuildNanosOfSet(AmqKind kind, uint64_t hashes) const {
    return FindAmqType(kind)->build_nanos * static_cast<double>(hashes) /
           static_cast<double>(statistics_.num_keys());
  }
  // Sets what a query tests, which else is only roughly known.
  void CountTests(uint64_t bytes, DesignCandidate* candidate) const;

  // The rate of RocksDB's Bloom filter of `bytes` bytes, with a margin: what is
  // promised of points.
  double PromisedRate(uint64_t bytes) const;
  // A design that is worse on the promised queries than RocksDB's Bloom filter
  // of as many bytes has this added to its false positive rate.
  double Penalty(double promised_rate, uint64_t bytes) const;

  KeyStatistics::TrieSize SizeOfTrie(uint32_t bits, uint64_t bytes) const;
  // The depths of tries that fit into `bytes`, and 0.
  std::vector<uint32_t> TrieLengths(uint64_t bytes) const;
  // Every `step`-th query, kept for all designs.
  const QuerySample& SampleOf(size_t step) const;
  // Every how many-th query is taken so that at least `num_queries` are, beside
  // the promised points.
  size_t StepFor(size_t num_queries) const {
    return std::max<size_t>(1, model_.num_before_points() / num_queries);
  }

 private:
  LayerPlans Plan(const DesignCandidate& candidate, uint64_t bytes) const {
    return PlanLayers(candidate.design, statistics_, bytes,
                      candidate.trie_bytes);
  }
  // The groups of the model's queries for the lengths of a design, kept for
  // other designs of these lengths.
  const std::vector<QueryGroup>& GroupsOf(const ProteusDesign& design,
                                          size_t step) const;

  const CpfprModel& model_;
  const KeyStatistics& statistics_;
  // The share of the prior among all queries, if any of it is promised.
  double promises_ = 0;
  // Results that later designs need again.
  mutable std::map<uint64_t, double> promised_rates_;  // by bytes
  // Keyed by depth and bytes.
  mutable std::map<std::pair<uint32_t, uint64_t>, KeyStatistics::TrieSize>
      tries_;
  mutable std::map<size_t, QuerySample> samples_;  // by step
  // Keyed by step and lengths.
  mutable std::map<std::array<size_t, 4>, std::vector<QueryGroup>> groups_;
};

// At most `most` lengths of prefixes, evenly spread from `first` to `last`.
std::vector<uint32_t> SpreadLengths(uint32_t first, uint32_t last, size_t most);

}  // namespace ROCKSDB_NAMESPACE::protean
