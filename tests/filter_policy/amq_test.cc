// SPDX-License-Identifier: Apache-2.0

//  Sets of hashes miss no hash, whatever the plan, and have the planned false
//  positive rate.

#include "filter_policy/amq/amq.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "filter_policy/bits/bit_util.h"
#include "test_util/testharness.h"
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
      : header_(Amq::kHeaderSize, '\0'), data_(plan.bytes, '\0') {
    AmqBuilder builder(plan, /*in_second_unit=*/false, header_.data(),
                       data_.data());
    for (uint64_t hash : hashes) builder.Add(hash);
    builder.Finish();
    copy_ = std::make_unique<GuardedBlock>(data_, /*misalignment=*/1);
    EXPECT_OK(amq_.DecodeHeader(header_.data()));
    Slice input = copy_->slice();
    EXPECT_TRUE(amq_.Open(&input));
    EXPECT_TRUE(input.empty()) << "not all that was planned is used";
  }

  const Amq* operator->() const { return &amq_; }
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
  std::string header_;
  std::string data_;
  std::unique_ptr<GuardedBlock> copy_;
  Amq amq_;
};

std::string WithBitFlipped(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  return bytes;
}

}  // namespace

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

// With many hashes, a Ribbon filter is built in shards, which keep its promises
// and its size.
TEST(AmqTest, RibbonInShards) {
  for (size_t count : {131073, 200000, 262145, 400000}) {
    const Hashes hashes = RandomHashes(count, count);
    for (double bits : {0.7, 2.0, 4.3, 14.0}) {
      SCOPED_TRACE(std::to_string(count) + " " + std::to_string(bits));
      const auto bytes =
          static_cast<uint64_t>(static_cast<double>(count) * bits / 8);
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

TEST(AmqTest, ShardsOfOtherHashesThanPlanned) {
  // All hashes are in one shard, or there are more than planned.
  Hashes skewed = RandomHashes(160000, 1);
  for (uint64_t& hash : skewed) hash >>= 8;
  for (const Hashes& hashes :
       {skewed, RandomHashes(200000, 2), Hashes(1000, 7), Hashes()}) {
    const AmqPlan plan = PlanAmq(kRibbonAmq, 160000, 80000);
    BuiltAmq(plan, hashes).ExpectAllFound(hashes);
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
        // Chance decides more in a small set, so that it only must tell
        // anything.
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
          kind == AmqKind::kNone
              ? AmqPlan()
              : PlanAmq(kind, hashes.size(), hashes.size() * bits_per_key / 8),
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

// A set depends neither on the order of its hashes nor on their copies, be
// there a few of all or very many of one.
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

// A Ribbon that cannot hold its hashes becomes a Bloom filter of the same size,
// and the header says so.
TEST(AmqTest, MoreHashesThanPlanned) {
  const Hashes hashes = RandomHashes(5000, 1);
  for (AmqKind kind : kKinds) {
    for (uint64_t planned : {1, 10, 600}) {
      for (uint64_t bytes : {48, 64, 80, 208, 640, 1000, 4000}) {
        SCOPED_TRACE(Name(kind) + " " + std::to_string(bytes));
        BuiltAmq(PlanAmq(kind, planned, bytes), hashes).ExpectAllFound(hashes);
      }
    }
  }
}

TEST(AmqTest, DamagedHeaders) {
  for (AmqKind kind : kKinds) {
    const BuiltAmq built(PlanAmq(kind, 500, 700), RandomHashes(500, 1));
    size_t refused = 0;
    for (size_t bit = 0; bit < 8 * Amq::kHeaderSize; bit++) {
      const std::string header = WithBitFlipped(built.header(), bit);
      const GuardedBlock copy(built.data());
      Slice input = copy.slice();
      Amq amq;
      // An accepted header gives a set that can be asked.
      if (!amq.DecodeHeader(header.data()).ok() || !amq.Open(&input)) {
        refused++;
        continue;
      }
      for (uint64_t hash : RandomHashes(500, 2)) amq.MayContain(hash);
    }
    EXPECT_GT(refused, 40u) << Name(kind);

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
    // The header is cut short.
    const GuardedBlock copy(
        Slice(built.data().data(), built.data().size() - 1));
    Slice input = copy.slice();
    Amq amq;
    EXPECT_OK(amq.DecodeHeader(built.header().data()));
    EXPECT_FALSE(amq.Open(&input));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
