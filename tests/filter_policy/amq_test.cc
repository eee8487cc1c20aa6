// SPDX-License-Identifier: Apache-2.0

//  Sets of hashes, whatever the plan, also if they keep neighbours together,
//  miss no hash and have the planned false positive rate.

#include "filter_policy/amq/amq.h"

#include <cmath>
#include <random>

#include "filter_policy/bits/bit_util.h"
#include "tests/filter_blocks.h"
#include "util/bloom_impl.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Hashes = std::vector<uint64_t>;

constexpr AmqKind kKinds[] = {kBloomAmq, kRibbonAmq};

std::string Name(AmqKind kind) {
  const AmqType* const type = FindAmqType(kind);
  return type == nullptr ? "none" : type->name;
}

Hashes RandomHashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Hashes hashes(count);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
}

// A set that was written and opened again, in memory of exactly its size.
class BuiltAmq {
 public:
  BuiltAmq(const AmqPlan& plan, const Hashes& hashes)
      : plan_(plan), header_(Amq::kHeaderSize, '\0'), data_(plan.bytes, '\0') {
    AmqBuilder builder(plan, /*in_second_unit=*/false, header_.data(),
                       data_.data());
    for (uint64_t hash : hashes) builder.Add(hash);
    builder.Finish();
    copy_ = std::make_unique<GuardedBlock>(data_, /*misalignment=*/1);
    EXPECT_OK(amq_.DecodeHeader(header_.data()));
    Slice input = copy_->slice();
    EXPECT_TRUE(amq_.Open(&input));
    EXPECT_TRUE(input.empty()) << "not all that was planned is used";
    EXPECT_EQ(builder.TakesNeighbours(), amq_.TakesNeighbours());
  }

  const Amq* operator->() const { return &amq_; }
  const AmqPlan& plan() const { return plan_; }
  const std::string& header() const { return header_; }
  const std::string& data() const { return data_; }

  void ExpectAllFound(const Hashes& hashes) const {
    for (uint64_t hash : hashes) ASSERT_TRUE(amq_.MayContain(hash)) << hash;
  }
  // The number of absent hashes that the set takes for present ones.
  double FalsePositives(size_t queries) const {
    double count = 0;
    for (uint64_t hash : RandomHashes(queries, /*seed=*/2)) {
      count += amq_.MayContain(hash);
    }
    return count;
  }
  // `tolerance` is relative, and comes on top of what chance does.
  void ExpectRate(double rate, double tolerance, double few = 0) const {
    constexpr size_t kQueries = 400000;
    const double expected = kQueries * rate;
    EXPECT_NEAR(expected, FalsePositives(kQueries),
                tolerance * expected + 4 * std::sqrt(expected) + few);
  }

 private:
  const AmqPlan plan_;
  std::string header_;
  std::string data_;
  std::unique_ptr<GuardedBlock> copy_;
  Amq amq_;
};

TEST(AmqTest, RateIsAsPlanned) {
  constexpr size_t kHashes = 20000;
  const Hashes hashes = RandomHashes(kHashes, 1);
  for (AmqKind kind : kKinds) {
    double last_rate = 1;
    for (int bits_per_key = 1; bits_per_key <= 40;
         bits_per_key += bits_per_key < 16 ? 1 : 4) {
      SCOPED_TRACE(Name(kind) + " " + std::to_string(bits_per_key));
      const uint64_t bytes = kHashes * bits_per_key / 8;
      const AmqPlan plan = PlanAmq(kind, kHashes, bytes);
      ASSERT_EQ(kind, plan.kind);
      EXPECT_LE(plan.bytes, bytes);
      if (plan.false_positive_rate > 1e-9) {
        EXPECT_LT(bytes - plan.bytes, 512u);
      }
      EXPECT_LE(plan.false_positive_rate, last_rate * 1.001);
      last_rate = plan.false_positive_rate;
      const BuiltAmq amq(plan, hashes);
      EXPECT_EQ(kind, amq->kind());
      amq.ExpectAllFound(hashes);
      amq.ExpectRate(plan.false_positive_rate, 0.15, 3);
    }
  }
}

