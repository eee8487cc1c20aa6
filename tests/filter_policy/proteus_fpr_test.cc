// SPDX-License-Identifier: Apache-2.0

//  The false positive rates that the model predicts against those observed, on
//  the workloads of the Proteus paper; filters that few or no samples have
//  taught; the built design against the chosen one; and the option
//  point_lookups_use_whole_keys=true of Proteus and 1PBF.

#include <cmath>

#include "db_bench_ext/key_source.h"
#include "db_bench_ext/workload.h"
#include "filter_policy/proteus/proteus.h"
#include "tests/dice.h"
#include "tests/filter_policy/small_blocks.h"
#include "util/bloom_impl.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kNumKeys = 100000;
constexpr uint64_t kSamples = 10000;
constexpr uint64_t kQueries = 40000;

struct PaperWorkload {
  const char* name;
  const char* keys;
  QueryDistribution queries;
  uint64_t rmax = 0;
  uint64_t rmax_correlated = 0;
  bool strings = false;
};

constexpr auto kUniform = QueryDistribution::kUniform;
constexpr auto kCorrelated = QueryDistribution::kCorrelated;
constexpr auto kSplit = QueryDistribution::kSplit;
constexpr auto kReal = QueryDistribution::kReal;
constexpr uint64_t kLong = uint64_t{1} << 30;
constexpr uint64_t kVeryLong = uint64_t{1} << 45;

constexpr PaperWorkload kWorkloads[] = {
    {"uniform_points", "uniform", kUniform},
    {"uniform_short", "uniform", kUniform, 32},
    {"uniform_long", "uniform", kUniform, kLong},
    {"uniform_very_long", "uniform", kUniform, kVeryLong},
    {"normal_points", "normal", kUniform},
    {"normal_long", "normal", kUniform, kLong},
    {"correlated_points", "uniform", kCorrelated},
    {"correlated_short", "uniform", kCorrelated, 32},
    {"correlated_long", "uniform", kCorrelated, 1 << 15},
    {"split", "uniform", kSplit, kLong, 32},
    {"normal_split", "normal", kSplit, kVeryLong, 32},
    {"facebook_real", "facebook", kReal, 1024},
    {"strings", "uniform", kUniform, kLong, 0, true},
    {"strings_split", "normal", kSplit, kLong, 32, true},
    {"domain_real", "domain", kReal, 0, 0, true},
    {"text_real", "text", kReal, 0, 0, true},
};

class PaperTest : public testing::TestWithParam<PaperWorkload> {};

INSTANTIATE_TEST_SUITE_P(Workloads, PaperTest, testing::ValuesIn(kWorkloads),
                         [](const auto& test) { return test.param.name; });

class DrawnKeys {
 public:
  DrawnKeys(const std::string& distribution, bool strings, uint64_t num,
            uint64_t seed)
      : rng_(seed) {
    KeySourceOptions options;
    options.distribution = distribution;
    options.strings = strings;
    EXPECT_OK(MakeKeySource(options, &source_));
    EXPECT_OK(DrawKeys(source_, num, &rng_, &keys_));
  }

  const Keys& keys() const { return keys_; }

  std::vector<Query> Empty(const QueryOptions& options, uint64_t num) {
    std::vector<Query> queries;
    EXPECT_OK(
        QuerySource(options, source_, keys_).DrawEmpty(num, &rng_, &queries));
    return queries;
  }
  std::vector<Query> Positive(const QueryOptions& options, uint64_t num) {
    const QuerySource source(options, source_, keys_);
    std::vector<Query> queries;
    while (queries.size() < num) queries.push_back(source.DrawPositive(&rng_));
    return queries;
  }

 private:
  Rng rng_;
  KeySource source_;
  Keys keys_;
};

QueryOptions OptionsOf(const PaperWorkload& workload) {
  QueryOptions options;
  options.distribution = workload.queries;
  options.rmin = 0;
  options.rmax = workload.rmax;
  options.rmax_correlated = workload.rmax_correlated;
  return options;
}

