// SPDX-License-Identifier: Apache-2.0

//  Builds Ribbon sets (ribbon.h): solves the equations of one shard after the
//  other.
//
//  Once the coefficients are eliminated (ribbon_elimination.h), the matrix is
//  triangular, and the solution is found from the last slot to the first one
//  (SolveRibbon). A bit of it is the result of its equation, plus the sum of
//  those later bits that the equation selects. All columns are computed at
//  once: for each byte of the coefficients, a table has the sums of the eight
//  slots that it can select, as words of one bit a column.
//
//  Measured on shards of 100,000 hashes, all of this takes half the time of
//  adding one equation after the other (docs/results/filters.md).

#include <algorithm>
#include <cmath>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "filter_policy/amq/amq_type.h"
#include "filter_policy/amq/bloom.h"
#include "filter_policy/amq/ribbon.h"
#include "filter_policy/amq/ribbon_elimination.h"
#include "port/port.h"
#include "util/coding_lean.h"
#include "util/ribbon_config.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// With this number, the ends of segments still have 32 bits.
constexpr uint64_t kMaxHashes = 950000000;
// A shard has between half of this number of hashes and all of it, on average.
// The rows that are being solved then take 1.3 to 2.6 megabytes. Smaller shards
// are solved a little faster, but a filter of fewer hashes, such as a part, has
// a single one, and would be that much worse than a large one.
constexpr uint64_t kMaxHashesPerShard = 128 << 10;
constexpr uint64_t kMaxBlocks = (1 << 18) - 1;
// The largest logarithm of the number of shards.
constexpr unsigned kMaxLog = 24;
// The fewest hashes of a shard for each slot at its ends that groups leave with
// fewer equations.
constexpr uint64_t kMinHashesPerSlotLost = 256;
// The most hashes that groups have, where a hash is: more are harder to solve.
constexpr double kMaxInGroup = 1.1;

unsigned LogOfShards(uint64_t hashes) {
  unsigned log = 0;
  while (hashes >> log > kMaxHashesPerShard) log++;
  return log;
}

// The slots of a set are as many as RocksDB's own Ribbon filters have.
using RibbonConfig =
    ribbon::BandingConfigHelper1<ribbon::kOneIn20, kRibbonSlotsPerBlock,
                                 /*kUseSmash=*/false, /*kHomogeneous=*/false>;

// The numbers of a shard's blocks and slots.
uint64_t BlocksFor(uint64_t hashes, unsigned group_bits) {
  const uint64_t slots = RibbonConfig::GetNumSlots(std::max<uint32_t>(
                             1, static_cast<uint32_t>(hashes))) +
                         LowBits(group_bits);
  return std::max<uint64_t>(
      kRibbonMinBlocks,
      (slots + kRibbonSlotsPerBlock - 1) / kRibbonSlotsPerBlock);
}

// The largest groups that suit a shard of that many hashes. Another block for
// the slots that they lose would make all others shorter.
unsigned MaxGroupBits(uint64_t hashes) {
  constexpr uint64_t kMany = 64;
  unsigned bits =
      std::min(kNeighbourBits, BitsFor(hashes / kMinHashesPerSlotLost + 1) - 1);
  const uint64_t blocks = BlocksFor(hashes, 0);
  while (blocks < kMany && BlocksFor(hashes, bits) > blocks) bits--;
  return bits;
}

// The equations of a shard, one for each slot or none.
struct RibbonEquations {
  std::vector<RibbonRow> rows;
  std::vector<uint32_t> results;
};

// Adds the equations of a shard, stripe by stripe: `hashes` has local hashes,
// those of a stripe up to its end in `ends`. False if they contradict each
// other.
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
      const RibbonGroup group(hash >> shard.group_bits, shard.seed, starts);
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