TEST(AmqTest, RibbonNeedsFewerBits) {
  constexpr uint64_t kHashes = 100000;
  for (int bits_per_key : {8, 10, 12, 14, 20}) {
    const uint64_t bytes = kHashes * bits_per_key / 8;
    EXPECT_LT(PlanAmq(kRibbonAmq, kHashes, bytes).false_positive_rate,
              PlanAmq(kBloomAmq, kHashes, bytes).false_positive_rate);
  }
}

TEST(AmqTest, BloomIsNoWorseThanRocksDBs) {
  constexpr size_t kHashes = 50000;
  for (double bits_per_key : {6.0, 10.0, 12.0, 14.0, 16.0}) {
    const auto bytes = static_cast<uint64_t>(kHashes * bits_per_key / 8);
    const double rate = PlanAmq(kBloomAmq, kHashes, bytes).false_positive_rate;
    const int probes = FastLocalBloomImpl::ChooseNumProbes(
        static_cast<int>(1000 * bits_per_key));
    EXPECT_LE(rate, 1.02 * FastLocalBloomImpl::EstimatedFpRate(
                               kHashes, bytes, probes, /*hash_bits=*/64));
  }
}

// With many hashes, a Ribbon filter consists of shards.
TEST(AmqTest, RibbonInShards) {
  for (size_t count : {131073, 200000, 262145, 400000}) {
    const Hashes hashes = RandomHashes(count, count);
    for (double bits : {0.7, 2.0, 4.3, 14.0}) {
      SCOPED_TRACE(std::to_string(count) + " " + std::to_string(bits));
      const auto bytes = static_cast<uint64_t>(count * bits / 8);
      const AmqPlan plan = PlanAmq(kRibbonAmq, count, bytes);
      ASSERT_EQ(kRibbonAmq, plan.kind);
      EXPECT_LE(plan.bytes, bytes);
      EXPECT_LT(bytes - plan.bytes, 64u);
      EXPECT_GT(plan.small[0], 0);
      const BuiltAmq amq(plan, hashes);
      EXPECT_EQ(kRibbonAmq, amq->kind());
      amq.ExpectAllFound(hashes);
      amq.ExpectRate(plan.false_positive_rate, 0.1);
    }
  }
}

// Whatever the table of the shards says, no query reads beyond the data.
TEST(AmqTest, DamagedShards) {
  const Hashes hashes = RandomHashes(300000, 1);
  const BuiltAmq built(PlanAmq(kRibbonAmq, hashes.size(), 100000), hashes);
  const size_t table = 8 * 4;
  for (size_t bit = 0; bit < 8 * table; bit++) {
    const GuardedBlock copy(WithBitFlipped(built.data(), bit));
    Slice input = copy.slice();
    Amq amq;
    ASSERT_OK(amq.DecodeHeader(built.header().data()));
    ASSERT_TRUE(amq.Open(&input));
    for (size_t i = 0; i < 1000; i++) amq.MayContain(hashes[i]);
  }
}

TEST(AmqTest, TinySets) {
  for (AmqKind kind : {AmqKind::kNone, kBloomAmq, kRibbonAmq}) {
    for (size_t count : {0, 1, 2, 3, 100, 127, 128, 129, 1000}) {
      const Hashes hashes = RandomHashes(count, count);
      for (uint64_t bytes :
           {0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 200, 1000, 10000}) {
        SCOPED_TRACE(Name(kind) + ", " + std::to_string(count) + " in " +
                     std::to_string(bytes));
        const AmqPlan plan = PlanAmq(kind, count, bytes);
        if (count == 0 || bytes == 0) {
          EXPECT_EQ(AmqKind::kNone, plan.kind);
        }
        EXPECT_LE(plan.bytes, bytes);
        EXPECT_TRUE(plan.kind == kind || plan.kind == AmqKind::kNone);
        EXPECT_EQ(plan.kind == AmqKind::kNone, plan.bytes == 0);
        const BuiltAmq amq(plan, hashes);
        amq.ExpectAllFound(hashes);
        if (plan.kind == AmqKind::kNone) {
          EXPECT_EQ(1, plan.false_positive_rate);
          EXPECT_EQ(1000, amq.FalsePositives(1000));
          EXPECT_EQ(1000,
                    BuiltAmq(plan, RandomHashes(10, 1)).FalsePositives(1000));
          continue;
        }
        // Chance decides more in a small set: it must tell anything at all.
        EXPECT_LE(amq.FalsePositives(20000),
                  2 * 20000 * plan.false_positive_rate + 100);
      }
    }
  }
}

