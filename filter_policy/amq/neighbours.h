// SPDX-License-Identifier: Apache-2.0

//  Groups of neighbours (amq_type.h), as sets keep them.
//
//  Where most neighbours of a group are in a set, they would crowd its place.
//  Such a set has smaller groups: a hash keeps its last bits, fewer of them,
//  and the bits before are mixed again.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "filter_policy/amq/amq_type.h"
#include "filter_policy/bits/bit_util.h"

namespace ROCKSDB_NAMESPACE::protean {

// Takes Bloom's place where neighbours cannot be kept together: the hashes are
// mixed as a whole. The header has Bloom's meaning.
constexpr AmqKind kNeighbourBloomAmq{7};

const AmqType& NeighbourBloomAmqType();

// Builds such a set in `bytes` zero bytes at `data`, and returns its header.
AmqHeader BuildNeighbourBloom(const std::vector<uint64_t>& hashes,
                              uint64_t bytes, char* data);

// Groups of 2^bits neighbours; bits <= kNeighbourBits.
struct NeighbourGroups {
  unsigned bits = kNeighbourBits;

  // The hash of a neighbour in its smaller group.
  uint64_t HashOf(uint64_t hash) const {
    if (bits == kNeighbourBits) return hash;
    const uint64_t last = (uint64_t{1} << bits) - 1;
    return (Mix(hash >> bits) & ~last) | (hash & last);
  }

  // AmqSet::FindNeighbours by find(hash, count), which does the same for
  // neighbours in one of these groups, the first of which has a HashOf.
  template <typename FindInGroup>
  uint64_t Find(uint64_t hash, unsigned count, const FindInGroup& find) const {
    const unsigned size = 1u << bits;
    uint64_t found = 0;
    for (unsigned i = 0; i < count;) {
      const auto place = static_cast<unsigned>((hash + i) & (size - 1));
      const unsigned in_group = std::min(count - i, size - place);
      found |= find(HashOf(hash + i), in_group) << i;
      i += in_group;
    }
    return found;
  }

  static uint64_t Mix(uint64_t word) {
    word *= 0x9fb21c651e98df25u;
    word = (word ^ word >> 35) * 0xd6e8feb86659fd93u;
    return word ^ word >> 32;
  }
};

// The largest groups of at most 2^bits neighbours of which that of a hash has
// at most `most` of the sorted hashes, on average.
NeighbourGroups LargestGroups(const std::vector<uint64_t>& hashes,
                              unsigned bits, double most);

}  // namespace ROCKSDB_NAMESPACE::protean
