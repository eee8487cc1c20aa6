// SPDX-License-Identifier: Apache-2.0

//  The contextual prefix FPR model (Proteus paper, sections 3 and 4.3): the
//  false positive rate that a design would have on a sample of queries.
//
//  Three lengths of an empty query decide which designs resolve it: what its
//  lower bound shares with the nearest key, what its upper bound shares with
//  the nearest key, and what the two bounds share. One search in the keys finds
//  them, once. Then
//
//    1PBF     equation 1
//    2PBF     equation 4. The binomial sum in it is the expansion of
//             (1 - p1 + p1 * (1 - p2)^k)^n, which is used instead, unless the
//             regions that may need the second set could pass the limit
//    Proteus  equation 5
//
//  A query that would test more than kMaxPrefixProbes prefixes is a false
//  positive.

#pragma once

#include <algorithm>
#include <vector>

#include "filter_policy/proteus/byte_alphabets.h"
#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/key_bits.h"
#include "filter_policy/proteus/key_statistics.h"
#include "filter_policy/proteus/shared_shares.h"
#include "filter_policy/samples/query_queue.h"

namespace ROCKSDB_NAMESPACE::protean {

// The sets of a design.
struct PrefixSets {
  AmqPlan first;
  AmqPlan second;
};
// The least number of bytes with which a set of `hashes` hashes has a false
// positive rate of at most `rate`, or `most` if there is none below.
uint64_t LeastBytes(AmqKind kind, uint64_t hashes, double rate, uint64_t most);
// Plans a set: PlanAmq (filter_policy/amq/amq.h), or what replaces it.
using SetPlanner = AmqPlan (*)(AmqKind kind, uint64_t hashes, uint64_t bytes);
// Plans the sets of a design in `bytes` bytes.
PrefixSets PlanPrefixSets(const ProteusDesign& design,
                          const KeyStatistics& statistics, uint64_t bytes,
                          SetPlanner plan = PlanAmq);

class CpfprModel {
 public:
  static constexpr uint8_t kMaxKinds = 4;

  // A query for which the file is asked and which finds nothing in it.
  struct Query {
    uint32_t lo_shared;      // bits that its lower bound shares with a key
    uint32_t hi_shared;      // bits that its upper bound shares with a key
    uint32_t bounds_shared;  // bits that the bounds share
    uint32_t bytes;          // of the longer bound
    double weight;           // among the other queries
    // Whether a Bloom filter must not do better on this query (prior.h).
    bool promised;
    // The kind of range, from 1 to kMaxKinds, if the rates of its kind are to
    // be close to those of other kinds; else 0.
    uint8_t kind;
    // 64 bits of each bound, from the byte on in which the bounds part.
    uint64_t lo_rest;
    uint64_t hi_rest;

    uint32_t shared() const { return std::max(lo_shared, hi_shared); }
    bool is_point() const { return bounds_shared == kAllBits; }

    // The functions below count possible prefixes of `bits` bits
    // (byte_alphabets.h). They may give too low a count above
    // kMaxPrefixProbes, but one that is above it too.

    // The prefixes from the lower to the upper bound.
    uint64_t CountAll(const ByteAlphabets& alphabets, uint32_t bits) const;
    // The prefixes that are tested if the first layer knows which prefixes of
    // `first` bits keys have: I2 * |L| + I3 * |R| of equation 5.
    uint64_t CountTested(const ByteAlphabets& alphabets, uint32_t first,
                         uint32_t bits) const;

    // The prefixes below the first of the prefixes of `first` bits, |L|, and
    // below the last one, |R|; and how many of these two prefixes are possible.
    // REQUIRES: the bounds lie below different ones
    uint64_t CountLeft(const ByteAlphabets& alphabets, uint32_t first,
                       uint32_t bits) const;
    uint64_t CountRight(const ByteAlphabets& alphabets, uint32_t first,
                        uint32_t bits) const;
    uint64_t CountEnds(const ByteAlphabets& alphabets, uint32_t first) const;

   private:
    uint64_t Count(const ByteAlphabets& alphabets, uint64_t lo, uint64_t hi,
                   uint32_t bits) const;
  };

