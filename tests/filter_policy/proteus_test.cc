// SPDX-License-Identifier: Apache-2.0

//  Filters of every design against the keys and, if it is exact, against the
//  prefixes that it holds; traps for filters; and limits of a query's work.

#include "filter_policy/proteus/proteus.h"

#include <ctime>
#include <map>

#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::string kBytes("\x00\x01\x80\xff", 4);
// The size for a few keys, so that the trie leaves enough bytes for any set.
constexpr double kMoreThanEnough = 4000;

// Tries of every depth and sets of every pair of lengths.
std::vector<ProteusDesign> DesignsUpTo(uint32_t longest) {
  std::vector<ProteusDesign> designs;
  for (uint32_t second = 1; second <= longest; second++) {
    designs.push_back(TrieAndSet(second, 0));
    for (AmqKind amq : {kBloomAmq, kRibbonAmq}) {
      designs.push_back(TrieAndSet(0, second, amq));
      for (uint32_t first = 1; first < second; first++) {
        designs.push_back(TrieAndSet(first, second, amq));
        designs.push_back(TwoSets(first, second, amq));
      }
    }
  }
  return designs;
}

// These, no layer, some longer ones, and series.
std::vector<ProteusDesign> AllDesigns() {
  std::vector<ProteusDesign> designs = DesignsUpTo(20);
  designs.push_back(ProteusDesign());
  for (uint32_t bits : {24, 32, 63, 64, 65, 72, 129}) {
    designs.push_back(TrieAndSet(bits, 0));
  }
  for (AmqKind amq : {kBloomAmq, kRibbonAmq}) {
    for (uint32_t second : {24, 63, 64, 65, 72, 100}) {
      for (uint32_t first : {0, 1, 8, 15, 16, 23, 62}) {
        if (first >= second) continue;
        designs.push_back(TrieAndSet(first, second, amq));
        if (first > 0) designs.push_back(TwoSets(first, second, amq));
      }
    }
    for (uint32_t second : {8, 16, 24}) {
      for (uint32_t first : {0, 1, 7, 8, 12}) {
        if (first >= second) continue;
        for (uint32_t stride : {8, 16, 24}) {
          designs.push_back(TrieAndSet(first, second, amq, stride));
        }
      }
    }
  }
  // A third of the designs with one set also get a set of whole keys.
  const size_t count = designs.size();
  for (size_t i = 0; i < count; i += 3) {
    const ProteusDesign design = designs[i];
    if (design.num_sets() != 1) continue;
    for (const bool alone : {false, true}) {
      designs.push_back(WithKeys(design, 0.4, alone));
    }
  }
  return designs;
}

std::vector<Keys> SmallKeySets() {
  Keys all = StringsOver(kBytes, 2);
  SortUnique(&all);
  std::vector<Keys> sets = {all, StringsOver(kBytes, 1), {"\x80"}};
  for (size_t i = 0; i < all.size(); i += 5) sets.push_back({all[i]});
  Random rnd(301);
  for (int odds : {2, 3, 5, 8}) {
    Keys keys;
    for (const std::string& key : all) {
      if (rnd.OneIn(odds)) keys.push_back(key);
    }
    if (!keys.empty()) sets.push_back(keys);
  }
  return sets;
}

// Bounds around all of these keys, also shorter and longer ones.
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

// The ranges between two of `bounds` that hold some of the sorted `keys`.
struct HoldingRange {
  size_t lo;
  size_t hi;
  bool inclusive;
};
std::vector<HoldingRange> HoldingRanges(const Keys& keys, const Keys& bounds) {
  std::vector<HoldingRange> ranges;
  for (size_t i = 0; i < bounds.size(); i++) {
    for (size_t j = i; j < bounds.size(); j++) {
      for (bool inclusive : {false, true}) {
        const uint64_t held = KeysIn(keys, bounds[i], bounds[j], inclusive);
        // Any key makes the range match: of those with many, a part is enough.
        if (held > 2 && (i + j) % 4 != 0) continue;
        if (held > 0) ranges.push_back({i, j, inclusive});
      }
    }
  }
  return ranges;
}

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
  for (const std::string& key : keys) shortest = std::min(shortest, key.size());
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

