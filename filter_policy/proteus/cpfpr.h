//  The contextual prefix FPR model (Proteus paper, sections 3 and 4.3): the
//  false positive rate that a design would have on a sample of queries, and the
//  search for the design that has the least.
//
//  Of a query that finds nothing, three lengths decide which designs resolve
//  it: what its lower bound shares with the nearest key, what its upper bound
//  does, and what the two bounds share. They are found once, by one search in
//  the keys. Then
//
//    1PBF     equation 1
//    2PBF     equation 4. The binomial sum in it is the expansion of
//             (1 - p1 + p1 * (1 - p2)^k)^n, which is used instead
//    Proteus  equation 5
//
//  The search follows algorithm 1: all pairs (l1, l2), with the queries of a
//  pair binned by how many prefixes they test. It differs where time demands
//  it. A pair only costs a query something if it shares at least l1 and less
//  than l2 bits; while both bounds lie below one l1-prefix, how many
//  l2-prefixes there are does not depend on l1. The first round takes a part of
//  the sample, and for long keys a part of the lengths; a second round looks at
//  all lengths near the best ones; at last, the best designs meet the whole
//  sample.

#pragma once

#include <vector>

#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/key_statistics.h"
#include "filter_policy/samples/query_queue.h"

namespace ROCKSDB_NAMESPACE::protean {

// How the sets of a design are kept in so many bytes.
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
    // The bits of the bounds behind what they share.
    uint64_t lo_rest;
    uint64_t hi_rest;

    uint32_t shared() const { return std::max(lo_shared, hi_shared); }
  };

  // Finds out what it needs of those of `samples` that the file would be asked
  // and that find nothing in it. `keys` ascend.
  CpfprModel(const KeyStore& keys, const KeyStatistics& statistics,
             const std::vector<SampleQuery>& samples);

  const std::vector<Query>& queries() const { return queries_; }
  // How many of the samples find nothing because they lie beyond the keys.
  uint32_t outside() const { return outside_; }

  // The false positive rate of a design whose sets take so many bytes.
  double Evaluate(const ProteusDesign& design, uint64_t set_bytes) const;

  // The best design in `bytes` bytes: its false positive rate is the least, or
  // little more and it is so much faster that this is worth it. `kinds` are the
  // allowed kinds of sets. REQUIRES: there are queries.
  ProteusDesign Choose(DesignSpace space, const std::vector<AmqKind>& kinds,
                       uint64_t bytes) const;

  // Gives a design that is a trie alone a second layer in so many bytes that
  // its trie, now built, has left, if that is worth it.
  void AddSecondLayer(const std::vector<AmqKind>& kinds, uint64_t set_bytes,
                      ProteusDesign* design) const;

 private:
  struct Candidate {
    ProteusDesign design;
    double fpr = 1;
    double prefixes = 0;  // tested by a query, on average

    // Of false positives and of time.
    double Cost() const;
  };

  double Probability(const Query& query, const ProteusDesign& design,
                     double first_rate, double rate) const;
  double OneLayer(const Query& query, const ProteusDesign& design,
                  double rate) const;
  double TwoSets(const Query& query, const ProteusDesign& design,
                 double first_rate, double rate) const;
  double Average(const ProteusDesign& design, const PrefixSets& sets,
                 size_t step) const;

  void SearchPairs(const std::vector<uint32_t>& first_lengths,
                   const std::vector<uint32_t>& lengths,
                   const std::vector<AmqKind>& kinds, uint64_t bytes,
                   std::vector<Candidate>* found) const;
  void SearchSeries(const std::vector<AmqKind>& kinds, uint64_t bytes,
                    std::vector<Candidate>* found) const;
  void SearchTwoSets(const std::vector<AmqKind>& kinds, uint64_t bytes,
                     std::vector<Candidate>* found) const;
  std::vector<uint32_t> TrieLengths(uint64_t bytes) const;
  std::vector<uint32_t> PrefixLengths(uint32_t first, uint32_t last,
                                      size_t most) const;

  const KeyStatistics& statistics_;
  std::vector<Query> queries_;
  uint32_t outside_ = 0;
};

// The design for a file without samples: a set of whole keys, so that a query
// for a key is answered as by a plain Bloom filter.
ProteusDesign DefaultDesign(const KeyStatistics& statistics, AmqKind kind);

}  // namespace ROCKSDB_NAMESPACE::protean
