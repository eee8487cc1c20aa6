// SPDX-License-Identifier: Apache-2.0

//  Filters of every design against a std::set and, if the design is exact,
//  against the prefixes that it holds.

#include "filter_policy/proteus/proteus.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/filter_blocks.h"
#include "tests/filter_policy/prefixes.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::string kBytes("\x00\x01\x80\xff", 4);
constexpr uint32_t kLongestPrefix = 20;
// The size for a few keys, so that the trie leaves enough bytes for any set.
constexpr double kManyBits = 4000;

// No layer, tries of every depth, sets of every pair of lengths, and series.
std::vector<ProteusDesign> AllDesigns() {
  std::vector<ProteusDesign> designs = {ProteusDesign()};
  for (uint32_t bits = 1; bits <= kLongestPrefix; bits++) {
    designs.push_back(TrieAndSet(bits, 0));
  }
  for (uint32_t bits : {24, 32, 63, 64, 65, 72, 129}) {
    designs.push_back(TrieAndSet(bits, 0));
  }
  const size_t without_sets = designs.size();
  for (AmqKind amq : {kBloomAmq, kRibbonAmq}) {
    for (uint32_t second = 1; second <= kLongestPrefix; second++) {
      designs.push_back(TrieAndSet(0, second, amq));
      for (uint32_t first = 1; first < second; first++) {
        designs.push_back(TrieAndSet(first, second, amq));
        designs.push_back(TwoSets(first, second, amq));
      }
    }
    for (uint32_t second : {24, 63, 64, 65, 72, 100}) {
      for (uint32_t first : {0, 1, 8, 15, 16, 23, 62}) {
        if (first >= second) continue;
        designs.push_back(TrieAndSet(first, second, amq));
        if (first > 0) designs.push_back(TwoSets(first, second, amq));
      }
    }
    for (uint32_t second : {8, 16, 24}) {
      for (uint32_t stride : {8, 16, 24}) {
        for (uint32_t first : {0, 1, 7, 8, 12}) {
          if (first >= second) continue;
          designs.push_back(TrieAndSet(first, second, amq, stride));
        }
      }
    }
  }
  // Each design without a first set also gets a set of whole keys.
  const size_t count = designs.size();
  for (size_t i = without_sets; i < count; i += 3) {
    const ProteusDesign design = designs[i];
    if (design.first_prefix_bits() > 0) continue;
    for (const bool alone : {false, true}) {
      designs.push_back(WithKeys(design, 0.4, alone));
    }
  }
  return designs;
}

// Sets of keys of up to two bytes.
std::vector<Keys> SmallKeySets() {
  Keys all = StringsOver(kBytes, 2);
  SortUnique(&all);
  std::vector<Keys> sets = {all, StringsOver(kBytes, 1), {""}, {"\x80"}};
  for (size_t i = 0; i < all.size(); i += 5) sets.push_back({all[i]});
  Random rnd(301);
  for (int odds : {2, 2, 3, 3, 5, 5, 8, 8}) {
    Keys keys;
    for (const std::string& key : all) {
      if (rnd.OneIn(odds)) keys.push_back(key);
    }
    if (!keys.empty()) sets.push_back(keys);
  }
  return sets;
}

// Bounds around all of these keys: shorter ones, longer ones, and of their
// lengths.
Keys SmallBounds() {
  Keys bounds = StringsOver(kBytes, 2);
  for (const std::string& longer : StringsOver(kBytes, 3)) {
    // Many of the designs are alike.
    if (longer.size() == 3 && (longer[0] == longer[1] || longer[2] == '\0')) {
      bounds.push_back(longer);
    }
  }
  for (size_t zeros : {1, 6, 7, 8, 62}) {
    bounds.push_back("\x80" + std::string(zeros, '\0'));
    bounds.push_back(std::string(zeros, '\0'));
  }
  bounds.insert(bounds.end(), {std::string("\x80\0\0\0\0\0\0\0\0\x01", 10),
                               "\x7f" + std::string(9, '\xff'),
                               std::string(9, '\xff'), "\x02"});
  SortUnique(&bounds);
  return bounds;
}

