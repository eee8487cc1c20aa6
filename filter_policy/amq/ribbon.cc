// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/amq/ribbon.h"

#include <algorithm>
#include <new>

#if defined(__x86_64__)
#include <wmmintrin.h>
#endif

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The solution of a shard.
struct Solution {
  RibbonColumns columns;
  const char* segments;

  const char* Block(uint64_t block) const {
    return segments + columns.Begin(std::min(block, columns.blocks - 1)) *
                          kRibbonSegmentBytes;
  }
  // The block behind `block`, which begins at `begin`; the last one has itself.
  const char* Next(uint64_t block, const char* begin) const {
    return block + 1 < columns.blocks
               ? begin + columns.In(block) * kRibbonSegmentBytes
               : begin;
  }
};

// Returns true if a neighbour's fingerprint is that of the solution.
inline bool IsSolved(const Solution& solution, const RibbonGroup& group,
                     unsigned neighbour) {
  const uint64_t start = group.start + neighbour;
  const uint64_t block = start / kRibbonSlotsPerBlock;
  const auto odd = static_cast<ptrdiff_t>(start / 64 % 2);
  const unsigned shift = start % 64;
  // The coefficients lie in three words, which are in two blocks.
  const auto low = static_cast<uint64_t>(group.coefficients);
  const auto high = static_cast<uint64_t>(group.coefficients >> 64);
  const uint64_t first = low << shift;
  const uint64_t second = high << shift | low >> 1 >> (63 - shift);
  const uint64_t third = high >> 1 >> (63 - shift);
  const char* const a = solution.Block(block);
  const char* const b = solution.Next(block, a);
  // No CPU could predict a branch.
  const char* const first_words = a + 8 * odd;
  const char* const second_words = a + 8 + (b - a - 8) * odd;
  const char* const third_words = b + 8 * odd;
  const uint32_t fingerprint = group.Fingerprint(neighbour);
  const auto is_wrong = [&](uint64_t i) {
    const uint64_t bits = (LoadWord(first_words, 2 * i) & first) ^
                          (LoadWord(second_words, 2 * i) & second) ^
                          (LoadWord(third_words, 2 * i) & third);
    return (static_cast<uint32_t>(PopCount(bits)) ^ fingerprint >> i) & 1;
  };
  // Whether the first columns hold is not known before, so they are not told
  // apart by branches.
  constexpr uint64_t kAtOnce = 4;
  // All neighbours have the columns of the first one.
  const uint64_t columns =
      solution.columns.In(group.start / kRibbonSlotsPerBlock);
  uint64_t i = 0;
  for (; i + kAtOnce <= columns; i += kAtOnce) {
    if ((is_wrong(i) | is_wrong(i + 1) | is_wrong(i + 2) | is_wrong(i + 3)) !=
        0) {
      return false;
    }
  }
  for (; i < columns; i++) {
    if (is_wrong(i) != 0) return false;
  }
  return true;
}

PROTEAN_CLONED bool IsSolvedOne(const Solution& solution,
                                const RibbonGroup& group, unsigned neighbour) {
  return IsSolved(solution, group, neighbour);
}

#if defined(__x86_64__)

const bool kHasCarrylessProducts = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("pclmul") != 0;
}();

inline uint64_t Reversed(uint64_t word) {
  word = (word >> 1 & 0x5555555555555555) | (word & 0x5555555555555555) << 1;
  word = (word >> 2 & 0x3333333333333333) | (word & 0x3333333333333333) << 2;
  word = (word >> 4 & 0x0f0f0f0f0f0f0f0f) | (word & 0x0f0f0f0f0f0f0f0f) << 4;
  return __builtin_bswap64(word);
}

// The neighbours, of some that are given by bits, whose fingerprints are those
// of the solution. Bit i of the sums of a column is bit 127 + i of the product
// of the coefficients in reverse and the 192 bits of the column from the start
// on.
__attribute__((target("pclmul"))) uint64_t SolvedOf(const Solution& solution,
                                                    const RibbonGroup& group,
                                                    uint64_t neighbours) {
  const uint64_t block = group.start / kRibbonSlotsPerBlock;
  const uint64_t word = group.start / 64 % 2;
  const unsigned shift = group.start % 64;
  const char* const parts[] = {solution.Block(block), solution.Block(block + 1),
                               solution.Block(block + 2)};
  const __m128i coefficients = _mm_set_epi64x(
      static_cast<int64_t>(Reversed(static_cast<uint64_t>(group.coefficients))),
      static_cast<int64_t>(
          Reversed(static_cast<uint64_t>(group.coefficients >> 64))));
  // The four words from the start on, of which the first two may be in one
  // block or in two.
  const char* const from[] = {
      parts[0] + 8 * word, word == 0 ? parts[0] + 8 : parts[1],
      parts[1] + 8 * word, word == 0 ? parts[1] + 8 : parts[2]};
  const uint64_t columns = solution.columns.In(block);
  for (uint64_t i = 0; i < columns; i++) {
    const uint64_t words[] = {
        LoadWord(from[0], 2 * i), LoadWord(from[1], 2 * i),
        LoadWord(from[2], 2 * i), LoadWord(from[3], 2 * i)};
    const auto shifted = [&](size_t j) {
      return static_cast<int64_t>(words[j] >> shift | words[j + 1]
                                                          << 1 << (63 - shift));
    };
    const __m128i first = _mm_set_epi64x(shifted(1), shifted(0));
    const __m128i last = _mm_set_epi64x(0, shifted(2));
    const __m128i low =
        _mm_xor_si128(_mm_clmulepi64_si128(coefficients, first, 0x10),
                      _mm_clmulepi64_si128(coefficients, first, 0x01));
    const __m128i high =
        _mm_xor_si128(_mm_clmulepi64_si128(coefficients, last, 0x00),
                      _mm_clmulepi64_si128(coefficients, first, 0x11));
    const auto low_word = static_cast<uint64_t>(_mm_cvtsi128_si64(low));
    const auto middle_word =
        static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(low, low)));
    const auto high_word = static_cast<uint64_t>(_mm_cvtsi128_si64(high));
    const uint64_t sums = low_word >> 63 ^ middle_word << 1 ^ high_word << 1;
    neighbours &= ~(sums ^ static_cast<uint64_t>(group.fingerprints >> i));
    if (neighbours == 0) break;
  }
  return neighbours;
}

