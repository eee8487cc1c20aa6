// SPDX-License-Identifier: Apache-2.0

//  The elements of filters: bit arrays; the order-preserving code that turns
//  keys into the digits of a SuRF; alphabets of places, against all strings of
//  bytes, and in filters; and the form of a file's keys.

#include <limits>

#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/key_source.h"
#include "filter_policy/bits/bit_array.h"
#include "filter_policy/bits/checksum.h"
#include "filter_policy/proteus/byte_alphabets.h"
#include "filter_policy/proteus/prior/key_form.h"
#include "tests/filter_policy/small_blocks.h"
#include "tests/filter_policy/surf_models.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Bits ----

namespace {

// Bits at an odd address, of which about one in `one_in` is set.
class RandomBits {
 public:
  RandomBits(size_t size, int one_in, Random* rnd)
      : bits_(size), bytes_(1 + BitArrayBytes(size) + kReadPadding, '\0') {
    for (size_t i = 0; i < size; i++) {
      bits_[i] = rnd->OneIn(one_in);
      if (bits_[i]) SetBit(words(), i);
    }
  }
  char* words() { return bytes_.data() + 1; }
  size_t size() const { return bits_.size(); }
  bool operator[](size_t i) const { return bits_[i]; }

 private:
  std::vector<bool> bits_;
  std::string bytes_;
};

void CompareWithTruth(RandomBits* bits) {
  const size_t size = bits->size();
  char* const words = bits->words();
  size_t ones = 0;
  for (size_t begin = 0; begin <= size; begin += 1 + begin / 7) {
    size_t rank = 0;
    for (size_t i = begin; i < size; i++) {
      ASSERT_EQ((*bits)[i], GetBit(words, i));
      ASSERT_EQ(rank, CountOnes(words, begin, i));
      if (!(*bits)[i]) continue;
      ASSERT_EQ(i, SelectFrom(words, begin, rank++));
    }
    ASSERT_EQ(rank, CountOnes(words, begin, size));
    if (begin == 0) ones = rank;
  }
  for (size_t pos = 0; pos <= size; pos++) {
    size_t one = pos;
    while (one < size && !(*bits)[one]) one++;
    ASSERT_EQ(one, NextBit<true>(words, size, pos));
    size_t zero = pos;
    while (zero < size && (*bits)[zero]) zero++;
    ASSERT_EQ(zero, NextBit<false>(words, size, pos));
    for (size_t begin : {size_t{0}, pos / 2, pos}) {
      size_t before = pos;
      while (before > begin && !(*bits)[before - 1]) before--;
      ASSERT_EQ(before > begin ? before - 1 : pos,
                PrevBit<true>(words, begin, pos));
    }
    size_t before = pos;
    while (before > 0 && (*bits)[before - 1]) before--;
    ASSERT_EQ(before > 0 ? before - 1 : pos, PrevBit<false>(words, 0, pos));
  }

  std::string vector(words, BitArrayBytes(size));
  vector.resize(RankVector::Bytes(size, ones) + kReadPadding);
  RankVector::Complete(vector.data(), size);
  RankVector rank;
  ASSERT_TRUE(rank.Open(vector.data(), size, ones));
  for (size_t i = 0; i <= size; i++) {
    ASSERT_EQ(CountOnes(words, 0, i), rank.Rank(i));
  }

  vector.assign(words, BitArrayBytes(size));
  vector.resize(SelectVector::Bytes(size, ones) + kReadPadding);
  SelectVector::Complete(vector.data(), size);
  SelectVector select;
  ASSERT_TRUE(select.Open(vector.data(), size, ones));
  for (size_t i = 0; i < ones; i++) {
    ASSERT_EQ(SelectFrom(words, 0, i), select.Select(i));
  }
}

TEST(BitsTest, Arrays) {
  Random rnd(11);
  for (size_t size : {0, 1, 63, 64, 65, 511, 512, 513, 1500}) {
    for (int one_in : {1, 2, 30, 1000000}) {
      SCOPED_TRACE(std::to_string(size) + " " + std::to_string(one_in));
      RandomBits bits(size, one_in, &rnd);
      CompareWithTruth(&bits);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BitsTest, SelectInWord) {
  Random64 rnd(12);
  for (int i = 0; i < 10000; i++) {
    uint64_t word = rnd.Next();
    for (uint64_t density = i % 4; density > 0; density--) word &= rnd.Next();
    unsigned rank = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
      if ((word >> bit & 1) == 0) continue;
      ASSERT_EQ(bit, PortableSelectInWord(word, rank));
      ASSERT_EQ(bit, SelectInWord(word, rank));
      rank++;
    }
    ASSERT_EQ(static_cast<int>(rank), PopCount(word));
  }
}

TEST(BitsTest, LowerBoundLabel) {
  Random rnd(14);
  for (int i = 0; i < 2000; i++) {
    // What is before and behind the range is in no order.
    const uint32_t begin = rnd.Uniform(20);
    const uint32_t end = begin + rnd.Uniform(60);
    std::string labels;
    for (uint32_t j = 0; j < end + kReadPadding; j++) {
      labels += static_cast<char>(rnd.Uniform(256));
    }
    const auto less = [](char a, char b) {
      return static_cast<uint8_t>(a) < static_cast<uint8_t>(b);
    };
    std::sort(labels.begin() + begin, labels.begin() + end, less);
    for (int label = 0; label < 256; label++) {
      const auto found =
          std::lower_bound(labels.begin() + begin, labels.begin() + end,
                           static_cast<char>(label), less);
      ASSERT_EQ(static_cast<uint32_t>(found - labels.begin()),
                LowerBoundLabel(labels.data(), begin, end,
                                static_cast<uint8_t>(label)));
    }
  }
}

// Any length, at any alignment, in one piece and in two.
TEST(BitsTest, ChecksumIsThatOfRocksDB) {
  Random rnd(7);
  const std::string bytes = rnd.RandomBinaryString(300);
  for (size_t begin = 0; begin < 9; begin++) {
    for (size_t size = 0; begin + size <= bytes.size(); size++) {
      const Slice all(bytes.data() + begin, size);
      const uint32_t expected = crc32c::Value(all.data(), all.size());
      ASSERT_EQ(ExtendCrc32c(0, all), expected) << begin << " " << size;
      const size_t first = size / 3;
      const uint32_t before = ExtendCrc32c(0, Slice(all.data(), first));
      ASSERT_EQ(ExtendCrc32c(before, Slice(all.data() + first, size - first)),
                expected);
    }
  }
}

TEST(BitsTest, NumbersOfAnyWidth) {
  Random64 rnd(13);
  for (unsigned width = 0; width <= 64; width++) {
    constexpr size_t kNumbers = 200;
    std::vector<uint64_t> numbers(kNumbers);
    for (uint64_t& number : numbers) {
      number = width == 0 ? 0 : rnd.Next() >> (64 - width);
    }
    std::string bytes(PackedArray::Bytes(kNumbers, width) + kReadPadding, '\0');
    // The numbers are written from the end, in two parts, as in a trie.
    constexpr size_t kHalf = kNumbers / 2 + 3;
    for (const auto& [begin, end] : {std::pair{kHalf, kNumbers}, {0, kHalf}}) {
      BitWriter writer(bytes.data(), begin * width);
      for (size_t i = begin; i < end; i++) writer.Write(numbers[i], width);
    }
    const PackedArray array(bytes.data(), width);
    for (size_t i = 0; i < kNumbers; i++) {
      ASSERT_EQ(numbers[i], array.Get(i)) << width << " " << i;
    }
  }
}

// ---- Codes of keys ----

// The least cost of codes for the weights in [begin, end), after all attempts:
// of up to `trees` trees of up to four children a node, with leaves in order.
uint64_t LeastCost(const std::vector<uint64_t>& weights, size_t begin,
                   size_t end, int trees = 1) {
  if (end - begin == 1) return 0;
  const bool is_tree = trees == 1;
  uint64_t least = is_tree ? std::numeric_limits<uint64_t>::max()
                           : LeastCost(weights, begin, end);
  for (size_t split = begin + 1; split < end; split++) {
    const auto rest = LeastCost(weights, split, end, is_tree ? 3 : trees - 1);
    least = std::min(least, LeastCost(weights, begin, split) + rest);
  }
  for (size_t i = begin; is_tree && i < end; i++) least += weights[i];
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
          symbols == 1 ? weights[0] : LeastCost(weights, 0, symbols);
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

// Also where bytes do not occur in the trie. A code that is cut short is
// refused. (Other damage of codes, as a part of tries: filter_damage_test.cc.)
TEST(KeyCodeTest, KeepsTheOrder) {
  bool occurs[256] = {};
  const std::string bytes("\0ac\xfe", 4);
  for (char byte : bytes) occurs[static_cast<uint8_t>(byte)] = true;
  Random rnd(5);
  for (int round = 0; round < 20; round++) {
    ByteCounts counts(6, std::vector<uint32_t>(6));
    for (int i = 0; i < 400 * round; i++) {
      const uint32_t context = rnd.Uniform(5);
      counts[context][rnd.Skewed(2)]++;
    }
    std::string stored = MakeKeyCode(occurs, counts);
    EncodeFixed32(stored.data(), 1000);
    Slice input(stored);
    KeyCode code;
    ASSERT_TRUE(code.Open(&input));
    ASSERT_TRUE(input.empty());
    for (size_t size = 0; size < stored.size(); size++) {
      Slice short_input(stored.data(), size);
      ASSERT_FALSE(KeyCode().Open(&short_input)) << size;
    }
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

// Both bounds are as each alone, with codes of all lengths and cuts everywhere.
TEST(KeyCodeTest, EncodesRanges) {
  bool occurs[256] = {};
  for (int byte = 'a'; byte <= 'z'; byte++) occurs[byte] = true;
  ByteCounts counts(28, std::vector<uint32_t>(28));
  for (unsigned i = 0; i < 20000; i++) counts[i % 3][i % 7 * (i % 5) % 27]++;
  std::string stored = MakeKeyCode(occurs, counts);
  Random rnd(6);
  for (uint32_t longest : {0u, 1u, 7u, 30u, 200u, 5000u}) {
    EncodeFixed32(stored.data(), longest);
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

// ---- Alphabets of places ----

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
        ASSERT_TRUE(known.MoveToPossible(prefix.data(), bits));
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

// Printed keys are found in every range, whatever its bounds are.
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

struct FormCase {
  const char* key_type;
  KeyForm form;
  std::vector<uint32_t> ends;  // of fields, in bits
};

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

TEST(KeyFormTest, IsKnownFromTheKeys) {
  for (const auto& [key_type, form, expected] : kForms) {
    SCOPED_TRACE(key_type);
    KeyType type = KeyType::kU64;
    EXPECT_OK(ParseKeyType(key_type, &type));
    Rng rng(17);
    const KeyStore store =
        Stored(DrawDistinct(SourceOf(type).draw, 50000, &rng));
    const KeyStatistics statistics(store);
    const std::vector<uint32_t> ends = FieldEndsOf(statistics);
    EXPECT_EQ(form, KeyFormOf(store, statistics, !ends.empty()));
    EXPECT_EQ(form == KeyForm::kFields ? ends : expected, ends);
  }
}

// Numbers of 20 digits are numbers; longer printed keys have fields.
TEST(PrintedFormTest, NumbersHaveTwentyDigits) {
  for (int digits : {8, 20, 21}) {
    const KeyStore store = Stored(
        MakeKeys(1000, [digits](size_t i) { return Digits(7 * i, digits); }));
    EXPECT_EQ(digits > 20 ? KeyForm::kFields : KeyForm::kDigits,
              KeyFormOf(store, KeyStatistics(store), /*has_fields=*/false));
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
