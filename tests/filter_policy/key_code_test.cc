// SPDX-License-Identifier: Apache-2.0

//  The order-preserving code over whose digits a SuRF may be: it is optimal,
//  keeps the order, and is read from a block.

#include "filter_policy/fst/key_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/filter_policy/surf_models.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The least cost of a code for the weights in [begin, end): of a tree with up
// to four children a node, whose leaves keep their order. By trying everything.
uint64_t LeastForest(const std::vector<uint64_t>& weights, size_t begin,
                     size_t end, int trees);

uint64_t LeastTree(const std::vector<uint64_t>& weights, size_t begin,
                   size_t end) {
  if (end - begin == 1) return 0;
  uint64_t sum = 0;
  for (size_t i = begin; i < end; i++) sum += weights[i];
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (size_t split = begin + 1; split < end; split++) {
    least = std::min(least, LeastTree(weights, begin, split) +
                                LeastForest(weights, split, end, 3));
  }
  return sum + least;
}

uint64_t LeastForest(const std::vector<uint64_t>& weights, size_t begin,
                     size_t end, int trees) {
  uint64_t least = LeastTree(weights, begin, end);
  if (trees == 1) return least;
  for (size_t split = begin + 1; split < end; split++) {
    least = std::min(least, LeastTree(weights, begin, split) +
                                LeastForest(weights, split, end, trees - 1));
  }
  return least;
}

std::string DigitsOf(unsigned entry) {
  std::string digits;
  for (unsigned i = 0; i < KeyCode::Length(entry); i++) {
    digits.push_back(static_cast<char>(
        '0' + (KeyCode::Digits(entry) >> 2 * i & CodedKey::kDigitMask)));
  }
  return digits;
}

// Expects codes that ascend, none a prefix of the next one.
void ExpectAlphabetic(const std::vector<uint16_t>& entries) {
  std::string last;
  for (uint16_t entry : entries) {
    const std::string digits = DigitsOf(entry);
    ASSERT_FALSE(digits.empty());
    ASSERT_LE(digits.size(), CodedKey::kMaxDigits);
    ASSERT_LT(last, digits);
    ASSERT_FALSE(!last.empty() && Slice(digits).starts_with(last));
    last = digits;
  }
}

}  // namespace

TEST(AlphabeticCodeTest, IsOptimal) {
  Random rnd(301);
  for (size_t symbols = 1; symbols <= 8; symbols++) {
    for (int round = 0; round < 60; round++) {
      std::vector<uint64_t> weights;
      for (size_t i = 0; i < symbols; i++) {
        weights.push_back(1 + rnd.Skewed(round % 8));
      }
      const std::vector<uint16_t> entries = AlphabeticCodes({weights}).front();
      ExpectAlphabetic(entries);
      uint64_t cost = 0;
      for (size_t i = 0; i < symbols; i++) {
        cost += weights[i] * KeyCode::Length(entries[i]);
      }
      const uint64_t least =
          symbols == 1 ? weights[0] : LeastTree(weights, 0, symbols);
      ASSERT_EQ(least, cost) << symbols;
    }
  }
}

TEST(AlphabeticCodeTest, SkewedWeightsMakeNoLongCodes) {
  for (size_t symbols : {2u, 20u, 57u, 128u}) {
    for (const bool ascending : {false, true}) {
      std::vector<uint64_t> weights;
      for (size_t i = 0; i < symbols; i++) {
        const size_t rank = ascending ? i : symbols - 1 - i;
        weights.push_back(uint64_t{1} << std::min<size_t>(rank, 48));
      }
      const std::vector<uint16_t> entries = AlphabeticCodes({weights}).front();
      ExpectAlphabetic(entries);
    }
  }
}

