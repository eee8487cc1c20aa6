// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/amq/quotient.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

#include "filter_policy/amq/bloom.h"
#include "filter_policy/amq/neighbours.h"
#include "filter_policy/bits/bit_array.h"
#include "util/fastrange.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kUnit = 128;  // quotients of which the table tells
constexpr uint64_t kUnitsPerEntry = 4;
constexpr uint64_t kEntryBytes = 8;
// The bits in which an entry counts the hashes of all units before, and those
// of the entry's first units.
constexpr unsigned kBeforeBits = 32;
constexpr unsigned kInEntryBits = 10;
// The counts begin with two zeros, so that a query may look at the two bits
// before the end of any quotient.
constexpr uint64_t kZeros = 2;
// The words of counts that a query loads, needed or not.
constexpr unsigned kWordsAhead = 3;
constexpr unsigned kMaxRemainderBits = 32;
constexpr uint64_t kMaxHashes = uint64_t{1} << 31;
constexpr uint64_t kMaxQuotients = ~uint32_t{0};
// The most hashes that groups have, where a hash is. A query compares them one
// by one.
constexpr double kMaxInGroup = 8;

// Where the data has what.
struct Layout {
  uint64_t quotients;
  unsigned remainder_bits;

  uint64_t units() const { return (quotients + kUnit - 1) / kUnit; }
  uint64_t entries() const {
    return (units() + kUnitsPerEntry - 1) / kUnitsPerEntry;
  }
  // The last entry, behind those of units, has the number of all hashes.
  uint64_t TableBytes() const { return kEntryBytes * (entries() + 1); }
  uint64_t CountBits(uint64_t hashes) const {
    return kZeros + quotients + hashes;
  }
  uint64_t Bytes(uint64_t hashes) const {
    return TableBytes() + BitArrayBytes(CountBits(hashes)) +
           BitArrayBytes(hashes * remainder_bits) + 8 * kWordsAhead;
  }

  uint64_t Quotient(uint64_t hash) const {
    return FastRange32(Upper32of64(hash), static_cast<uint32_t>(quotients));
  }
  // The remainders of a group of 2^group_bits neighbours follow each other,
  // from a random one on.
  uint64_t Remainder(uint64_t hash, unsigned group_bits) const {
    const uint64_t neighbour = hash & LowBits(group_bits);
    return ((hash >> group_bits) + neighbour) & LowBits(remainder_bits);
  }
};

// The most quotients with which that many hashes fit in the bytes; 0 if there
// are none.
uint64_t QuotientsFor(uint64_t hashes, unsigned remainder_bits,
                      uint64_t bytes) {
  uint64_t fits = 0;
  uint64_t too_many = std::min(kMaxQuotients, 8 * bytes) + 1;
  while (fits + 1 < too_many) {
    const uint64_t middle = fits + (too_many - fits) / 2;
    (Layout{middle, remainder_bits}.Bytes(hashes) <= bytes ? fits : too_many) =
        middle;
  }
  return fits;
}

AmqPlan Plan(uint64_t hashes, uint64_t bytes) {
  AmqPlan plan;
  if (hashes > kMaxHashes) return plan;
  // A Bloom filter of the same size may have to take its place.
  bytes = bytes / BloomSet::kLineBytes * BloomSet::kLineBytes;
  for (unsigned bits = 1; bits <= kMaxRemainderBits; bits++) {
    const uint64_t quotients = QuotientsFor(hashes, bits, bytes);
    // An entry can count no more. More bits of the remainders leave even less
    // for quotients.
    constexpr double kMaxHashesPerQuotient = 1.5;
    if (kMaxHashesPerQuotient * static_cast<double>(quotients) <
        static_cast<double>(hashes)) {
      break;
    }
    const double rate =
        -std::expm1(-static_cast<double>(hashes) /
                    std::ldexp(static_cast<double>(quotients), bits));
    if (rate >= plan.false_positive_rate) continue;
    plan.kind = kQuotientAmq;
    plan.hashes = hashes;
    plan.small[0] = static_cast<uint8_t>(bits);
    plan.large = static_cast<uint32_t>(quotients);
    plan.false_positive_rate = rate;
  }
  if (plan.kind == AmqKind::kNone) return plan;
  plan.bytes = (Layout{plan.large, plan.small[0]}.Bytes(hashes) +
                BloomSet::kLineBytes - 1) /
               BloomSet::kLineBytes * BloomSet::kLineBytes;
  return plan;
}