  // Analyzes those of `samples` for which the file would be asked and which
  // find nothing in it. `keys` ascend; `statistics` are theirs, and must
  // outlive the model. The queries of `prior` (prior.h) count as well. If
  // `prefixes_only`, a point query asks for all keys that start with its key.
  // Each sample has the weight `sample_weight`: the number of samples that it
  // stands for.
  CpfprModel(const KeyStore& keys, const KeyStatistics& statistics,
             const std::vector<SampleQuery>& samples,
             const std::vector<Query>& prior = {}, bool prefixes_only = false,
             double sample_weight = 1);

  // Makes a query of weight 1 that lies between two keys: above the first
  // `keys_below` of `keys`, and below the one of index `next` and those after
  // it. False if no string of bits lies in it.
  static bool MakeQuery(const Slice& lo, const Slice& hi, bool hi_inclusive,
                        const KeyStore& keys, size_t keys_below, size_t next,
                        const KeyStatistics& statistics, Query* query);

  // The samples, then the prior, whose promised points come last.
  const std::vector<Query>& queries() const { return queries_; }
  size_t num_samples() const { return num_samples_; }
  // The number of queries before the promised points, and what these share with
  // keys.
  size_t num_before_points() const { return num_before_points_; }
  const SharedShares& points() const { return points_; }
  // The number of samples that find nothing because they lie beyond the keys.
  uint32_t outside() const { return outside_; }

  // False positive rates.
  struct Rates {
    double all = 0;
    double promised = 0;  // of the promised queries
    // The standard deviation of the kinds' rates, by weight.
    double spread = 0;
  };

  // What a query asks of sets: prefixes, and the runs of them of which the
  // first prefix takes longer.
  struct Tests {
    double prefixes = 0;
    double runs = 0;
  };
  // The average over every `step`-th query, if all prefixes are tested.
  Tests CountTests(const ProteusDesign& design, const PrefixSets& sets,
                   size_t step) const;

  // The false positive rate of a design whose sets take `set_bytes` bytes.
  double Evaluate(const ProteusDesign& design, uint64_t set_bytes) const {
    return Average(design, PlanPrefixSets(design, statistics_, set_bytes), 1)
        .all;
  }

  // The model of those queries that are no points.
  CpfprModel Ranges() const;

  // The rates of a design with given sets, on every `step`-th query. Promised
  // points all count, except for a series: what they share with keys says all.
  Rates Average(const ProteusDesign& design, const PrefixSets& sets,
                size_t step) const;

  // The queries of a class share as many bits with keys, and their bounds share
  // as many bits. While a design has no longer prefixes than that, it tests one
  // prefix of each query, and the class counts as one query.
  struct QueryClass {
    double weight = 0;
    uint32_t sum = 0;  // the index of the sum that the queries count in
    // The indexes of its queries among those of the sample.
    size_t begin = 0;
    size_t end = 0;
  };
  // Every `step`-th query. Equal ones are one of their joint weight.
  struct QuerySample {
    size_t step = 1;
    std::vector<Query> queries;
    std::vector<QueryClass> classes;
    // The number of classes before those of promised points, which only a
    // series looks at.
    size_t num_before_points = 0;
    // What the queries share with keys, all promised points included, and what
    // the promised queries share.
    SharedShares shared;
    SharedShares promised_shared;
  };
  QuerySample SampleOf(size_t step) const;

  // The queries that a design tests alike: what decides their probability
  // besides the rates of its sets.
  struct QueryGroup {
    // The lengths of which each tested prefix must be a false positive. If it
    // is 0, the probability is certain: `tested` is 0 or 1.
    uint32_t lengths;
    uint32_t tested;
    uint32_t sum;  // as in QueryClass
    bool is_point;
    double weight;
  };
  // The groups of a sample's queries, for all designs of the same lengths,
  // whatever the kinds and the sizes of their sets: one pass over the queries
  // serves many designs.
  struct QueryGroups {
    size_t step = 1;
    std::vector<QueryGroup> groups;
  };
  // REQUIRES: the design has no first set of prefixes
  QueryGroups GroupsOf(const ProteusDesign& design,
                       const QuerySample& sample) const;
  // The rates of Average, from the groups of the design.
  Rates AverageOf(const QueryGroups& groups, const ProteusDesign& design,
                  const PrefixSets& sets) const;
  // The rates of Average, from the sample, for a design of two sets of
  // prefixes. As soon as the rate of all is known to be above `most`, a rate
  // between the two is given instead.
  Rates AverageOfTwoSets(const QuerySample& sample, const ProteusDesign& design,
                         const PrefixSets& sets, double most) const;

