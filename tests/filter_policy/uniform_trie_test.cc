// SPDX-License-Identifier: Apache-2.0

//  The trie of prefixes of one length against a sorted list of them.

#include "filter_policy/proteus/uniform_trie.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/filter_policy/prefixes.h"
#include "tests/stored_keys.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string Build(const Keys& prefixes, uint32_t bits) {
  UniformTrieBuilder builder(bits);
  size_t shared = 0;
  for (size_t i = 0; i + 1 < prefixes.size(); i++) {
    const size_t next = Slice(prefixes[i]).difference_offset(prefixes[i + 1]);
    builder.Add(prefixes[i].data(), shared, next);
    shared = next;
  }
  builder.AddLast(prefixes.back().data(), shared);
  uint64_t size = 0;
  EXPECT_TRUE(builder.Prepare(&size));
  std::string bytes(size + kReadPadding, '\0');
  builder.Write(bytes.data());
  EXPECT_EQ(std::string(kReadPadding, '\0'), bytes.substr(size));
  return bytes;
}

void Compare(const Keys& prefixes, uint32_t bits, const Keys& queries) {
  const GuardedBlock bytes(Build(prefixes, bits), 3);
  Slice input(bytes.slice().data(), bytes.slice().size() - kReadPadding);
  UniformTrie trie;
  ASSERT_OK(trie.Open(&input, /*lead=*/0));
  EXPECT_TRUE(input.empty());
  EXPECT_EQ(bits, trie.prefix_bits());
  const auto contains = [&](const std::string& prefix) {
    return std::binary_search(prefixes.begin(), prefixes.end(), prefix);
  };
  for (const std::string& prefix : prefixes) {
    ASSERT_TRUE(trie.Contains(prefix.data())) << Hex(prefix);
  }
  for (const std::string& lo : queries) {
    ASSERT_EQ(contains(lo), trie.Contains(lo.data())) << Hex(lo);
    const auto above = std::upper_bound(prefixes.begin(), prefixes.end(), lo);
    for (const std::string& hi : queries) {
      if (hi <= lo) continue;
      SCOPED_TRACE(Hex(lo) + " to " + Hex(hi));
      const UniformTrie::Matches matches = trie.Find(lo.data(), hi.data());
      ASSERT_EQ(above != prefixes.end() && *above < hi, matches.between);
      if (matches.between) continue;
      ASSERT_EQ(contains(lo), matches.lo);
      ASSERT_EQ(contains(hi), matches.hi);
    }
  }
}

TEST(UniformTrieTest, AllSetsOfThreeBits) {
  for (int set = 1; set < 256; set++) {
    Keys prefixes;
    Keys all;
    for (int i = 0; i < 8; i++) {
      all.push_back(std::string(1, static_cast<char>(i << 5)));
      if (set >> i & 1) prefixes.push_back(all.back());
    }
    SCOPED_TRACE(set);
    Compare(prefixes, 3, all);
  }
}

TEST(UniformTrieTest, SetsOfTenBits) {
  Keys all;
  for (int i = 0; i < 1024; i += 3) {
    all.push_back({static_cast<char>(i >> 2), static_cast<char>(i << 6)});
  }
  Random rnd(9);
  for (int odds : {1, 2, 10, 100, 400}) {
    Keys prefixes;
    for (const std::string& prefix : all) {
      if (rnd.OneIn(odds)) prefixes.push_back(prefix);
    }
    if (!prefixes.empty()) Compare(prefixes, 10, all);
  }
}

TEST(UniformTrieTest, Families) {
  Random rnd(10);
  for (const KeyFamily& family : KeyFamilies(200, 10)) {
    const Keys strings = AroundEach(
        MakeKeys(8, [&](size_t) { return AnyOf(family.keys, &rnd); }));
    for (uint32_t bits : {1,  7,  8,  9,   20,  56,  57,  63,  64,   65,
                          71, 72, 73, 113, 128, 129, 200, 520, 3999, 4100}) {
      SCOPED_TRACE(family.name + ", " + std::to_string(bits) + " bits");
      Compare(PrefixesOf(family.keys, bits), bits, PrefixesOf(strings, bits));
    }
  }
}

// The estimate before the trie is built is close to its size.
TEST(UniformTrieTest, EstimatedSize) {
  for (const KeyFamily& family : KeyFamilies(5000, 11)) {
    if (family.keys.size() < 1000) continue;
    const KeyStore store = Stored(family.keys);
    const KeyStatistics statistics(store);
    for (uint32_t bits : {8, 12, 16, 24, 31, 40, 64}) {
      const auto actual = static_cast<double>(
          Build(PrefixesOf(family.keys, bits), bits).size() - kReadPadding);
      const auto estimate = static_cast<double>(
          EstimateUniformTrie(bits, statistics.TrieLevels(bits, 0), 8));
      EXPECT_GT(1.15 * estimate + 100, actual) << family.name << " " << bits;
    }
  }
}

TEST(UniformTrieTest, DamagedTries) {
  const Keys keys = KeyFamilies(60, 12)[2].keys;
  for (uint32_t bits : {5, 16, 27, 100}) {
    const Keys prefixes = PrefixesOf(keys, bits);
    const std::string bytes = Build(prefixes, bits);
    for (size_t size = 0; size < bytes.size() - kReadPadding; size++) {
      const GuardedBlock copy(bytes.substr(0, size) +
                              std::string(kReadPadding, '\0'));
      Slice input(copy.slice().data(), size);
      EXPECT_NOK(UniformTrie().Open(&input, /*lead=*/0)) << size;
    }
    for (size_t i = 0; i < bytes.size() - kReadPadding; i++) {
      for (int flip : {1, 0x10, 0x80, 0xff}) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        const GuardedBlock copy(damaged);
        Slice input(copy.slice().data(), bytes.size() - kReadPadding);
        UniformTrie trie;
        if (!trie.Open(&input, /*lead=*/0).ok() || trie.prefix_bits() != bits)
          continue;
        for (size_t k = 0; k + 1 < prefixes.size(); k += 7) {
          trie.Contains(prefixes[k].data());
          trie.Find(prefixes[k].data(), prefixes[k + 1].data());
          trie.Find(prefixes[0].data(), prefixes[k + 1].data());
        }
      }
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
