// SPDX-License-Identifier: Apache-2.0

//  The prefix bits of SuRF, one by one: they are what
//  docs/internals/file_format.md says, a key and a string agree as long as they
//  share bytes, and then like tossed coins; and the step of a file fits its
//  keys.

#include <gtest/gtest.h>

#include <algorithm>

#include "filter_policy/surf/surf.h"
#include "filter_policy/surf/surf_suffix.h"
#include "tests/filter_blocks.h"
#include "tests/guarded_block.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr FilterSalt kSalt = {/*file=*/91, /*process=*/0};

// ---- The definition, bit by bit ----

uint64_t WordOf(const std::string& bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < bytes.size(); i++) {
    word |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return word;
}

uint64_t Mixed(uint64_t x) {
  x *= 0x9e3779b97f4a7c15;
  return x ^ x >> 32;
}

uint64_t Finished(uint64_t state, const std::string& part, uint64_t ending) {
  constexpr uint64_t kFinal = 0xd6e8feb86659fd93;
  return Mixed((state ^ WordOf(part)) + ending * kFinal) * kFinal;
}

// Whether bit `j`, counted from 1, is set.
bool DefinedBit(const std::string& key, size_t depth, uint32_t j,
                uint32_t step) {
  const size_t reach = (j * step + 1) / 2;
  const bool second = j > 1 && ((j - 1) * step + 1) / 2 == reach;
  const std::string rest = key.substr(depth);
  const bool ends = rest.size() < reach;
  const size_t hashed = ends ? rest.size() : reach;
  // A prefix that ends with a word is hashed with that word as its part, the
  // whole key with an empty part.
  const size_t words = ends ? hashed / 8 : (hashed - 1) / 8;
  uint64_t state = Hash64(key.data(), depth, kSalt.file);
  for (size_t i = 0; i < words; i++) {
    state = Mixed(state ^ WordOf(rest.substr(8 * i, 8)));
  }
  const std::string part = rest.substr(8 * words, hashed - 8 * words);
  if (!ends) {
    return (Finished(state, part, part.size()) >> (second ? 62 : 63) & 1) != 0;
  }
  uint64_t whole = Finished(state, part, 9 + part.size());
  whole ^= whole >> 32;
  return (whole >> (second ? 31 + reach : reach - 1) & 1) != 0;
}

std::string RandomBytes(Random* rnd, size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(rnd->Uniform(4) * 85);
  return bytes;
}

// ---- Which step is chosen ----

std::string SuffixDesign(const std::vector<std::string>& keys, uint32_t bits) {
  SurfSuffix suffix;
  suffix.prefix_bits = bits;
  FstOptions options;
  options.digits = FstOptions::kNever;
  SurfBuilder builder(suffix, options);
  for (const std::string& key : keys) builder.AddKey(key);
  FinishPayload(&builder);
  return builder.Report().design;
}

std::string Letters(Random* rnd, size_t size) {
  std::string text;
  while (text.size() < size) text += static_cast<char>('a' + rnd->Uniform(26));
  return text;
}

}  // namespace

TEST(SurfPrefixBitsTest, AreAsDefined) {
  Random rnd(11);
  for (int round = 0; round < 3000; round++) {
    const size_t depth = rnd.Uniform(30);
    const std::string key =
        RandomBytes(&rnd, depth + rnd.Uniform(round % 2 == 0 ? 12 : 90));
    // Nothing outside of the key is read.
    const GuardedBlock copy(key, round % 8);
    for (uint32_t bits : {1, 3, 8, 13, 16}) {
      const PrefixBitDrafts drafts(bits);
      ASSERT_LE(drafts.bits(), 64u);
      const uint64_t draft = drafts.Of(copy.slice(), depth, kSalt);
      for (uint32_t step : PrefixSteps(bits)) {
        ASSERT_LE(PrefixReach(bits, step), kMaxPrefixReach);
        uint64_t defined = 0;
        for (uint32_t j = 1; j <= bits; j++) {
          defined |= uint64_t{DefinedBit(key, depth, j, step)} << (j - 1);
        }
        SCOPED_TRACE("step " + std::to_string(step) + ", " +
                     std::to_string(bits) + " bits, depth " +
                     std::to_string(depth) + ", key " + Hex(key));
        ASSERT_EQ(defined,
                  PrefixBitsOf(copy.slice(), depth, kSalt, bits, step));
        ASSERT_EQ(defined, drafts.Choose(draft, drafts.PlacesOf(step)));
        const uint32_t some = rnd.Uniform(static_cast<int>(bits)) + 1;
        ASSERT_EQ(defined & ((uint64_t{1} << some) - 1),
                  PrefixBitsOf(copy.slice(), depth, kSalt, some, step));
      }
    }
  }
}

TEST(SurfPrefixBitsTest, Within) {
  for (uint32_t step = 1; step <= 20; step++) {
    for (uint32_t bits = 0; bits <= 16; bits++) {
      for (size_t bytes = 0; bytes < 100; bytes++) {
        uint32_t within = 0;
        while (within < bits && PrefixReach(within + 1, step) <= bytes) {
          within++;
        }
        ASSERT_EQ(within, PrefixBitsWithin(bytes, bits, step));
      }
    }
  }
  EXPECT_EQ(16u, PrefixBitsWithin(~size_t{0} / 2, 16, 16));
}