// Sorts hashes that have the same bits from `shift` on: the bits below choose a
// bucket, to which the hashes are moved within their memory (McIlroy, Bostic
// and McIlroy, "Engineering Radix Sort", 1993). There are at most 256 buckets,
// and some ten hashes to each if there are fewer hashes.
void SortHashes(uint64_t* begin, uint64_t* end, unsigned shift) {
  constexpr ptrdiff_t kFew = 24;
  constexpr unsigned kMaxBits = 8;
  if (end - begin <= kFew || shift < kMaxBits) {
    std::sort(begin, end);
    return;
  }
  const unsigned bits =
      std::min(kMaxBits, BitsFor(static_cast<uint64_t>(end - begin) / 8));
  const size_t buckets = size_t{1} << bits;
  shift -= bits;
  const auto bucket = [=](uint64_t hash) {
    return hash >> shift & (buckets - 1);
  };
  size_t counts[1 << kMaxBits];
  std::fill_n(counts, buckets, 0);
  for (const uint64_t* hash = begin; hash < end; hash++) {
    counts[bucket(*hash)]++;
  }
  uint64_t* next[1 << kMaxBits];  // where the bucket's next hash goes
  uint64_t* ends[1 << kMaxBits];
  uint64_t* at = begin;
  for (size_t i = 0; i < buckets; i++) {
    next[i] = at;
    ends[i] = at += counts[i];
  }
  for (size_t i = 0; i < buckets; i++) {
    while (next[i] < ends[i]) {
      uint64_t hash = *next[i];
      while (bucket(hash) != i) std::swap(hash, *next[bucket(hash)]++);
      *next[i]++ = hash;
    }
  }
  for (size_t i = 0; i < buckets; i++) {
    SortHashes(ends[i] - counts[i], ends[i], shift);
  }
}

class Builder : public AmqSetBuilder {
 public:
  Builder(const AmqPlan& plan, char* data)
      : plan_(plan), layout_{plan.large, plan.small[0]}, data_(data) {
    hashes_.reserve(plan.hashes);
  }

  void Add(const uint64_t* hashes, size_t count) override {
    hashes_.insert(hashes_.end(), hashes, hashes + count);
  }

  AmqHeader Finish() override {
    Sort(&hashes_);
    if (layout_.Bytes(hashes_.size()) > plan_.bytes) return FinishAsBloom();
    AmqHeader header = plan_;
    const unsigned most = std::min(kNeighbourBits, layout_.remainder_bits);
    NeighbourGroups groups = LargestGroups(hashes_, most, kMaxInGroup);
    std::vector<uint64_t> mixed;
    for (;; groups.bits--) {
      const bool as_they_are = groups.bits == kNeighbourBits;
      if (!as_they_are) {
        mixed.clear();
        for (const uint64_t hash : hashes_) {
          mixed.push_back(groups.HashOf(hash));
        }
        Sort(&mixed);
      }
      header.small[1] = static_cast<uint8_t>(groups.bits);
      if (Write(as_they_are ? hashes_ : mixed, groups)) return header;
      if (groups.bits == 0) return FinishAsBloom();
      // Hashes that crowd some units spread when they are mixed.
      std::fill_n(data_, plan_.bytes, '\0');
    }
  }

 private:
  static void Sort(std::vector<uint64_t>* hashes) {
    SortHashes(hashes->data(), hashes->data() + hashes->size(), 64);
    hashes->erase(std::unique(hashes->begin(), hashes->end()), hashes->end());
  }

  // False if an entry cannot count the hashes.
  bool Write(const std::vector<uint64_t>& hashes, NeighbourGroups groups) {
    const uint64_t size = hashes.size();
    char* const counts = data_ + layout_.TableBytes();
    BitWriter remainders(counts + BitArrayBytes(layout_.CountBits(size)), 0);
    uint64_t unit = 0;
    bool fits = true;
    for (uint64_t i = 0; i < size; i++) {
      const uint64_t quotient = layout_.Quotient(hashes[i]);
      for (; unit <= quotient / kUnit; unit++) fits &= BeginUnit(unit, i);
      SetBit(counts, kZeros + quotient + i);
      remainders.Write(layout_.Remainder(hashes[i], groups.bits),
                       layout_.remainder_bits);
    }
    for (; unit <= layout_.entries() * kUnitsPerEntry; unit++) {
      fits &= BeginUnit(unit, size);
    }
    return fits;
  }

  // Says in the table that the units before have that many hashes.
  bool BeginUnit(uint64_t unit, uint64_t hashes) {
    char* const at = data_ + kEntryBytes * (unit / kUnitsPerEntry);
    const uint64_t in_entry = unit % kUnitsPerEntry;
    if (in_entry == 0) {
      EncodeFixed64(at, hashes);
      return true;
    }
    const uint64_t entry = DecodeFixed64(at);
    const uint64_t count = hashes - (entry & LowBits(kBeforeBits));
    EncodeFixed64(
        at, entry | count << (kBeforeBits + kInEntryBits * (in_entry - 1)));
    return count <= LowBits(kInEntryBits);
  }