// The keys are found, alone and in these ranges between two of the bounds, and
// nothing between bounds that are out of order.
void ExpectFindsAll(const OwnBlock& block, const Keys& keys, const Keys& bounds,
                    const std::vector<HoldingRange>& ranges) {
  ASSERT_NO_FATAL_FAILURE(ExpectHolds(*block, keys));
  for (size_t i = 0; i < bounds.size(); i++) {
    ASSERT_TRUE(LowerBoundHolds(*block, keys, bounds[i])) << Hex(bounds[i]);
    for (size_t j = i == 0 ? 0 : i - 1; j <= i; j++) {
      ASSERT_FALSE(block.proteus().RangeMayMatch(bounds[i], bounds[j], j < i))
          << Show(bounds[i], bounds[j], j < i);
    }
  }
  for (const auto& [lo, hi, inclusive] : ranges) {
    ASSERT_TRUE(block->RangeMayMatch(bounds[lo], bounds[hi], inclusive))
        << Show(bounds[lo], bounds[hi], inclusive);
  }
}

TEST(ProteusTest, TriesKnowTheirPrefixes) {
  const Keys bounds = SmallBounds();
  for (const Keys& keys : SmallKeySets()) {
    for (uint32_t bits : {1, 3, 7, 8, 9, 12, 15, 16, 17, 24, 63, 64, 65, 129}) {
      SCOPED_TRACE(std::to_string(bits) + " bits, " +
                   std::to_string(keys.size()) + " keys");
      const OwnBlock block(BuildProteusBlock(keys, TrieAndSet(bits, 0), 64));
      const Proteus& proteus = block.proteus();
      const auto check = [&](const std::string& lo, const std::string& hi,
                             bool inclusive, bool answer) {
        const bool expected = (lo < hi || (lo == hi && inclusive)) &&
                              PrefixInRange(keys, bits, lo, hi, inclusive);
        if (answer == expected) return;
        // The filter may know better from the smallest and the largest key.
        ASSERT_TRUE(expected && bits < 64) << Show(lo, hi, inclusive);
        ASSERT_FALSE(PrefixInRange(keys, 64, lo, hi, inclusive))
            << Show(lo, hi, inclusive);
      };
      for (size_t i = 0; i < bounds.size(); i += 2) {
        const std::string& lo = bounds[i];
        check(lo, lo, true, proteus.KeyMayMatch(lo));
        for (const std::string& hi : bounds) {
          for (bool inclusive : {false, true})
            check(lo, hi, inclusive, proteus.RangeMayMatch(lo, hi, inclusive));
        }
        ASSERT_FALSE(HasFatalFailure());
      }
    }
  }
}

TEST(ProteusTest, EveryDesignOnSmallSets) {
  const Keys bounds = SmallBounds();
  const std::vector<ProteusDesign> designs = AllDesigns();
  for (const Keys& keys : SmallKeySets()) {
    const std::vector<HoldingRange> ranges = HoldingRanges(keys, bounds);
    std::map<uint32_t, Keys> absent;  // by the bits of which no key has them
    size_t false_positives = 0;
    size_t resolvable = 0;
    for (const ProteusDesign& design : designs) {
      SCOPED_TRACE(design.Describe() + ", " + std::to_string(keys.size()) +
                   " keys");
      const OwnBlock block(BuildProteusBlock(keys, design, kMoreThanEnough));
      ASSERT_NO_FATAL_FAILURE(ExpectFindsAll(block, keys, bounds, ranges));
      // Points whose prefixes no key has are recognized, except by chance.
      const uint32_t bits = design.prefix_bits();
      const auto [points, is_new] = absent.try_emplace(bits);
      for (const std::string& point : is_new ? bounds : Keys()) {
        if (!PrefixInRange(keys, bits, point, point, true)) {
          points->second.push_back(point);
        }
      }
      resolvable += points->second.size();
      for (const std::string& point : points->second) {
        false_positives += block.proteus().RangeMayMatch(point, point, true);
      }
    }
    EXPECT_LE(false_positives, 0.03 * resolvable + 3);
  }
}

// A search that ends at the trie's next prefix has skipped the rest of one.
TEST(ProteusTest, LowerBoundsAmongNeighbours) {
  const Keys keys = MakeKeys(100, [](size_t i) {
    return std::string(1, '\0') + static_cast<char>(i) + "\x80\x01";
  });
  for (uint32_t bits : {24, 32}) {
    const OwnBlock block(
        BuildProteusBlock(keys, TrieAndSet(16, bits), kMoreThanEnough));
    for (size_t i = 0; i + 1 < keys.size(); i++) {
      const std::string target = keys[i].substr(0, 2) + "\xff\xe0";
      std::string bound;
      ASSERT_TRUE(block->LowerBound(target, &bound));
      EXPECT_LT(target, bound);
      EXPECT_LE(bound, keys[i + 1]);
    }
  }
}