// For each of `bounds`, how many of the sorted `keys` are below it, and how
// many are not above it.
struct Ranks {
  Ranks(const Keys& keys, const Keys& bounds) {
    for (const std::string& bound : bounds) {
      const auto begin = std::lower_bound(keys.begin(), keys.end(), bound);
      below.push_back(begin - keys.begin());
      not_above.push_back(std::upper_bound(begin, keys.end(), bound) -
                          keys.begin());
    }
  }
  bool Holds(size_t lo, size_t hi, bool hi_inclusive) const {
    if (hi < lo) return false;
    return below[lo] < (hi_inclusive ? not_above[hi] : below[hi]);
  }
  std::vector<ptrdiff_t> below;
  std::vector<ptrdiff_t> not_above;
};

// A bound with zeros after it, as a number of bytes that is large enough.
constexpr size_t kPlenty = 80;
std::string Bits(std::string bound) {
  bound.resize(kPlenty);
  return bound;
}
std::string BitsBefore(std::string bound) {
  bound.resize(kPlenty);
  size_t i = kPlenty;
  while (i > 0 && bound[i - 1]-- == '\0') i--;
  return bound;
}

// Whether a key's prefix of `bits` bits lies in the range, as a filter of these
// prefixes can know it: an exclusive bound is the bits before its own, unless a
// shorter key may have the bound's bits.
bool PrefixInRange(const Keys& keys, uint32_t bits, const std::string& lo,
                   const std::string& hi, bool hi_inclusive) {
  size_t shortest = kPlenty;
  for (const std::string& key : keys) {
    shortest = std::min(shortest, key.size());
  }
  const bool before = !hi_inclusive && !hi.empty() &&
                      (hi.size() <= shortest || hi.back() != '\0');
  if (before && Bits(hi) == std::string(kPlenty, '\0')) return false;
  const std::string low = PrefixOf(Bits(lo), bits);
  const std::string high = PrefixOf(before ? BitsBefore(hi) : Bits(hi), bits);
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    const std::string prefix = PrefixOf(key, bits);
    return low <= prefix && prefix <= high;
  });
}

std::string Show(const std::string& lo, const std::string& hi,
                 bool hi_inclusive) {
  return "[" + Hex(lo) + ", " + Hex(hi) + (hi_inclusive ? "]" : ")");
}

// The block holds the keys, alone and in every range between two of the bounds,
// and nothing lies between bounds that are out of order.
void ExpectHolds(const ForcedProteus& proteus, const Keys& keys,
                 const Keys& bounds, const Ranks& ranks) {
  const FilterBlock& block = proteus.block();
  for (const std::string& key : keys) {
    ASSERT_TRUE(block.KeyMayMatch(key)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch(key, key, true)) << Hex(key);
    ASSERT_TRUE(block.PrefixMayMatch(key)) << Hex(key);
    ASSERT_TRUE(block.PrefixMayMatch(key.substr(0, key.size() / 2)))
        << Hex(key);
  }
  for (size_t i = 0; i < bounds.size(); i++) {
    ASSERT_TRUE(LowerBoundHolds(block, keys, bounds[i])) << Hex(bounds[i]);
    for (size_t j = i == 0 ? 0 : i - 1; j <= i; j++) {
      ASSERT_FALSE(proteus.filter().RangeMayMatch(bounds[i], bounds[j], j < i))
          << Show(bounds[i], bounds[j], j < i);
    }
    for (size_t j = i; j < bounds.size(); j++) {
      for (bool inclusive : {false, true}) {
        if (!ranks.Holds(i, j, inclusive)) continue;
        ASSERT_TRUE(block.RangeMayMatch(bounds[i], bounds[j], inclusive))
            << Show(bounds[i], bounds[j], inclusive);
      }
    }
  }
}

