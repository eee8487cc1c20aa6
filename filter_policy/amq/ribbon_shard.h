// SPDX-License-Identifier: Apache-2.0

//  What the shards of a Ribbon set (ribbon.h) are made of: how the columns of
//  their solutions are spread over blocks, and where each group of neighbours
//  has its equations.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "filter_policy/amq/neighbours.h"
#include "filter_policy/amq/ribbon_types.h"
#include "filter_policy/bits/bit_util.h"
#include "util/coding_lean.h"

namespace ROCKSDB_NAMESPACE::protean {

// The coefficients of an equation, or random bits.
using RibbonRow = unsigned __int128;

// Where a group's first neighbour has its equations, and what they are.
struct RibbonGroup {
  RibbonGroup(uint64_t number, uint32_t seed, uint64_t starts) {
    const uint64_t hash =
        NeighbourGroups::Mix(number + (seed + 1) * 0x9e3779b97f4a7c15u);
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

// What the data says of a shard.
struct RibbonShard {
  static constexpr uint64_t kSlotsPerBlock = RibbonSizes::kSlotsPerBlock;
  static constexpr size_t kEncodedBytes = 8;
  static constexpr uint32_t kSeeds = 32;

  uint32_t end = 0;  // of its segments
  uint32_t blocks = 0;
  uint32_t columns = 0;  // of its last blocks
  uint32_t seed = 0;
  NeighbourGroups groups;

  void EncodeTo(char* entry) const {
    EncodeFixed32(entry, end);
    EncodeFixed32(entry + 4,
                  blocks << 14 | columns << 8 | groups.bits << 5 | seed);
  }
  static RibbonShard DecodeFrom(const char* entry) {
    const uint32_t packed = DecodeFixed32(entry + 4);
    return {DecodeFixed32(entry),
            packed >> 14,
            packed >> 8 & 63,
            packed % kSeeds,
            {packed >> 5 & 7}};
  }
  uint64_t Starts() const {
    return blocks * kSlotsPerBlock - (kSlotsPerBlock - 1) -
           LowBits(groups.bits);
  }
  RibbonGroup GroupOf(uint64_t hash) const {
    return RibbonGroup(hash >> groups.bits, seed, Starts());
  }
  unsigned NeighbourOf(uint64_t hash) const {
    return static_cast<unsigned>(hash & LowBits(groups.bits));
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
