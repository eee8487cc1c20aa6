// SPDX-License-Identifier: Apache-2.0

//  Salts: each file has its own, and absent keys that one filter lets through
//  are nothing to another filter of the same keys. (That salts are stored:
//  golden_test.cc.) And digests: one that is reused from an earlier call is
//  always that of the bytes of the current call.

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "filter_policy/bits/checksum.h"
#include "filter_policy/proteus/prefix_hash.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/with_salt.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Salts ----

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

// ---- Digests ----

namespace {

constexpr size_t kSizes[] = {0,
                             1,
                             8,
                             9,
                             17,
                             kMinRemembered - 1,
                             kMinRemembered,
                             240,
                             241,
                             500,
                             kMaxRemembered,
                             kMaxRemembered + 1};

// The digest of the first `size` bytes, which is queries' too.
void ExpectSame(const Slice& key, size_t size, uint64_t process) {
  const std::string copy(key.data(), size);
  ASSERT_EQ(DigestOf(copy, size, process), DigestOnce(key, size, process))
      << size << " bytes of " << key.size();
}
void ExpectSame(const Slice& key, uint64_t process) {
  ExpectSame(key, key.size(), process);
}

// The digests that the thread computes in a call.
template <typename Call>
uint32_t ComputedIn(const Call& call) {
  const uint32_t before = DigestMemory::Computed();
  call();
  return DigestMemory::Computed() - before;
}

}  // namespace

// Other bytes are in the same buffer, or the same bytes in another buffer, of
// another process or of another size.
TEST(PrefixHashTest, OnlyEqualHeadsShareADigest) {
  for (size_t size : kSizes) {
    std::string buffer(size, 'a');
    for (size_t i = 0; i < size; i++) {
      buffer[i]++;
      ExpectSame(buffer, 7);
      ExpectSame(buffer, 7);
    }
    const std::string one(size, 'a');
    const std::string other = one;
    for (int i = 0; i < 100; i++) {
      ExpectSame(i % 2 == 0 ? one : other, 7);
      if (i % 3 == 0) ExpectSame(one, 8 + static_cast<uint64_t>(i));
      if (i % 5 == 0 && size > 0) ExpectSame(Slice(one.data(), size - 1), 7);
      if (i % 7 == 0) ExpectSame(one, size - size / 4, 7);
    }
  }
}

// Each byte, and the number of bytes, makes a difference: to heads of one word,
// without zeros at their end.
TEST(PrefixHashTest, DigestsDiffer) {
  for (const uint64_t process : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
    std::set<uint64_t> digests;
    size_t strings = 0;
    const auto add = [&](const std::string& string) {
      digests.insert(DigestOf(string, string.size(), process));
      strings++;
    };
    for (size_t size = 1; size < 300; size++) {
      for (const char c : {'a', '\0'}) {
        if (c == '\0' && size <= 8) continue;
        std::string string(size, c);
        add(string);
        for (size_t i = 0; i < size; i++) {
          for (const int change : {1, 0x40}) {
            string[i] = static_cast<char>(c ^ change);
            add(string);
          }
          string[i] = c;
        }
      }
    }
    EXPECT_EQ(strings, digests.size());
  }
}

// A lookup that asks several filters computes each digest once: of heads of
// different lengths, of files of different processes, and also after lookups
// that have asked one filter only.
TEST(PrefixHashTest, DigestsAreComputedOnce) {
  for (const bool idle : {false, true}) {
    for (const size_t size : {kMinRemembered, size_t{200}, kMaxRemembered}) {
      std::string key(size, 'k');
      const auto change = [&] {
        for (char& c : key) {
          if (++c != 0) break;
        }
      };
      for (int i = 0; idle && i < 1000; i++) {
        change();
        ExpectSame(key, 7);
      }
      constexpr size_t kHeads[] = {0, 1, 9};
      constexpr int kLookups = 100;
      uint32_t computed = 0;
      for (int i = 0; i < kLookups; i++) {
        change();
        computed = ComputedIn([&] {
          for (int run = 0; run < 9; run++) {
            for (const size_t left_out : kHeads) {
              for (const uint64_t process : {7, 8}) {
                ExpectSame(key + "rest", size - left_out, process);
              }
            }
          }
        });
      }
      const size_t heads = size == kMinRemembered ? 1 : std::size(kHeads);
      EXPECT_EQ(2 * heads, computed) << size;
    }
  }
}

TEST(PrefixHashTest, SwitchedOffNothingIsRemembered) {
  std::string key(300, 'k');
  DigestMemory::SwitchOn(false);
  for (int i = 0; i < 5; i++) ExpectSame(key, 9);
  DigestMemory::SwitchOn(true);
  EXPECT_EQ(1u, ComputedIn([&] {
              for (int i = 0; i < 5; i++) ExpectSame(key, 9);
            }));
}

// Both functions leave out the zeros at the end of a head.
TEST(PrefixHashTest, OwnBytes) {
  Random rnd(9);
  for (size_t size = 0; size < 600; size++) {
    std::string key = rnd.RandomBinaryString(static_cast<int>(size));
    if (size > 40) key.replace(size / 2, 12, 12, '\0');
    for (const FilterSalt& salt : {FilterSalt(), FilterSalt{5, 6}}) {
      for (uint32_t bytes = 0; bytes <= size; bytes++) {
        const PrefixLength length(8 * bytes, salt);
        ASSERT_EQ(HashPrefix(key, length),
                  HashOwnBytes(key, HashHead(key, length), length))
            << bytes;
      }
    }
  }
}

// A sequence of keys, each asked for some number of times, which is long enough
// to enter the idle state and to leave it.
TEST(PrefixHashTest, AnySequenceOnAnyThread) {
  const auto run = [](uint32_t seed) {
    Random rnd(seed);
    std::vector<std::string> heads;
    for (size_t size : kSizes) {
      for (char last : {'a', 'b', 'c'}) {
        heads.push_back(std::string(size, 'a'));
        if (size > 0) heads.back().back() = last;
      }
    }
    std::string buffer;
    for (int i = 0; i < 50000; i++) {
      buffer = heads[rnd.Uniform(static_cast<int>(heads.size()))];
      const int most_times = 1 + (i / 500) % 8;
      for (int times = rnd.Uniform(most_times) + 1; times > 0; times--) {
        const size_t cut = buffer.size() / 8 * rnd.Uniform(3);
        ExpectSame(buffer, buffer.size() - cut, rnd.OneIn(20) ? 8 : 7);
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= 4; seed++) threads.emplace_back(run, seed);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ROCKSDB_NAMESPACE::protean
