// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/amq/ribbon.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

#if defined(__x86_64__)
#include <wmmintrin.h>
#endif

#include "filter_policy/amq/bloom.h"
#include "filter_policy/amq/neighbours.h"
#include "filter_policy/amq/ribbon_types.h"
#include "port/port.h"
#include "util/coding_lean.h"

// Unrolls the loop that follows, of at most 8 turns.
#if defined(__clang__)
#define PROTEAN_UNROLL _Pragma("unroll")
#else
#define PROTEAN_UNROLL _Pragma("GCC unroll 8")
#endif

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Row = unsigned __int128;

constexpr uint64_t kSegmentBytes = RibbonSizes::kSegmentBytes;
constexpr uint64_t kSlotsPerBlock = RibbonSizes::kSlotsPerBlock;
constexpr uint64_t kMaxColumns = RibbonSizes::kMaxColumns;
constexpr uint64_t kEntryBytes = 8;
constexpr uint64_t kMaxHashes = 950000000;
// A shard has between half of this number of hashes and all of it, on average.
// The rows that are being solved then take 1.3 to 2.6 megabytes. Smaller shards
// are solved a little faster, but a filter of fewer hashes, such as a part, has
// a single one, and would be that much worse than a large one.
constexpr uint64_t kMaxHashesPerShard = 128 << 10;
constexpr unsigned kMaxLog = 24;
constexpr uint32_t kSeeds = 32;
constexpr uint64_t kMaxBlocks = (1 << 18) - 1;
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