std::vector<Query> Asked(const Keys& keys, const std::vector<Query>& queries) {
  std::vector<Query> asked;
  for (const Query& query : queries) {
    if (query.hi >= keys.front() && query.lo <= keys.back()) {
      asked.push_back(query);
    }
  }
  return asked;
}

TEST_P(PaperTest, RateIsAsPredicted) {
  const QueryOptions options = OptionsOf(GetParam());
  DrawnKeys drawn(GetParam().keys, GetParam().strings, kNumKeys, /*seed=*/77);
  const Keys& keys = drawn.keys();
  const std::vector<Query> samples = drawn.Empty(options, kSamples);
  const auto queries = Asked(keys, drawn.Empty(options, kQueries));
  for (const char* spec :
       {"proteus:10", "proteus:14:bloom", "proteus:12:ribbon", "proteus:8:auto",
        "prefixbloom:12", "prefixbloom:14:ribbon", "prefixbloom2:10.5:bloom"}) {
    SCOPED_TRACE(spec);
    const MemoryFilter filter = FilterOf(spec, keys, samples);
    ASSERT_OK(filter.block()->status());
    SCOPED_TRACE(filter.report().design);
    const double predicted = filter.report().predicted_fpr;
    // Both the samples and the queries are random, so the rates may differ.
    const double noise =
        3 *
        std::sqrt(predicted * (1 - predicted) *
                  (1.0 / kSamples + 1.0 / static_cast<double>(queries.size())));
    EXPECT_NEAR(predicted, RateOf(filter, queries), std::max(0.01, noise));
    EXPECT_GE(predicted, 0);
    EXPECT_EQ(Asked(keys, samples).size(), filter.report().samples);
    const double wanted = std::stod(strchr(spec, ':') + 1);
    const double bits_per_key = 8.0 * filter.contents().size() / kNumKeys;
    EXPECT_LE(bits_per_key, 1.02 * wanted);
    // A trie may need fewer bytes.
    if (filter.proteus()->design().prefix_bits() > 0) {
      EXPECT_GE(bits_per_key, 0.98 * wanted);
    }
    for (size_t i = 0; i < keys.size(); i += 7) {
      ASSERT_TRUE(filter.block()->KeyMayMatch(keys[i]));
      ASSERT_TRUE(filter.block()->RangeMayMatch(keys[i], keys[i], true));
    }
    for (const Query& query : drawn.Positive(options, 2000)) {
      ASSERT_TRUE(filter.MayMatch(query))
          << Hex(query.lo) << " " << Hex(query.hi);
    }
  }
}

// One design, chosen without any query, serves all of these queries.
TEST(UntaughtTest, FiltersFromTheFirstFileOn) {
  for (const auto& [workload, most] :
       {std::pair<PaperWorkload, double>{{"points", "uniform", kUniform},
                                         0.002},
        {{"short_ranges", "uniform", kUniform, 1 << 10}, 0.03},
        {{"long_ranges", "uniform", kUniform, kLong}, 0.06},
        {{"behind_keys", "uniform", kCorrelated, 32}, 0.08},
        {{"normal_split", "normal", kSplit, kLong, 32}, 0.08}}) {
    SCOPED_TRACE(workload.name);
    DrawnKeys drawn(workload.keys, workload.strings, kNumKeys, /*seed=*/43);
    const MemoryFilter filter = FilterOf("proteus:14", drawn.keys());
    EXPECT_LE(RateOf(filter, drawn.Empty(OptionsOf(workload), 20000)), most)
        << filter.report().design;
    EXPECT_EQ("from the keys alone", filter.report().basis);
  }
}

// A few samples count, and the design still serves other queries.
TEST(UntaughtTest, ThreeSamples) {
  DrawnKeys drawn("uniform", /*strings=*/false, 50000, /*seed=*/44);
  QueryOptions near;
  near.distribution = kCorrelated;
  near.rmax = 32;
  const MemoryFilter filter =
      FilterOf("proteus:14", drawn.keys(), drawn.Empty(near, 3));
  EXPECT_EQ(3u, filter.report().samples);
  EXPECT_EQ("from 3 sample queries and the keys", filter.report().basis);
  QueryOptions points;
  points.rmax = 0;
  EXPECT_LT(RateOf(filter, drawn.Empty(points, 20000)), 0.01);
}

