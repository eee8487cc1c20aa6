// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/prefix_counts.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The prefixes from that of `lo` to that of `hi`, which are 64 bits each from
// the byte on in which the bounds part.
inline uint64_t CountBetween(const LocatedQuery& query,
                             const ByteAlphabets& alphabets, uint64_t lo,
                             uint64_t hi, uint32_t bits) {
  if (bits <= query.bounds_shared) return 1;
  const uint32_t from = query.bounds_shared / 8;
  const uint32_t used = bits - 8 * from;
  if (used > 64) return kManyPrefixes;
  if (alphabets.AreAny()) {
    return std::min((hi >> (64 - used)) - (lo >> (64 - used)),
                    kMaxPrefixProbes) +
           1;
  }
  char lo_bytes[sizeof(lo)];
  char hi_bytes[sizeof(hi)];
  EncodeFixed64(lo_bytes, EndianSwapValue(lo));
  EncodeFixed64(hi_bytes, EndianSwapValue(hi));
  return std::min(alphabets.Count(lo_bytes, hi_bytes, from, bits),
                  kManyPrefixes);
}

// The bits of a word after bit `bits` of the bounds, where the word begins with
// byte `from` of them.
uint64_t BitsBehind(uint32_t bits, uint32_t from) {
  const uint32_t kept = bits - 8 * from;
  return kept >= 64 ? 0 : ~uint64_t{0} >> kept;
}

}  // namespace

uint64_t CountAll(const LocatedQuery& query, const ByteAlphabets& alphabets,
                  uint32_t bits) {
  return CountBetween(query, alphabets, query.lo_rest, query.hi_rest, bits);
}

uint64_t CountTested(const LocatedQuery& query, const ByteAlphabets& alphabets,
                     uint32_t first, uint32_t bits) {
  if (first <= query.bounds_shared) return CountAll(query, alphabets, bits);
  uint64_t count = 0;
  if (query.lo_shared >= first) {
    count += CountLeft(query, alphabets, first, bits);
  }
  if (query.hi_shared >= first) {
    count += CountRight(query, alphabets, first, bits);
  }
  return std::min(count, kManyPrefixes);
}

uint64_t CountLeft(const LocatedQuery& query, const ByteAlphabets& alphabets,
                   uint32_t first, uint32_t bits) {
  const uint64_t below = BitsBehind(first, query.bounds_shared / 8);
  return CountBetween(query, alphabets, query.lo_rest, query.lo_rest | below,
                      bits);
}

uint64_t CountRight(const LocatedQuery& query, const ByteAlphabets& alphabets,
                    uint32_t first, uint32_t bits) {
  const uint64_t below = BitsBehind(first, query.bounds_shared / 8);
  return CountBetween(query, alphabets, query.hi_rest & ~below, query.hi_rest,
                      bits);
}

uint64_t CountEnds(const LocatedQuery& query, const ByteAlphabets& alphabets,
                   uint32_t first) {
  return CountBetween(query, alphabets, query.lo_rest, query.lo_rest, first) +
         CountBetween(query, alphabets, query.hi_rest, query.hi_rest, first);
}

}  // namespace ROCKSDB_NAMESPACE::protean