  // There are more hashes than planned, or nearly all are in a few units.
  AmqHeader FinishAsBloom() const {
    std::fill_n(data_, plan_.bytes, '\0');
    return BuildNeighbourBloom(hashes_, plan_.bytes, data_);
  }

  const AmqPlan plan_;
  const Layout layout_;
  char* const data_;
  std::vector<uint64_t> hashes_;
};

// The parts of a set's data.
struct Parts {
  Layout layout;
  NeighbourGroups groups;
  unsigned group_bits = 0;
  const char* table = nullptr;
  const char* counts = nullptr;
  const char* remainders = nullptr;

  // The number of hashes in the units before.
  uint64_t HashesBefore(uint64_t unit) const {
    const uint64_t entry = LoadWord(table, unit / kUnitsPerEntry);
    const uint64_t in_entry = entry >> kBeforeBits << kInEntryBits >>
                              (kInEntryBits * (unit % kUnitsPerEntry));
    return (entry & LowBits(kBeforeBits)) + (in_entry & LowBits(kInEntryBits));
  }
  // Where the counts of a unit begin.
  uint64_t CountsOf(uint64_t unit) const {
    return kZeros + kUnit * unit + HashesBefore(unit);
  }
};

// Which of `count` neighbours from one on the set may contain, as
// AmqSet::FindNeighbours. They are in one group of the set.
inline uint64_t Find(const Parts& parts, uint64_t hash, unsigned count) {
  const uint64_t quotient = parts.layout.Quotient(hash);
  const uint64_t begin = parts.CountsOf(quotient / kUnit);
  // The zero behind the ones of the quotient is nearly always in one of a few
  // words, which are told apart without a branch. They begin at any byte.
  const char* const words = parts.counts + begin / 8;
  uint64_t index = 0;
  const uint64_t rank = quotient % kUnit;
  uint64_t zeros = ~LoadWord(words, 0) & ~LowBits(begin % 8);
  uint64_t before = 0;
  uint64_t behind = PopCount(zeros);
  for (unsigned i = 1; i < kWordsAhead; i++) {
    const uint64_t next = ~LoadWord(words, i);
    // All ones if the zero is in the next word or behind it.
    const uint64_t is_further = -uint64_t{rank >= behind};
    index -= is_further;
    zeros ^= (zeros ^ next) & is_further;
    before ^= (before ^ behind) & is_further;
    behind += PopCount(next);
  }
  while (rank >= behind) {
    zeros = ~LoadWord(words, ++index);
    before = behind;
    behind += PopCount(zeros);
  }
  uint64_t pos = begin / 8 * 8 + 64 * index +
                 SelectInWord(zeros, static_cast<unsigned>(rank - before));

  // The ones before that are all bits but the zeros of smaller quotients. Most
  // quotients have one or none, which are told apart without a branch.
  const unsigned bits = parts.layout.remainder_bits;
  const uint64_t wanted = parts.layout.Remainder(hash, parts.group_bits);
  const uint64_t last_two = GetBits(parts.counts, pos - 2, 2);
  uint64_t number = pos - kZeros - quotient - (last_two >> 1);
  const auto found = [&] {
    const uint64_t distance =
        (GetBits(parts.remainders, number * bits, bits) - wanted) &
        LowBits(bits);
    return uint64_t{distance < count} << distance % 64;
  };
  // If the quotient has no hash, this is one of another one's.
  uint64_t all = found() & -(last_two >> 1);
  if (last_two != 3) return all;
  for (pos -= 2; GetBit(parts.counts, pos); pos--) {
    number--;
    all |= found();
  }
  return all;
}

PROTEAN_CLONED bool ContainsOne(const Parts& parts, uint64_t hash) {
  return Find(parts, parts.groups.HashOf(hash), 1) != 0;
}

PROTEAN_CLONED uint64_t FindInGroup(const Parts& parts, uint64_t hash,
                                    unsigned count) {
  return Find(parts, hash, count);
}

// Does what AmqSet::Keep does for lookups whose data is in the cache.
PROTEAN_CLONED size_t KeepContained(const Parts& parts, size_t count,
                                    AmqLookup* lookups) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    const AmqLookup lookup = lookups[i];
    lookups[kept] = lookup;
    kept += Find(parts, parts.groups.HashOf(lookup.hash), 1);
  }
  return kept;
}