TEST(ProteusTest, TriesKnowTheirPrefixes) {
  const Keys bounds = SmallBounds();
  for (const Keys& keys : SmallKeySets()) {
    for (uint32_t bits : {1, 3, 7, 8, 9, 12, 15, 16, 17, 24, 63, 64, 65, 129}) {
      SCOPED_TRACE(std::to_string(bits) + " bits, " +
                   std::to_string(keys.size()) + " keys");
      const ForcedProteus proteus(keys, TrieAndSet(bits, 0), 64);
      size_t beyond = 0;
      for (size_t i = 0; i < bounds.size(); i += 2) {
        const std::string& lo = bounds[i];
        for (const std::string& hi : bounds) {
          for (bool inclusive : {false, true}) {
            const bool expected = (lo < hi || (lo == hi && inclusive)) &&
                                  PrefixInRange(keys, bits, lo, hi, inclusive);
            const bool answer =
                proteus.filter().RangeMayMatch(lo, hi, inclusive);
            if (answer == expected) continue;
            // The filter may know better from the smallest and the largest key.
            ASSERT_TRUE(expected) << Show(lo, hi, inclusive);
            ASSERT_FALSE(PrefixInRange(keys, 64, lo, hi, inclusive))
                << Show(lo, hi, inclusive);
            beyond++;
          }
        }
        const bool expected = PrefixInRange(keys, bits, lo, lo, true);
        if (proteus.filter().KeyMayMatch(lo) != expected) {
          ASSERT_TRUE(expected) << Hex(lo);
          ASSERT_FALSE(PrefixInRange(keys, 64, lo, lo, true)) << Hex(lo);
        }
      }
      EXPECT_TRUE(bits < 64 || beyond == 0);
    }
  }
}

TEST(ProteusTest, EveryDesignOnSmallSets) {
  const Keys bounds = SmallBounds();
  const std::vector<ProteusDesign> designs = AllDesigns();
  for (const Keys& keys : SmallKeySets()) {
    const Ranks ranks(keys, bounds);
    size_t false_positives = 0;
    size_t resolvable = 0;
    for (const ProteusDesign& design : designs) {
      SCOPED_TRACE(design.Describe() + ", " + std::to_string(keys.size()) +
                   " keys");
      const ForcedProteus proteus(keys, design, kManyBits);
      ASSERT_NO_FATAL_FAILURE(ExpectHolds(proteus, keys, bounds, ranks));
      // Points whose prefixes no key has are recognized, except by chance.
      for (const std::string& point : bounds) {
        if (PrefixInRange(keys, design.prefix_bits(), point, point, true)) {
          continue;
        }
        resolvable++;
        false_positives += proteus.filter().RangeMayMatch(point, point, true);
      }
    }
    EXPECT_LE(static_cast<double>(false_positives),
              0.03 * static_cast<double>(resolvable) + 3);
  }
}

// A search that ends at the next prefix of the trie has skipped the rest of the
// first one.
TEST(ProteusTest, LowerBoundsAmongNeighbours) {
  Keys keys;
  for (int i = 0; i < 100; i++) {
    keys.push_back(std::string(1, '\0') + static_cast<char>(i) + "\x80\x01");
  }
  for (uint32_t bits : {24, 32}) {
    const ForcedProteus proteus(keys, TrieAndSet(16, bits), kManyBits);
    for (size_t i = 0; i + 1 < keys.size(); i++) {
      const std::string target = keys[i].substr(0, 2) + "\xff\xe0";
      std::string bound;
      ASSERT_TRUE(proteus.block().LowerBound(target, &bound));
      EXPECT_LT(target, bound);
      EXPECT_LE(bound, keys[i + 1]);
    }
  }
}

TEST(ProteusTest, NoKeys) {
  for (const ProteusDesign& design : AllDesigns()) {
    const ForcedProteus proteus({}, design, 12);
    EXPECT_FALSE(proteus.block().KeyMayMatch(""));
    EXPECT_FALSE(proteus.block().KeyMayMatch("a"));
    EXPECT_FALSE(proteus.block().RangeMayMatch("", "\xff\xff\xff\xff", true));
    EXPECT_FALSE(proteus.block().RangeMayMatch("", "", true));
  }
}

// ---- Families of keys, and random designs ----

ProteusDesign RandomDesign(size_t longest_key, Random* rnd) {
  const int longest = static_cast<int>(
      std::min<size_t>(8 * longest_key + 17, rnd->OneIn(3) ? 5000 : 130));
  auto bits = [&](int least, int most) {
    return static_cast<uint32_t>(
        least + (most > least ? rnd->Uniform(most - least + 1) : 0));
  };
  const AmqKind amq = rnd->OneIn(2) ? kRibbonAmq : kBloomAmq;
  const uint32_t second = bits(2, longest);
  switch (rnd->Uniform(6)) {
    case 0:
      return TrieAndSet(second, 0);
    case 1:
      return TrieAndSet(0, second, amq);
    case 2:
      return TrieAndSet(bits(1, static_cast<int>(second) - 1), second, amq);
    case 3:
      return TwoSets(bits(1, static_cast<int>(second) - 1), second, amq,
                     0.1 * (1 + rnd->Uniform(9)));
    case 4:
      return TrieAndSet(0, BytesForBits(second) * 8, amq, 8 * bits(1, 9));
    default: {
      const uint32_t whole = BytesForBits(second) * 8;
      return TrieAndSet(bits(1, static_cast<int>(whole) - 1), whole, amq,
                        8 * bits(1, 9));
    }
  }
}