// ---- Families of keys, and random designs ----

ProteusDesign RandomDesign(size_t longest_key, Random* rnd) {
  const auto number = [rnd](size_t least, size_t most) {
    return static_cast<uint32_t>(
        least + rnd->Uniform(static_cast<int>(most - least) + 1));
  };
  const size_t longest =
      std::min<size_t>(8 * longest_key + 17, rnd->OneIn(3) ? 5000 : 130);
  const AmqKind amq = rnd->OneIn(2) ? kRibbonAmq : kBloomAmq;
  const uint32_t second = number(2, longest);
  const uint32_t first = number(1, second - 1);
  const uint32_t whole = BytesForBits(second) * 8;
  const uint32_t stride = 8 * number(1, 9);
  const double share = 0.1 * number(1, 9);
  const ProteusDesign designs[] = {TrieAndSet(second, 0),
                                   TrieAndSet(0, second, amq),
                                   TrieAndSet(first, second, amq),
                                   TwoSets(first, second, amq, share),
                                   TrieAndSet(0, whole, amq, stride),
                                   TrieAndSet(first, whole, amq, stride)};
  return designs[rnd->Uniform(6)];
}

// Batches of every size have the answers of their keys, some of them twice.
void ExpectSameInBatches(const FilterBlock& block, const Keys& points,
                         Random* rnd) {
  constexpr size_t kMaxKeys = 70;
  for (size_t size = 0; size <= kMaxKeys; size++) {
    std::vector<Slice> slices;
    while (slices.size() < size) {
      slices.emplace_back(slices.empty() || !rnd->OneIn(6) ? AnyOf(points, rnd)
                                                           : slices.back());
    }
    std::vector<Slice*> pointers;
    for (Slice& slice : slices) pointers.push_back(&slice);
    bool answers[kMaxKeys + 1];
    const bool before = size % 2 == 0;
    std::fill_n(answers, kMaxKeys + 1, before);
    block.KeysMayMatch(size, pointers.data(), answers);
    for (size_t i = 0; i < size; i++) {
      ASSERT_EQ(block.KeyMayMatch(slices[i]), answers[i])
          << i << " of " << size << ": " << Hex(slices[i]);
    }
    ASSERT_EQ(before, answers[size]) << "stored behind the answers";
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
    const std::vector<HoldingRange> ranges = HoldingRanges(keys, bounds);
    Keys points = bounds;
    points.insert(points.end(), keys.begin(), keys.end());
    Random lots(seed);
    for (int round = 0; round < 40; round++) {
      const ProteusDesign design = RandomDesign(longest, &rnd);
      const double bits_per_key = 2 + rnd.Uniform(30);
      SCOPED_TRACE(family.name + ", " + design.Describe());
      const OwnBlock block(BuildProteusBlock(keys, design, bits_per_key));
      ASSERT_EQ(design.trie_bits(), block.proteus().design().trie_bits());
      ASSERT_EQ(design.prefix_bits(), block.proteus().design().prefix_bits());
      ASSERT_NO_FATAL_FAILURE(ExpectFindsAll(block, keys, bounds, ranges));
      if (round % 4 > 0) continue;
      ASSERT_NO_FATAL_FAILURE(ExpectSameInBatches(*block, points, &lots));
    }
  }
}

std::vector<ProteusDesign> AllDesignsOfWords() {
  std::vector<ProteusDesign> designs = DesignsUpTo(64);
  for (uint32_t second = 8; second <= 64; second += 8) {
    designs.push_back(TrieAndSet(second / 2, second, kBloomAmq, 8));
  }
  return designs;
}

// Limits the processor time of a scope, which is the same on a busy machine.
// The limit is ten times the given one, for sanitizers and emulated CPUs.
class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds) {}
  ~Deadline() {
    EXPECT_LT(std::clock() - start_, 10 * seconds_ * CLOCKS_PER_SEC);
  }

 private:
  const double seconds_;
  const std::clock_t start_ = std::clock();
};

// ---- Traps ----

