//  The search for the best design (Proteus paper, section 4.3, algorithm 1):
//  all pairs (l1, l2), with the queries of a pair binned by how many prefixes
//  they test. It differs from the paper's where time demands it:
//
//  - A pair only costs a query something if the query shares at least l1 and
//    less than l2 bits with a key; and while both bounds lie below one
//    l1-prefix, how many l2-prefixes there are does not depend on l1.
//  - The first round takes a part of the sample, and for long keys a part of
//    the lengths; a second round looks at all lengths near the best one; at
//    last, the best designs meet the whole sample.
//  - Queries closer to the keys than all samples are allowed for: else the
//    shortest prefix that resolves the samples looks as good as longer ones.
//  - Among those that are nearly as good as the best one, the time of a query
//    decides too.

#pragma once

#include <vector>

#include "filter_policy/proteus/cpfpr.h"
#include "filter_policy/proteus/key_bits.h"

namespace ROCKSDB_NAMESPACE::protean {

class DesignSearch {
 public:
  // What a query costs in a trie, in nanoseconds, as `filter_micro --costs`
  // measures it. What it costs for each prefix that it tests in a set is in the
  // set's AmqType.
  static constexpr double kTrieNanos = 45;

  // `kinds` are the allowed kinds of sets. The model has queries, and outlives
  // the search, as do the statistics.
  DesignSearch(const CpfprModel& model, const KeyStatistics& statistics,
               std::vector<AmqKind> kinds)
      : model_(model), statistics_(statistics), kinds_(std::move(kinds)) {
    for (const CpfprModel::Query& query : model.queries()) {
      // A bound that is a key, as bits, is resolved by no prefix.
      if (query.shared() == kAllBits) continue;
      most_shared_ = std::max(most_shared_, query.shared());
    }
  }

  // The best design in `bytes` bytes: its false positive rate is the least, or
  // little more and it is so much faster that this is worth it.
  ProteusDesign Choose(DesignSpace space, uint64_t bytes) const;

  // Gives a design that is a trie alone a second layer in that many bytes that
  // its trie, now built, has left, if that is worth it.
  void AddSecondLayer(uint64_t set_bytes, ProteusDesign* design) const;

 private:
  struct Candidate {
    ProteusDesign design;
    double fpr = 1;
    double prefixes = 0;  // tested by a query, on average
    uint64_t trie_bytes = 0;

    // Of false positives and of time.
    double Cost() const;
  };

  // The false positives to be expected of queries that no sample is like.
  double Unseen(const ProteusDesign& design) const;

  void SearchPairs(const std::vector<uint32_t>& first_lengths,
                   const std::vector<uint32_t>& lengths, uint64_t bytes,
                   std::vector<Candidate>* found) const;
  void SearchSeries(uint64_t bytes, std::vector<Candidate>* found) const;
  void SearchTwoSets(uint64_t bytes, std::vector<Candidate>* found) const;
  std::vector<uint32_t> TrieLengths(uint64_t bytes) const;
  std::vector<uint32_t> PrefixLengths(uint32_t first, uint32_t last,
                                      size_t most) const;

  const CpfprModel& model_;
  const KeyStatistics& statistics_;
  const std::vector<AmqKind> kinds_;
  uint32_t most_shared_ = 0;  // bits that a query shares with a key
};

// The design for a file without samples: a set of whole keys, so that a query
// for a key is answered as by a plain Bloom filter.
ProteusDesign DefaultDesign(const KeyStatistics& statistics, AmqKind kind);

}  // namespace ROCKSDB_NAMESPACE::protean