// Turns the solutions of the slots of a block, which are numbers, into segments
// of a bit for each slot.
inline void WriteSegments(const uint32_t* solved, uint64_t columns, char* out) {
#if defined(__SSE2__)
  constexpr uint64_t kAtOnce = 16;
  for (uint64_t slot = 0; slot < kRibbonSlotsPerBlock; slot += kAtOnce) {
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
          EncodeFixed16(out + column * kRibbonSegmentBytes + slot / 8,
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
      EncodeFixed64(out + column * kRibbonSegmentBytes + 8 * word, bits);
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

// Solves equations from the last slot to the first one. Bits that no equation
// decides are zeros.
PROTEAN_CLONED void SolveRibbon(const RibbonRow* rows, const uint32_t* results,
                                const RibbonColumns& columns, char* segments) {
  // For each byte, the sums that differ in its last four bits.
  SumsOfFour sums[RibbonStripe::kPerBlock][1u << (RibbonStripe::kSlots / 2)] =
      {};
  const auto sum_of = [&](uint64_t i, uint64_t byte) {
    return reinterpret_cast<const uint32_t*>(sums[i])[byte & 0xff];
  };
  uint32_t solved[kRibbonSlotsPerBlock];
  for (uint64_t block = columns.blocks; block-- > 0;) {
    for (uint64_t stripe = RibbonStripe::kPerBlock; stripe-- > 0;) {
      uint32_t* const own = &solved[RibbonStripe::kSlots * stripe];
      const RibbonRow* const row =
          rows + block * kRibbonSlotsPerBlock + RibbonStripe::kSlots * stripe;
      const uint32_t* const result = results + block * kRibbonSlotsPerBlock +
                                     RibbonStripe::kSlots * stripe;
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
                  segments + columns.Begin(block) * kRibbonSegmentBytes);
  }
}

class RibbonBuilder : public AmqSetBuilder {
 public:
  RibbonBuilder(const AmqPlan& plan, char* data)
      : plan_(plan), data_(data), shards_(size_t{1} << plan.small[0]) {
    const uint64_t mean = plan.hashes >> plan.small[0];
    const auto most = static_cast<size_t>(
        static_cast<double>(mean) + 4 * std::sqrt(static_cast<double>(mean)));
    for (std::vector<uint64_t>& shard : shards_) shard.reserve(most);
  }

  void Add(const uint64_t* hashes, size_t count) override {
    // All neighbours of a group are in one shard.
    const unsigned log = plan_.small[0];
    for (size_t i = 0; i < count; i++) {
      shards_[hashes[i] >> 1 >> (63 - log)].push_back(hashes[i]);
    }
  }

  void Finish() override {
    std::vector<RibbonShard> found(shards_.size());
    uint64_t added = 0;
    for (const std::vector<uint64_t>& shard : shards_) added += shard.size();
    uint64_t all_blocks = 0;
    for (size_t i = 0; i < shards_.size(); i++) {
      // Hashes that were not planned are repeated ones.
      uint64_t distinct = shards_[i].size();
      if (added > plan_.hashes) distinct = distinct * plan_.hashes / added;
      found[i].group_bits = GroupBitsFor(shards_[i], distinct);
      found[i].blocks = static_cast<uint32_t>(
          std::min(BlocksFor(distinct, found[i].group_bits), kMaxBlocks));
      all_blocks += found[i].blocks;
    }
    const uint64_t segments =
        (plan_.bytes - RibbonShard::kEncodedBytes * shards_.size()) /
        kRibbonSegmentBytes;
    char* const solutions = data_ + RibbonShard::kEncodedBytes * shards_.size();
    uint64_t blocks = 0;
    uint32_t begin = 0;
    bool is_solved = true;
    for (size_t i = 0; i < shards_.size(); i++) {
      RibbonShard& shard = found[i];
      blocks += shard.blocks;
      shard.end = static_cast<uint32_t>(std::min<uint64_t>(
          segments * blocks / all_blocks,
          begin + uint64_t{shard.blocks} * kRibbonMaxColumns));
      is_solved = is_solved && Fit(shards_[i], &shard);
      if (!is_solved) {
        // Next to impossible. This shard and all after it have no columns, and
        // so contain everything.
        shard.end = begin;
        shard.seed = 0;
      }
      const RibbonColumns columns(shard.end - begin, shard.blocks);
      shard.columns = static_cast<uint32_t>(columns.most);
      if (is_solved) {
        SolveRibbon(equations_.rows.data(), equations_.results.data(), columns,
                    solutions + begin * kRibbonSegmentBytes);
      }
      shard.EncodeTo(data_ + RibbonShard::kEncodedBytes * i);
      begin = shard.end;
    }
  }

 private:
  // The size of groups that are not harder to solve than single hashes.
  unsigned GroupBitsFor(const std::vector<uint64_t>& hashes,
                        uint64_t distinct) {
    // Every eighth group of many shows how full they are.
    constexpr size_t kMany = 1 << 14;
    const uint64_t skipped =
        hashes.size() < kMany ? 0 : uint64_t{7} << kNeighbourBits;
    sorted_.resize(hashes.size() + 1);
    size_t count = 0;
    for (const uint64_t hash : hashes) {
      sorted_[count] = hash;
      count += (hash & skipped) == 0 ? 1 : 0;
    }
    SortSome(count);
    some_.erase(std::unique(some_.begin(), some_.end()), some_.end());
    return LargestGroups(some_, MaxGroupBits(distinct), kMaxInGroup);
  }

  // Sorts the first `count` hashes of sorted_, which are of one shard, into
  // some_: groups, whose numbers are random, by the highest bits that are not
  // those of all, and then the few with the same ones.
  void SortSome(size_t count) {
    const uint64_t* const hashes = sorted_.data();
    const unsigned log = plan_.small[0];
    const unsigned bits = BitsFor(count);
    const auto bucket = [&](size_t i) {
      return hashes[i] << log >> 1 >> (63 - bits);
    };
    ends_.assign((size_t{1} << bits) + 1, 0);
    for (size_t i = 0; i < count; i++) ends_[bucket(i) + 1]++;
    for (size_t i = 1; i < ends_.size(); i++) ends_[i] += ends_[i - 1];
    some_.resize(count);
    for (size_t i = 0; i < count; i++) some_[ends_[bucket(i)]++] = hashes[i];
    uint64_t* begin = some_.data();
    for (size_t i = 0; i + 1 < ends_.size(); i++) {
      uint64_t* const end = some_.data() + ends_[i];
      if (end - begin > 1) std::sort(begin, end);
      begin = end;
    }
  }

  // Finds a seed with which the equations can be solved. If there is none,
  // smaller groups may have one.
  bool Fit(const std::vector<uint64_t>& hashes, RibbonShard* shard) {
    constexpr uint32_t kSeedsForGroups = 4;
    for (;; shard->group_bits--) {
      const uint32_t seeds =
          shard->group_bits > 0 ? kSeedsForGroups : RibbonShard::kSeeds;
      for (shard->seed = 0; shard->seed < seeds; shard->seed++) {
        if (AddAll(hashes, *shard)) return true;
      }
      if (shard->group_bits == 0) return false;
    }
  }

  // Adds the equations of all hashes, which are sorted by their stripes before.
  bool AddAll(const std::vector<uint64_t>& hashes, const RibbonShard& shard) {
    const uint64_t slots = shard.blocks * kRibbonSlotsPerBlock;
    equations_.rows.resize(slots);
    equations_.results.resize(slots);
    ends_.assign(slots / RibbonStripe::kSlots + 1, 0);
    stripes_.resize(hashes.size());
    sorted_.resize(hashes.size());
    const uint64_t starts = shard.Starts();
    const size_t count = hashes.size();
    uint32_t* const stripes = stripes_.data();
    uint32_t* const ends = ends_.data();
    uint64_t* const sorted = sorted_.data();
    for (size_t i = 0; i < count; i++) {
      const uint64_t local = shard.LocalHash(hashes[i]);
      const RibbonGroup group(local >> shard.group_bits, shard.seed, starts);
      const uint64_t slot = group.start + shard.NeighbourOf(local);
      stripes[i] = static_cast<uint32_t>(slot / RibbonStripe::kSlots);
      ends[stripes[i] + 1]++;
    }
    for (size_t i = 1; i < ends_.size(); i++) ends[i] += ends[i - 1];
    // Hashes whose places are prefetched before the first one is written.
    constexpr size_t kAhead = 16;
    for (size_t i = 0; i < count; i++) {
      const size_t ahead = std::min(i + kAhead, count - 1);
      PREFETCH(&sorted[ends[stripes[ahead]]], 1, 3);
      sorted[ends[stripes[i]]++] = shard.LocalHash(hashes[i]);
    }
    elimination_.Reset();
    return EliminateRibbon(sorted_.data(), shard, ends_.data(), &elimination_,
                           &equations_);
  }

  const AmqPlan plan_;
  char* const data_;
  std::vector<std::vector<uint64_t>> shards_;
  std::vector<uint64_t> some_;  // of the hashes of a shard
  // The local hashes of a shard, sorted by their stripes.
  std::vector<uint64_t> sorted_;
  std::vector<uint32_t> stripes_;  // of the hashes, in their own order
  std::vector<uint32_t> ends_;     // of the stripes in sorted_
  RibbonElimination elimination_;
  RibbonEquations equations_;
};

AmqPlan Plan(uint64_t hashes, uint64_t bytes) {
  AmqPlan plan;
  const unsigned log = LogOfShards(hashes);
  if (hashes > kMaxHashes) return plan;
  const uint64_t shards = uint64_t{1} << log;
  const uint64_t in_shard = hashes >> log;
  const uint64_t blocks = BlocksFor(in_shard, MaxGroupBits(in_shard));
  // Like those of Bloom filters, the data are whole cache lines.
  constexpr uint64_t kUnit = BloomSet::kLineBytes;
  bytes =
      std::min((bytes / kUnit) * kUnit,
               (shards * (RibbonShard::kEncodedBytes +
                          blocks * kRibbonSegmentBytes * kRibbonMaxColumns) +
                kUnit - 1) /
                   kUnit * kUnit);
  if (bytes < shards * (RibbonShard::kEncodedBytes + kRibbonSegmentBytes))
    return plan;
  plan.kind = kRibbonAmq;
  plan.hashes = hashes;
  plan.bytes = bytes;
  plan.small[0] = static_cast<uint8_t>(log);
  const uint64_t segments = std::min(
      (bytes / shards - RibbonShard::kEncodedBytes) / kRibbonSegmentBytes,
      blocks * kRibbonMaxColumns);
  plan.false_positive_rate =
      RibbonColumns(segments, blocks).FalsePositiveRate();
  return plan;
}

size_t BuilderBytes(const AmqPlan& plan) {
  const uint64_t mean = plan.hashes >> plan.small[0];
  const uint64_t slots =
      BlocksFor(mean + mean / 16, kNeighbourBits) * kRibbonSlotsPerBlock;
  // Each hash, its copy in a shard and the number of its stripe; each
  // slot's equation; the ends of stripes; a sample of the hashes.
  return sizeof(RibbonBuilder) +
         (plan.hashes + plan.hashes / 16) * sizeof(uint64_t) +
         mean * (sizeof(uint64_t) + sizeof(uint32_t)) +
         slots * (sizeof(RibbonRow) + sizeof(uint32_t)) +
         slots / RibbonStripe::kSlots * sizeof(uint32_t) +
         std::min(mean, uint64_t{1} << 14) * sizeof(uint64_t);
}

bool IsSane(const AmqHeader& header) {
  return header.small[0] <= kMaxLog &&
         header.bytes >= RibbonShard::kEncodedBytes << header.small[0] &&
         header.bytes <= uint64_t{1} << 40;
}

}  // namespace

unsigned LargestGroups(const std::vector<uint64_t>& hashes, unsigned bits,
                       double most) {
  // For each hash, its place in its group is summed up: groups of n hashes have
  // n (n + 1) / 2 altogether.
  uint64_t sums[kNeighbourBits + 1] = {};
  uint64_t places[kNeighbourBits + 1] = {};
  uint64_t last = 0;
  for (const uint64_t hash : hashes) {
    // The groups that both hashes are in have more bits than what differs.
    const unsigned parts = hashes.data() == &hash ? 64 : BitsFor(hash ^ last);
    for (unsigned i = 0; i <= bits; i++) {
      places[i] = i < parts ? 1 : places[i] + 1;
      sums[i] += places[i];
    }
    last = hash;
  }
  while (bits > 0 && static_cast<double>(2 * sums[bits] - hashes.size()) >
                         most * static_cast<double>(hashes.size())) {
    bits--;
  }
  return bits;
}

const AmqType& RibbonAmqType() {
  static const AmqType type = {
      kRibbonAmq,
      "ribbon",
      /*takes_neighbours=*/true,
      /*query_nanos=*/25,
      /*next_nanos=*/1.5,
      /*build_nanos=*/80,
      /*max_hashes_per_key=*/8,
      Plan,
      [](const AmqPlan& plan, char* data) -> std::unique_ptr<AmqSetBuilder> {
        return std::make_unique<RibbonBuilder>(plan, data);
      },
      BuilderBytes,
      IsSane,
      OpenRibbon,
  };
  return type;
}

}  // namespace ROCKSDB_NAMESPACE::protean
