// SPDX-License-Identifier: Apache-2.0

//  Solves the equations of one shard of a Ribbon set (ribbon.h).
//
//  The problem. Each hash gives one equation over GF(2). Its unknowns are bits
//  of the solution, one for each *slot*, and its coefficients are 128 bits that
//  begin at the hash's start, the first of them a one. So the matrix, sorted by
//  starts, is a band (a ribbon) of width 128 along the diagonal. There are a
//  few per cent more slots than equations, or there would seldom be a solution.
//  All columns of the solution have the same matrix, and the right-hand sides
//  are the bits of the fingerprint. So one elimination, whose results are words
//  of 32 bits, serves all columns.
//
//  The usual way (Dillinger and Walzer, algorithm 1) adds one equation after
//  the other. If the equation's first slot is taken, the equation there is
//  added to it, which clears that coefficient, and the next one bit is tried,
//  until a free slot is found. That is up to 128 dependent steps a hash, each
//  with a branch that no processor predicts.
//
//  The order in which equations come makes no difference. Here they are sorted
//  by *stripes* of eight slots, and one stripe after the other is dealt with
//  (RibbonElimination):
//
//    1. Equations that begin in the stripe take the slots at which they begin,
//       as far as these are free. Which of two equations gets a slot does not
//       matter, so no branch decides it.
//    2. Slots that are still free are taken by equations that wait from before
//       and have a one there, as in the usual way.
//    3. All other equations that wait are reduced by the eight equations of the
//       stripe. The bits that an equation has in the stripe select a sum of
//       these; two tables, of 16 sums each, have its halves (the "method of the
//       four Russians"). What is left of the equation waits for the next
//       stripe. If nothing is left of its coefficients, its result must be
//       zero, or another seed is tried.
//
//  Then the matrix is triangular, and the solution is found from the last slot
//  to the first one (SolveRibbon). A bit of it is the result of its equation,
//  plus the sum of those later bits that the equation selects. All columns are
//  computed at once: for each byte of the coefficients, a table has the sums of
//  the eight slots that it can select, as words of one bit a column.
//
//  Measured on shards of 100,000 hashes, all of this takes half the time of
//  adding one equation after the other (docs/results/filters.md).

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "filter_policy/amq/amq_type.h"
#include "filter_policy/bits/bit_util.h"
#include "util/coding_lean.h"

// Unrolls the loop that follows, of at most 8 turns.
#if defined(__clang__)
#define PROTEAN_UNROLL _Pragma("unroll")
#else
#define PROTEAN_UNROLL _Pragma("GCC unroll 8")
#endif

namespace ROCKSDB_NAMESPACE::protean {

// ---- Neighbours ----

// Groups of 2^bits neighbours (amq_type.h); bits <= kNeighbourBits.
//
// Where most neighbours of a group are in a set, they would crowd its place.
// Such a set has smaller groups: a hash keeps its last bits, fewer of them,
// and the bits before are mixed again.
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

// ---- Ribbon shard ----

// The parts of a shard of a Ribbon set (ribbon.h): how the columns of its
// solutions are spread over blocks, and where each group of neighbours has its
// equations. They are part of the file format.

constexpr uint64_t kRibbonSegmentBytes = 16;
constexpr uint64_t kRibbonSlotsPerBlock = 8 * kRibbonSegmentBytes;
constexpr uint64_t kRibbonMaxColumns = 32;
constexpr uint32_t kRibbonMinBlocks = 2;

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

// A shard, as it is stored in front of the solutions.
struct RibbonShard {
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
    return blocks * kRibbonSlotsPerBlock - (kRibbonSlotsPerBlock - 1) -
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

// ---- Ribbon elimination ----

// Gaussian elimination of the equations of a Ribbon set (ribbon.h), eight
// slots at a time.

// An equation whose coefficients belong to 128 slots in a row. That of a slot
// is the bit which has the slot's number modulo 192, so equations that begin at
// different slots are added up without moving their bits.
//
// Equations are copied and added up as a whole: a CPU waits for parts that it
// has just written to get to its cache before it reads the whole.
struct alignas(32) RibbonEquation {
  using Words = uint64_t __attribute__((vector_size(32)));

  bool HasNone() const { return (words[0] | words[1] | words[2]) == 0; }
  bool IsWrong() const { return words[3] != 0; }

  // The coefficients, and the fingerprint.
  Words words;
};

// Where equations have the coefficients of a stripe.
struct RibbonStripe {
  // The slots of a stripe are eliminated, and then solved, together. The bits
  // of an equation in them are a byte of it.
  static constexpr unsigned kSlots = 8;
  static constexpr uint64_t kPerBlock = kRibbonSlotsPerBlock / kSlots;
  static constexpr unsigned kAll = (1u << kSlots) - 1;

  explicit RibbonStripe(uint64_t number)
      : word(number / 8 % 3),
        next_word(word == 2 ? 0 : word + 1),
        last_word(word == 0 ? 2 : word - 1),
        shift(8 * (number % 8)),
        is_odd(number / 8 % 2 != 0) {}

