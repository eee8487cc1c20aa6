// SPDX-License-Identifier: Apache-2.0

//  Alphabets of places against all strings of bytes: which prefixes are
//  possible, how many there are, and which one comes next; filters that know
//  alphabets against the truth; and what form a file's keys have.

#include "filter_policy/proteus/byte_alphabets.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/key_source.h"
#include "filter_policy/proteus/key_store.h"
#include "filter_policy/proteus/prior/key_form.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/filter_policy/spec_filter.h"
#include "tests/key_families.h"
#include "tests/stored_keys.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

BytesSeen Seen(const std::string& bytes) {
  BytesSeen seen = {};
  for (char c : bytes) seen[static_cast<uint8_t>(c)] = true;
  return seen;
}

std::string CodesOf(const std::vector<std::string>& places) {
  std::string codes;
  for (const std::string& place : places) {
    codes.push_back(AlphabetCodeOf(Seen(place)));
  }
  return codes;
}

// The bytes of an alphabet, which are those that Count() counts.
std::string BytesOf(char code) {
  const ByteAlphabets alphabet(0, std::string(1, code));
  std::string bytes;
  for (unsigned c = 0; c < 256; c++) {
    const char byte = static_cast<char>(c);
    if (alphabet.AreAny() || alphabet.Count(&byte, &byte, 0, 8) == 1) {
      bytes.push_back(byte);
    }
  }
  return bytes;
}

}  // namespace

