// SPDX-License-Identifier: Apache-2.0

//  The built design against the chosen one: a trie that turns out larger than
//  its estimate must not spoil the design.

#include <gtest/gtest.h>

#include <functional>

#include "db_bench_ext/workload.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

TEST(ProteusBuilderTest, WhatIsChosenIsBuilt) {
  Rng rng(81);
  for (KeyType type : {KeyType::kU64, KeyType::kText, KeyType::kDense,
                       KeyType::kTimeseries, KeyType::kUrl, KeyType::kDomain}) {
    for (uint64_t num : {300, 1500, 3000, 30000}) {
      DataSet data(type, num, 82);
      const std::vector<std::string> keys = data.StoredKeys();
      KeyStore store;
      for (const std::string& key : keys) store.Append(key);
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
        const FilterBlock block(bytes);
        ASSERT_OK(block.status());
        EXPECT_LE(static_cast<double>(bytes.size()),
                  std::max(1.02 * bits_per_key / 8 * keys.size(),
                           0.5 * bits_per_key / 8 * keys.size() + 400));
        // The design has the bytes that the header leaves, but a minimum in a
        // small file.
        const double all = bits_per_key / 8 * static_cast<double>(keys.size());
        const auto room =
            static_cast<uint64_t>(std::max({all - 300, all / 2, 64.0}));
        const ProteusDesign chosen =
            DesignSearch(model, statistics, settings.kinds)
                .Choose(settings.space, room);
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

// A handful of keys deserves no long search: its filter is one set, whatever
// the samples, and long keys are not looked at for it.
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
  for (const auto& key_of :
       std::vector<std::function<std::string(uint64_t)>>{long_key, record}) {
    for (const uint64_t num : {1, 5, 16}) {
      std::vector<std::string> keys;
      for (uint64_t i = 0; i < num; i++) keys.push_back(key_of(i));
      SortUnique(&keys);
      std::vector<SampleQuery> samples;
      for (int i = 0; i < 3000; i++) {
        samples.push_back({keys[0] + std::to_string(i),
                           keys[0] + std::to_string(i) + "5", true});
      }
      const std::string bytes =
          BuildProteusBlock(keys, ProteusSettings(), samples);
      const FilterBlock block{Slice(bytes)};
      const ProteusDesign design =
          static_cast<const Proteus*>(block.filter())->design();
      EXPECT_EQ(0u, design.trie_bits()) << design.Describe();
      EXPECT_EQ(0u, design.first_prefix_bits()) << design.Describe();
      EXPECT_EQ(0u, design.stride()) << design.Describe();
      for (const std::string& key : keys) {
        EXPECT_TRUE(block.KeyMayMatch(key));
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
