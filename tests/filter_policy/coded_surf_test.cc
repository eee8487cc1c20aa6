// SPDX-License-Identifier: Apache-2.0

//  SuRF over digits of an order-preserving code. What a filter answers is
//  compared with a plain list of its leaves, each the digits of a key up to the
//  one that tells it from its neighbors, and with the keys themselves.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "filter_policy/fst/key_code.h"
#include "filter_policy/surf/surf.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Keys = std::vector<std::string>;

constexpr FilterSalt kSalt{17, 4};

// ---- Codes ----

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

std::string DigitsOf(const CodedKey& key) {
  std::string digits;
  for (size_t i = 0; i < key.size(); i++) {
    digits.push_back(static_cast<char>('0' + key[i]));
  }
  return digits;
}

std::string DigitsOf(const KeyCode& code, const Slice& key) {
  CodedKey coded;
  code.Encode(key, &coded);
  return DigitsOf(coded);
}

// ---- Filters ----

class CodedSurf {
 public:
  CodedSurf(const Keys& keys, const SurfSuffix& suffix,
            FstOptions options = FstOptions()) {
    options.digits = FstOptions::kIfPossible;
    SurfBuilder builder(suffix, options, {kSalt, 0});
    for (const std::string& key : keys) builder.AddKey(key);
    bytes_ = "?" + FinishPayload(&builder);
    const Slice payload(bytes_.data() + 1, bytes_.size() - 1 - kReadPadding);
    const Status s = Surf::Open(payload, kSalt, &filter_);
    EXPECT_TRUE(s.ok()) << s.ToString();
    is_coded_ = (bytes_[1] & 0x80) != 0;
    Slice code(payload.data() + 8, payload.size() - 8);
    EXPECT_TRUE(!is_coded_ || code_.Open(&code));
  }

  const Surf* operator->() const { return static_cast<Surf*>(filter_.get()); }
  bool is_coded() const { return is_coded_; }
  const KeyCode& code() const { return code_; }

 private:
  std::string bytes_;
  std::unique_ptr<RangeFilter> filter_;
  bool is_coded_ = false;
  KeyCode code_;
};

size_t Shared(const std::string& a, const std::string& b) {
  return Slice(a).difference_offset(b);
}

// The leaves that the definition gives. If there is a digit among the suffix
// bits, it belongs to the leaf.
class Model {
 public:
  Model(const KeyCode& code, const Keys& keys, const SurfSuffix& suffix)
      : code_(code), suffix_(suffix) {
    Keys digits;
    for (const std::string& key : keys) digits.push_back(DigitsOf(code, key));
    for (size_t i = 0; i < digits.size(); i++) {
      size_t shared = 0;
      if (i > 0) shared = Shared(digits[i - 1], digits[i]);
      if (i + 1 < digits.size()) {
        shared = std::max(shared, Shared(digits[i], digits[i + 1]));
      }
      leaves_.push_back(digits[i].substr(0, shared + 1));
      if (suffix_.real_bits > 0 && GoesOn(keys[i], shared + 1)) {
        leaves_.back() += digits[i][shared + 1];
      }
    }
    for (size_t i = 0; i < keys.size(); i++) {
      size_t shared = 0;
      if (i > 0) shared = Shared(keys[i - 1], keys[i]);
      if (i + 1 < keys.size()) {
        shared = std::max(shared, Shared(keys[i], keys[i + 1]));
      }
      before_last_.push_back(shared);
      values_.push_back(ValueAt(i, keys[i]));
    }
  }

  // Whether a lookup that ends at the leaf finds its suffix.
  bool SuffixIs(size_t leaf, const std::string& key) const {
    return ValueAt(leaf, key) == values_[leaf];
  }

  // The leaf at which a lookup ends, or the number of leaves.
  size_t LeafOf(const std::string& key) const {
    const std::string digits = DigitsOf(code_, key);
    size_t i = 0;
    while (i < leaves_.size() && !Slice(digits).starts_with(leaves_[i])) i++;
    return i;
  }

