// SPDX-License-Identifier: Apache-2.0

//  The filter block: what a policy's builder writes, its reader reads. (Its
//  bytes, and that salts are stored: golden_test.cc. All questions about the
//  ends of a block: surf_exhaustive_test.cc. Keys in no order:
//  parted_filter_test.cc. Damage, at any alignment: filter_damage_test.cc.)
//
//  Its hashes: each file has a salt, and a digest that is reused from an
//  earlier call is always that of the bytes of the current call.

#include <atomic>
#include <set>

#include "rocksdb/advanced_cache.h"
#include "tests/filter_policy/small_blocks.h"
#include "tests/with_salt.h"

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

// RocksDB adds a user key once for each of its versions.
TEST(FilterBlockTest, DuplicatesCountOnce) {
  const auto once = BuildBlock({"", "a", "ab", "b"});
  const auto twice = BuildBlock({"", "", "a", "ab", "ab", "ab", "b", "b"});
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

// Several threads ask a filter at once, as the iterators of a DB do.
// ThreadSanitizer sees what the answers do not show.
TEST(FilterBlockTest, QuestionsShareNoState) {
  for (const auto& [name, keys] : KeyFamilies(3000, 31)) {
    for (const char* spec : {"surf:4:4", "surf:0:8", "proteus:12",
                             "prefixbloom:12", "prefixbloom2:14:ribbon"}) {
      const MemoryFilter filter = FilterOf(spec, keys);
      const FilterBlock& block = *filter.block();
      std::atomic<int> failures{0};
      InThreads(4, [&, &keys = keys](size_t thread) {
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
      EXPECT_EQ(0, failures) << name << " " << spec;
    }
  }
}

// ---- Salts ----

namespace {

constexpr FilterSalt kNoSalt;
constexpr FilterSalt kOne = {0x9d3c5f1b7e2a4861, 0x6b8f13d0c5a7e294};
// Each half differs once.
constexpr FilterSalt kTwo = {0x2f71e8b4a60d93c5, kOne.process};
constexpr FilterSalt kThree = {kOne.file, 0xe15a7c39d8462fb0};

Keys RandomKeys(size_t count, int size) {
  Random rnd(1);
  return MakeKeys(count, [&](size_t) { return rnd.RandomBinaryString(size); });
}

TEST(FilterSaltTest, DrawsANumberForEachFileAndOneForTheProcess) {
  const WithSalt with(std::nullopt);
  std::vector<FilterSalt> drawn(400);
  InThreads(4, [&drawn](size_t thread) {
    for (size_t i = thread; i < drawn.size(); i += 4) {
      drawn[i] = FilterSalt::Draw();
    }
  });
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
  // Each way to hash, and bits per key: 0 for a SuRF.
  const std::pair<ProteusDesign, double> designs[] = {
      {TrieAndSet(0, 64), 12},  {TrieAndSet(0, 64, kRibbonAmq), 12},
      {TrieAndSet(16, 64), 16}, {TrieAndSet(0, 64, kBloomAmq, 64), 10},
      {TrieAndSet(0, 160), 12}, {TwoSets(40, 160), 12},
      {WithKeys({}, 0), 12},    {ProteusDesign(), 0}};
  for (const std::pair<ProteusDesign, double>& way : designs) {
    const bool surf = way.second == 0;
    SCOPED_TRACE(surf ? "SuRF" : way.first.Describe());
    const auto build = [&](const FilterSalt& salt) {
      return surf ? BuildSurfBlock(keys, {8, 0}, {}, salt)
                  : BuildProteusBlock(keys, way.first, way.second, salt);
    };
    const OwnBlock known(build(kOne));
    Keys attack;
    size_t tried = 0;
    while (attack.size() < kWanted) {
      // A trie lets none but the keys near those there are get to a hash; a
      // series would let those through that share a prefix with one.
      std::string query = random.RandomBinaryString(24);
      if (surf) query.replace(0, 8, AnyOf(keys, &random), 0, 8);
      tried++;
      ASSERT_LT(tried, 10'000'000u);
      if (known->KeyMayMatch(query)) attack.push_back(std::move(query));
    }
    const double blind = static_cast<double>(kWanted) / tried;
    const auto passed = [&](const FilterSalt& salt) {
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
  for (const FilterSalt& salt : {kNoSalt, kOne, kTwo}) {
    const OwnBlock block(BuildProteusBlock(keys, TrieAndSet(0, 128), 12, salt));
    int passed = 0;
    for (int i = 0; i < 1000; i++) {
      passed += block->KeyMayMatch('m' + random.RandomBinaryString(7) + window);
    }
    EXPECT_TRUE(salt == kNoSalt ? passed == 1000 : passed < 50) << passed;
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

constexpr size_t kMin = kMinRemembered;
constexpr size_t kMax = kMaxRemembered;
constexpr size_t kSizes[] = {0,    1,   8,   9,   17,   kMin - 1,
                             kMin, 240, 241, 500, kMax, kMax + 1};

// The digest of the first `size` bytes, which is queries' too.
void ExpectSame(const Slice& key, size_t size, uint64_t process) {
  const std::string copy(key.data(), size);
  ASSERT_EQ(DigestOf(copy, size, process), DigestOnce(key, size, process))
      << size << " bytes of " << key.size();
}
void ExpectSame(const Slice& key, uint64_t process) {
  ExpectSame(key, key.size(), process);
}

}  // namespace

// Other bytes are in the same buffer.
TEST(PrefixHashTest, OnlyEqualHeadsShareADigest) {
  for (size_t size : kSizes) {
    std::string buffer(size, 'a');
    for (size_t i = 0; i < size; i++) {
      buffer[i]++;
      ExpectSame(buffer, 7);
      ExpectSame(buffer, 7);
    }
  }
}

// Each byte, and their number, counts: to heads of one word, without end zeros.
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

// A lookup asks several filters, for heads of different lengths, of files of
// different processes, also after lookups that have asked one filter.
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
      uint32_t computed = 0;
      for (int i = 0; i < 100; i++) {
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
                  HashWindow(LoadBits64(key, length.head_bytes),
                             HashHead(key, length), length))
            << bytes;
      }
    }
  }
}

// Keys from two buffers, whole or in part, for some processes. The sequence is
// long enough to enter the idle state and to leave it.
TEST(PrefixHashTest, AnySequenceOnAnyThread) {
  InThreads(4, [](size_t thread) {
    Random rnd(static_cast<uint32_t>(thread + 1));
    std::vector<std::string> heads;
    for (size_t size : kSizes) {
      for (char last : {'a', 'b', 'c'}) {
        heads.push_back(std::string(size, 'a'));
        if (size > 0) heads.back().back() = last;
      }
    }
    std::string buffer;
    for (int i = 0; i < 50000; i++) {
      const std::string& head = AnyOf(heads, &rnd);
      buffer = head;
      const int most_times = 1 + (i / 500) % 8;
      for (int times = rnd.Uniform(most_times) + 1; times > 0; times--) {
        const size_t cut = rnd.OneIn(9) && !head.empty()
                               ? 1
                               : head.size() / 8 * rnd.Uniform(3);
        ExpectSame(rnd.OneIn(3) ? head : buffer, head.size() - cut,
                   rnd.OneIn(20) ? 8 + rnd.Uniform(30) : 7);
      }
    }
  });
}

}  // namespace ROCKSDB_NAMESPACE::protean