// Strings compare as their digits do, also where bytes do not occur in the
// trie.
TEST(KeyCodeTest, KeepsTheOrder) {
  bool occurs[256] = {};
  const std::string bytes("\0ac\xfe", 4);
  for (char byte : bytes) occurs[static_cast<uint8_t>(byte)] = true;
  Random rnd(5);
  for (int round = 0; round < 20; round++) {
    ByteCounts counts(4);
    for (int i = 0; i < 400 * round; i++) {
      counts.Add(rnd.Uniform(5), rnd.Skewed(2));
    }
    std::string stored = MakeKeyCode(occurs, counts);
    SetLongestPath(1000, &stored);
    Slice input(stored);
    KeyCode code;
    ASSERT_TRUE(code.Open(&input));
    ASSERT_TRUE(input.empty());
    const std::vector<std::string> keys = StringsOver(bytes, 3);
    for (const std::string& query :
         StringsOver(std::string("\0\1abcd\xfe\xff", 8), 3)) {
      CodedKey coded;
      code.Encode(query, &coded);
      const std::string digits = DigitsOf(coded);
      for (const std::string& key : keys) {
        // A target that ends is below all that goes on.
        ASSERT_EQ(query.compare(key) < 0,
                  digits.compare(DigitsOf(code, key)) < 0)
            << Hex(query) << " " << Hex(key);
        ASSERT_EQ(query == key, digits == DigitsOf(code, key));
      }
    }
  }
}

// Both bounds of a range are encoded as each alone, with codes of all lengths
// and cut off everywhere.
TEST(KeyCodeTest, EncodesRanges) {
  bool occurs[256] = {};
  for (int byte = 'a'; byte <= 'z'; byte++) occurs[byte] = true;
  ByteCounts counts(26);
  for (unsigned i = 0; i < 20000; i++) counts.Add(i % 3, i % 7 * (i % 5) % 27);
  std::string stored = MakeKeyCode(occurs, counts);
  Random rnd(6);
  for (uint32_t longest : {0u, 1u, 7u, 30u, 200u, 5000u}) {
    SetLongestPath(longest, &stored);
    Slice input(stored);
    KeyCode code;
    ASSERT_TRUE(code.Open(&input));
    for (int round = 0; round < 300; round++) {
      const std::string head = RandomString(&rnd, "abcdefxyz", 300);
      const std::string lo = head + RandomString(&rnd, "abyz!", 200);
      const std::string hi = head + RandomString(&rnd, "abyz~", 200);
      CodedKey both[2];
      code.Encode(lo, hi, &both[0], &both[1]);
      for (int i = 0; i < 2; i++) {
        CodedKey alone;
        code.Encode(i == 0 ? lo : hi, &alone);
        ASSERT_EQ(DigitsOf(alone), DigitsOf(both[i]));
        for (size_t digits = 0; digits <= alone.size(); digits++) {
          ASSERT_EQ(alone.IsReachedBy(digits), both[i].IsReachedBy(digits));
          ASSERT_EQ(alone.IsPassedBy(digits), both[i].IsPassedBy(digits));
        }
      }
    }
  }
}

TEST(KeyCodeTest, DamageIsFoundOrHarmless) {
  bool occurs[256] = {};
  for (char byte : {'a', 'b', 'x'}) occurs[static_cast<uint8_t>(byte)] = true;
  ByteCounts counts(3);
  for (unsigned i = 0; i < 3000; i++) counts.Add(i % 4, i % 3);
  std::string stored = MakeKeyCode(occurs, counts);
  SetLongestPath(40, &stored);
  for (size_t cut = 1; cut <= stored.size(); cut++) {
    Slice input(stored.data(), stored.size() - cut);
    KeyCode code;
    ASSERT_FALSE(code.Open(&input)) << cut;
  }
  int opened = 0;
  for (size_t at = 0; at < stored.size(); at++) {
    for (int value = 0; value < 256; value++) {
      std::string damaged = stored;
      damaged[at] = static_cast<char>(value);
      Slice input(damaged);
      KeyCode code;
      if (!code.Open(&input)) continue;
      opened++;
      std::string decoded;
      for (const std::string key : {"", "abxaxb", "b\xff", "zzzzzzzzzzzzzzz"}) {
        CodedKey coded;
        code.Encode(key, &coded);
        std::string digits;
        for (size_t i = 0; i < coded.size(); i++) {
          digits.push_back(static_cast<char>(coded[i]));
        }
        code.Decode(digits, "ab", /*to_first=*/true, &decoded);
        size_t shared;
        code.DescribePath(key, coded.size(), &shared, &decoded);
        ASSERT_LE(shared, key.size());
        for (size_t i = 1; i <= coded.size(); i++) {
          const KeyCode::LastByte last = code.LastByteOf(key, i, true);
          ASSERT_LE(last.before, key.size());
          ASSERT_TRUE(!last.goes_on || i < coded.size());
        }
      }
    }
  }
  EXPECT_GT(opened, 1000);
}

}  // namespace ROCKSDB_NAMESPACE::protean