  unsigned ByteOf(const RibbonEquation& equation) const {
    return static_cast<unsigned>(equation.words[word] >> shift) & 0xff;
  }
  // Writes an equation that begins at a slot of the stripe.
  void Write(RibbonRow coefficients, unsigned slot, uint32_t fingerprint,
             RibbonEquation* equation) const {
    const unsigned moved = shift + slot;
    const auto low = static_cast<uint64_t>(coefficients);
    const auto high = static_cast<uint64_t>(coefficients >> 64);
    equation->words[word] = low << moved;
    equation->words[next_word] = high << moved | low >> 1 >> (63 - moved);
    equation->words[last_word] = high >> 1 >> (63 - moved);
    equation->words[3] = fingerprint;
  }
  // The coefficients from a slot of the stripe on: that of each slot is the bit
  // with its number modulo 128.
  RibbonRow RowOf(const RibbonEquation& equation) const {
    const uint64_t own = equation.words[word] | equation.words[last_word];
    const uint64_t next = equation.words[next_word];
    return is_odd ? RibbonRow{own} << 64 | next : RibbonRow{next} << 64 | own;
  }

  uint64_t word;
  uint64_t next_word;
  uint64_t last_word;
  unsigned shift;
  bool is_odd;  // of a block's two words
};

// Eliminates the coefficients of one stripe after the other, in equations that
// begin there or before.
class RibbonElimination {
 public:
  // Room for equations that begin in a stripe.
  void Reserve(size_t count) {
    if (waiting_.size() < num_waiting_ + count) {
      waiting_.resize(2 * (num_waiting_ + count));
    }
  }
  // The place for an equation that begins at a slot of the stripe.
  RibbonEquation* Add(unsigned slot) {
    const unsigned is_taken = taken_ >> slot & 1;
    RibbonEquation* const places[] = {&equations_[slot],
                                      &waiting_[num_waiting_]};
    num_waiting_ += is_taken;
    taken_ |= 1u << slot;
    return places[is_taken];
  }
  // Eliminates a stripe, and writes the equation of each of its slots, or
  // zeros.
  void Finish(const RibbonStripe& stripe, RibbonRow* rows, uint32_t* results) {
    size_t left = num_waiting_;
    for (unsigned slot = 0; slot < RibbonStripe::kSlots; slot++) {
      bytes_[slot] = stripe.ByteOf(equations_[slot]);
    }
    while (taken_ != RibbonStripe::kAll && left > 0) TakeLast(stripe, &left);
    if (left > 0) ReduceFirst(stripe, left);
    for (unsigned slot = 0; slot < RibbonStripe::kSlots; slot++) {
      rows[slot] = stripe.RowOf(equations_[slot]);
      results[slot] = static_cast<uint32_t>(equations_[slot].words[3]);
      equations_[slot].words = RibbonEquation::Words{};
    }
    taken_ = 0;
  }
  // Drops the equations that wait and have no coefficients left: those of
  // repeated hashes, and a few others. False if one contradicts the others.
  bool DropSolved() {
    for (size_t i = 0; i < num_waiting_;) {
      if (!waiting_[i].HasNone()) {
        i++;
        continue;
      }
      if (waiting_[i].IsWrong()) return false;
      waiting_[i].words = waiting_[--num_waiting_].words;
    }
    return true;
  }
  bool IsDone() const { return num_waiting_ == 0; }
  void Reset() {
    taken_ = 0;
    num_waiting_ = 0;
    std::fill_n(equations_, RibbonStripe::kSlots, RibbonEquation{});
  }

 private:
  // Gives a free slot, if it can, the last of the first `left` equations that
  // wait.
  void TakeLast(const RibbonStripe& stripe, size_t* left) {
    RibbonEquation& equation = waiting_[--*left];
    for (unsigned byte = stripe.ByteOf(equation); byte != 0;) {
      const auto slot = static_cast<unsigned>(__builtin_ctz(byte));
      if ((taken_ >> slot & 1) == 0) {
        equations_[slot].words = equation.words;
        bytes_[slot] = byte;
        taken_ |= 1u << slot;
        equation.words = waiting_[--num_waiting_].words;
        return;
      }
      equation.words ^= equations_[slot].words;
      byte ^= bytes_[slot];
    }
  }
  // Reduces the first `left` equations that wait, when all slots are taken.
  void ReduceFirst(const RibbonStripe& stripe, size_t left) {
    constexpr unsigned kHalf = RibbonStripe::kSlots / 2;
    constexpr unsigned kSums = 1u << kHalf;
    // For each half of a byte, the sum of equations that has it, and for the
    // first half, the other half of that sum.
    RibbonEquation first[kSums];
    RibbonEquation second[kSums];
    unsigned other[kSums];
    first[0].words = second[0].words = RibbonEquation::Words{};
    other[0] = 0;
    PROTEAN_UNROLL
    for (unsigned slot = kHalf; slot-- > 0;) {
      const RibbonEquation& low = equations_[slot];
      const RibbonEquation& high = equations_[slot + kHalf];
      const unsigned low_byte = bytes_[slot];
      const unsigned high_byte = bytes_[slot + kHalf] >> kHalf;
      PROTEAN_UNROLL
      for (unsigned sum = 1u << slot; sum < kSums; sum += 2u << slot) {
        const unsigned before = sum ^ (low_byte % kSums);
        first[sum].words = low.words ^ first[before].words;
        other[sum] = low_byte >> kHalf ^ other[before];
        second[sum].words = high.words ^ second[sum ^ high_byte].words;
      }
    }
    RibbonEquation* const end = &waiting_[0] + left;
    for (RibbonEquation* equation = &waiting_[0]; equation != end; equation++) {
      const unsigned byte = stripe.ByteOf(*equation);
      equation->words ^= first[byte % kSums].words ^
                         second[byte >> kHalf ^ other[byte % kSums]].words;
    }
  }

  unsigned taken_ = 0;  // slots of the stripe
  RibbonEquation equations_[RibbonStripe::kSlots] = {};
  unsigned bytes_[RibbonStripe::kSlots] = {};
  size_t num_waiting_ = 0;
  std::vector<RibbonEquation> waiting_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
