// SPDX-License-Identifier: Apache-2.0

//  Which filters have a salt, that it is stored with them and no other will do,
//  and what it is for: absent keys that one filter lets through are nothing to
//  another filter of the same keys.

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "filter_policy/bits/checksum.h"
#include "filter_policy/filter_block.h"
#include "plugin/protean.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/with_salt.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr FilterSalt kNone;
constexpr FilterSalt kOne = {0x9d3c5f1b7e2a4861, 0x6b8f13d0c5a7e294};
// Each half differs once.
constexpr FilterSalt kTwo = {0x2f71e8b4a60d93c5, kOne.process};
constexpr FilterSalt kThree = {kOne.file, 0xe15a7c39d8462fb0};

Keys RandomKeys(size_t count, int size) {
  Random random(1);
  return MakeKeys(count,
                  [&](size_t) { return random.RandomBinaryString(size); });
}

// Builds a filter as RocksDB builds that of a file.
std::string Build(const FilterPolicy& policy, const Keys& keys,
                  const FilterSalt& salt) {
  const WithSalt with(salt);
  const auto builder = NewBuilder(policy);
  for (const std::string& key : keys) builder->AddKey(key);
  return Finish(builder.get());
}

using BuildWith = std::function<std::string(const FilterSalt&)>;

// Each way to hash, over `keys`.
std::vector<std::pair<const char*, BuildWith>> Hashing(const Keys& keys) {
  std::vector<std::pair<const char*, BuildWith>> all;
  const auto add = [&](const char* name, const ProteusDesign& design,
                       double bits_per_key = 12) {
    all.push_back({name, [=](const FilterSalt& salt) {
                     return BuildProteusBlock(keys, design, bits_per_key, salt);
                   }});
  };
  all.push_back({"SuRF-Hash", [=](const FilterSalt& salt) {
                   return BuildSurfBlock(keys, {8, 0}, {}, salt);
                 }});
  add("Bloom of words", TrieAndSet(0, 64));
  add("Ribbon of words", TrieAndSet(0, 64, kRibbonAmq));
  add("trie and Bloom", TrieAndSet(16, 64), 16);
  add("Bloom of long prefixes", TrieAndSet(0, 160));
  add("two Blooms", TwoSets(40, 160), 12);
  add("series", TrieAndSet(0, 64, kBloomAmq, 64), 10);
  add("keys", WithKeys({}, 0));
  return all;
}

}  // namespace