// Whether the table and the counts agree, so that no query leaves the data.
PROTEAN_CLONED bool AreConsistent(const Parts& parts, uint64_t hashes) {
  const uint64_t end = parts.layout.CountBits(hashes);
  if (parts.HashesBefore(0) != 0 || GetBits(parts.counts, 0, kZeros) != 0) {
    return false;
  }
  uint64_t begin = parts.CountsOf(0);
  for (uint64_t unit = 0; unit < parts.layout.units(); unit++) {
    const bool is_last = unit + 1 == parts.layout.units();
    const uint64_t next = is_last ? end : parts.CountsOf(unit + 1);
    const uint64_t zeros =
        is_last ? parts.layout.quotients - kUnit * unit : kUnit;
    if (next < begin + zeros || next > end || GetBit(parts.counts, next - 1) ||
        CountOnes(parts.counts, begin, next) != next - begin - zeros) {
      return false;
    }
    begin = next;
  }
  return true;
}

class QuotientSet final : public AmqSet {
 public:
  QuotientSet(const AmqHeader& header, const char* data)
      : parts_{{header.large, header.small[0]}, NeighbourGroups()} {
    parts_.groups.bits = parts_.group_bits = header.small[1];
    const Layout& layout = parts_.layout;
    const uint64_t hashes = LoadWord(data, layout.entries());
    if (hashes > kMaxHashes || layout.Bytes(hashes) > header.bytes) return;
    parts_.table = data;
    parts_.counts = data + layout.TableBytes();
    parts_.remainders = parts_.counts + BitArrayBytes(layout.CountBits(hashes));
    if (!AreConsistent(parts_, hashes)) parts_.table = nullptr;
  }

  bool MayContain(uint64_t hash) const override {
    return parts_.table == nullptr || ContainsOne(parts_, hash);
  }

  uint64_t FindNeighbours(uint64_t hash, unsigned count) const override {
    if (parts_.table == nullptr) return ~uint64_t{0} >> (64 - count);
    return parts_.groups.Find(hash, count, [&](uint64_t first, unsigned some) {
      return FindInGroup(parts_, first, some);
    });
  }

  // The counts and remainders that a query needs are where the table says, so
  // its entries are prefetched first.
  size_t Keep(size_t count, AmqLookup* lookups) const override {
    if (parts_.table == nullptr) return count;
    for (size_t i = 0; i < count; i++) {
      const uint64_t hash = parts_.groups.HashOf(lookups[i].hash);
      Prefetch(parts_.table + parts_.layout.Quotient(hash) /
                                  (kUnit * kUnitsPerEntry) * kEntryBytes);
    }
    for (size_t i = 0; i < count; i++) {
      PrefetchParts(parts_.groups.HashOf(lookups[i].hash));
    }
    return KeepContained(parts_, count, lookups);
  }

 private:
  // Prefetches what the query reads if the unit's hashes are spread evenly.
  void PrefetchParts(uint64_t hash) const {
    const uint64_t quotient = parts_.layout.Quotient(hash);
    const uint64_t hashes =
        parts_.HashesBefore(quotient / kUnit) + quotient % kUnit / 2;
    Prefetch(parts_.counts + (quotient + hashes) / 8);
    Prefetch(parts_.remainders + hashes * parts_.layout.remainder_bits / 8);
  }

  Parts parts_;
};

bool IsSane(const AmqHeader& header) {
  const unsigned bits = header.small[0];
  return header.small[1] <= kNeighbourBits && bits >= 1 &&
         bits <= kMaxRemainderBits && header.large > 0 &&
         header.bytes <= uint64_t{1} << 40 &&
         header.bytes % BloomSet::kLineBytes == 0 &&
         header.bytes >= Layout{header.large, bits}.Bytes(0);
}

}  // namespace

const AmqType& QuotientAmqType() {
  static_assert(sizeof(QuotientSet) <= AmqSet::kMaxBytes);
  static const AmqType type = {
      kQuotientAmq,
      "quotient",
      /*takes_neighbours=*/true,
      /*query_nanos=*/17,
      /*next_nanos=*/0.5,
      /*max_hashes_per_key=*/16,
      /*is_automatic=*/false,
      Plan,
      [](const AmqPlan& plan, char* data) -> std::unique_ptr<AmqSetBuilder> {
        return std::make_unique<Builder>(plan, data);
      },
      [](const AmqPlan& plan) -> size_t {
        return sizeof(Builder) + 2 * plan.hashes * sizeof(uint64_t);
      },
      IsSane,
      [](const AmqHeader& header, const char* data, void* memory) -> AmqSet* {
        return new (memory) QuotientSet(header, data);
      },
  };
  return type;
}

}  // namespace ROCKSDB_NAMESPACE::protean
