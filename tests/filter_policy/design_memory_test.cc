// SPDX-License-Identifier: Apache-2.0

//  An earlier file's design is taken where keys and samples are like its own.

#include "filter_policy/proteus/design_memory.h"

#include "db_bench_ext/query_source.h"
#include "filter_policy/proteus/prior/prior.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Rates = DesignRates;
using Queries = std::vector<SampleQuery>;

constexpr auto kUniform = QueryDistribution::kUniform;

Queries EmptyQueries(const QueryOptions& options, const KeySource& source,
                     const Keys& keys, size_t num, Rng* rng) {
  std::vector<Query> queries;
  EXPECT_OK(QuerySource(options, source, keys).DrawEmpty(num, rng, &queries));
  Queries samples;
  for (const Query& query : queries) {
    samples.push_back({query.lo, query.hi, query.hi_inclusive});
  }
  return samples;
}

class DesignMemoryTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kKeys = 20000;

  DesignMemoryTest() : source_(SourceOf(KeyType::kU64)) {
    settings_.bits_per_key = 14;
    settings_.memory = std::make_shared<DesignMemory>();
  }

  Keys KeysOf(uint64_t seed, uint64_t num = kKeys) {
    Rng rng(seed);
    Keys keys;
    EXPECT_OK(DrawKeys(source_, num, &rng, &keys));
    return keys;
  }
  Queries Samples(const Keys& keys, uint64_t seed,
                  QueryDistribution distribution, uint64_t rmax,
                  size_t num = 5000) {
    Rng rng(seed);
    QueryOptions options;
    options.distribution = distribution;
    options.rmax = rmax;
    return EmptyQueries(options, source_, keys, num, &rng);
  }
  std::string DesignOf(const Keys& keys, const Queries& samples) {
    const OwnBlock block(BuildProteusBlock(keys, settings_, samples));
    for (size_t i = 0; i < keys.size(); i += 7) {
      EXPECT_TRUE(block->KeyMayMatch(keys[i]));
    }
    return block.proteus().design().Describe();
  }
  std::string SearchedDesignOf(const Keys& keys, const Queries& samples) {
    const auto memory = std::move(settings_.memory);
    const std::string design = DesignOf(keys, samples);
    settings_.memory = memory;
    return design;
  }
  Rates RatesOf(const ProteusDesign& design, const Keys& keys,
                const Queries& samples) {
    const KeyStore store = Stored(keys);
    const KeyStatistics statistics(store);
    const CpfprModel model(store, statistics, samples,
                           MakePrior(store, statistics, samples.size(), false));
    const auto bytes =
        static_cast<uint64_t>(settings_.bits_per_key / 8 * keys.size());
    return model.Average(design, PlanLayers(design, statistics, bytes, 0), 1);
  }
  // Replaces the only kept design by one that no search would choose.
  std::string Plant(const ProteusDesign& design, const Rates& rates) {
    std::vector<KeptDesign> kept = settings_.memory->Designs();
    EXPECT_EQ(1u, kept.size());
    kept.front().design = design;
    kept.front().rates = rates;
    settings_.memory = std::make_shared<DesignMemory>();
    settings_.memory->Keep(kept.front());
    return design.Describe();
  }

  const KeySource source_;
  ProteusSettings settings_;
};

TEST_F(DesignMemoryTest, AFileThatIsAlikeTakesTheDesign) {
  for (const ProteusDesign& odd :
       {TrieAndSet(0, 47), TrieAndSet(9, 51), TrieAndSet(0, 52, kRibbonAmq)}) {
    for (const bool taught : {false, true}) {
      SCOPED_TRACE(odd.Describe() + (taught ? ", taught" : ""));
      const auto samples = [&](const Keys& keys, uint64_t seed) {
        return taught ? Samples(keys, seed, kUniform, 1000) : Queries();
      };
      settings_.memory = std::make_shared<DesignMemory>();
      const Keys first = KeysOf(1);
      DesignOf(first, samples(first, 2));
      const Rates rates = RatesOf(odd, first, samples(first, 2));
      const std::string planted = Plant(odd, rates);
      const Keys second = KeysOf(3, kKeys * 4 / 5);
      EXPECT_EQ(planted, DesignOf(second, samples(second, 4)));
      // A kept design is dropped if it is worse than promised, or so good that
      // other designs may be better.
      const Keys third = KeysOf(5);
      const auto asked = samples(third, 6);
      for (const Rates& promised : {Rates{0, 0, 0}, Rates{1, 1, 0}}) {
        if (promised.all < rates.all && rates.all < 0.002) continue;
        Plant(odd, promised);
        EXPECT_EQ(SearchedDesignOf(third, asked), DesignOf(third, asked));
        settings_.memory = std::make_shared<DesignMemory>();
        DesignOf(first, samples(first, 2));
      }
    }
  }
}