#endif

// AmqSet::FindNeighbours for `count` neighbours from one on.
inline uint64_t FindInGroup(const Solution& solution, const RibbonGroup& group,
                            unsigned neighbour, unsigned count) {
#if defined(__x86_64__)
  // Fewer take less time one by one.
  constexpr unsigned kMany = 3;
  if (count >= kMany && kHasCarrylessProducts) {
    return SolvedOf(solution, group,
                    ~uint64_t{0} >> (64 - count) << neighbour) >>
           neighbour;
  }
#endif
  uint64_t found = 0;
  for (unsigned i = 0; i < count; i++) {
    found |= uint64_t{IsSolvedOne(solution, group, neighbour + i)} << i;
  }
  return found;
}

class RibbonSet final : public AmqSet {
 public:
  RibbonSet(const AmqHeader& header, const char* data)
      : log_(header.small[0]),
        entries_(data),
        solutions_(data + (RibbonShard::kEncodedBytes << log_)) {}

  bool MayContain(uint64_t hash) const override { return Contains(hash); }

  uint64_t FindNeighbours(uint64_t hash, unsigned count) const override {
    const auto [shard, solution] = ShardOf(hash);
    uint64_t found = 0;
    for (unsigned i = 0; i < count;) {
      const uint64_t first = shard.LocalHash(hash + i);
      const unsigned neighbour = shard.NeighbourOf(first);
      const unsigned in_group =
          std::min(count - i, (1u << shard.group_bits) - neighbour);
      found |= FindInGroup(solution, shard.GroupOf(first), neighbour, in_group)
               << i;
      i += in_group;
    }
    return found;
  }

  size_t Keep(size_t count, AmqLookup* lookups) const override {
    // Prefetches the first columns. The results are cheaper to compute again
    // than to keep.
    for (size_t i = 0; i < count; i++) {
      const auto [shard, solution] = ShardOf(lookups[i].hash);
      const uint64_t hash = shard.LocalHash(lookups[i].hash);
      const uint64_t block =
          (shard.GroupOf(hash).start + shard.NeighbourOf(hash)) /
          kRibbonSlotsPerBlock;
      Prefetch(solution.Block(block));
      Prefetch(solution.Block(block + 1));
    }
    return KeepThose(count, lookups,
                     [this](uint64_t hash) { return MayContain(hash); });
  }

  // Returns true if all shards lie within `bytes` bytes of data, one after the
  // other.
  bool IsIntact(uint64_t bytes) const {
    const uint64_t segments =
        (bytes - (RibbonShard::kEncodedBytes << log_)) / kRibbonSegmentBytes;
    uint32_t begin = 0;
    for (size_t i = 0; i < size_t{1} << log_; i++) {
      const RibbonShard shard = ShardAt(i);
      if (shard.blocks < kRibbonMinBlocks || shard.end < begin ||
          shard.end > segments || shard.group_bits > kNeighbourBits ||
          shard.end - begin > shard.blocks * kRibbonMaxColumns ||
          shard.columns !=
              RibbonColumns::Most(shard.end - begin, shard.blocks)) {
        return false;
      }
      begin = shard.end;
    }
    return true;
  }

 private:
  struct OpenShard {
    RibbonShard shard;
    Solution solution;
  };

  RibbonShard ShardAt(size_t index) const {
    return RibbonShard::DecodeFrom(entries_ +
                                   RibbonShard::kEncodedBytes * index);
  }
  OpenShard ShardOf(uint64_t hash) const {
    const size_t index = hash >> 1 >> (63 - log_);
    const RibbonShard shard = ShardAt(index);
    const uint64_t begin = index == 0 ? 0 : ShardAt(index - 1).end;
    return {shard,
            {RibbonColumns(shard.end - begin, shard.blocks, shard.columns),
             solutions_ + begin * kRibbonSegmentBytes}};
  }
  bool Contains(uint64_t hash) const;

  const unsigned log_;
  const char* const entries_;
  const char* const solutions_;
};

PROTEAN_CLONED bool RibbonSet::Contains(uint64_t hash) const {
  const OpenShard found = ShardOf(hash);
  hash = found.shard.LocalHash(hash);
  return IsSolved(found.solution, found.shard.GroupOf(hash),
                  found.shard.NeighbourOf(hash));
}

}  // namespace

AmqSet* OpenRibbon(const AmqHeader& header, const char* data, void* memory) {
  static_assert(sizeof(RibbonSet) <= AmqSet::kMaxBytes);
  auto* const set = new (memory) RibbonSet(header, data);
  return set->IsIntact(header.bytes) ? set : nullptr;
}

}  // namespace ROCKSDB_NAMESPACE::protean
