//  The contextual prefix FPR model (Proteus paper, sections 3 and 4.3): the
//  false positive rate that a design would have on a sample of queries.
//
//  Of a query that finds nothing, three lengths decide which designs resolve
//  it: what its lower bound shares with the nearest key, what its upper bound
//  does, and what the two bounds share. They are found once, by one search in
//  the keys. Then
//
//    1PBF     equation 1
//    2PBF     equation 4. The binomial sum in it is the expansion of
//             (1 - p1 + p1 * (1 - p2)^k)^n, which is used instead unless so
//             many regions may need the second set that the limit is passed
//    Proteus  equation 5
//
//  A query that would test more than kMaxPrefixProbes prefixes is a false
//  positive.

#pragma once

#include <algorithm>
#include <vector>

#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/key_bits.h"
#include "filter_policy/proteus/key_statistics.h"
#include "filter_policy/samples/query_queue.h"

namespace ROCKSDB_NAMESPACE::protean {

// How the sets of a design are kept in that many bytes.
struct PrefixSets {
  AmqPlan first;
  AmqPlan second;
};
PrefixSets PlanPrefixSets(const ProteusDesign& design,
                          const KeyStatistics& statistics, uint64_t bytes);

class CpfprModel {
 public:
  // A query that the file is asked and that finds nothing in it.
  struct Query {
    uint32_t lo_shared;      // bits that its lower bound shares with a key
    uint32_t hi_shared;      // bits that its upper bound shares with a key
    uint32_t bounds_shared;  // bits that the bounds share
    uint32_t bytes;          // of the longer bound
    float weight;            // among the other queries; a sample's is 1
    // Whether it is one of those that a Bloom filter must not be better at.
    bool promised;
    // The bits of the bounds after what they share.
    uint64_t lo_rest;
    uint64_t hi_rest;

    uint32_t shared() const { return std::max(lo_shared, hi_shared); }
    bool is_point() const { return bounds_shared == kAllBits; }

    // Counts above kMaxPrefixProbes may be less than they are.

    // The prefixes of that length from the lower to the upper bound.
    uint64_t CountAll(uint32_t bits) const;
    // Those that are tested if the prefixes of `first` bits are known that keys
    // have: I2 * |L| + I3 * |R| of equation 5.
    uint64_t CountTested(uint32_t first, uint32_t bits) const;

    // If the bounds lie below different prefixes of `first` bits: the prefixes
    // below the first one of them, |L|, and below the last one, |R|.
    uint64_t CountLeft(uint32_t first, uint32_t bits) const;
    uint64_t CountRight(uint32_t first, uint32_t bits) const;
  };

  // Finds out what it needs of those of `samples` that the file would be asked
  // and that find nothing in it. `keys` ascend; `statistics` are theirs, and
  // must outlive the model. The queries of `prior` (prior.h) count as well. If
  // `prefixes_only`, a point query asks for all keys that start with its key.
  CpfprModel(const KeyStore& keys, const KeyStatistics& statistics,
             const std::vector<SampleQuery>& samples,
             const std::vector<Query>& prior = {}, bool prefixes_only = false);

  // What the model needs of a query that lies between two keys; these are
  // nullptr where there are none. False if no string of bits lies in it. The
  // weight is 1.
  static bool MakeQuery(const Slice& lo, const Slice& hi, bool hi_inclusive,
                        const Slice* left, const Slice* right,
                        const KeyStatistics& statistics, Query* query);

  // The samples, then the prior.
  const std::vector<Query>& queries() const { return queries_; }
  size_t num_samples() const { return num_samples_; }
  // How many of the samples find nothing because they lie beyond the keys.
  uint32_t outside() const { return outside_; }

  // False positive rates.
  struct Rates {
    double all = 0;
    double promised = 0;  // of the promised queries
  };

  // Those of a design whose sets take that many bytes.
  double Evaluate(const ProteusDesign& design, uint64_t set_bytes) const {
    return Average(design, PlanPrefixSets(design, statistics_, set_bytes), 1)
        .all;
  }

  // The same with these sets, on every `step`-th query.
  Rates Average(const ProteusDesign& design, const PrefixSets& sets,
                size_t step) const;

 private:
  double Probability(const Query& query, const ProteusDesign& design,
                     double first_rate, double rate) const;
  double OneLayer(const Query& query, const ProteusDesign& design,
                  double rate) const;
  double TwoSets(const Query& query, const ProteusDesign& design,
                 double first_rate, double rate) const;

  const KeyStatistics& statistics_;
  std::vector<Query> queries_;
  size_t num_samples_ = 0;
  uint32_t outside_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