// A narrow range, whose bounds share few bits, with a key in it or with none.
TEST(ProteusTrapsTest, RangeAcrossACarry) {
  const std::string between = BigEndian(0x1800000000000000);
  const Keys without = {BigEndian(0x1000000000000000),
                        BigEndian(0x3000000000000000)};
  const Keys keys = {without[0], between, without[1]};
  const std::string lo = BigEndian(0x17ffffffffffffd3);
  const std::string hi = BigEndian(0x1800000000000013);
  size_t positives = 0;
  size_t resolvable = 0;
  for (const ProteusDesign& design : AllDesignsOfWords()) {
    SCOPED_TRACE(design.Describe());
    const OwnBlock block(BuildProteusBlock(keys, design, 2000));
    EXPECT_TRUE(block->RangeMayMatch(lo, hi, true));
    EXPECT_TRUE(block->RangeMayMatch(lo, hi, false));
    EXPECT_TRUE(block->RangeMayMatch(lo, between, true));
    EXPECT_TRUE(block->RangeMayMatch(between, hi, false));
    EXPECT_TRUE(block->RangeMayMatch(lo, between + '\0', false));
    const OwnBlock empty(BuildProteusBlock(without, design, 2000));
    const bool may_match = empty.proteus().RangeMayMatch(lo, hi, true);
    // 0x10 and 0x17 differ first in the sixth bit.
    if (std::max(design.trie_bits(), design.prefix_bits()) < 6) {
      EXPECT_TRUE(may_match);
    } else if (design.trie_bits() >= 6) {
      EXPECT_FALSE(may_match);
    } else {
      resolvable++;
      positives += may_match;
    }
  }
  EXPECT_LT(positives, resolvable / 20);
}

TEST(ProteusTrapsTest, DeepTriesKeepTheirSecondLayer) {
  Random rnd(7);
  const Keys keys = MakeKeys(500, [&](size_t i) {
    const std::string middle = BigEndian(rnd.Next64());
    return BigEndian(1000000 * (i + 1)) + middle + BigEndian(rnd.Next64());
  });
  for (uint32_t trie : {57, 63, 64, 65, 72, 100, 128}) {
    for (uint32_t prefix : {trie + 1, trie + 7, trie + 30, 192u}) {
      for (AmqKind amq : {kBloomAmq, kRibbonAmq}) {
        const ProteusDesign design = TrieAndSet(trie, prefix, amq);
        SCOPED_TRACE(design.Describe());
        const OwnBlock block(BuildProteusBlock(keys, design, 300));
        EXPECT_EQ(design.Describe(), block.proteus().design().Describe());
        size_t positives = 0;
        ExpectHolds(*block, keys);
        for (const std::string& key : keys) {
          // This query differs in the last bit that is kept.
          std::string other = key;
          other[(prefix - 1) / 8] ^= 0x80 >> (prefix - 1) % 8;
          positives += block->KeyMayMatch(other);
          positives += block->RangeMayMatch(other, other, true);
          // The bit that differs is not kept.
          if (prefix < 192) {
            other = key;
            other.back() ^= 1;
            ASSERT_TRUE(block->KeyMayMatch(other));
          }
        }
        EXPECT_LT(positives, keys.size() / 20);
      }
    }
  }
}

TEST(ProteusTrapsTest, KeysShorterThanThePrefixes) {
  const Keys keys = {"", "a", "ab", "b", std::string("b\0", 2), "c\xff"};
  for (uint32_t prefix : {24, 63, 64, 65, 128, 512, 513, 4096, 32768, 40000}) {
    for (uint32_t first : {0, 1, 8, 17, 20}) {
      std::vector<ProteusDesign> designs = {
          TrieAndSet(first, prefix), TrieAndSet(prefix, 0),
          TrieAndSet(first, prefix, kRibbonAmq)};
      if (first > 0) designs.push_back(TwoSets(first, prefix));
      if (prefix % 8 == 0) {
        designs.push_back(TrieAndSet(first, prefix, kBloomAmq, 8));
      }
      for (const ProteusDesign& design : designs) {
        SCOPED_TRACE(design.Describe());
        const OwnBlock block(BuildProteusBlock(keys, design, 1000));
        ExpectHolds(*block, keys);
        for (const std::string& key : keys) {
          for (const std::string& more :
               {std::string(1, '\0'), std::string(3, '\0'),
                std::string(1000, '\0'), std::string("\xff")}) {
            EXPECT_TRUE(block->RangeMayMatch(key, key + more, true));
          }
        }
        EXPECT_TRUE(block->RangeMayMatch("", "\xff", true));
        EXPECT_TRUE(block->RangeMayMatch("aa", "ac", true));
        EXPECT_FALSE(block->KeyMayMatch("d"));
        EXPECT_FALSE(block->RangeMayMatch("d", "e", true));
      }
    }
  }
}

