// SPDX-License-Identifier: Apache-2.0

//  For all pairs (l1, l2) of a trie and a set at once: how many prefixes the
//  queries of a sample test (Proteus paper, section 4.3, algorithm 1).
//
//  A query tests prefixes of a pair if it shares at least l1 and less than l2
//  bits with a key. Queries that test about as many are together in a bin. Most
//  queries are the same to many pairs, so a query is entered where such pairs
//  begin and taken off after them; sums over all pairs, at the end, count it at
//  each.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "filter_policy/proteus/byte_alphabets.h"
#include "filter_policy/proteus/model/query_sample.h"

namespace ROCKSDB_NAMESPACE::protean {

// Rounding leaves a little of sums that should be zero.
inline double WithoutRounding(double weight) {
  // No query weighs less.
  constexpr double kNoWeight = 1e-9;
  return weight < kNoWeight ? 0 : weight;
}

class PairCounts {
 public:
  // Bin i is for queries that test a number of prefixes in [2^(i-1), 2^i).
  static constexpr size_t kBins = 11;
  struct Bin {
    double prefixes = 0;  // that all of its queries test, by weight
    double queries = 0;   // their weight
  };

  // Counts the queries that are no promised points. Both lists of lengths
  // ascend; a first length of 0 is no trie.
  PairCounts(const QuerySample& sample, const ByteAlphabets& alphabets,
             const std::vector<uint32_t>& first_lengths,
             const std::vector<uint32_t>& lengths);

  // The functions below take the indexes of a first length and of a length.

  // The bins of the queries that test prefixes past the bits that their bounds
  // share.
  const Bin* BinsOf(size_t first, size_t length) const {
    return &bins_[(first * num_lengths_ + length) * kBins];
  }
  // The weight of the queries that test one prefix, since their bounds share
  // its bits.
  double SingleOf(size_t first, size_t length) const {
    return WithoutRounding(single_[first * row_size() + length]);
  }
  // The weight of the queries that would test too many, and are let through.
  double TooManyOf(size_t first, size_t length) const {
    return WithoutRounding(too_many_[first * row_size() + length]);
  }

 private:
  // Indexes of successive first lengths.
  struct Rows {
    size_t begin;
    size_t end;
  };

  size_t row_size() const { return num_lengths_ + 1; }
  // Enters queries at one length.
  void Count(Rows rows, size_t length, double weight, uint64_t prefixes);
  // Enters queries in `sums` at the lengths from `begin` to before `end`.
  void Enter(Rows rows, size_t begin, size_t end, double weight,
             std::vector<double>* sums) const;
  // Counts the prefixes of a query, number_of(j) at the length of index j, from
  // the length of index `begin` on. Longer prefixes are at least as many.
  template <typename NumberOf>
  void CountFrom(Rows rows, size_t begin, double weight,
                 const NumberOf& number_of);
  void SumUp(size_t num_first);

  const size_t num_lengths_;
  // Each vector has a row for each first length, and one more, where the
  // queries of the last ones are taken off.
  std::vector<Bin> bins_;
  std::vector<double> single_;
  std::vector<double> too_many_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