TEST(AmqTest, KeepsWhatMayBeContained) {
  const Hashes hashes = RandomHashes(1000, 8);
  for (AmqKind kind : {AmqKind::kNone, kBloomAmq, kRibbonAmq}) {
    for (uint64_t bits_per_key : {2, 8, 20, 30}) {
      SCOPED_TRACE(Name(kind) + " " + std::to_string(bits_per_key));
      const BuiltAmq amq(
          PlanAmq(kind, hashes.size(), hashes.size() * bits_per_key / 8),
          hashes);
      for (uint32_t size = 0; size <= 64; size++) {
        Hashes asked = RandomHashes(size, size);
        for (size_t i = 0; i < size; i += 3) asked[i] = hashes[size + i];
        std::vector<Amq::Lookup> lookups;
        std::vector<uint32_t> expected;
        for (uint32_t i = 0; i < size; i++) {
          lookups.push_back({asked[i], i});
          if (amq->MayContain(asked[i])) expected.push_back(i);
        }
        lookups.resize(amq->Keep(size, lookups.data()));
        std::vector<uint32_t> kept;
        for (const Amq::Lookup& lookup : lookups) kept.push_back(lookup.index);
        ASSERT_EQ(expected, kept);
      }
    }
  }
}

// There may be a few copies of all or very many of one.
TEST(AmqTest, OrderAndCopiesMakeNoDifference) {
  constexpr size_t kHashes = 3000;
  constexpr size_t kInGroup = 4;
  for (AmqKind kind : kKinds) {
    const AmqPlan plan = PlanAmq(kind, kHashes, 14 * kHashes / 8);
    for (bool in_groups : {false, true}) {
      SCOPED_TRACE(Name(kind) + (in_groups ? " in groups" : ""));
      Hashes hashes = RandomHashes(kHashes, 1);
      for (size_t i = 0; in_groups && i < kHashes; i++) {
        hashes[i] = (hashes[i - i % kInGroup] & ~LowBits(kNeighbourBits)) |
                    (i % kInGroup * 9);
      }
      const BuiltAmq set(plan, hashes);
      EXPECT_EQ(kind, set->kind());
      set.ExpectAllFound(hashes);
      Hashes copies(hashes.rbegin(), hashes.rend());
      EXPECT_EQ(set.data(), BuiltAmq(plan, copies).data());
      copies.insert(copies.end(), hashes.begin(), hashes.end());
      copies.insert(copies.begin() + kHashes / 2, 10000, hashes[7]);
      EXPECT_EQ(set.data(), BuiltAmq(plan, copies).data());
      copies.insert(copies.end(), 300000, hashes[kHashes - 1]);
      BuiltAmq(plan, copies).ExpectAllFound(hashes);
    }
  }
}

// A set that cannot hold its hashes lets more through, but misses none.
TEST(AmqTest, OtherHashesThanPlanned) {
  const Hashes hashes = RandomHashes(5000, 1);
  for (AmqKind kind : kKinds) {
    for (uint64_t planned : {1, 10, 600}) {
      for (uint64_t bytes : {48, 64, 80, 208, 640, 1000, 4000}) {
        SCOPED_TRACE(Name(kind) + " " + std::to_string(bytes));
        BuiltAmq(PlanAmq(kind, planned, bytes), hashes).ExpectAllFound(hashes);
      }
    }
  }
  // All hashes are in one shard, or there are fewer than planned.
  Hashes skewed = RandomHashes(160000, 1);
  for (uint64_t& hash : skewed) hash >>= 8;
  const AmqPlan plan = PlanAmq(kRibbonAmq, 160000, 80000);
  for (const Hashes& in_shards : {skewed, Hashes(1000, 7), Hashes()}) {
    BuiltAmq(plan, in_shards).ExpectAllFound(in_shards);
  }
}

