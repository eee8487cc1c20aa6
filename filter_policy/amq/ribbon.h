// SPDX-License-Identifier: Apache-2.0

//  Ribbon filters (Dillinger and Walzer, "Ribbon filter: practically smaller
//  than Bloom and Xor", 2021) that keep neighbours together. They take about 30
//  % fewer bits than Bloom filters of the same false positive rate, but three
//  to four times as long to build.
//
//  A Ribbon filter solves an equation over GF(2) for each hash: of the bits of
//  a column of the solution, 128 in a row from the hash's *start* on, those
//  that its coefficients select sum up to a bit of its fingerprint. All columns
//  have the same coefficients. An absent hash solves an equation of each column
//  by chance alone.
//
//  Here, all neighbours of a group (amq_type.h) have the same coefficients, and
//  each one's start is one behind that of the neighbour before. So the sums of
//  all of them are the middle of a product of polynomials, the coefficients'
//  and the column's, which four instructions compute (PCLMULQDQ). A bit of a
//  fingerprint, too, is the one behind that of the neighbour before, in a
//  string of random bits. A query for up to 64 neighbours drops those that fail
//  in the first column, then in the second one, and ends when none is left.
//
//  Since no two neighbours have the same start, their equations never
//  contradict each other. But groups of several hashes spread less evenly. Sets
//  of many such groups have smaller groups (amq_type.h), as have small sets,
//  since the first and the last slots of a set have fewer equations.
//
//  The highest bits of a hash choose its *shard*, a Ribbon filter of its own.
//  Shards of some 100,000 hashes are solved one after the other within the
//  cache, and take fewer slots, because the slots that a hash needs grow with
//  the logarithm of the number of hashes.
//
//  header: small[0] is the logarithm of the number of shards
//  data:   for each shard, in 8 bytes: the end of its solution, in segments of
//          16 bytes from the first solution on (4 bytes); its seed (5 bits),
//          the logarithm of the size of its groups (3 bits), the columns of its
//          last block (6 bits), and its number of 128-slot blocks (18 bits).
//          Then the solutions: for each block, a segment of each of its
//          columns. The first blocks may have one column less than the last
//          ones. A shard without columns, which could not be solved, contains
//          everything

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "filter_policy/amq/amq_type.h"
#include "filter_policy/bits/bit_util.h"
#include "util/coding_lean.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr AmqKind kRibbonAmq{6};

const AmqType& RibbonAmqType();

// AmqType::open of this kind.
AmqSet* OpenRibbon(const AmqHeader& header, const char* data, void* memory);

// The logarithm of the size of the largest groups of at most 2^bits neighbours
// of which that of a hash has at most `most` of the sorted hashes, on average.
unsigned LargestGroups(const std::vector<uint64_t>& hashes, unsigned bits,
                       double most);

// The parts of a shard of a Ribbon set: how the columns of its
// solutions are spread over blocks, and where each group of neighbours has its
// equations. They are part of the file format.

constexpr uint64_t kRibbonSegmentBytes = 16;
constexpr uint64_t kRibbonSlotsPerBlock = 8 * kRibbonSegmentBytes;
constexpr uint64_t kRibbonMaxColumns = 32;
constexpr uint32_t kRibbonMinBlocks = 2;

// The coefficients of an equation, or random bits.
using RibbonRow = unsigned __int128;

inline uint64_t MixNeighbours(uint64_t word) {
  word *= 0x9fb21c651e98df25u;
  word = (word ^ word >> 35) * 0xd6e8feb86659fd93u;
  return word ^ word >> 32;
}

// Where a group's first neighbour has its equations, and what they are.
struct RibbonGroup {
  RibbonGroup(uint64_t number, uint32_t seed, uint64_t starts) {
    const uint64_t hash =
        MixNeighbours(number + (seed + 1) * 0x9e3779b97f4a7c15u);
    start = static_cast<uint64_t>(RibbonRow{hash} * starts >> 64);
    const uint64_t low = hash * 0xc2b2ae3d27d4eb4fu;
    const uint64_t high = (low ^ low >> 32) * 0x165667b19e3779f9u;
    coefficients = RibbonRow{high ^ high >> 29} << 64 | (low ^ low >> 32) | 1;
    const uint64_t first = (hash ^ hash >> 31) * 0x85ebca77c2b2ae63u;
    const uint64_t second = (first ^ first >> 32) * 0x27d4eb2f165667c5u;
    fingerprints =
        RibbonRow{second ^ second >> 32} << 64 | (first ^ first >> 32);
  }