TEST(UntaughtTest, NoWorseThanBloomOnPoints) {
  // `before` is the number of bytes in front of each key.
  for (const auto& [type, before] :
       {std::pair<KeyType, size_t>{KeyType::kU64, 0},
        {KeyType::kText, 0},
        {KeyType::kUrl, 0},
        {KeyType::kU64, 700}}) {
    DataSet data(type, kNumKeys, /*seed=*/78);
    Keys keys = data.StoredKeys();
    std::vector<Query> queries =
        SplitByTruth(keys, data.MakeQueries(WorkloadKind::kPoint, 2 * kNumKeys))
            .first;
    for (std::string& key : keys) key.insert(0, before, 'x');
    for (Query& query : queries) query.hi = query.lo.insert(0, before, 'x');
    for (const char* bits : {"8", "12"}) {
      const double expected =
          RateOf(FilterOf(std::string("bloom:") + bits, keys), queries);
      const double noise = 3 * std::sqrt(expected / queries.size());
      for (const char* kind : {"proteus:", "prefixbloom:", "prefixbloom2:"}) {
        const MemoryFilter filter = FilterOf(std::string(kind) + bits, keys);
        EXPECT_LE(RateOf(filter, queries), 1.1 * expected + noise)
            << keys[0] << ", " << kind << bits << ", "
            << filter.report().design;
        EXPECT_EQ(0u, filter.report().samples);
        EXPECT_GE(filter.report().predicted_fpr, 0);
        EXPECT_EQ("from the keys alone", filter.report().basis);
      }
    }
  }
}

// ---- The built design ----

// A trie that turns out larger than its estimate must not spoil the design.
TEST(ProteusBuilderTest, WhatIsChosenIsBuilt) {
  for (KeyType type : {KeyType::kU64, KeyType::kText, KeyType::kDense,
                       KeyType::kTimeseries, KeyType::kUrl, KeyType::kDomain}) {
    for (uint64_t num : {300, 1500, 3000, 30000}) {
      DataSet data(type, num, 82);
      const Keys keys = data.StoredKeys();
      const KeyStore store = Stored(keys);
      const KeyStatistics statistics(store);
      std::vector<SampleQuery> samples;
      for (const Query& query : data.MakeQueries(WorkloadKind::kRange, 3000)) {
        if (!Holds(keys, query)) samples.push_back({query.lo, query.hi, true});
      }
      const CpfprModel model(store, statistics, samples);
      for (double bits_per_key : {4, 7, 8, 9, 10, 12, 14, 17, 20}) {
        ProteusSettings settings;
        settings.bits_per_key = bits_per_key;
        FilterReport report;
        const std::string bytes = BuildProteusBlock(keys, settings, samples, {},
                                                    /*part_bytes=*/0, &report);
        ASSERT_OK(FilterBlock(bytes).status());
        const double all = bits_per_key / 8 * keys.size();
        EXPECT_LE(bytes.size(), std::max(1.02 * all, 0.5 * all + 400));
        // What the header leaves, but a minimum in a small file.
        const auto room =
            static_cast<uint64_t>(std::max({all - 300, all / 2, 64.0}));
        const ProteusDesign chosen =
            DesignSearch(model, settings.kinds).Choose(settings.space, room);
        const uint64_t trie =
            chosen.trie_bits() == 0
                ? 0
                : statistics.SizeOfTrie(chosen.trie_bits(), room).bytes;
        const double fpr = model.Evaluate(chosen, room, trie);
        EXPECT_LE(report.predicted_fpr, 1.2 * fpr + 0.02)
            << static_cast<int>(type) << ", " << num << " keys, "
            << bits_per_key << " bits: chosen " << chosen.Describe()
            << ", built " << report.design;
      }
    }
  }
}