  // Compares the keys that a leaf may stand for with a bound; 0 if some may be
  // on either side, or if some may be the bound.
  int Order(size_t leaf, const std::string& bound, bool* is_reached) const {
    CodedKey coded;
    code_.Encode(bound, &coded);
    const std::string digits = DigitsOf(coded);
    *is_reached = false;
    if (Slice(digits).starts_with(leaves_[leaf])) {
      *is_reached = coded.IsReachedBy(leaves_[leaf].size());
      return coded.IsPassedBy(leaves_[leaf].size()) ? 1 : 0;
    }
    return leaves_[leaf] < digits ? -1 : 1;
  }

  // Without regard to prefix bits.
  bool Range(const std::string& lo, std::string hi, bool hi_inclusive) const {
    if (lo > hi || (lo == hi && !hi_inclusive)) return false;
    if (!hi_inclusive && !hi.empty() && hi.back() == '\0') {
      hi.pop_back();
      hi_inclusive = true;
    }
    for (size_t i = 0; i < leaves_.size(); i++) {
      if (MayLieBetween(i, lo, hi, hi_inclusive)) return true;
    }
    return false;
  }

  // Whether a scan of all that starts with a prefix may find a key. That is not
  // sure if the only one is at the end, which the filter may know better.
  bool Scan(const std::string& prefix, const std::string& end,
            bool* is_sure) const {
    bool found = false;
    *is_sure = true;
    for (size_t i = 0; i < leaves_.size(); i++) {
      bool is_reached;
      if (!MayLieBetween(i, prefix, end, false)) continue;
      const bool is_on_path = Order(i, prefix, &is_reached) == 0;
      if (is_on_path && !PrefixBitsAgree(i, prefix)) continue;
      const bool is_at_end = Order(i, end, &is_reached) == 0;
      if (is_on_path || !is_at_end) {
        *is_sure = true;
        return true;
      }
      found = true;
      *is_sure = false;
    }
    return found;
  }

  const Keys& leaves() const { return leaves_; }

 private:
  bool MayLieBetween(size_t leaf, const std::string& lo, const std::string& hi,
                     bool hi_inclusive) const {
    bool reaches_lo;
    bool reaches_hi;
    if (Order(leaf, lo, &reaches_lo) < 0) return false;
    const int order = Order(leaf, hi, &reaches_hi);
    return order < 0 || (order == 0 && (hi_inclusive || !reaches_hi));
  }

  // Whether the first digits of a key end within a byte, or its end.
  bool GoesOn(const std::string& key, size_t digits) const {
    size_t coded = 0;
    unsigned context = 0;
    for (size_t i = 0; coded < digits; i++) {
      const unsigned column = i < key.size() ? code_.Column(key[i]) : 0;
      coded += KeyCode::Length(code_.Entry(context, column));
      context = column;
    }
    return coded > digits;
  }

  // How many bytes of a string that begins with the path are in the trie, the
  // last one perhaps in part.
  size_t DepthIn(size_t leaf, const std::string& string) const {
    return std::min(before_last_[leaf] + 1, string.size());
  }
  // The suffix of a key without its digit.
  uint64_t ValueAt(size_t leaf, const std::string& key) const {
    return suffix_.Value(key, DepthIn(leaf, key), 0, kSalt);
  }
  // Whether the prefix bits that speak of the string alone are those of it.
  bool PrefixBitsAgree(size_t leaf, const std::string& string) const {
    if (string.size() <= before_last_[leaf]) return true;
    const size_t depth = DepthIn(leaf, string);
    const uint32_t count = PrefixBitsWithin(
        string.size() - depth, suffix_.prefix_bits, suffix_.prefix_step);
    const uint64_t bits =
        PrefixBitsOf(string, depth, kSalt, count, suffix_.prefix_step);
    return ((values_[leaf] >> suffix_.hash_bits ^ bits) & LowBits(count)) == 0;
  }

  const KeyCode& code_;
  const SurfSuffix& suffix_;
  Keys leaves_;
  // The number of bytes before the one in which the path ends.
  std::vector<size_t> before_last_;
  std::vector<uint64_t> values_;
};

