// SPDX-License-Identifier: Apache-2.0

//  The search for the best design (Proteus paper, section 4.3, algorithm 1):
//  all pairs (l1, l2), with the queries of a pair binned by how many prefixes
//  they test (design_search_pairs.cc). This search differs from the paper's
//  where time demands it:
//
//  - A pair only costs a query something if the query shares at least l1 and
//    less than l2 bits with a key; and while both bounds lie below one
//    l1-prefix, how many l2-prefixes there are does not depend on l1.
//  - The first round takes a part of the sample, and for long keys a part of
//    the lengths; a second round looks at all lengths near the best one; at
//    last, the best designs meet the whole sample.
//  - Equal queries count once, and those that a design tests alike do
//    (QuerySample). What cannot be among the best is dropped.
//  - Designs of the same lengths, with other sets, share one pass over the
//    queries: what a query tests does not depend on the sets.
//  - Among those that are nearly as good as the best one, the time of a query
//    decides too, at the price of a false positive (false_positive_price.h).

#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "filter_policy/false_positive_price.h"
#include "filter_policy/proteus/key_bits.h"
#include "filter_policy/proteus/model/sample_rates.h"
#include "filter_policy/proteus/prior/prior.h"

namespace ROCKSDB_NAMESPACE::protean {

class DesignSearch {
 public:
  // The cost of a query in a trie, in nanoseconds, as `filter_micro --costs`
  // measures it. The costs of the prefixes tested in a set are in the set's
  // AmqType.
  static constexpr double kTrieNanos = 45;

  // `kinds` are the allowed kinds of sets, and `price` is that of a false
  // positive. The model and the statistics must outlive the search.
  DesignSearch(const CpfprModel& model, const KeyStatistics& statistics,
               std::vector<AmqKind> kinds, uint64_t price = kUsualPrice)
      : model_(model),
        statistics_(statistics),
        kinds_(std::move(kinds)),
        price_(price) {
    double weights = 0;
    double promised = 0;
    for (const LocatedQuery& query : model.queries()) {
      weights += query.weight;
      if (query.promised) promised = kPriorSamples;
    }
    if (weights > 0) promises_ = promised / weights;
  }

  // The rate of RocksDB's Bloom filter of `bytes` bytes.
  static double BloomRate(uint64_t bytes, uint64_t num_keys);
  // PlanAmq. To plan a Bloom filter takes long, so its rate is read off a
  // table, and is within 3 % as long as there are at most 24 bits per hash.
  static AmqPlan RoughPlan(AmqKind kind, uint64_t hashes, uint64_t bytes);

  void ForbidKeySets() { key_sets_ = false; }
  void ForbidTries() { tries_ = false; }
  // From now on, each design has a set of the whole keys, which point queries
  // ask alone. Without samples, it is as small as what is promised of points of
  // a filter of `filter_bytes` allows; with samples, their points and ranges
  // decide, down to half of that. It takes three quarters of the memory at
  // most. Not for DesignSpace::kTwoPrefixFilters.
  void AskKeysForPoints(uint64_t filter_bytes) { promising_ = filter_bytes; }

  // The best design in `bytes` bytes: its false positive rate is the lowest, or
  // a little above that if the design is faster by enough.
  ProteusDesign Choose(DesignSpace space, uint64_t bytes) const;

  // Gives a design that is a trie alone a second layer in the `set_bytes` bytes
  // that its trie, now built, has left, if that is worth it.
  void AddSecondLayer(uint64_t set_bytes, ProteusDesign* design) const;

 private:
  // Number of queries that the first round looks at.
  static constexpr size_t kFirstRoundQueries = 4096;
  // Number of designs of the lowest rates, and of those of the lowest costs,
  // that are in the race.
  static constexpr size_t kFinalists = 12;
  // A set of a higher rate is not worth the time to test it.
  static constexpr double kUselessRate = 0.9;

  // The least of some costs or rates.
  class LeastCosts {
   public:
    explicit LeastCosts(size_t number) : number_(number) {}

    void Add(double cost) {
      if (costs_.size() == number_) {
        if (cost >= costs_.front()) return;
        std::pop_heap(costs_.begin(), costs_.end());
        costs_.pop_back();
      }
      costs_.push_back(cost);
      std::push_heap(costs_.begin(), costs_.end());
    }
    // The highest of them; no limit as long as there are fewer.
    double Most() const {
      return costs_.size() < number_ ? std::numeric_limits<double>::infinity()
                                     : costs_.front();
    }

   private:
    const size_t number_;
    std::vector<double> costs_;  // a heap
  };

