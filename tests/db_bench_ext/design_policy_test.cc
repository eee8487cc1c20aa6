// SPDX-License-Identifier: Apache-2.0

//  Designs of Proteus that are chosen by hand.

#include "db_bench_ext/design_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/seed_samples.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::vector<std::string> RandomKeys() {
  constexpr int kKeys = 2000;
  Rng rng(301);
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; i++) keys.push_back(BigEndianKey(rng()));
  std::sort(keys.begin(), keys.end());
  return keys;
}

// What the filter of a spec says of itself.
std::string DesignOf(const std::string& spec) {
  const std::vector<std::string> keys = RandomKeys();
  const auto policy = DesignPolicy::Create(spec);
  if (policy == nullptr) return "refused";
  const MemoryFilter filter(policy, keys);
  for (const std::string& key : keys) EXPECT_TRUE(filter.MayMatch({key, key}));
  return filter.proteus() == nullptr ? "no filter"
                                     : filter.proteus()->design().Describe();
}

}  // namespace

TEST(DesignPolicyTest, BuildsTheDesign) {
  EXPECT_EQ("bloom 20", DesignOf("design:10:bloom20"));
  EXPECT_EQ("ribbon 20", DesignOf("design:10.5:ribbon20"));
  EXPECT_EQ("trie 12", DesignOf("design:10:trie12"));
  EXPECT_EQ("trie 12, bloom 20", DesignOf("design:10:trie12:bloom20"));
  EXPECT_EQ("trie 12, bloom 20", DesignOf("design:10:trie12:lead3:bloom20"));
  EXPECT_EQ("bloom 12, bloom 20",
            DesignOf("design:10:first12:share40:bloom20"));
  EXPECT_EQ("trie 12, ribbon 24+16",
            DesignOf("design:10:trie12:ribbon24:stride16"));
}

TEST(DesignPolicyTest, RefusesOthers) {
  for (const char* spec :
       {"", "design", "design:10", "design:10:", "design:x:bloom20",
        "design:10:bloom", "design:10:bloomx", "design:10:bloom-1",
        "design:10:bloom99999999999", "design:10:first12",
        "design:10:trie12:bloom12", "design:10:trie8:first12:bloom20",
        "design:10:first12:bloom20:share100", "design:10:bloom20:stride3",
        "design:10:cuckoo20", "design:10:trie12:lead8",
        "design:10:trie63:lead2", "design:10:lead1:bloom20"}) {
    EXPECT_EQ("refused", DesignOf(spec)) << spec;
  }
}

TEST(DesignPolicyTest, Predicts) {
  const std::vector<std::string> keys = RandomKeys();
  const auto policy = DesignPolicy::Create("design:10:bloom20");
  std::vector<Query> samples;
  Rng rng(302);
  for (int i = 0; i < 1000; i++) {
    const std::string key = BigEndianKey(rng());
    samples.push_back({key, key});
  }
  SeedSamples(policy.get(), samples);
  const MemoryFilter filter(policy, keys);
  EXPECT_GT(filter.report().samples, 900u);
  EXPECT_NEAR(filter.report().predicted_fpr, 0.01, 0.01);
}

TEST(DesignPolicyTest, ListsAllDesigns) {
  const std::vector<std::string> keys = RandomKeys();
  std::vector<std::string> specs;
  ASSERT_OK(DesignsOf("1pbf:10", keys, &specs));
  EXPECT_EQ(64u, specs.size());
  specs.clear();
  ASSERT_OK(DesignsOf("2pbf:10:ribbon", keys, &specs));
  EXPECT_EQ(64u * 65 / 2, specs.size());
  for (const std::string& spec : specs) {
    EXPECT_NE(nullptr, DesignPolicy::Create(spec)) << spec;
  }
  specs.clear();
  ASSERT_OK(DesignsOf("proteus:10", keys, &specs));
  EXPECT_EQ("design:10:bloom1", specs.front());
  // The deepest trie that fits.
  EXPECT_EQ(0u, specs.back().find("design:10:trie1"));
  for (const std::string& spec : specs) {
    EXPECT_NE(nullptr, DesignPolicy::Create(spec)) << spec;
  }
  for (const char* space : {"", "proteus", "3pbf:10", "proteus:x", "1pbf:10:x",
                            "1pbf:10:bloom:x"}) {
    EXPECT_TRUE(DesignsOf(space, keys, &specs).IsInvalidArgument()) << space;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
