// SPDX-License-Identifier: Apache-2.0

//  The filter block: what a policy's builder writes, its reader reads. (Its
//  bytes: golden_test.cc. All questions about the ends of a block:
//  surf_exhaustive_test.cc. Keys in no order: parted_filter_test.cc. Damage, at
//  any alignment: filter_damage_test.cc.)

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "filter_policy/parted_filter.h"
#include "rocksdb/advanced_cache.h"
#include "test_util/testharness.h"
#include "tests/filter_policy/small_blocks.h"
#include "tests/filter_policy/spec_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- What an intact block says ----

// The trie would hold all bytes that the two keys of each pair share.
TEST(FilterBlockTest, NoTrieOfKeysThatDifferLate) {
  Random random(kBlockSeed);
  const Keys halves = MakeKeys(
      400, [&](size_t) { return random.RandomBinaryString(1000) + "1"; });
  Keys pairs;
  for (const std::string& half : halves) {
    pairs.insert(pairs.end(), {half, half.substr(0, 1000) + "2"});
  }
  const std::string of_halves = BuildBlock(halves);
  EXPECT_TRUE(FilterBlock(of_halves).CanFilter());
  EXPECT_LT(of_halves.size(), 4 * halves.size());
  const std::string of_pairs = BuildBlock(pairs);
  const FilterBlock block(of_pairs);
  ASSERT_OK(block.status());
  ExpectAlwaysTrue(block);
  EXPECT_EQ(pairs.size(), block.header().num_keys);
  EXPECT_LT(of_pairs.size(), 100u);
  // Few pairs take little, whatever they are.
  pairs.resize(100);
  EXPECT_TRUE(FilterBlock(BuildBlock(pairs)).CanFilter());
}

TEST(FilterBlockTest, NoKeys) {
  const OwnBlock block(BuildBlock({}));
  EXPECT_EQ(0u, block->header().num_keys);
  EXPECT_FALSE(block->KeyMayMatch(""));
  EXPECT_FALSE(block->RangeMayMatch("", "\xff", true));
  EXPECT_FALSE(block->PrefixMayMatch("a"));
  EXPECT_FALSE(block->HasKeyAtOrAbove(""));
  EXPECT_FALSE(block->HasKeyBelow("\xff"));
}

// RocksDB adds a user key once for each of its versions.
TEST(FilterBlockTest, DuplicatesCountOnce) {
  const std::string once = BuildBlock({"", "a", "ab", "b"});
  const std::string twice =
      BuildBlock({"", "", "a", "ab", "ab", "ab", "b", "b"});
  EXPECT_EQ(Hex(once), Hex(twice));
  EXPECT_EQ(4u, FilterBlock(twice).header().num_keys);
}

// ---- Prefixes ----

// Whole keys and prefixes come through the same function, unmarked.
TEST(FilterBlockTest, LiteralPrefixesAreAskedOfTheTrie) {
  const Keys keys = {"ab", "abc", "abcde", "b", "xyz1", "xyz2"};
  const std::string bytes = BuildBlockWithPrefixes(keys);
  const OwnBlock block(bytes);
  ExpectNoFalseNegatives(*block, keys);
  ExpectReaderFinds(bytes, {"ab", "abc", "abcde", "b", "xyz1", "xyz2", "xyz"});
  ProteanFilterBitsReader reader{Slice(bytes)};
  EXPECT_FALSE(reader.MayMatch("acc"));
  EXPECT_FALSE(block->PrefixMayMatch("y"));
}

TEST(FilterBlockTest, OtherPrefixesAreUnknown) {
  const auto builder = NewBuilder(*NewSurfFilterPolicy({0, 8}));
  for (const char* key : {"key1", "key2"}) {
    builder->AddKeyAndAlt(key, "not a prefix of the key");
  }
  const std::string bytes = Finish(builder.get());
  const FilterBlock block(bytes);
  EXPECT_TRUE(block.PrefixMayMatch("anything"));
  ExpectReaderFinds(bytes, {"key1", "key2", "not a prefix of the key"});
  EXPECT_FALSE(block.RangeMayMatch("a", "b", true)) << "ranges still work";
}

