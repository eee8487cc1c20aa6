// SPDX-License-Identifier: Apache-2.0

//  Traps for prefix filters: carries between bounds, tries that lose their
//  second layer, keys shorter than the prefixes, and long chains of keys that
//  are prefixes of each other. Also limits of the work of a query.

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "filter_policy/proteus/proteus.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Designs of all kinds for numbers of 64 bits.
std::vector<ProteusDesign> AllDesignsOfWords() {
  std::vector<ProteusDesign> designs;
  for (uint32_t first = 0; first <= 64; first++) {
    if (first > 0) designs.push_back(TrieAndSet(first, 0));
    for (uint32_t second = first + 1; second <= 64; second++) {
      designs.push_back(TrieAndSet(first, second, kBloomAmq));
      designs.push_back(TrieAndSet(first, second, kRibbonAmq));
      if (first > 0) designs.push_back(TwoSets(first, second));
    }
  }
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
  ~Deadline() { EXPECT_LT(ProcessorSeconds() - start_, 10 * seconds_); }

 private:
  static double ProcessorSeconds() {
    timespec now;
    EXPECT_EQ(0, clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now));
    return static_cast<double>(now.tv_sec) +
           1e-9 * static_cast<double>(now.tv_nsec);
  }

  const double seconds_;
  const double start_ = ProcessorSeconds();
};