// The numbers of a shard's blocks and slots.
uint64_t BlocksFor(uint64_t hashes, unsigned group_bits) {
  const uint64_t slots = RibbonConfig::GetNumSlots(std::max<uint32_t>(
                             1, static_cast<uint32_t>(hashes))) +
                         LowBits(group_bits);
  return std::max<uint64_t>(RibbonSizes::kMinBlocks,
                            (slots + kSlotsPerBlock - 1) / kSlotsPerBlock);
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

// Where a group's first neighbour has its equations, and what they are.
struct Group {
  Group(uint64_t number, uint32_t seed, uint64_t starts) {
    const uint64_t hash =
        NeighbourGroups::Mix(number + (seed + 1) * 0x9e3779b97f4a7c15u);
    start = static_cast<uint64_t>(Row{hash} * starts >> 64);
    const uint64_t low = hash * 0xc2b2ae3d27d4eb4fu;
    const uint64_t high = (low ^ low >> 32) * 0x165667b19e3779f9u;
    coefficients = Row{high ^ high >> 29} << 64 | (low ^ low >> 32) | 1;
    const uint64_t first = (hash ^ hash >> 31) * 0x85ebca77c2b2ae63u;
    const uint64_t second = (first ^ first >> 32) * 0x27d4eb2f165667c5u;
    fingerprints = Row{second ^ second >> 32} << 64 | (first ^ first >> 32);
  }

  // The fingerprint of a neighbour; kMaxColumns bits of it count.
  uint32_t Fingerprint(unsigned neighbour) const {
    const auto low = static_cast<uint64_t>(fingerprints);
    const auto high = static_cast<uint64_t>(fingerprints >> 64);
    return static_cast<uint32_t>(low >> neighbour | high << 1
                                                         << (63 - neighbour));
  }

  uint64_t start;
  Row coefficients;
  Row fingerprints;
};

// What the data says of a shard.
struct Shard {
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
  static Shard DecodeFrom(const char* entry) {
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
  Group GroupOf(uint64_t hash) const {
    return Group(hash >> groups.bits, seed, Starts());
  }
  unsigned NeighbourOf(uint64_t hash) const {
    return static_cast<unsigned>(hash & LowBits(groups.bits));
  }
};

// How the columns of a number of segments are spread over blocks, the last of
// which have the most.
struct Columns {
  Columns(uint64_t num_segments, uint64_t num_blocks)
      : Columns(num_segments, num_blocks, Most(num_segments, num_blocks)) {}
  // With the result of Most, which takes a division.
  Columns(uint64_t num_segments, uint64_t num_blocks, uint64_t most_columns)
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

// Slots that are eliminated, and then solved, together. The bits of an equation
// in them are a byte of it.
constexpr unsigned kStripe = 8;
constexpr uint64_t kStripesPerBlock = kSlotsPerBlock / kStripe;
constexpr unsigned kAllOfStripe = (1u << kStripe) - 1;

// An equation whose coefficients belong to 128 slots in a row. That of a slot
// is the bit which has the slot's number modulo 192, so equations that begin at
// different slots are added up without moving their bits.
//
// Equations are copied and added up as a whole: a CPU waits for parts that it
// has just written to get to its cache before it reads the whole.
struct alignas(32) Equation {
  using Words = uint64_t __attribute__((vector_size(32)));

  bool HasNone() const { return (words[0] | words[1] | words[2]) == 0; }
  bool IsWrong() const { return words[3] != 0; }

  // The coefficients, and the fingerprint.
  Words words;
};

// Where equations have the coefficients of a stripe.
struct Stripe {
  explicit Stripe(uint64_t number)
      : word(number / 8 % 3),
        next_word(word == 2 ? 0 : word + 1),
        last_word(word == 0 ? 2 : word - 1),
        shift(8 * (number % 8)),
        is_odd(number / 8 % 2 != 0) {}

  unsigned ByteOf(const Equation& equation) const {
    return static_cast<unsigned>(equation.words[word] >> shift) & 0xff;
  }
  // Writes an equation that begins at a slot of the stripe.
  void Write(Row coefficients, unsigned slot, uint32_t fingerprint,
             Equation* equation) const {
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
  Row RowOf(const Equation& equation) const {
    const uint64_t own = equation.words[word] | equation.words[last_word];
    const uint64_t next = equation.words[next_word];
    return is_odd ? Row{own} << 64 | next : Row{next} << 64 | own;
  }

  uint64_t word;
  uint64_t next_word;
  uint64_t last_word;
  unsigned shift;
  bool is_odd;  // of a block's two words
};

// Eliminates the coefficients of one stripe after the other, in equations that
// begin there or before.
//
// Each slot takes an equation whose first coefficient is the slot's, if there
// is one. Which slots take one, and the solution, do not depend on the order of
// the equations. So those that begin in a stripe take free slots first, without
// a branch that no CPU could predict, and only the slots that are left are
// looked for among the equations that wait. The others are then reduced by
// tables of all sums of the equations taken ("method of the four Russians").
class Elimination {
 public:
  // Room for equations that begin in a stripe.
  void Reserve(size_t count) {
    if (waiting_.size() < num_waiting_ + count) {
      waiting_.resize(2 * (num_waiting_ + count));
    }
  }
  // The place for an equation that begins at a slot of the stripe.
  Equation* Add(unsigned slot) {
    const unsigned is_taken = taken_ >> slot & 1;
    Equation* const places[] = {&equations_[slot], &waiting_[num_waiting_]};
    num_waiting_ += is_taken;
    taken_ |= 1u << slot;
    return places[is_taken];
  }
  // Eliminates a stripe, and writes the equation of each of its slots, or
  // zeros.
  void Finish(const Stripe& stripe, Row* rows, uint32_t* results) {
    size_t left = num_waiting_;
    for (unsigned slot = 0; slot < kStripe; slot++) {
      bytes_[slot] = stripe.ByteOf(equations_[slot]);
    }
    while (taken_ != kAllOfStripe && left > 0) TakeLast(stripe, &left);
    if (left > 0) ReduceFirst(stripe, left);
    for (unsigned slot = 0; slot < kStripe; slot++) {
      rows[slot] = stripe.RowOf(equations_[slot]);
      results[slot] = static_cast<uint32_t>(equations_[slot].words[3]);
      equations_[slot].words = Equation::Words{};
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
    std::fill_n(equations_, kStripe, Equation{});
  }

 private:
  // Gives a free slot, if it can, the last of the first `left` equations that
  // wait.
  void TakeLast(const Stripe& stripe, size_t* left) {
    Equation& equation = waiting_[--*left];
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
  void ReduceFirst(const Stripe& stripe, size_t left) {
    constexpr unsigned kHalf = kStripe / 2;
    constexpr unsigned kSums = 1u << kHalf;
    // For each half of a byte, the sum of equations that has it, and for the
    // first half, the other half of that sum.
    Equation first[kSums];
    Equation second[kSums];
    unsigned other[kSums];
    first[0].words = second[0].words = Equation::Words{};
    other[0] = 0;
    PROTEAN_UNROLL
    for (unsigned slot = kHalf; slot-- > 0;) {
      const Equation& low = equations_[slot];
      const Equation& high = equations_[slot + kHalf];
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
    Equation* const end = &waiting_[0] + left;
    for (Equation* equation = &waiting_[0]; equation != end; equation++) {
      const unsigned byte = stripe.ByteOf(*equation);
      equation->words ^= first[byte % kSums].words ^
                         second[byte >> kHalf ^ other[byte % kSums]].words;
    }
  }

  unsigned taken_ = 0;  // slots of the stripe
  Equation equations_[kStripe] = {};
  unsigned bytes_[kStripe] = {};
  size_t num_waiting_ = 0;
  std::vector<Equation> waiting_;
};

// The equations of a shard, one for each slot or none, and their solution.
struct Equations {
  std::vector<Row> rows;
  std::vector<uint32_t> results;
};

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

// Solves equations from the last slot to the first one. Bits that no equation
// decides are zeros.
//
// The solution of a slot is a number, whose bits are those of all columns. An
// equation adds up the numbers that its coefficients select: for each byte of
// them, tables have the sum of what it selects in its stripe.
PROTEAN_CLONED void Solve(const Row* rows, const uint32_t* results,
                          const Columns& columns, char* segments) {
  // For each byte, the sums that differ in its last four bits.
  SumsOfFour sums[kStripesPerBlock][1u << (kStripe / 2)] = {};
  const auto sum_of = [&](uint64_t i, uint64_t byte) {
    return reinterpret_cast<const uint32_t*>(sums[i])[byte & 0xff];
  };
  uint32_t solved[kSlotsPerBlock];
  for (uint64_t block = columns.blocks; block-- > 0;) {
    for (uint64_t stripe = kStripesPerBlock; stripe-- > 0;) {
      uint32_t* const own = &solved[kStripe * stripe];
      const Row* const row = rows + block * kSlotsPerBlock + kStripe * stripe;
      const uint32_t* const result =
          results + block * kSlotsPerBlock + kStripe * stripe;
      // The sums of the solutions of each half of the stripe's slots.
      constexpr unsigned kHalf = kStripe / 2;
      SumsOfFour halves[2];
      PROTEAN_UNROLL
      for (unsigned slot = kStripe; slot-- > 0;) {
        uint64_t words[] = {static_cast<uint64_t>(row[slot]),
                            static_cast<uint64_t>(row[slot] >> 64)};
        uint64_t& with_own = words[stripe / 8];
        const unsigned shift = 8 * (stripe % 8);
        const uint64_t selected = with_own >> shift;
        // The coefficients before the slot are those of the stripe one block
        // further on.
        with_own &= ~(uint64_t{kAllOfStripe - LowBits(slot)} << shift);
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

// Adds the equations of a shard, stripe by stripe: `hashes` has local hashes,
// those of a stripe up to its end in `ends`. False if they contradict each
// other.
PROTEAN_CLONED bool Eliminate(const uint64_t* hashes, const Shard& shard,
                              const uint32_t* ends, Elimination* elimination,
                              Equations* equations) {
  const uint64_t starts = shard.Starts();
  uint32_t next = 0;
  for (uint64_t number = 0; number < shard.blocks * kStripesPerBlock;
       number++) {
    const Stripe stripe(number);
    elimination->Reserve(ends[number] - next);
    for (; next < ends[number]; next++) {
      const uint64_t hash = hashes[next];
      const Group group(hash >> shard.groups.bits, shard.seed, starts);
      const unsigned neighbour = shard.NeighbourOf(hash);
      const auto slot =
          static_cast<unsigned>((group.start + neighbour) % kStripe);
      stripe.Write(group.coefficients, slot, group.Fingerprint(neighbour),
                   elimination->Add(slot));
    }
    elimination->Finish(stripe, &equations->rows[kStripe * number],
                        &equations->results[kStripe * number]);
    if (number % kStripesPerBlock == kStripesPerBlock - 1 &&
        !elimination->DropSolved()) {
      return false;
    }
  }
  return elimination->IsDone();
}

AmqPlan Plan(uint64_t hashes, uint64_t bytes) {
  AmqPlan plan;
  const unsigned log = LogOfShards(hashes);
  if (hashes > kMaxHashes || log > kMaxLog) return plan;
  const uint64_t shards = uint64_t{1} << log;
  const uint64_t in_shard = hashes >> log;
  const uint64_t blocks = BlocksFor(in_shard, MaxGroupBits(in_shard));
  // A Bloom filter of the same size may have to take its place.
  constexpr uint64_t kUnit = BloomSet::kLineBytes;
  bytes =
      std::min((bytes / kUnit) * kUnit,
               (shards * (kEntryBytes + blocks * kSegmentBytes * kMaxColumns) +
                kUnit - 1) /
                   kUnit * kUnit);
  if (bytes < shards * (kEntryBytes + kSegmentBytes)) return plan;
  // The ends of segments have 32 bits.
  if (bytes / kSegmentBytes > ~uint32_t{0}) return plan;
  plan.kind = kRibbonAmq;
  plan.hashes = hashes;
  plan.bytes = bytes;
  plan.small[0] = static_cast<uint8_t>(log);
  const uint64_t segments = std::min(
      (bytes / shards - kEntryBytes) / kSegmentBytes, blocks * kMaxColumns);
  plan.false_positive_rate = Columns(segments, blocks).FalsePositiveRate();
  return plan;
}

class Builder : public AmqSetBuilder {
 public:
  Builder(const AmqPlan& plan, char* data)
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

  // If the hashes do not fit, which is next to impossible, the set becomes a
  // Bloom filter of the same size.
  AmqHeader Finish() override {
    std::vector<Shard> found(shards_.size());
    uint64_t added = 0;
    for (const std::vector<uint64_t>& shard : shards_) added += shard.size();
    uint64_t all_blocks = 0;
    for (size_t i = 0; i < shards_.size(); i++) {
      // Hashes that were not planned are repeated ones.
      uint64_t distinct = shards_[i].size();
      if (added > plan_.hashes) distinct = distinct * plan_.hashes / added;
      found[i].groups = GroupsFor(shards_[i], distinct);
      found[i].blocks =
          static_cast<uint32_t>(BlocksFor(distinct, found[i].groups.bits));
      if (found[i].blocks > kMaxBlocks) return FinishAsBloom();
      all_blocks += found[i].blocks;
    }
    const uint64_t segments =
        (plan_.bytes - kEntryBytes * shards_.size()) / kSegmentBytes;
    char* const solutions = data_ + kEntryBytes * shards_.size();
    Equations equations;
    uint64_t blocks = 0;
    uint32_t begin = 0;
    for (size_t i = 0; i < shards_.size(); i++) {
      Shard& shard = found[i];
      blocks += shard.blocks;
      shard.end = static_cast<uint32_t>(
          std::min<uint64_t>(segments * blocks / all_blocks,
                             begin + uint64_t{shard.blocks} * kMaxColumns));
      if (!Fit(shards_[i], &equations, &shard)) return FinishAsBloom();
      const Columns columns(shard.end - begin, shard.blocks);
      shard.columns = static_cast<uint32_t>(columns.most);
      Solve(equations.rows.data(), equations.results.data(), columns,
            solutions + begin * kSegmentBytes);
      shard.EncodeTo(data_ + kEntryBytes * i);
      begin = shard.end;
    }
    return plan_;
  }

 private:
  // Groups that are not harder to solve than single hashes.
  NeighbourGroups GroupsFor(const std::vector<uint64_t>& hashes,
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
    SortInto(sorted_.data(), count, &some_);
    some_.erase(std::unique(some_.begin(), some_.end()), some_.end());
    return LargestGroups(some_, MaxGroupBits(distinct), kMaxInGroup);
  }

  // Sorts hashes of one shard: groups, whose numbers are random, by the highest
  // bits that are not those of all, and then the few with the same ones.
  void SortInto(const uint64_t* hashes, size_t count,
                std::vector<uint64_t>* sorted) {
    const unsigned log = plan_.small[0];
    const unsigned bits = BitsFor(count);
    const auto bucket = [&](size_t i) {
      return hashes[i] << log >> 1 >> (63 - bits);
    };
    ends_.assign((size_t{1} << bits) + 1, 0);
    for (size_t i = 0; i < count; i++) ends_[bucket(i) + 1]++;
    for (size_t i = 1; i < ends_.size(); i++) ends_[i] += ends_[i - 1];
    sorted->resize(count);
    for (size_t i = 0; i < count; i++) {
      (*sorted)[ends_[bucket(i)]++] = hashes[i];
    }
    uint64_t* begin = sorted->data();
    for (size_t i = 0; i + 1 < ends_.size(); i++) {
      uint64_t* const end = sorted->data() + ends_[i];
      if (end - begin > 1) std::sort(begin, end);
      begin = end;
    }
  }

  // Finds a seed with which the equations can be solved. If there is none,
  // smaller groups may have one.
  bool Fit(const std::vector<uint64_t>& hashes, Equations* equations,
           Shard* shard) {
    constexpr uint32_t kSeedsForGroups = 4;
    for (;; shard->groups.bits--) {
      const uint32_t seeds = shard->groups.bits > 0 ? kSeedsForGroups : kSeeds;
      for (shard->seed = 0; shard->seed < seeds; shard->seed++) {
        if (AddAll(hashes, *shard, equations)) return true;
      }
      if (shard->groups.bits == 0) return false;
    }
  }

  // Adds the equations of all hashes, which are sorted by their stripes before.
  bool AddAll(const std::vector<uint64_t>& hashes, const Shard& shard,
              Equations* equations) {
    const uint64_t slots = shard.blocks * kSlotsPerBlock;
    equations->rows.resize(slots);
    equations->results.resize(slots);
    ends_.assign(slots / kStripe + 1, 0);
    stripes_.resize(hashes.size());
    sorted_.resize(hashes.size());
    const uint64_t starts = shard.Starts();
    const size_t count = hashes.size();
    uint32_t* const stripes = stripes_.data();
    uint32_t* const ends = ends_.data();
    uint64_t* const sorted = sorted_.data();
    for (size_t i = 0; i < count; i++) {
      const uint64_t local = shard.groups.HashOf(hashes[i]);
      const Group group(local >> shard.groups.bits, shard.seed, starts);
      const uint64_t slot = group.start + shard.NeighbourOf(local);
      stripes[i] = static_cast<uint32_t>(slot / kStripe);
      ends[stripes[i] + 1]++;
    }
    for (size_t i = 1; i < ends_.size(); i++) ends[i] += ends[i - 1];
    // Hashes whose places are prefetched before the first one is written.
    constexpr size_t kAhead = 16;
    for (size_t i = 0; i < count; i++) {
      const size_t ahead = std::min(i + kAhead, count - 1);
      PREFETCH(&sorted[ends[stripes[ahead]]], 1, 3);
      sorted[ends[stripes[i]]++] = shard.groups.HashOf(hashes[i]);
    }
    elimination_.Reset();
    return Eliminate(sorted_.data(), shard, ends_.data(), &elimination_,
                     equations);
  }

  AmqHeader FinishAsBloom() const {
    std::fill_n(data_, plan_.bytes, '\0');
    std::vector<uint64_t> hashes;
    for (const std::vector<uint64_t>& shard : shards_) {
      hashes.insert(hashes.end(), shard.begin(), shard.end());
    }
    return BuildNeighbourBloom(hashes, plan_.bytes, data_);
  }

  const AmqPlan plan_;
  char* const data_;
  std::vector<std::vector<uint64_t>> shards_;
  std::vector<uint64_t> some_;  // of the hashes of a shard
  // The local hashes of a shard, sorted by their stripes.
  std::vector<uint64_t> sorted_;
  std::vector<uint32_t> stripes_;  // of the hashes, in their own order
  std::vector<uint32_t> ends_;     // of the stripes in sorted_
  Elimination elimination_;
};

// The solution of a shard.
struct Solution {
  Columns columns;
  const char* segments;

  const char* Block(uint64_t block) const {
    return segments +
           columns.Begin(std::min(block, columns.blocks - 1)) * kSegmentBytes;
  }
  // The block behind `block`, which begins at `begin`; the last one has itself.
  const char* Next(uint64_t block, const char* begin) const {
    return block + 1 < columns.blocks
               ? begin + columns.In(block) * kSegmentBytes
               : begin;
  }
};

// Whether a neighbour's fingerprint is that of the solution.
inline bool IsSolved(const Solution& solution, const Group& group,
                     unsigned neighbour) {
  const uint64_t start = group.start + neighbour;
  const uint64_t block = start / kSlotsPerBlock;
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
  const uint64_t columns = solution.columns.In(group.start / kSlotsPerBlock);
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

PROTEAN_CLONED bool IsSolvedOne(const Solution& solution, const Group& group,
                                unsigned neighbour) {
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
                                                    const Group& group,
                                                    uint64_t neighbours) {
  const uint64_t block = group.start / kSlotsPerBlock;
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

#else

constexpr bool kHasCarrylessProducts = false;

uint64_t SolvedOf(const Solution&, const Group&, uint64_t neighbours) {
  return neighbours;
}

#endif

// The parts of a set's data.
struct Parts {
  unsigned log;
  const char* entries;
  const char* solutions;

  size_t IndexOf(uint64_t hash) const { return hash >> 1 >> (63 - log); }
  Shard ShardAt(size_t index) const {
    return Shard::DecodeFrom(entries + kEntryBytes * index);
  }
  Solution SolutionOf(size_t index, const Shard& shard) const {
    const uint64_t begin = index == 0 ? 0 : ShardAt(index - 1).end;
    return {Columns(shard.end - begin, shard.blocks, shard.columns),
            solutions + begin * kSegmentBytes};
  }

  // Whether all shards lie within the segments, one behind the other.
  bool AreIntact(uint64_t segments) const {
    uint32_t begin = 0;
    for (size_t i = 0; i < size_t{1} << log; i++) {
      const Shard shard = ShardAt(i);
      if (shard.blocks < RibbonSizes::kMinBlocks || shard.end < begin ||
          shard.end > segments || shard.groups.bits > kNeighbourBits ||
          shard.end - begin > shard.blocks * kMaxColumns ||
          shard.columns != Columns::Most(shard.end - begin, shard.blocks)) {
        return false;
      }
      begin = shard.end;
    }
    return true;
  }
};

PROTEAN_CLONED bool ContainsOne(const Parts& parts, uint64_t hash) {
  const size_t index = parts.IndexOf(hash);
  const Shard shard = parts.ShardAt(index);
  hash = shard.groups.HashOf(hash);
  return IsSolved(parts.SolutionOf(index, shard), shard.GroupOf(hash),
                  shard.NeighbourOf(hash));
}

class RibbonSet final : public AmqSet {
 public:
  RibbonSet(const AmqHeader& header, const char* data)
      : parts_{header.small[0], data, data + (kEntryBytes << header.small[0])},
        is_damaged_(!parts_.AreIntact(
            (header.bytes - (kEntryBytes << header.small[0])) /
            kSegmentBytes)) {}

  bool MayContain(uint64_t hash) const override {
    return is_damaged_ || ContainsOne(parts_, hash);
  }

  uint64_t FindNeighbours(uint64_t hash, unsigned count) const override {
    if (is_damaged_) return ~uint64_t{0} >> (64 - count);
    const size_t index = parts_.IndexOf(hash);
    const Shard shard = parts_.ShardAt(index);
    const Solution solution = parts_.SolutionOf(index, shard);
    return shard.groups.Find(hash, count, [&](uint64_t first, unsigned some) {
      const Group group = shard.GroupOf(first);
      const unsigned neighbour = shard.NeighbourOf(first);
      // Fewer take less time one by one.
      constexpr unsigned kMany = 3;
      if (some >= kMany && kHasCarrylessProducts) {
        return SolvedOf(solution, group,
                        ~uint64_t{0} >> (64 - some) << neighbour) >>
               neighbour;
      }
      uint64_t found = 0;
      for (unsigned i = 0; i < some; i++) {
        found |= uint64_t{IsSolvedOne(solution, group, neighbour + i)} << i;
      }
      return found;
    });
  }

  size_t Keep(size_t count, AmqLookup* lookups) const override {
    if (is_damaged_) return count;
    for (size_t i = 0; i < count; i++) PrefetchFor(lookups[i].hash);
    return KeepThose(count, lookups,
                     [this](uint64_t hash) { return MayContain(hash); });
  }

 private:
  // Prefetches the first columns. The results are cheaper to compute again than
  // to keep.
  void PrefetchFor(uint64_t hash) const {
    const size_t index = parts_.IndexOf(hash);
    const Shard shard = parts_.ShardAt(index);
    hash = shard.groups.HashOf(hash);
    const uint64_t block =
        (shard.GroupOf(hash).start + shard.NeighbourOf(hash)) / kSlotsPerBlock;
    const Solution solution = parts_.SolutionOf(index, shard);
    Prefetch(solution.Block(block));
    Prefetch(solution.Block(block + 1));
  }

  const Parts parts_;
  // A set that is damaged contains everything.
  const bool is_damaged_;
};

bool IsSane(const AmqHeader& header) {
  return header.small[0] <= kMaxLog &&
         header.bytes >= kEntryBytes << header.small[0] &&
         header.bytes <= uint64_t{1} << 40;
}

}  // namespace

const AmqType& RibbonAmqType() {
  static_assert(sizeof(RibbonSet) <= AmqSet::kMaxBytes);
  static const AmqType type = {
      kRibbonAmq,
      "ribbon",
      /*takes_neighbours=*/true,
      /*query_nanos=*/25,
      /*next_nanos=*/1.5,
      /*max_hashes_per_key=*/8,
      /*is_automatic=*/true,
      Plan,
      [](const AmqPlan& plan, char* data) -> std::unique_ptr<AmqSetBuilder> {
        return std::make_unique<Builder>(plan, data);
      },
      [](const AmqPlan& plan) -> size_t {
        const uint64_t mean = plan.hashes >> plan.small[0];
        const uint64_t slots =
            BlocksFor(mean + mean / 16, kNeighbourBits) * kSlotsPerBlock;
        // Each hash, its copy in a shard and the number of its stripe; each
        // slot's equation; the ends of stripes; a sample of the hashes.
        return sizeof(Builder) +
               (plan.hashes + plan.hashes / 16) * sizeof(uint64_t) +
               mean * (sizeof(uint64_t) + sizeof(uint32_t)) +
               slots * (sizeof(Row) + sizeof(uint32_t)) +
               slots / kStripe * sizeof(uint32_t) +
               std::min(mean, uint64_t{1} << 14) * sizeof(uint64_t);
      },
      IsSane,
      [](const AmqHeader& header, const char* data, void* memory) -> AmqSet* {
        return new (memory) RibbonSet(header, data);
      },
  };
  return type;
}

}  // namespace ROCKSDB_NAMESPACE::protean
