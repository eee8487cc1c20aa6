// SPDX-License-Identifier: Apache-2.0

//  The option point_lookups_use_whole_keys=true of Proteus and 1PBF: point
//  queries ask a set of the whole keys and no other layer.

#include <gtest/gtest.h>

#include <cmath>

#include "filter_policy/proteus/proteus.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/lcg.h"
#include "util/bloom_impl.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr FilterSalt kSalt = {41, 42};

Keys Integers(size_t count) {
  Lcg random(1);
  return MakeKeys(count, [&](size_t) { return random.Bytes(8); });
}

Keys Names(size_t count) {
  Lcg random(2);
  return MakeKeys(count, [&](size_t) {
    return "user/" + random.Word("abcdefghijklmnopqrstuvwxyz-", 5, 17);
  });
}

// The answers to all points, asked one by one and in batches, which must agree.
std::vector<bool> Points(const FilterBlock& block, const Keys& points) {
  std::vector<bool> answers;
  for (const std::string& point : points) {
    answers.push_back(block.KeyMayMatch(point));
  }
  EXPECT_EQ(answers, AnswersToBatch(block, points));
  return answers;
}

size_t CountPassed(const FilterBlock& block, const Keys& points) {
  const std::vector<bool> answers = Points(block, points);
  return static_cast<size_t>(std::count(answers.begin(), answers.end(), true));
}

// The rate of RocksDB's Bloom filter, with the probes for other bits per key.
double BloomRate(double bits_per_key, double bits_for_probes) {
  return BloomMath::CacheLocalFpRate(
      bits_per_key,
      FastLocalBloomImpl::ChooseNumProbes(
          static_cast<int>(1000 * bits_for_probes)),
      512);
}

// A block of a policy that has the option, or has not.
std::string BlockOfPolicy(const Keys& keys, bool keys_alone,
                          double bits_per_key = 12,
                          const BlockBasedTableOptions& table = {}) {
  ProteusPolicyOptions options;
  options.point_lookups_use_whole_keys = keys_alone;
  options.bits_per_key = bits_per_key;
  const ProteusFilterPolicy policy(DesignSpace::kProteus, options);
  const auto builder = NewBuilder(policy, table);
  for (const std::string& key : keys) builder->AddKey(key);
  return Finish(builder.get());
}

Keys AbsentPoints(const Keys& keys, size_t count) {
  Lcg random(3);
  Keys points = {"", std::string(1, '\0'), "\xff\xff\xff\xff\xff\xff\xff\xff"};
  while (points.size() < count) {
    std::string point = keys[random.Next(keys.size())];
    const size_t shared = random.Next(point.size());
    for (size_t i = shared; i < point.size(); i++)
      point[i] ^= random.Bytes(1)[0];
    if (!std::binary_search(keys.begin(), keys.end(), point)) {
      points.push_back(point);
    }
  }
  return points;
}

// Whatever the layers for ranges are, points have the answers of the set.
TEST(PointsTest, OnlyTheSetIsAsked) {
  for (const Keys& keys : {Integers(3000), Names(3000)}) {
    const Keys points = AbsentPoints(keys, 20000);
    for (AmqKind amq : {kBloomAmq, kRibbonAmq}) {
      constexpr double kShare = 0.2;
      // The answers of the first design; the others have the same set.
      std::vector<bool> expected;
      for (const ProteusDesign& ranges :
           {TrieAndSet(12, 40, amq), TrieAndSet(0, 24, amq, 8),
            TrieAndSet(0, 100, amq), TrieAndSet(0, 41, amq)}) {
        const ProteusDesign design = WithKeys(ranges, kShare, /*alone=*/true);
        SCOPED_TRACE(design.Describe());
        const OwnBlock block(BuildProteusBlock(keys, design, 50, kSalt));
        ASSERT_NO_FATAL_FAILURE(ExpectHolds(*block, keys));
        EXPECT_TRUE(block.proteus().design().points_ask_keys_alone());
        EXPECT_EQ(design.Describe(), block.proteus().design().Describe());
        const std::vector<bool> answers = Points(*block, points);
        if (expected.empty()) expected = answers;
        EXPECT_EQ(expected, answers);

        // Where the other layers are asked as well, they let less through.
        const OwnBlock all(
            BuildProteusBlock(keys, WithKeys(ranges, kShare), 50, kSalt));
        ASSERT_NO_FATAL_FAILURE(ExpectHolds(*all, keys));
        EXPECT_FALSE(all.proteus().design().points_ask_keys_alone());
        const std::vector<bool> fewer = Points(*all, points);
        size_t resolved = 0;
        for (size_t i = 0; i < points.size(); i++) {
          ASSERT_LE(fewer[i], answers[i]);
          resolved += answers[i] && !fewer[i];
        }
        EXPECT_LT(0u, resolved);
      }
    }
  }
}

// Keys of one length are not told from others by it.
TEST(PointsTest, LengthsAreNotTold) {
  for (const bool keys_alone : {false, true}) {
    const OwnBlock block(BlockOfPolicy(Integers(1000), keys_alone));
    EXPECT_EQ(keys_alone, block->header().key_lengths == 0);
    EXPECT_EQ(keys_alone, block.proteus().design().points_ask_keys_alone());
  }
}