TEST(FilterSaltTest, DrawsANumberForEachFileAndOneForTheProcess) {
  const WithSalt with(std::nullopt);
  std::vector<FilterSalt> drawn(400);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; t++) {
    threads.emplace_back([&drawn, t] {
      for (size_t i = t; i < drawn.size(); i += 4) {
        drawn[i] = FilterSalt::Draw();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> files;
  for (const FilterSalt& salt : drawn) {
    EXPECT_NE(0u, salt.file);
    EXPECT_NE(0u, salt.process);
    EXPECT_EQ(drawn[0].process, salt.process);
    files.insert(salt.file);
  }
  EXPECT_EQ(drawn.size(), files.size());
}

TEST(FilterSaltTest, IsStored) {
  const Keys keys = RandomKeys(1000, 8);
  const auto hash = NewSurfFilterPolicy({4, 4});
  for (const auto& [block, salt] :
       std::vector<std::pair<std::string, FilterSalt>>{
           {Build(*hash, keys, kOne), kOne},
           {Build(*hash, keys, kTwo), kTwo},
           {BuildProteusBlock(keys, TrieAndSet(0, 64), 12, kOne), kOne},
           // No filter: keys in no order.
           {Build(*hash, {"b", "c", "a"}, kOne), kNone}}) {
    EXPECT_TRUE(salt == OwnBlock(block)->header().salt);
  }
}

TEST(FilterSaltTest, KeysAreFoundWithAnySalt) {
  const uint64_t kAll = ~uint64_t{0};
  for (const FilterSalt& salt : {kNone, kOne, kTwo, FilterSalt{0, 1},
                                 FilterSalt{1, 0}, FilterSalt{kAll, kAll}}) {
    for (const KeyFamily& family : KeyFamilies(200, 5)) {
      for (const auto& [name, build] : Hashing(family.keys)) {
        SCOPED_TRACE(family.name + ", " + name);
        const OwnBlock block(build(salt));
        ASSERT_NO_FATAL_FAILURE(ExpectHolds(*block, family.keys));
        const std::vector<bool> found = AnswersToBatch(*block, family.keys);
        ASSERT_EQ(0, std::count(found.begin(), found.end(), false));
        for (const std::string& key : family.keys) {
          ASSERT_TRUE(block->RangeMayMatch(key, key + '\1', false));
          ASSERT_TRUE(LowerBoundHolds(*block, family.keys, key));
        }
      }
    }
  }
}

// What a filter lets through, another one of the same keys with another salt
// lets through as if it had been chosen blindly. Either half of the salt does.
TEST(FilterSaltTest, WhatOneLetsThroughIsNothingToAnother) {
  constexpr size_t kWanted = 300;
  Random random(2);
  const Keys keys = RandomKeys(5000, 24);
  for (const auto& [name, build] : Hashing(keys)) {
    SCOPED_TRACE(name);
    const bool surf = std::string(name) == "SuRF-Hash";
    const OwnBlock known(build(kOne));
    Keys attack;
    size_t tried = 0;
    while (attack.size() < kWanted) {
      // A trie lets none but the keys near those there are get to a hash; a
      // series would let those through that share a prefix with one.
      std::string query = random.RandomBinaryString(24);
      if (surf) {
        query.replace(0, 8, AnyOf(keys, &random), 0, 8);
      }
      tried++;
      ASSERT_LT(tried, 10'000'000u);
      if (known->KeyMayMatch(query)) attack.push_back(std::move(query));
    }
    const double blind = static_cast<double>(kWanted) / tried;
    const auto passed = [&, build = build](const FilterSalt& salt) {
      const OwnBlock other(build(salt));
      size_t count = 0;
      for (const std::string& query : attack) {
        count += other->KeyMayMatch(query);
      }
      return count;
    };
    for (const FilterSalt& salt : {kTwo, kThree}) {
      // 3 / kWanted and more would be let through of another 300.
      EXPECT_LT(static_cast<double>(passed(salt)) / kWanted, 3 * blind + 0.04)
          << "blindly: " << blind;
    }
    EXPECT_EQ(kWanted, passed(kOne));
  }
}

// If the mixed words were known, one key could make all hashes below a prefix
// equal: its window would hide its head.
TEST(FilterSaltTest, NoWindowHidesItsHead) {
  constexpr uint64_t kWindow = 0x9e3779b97f4a7c15;
  std::string window(8, '\0');
  EncodeFixed64(window.data(), EndianSwapValue(kWindow));
  Keys keys = RandomKeys(1000, 16);
  keys.push_back(std::string(8, 'k') + window);
  keys.push_back(std::string(16, '\0'));
  keys.push_back(std::string(16, '\xff'));
  SortUnique(&keys);
  Random random(3);
  for (const FilterSalt& salt : {kNone, kOne, kTwo}) {
    const OwnBlock block(BuildProteusBlock(keys, TrieAndSet(0, 128), 12, salt));
    int passed = 0;
    for (int i = 0; i < 1000; i++) {
      passed += block->KeyMayMatch('m' + random.RandomBinaryString(7) + window);
    }
    if (salt == kNone) {
      EXPECT_EQ(1000, passed);
    } else {
      EXPECT_LT(passed, 50);
    }
  }
}

// The hash of a short string is RocksDB's.
TEST(FilterSaltTest, HashesOfStrings) {
  const std::string bytes = Random(6).RandomBinaryString(1000);
  for (size_t size = 0; size <= bytes.size(); size++) {
    const uint64_t plain = Hash64(bytes.data(), size, 9);
    EXPECT_EQ(size <= kLongestPiece, plain == HashBytes(bytes.data(), size, 9));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