TEST(ByteAlphabetsTest, HoldTheBytesSeen) {
  const std::pair<std::string, std::string> cases[] = {
      {":", ":"},
      {"012", "012"},
      {"15", "012345"},
      {"097", "0123456789"},
      {"af0", "0123456789abcdef"},
      {"AF0", "0123456789ABCDEF"},
      {"xyz", "abcdefghijklmnopqrstuvwxyz"},
      {"AZ9", "0123456789ABCDEFGHJKMNPQRSTVWXYZ"},
      {"ilu9", "0123456789abcdefghijklmnopqrstuvwxyz"},
      {"ah9", "0123456789abcdefghjkmnpqrstvwxyz"},
      {"aZ9", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
      {"-a_Z",
       "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
       "abcdefghijklmnopqrstuvwxyz"},
  };
  for (const auto& [seen, alphabet] : cases) {
    EXPECT_EQ(alphabet, BytesOf(AlphabetCodeOf(Seen(seen)))) << seen;
  }
  for (const std::string& seen :
       {std::string("a\xff"), std::string(1, '\0'), std::string("0\0", 2),
        std::string("\n"), std::string(), std::string("a b")}) {
    EXPECT_EQ(0, AlphabetCodeOf(Seen(seen))) << Hex(seen);
  }
  // Codes of later versions.
  for (unsigned code : {23, 31, 127, 255}) {
    EXPECT_EQ(256u, BytesOf(static_cast<char>(code)).size());
  }
}

// All prefixes of up to two bytes and a half, behind a byte that may be any.
TEST(ByteAlphabetsTest, CountAndMoveAsDefined) {
  const std::vector<std::vector<std::string>> alphabets = {
      {"0123456789", "abc019"}, {":", "012345"}, {"09", "a\xff"},
      {"a\xff", "09"},          {"Z", "Z"},
  };
  Random rnd(301);
  for (const std::vector<std::string>& places : alphabets) {
    const ByteAlphabets known(1, CodesOf(places));
    std::vector<std::string> bytes = {"ab"};
    for (char code : known.codes()) bytes.push_back(BytesOf(code));
    for (uint32_t bits : {17u, 19u, 20u, 23u, 24u}) {
      const auto unused = 24 - bits;
      // The possible prefixes, as numbers.
      std::vector<uint32_t> possible;
      for (char a : bytes[0]) {
        for (char b : bytes[1]) {
          for (char c : bytes[2]) {
            const std::string key = {a, b, c};
            const auto number =
                static_cast<uint32_t>(LoadBits64(key, 0) >> 40) >> unused;
            if (possible.empty() || possible.back() != number) {
              possible.push_back(number);
            }
          }
        }
      }
      const auto key_of = [&](uint32_t number) {
        number <<= unused;
        return std::string{static_cast<char>(number >> 16),
                           static_cast<char>(number >> 8),
                           static_cast<char>(number)};
      };
      for (uint32_t fewer = 8; fewer <= bits; fewer++) {
        // The first byte has no alphabet.
        std::vector<uint32_t> above;
        for (uint32_t number : possible)
          above.push_back(number >> (bits - fewer));
        const auto unique = static_cast<size_t>(
            std::unique(above.begin(), above.end()) - above.begin());
        EXPECT_EQ(std::min<uint64_t>((possible.size() + unique - 1) / unique,
                                     ByteAlphabets::kMany),
                  known.CountBelow(fewer, bits))
            << fewer << " " << bits;
      }
      for (int i = 0; i < 3000; i++) {
        // Both begin with one of the two first bytes.
        const uint32_t first = ('a' + rnd.Uniform(2)) << 16;
        uint32_t lo = (first | rnd.Uniform(1 << 16)) >> unused;
        uint32_t hi = (first | rnd.Uniform(1 << 16)) >> unused;
        if (i % 2 == 0) hi = lo + rnd.Uniform(40);
        if (hi < lo) std::swap(lo, hi);
        if (hi << unused >> 16 != lo << unused >> 16) continue;
        const auto begin =
            std::lower_bound(possible.begin(), possible.end(), lo);
        const auto end = std::upper_bound(possible.begin(), possible.end(), hi);
        const std::string lo_key = key_of(lo);
        const std::string hi_key = key_of(hi);
        const size_t from =
            std::min<size_t>(Slice(lo_key).difference_offset(hi_key), 2);
        // Bytes in front that are not possible are not counted.
        const bool front_is_possible =
            from < 2 || bytes[1].find(lo_key[1]) != std::string::npos;
        const auto count = static_cast<uint64_t>(end - begin);
        const uint64_t counted =
            known.Count(lo_key.data() + from, hi_key.data() + from, from, bits);
        if (front_is_possible) {
          EXPECT_EQ(std::min(count, ByteAlphabets::kMany),
                    std::min(counted, ByteAlphabets::kMany))
              << Hex(lo_key) << " " << Hex(hi_key) << " " << bits;
        }
        std::string prefix = lo_key;
        const bool found = known.MoveToPossible(prefix.data(), bits);
        ASSERT_TRUE(found);
        if (begin != possible.end()) {
          EXPECT_EQ(Hex(key_of(*begin)), Hex(prefix)) << Hex(lo_key);
        }
      }
    }
  }
}

TEST(ByteAlphabetsTest, NoneIsLeft) {
  const ByteAlphabets digits(0, CodesOf({"0123456789", "0123456789"}));
  for (const auto& [from, next] :
       {std::pair("9:", "00"), {"19", "19"}, {"1:", "20"}}) {
    std::string prefix = from;
    EXPECT_EQ(from[0] != '9', digits.MoveToPossible(prefix.data(), 16));
    EXPECT_EQ(next, prefix);
  }
}

// The alphabets of a small filter do not take the only line of its set.
TEST(ByteAlphabetsTest, SmallFiltersKeepTheirSet) {
  const OwnBlock block(
      BuildProteusBlock({"a", "e", "j", "o", "t", "z"}, TrieAndSet(0, 8), 20));
  EXPECT_EQ("bloom 8", block.proteus().Report().design);
  EXPECT_FALSE(block->KeyMayMatch("b"));
}

// Filters of printed keys find every key in every range that holds it, whatever
// the bounds of the range are.
TEST(ByteAlphabetsTest, FiltersMissNothing) {
  Random rnd(302);
  const auto number = [&](uint32_t below) { return rnd.Uniform(below); };
  std::vector<std::vector<std::string>> sets(3);
  for (int i = 0; i < 4000; i++) {
    char key[64];
    snprintf(key, sizeof(key), "user:%03u|2026-01-%02uT%02u:%02u:%02u.%03uZ",
             number(40), 1 + number(28), number(24), number(60), number(60),
             number(1000));
    sets[0].push_back(key);
    snprintf(key, sizeof(key), "%06x-%04x", number(1 << 24), number(1 << 16));
    sets[1].push_back(key);
    // Some keys are shorter, and some are no numbers.
    snprintf(key, sizeof(key), i % 1000 == 7 ? "x%u" : "%u", number(10000000));
    sets[2].push_back(key);
  }
  for (std::vector<std::string>& keys : sets) {
    SortUnique(&keys);
    for (const char* spec :
         {"proteus:14", "prefixbloom:12", "prefixbloom2:12:bloom",
          "design:12:first20:share40:bloom38",
          "design:12:first58:share40:ribbon78", "design:16:trie22:bloom43",
          "design:12:bloom54", "design:12:bloom64", "design:12:bloom83"}) {
      SCOPED_TRACE(spec + (" " + keys[0]));
      const MemoryFilter filter = FilterOf(spec, keys);
      ASSERT_OK(filter.block()->status());
      for (const std::string& key : keys) {
        ASSERT_TRUE(filter.block()->KeyMayMatch(key)) << key;
        std::string lo = key;
        std::string hi = key;
        // The bounds part from the key at any place, with any bytes.
        const size_t place = number(static_cast<uint32_t>(key.size()));
        const auto byte = static_cast<uint8_t>(key[place]);
        lo[place] = static_cast<char>(byte - number(4) % (byte + 1));
        hi[place] = static_cast<char>(byte + number(4));
        for (size_t i = place + 1; i < key.size(); i++) {
          if (lo < key) lo[i] = static_cast<char>(number(256));
          if (hi > key) hi[i] = static_cast<char>(number(256));
        }
        ASSERT_TRUE(filter.block()->RangeMayMatch(lo, hi, true))
            << Hex(lo) << " " << Hex(key) << " " << Hex(hi);
        ASSERT_TRUE(filter.block()->RangeMayMatch(key, hi, true));
        ASSERT_TRUE(filter.block()->RangeMayMatch(lo, key, true));
      }
    }
  }
}

// ---- The alphabets, forms and fields of a file's keys ----

TEST(AlphabetTest, IsTheSmallestThatHoldsAll) {
  const std::string digits = "0123456789";
  const std::string upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  EXPECT_EQ(digits, AlphabetOf("7"));
  EXPECT_EQ(digits + "abcdef", AlphabetOf("0c"));
  EXPECT_EQ(digits + "ABCDEF", AlphabetOf("9F"));
  EXPECT_EQ(upper, AlphabetOf("XAZ"));
  EXPECT_EQ("0123456789ABCDEFGHJKMNPQRSTVWXYZ", AlphabetOf("0Z"));
  EXPECT_EQ("234567" + upper, AlphabetOf("7UI"));
  EXPECT_EQ("-" + digits + upper + "_abcdefghijklmnopqrstuvwxyz",
            AlphabetOf("aZ_"));
  EXPECT_EQ("+/" + digits + upper + "abcdefghijklmnopqrstuvwxyz",
            AlphabetOf("aZ+"));
  EXPECT_EQ("|", AlphabetOf("||"));
  EXPECT_EQ("\xfd\xfe\xff", AlphabetOf("\xff\xfd"));
  EXPECT_EQ(256u, AlphabetOf(std::string("\xff\0", 2)).size());
}

TEST(AlphabetTest, APlaceOfOneCharacterDoesNotCount) {
  const KeyStore store = Stored({"a1-x", "a2-x", "a7-y"});
  EXPECT_EQ((std::vector<std::string>{"a", "0123456789", "-",
                                      "abcdefghijklmnopqrstuvwxyz"}),
            CharactersOf(store));
}

namespace {

struct FormCase {
  const char* key_type;
  KeyForm form;
  std::vector<uint32_t> ends;  // of fields, in bits
};

class KeyFormTest : public testing::TestWithParam<FormCase> {};

const FormCase kForms[] = {
    {"u64", KeyForm::kNumber, {}},
    // The first 14 bits tell the tenants apart.
    {"tenant_time", KeyForm::kRecord, {14}},
    {"edge", KeyForm::kRecord, {64, 80}},
    {"device_time", KeyForm::kRecord, {64}},
    // There are as many times as keys.
    {"uuid7_bytes", KeyForm::kRecord, {}},
    {"user_window", KeyForm::kFields, {}},
    {"uuid7", KeyForm::kFields, {}},
    {"session", KeyForm::kFields, {}},
    {"sensor_time", KeyForm::kFields, {}},
    {"text", KeyForm::kText, {}},
    {"package", KeyForm::kText, {}},
    {"url", KeyForm::kText, {}},
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(KeyTypes, KeyFormTest, testing::ValuesIn(kForms),
                         [](const auto& test) { return test.param.key_type; });

TEST_P(KeyFormTest, IsKnownFromTheKeys) {
  KeyType type = KeyType::kU64;
  ASSERT_OK(ParseKeyType(GetParam().key_type, &type));
  Rng rng(17);
  const KeyStore store = Stored(DrawDistinct(SourceOf(type).draw, 50000, &rng));
  const KeyStatistics statistics(store);
  std::vector<uint32_t> ends = FieldEndsOf(statistics);
  EXPECT_EQ(GetParam().form, KeyFormOf(store, statistics, !ends.empty()));
  if (GetParam().form == KeyForm::kFields) return;
  EXPECT_EQ(GetParam().ends, ends);
}

// Numbers of 20 digits are numbers; longer printed keys have fields.
TEST(PrintedFormTest, NumbersHaveTwentyDigits) {
  for (size_t digits : {8, 20, 21}) {
    const KeyStore store = Stored(MakeKeys(1000, [digits](size_t i) {
      const std::string key = std::to_string(7 * i);
      return std::string(digits - key.size(), '0') + key;
    }));
    EXPECT_EQ(digits > 20 ? KeyForm::kFields : KeyForm::kDigits,
              KeyFormOf(store, KeyStatistics(store), /*has_fields=*/false));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