TEST_F(DesignMemoryTest, OtherFilesAreSearched) {
  const Keys keys = KeysOf(1);
  const auto uniform = Samples(keys, 2, kUniform, 1000);
  const ProteusDesign odd = TrieAndSet(0, 47);
  const Rates rates = RatesOf(odd, keys, uniform);
  constexpr auto kCorrelated = QueryDistribution::kCorrelated;
  const auto drawn = [&](uint64_t rmax, QueryDistribution queries = kUniform,
                         size_t num = 5000) {
    return Samples(keys, 3, queries, rmax, num);
  };
  // Closer keys share more bits, those of another length are of another kind.
  Keys close = keys;
  for (std::string& key : close) key = "\x7f\x7f" + key.substr(0, 6);
  SortUnique(&close);
  Keys longer = keys;
  for (std::string& key : longer) key += "12345678";
  struct Case {
    const char* name;
    bool is_kept;
    Keys file;
    Queries samples;
    double bits_per_key = 14;
    uint64_t price = kUsualPrice;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"like the first", true, keys, drawn(1000)},
           {"no samples", false, keys, {}},
           {"few samples", false, keys, drawn(1000, kUniform, 1000)},
           {"samples close to keys", false, keys, drawn(32, kCorrelated)},
           {"long ranges", false, keys, drawn(1 << 30)},
           {"points", false, keys, drawn(0)},
           {"fewer keys", false, KeysOf(4, kKeys / 3), uniform},
           {"fewer bits", false, keys, uniform, 10},
           {"cheap reads", false, keys, uniform, 14, kCachedPrice},
           {"closer keys", false, close, {}},
           {"longer keys", false, longer, uniform}}) {
    SCOPED_TRACE(c.name);
    settings_.memory = std::make_shared<DesignMemory>();
    settings_.bits_per_key = 14;
    settings_.demand.price = kUsualPrice;
    DesignOf(keys, uniform);
    const std::string planted = Plant(odd, rates);
    settings_.bits_per_key = c.bits_per_key;
    settings_.demand.price = c.price;
    const std::string design = DesignOf(c.file, c.samples);
    EXPECT_EQ(c.is_kept, design == planted);
    if (c.is_kept) continue;
    EXPECT_EQ(SearchedDesignOf(c.file, c.samples), design);
    EXPECT_EQ(2u, settings_.memory->Designs().size());
  }
}

// Fewer files are searched each time that the search finds nothing better.
TEST_F(DesignMemoryTest, NowAndThenAFileIsSearchedAnyway) {
  const Keys keys = KeysOf(1, 2000);
  const auto until_search = [&] {
    for (uint32_t kept = 0; kept < 100; kept++) {
      const uint64_t before = settings_.memory->Designs().front().number;
      DesignOf(keys, {});
      const std::vector<KeptDesign> designs = settings_.memory->Designs();
      EXPECT_EQ(1u, designs.size());
      if (designs.front().number != before) return kept + 1;
    }
    return 0u;
  };
  DesignOf(keys, {});
  EXPECT_EQ(DesignMemory::kMinUses, until_search());
  EXPECT_EQ(2 * DesignMemory::kMinUses, until_search());
}

TEST(DesignMemoryRulesTest, WhatIsAsPromised) {
  constexpr double kBloom = 0.01;
  for (const auto& [now, promised, chance, expected] :
       std::initializer_list<std::tuple<Rates, Rates, double, bool>>{
           {{0.05, 0, 0}, {0.05, 0, 0}, 0, true},
           {{0.0549, 0, 0}, {0.05, 0, 0}, 0, true},
           {{0.0556, 0, 0}, {0.05, 0, 0}, 0, false},
           {{0.0574, 0, 0}, {0.05, 0, 0}, 0.002, true},
           {{0.0576, 0, 0}, {0.05, 0, 0}, 0.002, false},
           {{0.0296, 0, 0}, {0.05, 0, 0}, 0, true},
           {{0.0294, 0, 0}, {0.05, 0, 0}, 0, false},
           {{0.0004, 0, 0}, {0, 0, 0}, 0, true},
           {{0.0006, 0, 0}, {0, 0, 0}, 0, false},
           {{0, 0, 0}, {0.0008, 0, 0}, 0, true},
           // Points are no worse than with a Bloom filter.
           {{0.05, 0.0099, 0}, {0.05, 0.001, 0}, 0, true},
           {{0.05, 0.0101, 0}, {0.05, 0.001, 0}, 0.1, false},
           // Without points in the samples, it was broken before.
           {{0.05, 0.5, 0}, {0.05, 0.5, 0}, 0, true},
           {{0.05, 0.56, 0}, {0.05, 0.5, 0}, 0, false},
       }) {
    EXPECT_EQ(expected, MatchesPrediction(now, promised, chance, kBloom))
        << now.all << " " << now.promised << " " << promised.all;
  }
}