// (Sets with damaged headers that are accepted: filter_damage_test.cc.)
TEST(AmqTest, DamagedHeaders) {
  for (AmqKind kind : kKinds) {
    const BuiltAmq built(PlanAmq(kind, 500, 700), RandomHashes(500, 1));
    const auto decode = [&](size_t offset, const std::string& bytes) {
      std::string header = built.header();
      header.replace(offset, bytes.size(), bytes);
      return Amq().DecodeHeader(header.data());
    };
    EXPECT_OK(decode(0, ""));
    EXPECT_TRUE(decode(0, "\x08").IsCorruption());
    EXPECT_TRUE(decode(0, "\xff").IsCorruption());
    // These have no data, or more than can be addressed.
    EXPECT_TRUE(decode(8, std::string(8, '\0')).IsCorruption());
    EXPECT_TRUE(decode(8, std::string(8, '\xff')).IsCorruption());
    if (kind == kRibbonAmq) {
      EXPECT_TRUE(decode(1, "\x19").IsCorruption());
      EXPECT_TRUE(decode(1, "\x0c").IsCorruption());
    }
    const GuardedBlock copy(
        Slice(built.data().data(), built.data().size() - 1));
    Slice input = copy.slice();
    Amq amq;
    EXPECT_OK(amq.DecodeHeader(built.header().data()));
    EXPECT_FALSE(amq.Open(&input));
  }
}

// ---- Neighbours ----

constexpr uint64_t kGroupSize = 1 << kNeighbourBits;

// Numbers that follow each other, as prefixes do, and their hashes.
using Numbers = std::vector<uint64_t>;

uint64_t HashOf(uint64_t number) {
  const uint64_t last = number % kGroupSize;
  return (MixNeighbours(number / kGroupSize + 1) & ~(kGroupSize - 1)) | last;
}

// How stored numbers may lie.
const char* const kShapes[] = {"sparse",  "full", "half",
                               "aligned", "runs", "mixed"};

Numbers NumbersOf(const std::string& shape, size_t count) {
  std::mt19937_64 random(shape == "sparse" ? 1 : shape == "runs" ? 2 : 3);
  Numbers numbers;
  for (uint64_t i = 0; numbers.size() < count; i++) {
    if (shape == "runs") {
      const uint64_t begin = random();
      for (uint64_t size = 1 + random() % 200; size > 0; size--) {
        numbers.push_back(begin + size);
      }
    } else if (shape == "mixed" && i < count / 50) {
      // Nearly all others are alone.
      numbers.push_back(1000 + i);
    } else if (shape == "full") {
      numbers.push_back(17 + i);
    } else if (shape == "half") {
      numbers.push_back(2 * i);
    } else if (shape == "aligned") {
      numbers.push_back(63 + kGroupSize * i);
    } else {
      numbers.push_back(random());
    }
  }
  numbers.resize(count);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

Hashes HashesOfNumbers(const Numbers& numbers) {
  Hashes hashes;
  for (const uint64_t number : numbers) hashes.push_back(HashOf(number));
  return hashes;
}

class NeighbourSet : public BuiltAmq {
 public:
  NeighbourSet(const Numbers& numbers, double bits_per_hash)
      : BuiltAmq(PlanAmq(kRibbonAmq, numbers.size(),
                         static_cast<uint64_t>(
                             bits_per_hash / 8 * numbers.size() + 64)),
                 HashesOfNumbers(numbers)) {
    EXPECT_TRUE((*this)->TakesNeighbours());
  }

  // Whether any number of [first, last] may be there, by groups.
  bool AnyIn(uint64_t first, uint64_t last) const {
    for (uint64_t at = first;;) {
      const uint64_t left = kGroupSize - 1 - at % kGroupSize;
      const uint64_t count = std::min(last - at, left) + 1;
      if ((*this)->FindNeighbours(HashOf(at), count) != 0) return true;
      if (count > last - at) return false;
      at += count;
    }
  }
};

bool HoldsBetween(const Numbers& numbers, uint64_t first, uint64_t last) {
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), first);
  return at != numbers.end() && *at <= last;
}

}  // namespace

