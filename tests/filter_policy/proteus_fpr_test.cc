// SPDX-License-Identifier: Apache-2.0

//  The false positive rates that the model predicts against those observed, on
//  the workloads of the Proteus paper; sizes; and filters without samples
//  against RocksDB's Bloom filter.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/key_source.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/query_source.h"
#include "db_bench_ext/seed_samples.h"
#include "test_util/testharness.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Keys = std::vector<std::string>;

constexpr uint64_t kKeys = 100000;
constexpr uint64_t kSamples = 10000;
constexpr uint64_t kQueries = 40000;

struct PaperWorkload {
  const char* name;
  const char* keys;
  QueryDistribution queries;
  uint64_t rmax;
  uint64_t rmax_correlated;
  bool strings;
};

void PrintTo(const PaperWorkload& workload, std::ostream* out) {
  *out << workload.name;
}

constexpr uint64_t kLong = uint64_t{1} << 30;
constexpr uint64_t kVeryLong = uint64_t{1} << 45;

const PaperWorkload kWorkloads[] = {
    {"uniform_points", "uniform", QueryDistribution::kUniform, 0, 0, false},
    {"uniform_short", "uniform", QueryDistribution::kUniform, 32, 0, false},
    {"uniform_long", "uniform", QueryDistribution::kUniform, kLong, 0, false},
    {"uniform_very_long", "uniform", QueryDistribution::kUniform, kVeryLong, 0,
     false},
    {"normal_points", "normal", QueryDistribution::kUniform, 0, 0, false},
    {"normal_long", "normal", QueryDistribution::kUniform, kLong, 0, false},
    {"correlated_points", "uniform", QueryDistribution::kCorrelated, 0, 0,
     false},
    {"correlated_short", "uniform", QueryDistribution::kCorrelated, 32, 0,
     false},
    {"correlated_long", "uniform", QueryDistribution::kCorrelated, 1 << 15, 0,
     false},
    {"split", "uniform", QueryDistribution::kSplit, kLong, 32, false},
    {"normal_split", "normal", QueryDistribution::kSplit, kVeryLong, 32, false},
    {"facebook_real", "facebook", QueryDistribution::kReal, 1024, 0, false},
    {"strings", "uniform", QueryDistribution::kUniform, kLong, 0, true},
    {"strings_split", "normal", QueryDistribution::kSplit, kLong, 32, true},
    {"domain_real", "domain", QueryDistribution::kReal, 0, 0, true},
    {"text_real", "text", QueryDistribution::kReal, 0, 0, true},
};

class PaperTest : public testing::TestWithParam<PaperWorkload> {};

std::vector<std::string> Specs() {
  return {"proteus:10",
          "proteus:14:bloom",
          "proteus:12:ribbon",
          "proteus:8:auto",
          "prefixbloom:12",
          "prefixbloom:14:ribbon",
          "prefixbloom2:10.5:bloom"};
}

