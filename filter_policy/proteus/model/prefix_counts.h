// SPDX-License-Identifier: Apache-2.0

//  How many prefixes of some bits a query has: |Q_l| of the paper, and |L| and
//  |R|, its parts below the two prefixes at the ends of the query.
//
//      prefixes of `first` bits   |   of lo   |  ...  |   of hi   |
//      the query                         [---------------]
//      prefixes of `bits` bits           |-L--|       |-R|
//
//  Only possible prefixes count (byte_alphabets.h). Counts above
//  kMaxPrefixProbes may be too low, but are above it too: a query that would
//  test more than that is a false positive.

#pragma once

#include <cstdint>

#include "filter_policy/proteus/byte_alphabets.h"
#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/model/located_query.h"

namespace ROCKSDB_NAMESPACE::protean {

// More prefixes than any query may test.
constexpr uint64_t kManyPrefixes = kMaxPrefixProbes + 1;

// The prefixes from the lower to the upper bound.
uint64_t CountAll(const LocatedQuery& query, const ByteAlphabets& alphabets,
                  uint32_t bits);
// The prefixes that are tested if the first layer knows which prefixes of
// `first` bits keys have: I2 * |L| + I3 * |R| of equation 5.
uint64_t CountTested(const LocatedQuery& query, const ByteAlphabets& alphabets,
                     uint32_t first, uint32_t bits);

// The prefixes below the first of the prefixes of `first` bits, |L|, and below
// the last one, |R|; and how many of these two prefixes are possible.
// REQUIRES: the bounds lie below different ones
uint64_t CountLeft(const LocatedQuery& query, const ByteAlphabets& alphabets,
                   uint32_t first, uint32_t bits);
uint64_t CountRight(const LocatedQuery& query, const ByteAlphabets& alphabets,
                    uint32_t first, uint32_t bits);
uint64_t CountEnds(const LocatedQuery& query, const ByteAlphabets& alphabets,
                   uint32_t first);

}  // namespace ROCKSDB_NAMESPACE::protean
