// SPDX-License-Identifier: Apache-2.0

//  The design of the last keys is taken where keys and samples are like those
//  before, and searched anew where they are not.

#include "filter_policy/proteus/design_memory.h"

#include <gtest/gtest.h>

#include "db_bench_ext/query_source.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Keys = std::vector<std::string>;

class DesignMemoryTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kKeys = 20000;

  DesignMemoryTest() : source_(SourceOf(KeyType::kU64)) {
    settings_.bits_per_key = 14;
    settings_.memory = std::make_shared<DesignMemory>();
  }

  // Other keys and samples for each seed.
  Keys KeysOf(uint64_t seed, uint64_t num = kKeys) {
    Rng rng(seed);
    Keys keys;
    EXPECT_OK(DrawKeys(source_, num, &rng, &keys));
    return keys;
  }
  std::vector<SampleQuery> Samples(const Keys& keys, uint64_t seed,
                                   QueryDistribution distribution,
                                   uint64_t rmax, size_t num = 5000) {
    Rng rng(seed);
    QueryOptions options;
    options.distribution = distribution;
    options.rmax = rmax;
    std::vector<Query> queries;
    EXPECT_OK(
        QuerySource(options, source_, keys).DrawEmpty(num, &rng, &queries));
    std::vector<SampleQuery> samples;
    for (const Query& query : queries) {
      samples.push_back({query.lo, query.hi, true});
    }
    return samples;
  }
  // The design that a file of these keys gets, in words.
  std::string DesignOf(const Keys& keys,
                       const std::vector<SampleQuery>& samples) {
    const std::string bytes = BuildProteusBlock(keys, settings_, samples);
    const FilterBlock block(bytes);
    EXPECT_OK(block.status());
    for (size_t i = 0; i < keys.size(); i += 7) {
      EXPECT_TRUE(block.KeyMayMatch(keys[i]));
    }
    return static_cast<const Proteus&>(*block.filter()).design().Describe();
  }
  std::string SearchedDesignOf(const Keys& keys,
                               const std::vector<SampleQuery>& samples) {
    const auto memory = std::move(settings_.memory);
    const std::string design = DesignOf(keys, samples);
    settings_.memory = memory;
    return design;
  }
  // Replaces the kept design by one that no search would choose, of these
  // rates.
  std::string Plant(const ProteusDesign& design,
                    const CpfprModel::Rates& rates) {
    std::optional<KeptDesign> kept = settings_.memory->Recall();
    EXPECT_TRUE(kept.has_value());
    kept->design = design;
    kept->rates = rates;
    settings_.memory->Keep(*kept);
    return design.Describe();
  }

  const KeySource source_;
  ProteusSettings settings_;
};

constexpr CpfprModel::Rates kBad = {1, 1};
constexpr CpfprModel::Rates kPerfect = {0, 0};

}  // namespace

TEST_F(DesignMemoryTest, ALikeFileTakesTheDesign) {
  for (const ProteusDesign& odd :
       {TrieAndSet(0, 47), TrieAndSet(9, 51), TrieAndSet(0, 52, kRibbonAmq)}) {
    for (const bool taught : {false, true}) {
      const auto samples = [&](const Keys& keys, uint64_t seed) {
        return taught ? Samples(keys, seed, QueryDistribution::kUniform, 1000)
                      : std::vector<SampleQuery>();
      };
      settings_.memory = std::make_shared<DesignMemory>();
      const Keys first = KeysOf(1);
      DesignOf(first, samples(first, 2));
      const std::string planted = Plant(odd, kBad);
      const Keys second = KeysOf(3, kKeys / 2);
      EXPECT_EQ(planted, DesignOf(second, samples(second, 4)));
      // A design is dropped where it is worse than it was.
      Plant(odd, kPerfect);
      const Keys third = KeysOf(5);
      const auto asked = samples(third, 6);
      EXPECT_EQ(SearchedDesignOf(third, asked), DesignOf(third, asked));
      EXPECT_NE(planted, DesignOf(third, asked));
    }
  }
}