 private:
  // For a set with a given false positive rate: the probability that it
  // contains absent prefixes of several lengths.
  class RunRates {
   public:
    // `most` is the number of lengths that any run has, at least one.
    RunRates(double rate, size_t most);
    // The probability that at least one of `runs` runs of absent prefixes, each
    // of this number of lengths, is contained as a whole.
    double AnyRunOf(uint32_t lengths, uint64_t runs) const;
    // AnyRunOf, or what is certain if there are no lengths: `tested` is 0 or 1.
    double RateOf(uint32_t lengths, uint64_t tested) const {
      return lengths == 0 ? static_cast<double>(tested)
                          : AnyRunOf(lengths, tested);
    }
    // AnyRunOf for prefixes of one length.
    double AnyOf(uint64_t prefixes) const { return AnyRunOf(1, prefixes); }

    // Longer runs count as one of this number of lengths, whose probability is
    // next to nothing unless the set is useless.
    static constexpr size_t kLengths = 32;

   private:
    // No logarithm of a probability.
    static constexpr double kNotKnown = 1;

    const size_t num_lengths_;
    double all_of_[kLengths];
    mutable double log_not_[kLengths];
  };

  // What a query without a first set of prefixes meets.
  struct Tested {
    uint32_t lengths;  // as in QueryGroup
    uint64_t prefixes;
  };
  // The weighted rates of some queries.
  struct Sum {
    double rates = 0;
    double weights = 0;
    void Add(const Sum& other) {
      rates += other.rates;
      weights += other.weights;
    }
    double Mean() const { return weights > 0 ? rates / weights : 0; }
  };
  // The sums of the kinds, of which 0 stands for all other queries, of the
  // promised queries, and of the promised points of a series.
  static constexpr size_t kPromisedSum = kMaxKinds + 1;
  static constexpr size_t kPointsSum = kPromisedSum + 1;
  static constexpr size_t kNumSums = kPointsSum + 1;
  static size_t SumOf(const Query& query) {
    return query.promised ? kPromisedSum : query.kind;
  }
  void AddClasses(size_t begin, size_t end, bool are_points,
                  QuerySample* sample) const;
  // The rates of all queries. The promised points of a design that is no series
  // need no sum.
  Rates Combine(const ProteusDesign& design, const PrefixSets& sets,
                size_t step, Sum (&sums)[kNumSums]) const;

  // The alphabets that the filter of a design knows: a series has none.
  const ByteAlphabets& AlphabetsOf(const ProteusDesign& design) const {
    static const ByteAlphabets kAny;
    return design.stride_bits > 0 ? kAny : statistics_.alphabets();
  }
  double Probability(const Query& query, const ProteusDesign& design,
                     double first_rate, const RunRates& rates) const;
  double PointsProbability(const ProteusDesign& design, double first_rate,
                           double rate) const;
  Tests TestsOf(const Query& query, const ProteusDesign& design,
                double first_rate) const;
  uint32_t LongestTested(const Query& query, const ProteusDesign& design,
                         uint64_t* tested) const;
  Tested TestOneLayer(const Query& query, const ProteusDesign& design) const;
  static bool TestClass(const Query& query, const ProteusDesign& design,
                        Tested* tested);
  double OneLayer(const Query& query, const ProteusDesign& design,
                  const RunRates& rates) const;
  double TwoSets(const Query& query, const ProteusDesign& design,
                 double first_rate, const RunRates& rates) const;

  const KeyStatistics& statistics_;
  std::vector<Query> queries_;
  size_t num_samples_ = 0;
  size_t num_before_points_ = 0;
  SharedShares points_;
  uint32_t outside_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