TEST(DesignMemoryRulesTest, WhichKeysAreAlike) {
  DesignSituation some;
  some.num_keys = 1000;
  some.bits_per_key = 12;
  some.key_size = 8;
  some.shared_by_share = {14, 11, 9};
  EXPECT_TRUE(AreAlike(some, some));
  const auto expect = [&](bool alike, const auto& change) {
    DesignSituation other = some;
    change(&other);
    EXPECT_EQ(alike, AreAlike(some, other));
    EXPECT_EQ(alike, AreAlike(other, some));
  };
  using S = DesignSituation;
  expect(true, [](S* s) { s->num_keys = 1300; });
  expect(false, [](S* s) { s->num_keys = 1301; });
  expect(true, [](S* s) { s->bits_per_key = 12.5; });
  expect(false, [](S* s) { s->bits_per_key = 12.7; });
  expect(false, [](S* s) { s->prefixes_only = true; });
  expect(false, [](S* s) { s->key_size = 0; });
  expect(false, [](S* s) { s->num_samples = 1; });
  expect(true, [](S* s) { s->shared_by_share[1] = 13; });
  expect(false, [](S* s) { s->shared_by_share[1] = 14; });
  expect(false, [](S* s) { s->shared_by_share[1] = 8; });
}

TEST(DesignMemoryRulesTest, TheSearchIsPutOffWhileItFindsNothingBetter) {
  DesignMemory memory;
  KeptDesign design;
  design.rates = {0.05, 0.001, 0};
  design.situation.num_keys = 1000;
  design.situation.bits_per_key = 12;
  const auto uses = [&] {
    uint32_t count = 0;
    while (true) {
      const auto kept = memory.Recall(design.situation);
      if (kept.empty()) return count;
      memory.CountUse(kept.front().number);
      count++;
    }
  };
  EXPECT_TRUE(memory.IsEmpty());
  EXPECT_EQ(0u, uses());
  memory.Keep(design);
  EXPECT_FALSE(memory.IsEmpty());
  for (uint32_t most = DesignMemory::kMinUses; most <= DesignMemory::kMaxUses;
       most *= 2) {
    EXPECT_EQ(most - 1, uses());
    memory.Keep(design);
  }
  EXPECT_EQ(DesignMemory::kMaxUses - 1, uses());
  design.rates.all = 0.04;
  memory.Keep(design);
  EXPECT_EQ(DesignMemory::kMinUses - 1, uses());
  EXPECT_EQ(1u, memory.Designs().size());
}

TEST(DesignMemoryRulesTest, TheLeastUsedDesignIsForgotten) {
  DesignMemory memory;
  KeptDesign design;
  design.situation.bits_per_key = 12;
  const auto of_keys = [&](uint64_t keys) {
    design.situation.num_keys = keys;
    return design;
  };
  for (size_t i = 0; i <= DesignMemory::kMaxDesigns; i++) {
    memory.Keep(of_keys(uint64_t{1000} << 2 * i));
    const auto first = memory.Recall(of_keys(1000).situation);
    ASSERT_EQ(1u, first.size());
    memory.CountUse(first.front().number);
    if (i % 8 == 7) memory.Keep(of_keys(1000));
  }
  EXPECT_EQ(DesignMemory::kMaxDesigns, memory.Designs().size());
  EXPECT_EQ(1u, memory.Recall(of_keys(1000).situation).size());
  EXPECT_TRUE(memory.Recall(of_keys(4000).situation).empty());
}

TEST(DesignMemoriesTest, TreesAndSearches) {
  const auto memories = std::make_shared<DesignMemories>();
  const int logs[DesignMemories::kMaxTrees] = {};
  bool is_shared = false;
  const auto of = [&](const int& log, const std::string& family = "default") {
    return memories->Of(&log, family, nullptr, &is_shared);
  };
  const auto first = of(logs[0]);
  EXPECT_TRUE(is_shared);
  EXPECT_EQ(first, of(logs[0]));
  EXPECT_NE(first, of(logs[0], "other"));
  EXPECT_NE(first, of(logs[1]));
  std::shared_ptr<void> one = DesignMemories::SearchAnew(memories);
  std::shared_ptr<void> other = DesignMemories::SearchAnew(memories);
  one.reset();
  const auto fresh = of(logs[0]);
  EXPECT_FALSE(is_shared);
  EXPECT_NE(fresh, of(logs[0]));
  other.reset();
  const auto second = of(logs[0]);
  EXPECT_TRUE(is_shared);
  EXPECT_NE(first, second);
  for (const int& log : logs) of(log);
  EXPECT_EQ(second, of(logs[0]));
  for (const int& log : logs) of(log, "third");
  EXPECT_NE(second, of(logs[0]));
}