// Without samples, points pass no more often than by RocksDB's Bloom filter.
TEST(PointsTest, ThePromiseIsKept) {
  for (const Keys& keys : {Integers(50000), Names(50000)}) {
    const Keys points = AbsentPoints(keys, 200000);
    for (const double bits : {8.0, 10.0, 12.0, 14.0, 18.0}) {
      for (const DesignSpace space :
           {DesignSpace::kOnePrefixFilter, DesignSpace::kProteus}) {
        ProteusSettings settings;
        settings.space = space;
        settings.bits_per_key = bits;
        settings.keys_alone = true;
        const OwnBlock block(BuildProteusBlock(keys, settings, {}, kSalt));
        const ProteusDesign& design = block.proteus().design();
        SCOPED_TRACE(std::to_string(bits) + " bits: " + design.Describe());
        ASSERT_TRUE(design.points_ask_keys_alone());
        EXPECT_GT(design.size(), 1u);
        const double expected =
            BloomRate(bits, bits) * static_cast<double>(points.size());
        EXPECT_LE(static_cast<double>(CountPassed(*block, points)),
                  expected + 4 * std::sqrt(expected));
      }
    }
  }
}

// Parts, whose tries may take more than the model expects, keep it too.
TEST(PointsTest, PartsKeepThePromise) {
  constexpr size_t kPartKeys = 2200;
  constexpr double kBits = 14;
  for (Keys keys : {Integers(11 * kPartKeys), Names(11 * kPartKeys)}) {
    keys.resize(10 * kPartKeys);
    BlockBasedTableOptions table;
    table.cache_index_and_filter_blocks = true;
    table.metadata_block_size = kPartKeys * static_cast<size_t>(kBits) / 8;
    table.block_size_deviation = 0;
    const OwnBlock block(
        BlockOfPolicy(keys, /*keys_alone=*/true, kBits, table));
    ASSERT_NO_FATAL_FAILURE(ExpectHolds(*block, keys));
    EXPECT_EQ(10u, block->directory().parts().size());
    EXPECT_TRUE(block.proteus().design().points_ask_keys_alone());
    const Keys points = AbsentPoints(keys, 200000);
    // The directory and the headers of a part take some of its bits.
    EXPECT_LE(static_cast<double>(CountPassed(*block, points)),
              BloomRate(kBits - 1, kBits) * static_cast<double>(points.size()));
  }
}

// Samples of ranges give these most memory; samples of points keep it.
TEST(PointsTest, SamplesShareTheMemory) {
  const Keys keys = Integers(50000);
  Lcg random(5);
  std::vector<SampleQuery> points;
  std::vector<SampleQuery> ranges;
  for (int i = 0; i < 20000; i++) {
    const std::string lo = random.Bytes(8);
    points.push_back({lo, lo, true});
    std::string hi = lo;
    hi[3] = static_cast<char>(hi[3] | 0x7f);
    if (hi > lo) ranges.push_back({lo, hi, true});
  }
  const auto rates = [&](const std::vector<SampleQuery>& samples) {
    ProteusSettings settings;
    settings.bits_per_key = 14;
    settings.keys_alone = true;
    const OwnBlock block(BuildProteusBlock(keys, settings, samples, kSalt));
    EXPECT_TRUE(block.proteus().design().points_ask_keys_alone());
    double point_passed = 0;
    for (const SampleQuery& point : points) {
      point_passed += block->KeyMayMatch(point.lo);
    }
    double range_passed = 0;
    double empty = 0;
    for (const SampleQuery& range : ranges) {
      if (KeysIn(keys, range.lo, range.hi) > 0) continue;
      empty++;
      range_passed += block->RangeMayMatch(range.lo, range.hi, true);
    }
    return std::pair(point_passed / static_cast<double>(points.size()),
                     range_passed / empty);
  };
  const auto [points_of_points, ranges_of_points] = rates(points);
  const auto [points_of_ranges, ranges_of_ranges] = rates(ranges);
  EXPECT_LT(points_of_points, 0.003);
  EXPECT_LT(points_of_points, points_of_ranges);
  EXPECT_LT(ranges_of_ranges, 0.02);
  EXPECT_LT(ranges_of_ranges, ranges_of_points);
}

// With a prefix extractor, points ask for prefixes, which no set of keys holds.
TEST(PointsTest, NoEffectOnPrefixes) {
  const Keys keys = Names(1000);
  ProteusPolicyOptions options;
  options.point_lookups_use_whole_keys = true;
  const ProteusFilterPolicy policy(DesignSpace::kProteus, options);
  const auto builder = NewBuilder(policy);
  for (const std::string& key : keys) {
    builder->AddKeyAndAlt(key, key.substr(0, 6));
  }
  const OwnBlock block(Finish(builder.get()));
  EXPECT_EQ(nullptr, block.proteus().design().keys());
  for (const std::string& key : keys) {
    ASSERT_TRUE(block->EntryMayMatch(key));
    ASSERT_TRUE(block->EntryMayMatch(key.substr(0, 6)));
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