TEST(FilterBlockTest, PrefixesOfFfBytes) {
  const OwnBlock block(BuildBlock({"a", "\xff\xff", "\xff\xff\xff z"}));
  EXPECT_TRUE(block->PrefixMayMatch(""));
  EXPECT_TRUE(block->PrefixMayMatch("\xff"));
  EXPECT_TRUE(block->PrefixMayMatch("\xff\xff\xff"));
  EXPECT_FALSE(block->PrefixMayMatch("b\xff\xff"));
}

// ---- The builder ----

// Few keys can be large, too.
TEST(FilterBlockTest, BuilderChargesTheBlockCache) {
  BlockBasedTableOptions options;
  options.block_cache = NewLRUCache(256 << 20);
  Cache& cache = *options.block_cache;
  CacheEntryRoleOptions& construction =
      options.cache_usage_options
          .options_overrides[CacheEntryRole::kFilterConstruction];
  for (const bool charged : {false, true}) {
    construction.charged = charged ? CacheEntryRoleOptions::Decision::kEnabled
                                   : CacheEntryRoleOptions::Decision::kDisabled;
    auto builder = NewBuilder(*NewSurfFilterPolicy({0, 8}), options);
    for (uint64_t i = 0; i < 300000; i++) builder->AddKey(BigEndian(i * i));
    const size_t while_adding = cache.GetPinnedUsage();
    std::unique_ptr<const char[]> buffer;
    const size_t size = builder->Finish(&buffer).size();
    const size_t finished = cache.GetPinnedUsage();
    EXPECT_GE(while_adding, charged ? size / 2 : 0);
    EXPECT_GE(finished, charged ? size : 0);
    EXPECT_LE(finished, charged ? 2 * size : 0);
    builder = NewBuilder(*NewSurfFilterPolicy({0, 8}), options);
    EXPECT_EQ(0u, cache.GetPinnedUsage());
    for (int i = 0; i < 100; i++) {
      std::string key(100000, static_cast<char>('a' + i / 2));
      key.back() = static_cast<char>('0' + i % 2);
      builder->AddKey(key);
    }
    EXPECT_GE(cache.GetPinnedUsage(), charged ? 4000000u : 0u);
    EXPECT_LE(cache.GetPinnedUsage(), charged ? 256u << 20 : 0u);
  }
  EXPECT_EQ(0u, cache.GetPinnedUsage());
}

TEST(FilterBlockTest, BuilderVerifiesItsBlockIfAskedTo) {
  BlockBasedTableOptions options;
  for (bool verify : {false, true}) {
    options.detect_filter_construct_corruption = verify;
    const auto builder = NewBuilder(*NewSurfFilterPolicy({0, 8}), options);
    for (const std::string& key : SmallSet()) builder->AddKey(key);
    std::string bytes = Finish(builder.get());
    EXPECT_OK(builder->MaybePostVerify(bytes));
    bytes[bytes.size() / 2] ^= 1;
    EXPECT_EQ(verify, builder->MaybePostVerify(bytes).IsCorruption());
  }
}

// ---- Many threads ----

// Filters of all kinds that several threads ask at once, as the iterators of a
// DB do: no question changes a filter. ThreadSanitizer sees what the answers do
// not show.
class SharedFilterTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SharedFilterTest, QuestionsShareNoState) {
  for (const KeyFamily& family : KeyFamilies(3000, 31)) {
    SCOPED_TRACE(family.name);
    const Keys& keys = family.keys;
    const MemoryFilter filter = FilterOf(GetParam(), keys);
    const FilterBlock& block = *filter.block();
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (size_t thread = 0; thread < 4; thread++) {
      threads.emplace_back([&, thread] {
        for (size_t i = thread / 2; i < keys.size(); i += 2) {
          const Slice key = keys[i];
          std::string bound;
          RangeCount count;
          const bool right =
              block.KeyMayMatch(key) && block.PrefixMayMatch(key) &&
              block.RangeMayMatch(key, key, /*hi_inclusive=*/true) &&
              block.LowerBound(key, &bound) && key.compare(bound) == 0 &&
              (!block.CountRange(key, key, /*hi_inclusive=*/true, &count) ||
               count.count == 1);
          if (!right) failures++;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(0, failures);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, SharedFilterTest,
                         ::testing::Values("surf:4:4", "surf:0:8", "proteus:12",
                                           "prefixbloom:12",
                                           "prefixbloom2:14:ribbon"));

}  // namespace ROCKSDB_NAMESPACE::protean