// ---- Chains ----

struct Chain {
  std::string name;
  Keys keys;
  std::vector<SampleQuery> samples = {};
};

Chain MakeChain(const std::string& name, const std::string& unit,
                size_t links) {
  Chain chain = {name, {}};
  std::string key;
  for (size_t i = 0; i < links; i++) {
    key += unit;
    chain.keys.push_back(key);
    if (i % 3 == 0) {
      chain.samples.push_back({key + '\x01', key + '\x01', true});
      chain.samples.push_back({key + "\x01", key + "\x01\xff", false});
    }
  }
  // These bounds share few bytes but are long.
  for (size_t i = 0; i < 200; i++) {
    chain.samples.push_back({unit + std::string(4000, '\x01'),
                             unit + std::string(4000, '\x02'), true});
  }
  return chain;
}

std::vector<Chain> Chains() {
  std::vector<Chain> chains = {
      MakeChain("a, aa, ...", "a", 3000),
      MakeChain("00, 0000, ...", std::string("\0", 1), 2000),
      MakeChain("ff, ffff, ...", "\xff", 2000),
      MakeChain("a00, a00a00, ...", std::string("a\0", 2), 1500)};
  Chain chain = MakeChain("one long key", "k", 1);
  for (int i = 0; i < 2000; i++) {
    chain.keys.push_back("l" + BigEndian(static_cast<uint64_t>(i) * 4001));
    chain.samples.push_back({chain.keys.back() + "a", chain.keys.back() + "b"});
  }
  chain.keys.push_back("m" + std::string(500000, 'm'));
  SortUnique(&chain.keys);
  chains.push_back(chain);
  return chains;
}

void ExpectAllFound(const FilterBlock& block, const Keys& keys) {
  for (size_t i = 0; i < keys.size(); i += i < 100 ? 1 : 37) {
    const std::string& key = keys[i];
    ASSERT_TRUE(block.KeyMayMatch(key)) << i;
    ASSERT_TRUE(block.RangeMayMatch(key, key, true)) << i;
    ASSERT_TRUE(block.RangeMayMatch(key, key + '\0', false)) << i;
    ASSERT_TRUE(block.RangeMayMatch(key.substr(0, key.size() / 2), key, true));
    if (i > 0) {
      ASSERT_TRUE(block.RangeMayMatch(keys[i - 1] + '\0', key, true)) << i;
    }
  }
}

TEST(ProteusTrapsTest, ChainsAreDesignedAndAskedSoon) {
  for (const Chain& chain : Chains()) {
    for (DesignSpace space :
         {DesignSpace::kOnePrefixFilter, DesignSpace::kTwoPrefixFilters,
          DesignSpace::kProteus}) {
      SCOPED_TRACE(chain.name + " " + std::to_string(static_cast<int>(space)));
      const Deadline deadline(0.5);
      ProteusSettings settings;
      settings.space = space;
      const OwnBlock block(
          BuildProteusBlock(chain.keys, settings, chain.samples));
      ExpectAllFound(*block, chain.keys);
    }
    for (const ProteusDesign& design :
         {TrieAndSet(0, 24), TrieAndSet(0, 800), TrieAndSet(0, 24000),
          TrieAndSet(16, 200), TrieAndSet(400, 0), TrieAndSet(400, 800),
          TwoSets(100, 900), TrieAndSet(0, 8, kBloomAmq, 8),
          TrieAndSet(0, 64, kRibbonAmq, 32),
          TrieAndSet(16, 64, kBloomAmq, 8)}) {
      SCOPED_TRACE(chain.name + ", " + design.Describe());
      const Deadline deadline(0.5);
      const OwnBlock block(BuildProteusBlock(chain.keys, design, 12));
      ExpectAllFound(*block, chain.keys);
    }
  }
}

// ---- Bounded work ----