// Bits of shared bytes are equal. Each bit from the first different byte on is
// a coin toss: two of them agree in a quarter of all cases, and so on. Nothing
// else is true of a key and its extension, or of zeros.
TEST(SurfPrefixBitsTest, AreCoinsFromTheFirstDifferenceOn) {
  constexpr int kRounds = 20000;
  constexpr uint32_t kBits = 12;
  for (const std::string kind : {"byte", "digit", "extension", "zero"}) {
    for (uint32_t step : {1, 2, 3, 8}) {
      Random rnd(step);
      int agree[kBits][kBits] = {};
      for (int round = 0; round < kRounds; round++) {
        const std::string key = "prefix" + BigEndian(round) +
                                Letters(&rnd, 12) + std::string(2, '\0');
        const bool inside = kind == "byte" || kind == "digit";
        const size_t depth = inside ? 14 : key.size() - 3;
        std::string other = key;
        if (inside) {
          const int change = kind == "byte" ? 1 + rnd.Uniform(255) : 1;
          other[depth + 4] = static_cast<char>(other[depth + 4] ^ change);
        } else {
          other += kind == "extension" ? 'x' : '\0';
        }
        const size_t shared = Slice(key).difference_offset(other) - depth;
        const uint32_t same = PrefixBitsWithin(shared, kBits, step);
        const uint64_t different =
            PrefixBitsOf(key, depth, kSalt, kBits, step) ^
            PrefixBitsOf(other, depth, kSalt, kBits, step);
        ASSERT_EQ(0u, different & ((uint64_t{1} << same) - 1));
        for (uint32_t i = same; i < kBits; i++) {
          for (uint32_t j = i; j < kBits; j++) {
            agree[i][j] +=
                (different >> i & 1) == 0 && (different >> j & 1) == 0;
          }
        }
        ASSERT_LT(same, kBits);
      }
      for (uint32_t i = 0; i < kBits; i++) {
        if (agree[i][i] == 0) continue;
        for (uint32_t j = i; j < kBits; j++) {
          EXPECT_NEAR(i == j ? 0.5 : 0.25, agree[i][j] / double{kRounds}, 0.02)
              << kind << ", step " << step << ", bits " << i << " and " << j;
        }
      }
    }
  }
}

// Keys of pairs are each other's nearest neighbors. The longer they go on alike
// behind what tells them from all other keys, the longer is the step.
TEST(SurfPrefixBitsTest, StepsFitTheKeys) {
  Random rnd(5);
  const auto pairs = [&rnd](const std::string& same) {
    std::string head;
    return MakeKeys(10000, [&](size_t i) {
      if (i % 2 == 0) head = Letters(&rnd, 6) + same;
      return head + Letters(&rnd, 8);
    });
  };
  const std::pair<size_t, std::string> expected[] = {
      {0, "1 byte"}, {4, "1.5 bytes"}, {8, "2 bytes"}, {25, "8 bytes"}};
  for (const auto& [size, step] : expected) {
    EXPECT_EQ("trie, 8 prefix bits over " + step + " each",
              SuffixDesign(pairs(std::string(size, '-')), 8));
  }
  const Keys ids = MakeKeys(20000, [&](size_t) {
    return std::to_string(1000000 + rnd.Uniform(9000000));
  });
  EXPECT_EQ("trie, 8 prefix bits over 0.5 bytes each", SuffixDesign(ids, 8));
  // Without a key that a neighbor could be taken for.
  EXPECT_EQ("trie, 4 prefix bits over 1 byte each", SuffixDesign({"a"}, 4));
  EXPECT_EQ("trie, 4 prefix bits over 1 byte each", SuffixDesign({}, 4));
}

// ---- Scans of a prefix ----

// The bounds that ask for all keys that start with a string.
TEST(SurfPrefixBitsTest, ScansOfAPrefix) {
  Random rnd(6);
  const Keys keys = MakeKeys(3000, [&](size_t) {
    std::string key = Letters(&rnd, 3 + rnd.Uniform(8));
    if (rnd.OneIn(4)) key += std::string(1 + rnd.Uniform(3), '\xff');
    return key + Letters(&rnd, rnd.Uniform(4));
  });
  const OwnBlock block(BuildSurfBlock(keys, {0, 0, 16}, {}, kSalt));
  ASSERT_TRUE(block->CanFilter());
  int passed = 0;
  int empty = 0;
  for (const std::string& key : keys) {
    for (size_t size = 1; size <= key.size(); size++) {
      for (const char* tail : {"", "\xff", "\xff\xff", "q", "xyz"}) {
        const std::string prefix = key.substr(0, size) + tail;
        std::string end;
        ASSERT_TRUE(FirstAfterPrefix(prefix, &end));
        const bool found = KeysIn(keys, prefix, end, false) > 0;
        const bool may_match = block->RangeMayMatch(prefix, end, false);
        ASSERT_GE(may_match, found) << Hex(prefix);
        RangeCount count;
        ASSERT_TRUE(block->CountRange(prefix, end, false, &count));
        ASSERT_GE(count.count, static_cast<uint64_t>(found));
        if (found) continue;
        empty++;
        passed += may_match;
        if (!may_match) {
          ASSERT_EQ(0u, count.count) << Hex(prefix);
        }
        // Larger by a string that many applications add to include a bound.
        ASSERT_GE(block->RangeMayMatch(prefix, end + '\0', false), may_match);
      }
    }
  }
  EXPECT_GT(empty, 10000);
  EXPECT_LT(passed, empty / 4);
}

}  // namespace ROCKSDB_NAMESPACE::protean