  struct Candidate {
    ProteusDesign design;
    double fpr = 1;  // and the penalty
    // Prefixes that a query tests, on average, and those of them that do not
    // follow another one.
    double prefixes = 0;
    double runs = 0;
    uint64_t trie_bytes = 0;

    void TestApart(double number) { prefixes = runs = number; }
    // The time that a query takes, in nanoseconds.
    double Nanos() const;
  };

  // The cost of false positives and of time, in false positives.
  double CostOf(const Candidate& candidate) const {
    return candidate.fpr + candidate.Nanos() / static_cast<double>(price_);
  }
  // Keeps the candidates of the lowest false positive rates, the best one
  // first, and after them those of the lowest costs.
  void KeepBest(size_t most, std::vector<Candidate>* candidates) const;

  // The rate of RocksDB's Bloom filter of `bytes` bytes, with a margin: what is
  // promised of points.
  double PromisedRate(uint64_t bytes) const;
  KeyStatistics::TrieSize SizeOfTrie(uint32_t bits, uint64_t bytes) const;
  // With AskKeysForPoints, the most bytes that the set of whole keys may take
  // in a filter of `bytes` bytes, and those that the promise takes, if they are
  // fewer.
  static uint64_t MostForKeys(uint64_t bytes) { return bytes - bytes / 4; }
  uint64_t KeySetBytes(AmqKind kind, uint64_t bytes) const;
  void SizeKeySet(uint64_t key_bytes, ProteusDesign* design) const;
  // The design of a set of whole keys of that size with what `ranges`, a search
  // with one kind of sets, finds for the rest of the memory.
  Candidate BesideKeys(const DesignSearch& ranges, DesignSpace space,
                       uint64_t key_bytes, uint64_t bytes) const;
  ProteusDesign ChooseBesideKeys(DesignSpace space, uint64_t bytes) const;
  // A design that is worse on the promised queries than RocksDB's Bloom filter
  // of as many bytes has this added to its false positive rate.
  double Penalty(double promised_rate, uint64_t bytes) const;
  // Sets the candidate's false positive rate, estimated from at least
  // `num_queries` queries or from all. The rate of two sets of prefixes that is
  // above `most` need not be found: a lower one, above `most` too, is set then,
  // and false returned. Before the race, plans are rough.
  bool Evaluate(uint64_t bytes, size_t num_queries, Candidate* candidate,
                double most = std::numeric_limits<double>::infinity()) const;
  // If time weighs more than usual, replaces what is only roughly known of the
  // prefixes that a query tests.
  void CountTests(uint64_t bytes, Candidate* candidate) const;
  // Evaluate with the sets that have been planned for the candidate.
  bool EvaluateSets(
      const PrefixSets& sets, uint64_t bytes, size_t num_queries,
      Candidate* candidate,
      double most = std::numeric_limits<double>::infinity()) const;
  // Every `step`-th query, kept for all designs.
  const QuerySample& SampleOf(size_t step) const;
  // The groups of the model's queries for the lengths of a design, kept for
  // other designs of these lengths.
  const QueryGroups& GroupsOf(const ProteusDesign& design, size_t step) const;
  // Every how many-th query is taken so that at least `num_queries` are, beside
  // the promised points.
  size_t StepFor(size_t num_queries) const {
    return std::max<size_t>(1, model_.num_before_points() / num_queries);
  }
  void Race(uint64_t bytes, std::vector<Candidate>* found) const;
  void AddWholeKeys(uint64_t bytes, std::vector<Candidate>* found) const;
  void SearchKeySets(uint64_t bytes, std::vector<Candidate>* found) const;

  void SearchPairs(const std::vector<uint32_t>& first_lengths,
                   const std::vector<uint32_t>& lengths, uint64_t bytes,
                   std::vector<Candidate>* found) const;
  void SearchSeries(uint64_t bytes, double key_share,
                    std::vector<Candidate>* found) const;
  void SearchTwoSets(uint64_t bytes, std::vector<Candidate>* found) const;
  std::vector<uint32_t> TrieLengths(uint64_t bytes) const;
  std::vector<uint32_t> PrefixLengths(uint32_t first, uint32_t last,
                                      size_t most) const;

  const CpfprModel& model_;
  const KeyStatistics& statistics_;
  const std::vector<AmqKind> kinds_;
  const uint64_t price_;
  bool key_sets_ = true;
  bool tries_ = true;
  bool two_sets_ = true;
  // The size of the filter whose points ask the keys alone; 0 if they do not.
  uint64_t promising_ = 0;
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