// Flushes and compactions run in parallel.
TEST_F(DesignMemoryTest, FilesAreWrittenInParallel) {
  const Keys keys = KeysOf(1, 1000);
  InThreads(4, [&](size_t) {
    for (int i = 0; i < 10; i++) {
      const OwnBlock block(BuildProteusBlock(keys, settings_, {}));
      EXPECT_TRUE(block->KeyMayMatch(keys[0]));
    }
  });
  EXPECT_EQ(1u, settings_.memory->Designs().size());
}

// Small files look at fewer samples, and files may keep a design.
TEST_F(DesignMemoryTest, RatesAreAsPredicted) {
  for (const size_t num_keys : {300, 1500, 7000, 20000}) {
    SCOPED_TRACE(num_keys);
    settings_.memory = std::make_shared<DesignMemory>();
    const Keys first = KeysOf(1, num_keys);
    const auto samples = [&](uint64_t seed) {
      return Samples(first, seed, kUniform, 1 << 30, 20000);
    };
    DesignOf(first, samples(2));
    const Keys second = KeysOf(4, num_keys);
    const auto queries = samples(5);
    FilterReport report;
    const OwnBlock block(BuildProteusBlock(second, settings_, samples(6), {},
                                           /*part_bytes=*/0, &report));
    double asked = 0;
    double positives = 0;
    for (const auto& [lo, hi, inclusive] : queries) {
      if (hi < second.front() || lo > second.back()) continue;
      if (KeysIn(second, lo, hi) > 0) continue;
      asked++;
      positives += block->RangeMayMatch(lo, hi, true);
    }
    EXPECT_EQ(1u, settings_.memory->Designs().size());
    EXPECT_NEAR(positives / asked, report.predicted_fpr, 0.005);
  }
}

// A builder whose parts have sizes of the test's choice.
struct BuilderInSteps : ProteusBuilder {
  using ProteusBuilder::Add;
  using ProteusBuilder::Cut;
  using ProteusBuilder::Design;
  using ProteusBuilder::ProteusBuilder;
};

// Parts whose tries are too large need a second design.
TEST_F(DesignMemoryTest, PartsTakeTheDesign) {
  const Keys keys = KeysOf(1);
  const auto design_of_parts = [&] {
    BuilderInSteps builder(settings_, nullptr);
    for (const std::string& key : keys) builder.Add(key, 0, 0);
    std::vector<PlannedPart> parts;
    builder.Cut(keys.size() / 1000, &parts);
    EXPECT_OK(
        builder.Design(1100 * parts.size(), false, /*in_units=*/false, &parts));
    return builder.Report().design;
  };
  design_of_parts();
  settings_.bits_per_key = 8.0 * 1100 / 1000;
  const ProteusDesign odd = TrieAndSet(0, 47);
  const std::string planted = Plant(odd, RatesOf(odd, keys, {}));
  EXPECT_EQ(planted, design_of_parts());
}

TEST(SampleShapeTest, SamplesOfOneDistributionAreAlike) {
  const KeySource source = SourceOf(KeyType::kText);
  Rng rng(7);
  Keys keys;
  ASSERT_OK(DrawKeys(source, 5000, &rng, &keys));
  const KeyStore store = Stored(keys);
  const KeyStatistics statistics(store);
  const auto situation = [&](QueryDistribution distribution, size_t num) {
    QueryOptions options;
    options.distribution = distribution;
    const CpfprModel model(store, statistics,
                           EmptyQueries(options, source, keys, num, &rng));
    DesignSituation result;
    result.num_keys = keys.size();
    result.bits_per_key = 12;
    result.num_samples = 1000;
    result.num_looked_at = model.num_samples();
    result.shape = SampleShape(model);
    return result;
  };
  constexpr auto kReal = QueryDistribution::kReal;
  for (size_t num : {300, 1000, 5000}) {
    SCOPED_TRACE(num);
    for (int i = 0; i < 20; i++) {
      EXPECT_TRUE(AreAlike(situation(kReal, num), situation(kReal, num)));
    }
  }
  EXPECT_FALSE(AreAlike(situation(kReal, 1000),
                        situation(QueryDistribution::kPrefix, 1000)));
  // Few samples do not tell.
  EXPECT_FALSE(AreAlike(situation(kReal, 200), situation(kReal, 200)));
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
