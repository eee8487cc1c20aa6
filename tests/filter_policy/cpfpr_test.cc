// SPDX-License-Identifier: Apache-2.0

//  The model against an enumeration of what it predicts, and of all designs.

#include "filter_policy/proteus/model/cpfpr.h"

#include <set>

#include "filter_policy/proteus/model/prefix_counts.h"
#include "filter_policy/proteus/model/query_sample.h"
#include "filter_policy/proteus/prior/prior.h"
#include "filter_policy/proteus/search/design_judge.h"
#include "filter_policy/proteus/search/design_search.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct Modeled {
  explicit Modeled(const Keys& keys,
                   const std::vector<SampleQuery>& samples = {},
                   bool with_prior = false)
      : store(Stored(keys)),
        statistics(store),
        model(store, statistics, samples,
              with_prior ? MakePrior(store, statistics, 0, false)
                         : std::vector<LocatedQuery>()) {}

  uint64_t TrieBytes(const ProteusDesign& design, uint64_t bytes) const {
    return design.trie_bits() == 0
               ? 0
               : statistics.SizeOfTrie(design.trie_bits(), bytes).bytes;
  }
  double RateOf(const ProteusDesign& design, uint64_t bytes) const {
    return model.Evaluate(design, bytes, TrieBytes(design, bytes));
  }
  ProteusDesign Choose(DesignSpace space, uint64_t bytes,
                       const std::vector<AmqKind>& kinds) const {
    return DesignSearch(model, kinds).Choose(space, bytes);
  }

  const KeyStore store;
  const KeyStatistics statistics;
  const CpfprModel model;
};

// ---- The model ----

// Keys and queries as numbers of a few bits.
struct SmallSpace {
  uint32_t bytes;
  std::set<uint32_t> keys;
  // The keys that the alphabets of the keys allow; none stands for all.
  std::set<uint32_t> possible = {};

  std::string Key(uint32_t number) const {
    return BigEndian(number).substr(8 - bytes);
  }
  uint32_t Prefix(uint32_t number, uint32_t bits) const {
    return bits == 0 ? 0 : number >> (8 * bytes - bits);
  }
  bool HasPrefix(uint32_t prefix, uint32_t bits) const {
    return std::any_of(keys.begin(), keys.end(), [&](uint32_t key) {
      return Prefix(key, bits) == prefix;
    });
  }
  bool IsPossible(uint32_t prefix, uint32_t bits) const {
    if (possible.empty()) return true;
    const auto it =
        possible.lower_bound(bits == 0 ? 0 : prefix << (8 * bytes - bits));
    return it != possible.end() && Prefix(*it, bits) == prefix;
  }
  // Returns true if a range lies between two keys.
  bool Counts(uint32_t lo, uint32_t hi) const {
    const auto it = keys.lower_bound(lo);
    return it != keys.begin() && it != keys.end() && *it > hi;
  }

  // The probability that a design takes an empty query for one that is not,
  // computed prefix by prefix. Negative if the prefixes are too many.
  double Probability(uint32_t lo, uint32_t hi, const ProteusDesign& design,
                     double first_rate, double rate) const {
    const uint32_t first = design.outer_bits();
    const uint32_t second = design.prefix_bits();
    uint64_t tested = 0;
    double none = 1;
    for (uint32_t region = Prefix(lo, first); region <= Prefix(hi, first);
         region++) {
      if (!IsPossible(region, first)) continue;
      const bool held = first == 0 || HasPrefix(region, first);
      if (!held && design.trie_bits() > 0) continue;
      if (held && second == 0) return 1;
      if (design.first_prefix_bits() > 0) tested++;
      double region_none = 1;
      const uint32_t width = second - first;
      const uint32_t begin = std::max(Prefix(lo, second), region << width);
      const uint32_t end =
          std::min(Prefix(hi, second), ((region + 1) << width) - 1);
      for (uint32_t prefix = begin; prefix <= end; prefix++) {
        if (!IsPossible(prefix, second)) continue;
        tested++;
        if (HasPrefix(prefix, second)) return 1;
        region_none *= 1 - rate;
      }
      none *= held ? region_none : 1 - first_rate + first_rate * region_none;
    }
    return tested > kMaxPrefixProbes ? -1 : 1 - none;
  }
};