TEST(NeighboursTest, AnswersAsOneByOne) {
  std::mt19937_64 random(4);
  for (const std::string shape : kShapes) {
    for (const size_t count : {1, 2, 60, 1000, 20000, 200000}) {
      const Numbers numbers = NumbersOf(shape, count);
      for (const double bits : {4.0, 9.0, 14.0, 21.0}) {
        SCOPED_TRACE(shape + " " + std::to_string(count) + " " +
                     std::to_string(bits));
        const NeighbourSet set(numbers, bits);
        set.ExpectAllFound(HashesOfNumbers(numbers));
        for (int i = 0; i < 300; i++) {
          const uint64_t near =
              numbers[random() % numbers.size()] + random() % 256 - 128;
          const uint64_t first = i % 3 == 0 ? random() : near;
          const uint64_t most = kGroupSize - first % kGroupSize;
          const uint64_t asked = 1 + random() % most;
          const uint64_t found = set->FindNeighbours(HashOf(first), asked);
          for (uint64_t j = 0; j < kGroupSize; j++) {
            ASSERT_EQ(j < asked && set->MayContain(HashOf(first + j)),
                      (found >> j & 1) != 0);
          }
        }
      }
    }
  }
}

// With words and with bytes as keys, a trie, two sets, and prefixes so long
// that a group begins in one byte and ends in another.
TEST(NeighboursTest, FiltersMissNoKeyInARange) {
  std::mt19937_64 random(8);
  for (const char* const tail : {"", "-tail"}) {
    for (const std::string shape : kShapes) {
      const Numbers numbers = NumbersOf(shape, 2000);
      const Keys keys = MakeKeys(numbers.size(), [&](size_t i) {
        return BigEndian(numbers[i]) + tail;
      });
      for (const ProteusDesign& design :
           {TrieAndSet(0, 64, kRibbonAmq), TrieAndSet(0, 61, kRibbonAmq),
            TrieAndSet(9, 63, kRibbonAmq), TwoSets(57, 64, kRibbonAmq),
            TwoSets(60, 62, kRibbonAmq), TwoSets(3, 59, kRibbonAmq)}) {
        SCOPED_TRACE(shape + tail + " " + design.Describe());
        const OwnBlock filter(BuildProteusBlock(keys, design, 16));
        for (int i = 0; i < 2000; i++) {
          const uint64_t size = random() >> (53 + random() % 11);
          const uint64_t first =
              numbers[random() % numbers.size()] - random() % (size + 2);
          const uint64_t last =
              first > ~uint64_t{0} - size ? ~uint64_t{0} : first + size;
          if (!HoldsBetween(numbers, first, last)) continue;
          ASSERT_TRUE(filter->RangeMayMatch(BigEndian(first),
                                            BigEndian(last) + "\xff", true));
        }
      }
    }
  }
}

// A range of m numbers that are not there is let through as often as m hashes
// are, whatever the stored numbers have in common.
TEST(NeighboursTest, RateIsThatOfSingleHashes) {
  std::mt19937_64 random(6);
  for (const std::string shape : kShapes) {
    const Numbers numbers = NumbersOf(shape, 100000);
    for (const double bits : {7.0, 14.0}) {
      SCOPED_TRACE(shape + " " + std::to_string(bits));
      const NeighbourSet set(numbers, bits);
      constexpr size_t kQueries = 100000;
      for (const uint64_t size : {1, 20, 200}) {
        double expected = 0;
        double found = 0;
        for (size_t i = 0; i < kQueries; i++) {
          // Half of them are near stored numbers, and all end as these may.
          uint64_t first = random();
          if (i % 2 == 0) {
            first = numbers[random() % numbers.size()] + 1 + random() % 2000;
          }
          if (size == 1) first |= kGroupSize - 1;
          if (HoldsBetween(numbers, first, first + size - 1)) continue;
          expected -=
              std::expm1(size * std::log1p(-set.plan().false_positive_rate));
          found += set.AnyIn(first, first + size - 1);
        }
        EXPECT_LE(found, 1.15 * expected + 5 * std::sqrt(expected) + 5);
      }
    }
  }
}

