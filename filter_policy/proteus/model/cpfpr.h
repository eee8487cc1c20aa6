// SPDX-License-Identifier: Apache-2.0

//  The contextual prefix FPR model (CPFPR; Proteus paper, sections 3 and 4.3):
//  the false positive rate that a design would have on a sample of queries.
//
//  A filter of prefixes errs for two reasons. A query may share a whole prefix
//  with a key that it does not ask for; then the filter must let it through,
//  however large it is. Or a set contains a prefix by chance, with the
//  probability p, which follows from the set's size. So the rate depends on the
//  keys, on the queries and on the design at once. It cannot be read off any of
//  them alone, but it can be computed for all designs without building one.
//
//  Three lengths say all that matters of an empty query Q and the keys:
//
//     key below   ...0110 1001 1100
//     lo          ...0110 1011 0010    lo_shared      bits of lo and a key
//     hi          ...0110 1100 0100    hi_shared      bits of hi and a key
//     key above   ...0111 0000 0000    bounds_shared  bits of lo and hi
//
//  lcp(Q, K) is the larger of the first two. A design that keeps prefixes of at
//  most lcp(Q, K) bits cannot resolve Q. One with longer prefixes of l bits
//  tests |Q_l| of them, the prefixes from that of lo to that of hi, none of
//  which is a key's. With one set, the probability of a false positive is
//
//     1 - (1 - p)^|Q_l|                                            (equation 1)
//
//  An outer layer of l1 bits takes away the tests below its prefixes that it
//  does not have. A trie never errs, so what is left of Q are the tests below
//  the first and the last prefix of l1 bits in Q, |L| and |R|, each only if the
//  trie has that prefix (I2, I3), since a prefix between these would be a key
//  in Q:
//
//     1 - (1 - p)^(I2 |L| + I3 |R|)                                (equation 5)
//
//  An outer set has false positives of its own, at each of its prefixes in Q
//  independently: equation 4 is the expectation over which of them pass.
//
//  The three lengths take one search in the keys a query. After that, no key is
//  looked at again: a design costs one sum over the queries. In the order of
//  the work:
//
//    located_queries.h   the three lengths of a query, in the samples and in
//                        the prior
//    prefix_counts.h     the plan: how many bytes each set of a design gets,
//                        and its p; |Q_l|, |L| and |R|; what a query asks of
//                        the sets, which is its time
//    cpfpr.h             the equations, and the averages of what they give
//    query_sample.h      the same averages with less work, for a search

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/key_store.h"
#include "filter_policy/proteus/model/located_queries.h"
#include "filter_policy/proteus/model/prefix_counts.h"
#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Query probability ----

// The probability that a design takes an empty query for one that is not: the
// equations of the Proteus paper (section 3).
//
//   1PBF     equation 1
//   2PBF     equation 4. The binomial sum in it is the expansion of
//            (1 - p1 + p1 * (1 - p2)^k)^n, which is used instead, unless the
//            regions that may need the second set could pass the limit
//   Proteus  equation 5
//
// A query that would test more than kMaxPrefixProbes prefixes is a false
// positive. In a series (design.h), a *run* of prefixes, each of which begins
// with the one before it, passes only if all of them do: with the probability
// p^m for m lengths, which then takes the place of p.

// How many prefixes a query tests in the sets of a design, and in how many
// runs. These tests are most of a query's time. The first prefix of a run takes
// longer than those that follow it.
struct PrefixTests {
  double prefixes = 0;
  double runs = 0;
};

// A design whose sets have known rates. What it is made of must outlive it.
struct RatedDesign {
  RatedDesign(const ProteusDesign& design, const LayerPlans& plans,
              const KeyStatistics& statistics);

  double ProbabilityOf(const LocatedQuery& query) const;
  // Equation 4.
  // REQUIRES: the design has an outer set
  double ProbabilityOfTwoSets(const LocatedQuery& query) const;
  // Equations 1 and 5, for a query that tests these prefixes.
  double ProbabilityOf(const TestedPrefixes& tested) const {
    return tested.lengths == 0 ? static_cast<double>(tested.prefixes)
                               : AnyRunOf(tested.lengths, tested.prefixes);
  }
  // The average over point queries, from what they share with keys.
  // REQUIRES: the design is no series
  double ProbabilityOfPoints(const SharedShares& points) const;
  // The probability that at least one of `runs` runs of absent prefixes, each
  // of this number of lengths, passes the last set.
  double AnyRunOf(uint32_t lengths, uint64_t runs) const;

