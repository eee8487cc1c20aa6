// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/amq/ribbon_solving.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "util/coding_lean.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kSegmentBytes = RibbonSizes::kSegmentBytes;
constexpr uint64_t kSlotsPerBlock = RibbonSizes::kSlotsPerBlock;

// Turns the solutions of the slots of a block, which are numbers, into segments
// of a bit for each slot.
inline void WriteSegments(const uint32_t* solved, uint64_t columns, char* out) {
#if defined(__SSE2__)
  constexpr uint64_t kAtOnce = 16;
  for (uint64_t slot = 0; slot < kSlotsPerBlock; slot += kAtOnce) {
    const auto* const from = reinterpret_cast<const __m128i*>(solved + slot);
    for (unsigned begin = 0; begin < columns; begin += 8) {
      const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(begin));
      const __m128i mask = _mm_set1_epi32(0xff);
      const auto part = [&](int i) {
        return _mm_and_si128(_mm_srl_epi32(_mm_loadu_si128(from + i), shift),
                             mask);
      };
      __m128i bytes = _mm_packus_epi16(_mm_packs_epi32(part(0), part(1)),
                                       _mm_packs_epi32(part(2), part(3)));
      for (unsigned column = begin + 8; column-- > begin;) {
        if (column < columns) {
          EncodeFixed16(out + column * kSegmentBytes + slot / 8,
                        static_cast<uint16_t>(_mm_movemask_epi8(bytes)));
        }
        bytes = _mm_add_epi8(bytes, bytes);
      }
    }
  }
#else
  for (uint64_t column = 0; column < columns; column++) {
    for (uint64_t word = 0; word < 2; word++) {
      uint64_t bits = 0;
      for (uint64_t i = 64; i-- > 0;) {
        bits = bits << 1 | (solved[64 * word + i] >> column & 1);
      }
      EncodeFixed64(out + column * kSegmentBytes + 8 * word, bits);
    }
  }
#endif
}

// All sums of some of four numbers. Compilers would write one after the other
// if these were arrays.
using SumsOfFour = uint32_t __attribute__((vector_size(64)));

inline void SumUp(const uint32_t* numbers, SumsOfFour* sums) {
  constexpr uint32_t k = ~uint32_t{0};
  *sums =
      (SumsOfFour{0, k, 0, k, 0, k, 0, k, 0, k, 0, k, 0, k, 0, k} &
       numbers[0]) ^
      (SumsOfFour{0, 0, k, k, 0, 0, k, k, 0, 0, k, k, 0, 0, k, k} &
       numbers[1]) ^
      (SumsOfFour{0, 0, 0, 0, k, k, k, k, 0, 0, 0, 0, k, k, k, k} &
       numbers[2]) ^
      (SumsOfFour{0, 0, 0, 0, 0, 0, 0, 0, k, k, k, k, k, k, k, k} & numbers[3]);
}

}  // namespace

PROTEAN_CLONED bool EliminateRibbon(const uint64_t* hashes,
                                    const RibbonShard& shard,
                                    const uint32_t* ends,
                                    RibbonElimination* elimination,
                                    RibbonEquations* equations) {
  const uint64_t starts = shard.Starts();
  uint32_t next = 0;
  for (uint64_t number = 0; number < shard.blocks * RibbonStripe::kPerBlock;
       number++) {
    const RibbonStripe stripe(number);
    elimination->Reserve(ends[number] - next);
    for (; next < ends[number]; next++) {
      const uint64_t hash = hashes[next];
      const RibbonGroup group(hash >> shard.groups.bits, shard.seed, starts);
      const unsigned neighbour = shard.NeighbourOf(hash);
      const auto slot = static_cast<unsigned>((group.start + neighbour) %
                                              RibbonStripe::kSlots);
      stripe.Write(group.coefficients, slot, group.Fingerprint(neighbour),
                   elimination->Add(slot));
    }
    elimination->Finish(stripe, &equations->rows[RibbonStripe::kSlots * number],
                        &equations->results[RibbonStripe::kSlots * number]);
    if (number % RibbonStripe::kPerBlock == RibbonStripe::kPerBlock - 1 &&
        !elimination->DropSolved()) {
      return false;
    }
  }
  return elimination->IsDone();
}

PROTEAN_CLONED void SolveRibbon(const RibbonRow* rows, const uint32_t* results,
                                const RibbonColumns& columns, char* segments) {
  // For each byte, the sums that differ in its last four bits.
  SumsOfFour sums[RibbonStripe::kPerBlock][1u << (RibbonStripe::kSlots / 2)] =
      {};
  const auto sum_of = [&](uint64_t i, uint64_t byte) {
    return reinterpret_cast<const uint32_t*>(sums[i])[byte & 0xff];
  };
  uint32_t solved[kSlotsPerBlock];
  for (uint64_t block = columns.blocks; block-- > 0;) {
    for (uint64_t stripe = RibbonStripe::kPerBlock; stripe-- > 0;) {
      uint32_t* const own = &solved[RibbonStripe::kSlots * stripe];
      const RibbonRow* const row =
          rows + block * kSlotsPerBlock + RibbonStripe::kSlots * stripe;
      const uint32_t* const result =
          results + block * kSlotsPerBlock + RibbonStripe::kSlots * stripe;
      // The sums of the solutions of each half of the stripe's slots.
      constexpr unsigned kHalf = RibbonStripe::kSlots / 2;
      SumsOfFour halves[2];
      PROTEAN_UNROLL
      for (unsigned slot = RibbonStripe::kSlots; slot-- > 0;) {
        uint64_t words[] = {static_cast<uint64_t>(row[slot]),
                            static_cast<uint64_t>(row[slot] >> 64)};
        uint64_t& with_own = words[stripe / 8];
        const unsigned shift = 8 * (stripe % 8);
        const uint64_t selected = with_own >> shift;
        // The coefficients before the slot are those of the stripe one block
        // further on.
        with_own &= ~(uint64_t{RibbonStripe::kAll - LowBits(slot)} << shift);
        uint32_t sum = result[slot];
        for (unsigned i = 0; i < 8; i++) {
          sum ^= sum_of(i, words[0] >> (8 * i)) ^
                 sum_of(8 + i, words[1] >> (8 * i));
        }
        if (slot < kHalf) sum ^= halves[1][selected >> kHalf & 0xf];
        for (unsigned i = slot | (kHalf - 1); i > slot; i--) {
          sum ^= own[i] & (0 - static_cast<uint32_t>(selected >> i & 1));
        }
        own[slot] = sum;
        if (slot % kHalf == 0) SumUp(&own[slot], &halves[slot / kHalf]);
      }
      for (unsigned i = 0; i < 1u << kHalf; i++) {
        sums[stripe][i] = halves[0] ^ halves[1][i];
      }
    }
    WriteSegments(solved, columns.In(block),
                  segments + columns.Begin(block) * kSegmentBytes);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