double BitsOf(const std::string& spec) {
  return std::stod(spec.substr(spec.find(':') + 1));
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

double ObservedRate(const MemoryFilter& filter,
                    const std::vector<Query>& empty_queries) {
  size_t positives = 0;
  for (const Query& query : empty_queries) positives += filter.MayMatch(query);
  return static_cast<double>(positives) /
         static_cast<double>(empty_queries.size());
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Workloads, PaperTest, testing::ValuesIn(kWorkloads),
                         [](const auto& test) { return test.param.name; });

TEST_P(PaperTest, RateIsAsPredicted) {
  const PaperWorkload& workload = GetParam();
  Rng rng(77);
  KeySourceOptions key_options;
  key_options.distribution = workload.keys;
  key_options.strings = workload.strings;
  KeySource source;
  ASSERT_OK(MakeKeySource(key_options, &source));
  Keys keys;
  ASSERT_OK(DrawKeys(source, kKeys, &rng, &keys));
  QueryOptions query_options;
  query_options.distribution = workload.queries;
  query_options.rmin = 0;
  query_options.rmax = workload.rmax;
  query_options.rmax_correlated = workload.rmax_correlated;
  const QuerySource query_source(query_options, source, keys);
  std::vector<Query> samples;
  std::vector<Query> queries;
  ASSERT_OK(query_source.DrawEmpty(kSamples, &rng, &samples));
  ASSERT_OK(query_source.DrawEmpty(kQueries, &rng, &queries));
  queries = Asked(keys, queries);
  for (const std::string& spec : Specs()) {
    SCOPED_TRACE(spec);
    std::shared_ptr<const FilterPolicy> policy;
    ASSERT_OK(MakeFilterPolicy(spec, &policy));
    SeedSamples(policy.get(), samples);
    const MemoryFilter filter(policy, keys);
    ASSERT_OK(filter.block()->status());
    SCOPED_TRACE(filter.report().design);
    const double predicted = filter.report().predicted_fpr;
    const double observed = ObservedRate(filter, queries);
    // Both the samples and the queries are random, so the rates may differ.
    const double noise =
        3 *
        std::sqrt(predicted * (1 - predicted) *
                  (1.0 / kSamples + 1.0 / static_cast<double>(queries.size())));
    EXPECT_NEAR(predicted, observed, std::max(0.01, noise));
    EXPECT_GE(predicted, 0);
    EXPECT_EQ(Asked(keys, samples).size(), filter.report().samples);
    const double bits =
        8.0 * static_cast<double>(filter.contents().size()) / kKeys;
    EXPECT_LE(bits, 1.02 * BitsOf(spec));
    // A trie may need fewer bytes.
    if (filter.proteus()->design().prefix_bits() > 0) {
      EXPECT_GE(bits, 0.98 * BitsOf(spec));
    }
    for (size_t i = 0; i < keys.size(); i += 7) {
      ASSERT_TRUE(filter.block()->KeyMayMatch(keys[i]));
      ASSERT_TRUE(filter.block()->RangeMayMatch(keys[i], keys[i], true));
    }
    for (int i = 0; i < 2000; i++) {
      const Query query = query_source.DrawPositive(&rng);
      ASSERT_TRUE(filter.MayMatch(query))
          << Hex(query.lo) << " " << Hex(query.hi);
    }
  }
}

namespace {

// Keys, and absent keys of the same kind.
struct Halves {
  Keys keys;
  Keys absent;
};

Halves Draw(const KeyMaker& draw, Rng* rng) {
  std::set<std::string> all;
  while (all.size() < 2 * kKeys) all.insert(draw(rng));
  Halves halves;
  for (const std::string& key : all) {
    ((*rng)() % 2 == 0 ? halves.keys : halves.absent).push_back(key);
  }
  return halves;
}

}  // namespace

TEST(PriorDesignTest, NoWorseThanBloomOnPoints) {
  Rng rng(78);
  std::vector<std::pair<std::string, KeyMaker>> makers;
  makers.push_back({"numbers", SourceOf(KeyType::kU64).draw});
  makers.push_back({"text", SourceOf(KeyType::kText).draw});
  makers.push_back({"urls", SourceOf(KeyType::kUrl).draw});
  const KeyMaker numbers = SourceOf(KeyType::kU64).draw;
  makers.push_back({"long", [numbers](Rng* r) {
                      return std::string(700, 'x') + numbers(r);
                    }});
  for (const auto& [name, draw] : makers) {
    const Halves halves = Draw(draw, &rng);
    std::vector<Query> queries;
    for (const std::string& key : halves.absent) queries.push_back({key, key});
    for (const char* bits : {"8", "12"}) {
      std::shared_ptr<const FilterPolicy> bloom;
      ASSERT_OK(MakeFilterPolicy(std::string("bloom:") + bits, &bloom));
      const double expected =
          ObservedRate(MemoryFilter(bloom, halves.keys), queries);
      for (const char* spec : {"proteus:", "prefixbloom:", "prefixbloom2:"}) {
        std::shared_ptr<const FilterPolicy> policy;
        ASSERT_OK(MakeFilterPolicy(std::string(spec) + bits, &policy));
        const MemoryFilter filter(policy, halves.keys);
        const double noise =
            3 * std::sqrt(expected / static_cast<double>(queries.size()));
        EXPECT_LE(ObservedRate(filter, queries), 1.1 * expected + noise)
            << name << ", " << spec << bits << ", " << filter.report().design;
        EXPECT_EQ(0u, filter.report().samples);
        EXPECT_GE(filter.report().predicted_fpr, 0);
        EXPECT_EQ("from the keys alone", filter.report().basis);
      }
    }
  }
}

// A filter of many keys has the size it was given, with any design.
TEST(PriorDesignTest, Sizes) {
  Rng rng(79);
  const Halves halves = Draw(SourceOf(KeyType::kU64).draw, &rng);
  for (const char* bits : {"2", "3.5", "5", "10", "12.25", "20", "40", "64"}) {
    for (const char* kind : {":bloom", ":ribbon"}) {
      const std::string spec = std::string("proteus:") + bits + kind;
      std::shared_ptr<const FilterPolicy> policy;
      ASSERT_OK(MakeFilterPolicy(spec, &policy));
      const MemoryFilter filter(policy, halves.keys);
      const double actual = 8.0 *
                            static_cast<double>(filter.contents().size()) /
                            static_cast<double>(halves.keys.size());
      EXPECT_LE(actual, 1.02 * BitsOf(spec)) << spec;
      // A Ribbon never has more than 32 columns.
      const double least = std::min(BitsOf(spec), 32.0);
      EXPECT_GE(actual, 0.98 * least) << spec;
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
