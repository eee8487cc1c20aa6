// SPDX-License-Identifier: Apache-2.0

//  Rosetta, the baseline of the benchmarks.

#include <gtest/gtest.h>

#include <algorithm>

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/seed_samples.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The policy, or nullptr if the spec is refused.
std::shared_ptr<const FilterPolicy> Rosetta(const std::string& spec) {
  std::shared_ptr<const FilterPolicy> policy;
  const Status s = MakeFilterPolicy(spec, &policy);
  EXPECT_EQ(s.ok(), policy != nullptr) << spec;
  return policy;
}

// Keys at the ends of the key space, close together, and anywhere.
std::vector<std::string> SomeKeys() {
  Rng rng(301);
  std::vector<uint64_t> numbers = {0, 1, 2, 1000, 1001, ~uint64_t{0}};
  for (int i = 0; i < 2000; i++) numbers.push_back(rng());
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> keys;
  for (const uint64_t number : numbers) keys.push_back(BigEndianKey(number));
  return keys;
}

std::vector<Query> EmptyRanges(const std::vector<std::string>& keys,
                               uint64_t length, size_t count) {
  Rng rng(302);
  std::vector<Query> queries;
  while (queries.size() < count) {
    const std::string lo = BigEndianKey(rng());
    const Query query = {lo, KeyPlus(lo, length - 1)};
    if (!Holds(keys, query)) queries.push_back(query);
  }
  return queries;
}

}  // namespace

TEST(RosettaTest, MissesNoKey) {
  const std::vector<std::string> keys = SomeKeys();
  const MemoryFilter filter(Rosetta("rosetta:12"), keys);
  ASSERT_NE(nullptr, filter.block());
  for (const std::string& key : keys) {
    EXPECT_TRUE(filter.MayMatch({key, key}));
    for (const uint64_t more : {1, 2, 77, 1 << 20}) {
      EXPECT_TRUE(filter.MayMatch({KeyMinus(key, more), key}));
      EXPECT_TRUE(filter.MayMatch({key, KeyPlus(key, more)}));
      EXPECT_TRUE(filter.MayMatch({KeyMinus(key, more), KeyPlus(key, more)}));
    }
    // Bounds that are no keys.
    EXPECT_TRUE(filter.MayMatch({key.substr(0, 3), key + "x", false}));
  }
}

TEST(RosettaTest, PredictsItsRate) {
  const std::vector<std::string> keys = SomeKeys();
  for (const uint64_t length : {1, 16, 256}) {
    const auto policy = Rosetta("rosetta:16");
    std::vector<Query> queries = EmptyRanges(keys, length, 20000);
    SeedSamples(policy.get(), {queries.begin() + 10000, queries.end()});
    queries.resize(10000);
    const MemoryFilter filter(policy, keys);
    EXPECT_LE(8.0 * static_cast<double>(filter.contents().size()),
              16.7 * static_cast<double>(keys.size()));
    int matches = 0;
    for (const Query& query : queries) matches += filter.MayMatch(query);
    EXPECT_NEAR(filter.report().predicted_fpr, matches / 10000.0, 0.01)
        << length << ": " << filter.report().design;
    if (length == 1) {
      EXPECT_EQ("levels 0 to 0", filter.report().design);
    }
  }
}

TEST(RosettaTest, RefusesOthers) {
  for (const char* spec : {"rosetta", "rosetta:", "rosetta:0", "rosetta:x",
                           "rosetta:12:bloom", "rosetta:101"}) {
    EXPECT_EQ(nullptr, Rosetta(spec)) << spec;
  }
  // Keys of another length get no filter.
  const MemoryFilter filter(Rosetta("rosetta:12"), {"a", "bcd"});
  EXPECT_TRUE(filter.MayMatch({"b", "b"}));
}

}  // namespace ROCKSDB_NAMESPACE::protean