TEST(NeighboursTest, CrowdedGroupsAreSmaller) {
  const NeighbourSet ribbon(NumbersOf("full", 20000), 14);
  EXPECT_EQ(kRibbonAmq, ribbon->kind());

  for (unsigned bits = 0; bits <= kNeighbourBits; bits++) {
    Numbers hashes;
    for (uint64_t i = 0; i < kGroupSize; i += uint64_t{1} << bits) {
      hashes.push_back(i);
    }
    EXPECT_EQ(bits, LargestGroups(hashes, kNeighbourBits, 1));
    EXPECT_EQ(std::min(bits + 1, kNeighbourBits),
              LargestGroups(hashes, kNeighbourBits, 2));
    EXPECT_EQ(std::min(bits, 2u), LargestGroups(hashes, 2, 1));
  }
  EXPECT_EQ(kNeighbourBits, LargestGroups({}, kNeighbourBits, 1));
}

// Whatever the data say, no query for neighbours reads beyond them.
TEST(NeighboursTest, DamagedData) {
  const Numbers numbers = NumbersOf("mixed", 600);
  std::mt19937_64 random(7);
  const NeighbourSet built(numbers, 14);
  GuardedMemory memory(built.data().size());
  for (size_t round = 0; round < 4000; round++) {
    std::string data = built.data();
    // The tables are in front.
    const size_t at = random() % (round % 2 == 0 ? 40 : data.size());
    data[at] = static_cast<char>(random());
    std::string header = built.header();
    if (round % 5 == 0) header[1 + random() % 7] = static_cast<char>(random());
    Slice input = memory.PlaceAtEnd(data);
    Amq amq;
    if (!amq.DecodeHeader(header.data()).ok() || !amq.Open(&input)) continue;
    for (uint64_t i = 0; i < 50; i++) {
      const uint64_t hash = random() & ~(kGroupSize - 1);
      amq.FindNeighbours(hash, 1 + random() % kGroupSize);
      amq.MayContain(hash + random() % kGroupSize);
    }
  }
}

// More hashes than planned cannot be solved. Then the set contains everything.
TEST(NeighboursTest, UnsolvedSetContainsEverything) {
  const Numbers numbers = NumbersOf("sparse", 3000);
  const BuiltAmq amq(PlanAmq(kRibbonAmq, 300, 2000), HashesOfNumbers(numbers));
  EXPECT_EQ(kRibbonAmq, amq->kind());
  EXPECT_TRUE(amq->TakesNeighbours());
  amq.ExpectAllFound(HashesOfNumbers(numbers));
  EXPECT_EQ(1000, amq.FalsePositives(1000));
  std::vector<Amq::Lookup> lookups;
  for (const uint64_t number : numbers) {
    const uint64_t first = number - number % kGroupSize;
    for (uint64_t count = 1; count <= kGroupSize; count++) {
      ASSERT_EQ(~uint64_t{0} >> (64 - count),
                amq->FindNeighbours(HashOf(first), count));
    }
    lookups.push_back({HashOf(number), 0});
  }
  ASSERT_EQ(lookups.size(), amq->Keep(lookups.size(), lookups.data()));
}

// The shards before one that is not solved filter. Here, some hashes of the
// first one are added twice. They seem to be repeated as often in both, so the
// second one gets too few slots.
TEST(AmqTest, SecondShardIsNotSolved) {
  constexpr size_t kHashes = 160000;
  const Hashes hashes = RandomHashes(kHashes, 1);
  Hashes added = hashes;
  for (uint64_t hash : hashes) {
    if (hash >> 63 == 0 && hash % 5 == 0) added.push_back(hash);
  }
  const BuiltAmq amq(PlanAmq(kRibbonAmq, kHashes, 14 * kHashes / 8), added);
  ASSERT_EQ(1, amq.plan().small[0]);
  amq.ExpectAllFound(hashes);
  for (uint64_t hash : RandomHashes(1000, 3)) {
    ASSERT_TRUE(hash >> 63 == 0 || amq->MayContain(hash));
  }
  amq.ExpectRate(0.5, 0.01);
  std::vector<Amq::Lookup> lookups;
  for (uint32_t i = 0; i < 1000; i++) lookups.push_back({hashes[i], i});
  ASSERT_EQ(lookups.size(), amq->Keep(lookups.size(), lookups.data()));
}

}  // namespace ROCKSDB_NAMESPACE::protean