// Ranges of numbers, both ends included.
using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;

// Compares what the model says of these ranges, as samples, for all designs.
void CompareWithEnumeration(const SmallSpace& space, const Ranges& ranges,
                            bool hi_inclusive = true) {
  std::vector<SampleQuery> samples;
  for (const auto& [lo, hi] : ranges) {
    samples.push_back(
        {space.Key(lo), space.Key(hi_inclusive ? hi : hi + 1), hi_inclusive});
  }
  Keys keys;
  for (uint32_t key : space.keys) keys.push_back(space.Key(key));
  const Modeled modeled(keys, samples);
  ASSERT_EQ(ranges.size(), modeled.model.queries().size());
  // These rates matter for filters of any size.
  const uint64_t bytes = 128;
  const uint32_t max_bits = 8 * space.bytes;
  std::vector<ProteusDesign> designs;
  for (uint32_t second = 1; second <= max_bits; second++) {
    designs.push_back(TrieAndSet(second, 0));
    for (uint32_t first = 0; first < second; first++) {
      for (AmqKind kind : {kBloomAmq, kRibbonAmq}) {
        designs.push_back(TrieAndSet(first, second, kind));
        if (first == 0) continue;
        // If bits of a character follow, how many prefixes are possible below
        // one of the first is right on average only.
        if (!space.possible.empty() && first % 8 != 0) continue;
        designs.push_back(TwoSets(first, second, kind));
      }
    }
  }
  for (const ProteusDesign& design : designs) {
    const LayerPlans plans = PlanLayers(design, modeled.statistics, bytes, 0);
    const double first_rate = plans.of[0].false_positive_rate;
    const double rate =
        plans.of[design.outer_bits() > 0 ? 1 : 0].false_positive_rate;
    double sum = 0;
    bool countable = true;
    for (const auto& [lo, hi] : ranges) {
      const double probability =
          space.Probability(lo, hi, design, first_rate, rate);
      countable = countable && probability >= 0;
      sum += probability;
    }
    if (!countable) continue;
    EXPECT_NEAR(sum / static_cast<double>(ranges.size()),
                modeled.model.Evaluate(design, bytes, 0), 1e-9)
        << design.Describe();
  }
}

TEST(CpfprTest, AllQueriesOnKeysOfOneByte) {
  Random rnd(31);
  for (int odds : {4, 10, 30, 100}) {
    SmallSpace space{1, {3, 250}};
    for (uint32_t key = 0; key < 256; key++) {
      if (rnd.OneIn(odds)) space.keys.insert(key);
    }
    for (bool inclusive : {true, false}) {
      SCOPED_TRACE(std::to_string(odds) + (inclusive ? "" : ", exclusive"));
      Ranges ranges;
      for (uint32_t lo = 0; lo < 256; lo += 1 + rnd.Uniform(4)) {
        for (uint32_t hi = lo; hi < 255; hi += 1 + rnd.Uniform(4)) {
          if (space.Counts(lo, hi)) ranges.push_back({lo, hi});
        }
      }
      CompareWithEnumeration(space, ranges, inclusive);
    }
  }
}

TEST(CpfprTest, QueriesOnKeysOfTwoBytes) {
  Random rnd(32);
  for (int num_keys : {2, 20, 150}) {
    SmallSpace space{2, {}};
    while (space.keys.size() < static_cast<size_t>(num_keys)) {
      space.keys.insert(rnd.Uniform(1 << 16));
    }
    for (uint32_t width : {0u, 30u, 300u}) {
      Ranges ranges;
      while (ranges.size() < 40) {
        const uint32_t lo = rnd.Uniform(1 << 16);
        const uint32_t hi = lo + (width == 0 ? 0 : rnd.Uniform(width));
        if (space.Counts(lo, hi)) ranges.push_back({lo, hi});
      }
      SCOPED_TRACE(testing::Message() << num_keys << " keys, " << width);
      CompareWithEnumeration(space, ranges);
    }
  }
}