uint64_t TrueCount(const Keys& keys, const std::string& lo,
                   const std::string& hi, bool hi_inclusive) {
  return static_cast<uint64_t>(
      std::count_if(keys.begin(), keys.end(), [&](const std::string& key) {
        return key >= lo && (hi_inclusive ? key <= hi : key < hi);
      }));
}

// What RangeCounter does with the ambiguous keys.
uint64_t ResolvedCount(const Keys& keys, const std::string& lo,
                       const std::string& hi, bool hi_inclusive,
                       const RangeCount& counted) {
  const auto is_first = [&](const std::string& bound, size_t shared,
                            const std::string& limit, bool or_bound) {
    const auto key = std::lower_bound(keys.begin(), keys.end(), bound);
    return key != keys.end() && (or_bound || *key != bound) &&
           Slice(*key).starts_with(Slice(bound.data(), shared)) &&
           (limit.empty() || *key < limit);
  };
  uint64_t count = counted.count;
  bool low_is_below = false;
  if (counted.low_ambiguous) {
    low_is_below = !is_first(lo, counted.low_shared, counted.low_limit, true);
    if (low_is_below) count--;
  }
  if (counted.high_ambiguous && !(low_is_below && counted.count == 1) &&
      is_first(hi, counted.high_shared, counted.high_limit, !hi_inclusive)) {
    count--;
  }
  return count;
}

void ExpectRanges(const CodedSurf& surf, const Model& model, const Keys& keys,
                  const std::string& lo, const std::string& hi) {
  for (const bool inclusive : {false, true}) {
    const std::string range =
        Hex(lo) + " " + Hex(hi) + (inclusive ? " inclusive" : "");
    const uint64_t truth = TrueCount(keys, lo, hi, inclusive);
    const bool may_match = surf->RangeMayMatch(lo, hi, inclusive);
    ASSERT_TRUE(may_match || truth == 0) << range;
    const bool paths_match = model.Range(lo, hi, inclusive);
    if (surf->suffix().prefix_bits == 0) {
      ASSERT_EQ(paths_match, may_match) << range;
    } else {
      ASSERT_LE(may_match, paths_match) << range;
    }
    RangeCount counted;
    ASSERT_TRUE(surf->CountRange(lo, hi, inclusive, &counted));
    // A count looks at each bound alone, unless both leave the same key open.
    if (surf->suffix().prefix_bits == 0) {
      ASSERT_EQ(may_match, counted.count > 0) << range;
    } else {
      ASSERT_LE(may_match, counted.count > 0) << range;
    }
    ASSERT_LE(counted.low_shared, lo.size()) << range;
    ASSERT_LE(counted.high_shared, hi.size()) << range;
    ASSERT_LE(truth, counted.count) << range;
    ASSERT_LE(counted.count,
              truth + counted.low_ambiguous + counted.high_ambiguous)
        << range;
    ASSERT_EQ(truth, ResolvedCount(keys, lo, hi, inclusive, counted)) << range;
  }
}

// Prefix bits may only say that a key is farther away.
void ExpectSomeBound(const CodedSurf& surf, const Keys& keys,
                     const std::string& target) {
  std::string bound;
  Surf::Iterator it(surf.operator->());
  const bool may_be_below = it.Seek(target);
  const bool found = surf->LowerBound(target, &bound);
  ASSERT_EQ(found, it.Valid());
  if (!found) {
    ASSERT_TRUE(keys.empty() || keys.back() < target) << Hex(target);
    return;
  }
  ASSERT_LE(target, bound);
  if (may_be_below) {
    ASSERT_EQ(Hex(target), Hex(bound));
  }
  ASSERT_EQ(0u, TrueCount(keys, target, bound, false)) << Hex(target);
}