// The bounds share few bits, but their range is narrow. It holds a key, or only
// long prefixes can tell that it holds none.
TEST(ProteusTrapsTest, RangeAcrossACarry) {
  const std::string between = BigEndian(uint64_t{0x18} << 56);
  const Keys without = {BigEndian(uint64_t{0x10} << 56),
                        BigEndian(uint64_t{0x30} << 56)};
  const Keys keys = {without[0], between, without[1]};
  const std::string lo = BigEndian(0x17ffffffffffffd3);
  const std::string hi = BigEndian(0x1800000000000013);
  size_t positives = 0;
  size_t resolvable = 0;
  for (const ProteusDesign& design : AllDesignsOfWords()) {
    SCOPED_TRACE(design.Describe());
    const ForcedProteus proteus(keys, design, 2000);
    EXPECT_TRUE(proteus.block().RangeMayMatch(lo, hi, true));
    EXPECT_TRUE(proteus.block().RangeMayMatch(lo, hi, false));
    EXPECT_TRUE(proteus.block().RangeMayMatch(lo, between, true));
    EXPECT_TRUE(proteus.block().RangeMayMatch(between, hi, false));
    EXPECT_TRUE(proteus.block().RangeMayMatch(lo, between + '\0', false));

    const ForcedProteus empty(without, design, 2000);
    const bool may_match = empty.filter().RangeMayMatch(lo, hi, true);
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
        const ForcedProteus proteus(keys, design, 300);
        EXPECT_EQ(design.Describe(), proteus.filter().design().Describe());
        size_t positives = 0;
        for (const std::string& key : keys) {
          ASSERT_TRUE(proteus.block().KeyMayMatch(key));
          ASSERT_TRUE(proteus.block().RangeMayMatch(key, key, true));
          // This query differs in the last bit that is kept.
          std::string other = key;
          other[(prefix - 1) / 8] = static_cast<char>(other[(prefix - 1) / 8] ^
                                                      0x80 >> (prefix - 1) % 8);
          positives += proteus.block().KeyMayMatch(other);
          positives += proteus.block().RangeMayMatch(other, other, true);
          // The bit that differs is not kept.
          if (prefix < 192) {
            other = key;
            other.back() = static_cast<char>(other.back() ^ 1);
            ASSERT_TRUE(proteus.block().KeyMayMatch(other));
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
        const ForcedProteus proteus(keys, design, 1000);
        for (const std::string& key : keys) {
          EXPECT_TRUE(proteus.block().KeyMayMatch(key)) << Hex(key);
          for (const std::string& more :
               {std::string(), std::string("\0", 1), std::string("\0\0\0", 3),
                std::string("\xff"), std::string(1000, '\0')}) {
            EXPECT_TRUE(proteus.block().RangeMayMatch(key, key + more, true));
          }
          EXPECT_TRUE(proteus.block().RangeMayMatch(key, key + '\0', false));
        }
        EXPECT_TRUE(proteus.block().RangeMayMatch("", "\xff", true));
        EXPECT_TRUE(proteus.block().RangeMayMatch("aa", "ac", true));
        EXPECT_FALSE(proteus.block().KeyMayMatch("d"));
        EXPECT_FALSE(proteus.block().RangeMayMatch("d", "e", true));
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
      MakeChain("a00, a00a00, ...", std::string("a\0", 2), 1500),
  };
  // There is a single long key among short ones.
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

TEST(ProteusTrapsTest, ChainsAreDesignedSoon) {
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
  }
}

TEST(ProteusTrapsTest, ChainsUnderForcedDesigns) {
  for (const Chain& chain : Chains()) {
    for (const ProteusDesign& design :
         {TrieAndSet(0, 24), TrieAndSet(0, 800), TrieAndSet(0, 24000),
          TrieAndSet(16, 200), TrieAndSet(400, 0), TrieAndSet(400, 800),
          TwoSets(100, 900), TrieAndSet(0, 8, kBloomAmq, 8),
          TrieAndSet(0, 64, kRibbonAmq, 32),
          TrieAndSet(16, 64, kBloomAmq, 8)}) {
      SCOPED_TRACE(chain.name + ", " + design.Describe());
      const Deadline deadline(0.5);
      const ForcedProteus proteus(chain.keys, design, 12);
      ExpectAllFound(proteus.block(), chain.keys);
    }
  }
}

// ---- Bounded work ----

TEST(ProteusTrapsTest, QueriesOfTooManyPrefixesMayMatch) {
  struct Case {
    const char* head;
    uint32_t bits;
    AmqKind amq;
    uint32_t shift = 0;  // bits of the number that the prefixes lack
  };
  for (const auto& [head, bits, amq, shift] : {Case{"", 64, kBloomAmq},
                                               {"", 64, kRibbonAmq},
                                               {"", 61, kBloomAmq, 3},
                                               {"", 61, kRibbonAmq, 3},
                                               {"prefix", 8 * 14, kBloomAmq}}) {
    // The keys are far apart, so that only the number of prefixes decides.
    const Keys keys = MakeKeys(
        100, [head = head](size_t i) { return head + BigEndian(i << 40); });
    const ForcedProteus proteus(keys, TrieAndSet(0, bits, amq), 300);
    SCOPED_TRACE(head + proteus.filter().design().Describe());
    size_t positives = 0;
    for (uint64_t i = 0; i < 99; i++) {
      // Without a shift, prefixes begin anywhere.
      const uint64_t lo = (i << 40) + (1 << 20) + (shift == 0 ? 77 : 0);
      const uint64_t most = kMaxPrefixProbes << shift;
      const auto may_match = [&, head = head](uint64_t width, bool inclusive) {
        return proteus.block().RangeMayMatch(
            head + BigEndian(lo), head + BigEndian(lo + width), inclusive);
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
      const ForcedProteus proteus(keys, design, 20);
      for (int i = 0; i < 200; i++) {
        const std::string lo = keys[rnd.Uniform(100)] + "a";
        const std::string hi = keys[keys.size() - 1 - rnd.Uniform(100)];
        EXPECT_TRUE(proteus.block().RangeMayMatch(lo, hi, true));
      }
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
    const ForcedProteus proteus({"a", key, "z"}, design, 5000);
    for (int i = 0; i < 5; i++) {
      EXPECT_TRUE(proteus.block().KeyMayMatch(key));
      EXPECT_TRUE(proteus.block().RangeMayMatch(key, key, true));
      EXPECT_TRUE(proteus.block().RangeMayMatch(key, key + '\0', false));
      EXPECT_TRUE(proteus.block().RangeMayMatch("q", key + 'a', true));
      proteus.block().RangeMayMatch(key + 'b', key + 'c', true);
      proteus.block().KeyMayMatch(key + 'b');
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