  // The fingerprint of a neighbour; kMaxColumns bits of it count.
  uint32_t Fingerprint(unsigned neighbour) const {
    const auto low = static_cast<uint64_t>(fingerprints);
    const auto high = static_cast<uint64_t>(fingerprints >> 64);
    return static_cast<uint32_t>(low >> neighbour | high << 1
                                                         << (63 - neighbour));
  }

  uint64_t start;
  RibbonRow coefficients;
  RibbonRow fingerprints;
};

// A shard, as it is stored in front of the solutions.
//
// Where most neighbours of a group (amq_type.h) are in a set, they would crowd
// its place. Such a shard has smaller groups: a hash keeps its last bits, fewer
// of them, and the bits before are mixed again.
struct RibbonShard {
  static constexpr size_t kEncodedBytes = 8;
  static constexpr uint32_t kSeeds = 32;

  uint32_t end = 0;  // of its segments
  uint32_t blocks = 0;
  uint32_t columns = 0;  // of its last blocks
  uint32_t seed = 0;
  // The logarithm of the size of its groups, at most kNeighbourBits.
  uint32_t group_bits = kNeighbourBits;

  void EncodeTo(char* entry) const {
    EncodeFixed32(entry, end);
    EncodeFixed32(entry + 4,
                  blocks << 14 | columns << 8 | group_bits << 5 | seed);
  }
  static RibbonShard DecodeFrom(const char* entry) {
    const uint32_t packed = DecodeFixed32(entry + 4);
    return {DecodeFixed32(entry), packed >> 14, packed >> 8 & 63,
            packed % kSeeds, packed >> 5 & 7};
  }
  uint64_t Starts() const {
    return blocks * kRibbonSlotsPerBlock - (kRibbonSlotsPerBlock - 1) -
           LowBits(group_bits);
  }

  // The local hash: that of a neighbour in its smaller group. The functions
  // below take local ones.
  uint64_t LocalHash(uint64_t hash) const {
    if (group_bits == kNeighbourBits) return hash;
    const uint64_t last = LowBits(group_bits);
    return (MixNeighbours(hash >> group_bits) & ~last) | (hash & last);
  }
  RibbonGroup GroupOf(uint64_t hash) const {
    return RibbonGroup(hash >> group_bits, seed, Starts());
  }
  unsigned NeighbourOf(uint64_t hash) const {
    return static_cast<unsigned>(hash & LowBits(group_bits));
  }
};

// How the columns of a number of segments are spread over blocks, the last of
// which have the most.
struct RibbonColumns {
  RibbonColumns(uint64_t num_segments, uint64_t num_blocks)
      : RibbonColumns(num_segments, num_blocks,
                      Most(num_segments, num_blocks)) {}
  // With the result of Most, which takes a division.
  RibbonColumns(uint64_t num_segments, uint64_t num_blocks,
                uint64_t most_columns)
      : blocks(num_blocks),
        most(most_columns),
        blocks_with_fewer(most * num_blocks - num_segments) {}

  static uint64_t Most(uint64_t num_segments, uint64_t num_blocks) {
    return (num_segments + num_blocks - 1) / num_blocks;
  }

  uint64_t In(uint64_t block) const {
    return most - (block < blocks_with_fewer ? 1 : 0);
  }
  // The first segment of a block.
  uint64_t Begin(uint64_t block) const {
    return block * most - std::min(block, blocks_with_fewer);
  }
  double FalsePositiveRate() const {
    const double fewer =
        static_cast<double>(blocks_with_fewer) / static_cast<double>(blocks);
    return std::min(1.0, std::ldexp(1 + fewer, -static_cast<int>(most)));
  }

  uint64_t blocks;
  uint64_t most;
  uint64_t blocks_with_fewer;
};

}  // namespace ROCKSDB_NAMESPACE::protean
