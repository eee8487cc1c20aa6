// SPDX-License-Identifier: Apache-2.0

//  The filter block: what a policy's builder writes, its reader reads. (What
//  damage does to it: surf_damage_test.cc and proteus_damage_test.cc.)

#include <gtest/gtest.h>

#include "filter_policy/parted_filter.h"
#include "filter_policy/surf/surf.h"
#include "rocksdb/advanced_cache.h"
#include "test_util/testharness.h"
#include "tests/filter_policy/small_blocks.h"
#include "tests/fuzz/block_contracts.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- What an intact block says ----

TEST(FilterBlockTest, RoundTripOfAllFamilies) {
  for (const KeyFamily& family : KeyFamilies(2000, kBlockSeed)) {
    SCOPED_TRACE(family.name);
    for (const auto& [hash_bits, real_bits] :
         {std::pair{0u, 0u}, {0, 4}, {4, 0}, {4, 4}, {0, 16}, {32, 32}}) {
      const std::string bytes =
          BuildBlock(family.keys, NewSurfFilterPolicy({hash_bits, real_bits}));
      const FilterBlock block(bytes);
      ASSERT_OK(block.status());
      EXPECT_TRUE(block.CanFilter());
      EXPECT_EQ(kSurfKind, block.header().kind);
      EXPECT_EQ(family.keys.size(), block.header().num_keys);
      ExpectNoFalseNegatives(block, family.keys);
      ExpectReaderFinds(bytes, family.keys);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(FilterBlockTest, Header) {
  const Keys keys = {"apple", "band", "cherry"};
  const std::string bytes = BuildBlock(keys, NewSurfFilterPolicy({0, 8}));
  EXPECT_EQ("PRTN", bytes.substr(0, 4));
  EXPECT_EQ(1, bytes[kVersionOffset]);
  EXPECT_EQ(1, bytes[kKindOffset]);
  EXPECT_EQ(3u, DecodeFixed64(&bytes[kNumKeysOffset]));
  const FilterSalt salt = FilterSalt::Draw();  // the same each time
  EXPECT_EQ(salt.file, DecodeFixed64(&bytes[kSaltOffset]));
  EXPECT_EQ(salt.process, DecodeFixed64(&bytes[kSaltOffset + 8]));
  EXPECT_EQ(1u, DecodeFixed32(&bytes[kNumPartsOffset]));
  EXPECT_EQ(
      "\x05"
      "apple\x06"
      "cherry",
      bytes.substr(FilterDirectory::kFixedSize, 13));
  EXPECT_EQ(std::string(13, '\0'), bytes.substr(bytes.size() - 13));
  EXPECT_EQ(bytes, WithRightChecksums(bytes));

  const FilterBlock block(bytes);
  EXPECT_EQ("apple", block.header().smallest.ToString());
  EXPECT_EQ("cherry", block.header().largest.ToString());
  EXPECT_EQ(0, block.header().flags);
  EXPECT_EQ(salt.file, block.header().salt.file);
  EXPECT_EQ(salt.process, block.header().salt.process);
}

// The trie would hold all bytes that the two keys of each pair share.
TEST(FilterBlockTest, NoTrieOfKeysThatDifferLate) {
  Random random(kBlockSeed);
  Keys pairs;
  Keys halves;
  for (int i = 0; i < 400; i++) {
    const std::string path = random.RandomBinaryString(1000);
    halves.push_back(path + "1");
    pairs.push_back(path + "1");
    pairs.push_back(path + "2");
  }
  SortUnique(&halves);
  SortUnique(&pairs);
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

TEST(FilterBlockTest, IsReadAtAnyAlignment) {
  const Keys keys = SetWithDenseLevels();
  const std::string bytes = BuildBlock(keys);
  const Keys queries = QueriesAround(keys, 40);
  const BlockExam aligned = Examine(FilterBlock(bytes), queries);
  for (size_t misalignment = 0; misalignment < 9; misalignment++) {
    const GuardedBlock copy(bytes, misalignment);
    const FilterBlock block(copy.slice());
    ASSERT_OK(block.status());
    ASSERT_NE(std::string::npos, static_cast<const Surf&>(*block.filter())
                                     .fst()
                                     .Describe()
                                     .find("dense"));
    ExpectNoFalseNegatives(block, keys);
    EXPECT_FALSE(block.KeyMayMatch("b"));
    EXPECT_FALSE(block.RangeMayMatch("b", "c", true));
    const BlockExam exam = Examine(block, queries);
    EXPECT_EQ(nullptr, exam.broken) << exam.broken;
    EXPECT_EQ(aligned.answers, exam.answers);
  }
}

TEST(FilterBlockTest, NoKeys) {
  const std::string bytes = BuildBlock({});
  const FilterBlock block(bytes);
  ASSERT_OK(block.status());
  EXPECT_EQ(0u, block.header().num_keys);
  EXPECT_FALSE(block.KeyMayMatch(""));
  EXPECT_FALSE(block.RangeMayMatch("", "\xff", true));
  EXPECT_FALSE(block.PrefixMayMatch("a"));
  EXPECT_FALSE(block.HasKeyAtOrAbove(""));
}

// RocksDB adds a user key once for each of its versions.
TEST(FilterBlockTest, DuplicatesCountOnce) {
  const std::string once = BuildBlock({"", "a", "ab", "b"});
  const std::string twice =
      BuildBlock({"", "", "a", "ab", "ab", "ab", "b", "b"});
  EXPECT_EQ(Hex(once), Hex(twice));
  EXPECT_EQ(4u, FilterBlock(twice).header().num_keys);
}

// The keys of a table with another comparator come in another order.
TEST(FilterBlockTest, UnsortedKeysGiveAnAlwaysTrueBlock) {
  const std::string bytes = BuildBlock({"a", "c", "b", "d"});
  const FilterBlock block(bytes);
  EXPECT_OK(block.status());
  EXPECT_EQ(FilterKind::kAlwaysTrue, block.header().kind);
  EXPECT_EQ(4u, block.header().num_keys);
  ExpectAlwaysTrue(block);
}

TEST(FilterBlockTest, HasKeyAtOrAbove) {
  const std::string bytes = BuildBlock({"b", "d"});
  const FilterBlock block(bytes);
  for (const char* bound : {"", "a", "b", "c", "d"}) {
    EXPECT_TRUE(block.HasKeyAtOrAbove(bound)) << bound;
  }
  EXPECT_FALSE(block.HasKeyAtOrAbove(Slice("d\0", 2)));
  EXPECT_FALSE(block.HasKeyAtOrAbove("e"));
}

// Only the first 64 bytes of the smallest and of the largest key are stored:
// what lies after them must never be taken for known.
TEST(FilterBlockTest, LongKeysAreStoredInPart) {
  const std::string stored(FilterBlockHeader::kMaxStoredKey, 'm');
  const Keys keys = {stored + "b", stored + "d"};
  const std::string bytes = BuildBlock(keys, NewSurfFilterPolicy({0, 0}));
  const FilterBlock block(bytes);
  ASSERT_OK(block.status());
  EXPECT_EQ(stored, block.header().smallest.ToString());
  EXPECT_EQ(stored, block.header().largest.ToString());
  ExpectNoFalseNegatives(block, keys);

  EXPECT_TRUE(block.HasKeyAtOrAbove(stored));
  EXPECT_FALSE(block.HasKeyAtOrAbove(stored + "a")) << "unknown, hence no";
  EXPECT_FALSE(block.HasKeyAtOrAbove("n"));

  // Below and above the stored parts: settled by them.
  EXPECT_FALSE(block.RangeMayMatch("", stored, false));
  EXPECT_FALSE(block.RangeMayMatch("", "ma", true));
  EXPECT_FALSE(block.RangeMayMatch("mn", "z", true));
  EXPECT_FALSE(block.RangeMayMatch("n", "z", true));
  // Among what shares them: left to the trie, which knows the next byte.
  EXPECT_FALSE(block.RangeMayMatch(stored, stored + "a", true));
  EXPECT_TRUE(block.RangeMayMatch(stored, stored + "b", true));
  EXPECT_FALSE(block.RangeMayMatch(stored + "b\xff", stored + "c", true) &&
               block.RangeMayMatch(stored + "c", stored + "c\xff", true));
  EXPECT_TRUE(block.RangeMayMatch(stored + "d", "z", true));
  EXPECT_FALSE(block.RangeMayMatch(stored + "e", "z", true));
}

// Keys of just the stored length and one byte more or less.
TEST(FilterBlockTest, KeysAboutAsLongAsTheStoredPart) {
  for (size_t length = 62; length <= 67; length++) {
    const std::string base(length - 1, 'm');
    const Keys keys = {base + "b", base + "d"};
    const std::string bytes = BuildBlock(keys);
    const FilterBlock block(bytes);
    ASSERT_OK(block.status());
    ExpectNoFalseNegatives(block, keys);
    for (const std::string& lo : QueriesAround(keys, 60)) {
      for (const std::string& hi : QueriesAround(keys, 60)) {
        for (const std::string& key : keys) {
          if (lo <= key && key <= hi) {
            ASSERT_TRUE(block.RangeMayMatch(lo, hi, true));
          }
          if (lo <= key && key < hi) {
            ASSERT_TRUE(block.RangeMayMatch(lo, hi, false));
          }
        }
      }
      ASSERT_TRUE(keys.back() >= lo || !block.HasKeyAtOrAbove(lo)) << Hex(lo);
    }
  }
}

// ---- Prefixes ----

TEST(FilterBlockTest, LiteralPrefixesAreAskedOfTheTrie) {
  const std::unique_ptr<const SliceTransform> first_three(
      NewFixedPrefixTransform(3));
  const Keys keys = {"ab", "abc", "abcde", "b", "xyz1", "xyz2"};
  const std::string bytes = BuildBlockWithPrefixes(keys, *first_three);
  const FilterBlock block(bytes);
  ASSERT_OK(block.status());
  EXPECT_EQ(FilterBlockHeader::kAskedForPrefixes, block.header().flags);
  ExpectNoFalseNegatives(block, keys);
  // Whole keys and prefixes come through the same function, unmarked.
  ExpectReaderFinds(bytes, {"ab", "abc", "abcde", "b", "xyz1", "xyz2", "xyz"});
  ProteanFilterBitsReader reader{Slice(bytes)};
  EXPECT_FALSE(reader.MayMatch("acc"));
  EXPECT_FALSE(block.PrefixMayMatch("y"));
}

TEST(FilterBlockTest, OtherPrefixesAreUnknown) {
  const auto builder = NewBuilder(*NewSurfFilterPolicy({0, 8}));
  const Keys keys = {"key1", "key2"};
  for (const std::string& key : keys) {
    builder->AddKeyAndAlt(key, "not a prefix of the key");
  }
  const std::string bytes = Finish(builder.get());
  const FilterBlock block(bytes);
  ASSERT_OK(block.status());
  EXPECT_TRUE(block.PrefixMayMatch("anything"));
  ExpectReaderFinds(bytes, {"key1", "key2", "not a prefix of the key"});
  EXPECT_FALSE(block.RangeMayMatch("a", "b", true)) << "ranges still work";
}

TEST(FilterBlockTest, PrefixesOfFfBytes) {
  const std::string bytes = BuildBlock({"a", "\xff\xff", "\xff\xff\xff z"});
  const FilterBlock block(bytes);
  EXPECT_TRUE(block.PrefixMayMatch(""));
  EXPECT_TRUE(block.PrefixMayMatch("\xff"));
  EXPECT_TRUE(block.PrefixMayMatch("\xff\xff\xff"));
  EXPECT_FALSE(block.PrefixMayMatch("b\xff\xff"));
}

// ---- The builder ----

TEST(FilterBlockTest, BuilderChargesTheBlockCache) {
  for (bool charged : {false, true}) {
    BlockBasedTableOptions options;
    options.block_cache = NewLRUCache(64 << 20);
    options.cache_usage_options
        .options_overrides[CacheEntryRole::kFilterConstruction]
        .charged = charged ? CacheEntryRoleOptions::Decision::kEnabled
                           : CacheEntryRoleOptions::Decision::kDisabled;
    auto builder = NewBuilder(*NewSurfFilterPolicy({0, 8}), options);
    for (uint64_t i = 0; i < 300000; i++) builder->AddKey(BigEndian(i * i));
    const size_t while_adding = options.block_cache->GetPinnedUsage();
    std::unique_ptr<const char[]> buffer;
    const size_t size = builder->Finish(&buffer).size();
    const size_t finished = options.block_cache->GetPinnedUsage();
    if (charged) {
      EXPECT_GE(while_adding, size / 2);
      EXPECT_GE(finished, size);
      EXPECT_LE(finished, 2 * size);
    } else {
      EXPECT_EQ(0u, while_adding);
      EXPECT_EQ(0u, finished);
    }
    builder.reset();
    EXPECT_EQ(0u, options.block_cache->GetPinnedUsage());
  }
}

// Few keys can be large.
TEST(FilterBlockTest, BuilderChargesForLongKeys) {
  BlockBasedTableOptions options;
  options.block_cache = NewLRUCache(256 << 20);
  options.cache_usage_options
      .options_overrides[CacheEntryRole::kFilterConstruction]
      .charged = CacheEntryRoleOptions::Decision::kEnabled;
  auto builder = NewBuilder(*NewSurfFilterPolicy({0, 8}), options);
  for (int i = 0; i < 100; i++) {
    std::string key(100000, static_cast<char>('a' + i / 2));
    key.back() = static_cast<char>('0' + i % 2);
    builder->AddKey(key);
  }
  EXPECT_GE(options.block_cache->GetPinnedUsage(), 4000000u);
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

}  // namespace ROCKSDB_NAMESPACE::protean