  // The average tests of a query, if all prefixes are tested.
  PrefixTests TestsOf(const LocatedQuery& query) const;

  // Longer runs count as one of this number of lengths, whose probability is
  // next to nothing unless the set is useless.
  static constexpr size_t kLengths = 32;

  const PrefixLayers layers;
  const ByteAlphabets& alphabets;  // that its filter knows
  const bool has_keys;
  const bool points_ask_keys_alone;
  const double keys_rate;    // of the set of whole keys; 1 for none
  const double first_rate;   // p1, of an outer set
  const double second_rate;  // p2, or p
  // The powers of that, and what std::log1p makes of them.
  const size_t num_lengths;
  double all_of[kLengths];
  double log_not[kLengths];
};

// ---- Design rates ----

// The false positive rates of a design: averages of the probabilities of
// queries, by weight.
//
// Besides the rate of all queries, two things count. The promised queries have
// a rate of their own, and so has each kind of range (located_queries.h). So
// probabilities are summed up apart, and the sums are then put together. The
// promised points come last: unless the design is a series, what they share
// with keys says all of them, and none of them is looked at.
struct DesignRates {
  double all = 0;
  double promised = 0;  // of the promised queries
  // The standard deviation of the kinds' rates, by weight.
  double spread = 0;
};

// The weighted rates of some queries.
struct RateSum {
  double rates = 0;
  double weights = 0;

  void Add(const RateSum& other) {
    rates += other.rates;
    weights += other.weights;
  }
  double Mean() const { return weights > 0 ? rates / weights : 0; }
};

// The sums of the kinds, of which 0 stands for all other queries, of the
// promised queries, and of the promised points of a series.
constexpr size_t kPromisedSum = LocatedQuery::kMaxKinds + 1;
constexpr size_t kPointsSum = kPromisedSum + 1;
constexpr size_t kNumSums = kPointsSum + 1;
using RateSums = std::array<RateSum, kNumSums>;

// The index of the sum in which a query counts if it is no promised point.
inline size_t SumOf(const LocatedQuery& query) {
  return query.promised ? kPromisedSum : query.kind;
}

// The rates of all queries. `points` are the promised ones, of which every
// `step`-th one counts in its sum if the design is a series.
DesignRates RatesFrom(RateSums sums, const SharedShares& points, size_t step,
                      const RatedDesign& rated);

class CpfprModel {
 public:
  // Locates samples (LocateSamples). The statistics are those of the keys, and
  // must outlive the model. The queries of `prior` (prior.h) count as well.
  // Each sample has the weight `sample_weight`: the number of samples that it
  // stands for.
  CpfprModel(const KeyStore& keys, const KeyStatistics& statistics,
             const std::vector<SampleQuery>& samples,
             const std::vector<LocatedQuery>& prior = {},
             bool prefixes_only = false, double sample_weight = 1);

  // The samples, then the prior, whose promised points come last.
  const std::vector<LocatedQuery>& queries() const { return queries_; }
  size_t num_samples() const { return num_samples_; }
  // The number of queries before the promised points, and what these share with
  // keys.
  size_t num_before_points() const { return num_before_points_; }
  const SharedShares& points() const { return points_; }

  const KeyStatistics& statistics() const { return statistics_; }

  // The model of those queries that are no points.
  CpfprModel Ranges() const;

  // The false positive rate of a design in a filter of `bytes` bytes, of which
  // its trie takes `trie_bytes`.
  double Evaluate(const ProteusDesign& design, uint64_t bytes,
                  uint64_t trie_bytes) const {
    return Rates(design, bytes, trie_bytes).all;
  }
  DesignRates Rates(const ProteusDesign& design, uint64_t bytes,
                    uint64_t trie_bytes) const {
    return Average(design, PlanLayers(design, statistics_, bytes, trie_bytes),
                   1);
  }

  // The rates of a design with planned sets, on every `step`-th query. Promised
  // points all count, except for a series.
  DesignRates Average(const ProteusDesign& design, const LayerPlans& plans,
                      size_t step) const;

  // What every `step`-th query asks of the sets, on average.
  PrefixTests CountTests(const ProteusDesign& design, const LayerPlans& plans,
                         size_t step) const;

 private:
  const KeyStatistics& statistics_;
  std::vector<LocatedQuery> queries_;
  size_t num_samples_;
  size_t num_before_points_;
  SharedShares points_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