// The bounds have characters that no key has at their place: the region of such
// a bound is not asked for, and those between the bounds are.
TEST(CpfprTest, QueriesOnPrintedKeys) {
  Random rnd(33);
  for (int num_keys : {3, 6, 12}) {
    SmallSpace space{2, {}};
    // The alphabets are hexadecimal digits, which leave a gap, and letters.
    const std::string digits = "0123456789abcdef";
    for (char a : digits) {
      for (char b = 'a'; b <= 'z'; b++) space.possible.insert(a << 8 | b);
    }
    space.keys = {'0' << 8 | 'z', 'f' << 8 | 'a'};
    while (space.keys.size() < static_cast<size_t>(num_keys)) {
      space.keys.insert(digits[rnd.Uniform(16)] << 8 | ('a' + rnd.Uniform(26)));
    }
    Ranges ranges;
    while (ranges.size() < 200) {
      const uint32_t lo = rnd.Uniform(1 << 16);
      const uint32_t hi = lo + rnd.Uniform(rnd.OneIn(2) ? 5 << 8 : 60 << 8);
      if (!space.Counts(lo, hi)) continue;
      // The model takes the bits that the bounds share to be possible.
      uint32_t shared = 16;
      while (space.Prefix(lo, shared) != space.Prefix(hi, shared)) shared--;
      if (!space.IsPossible(space.Prefix(lo, shared), shared)) continue;
      ranges.push_back({lo, hi});
    }
    SCOPED_TRACE(num_keys);
    CompareWithEnumeration(space, ranges);
  }
}

TEST(CpfprTest, SamplesThatCount) {
  using Queries = std::vector<SampleQuery>;
  for (const auto& [samples, counted] :
       {std::pair<Queries, size_t>
        // These hold a key.
        {{{"b", "b", true}}, 0},
        {{{"a", "b", true}}, 0},
        {{{"c", "d", true}}, 0},
        {{{"d", "d\x01", false}}, 0},
        {{{"a", "z", true}, {"f", "z", true}}, 0},
        // These, or one of them, hold no key.
        {{{"c", "c", true}}, 1},
        {{{"c", "d", false}}, 1},
        {{{"d\x01", "f", false}}, 1},
        {{{"a", "z", true}, {"c", "cc", true}}, 1},
        // These are empty ranges.
        {{{"c", "b", true}}, 0},
        {{{"c", "c", false}}, 0},
        {{{"z", "a", true}}, 0},
        // The file is not asked these.
        {{{"a", "a", true}}, 0},
        {{{"a", "b", false}}, 0},
        {{{"g", "h", true}, {"f\x01", "g", true}}, 0},
        {{{"g", "h", true}, {"c", "c", true}}, 1}}) {
    SCOPED_TRACE(samples[0].lo + " to " + samples[0].hi);
    const Modeled modeled({"b", "d", "f"}, samples);
    EXPECT_EQ(counted, modeled.model.queries().size());
  }
  EXPECT_TRUE(Modeled({}, {{"a", "b", true}}).model.queries().empty());
}

TEST(CpfprTest, OrderOfSamples) {
  Random rnd(33);
  const Keys keys = KeyFamilies(300, 33)[3].keys;
  std::vector<SampleQuery> samples;
  size_t expected = 0;
  for (const std::string& key : keys) {
    for (const std::string& lo : Around(key)) {
      samples.push_back({lo, lo + "\x01", !rnd.OneIn(2)});
      if (lo <= keys.front() || lo > keys.back()) continue;
      expected +=
          KeysIn(keys, lo, samples.back().hi, samples.back().hi_inclusive) == 0;
    }
  }
  const ProteusDesign design = TrieAndSet(0, 480);
  const Modeled modeled(keys, samples);
  EXPECT_EQ(expected, modeled.model.queries().size());
  std::reverse(samples.begin(), samples.end());
  const Modeled again(keys, samples);
  EXPECT_EQ(expected, again.model.queries().size());
  EXPECT_NEAR(modeled.RateOf(design, 600), again.RateOf(design, 600), 1e-9);
}

// ---- The choice ----