// Whatever the samples are: it deserves no long search.
TEST(ProteusBuilderTest, AHandfulOfKeysHasOneSet) {
  const auto long_key = [](uint64_t i) {
    return "user" + std::to_string(100 + i * 7919 % 900) + ":" +
           std::string(1000, static_cast<char>('a' + i % 26));
  };
  const auto record = [](uint64_t i) {
    return "sensor" + std::to_string(100 + i % 90) + "|2026-01-" +
           std::to_string(10 + i % 17) +
           "T12:34:" + std::to_string(10 + i % 50);
  };
  for (const uint64_t num : {1, 5, 16}) {
    for (const Keys& keys : {MakeKeys(num, long_key), MakeKeys(num, record)}) {
      std::vector<SampleQuery> samples;
      for (int i = 0; i < 3000; i++) {
        const std::string lo = keys[0] + std::to_string(i);
        samples.push_back({lo, lo + "5", true});
      }
      const OwnBlock block(BuildProteusBlock(keys, ProteusSettings(), samples));
      const ProteusDesign& design = block.proteus().design();
      EXPECT_EQ(0u, design.trie_bits()) << design.Describe();
      EXPECT_EQ(0u, design.first_prefix_bits()) << design.Describe();
      EXPECT_EQ(0u, design.stride()) << design.Describe();
      ExpectHolds(*block, keys);
    }
  }
}

// ---- Points that ask a set of whole keys ----

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
double RateOfBloom(double bits_per_key, double bits_for_probes) {
  return BloomMath::CacheLocalFpRate(
      bits_per_key,
      FastLocalBloomImpl::ChooseNumProbes(
          static_cast<int>(1000 * bits_for_probes)),
      512);
}

std::string BlockOfPolicy(const Keys& keys, bool keys_alone,
                          double bits_per_key = 12,
                          PrefixOfKey prefix = nullptr,
                          const BlockBasedTableOptions& table = {}) {
  ProteusPolicyOptions options;
  options.point_lookups_use_whole_keys = keys_alone;
  options.bits_per_key = bits_per_key;
  return BuildBlock(keys, ProteusFilterPolicy(DesignSpace::kProteus, options),
                    prefix, table);
}

Keys AbsentPoints(const Keys& keys, size_t count) {
  Lcg rnd(3);
  Keys points = {"", std::string(1, '\0'), "\xff\xff\xff\xff\xff\xff\xff\xff"};
  while (points.size() < count) {
    std::string point = keys[rnd.Next(keys.size())];
    const size_t shared = rnd.Next(point.size());
    for (size_t i = shared; i < point.size(); i++) point[i] ^= rnd.Bytes(1)[0];
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
        const double most = RateOfBloom(bits, bits) * points.size();
        EXPECT_LE(CountPassed(*block, points), most + 4 * std::sqrt(most));
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
        BlockOfPolicy(keys, /*keys_alone=*/true, kBits, nullptr, table));
    ASSERT_NO_FATAL_FAILURE(ExpectHolds(*block, keys));
    EXPECT_EQ(10u, block->directory().parts().size());
    EXPECT_TRUE(block.proteus().design().points_ask_keys_alone());
    const Keys points = AbsentPoints(keys, 200000);
    // The directory and the headers of a part take some of its bits.
    EXPECT_LE(CountPassed(*block, points),
              RateOfBloom(kBits - 1, kBits) * points.size());
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
    return std::pair(point_passed / points.size(), range_passed / empty);
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
  const OwnBlock block(
      BlockOfPolicy(keys, /*keys_alone=*/true, 12,
                    [](const std::string& key) { return key.substr(0, 6); }));
  EXPECT_EQ(nullptr, block.proteus().design().keys());
  for (const std::string& key : keys) {
    ASSERT_TRUE(block->EntryMayMatch(key));
    ASSERT_TRUE(block->EntryMayMatch(key.substr(0, 6)));
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
