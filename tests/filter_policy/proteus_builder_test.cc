// SPDX-License-Identifier: Apache-2.0

//  The built design against the chosen one: a trie that turns out larger than
//  its estimate must not spoil the design.

#include "filter_policy/proteus/proteus_builder.h"

#include <gtest/gtest.h>

#include "db_bench_ext/workload.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"

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
        const std::string bytes = BuildProteusBlock(keys, settings, samples);
        const FilterBlock block(bytes);
        ASSERT_OK(block.status());
        const auto& proteus = static_cast<const Proteus&>(*block.filter());
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
            chosen.trie_bits == 0
                ? 0
                : statistics.SizeOfTrie(chosen.trie_bits, room).bytes;
        const double fpr = model.Evaluate(chosen, room - trie);
        EXPECT_LE(proteus.design_report().predicted_fpr, 1.2 * fpr + 0.02)
            << static_cast<int>(type) << ", " << num << " keys, "
            << bits_per_key << " bits: chosen " << chosen.Describe()
            << ", built " << proteus.Report().design;
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