TEST(ProteusTrapsTest, QueriesOfTooManyPrefixesMayMatch) {
  // A shift tells how many bits of the number the prefixes lack.
  for (const auto& [head, bits, amq, shift] :
       {std::tuple{"", 64, kBloomAmq, 0},
        {"", 64, kRibbonAmq, 0},
        {"", 61, kBloomAmq, 3},
        {"", 61, kRibbonAmq, 3},
        {"prefix", 8 * 14, kBloomAmq, 0}}) {
    // The keys are far apart, so that only the number of prefixes decides.
    const Keys keys = MakeKeys(
        100, [head = head](size_t i) { return head + BigEndian(i << 40); });
    const OwnBlock block(
        BuildProteusBlock(keys, TrieAndSet(0, bits, amq), 300));
    SCOPED_TRACE(head + block.proteus().design().Describe());
    size_t positives = 0;
    for (uint64_t i = 0; i < 99; i++) {
      // Without a shift, prefixes begin anywhere.
      const uint64_t lo = (i << 40) + (1 << 20) + (shift == 0 ? 77 : 0);
      const uint64_t most = kMaxPrefixProbes << shift;
      const auto may_match = [&, head = head](uint64_t width, bool inclusive) {
        return block->RangeMayMatch(head + BigEndian(lo),
                                    head + BigEndian(lo + width), inclusive);
      };
      positives += may_match(most - 1, true);
      positives += may_match(most, false);
      EXPECT_TRUE(may_match(most, true));
      EXPECT_TRUE(may_match(1000 * most, true));
    }
    EXPECT_LT(positives, 20u);
  }
}

// The widest range over most of the keys.
TEST(ProteusTrapsTest, WideRangesAreAnsweredSoon) {
  Random rnd(8);
  for (size_t key_bytes : {4, 8, 12, 40}) {
    const Keys keys = MakeKeys(2000, [&](size_t) {
      std::string key = BigEndian(rnd.Next64() >> 1);
      key.resize(key_bytes, 'x');
      return key;
    });
    for (const ProteusDesign& design : AllDesignsOfWords()) {
      if (design.prefix_bits() % 9 != 1) continue;
      const Deadline deadline(0.2);
      const OwnBlock block(BuildProteusBlock(keys, design, 20));
      for (int i = 0; i < 200; i++) {
        const std::string lo = keys[rnd.Uniform(100)] + "a";
        const std::string hi = keys[keys.size() - 1 - rnd.Uniform(100)];
        EXPECT_TRUE(block->RangeMayMatch(lo, hi, true));
      }
    }
  }
}

// A range to the string right behind a key has the answer of one to the key.
TEST(ProteusTrapsTest, ZerosBehindBoundsChangeNothing) {
  Random rnd(9);
  const auto draw = [&](size_t) {
    return "a" + RandomString(&rnd, "abcdefgh", 19);
  };
  const Keys keys = MakeKeys(500, draw);
  for (const ProteusDesign& design :
       {TrieAndSet(0, 16, kBloomAmq, 8), TrieAndSet(0, 32, kRibbonAmq, 16),
        TrieAndSet(14, 100), TwoSets(20, 90)}) {
    SCOPED_TRACE(design.Describe());
    const OwnBlock block(BuildProteusBlock(keys, design, 12));
    for (size_t i = 0; i < 1000; i++) {
      const std::string lo = draw(i);
      std::string hi = lo;
      hi.back()++;
      const bool answer = block->RangeMayMatch(lo, hi, true);
      EXPECT_EQ(answer, block->RangeMayMatch(lo, hi + '\0', false));
      EXPECT_EQ(answer, block->RangeMayMatch(lo + '\0', hi + '\0', true));
    }
  }
}

// The longest key that a query may name, and every prefix of it in the series.
TEST(ProteusTrapsTest, LongQueriesAreAnsweredSoon) {
  const std::string key(1 << 20, 'q');
  for (const ProteusDesign& design :
       {TrieAndSet(0, 8, kBloomAmq, 8), TrieAndSet(0, 8, kRibbonAmq, 64),
        TrieAndSet(0, 8 << 20), TrieAndSet(8, 8 << 20), TwoSets(4000, 8 << 20),
        TrieAndSet(4000, 0)}) {
    SCOPED_TRACE(design.Describe());
    const Deadline deadline(1);
    const OwnBlock block(BuildProteusBlock({"a", key, "z"}, design, 5000));
    for (int i = 0; i < 5; i++) {
      EXPECT_TRUE(block->KeyMayMatch(key));
      EXPECT_TRUE(block->RangeMayMatch(key, key, true));
      EXPECT_TRUE(block->RangeMayMatch(key, key + '\0', false));
      EXPECT_TRUE(block->RangeMayMatch("q", key + 'a', true));
      block->RangeMayMatch(key + 'b', key + 'c', true);
      block->KeyMayMatch(key + 'b');
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
