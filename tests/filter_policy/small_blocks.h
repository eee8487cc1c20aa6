// SPDX-License-Identifier: Apache-2.0

//  Small blocks of SuRF for tests of what they say, whole or damaged; and
//  filters in memory by the text that names them, and how often they err.

#pragma once

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/query_source.h"
#include "db_bench_ext/seed_samples.h"
#include "plugin/protean.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr uint32_t kBlockSeed = 301;

inline std::string BuildBlock(const Keys& keys) {
  return BuildBlock(keys, *NewSurfFilterPolicy({4, 8}));
}

// FullFilterBlockBuilder does so with prefixes of three bytes.
inline std::string BuildBlockWithPrefixes(const Keys& keys) {
  const auto builder = NewBuilder(*NewSurfFilterPolicy({4, 8}));
  for (const std::string& key : keys) {
    if (key.size() < 3) {
      builder->AddKey(key);
    } else {
      builder->AddKeyAndAlt(key, key.substr(0, 3));
    }
  }
  return Finish(builder.get());
}

// A few keys that give every structure of the trie something to hold: shared
// prefixes, a key that is a prefix of others, 0x00 and 0xff.
inline Keys SmallSet() {
  Keys keys = {"",        std::string(1, '\0'), "app", "apple", "apply", "band",
               "bandana", "\xff\xff",           "\xff"};
  SortUnique(&keys);
  return keys;
}

inline void ExpectNoFalseNegatives(const FilterBlock& block, const Keys& keys) {
  for (const std::string& key : keys) {
    ASSERT_TRUE(block.KeyMayMatch(key)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch(key, key, true)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch(key, key + '\0', false)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch("", key, true)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch(key, std::string(400, '\xff'), true))
        << Hex(key);
    for (size_t length = 0; length <= key.size(); length++) {
      ASSERT_TRUE(block.PrefixMayMatch(Slice(key.data(), length))) << Hex(key);
    }
  }
}

// The block-based table asks one by one, and for MultiGet all at once.
inline void ExpectReaderSays(bool found, const Keys& entries,
                             FilterBitsReader* reader) {
  std::vector<Slice> slices(entries.begin(), entries.end());
  std::vector<Slice*> pointers;
  for (Slice& slice : slices) pointers.push_back(&slice);
  const std::unique_ptr<bool[]> answers(new bool[entries.size()]);
  reader->MayMatch(entries.size(), pointers.data(), answers.get());
  for (size_t i = 0; i < entries.size(); i++) {
    ASSERT_EQ(found, reader->MayMatch(entries[i])) << Hex(entries[i]);
    ASSERT_EQ(found, answers[i]) << Hex(entries[i]);
  }
}
inline void ExpectReaderFinds(const Slice& block, const Keys& entries) {
  const std::unique_ptr<FilterBitsReader> reader(
      static_cast<const ProteanFilterPolicy&>(*NewSurfFilterPolicy({0, 0}))
          .GetFilterBitsReader(block));
  ExpectReaderSays(true, entries, reader.get());
}

// A block that cannot be read answers "may match" to everything.
inline void ExpectAlwaysTrue(const FilterBlock& block) {
  EXPECT_FALSE(block.CanFilter());
  EXPECT_FALSE(block.HasKeyAtOrAbove("a"));
  ExpectNoFalseNegatives(block, {"", "no such key", "\xff\xff\xff"});
}

// Keys, their neighbours, and strings that lead out of the trie.
inline Keys QueriesAround(const Keys& keys, size_t count) {
  Random rnd(kBlockSeed);
  Keys queries = {"", "\xff\xff\xff\xff", std::string(100, 'a')};
  while (queries.size() < count) {
    queries.push_back(AnyOf(Around(AnyOf(keys, &rnd)), &rnd));
  }
  return queries;
}

// The filter of a spec like "proteus:12", whose policy has seen the samples.
inline MemoryFilter FilterOf(const std::string& spec,
                             const std::vector<std::string>& keys,
                             const std::vector<Query>& samples = {}) {
  std::shared_ptr<const FilterPolicy> policy;
  EXPECT_OK(MakeFilterPolicy(spec, &policy));
  SeedSamples(policy.get(), samples);
  return MemoryFilter(policy, keys);
}

// The share of these queries, which find no key, that the filter lets through.
inline double RateOf(const MemoryFilter& filter,
                     const std::vector<Query>& empty) {
  size_t positives = 0;
  for (const Query& query : empty) positives += filter.MayMatch(query);
  return static_cast<double>(positives) / static_cast<double>(empty.size());
}

}  // namespace ROCKSDB_NAMESPACE::protean