void ExpectBound(const CodedSurf& surf, const Model& model, const Keys& keys,
                 const std::string& target) {
  if (surf->suffix().prefix_bits > 0) {
    ExpectSomeBound(surf, keys, target);
    return;
  }
  size_t leaf = 0;
  bool is_reached = false;
  while (leaf < keys.size() && model.Order(leaf, target, &is_reached) < 0) {
    leaf++;
  }
  std::string bound;
  ASSERT_EQ(leaf < keys.size(), surf->LowerBound(target, &bound));
  if (leaf == keys.size()) {
    ASSERT_TRUE(keys.empty() || keys.back() < target);
    return;
  }
  ASSERT_LE(target, bound);
  ASSERT_EQ(0u, TrueCount(keys, target, bound, false)) << Hex(target);
  Surf::Iterator it(surf.operator->());
  const bool may_be_below =
      model.Order(leaf, target, &is_reached) == 0 && !is_reached;
  ASSERT_EQ(may_be_below, it.Seek(target)) << Hex(target);
  ASSERT_TRUE(it.Valid());
  if (may_be_below) {
    ASSERT_EQ(Hex(target), Hex(bound));
  }
  ASSERT_TRUE(Slice(keys[leaf]).starts_with(it.key_prefix()));
}

void ExpectScan(const CodedSurf& surf, const Model& model,
                const std::string& prefix) {
  if (prefix.empty() || prefix.back() == '\xff') return;
  std::string end = prefix;
  end.back()++;
  bool is_sure;
  const bool expected = model.Scan(prefix, end, &is_sure);
  const bool may_match = surf->RangeMayMatch(prefix, end, false);
  ASSERT_LE(may_match, expected) << Hex(prefix);
  if (is_sure) {
    ASSERT_EQ(expected, may_match) << Hex(prefix);
  }
}

SurfSuffix Suffix(uint32_t hash_bits, uint32_t prefix_bits = 0) {
  SurfSuffix suffix;
  suffix.hash_bits = hash_bits;
  suffix.prefix_bits = prefix_bits;
  return suffix;
}