struct Case {
  std::string name;
  Keys keys;
  std::vector<SampleQuery> samples;
};

std::vector<Case> CasesOfNumbers() {
  std::vector<Case> cases;
  Random rnd(41);
  for (const char* name : {"points", "short", "long", "correlated", "split"}) {
    Case c = {name,
              MakeKeys(3000, [&](size_t) { return BigEndian(rnd.Next64()); }),
              {}};
    while (c.samples.size() < 300) {
      const std::string kind =
          c.name != "split" ? c.name
                            : (c.samples.size() % 2 == 0 ? "long" : "near");
      uint64_t lo = rnd.Next64() >> 1;
      uint64_t width = 0;
      if (kind == "short") width = 2 + rnd.Uniform(1000);
      if (kind == "long") width = rnd.Next64() >> 18;
      if (kind == "correlated" || kind == "near") {
        lo = EndianSwapValue(DecodeFixed64(AnyOf(c.keys, &rnd).data())) + 1;
        lo += rnd.Uniform(1024);
        width = rnd.Uniform(32);
      }
      c.samples.push_back({BigEndian(lo), BigEndian(lo + width), true});
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<Case> AllCases() {
  std::vector<Case> cases = CasesOfNumbers();
  cases.push_back({"text", KeyFamilies(2000, 42)[2].keys, {}});
  const Keys asked = KeyFamilies(300, 43)[2].keys;
  for (const std::string& key : asked) {
    std::string hi = key;
    hi.back()++;
    cases.back().samples.push_back({key, hi, true});
  }
  return cases;
}

const std::vector<AmqKind> kKinds = {kBloomAmq, kRibbonAmq};
constexpr DesignSpace kSpaces[] = {DesignSpace::kOnePrefixFilter,
                                   DesignSpace::kTwoPrefixFilters,
                                   DesignSpace::kProteus};

TEST(CpfprTest, ChoosesAmongTheBest) {
  for (const Case& c : AllCases()) {
    const Modeled modeled(c.keys, c.samples);
    const CpfprModel& model = modeled.model;
    ASSERT_GT(model.queries().size(), 50u);
    for (int bits_per_key : {6, 10, 16}) {
      const uint64_t bytes = c.keys.size() * bits_per_key / 8;
      const uint32_t max_bits =
          std::min<uint32_t>(modeled.statistics.max_bits(), 200);
      // The least rates in each space that no smaller space has.
      double least[] = {1, 1, 1};
      const auto evaluate = [&](int space, const ProteusDesign& design) {
        const uint64_t trie = modeled.TrieBytes(design, bytes);
        if (trie > bytes) return;
        least[space] =
            std::min(least[space], model.Evaluate(design, bytes, trie));
      };
      for (AmqKind kind : kKinds) {
        for (uint32_t second = 1; second <= max_bits; second++) {
          evaluate(0, TrieAndSet(0, second, kind));
          for (uint32_t first = 1; first < second; first++) {
            if (max_bits > 64 && (first + second) % 5 != 0) continue;
            evaluate(2, TrieAndSet(first, second, kind));
            if (second % 2 == 0) continue;
            for (double share : {0.4, 0.6}) {
              evaluate(1, TwoSets(first, second, kind, share));
            }
          }
        }
      }
      double best = 1;
      for (size_t i = 0; i < std::size(kSpaces); i++) {
        const DesignSpace space = kSpaces[i];
        best = std::min(best, least[i]);
        const ProteusDesign design = modeled.Choose(space, bytes, kKinds);
        EXPECT_LE(modeled.TrieBytes(design, bytes), bytes);
        EXPECT_LE(modeled.RateOf(design, bytes),
                  best + std::max(0.01, 0.05 * best))
            << c.name << ", " << bits_per_key << " bits, " << design.Describe();
        EXPECT_TRUE(space == DesignSpace::kProteus || design.trie_bits() == 0);
        EXPECT_TRUE(space != DesignSpace::kOnePrefixFilter ||
                    design.first_prefix_bits() == 0);
      }
    }
  }
}

// Up to rounding, of which the root makes more.
void ExpectSameRates(const DesignRates& one_by_one, const DesignRates& rates,
                     double rounding, double of_root) {
  ASSERT_NEAR(one_by_one.all, rates.all, rounding);
  ASSERT_NEAR(one_by_one.promised, rates.promised, rounding);
  ASSERT_NEAR(one_by_one.spread, rates.spread, of_root);
}

// Groups of queries give the rates that the queries one by one give, with a
// prior, with whole keys, and in series; and a sample those of two sets. If a
// limit ends that sum, the rate is above the limit, and no higher than without.
TEST(CpfprTest, RatesOfGroupsAndOfTwoSets) {
  constexpr double kRounding = 1e-9;
  for (const Case& c : AllCases()) {
    const Modeled modeled(c.keys, c.samples, /*with_prior=*/true);
    const KeyStatistics& statistics = modeled.statistics;
    const CpfprModel& model = modeled.model;
    const uint64_t bytes = c.keys.size() * 12 / 8;
    const uint32_t last = std::min<uint32_t>(statistics.max_bits(), 200);
    for (uint32_t bits = 8; bits <= last; bits += 8) {
      for (uint32_t stride : {0, 8, 24}) {
        for (size_t step : {1, 3}) {
          const uint32_t trie = stride == 0 ? bits / 2 : 0;
          const std::vector<QueryGroup> groups =
              MakeQueryGroups(model, MakeQuerySample(model, step),
                              TrieAndSet(trie, bits, kBloomAmq, stride));
          EXPECT_LE(groups.size(), model.queries().size());
          for (int way = 0; way < 3; way++) {
            ProteusDesign design = TrieAndSet(
                trie, bits, way == 1 ? kRibbonAmq : kBloomAmq, stride);
            if (way > 0) design = WithKeys(design, 0.2 * way, way > 1);
            const LayerPlans plans = PlanLayers(design, statistics, bytes, 0);
            ASSERT_NO_FATAL_FAILURE(ExpectSameRates(
                model.Average(design, plans, step),
                RatesOfGroups(model, groups, step, design, plans), 1e-12, 1e-7))
                << c.name << ", " << design.Describe();
          }
        }
      }
    }
    const uint32_t last_of_two = std::min<uint32_t>(last, 120);
    for (size_t step : {1, 3}) {
      const QuerySample sample = MakeQuerySample(model, step);
      EXPECT_LE(sample.queries.size(), model.queries().size());
      for (uint32_t first = 3; first < last_of_two; first += 11) {
        for (uint32_t bits = first + 1; bits <= last_of_two; bits += 7) {
          const ProteusDesign design = TwoSets(first, bits, kBloomAmq, 0.4);
          const LayerPlans plans = PlanLayers(design, statistics, bytes, 0);
          const DesignRates one_by_one = model.Average(design, plans, step);
          ASSERT_NO_FATAL_FAILURE(ExpectSameRates(
              one_by_one,
              RatesOfTwoSets(model, sample, design, plans, /*most=*/1),
              kRounding, 1e-6))
              << c.name << ", " << design.Describe();
          for (double part : {0.1, 0.9, 1.1}) {
            const double most = part * one_by_one.all;
            const double limited =
                RatesOfTwoSets(model, sample, design, plans, most).all;
            ASSERT_LE(limited, one_by_one.all + kRounding);
            ASSERT_TRUE(limited > most || limited >= one_by_one.all - kRounding)
                << c.name << ", " << design.Describe();
          }
        }
      }
    }
  }
}

// Where they are cheap, designs may have MaxRateForTime more of them.
TEST(CpfprTest, PriceOfAFalsePositive) {
  int cheaper = 0;
  for (const Case& c : CasesOfNumbers()) {
    const Modeled modeled(c.keys, c.samples);
    const uint64_t bytes = c.keys.size() * 14 / 8;
    const auto choose = [&](uint64_t price) {
      return DesignSearch(modeled.model, kKinds, {price})
          .Choose(DesignSpace::kProteus, bytes);
    };
    const ProteusDesign usual = choose(kUsualPrice);
    EXPECT_EQ(usual.Describe(),
              modeled.Choose(DesignSpace::kProteus, bytes, kKinds).Describe());
    const ProteusDesign cheap = choose(kCachedPrice);
    const ProteusDesign dear = choose(10 * kUsualPrice);
    const double rate_of_dear = modeled.RateOf(dear, bytes);
    const double rate_of_usual = modeled.RateOf(usual, bytes);
    const double rate_of_cheap = modeled.RateOf(cheap, bytes);
    EXPECT_LE(rate_of_cheap, rate_of_dear + MaxRateForTime(kCachedPrice))
        << c.name << ": " << cheap.Describe() << ", not " << dear.Describe();
    EXPECT_LE(rate_of_dear, rate_of_usual + 1e-9) << c.name;
    EXPECT_LE(rate_of_usual, rate_of_cheap + 1e-9) << c.name;
    if (usual.amq == kRibbonAmq && cheap.amq != kRibbonAmq) cheaper++;
  }
  EXPECT_GT(cheaper, 0);
}

TEST(CpfprTest, CountTests) {
  constexpr uint64_t kNeighbors = 64;
  for (const Case& c : CasesOfNumbers()) {
    SCOPED_TRACE(c.name);
    const Modeled modeled(c.keys, c.samples);
    const auto& queries = modeled.model.queries();
    ASSERT_GT(queries.size(), 50u);
    LayerPlans plans;
    plans.of[0].false_positive_rate = 0.25;
    const auto tests_of = [&](const ProteusDesign& design) {
      return modeled.model.CountTests(design, plans, /*step=*/1);
    };
    // The sums over queries that share at least `first` bits with a key.
    for (const uint32_t first : {0, 15, 25}) {
      double prefixes = 0;
      double runs = 0;
      for (const LocatedQuery& query : queries) {
        if (query.shared() < first) continue;
        const uint64_t count = std::min(
            CountTested(query, modeled.statistics.alphabets(), first, 50),
            kMaxPrefixProbes);
        prefixes += static_cast<double>(count);
        runs += static_cast<double>((count + kNeighbors - 1) / kNeighbors);
      }
      const ProteusDesign design = TrieAndSet(first, 50);
      const auto all = static_cast<double>(queries.size());
      EXPECT_NEAR(prefixes / all, tests_of(design).prefixes, 1e-6);
      EXPECT_NEAR(runs / all, tests_of(design).runs, 1e-6);
    }
    const ProteusDesign two = TwoSets(1, 2);
    // All queries share a bit with a key, but hardly any has several prefixes.
    EXPECT_GE(tests_of(two).runs, 2);
    EXPECT_LE(tests_of(two).runs, 3);
    const ProteusDesign keys = WithKeys(TrieAndSet(0, 50), 0.5);
    const bool all_points =
        std::all_of(queries.begin(), queries.end(),
                    [](const auto& query) { return query.is_point(); });
    if (all_points) {
      EXPECT_NEAR(1.25, tests_of(keys).runs, 1e-6);
      EXPECT_NEAR(1.25, tests_of(keys).prefixes, 1e-6);
      EXPECT_NEAR(
          1, tests_of(WithKeys(TrieAndSet(0, 50), 0.5, /*alone=*/true)).runs,
          1e-6);
    }
  }
}

// Only some kinds are allowed, or no design fits and most queries pass.
TEST(CpfprTest, LittleChoice) {
  const Case c = CasesOfNumbers()[0];
  const Modeled modeled(c.keys, c.samples);
  for (const DesignSpace space : kSpaces) {
    for (AmqKind kind : kKinds) {
      // A trie alone has no set.
      const ProteusDesign design = modeled.Choose(space, 5000, {kind});
      EXPECT_TRUE(design.amq == kind ||
                  (design.num_sets() == 0 && space == DesignSpace::kProteus))
          << design.Describe();
    }
    for (uint64_t bytes : {0, 1, 60}) {
      const ProteusDesign design = modeled.Choose(space, bytes, {kBloomAmq});
      EXPECT_GE(modeled.model.Evaluate(design, bytes, 0), 0.5);
      EXPECT_EQ(0u, design.trie_bits());
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