class FamilyTest : public testing::TestWithParam<uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Seeds, FamilyTest, testing::Range(1u, 4u));

TEST_P(FamilyTest, NoFalseNegatives) {
  const uint32_t seed = GetParam();
  Random rnd(seed);
  std::vector<KeyFamily> families = KeyFamilies(300, seed);
  families.push_back(
      {"long keys", MakeKeys(100, [&](size_t) {
         const std::string head(rnd.Uniform(200), 'l');
         return head + RandomString(&rnd, std::string("\0lm\xff", 4), 300);
       })});
  for (const KeyFamily& family : families) {
    const Keys& keys = family.keys;
    size_t longest = 0;
    for (const std::string& key : keys) longest = std::max(longest, key.size());
    Keys bounds =
        AroundEach(MakeKeys(12, [&](size_t) { return AnyOf(keys, &rnd); }));
    bounds.push_back("");
    SortUnique(&bounds);
    const Ranks ranks(keys, bounds);
    for (int round = 0; round < 40; round++) {
      const ProteusDesign design = RandomDesign(longest, &rnd);
      const double bits_per_key = 2 + rnd.Uniform(30);
      SCOPED_TRACE(family.name + ", " + design.Describe());
      const ForcedProteus proteus(keys, design, bits_per_key);
      ASSERT_EQ(design.trie_bits(), proteus.filter().design().trie_bits());
      ASSERT_EQ(design.prefix_bits(), proteus.filter().design().prefix_bits());
      ASSERT_NO_FATAL_FAILURE(ExpectHolds(proteus, keys, bounds, ranks));
    }
  }
}

// The answers of batches of every size, with repeated and with empty keys, are
// those of the same keys one by one.
TEST(ProteusTest, Batches) {
  constexpr size_t kMaxKeys = 70;
  Random rnd(5);
  for (const KeyFamily& family : KeyFamilies(200, 5)) {
    std::vector<ProteusDesign> designs;
    for (AmqKind amq : {kBloomAmq, kRibbonAmq}) {
      for (uint32_t trie : {0, 9, 40, 70}) {
        for (uint32_t bits : {0, 48, 64, 120}) {
          if (bits == 0 || bits > trie) {
            designs.push_back(TrieAndSet(trie, bits, amq));
          }
        }
      }
      designs.push_back(TwoSets(9, 40, amq));
      designs.push_back(TwoSets(16, 100, amq));
      designs.push_back(TwoSets(80, 100, amq));
      designs.push_back(TrieAndSet(0, 16, amq, 8));
      designs.push_back(TrieAndSet(9, 72, amq, 16));
    }
    Keys points = AroundEach(family.keys, 5);
    points.insert(points.end(), family.keys.begin(), family.keys.end());
    points.push_back("");
    for (const ProteusDesign& design : designs) {
      const double bits_per_key = 2 + rnd.Uniform(30);
      SCOPED_TRACE(family.name + ", " + design.Describe());
      const ForcedProteus proteus(family.keys, design, bits_per_key);
      for (size_t size = 0; size <= kMaxKeys; size++) {
        std::vector<Slice> slices;
        while (slices.size() < size) {
          slices.emplace_back(slices.empty() || !rnd.OneIn(6)
                                  ? AnyOf(points, &rnd)
                                  : slices.back());
        }
        std::vector<Slice*> pointers;
        for (Slice& slice : slices) pointers.push_back(&slice);
        bool answers[kMaxKeys + 1];
        for (const bool before : {false, true}) {
          std::fill_n(answers, kMaxKeys + 1, before);
          proteus.block().KeysMayMatch(size, pointers.data(), answers);
          for (size_t i = 0; i < size; i++) {
            ASSERT_EQ(proteus.block().KeyMayMatch(slices[i]), answers[i])
                << i << " of " << size << ": " << Hex(slices[i].ToString());
          }
          ASSERT_EQ(before, answers[size]) << "stored behind the answers";
        }
      }
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