void Compare(const Keys& keys, const Keys& queries, const SurfSuffix& suffix,
             const FstOptions& options = FstOptions()) {
  const CodedSurf surf(keys, suffix, options);
  ASSERT_TRUE(surf.is_coded());
  const Model model(surf.code(), keys, surf->suffix());
  for (const std::string& key : keys) {
    ASSERT_TRUE(surf->KeyMayMatch(key)) << Hex(key);
  }
  std::vector<Slice> slices(queries.begin(), queries.end());
  std::vector<Slice*> pointers;
  for (Slice& slice : slices) pointers.push_back(&slice);
  const std::unique_ptr<bool[]> found(new bool[queries.size()]);
  surf->KeysMayMatch(queries.size(), pointers.data(), found.get());
  for (size_t i = 0; i < queries.size(); i++) {
    const std::string& query = queries[i];
    const size_t leaf = model.LeafOf(query);
    const bool expected = leaf < keys.size() && model.SuffixIs(leaf, query);
    ASSERT_EQ(expected, surf->KeyMayMatch(query)) << Hex(query);
    ASSERT_EQ(expected, found[i]) << Hex(query);
    ExpectBound(surf, model, keys, query);
    ExpectScan(surf, model, query);
    for (const std::string& hi : queries) {
      ExpectRanges(surf, model, keys, query, hi);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  Surf::Iterator it(surf.operator->());
  it.SeekToFirst();
  for (const std::string& key : keys) {
    ASSERT_TRUE(it.Valid());
    ASSERT_TRUE(Slice(key).starts_with(it.key_prefix())) << Hex(key);
    it.Next();
  }
  ASSERT_FALSE(it.Valid());
  it.SeekToLast();
  for (size_t i = keys.size(); i-- > 0;) {
    ASSERT_TRUE(it.Valid());
    ASSERT_TRUE(Slice(keys[i]).starts_with(it.key_prefix()));
    it.Prev();
  }
  ASSERT_FALSE(it.Valid());
}

// All strings over an alphabet up to a length.
Keys AllStrings(const std::string& alphabet, size_t max_length) {
  Keys all = {""};
  for (size_t begin = 0, length = 0; length < max_length; length++) {
    const size_t end = all.size();
    for (; begin < end; begin++) {
      for (char c : alphabet) all.push_back(all[begin] + c);
    }
  }
  return all;
}

Keys Draw(const Keys& space, int size, Random* rnd) {
  Keys keys;
  for (int i = 0; i < size; i++) {
    keys.push_back(space[rnd->Uniform(static_cast<int>(space.size()))]);
  }
  SortUnique(&keys);
  return keys;
}

}  // namespace

TEST(AlphabeticCodeTest, IsOptimal) {
  Random rnd(301);
  for (size_t symbols = 1; symbols <= 8; symbols++) {
    AlphabeticCode code(symbols);
    for (int round = 0; round < 60; round++) {
      std::vector<uint64_t> weights;
      for (size_t i = 0; i < symbols; i++) {
        weights.push_back(1 + rnd.Skewed(round % 8));
      }
      std::vector<uint16_t> entries;
      code.Compute(weights, &entries);
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
    AlphabeticCode code(symbols);
    for (const bool ascending : {false, true}) {
      std::vector<uint64_t> weights;
      for (size_t i = 0; i < symbols; i++) {
        const size_t rank = ascending ? i : symbols - 1 - i;
        weights.push_back(uint64_t{1} << std::min<size_t>(rank, 48));
      }
      std::vector<uint16_t> entries;
      code.Compute(weights, &entries);
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
    const Keys keys = AllStrings(bytes, 3);
    for (const std::string& query :
         AllStrings(std::string("\0\1abcd\xfe\xff", 8), 3)) {
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
        code.DecodeFirst(digits, "ab", &decoded);
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

// All queries over a small space, for random sets of keys from it. The space of
// the queries has bytes that do not occur.
TEST(CodedSurfTest, ExhaustiveSmallSpaces) {
  Random rnd(301);
  const std::pair<std::string, std::string> alphabets[] = {
      {std::string("\0a\xff", 3), std::string("\0a\xff", 3)},
      {"ab", "ab"},
      {"\xfe\xff", "\xfe\xff"},
      {"bd", "abcde"},
      {std::string("\0\2", 2), std::string("\0\1\2\3", 4)},
      {"\x7f\x80\xfe", "\x7f\x80\xfd\xff"},
      {"abcdefghij", "adj"}};
  for (const auto& [bytes, asked] : alphabets) {
    const Keys space = AllStrings(bytes, 3);
    const Keys queries = AllStrings(asked, 3);
    for (int round = 0; round < 40; round++) {
      Keys keys = Draw(space, 1 + rnd.Uniform(round < 20 ? 4 : 20), &rnd);
      if (keys.size() == 1 && keys[0].empty()) continue;  // has no node
      Compare(keys, queries,
              Suffix(round % 3 == 0 ? 3 : 0, round % 4 < 2 ? 0 : round % 17));
      if (HasFatalFailure()) return;
    }
  }
}

// Every way to encode the levels gives the same answers.
TEST(CodedSurfTest, ExhaustiveEncodings) {
  Random rnd(302);
  const Keys space = AllStrings(std::string("\0a\xfe\xff", 4), 3);
  for (int round = 0; round < 100; round++) {
    FstOptions options;
    options.list_exceptions = rnd.OneIn(2);
    for (int i = rnd.Uniform(4); i > 0; i--) {
      options.forced.push_back(rnd.Uniform(3));
    }
    Compare(Draw(space, 2 + rnd.Uniform(30), &rnd), space,
            Suffix(round % 4, round % 3 * 4), options);
    if (HasFatalFailure()) return;
  }
}

TEST(CodedSurfTest, Runs) {
  Random rnd(304);
  for (int round = 0; round < 60; round++) {
    Keys keys;
    for (int i = 0; i < 60; i++) {
      std::string key;
      while (!rnd.OneIn(3)) {
        key += static_cast<char>('a' + rnd.Uniform(2));
        key.append(rnd.Uniform(rnd.OneIn(5) ? 90 : 3), 'x');
      }
      keys.push_back(key);
    }
    SortUnique(&keys);
    Keys queries;
    for (int i = 0; i < 20; i++) {
      const Keys around =
          Around(keys[rnd.Uniform(static_cast<int>(keys.size()))]);
      queries.insert(queries.end(), around.begin(), around.end());
    }
    SortUnique(&queries);
    Compare(keys, queries, Suffix(0, round % 3 * 8));
    if (HasFatalFailure()) return;
  }
}

TEST(CodedSurfTest, AllFamilies) {
  int coded = 0;
  for (uint32_t seed = 1; seed <= 3; seed++) {
    for (const KeyFamily& family : KeyFamilies(150, seed)) {
      SCOPED_TRACE(family.name);
      if (!CodedSurf(family.keys, Suffix(0)).is_coded()) continue;
      coded++;
      Random rnd(seed);
      Keys queries = {"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
      while (queries.size() < 60) {
        const int pick = rnd.Uniform(static_cast<int>(family.keys.size()));
        const Keys around = Around(family.keys[pick]);
        queries.push_back(around[rnd.Uniform(static_cast<int>(around.size()))]);
      }
      for (const SurfSuffix& suffix :
           {Suffix(0), Suffix(5), Suffix(0, 3), Suffix(2, 16)}) {
        Compare(family.keys, queries, suffix);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GE(coded, 9);
}

// Large enough for groups of more than one node, and for codes of contexts.
TEST(CodedSurfTest, NoFalseNegativesInLargeFilters) {
  for (const KeyFamily& family : KeyFamilies(60000, 17)) {
    SCOPED_TRACE(family.name);
    const CodedSurf surf(family.keys, Suffix(2, 6));
    for (size_t i = 0; i < family.keys.size(); i += 3) {
      const std::string& key = family.keys[i];
      ASSERT_TRUE(surf->KeyMayMatch(key)) << Hex(key);
      for (const std::string& bound : Around(key)) {
        if (bound <= key) {
          ASSERT_TRUE(surf->RangeMayMatch(bound, key, true));
        } else {
          ASSERT_TRUE(surf->RangeMayMatch(key, bound, false));
        }
        const auto next =
            std::lower_bound(family.keys.begin(), family.keys.end(), bound);
        std::string skipped;
        if (next != family.keys.end()) {
          ASSERT_TRUE(surf->LowerBound(bound, &skipped));
          ASSERT_LE(bound, skipped);
          ASSERT_LE(skipped, *next) << Hex(bound);
        }
      }
      const size_t last = std::min(i + i % 1000, family.keys.size() - 1);
      ASSERT_EQ(last - i + 1, surf->Count(key, family.keys[last]).count);
    }
  }
}

// A builder chooses digits for text alone, if there is enough, and not if there
// are real bits.
TEST(CodedSurfTest, WhereDigitsAreChosen) {
  const auto build = [](const Keys& keys, const SurfSuffix& suffix) {
    SurfBuilder builder(suffix);
    for (const std::string& key : keys) builder.AddKey(key);
    return FinishPayload(&builder);
  };
  const auto is_coded = [](const std::string& payload) {
    return (payload[0] & 0x80) != 0;
  };
  for (const KeyFamily& family : KeyFamilies(20000, 3)) {
    if (family.name != "emails" && family.name != "urls" &&
        family.name != "random integers") {
      continue;
    }
    SCOPED_TRACE(family.name);
    const bool is_text = family.name != "random integers";
    EXPECT_EQ(is_text, is_coded(build(family.keys, {0, 0})));
    EXPECT_EQ(is_text, is_coded(build(family.keys, {6, 0})));
    // The digit in the suffix counts as a part of the trie.
    EXPECT_EQ(family.name == "urls", is_coded(build(family.keys, {0, 0, 8})));
    EXPECT_FALSE(is_coded(build(family.keys, {0, 4, 4})));
    EXPECT_FALSE(is_coded(build(family.keys, {0, 8})));
    const Keys few(family.keys.begin(), family.keys.begin() + 200);
    EXPECT_FALSE(is_coded(build(few, {0, 0})));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
