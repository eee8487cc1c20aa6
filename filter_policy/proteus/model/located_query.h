// SPDX-License-Identifier: Apache-2.0

//  An empty query, located among the keys of a file: all that the model knows
//  of it.
//
//  Three lengths decide which designs resolve the query: what its lower bound
//  shares with the nearest key, what its upper bound shares with the nearest
//  key, and what the two bounds share. The longer of the first two is
//  lcp(Q, K) in the paper. One search in the keys finds all three; after that,
//  no key is looked at again.

#pragma once

#include <algorithm>
#include <cstdint>

#include "filter_policy/proteus/key_bits.h"
#include "filter_policy/proteus/key_statistics.h"
#include "filter_policy/proteus/key_store.h"

namespace ROCKSDB_NAMESPACE::protean {

// A query for which the file is asked and which finds nothing in it.
struct LocatedQuery {
  static constexpr uint8_t kMaxKinds = 4;

  uint32_t lo_shared;      // bits that its lower bound shares with a key
  uint32_t hi_shared;      // bits that its upper bound shares with a key
  uint32_t bounds_shared;  // bits that the bounds share
  uint32_t bytes;          // of the longer bound
  double weight;           // among the other queries
  // Whether a Bloom filter must not do better on this query (prior.h).
  bool promised;
  // The kind of range, from 1 to kMaxKinds, if the rates of its kind are to be
  // close to those of other kinds; else 0.
  uint8_t kind;
  // 64 bits of each bound, from the byte on in which the bounds part.
  uint64_t lo_rest;
  uint64_t hi_rest;

  uint32_t shared() const { return std::max(lo_shared, hi_shared); }
  bool is_point() const { return bounds_shared == kAllBits; }
};

// Locates a query, of weight 1, that lies between two keys: above the first
// `keys_below` of `keys`, and below the one of index `next` and those after it.
// False if no string of bits lies in it.
bool LocateQuery(const Slice& lo, const Slice& hi, bool hi_inclusive,
                 const KeyStore& keys, size_t keys_below, size_t next,
                 const KeyStatistics& statistics, LocatedQuery* query);

}  // namespace ROCKSDB_NAMESPACE::protean