TEST_F(DesignMemoryTest, OtherFilesAreSearched) {
  const Keys keys = KeysOf(1);
  const auto uniform = Samples(keys, 2, QueryDistribution::kUniform, 1000);
  const auto expect_searched = [&](const Keys& file,
                                   const std::vector<SampleQuery>& samples,
                                   const char* what) {
    SCOPED_TRACE(what);
    const ProteusSettings usual = settings_;
    settings_.memory = std::make_shared<DesignMemory>();
    settings_.bits_per_key = 14;
    DesignOf(keys, uniform);
    const std::string planted = Plant(TrieAndSet(0, 47), kBad);
    settings_.bits_per_key = usual.bits_per_key;
    EXPECT_EQ(SearchedDesignOf(file, samples), DesignOf(file, samples));
    settings_ = usual;
  };
  expect_searched(keys, {}, "no samples");
  expect_searched(keys,
                  Samples(keys, 3, QueryDistribution::kUniform, 1000, 1000),
                  "few samples");
  expect_searched(keys, Samples(keys, 3, QueryDistribution::kCorrelated, 32),
                  "samples close to keys");
  expect_searched(keys, Samples(keys, 3, QueryDistribution::kUniform, 1 << 30),
                  "long ranges");
  expect_searched(keys, Samples(keys, 3, QueryDistribution::kUniform, 0),
                  "points");
  expect_searched(KeysOf(4, kKeys / 5), uniform, "fewer keys");
  settings_.bits_per_key = 10;
  expect_searched(keys, uniform, "fewer bits");
  settings_.bits_per_key = 14;
}

TEST_F(DesignMemoryTest, NowAndThenAFileIsSearchedAnyway) {
  const Keys keys = KeysOf(1);
  DesignOf(keys, {});
  const std::string planted = Plant(TrieAndSet(0, 47), kBad);
  for (uint32_t i = 1; i < DesignMemory::kMaxUses; i++) {
    ASSERT_EQ(planted, DesignOf(keys, {})) << i;
  }
  EXPECT_NE(planted, DesignOf(keys, {}));
  EXPECT_NE(planted, DesignOf(keys, {}));
}

// The parts of a file are designed in groups, and the next group takes the
// design of the one before. Parts whose tries are too large need a second one.
TEST_F(DesignMemoryTest, PartsTakeTheDesign) {
  settings_.bits_per_key = 9;
  const Keys keys = KeysOf(1);
  ProteusGroup first(settings_, nullptr);
  ProteusGroup second(settings_, nullptr);
  std::string designs[2];
  for (ProteusGroup* group : {&first, &second}) {
    for (size_t i = 0; i < keys.size(); i++) {
      if (i % 1000 == 0) {
        if (i > 0) group->EndPart(1100, /*is_part=*/true, false);
        group->BeginPart();
      }
      group->AddKey(keys[i]);
    }
    group->EndPart(1100, /*is_part=*/true, false);
    ASSERT_OK(group->Design());
    designs[group == &second] = group->header().design.Describe();
    if (group == &first) {
      designs[0] = Plant(TrieAndSet(0, 47), kBad);
    }
  }
  EXPECT_EQ(designs[0], designs[1]);
}

TEST(SampleShapeTest, SamplesOfOneDistributionAreAlike) {
  const KeySource source = SourceOf(KeyType::kText);
  Rng rng(7);
  Keys keys;
  ASSERT_OK(DrawKeys(source, 5000, &rng, &keys));
  KeyStore store;
  for (const std::string& key : keys) store.Append(key);
  const KeyStatistics statistics(store);
  const auto situation = [&](QueryDistribution distribution, size_t num) {
    QueryOptions options;
    options.distribution = distribution;
    std::vector<Query> queries;
    EXPECT_OK(
        QuerySource(options, source, keys).DrawEmpty(num, &rng, &queries));
    std::vector<SampleQuery> samples;
    for (const Query& query : queries) {
      samples.push_back({query.lo, query.hi, query.hi_inclusive});
    }
    const CpfprModel model(store, statistics, samples);
    DesignSituation result;
    result.num_keys = keys.size();
    result.bits_per_key = 12;
    result.num_samples = 1000;
    result.num_looked_at = model.num_samples();
    result.shape = SampleShape(model);
    return result;
  };
  for (size_t num : {30, 100, 1000, 5000}) {
    SCOPED_TRACE(num);
    for (int i = 0; i < 20; i++) {
      EXPECT_TRUE(AreAlike(situation(QueryDistribution::kReal, num),
                           situation(QueryDistribution::kReal, num)));
    }
  }
  EXPECT_FALSE(AreAlike(situation(QueryDistribution::kReal, 1000),
                        situation(QueryDistribution::kPrefix, 1000)));
}

}  // namespace ROCKSDB_NAMESPACE::protean
