// SPDX-License-Identifier: Apache-2.0

//  Filters of benchmarks: suffixes, designs of Proteus by hand, Rosetta and
//  ARF.

#include "db_bench_ext/filter_spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "db_bench_ext/design_policy.h"
#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/seed_samples.h"
#include "db_bench_ext/table_layout.h"
#include "test_util/testharness.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Random keys, and those of the numbers.
Keys SomeKeys(std::vector<uint64_t> numbers = {}) {
  Rng rng(301);
  for (int i = 0; i < 2000; i++) numbers.push_back(rng());
  std::sort(numbers.begin(), numbers.end());
  Keys keys;
  for (const uint64_t number : numbers) keys.push_back(BigEndianKey(number));
  return keys;
}

// Keys at the ends of the key space, close together, and anywhere.
Keys DifficultKeys() { return SomeKeys({0, 1, 2, 1000, 1001, ~uint64_t{0}}); }

// The design that the filter reports.
std::string DesignOf(const std::string& spec) {
  const Keys keys = SomeKeys();
  const auto policy = DesignPolicy::Create(spec);
  if (policy == nullptr) return "refused";
  const MemoryFilter filter(policy, keys);
  for (const std::string& key : keys) EXPECT_TRUE(filter.MayMatch({key, key}));
  return filter.proteus() == nullptr ? "no filter"
                                     : filter.proteus()->design().Describe();
}

// nullptr if the spec is refused.
std::shared_ptr<const FilterPolicy> PolicyOf(const std::string& spec) {
  std::shared_ptr<const FilterPolicy> policy;
  const Status s = MakeFilterPolicy(spec, &policy);
  EXPECT_EQ(s.ok(), policy != nullptr) << spec;
  return policy;
}

std::vector<Query> EmptyRanges(const Keys& keys, uint64_t length,
                               size_t count) {
  Rng rng(302);
  std::vector<Query> queries;
  while (queries.size() < count) {
    const std::string lo = BigEndianKey(rng());
    const Query query = {lo, KeyPlus(lo, length - 1)};
    if (!Holds(keys, query)) queries.push_back(query);
  }
  return queries;
}

}  // namespace

// ---- Suffixes ----

TEST(FilterSpecTest, SuffixesAreTakenInAnyOrder) {
  struct Case {
    const char* given;
    const char* rest;  // the spec of the filter
    bool first_key = false;
    bool partitioned = false;
    bool decoupled = false;
    size_t prefix = 0;
    size_t query_filter = 0;
  };
  const Case cases[] = {
      {"bloom:12", "bloom:12"},
      {"none+first_key", "none", true},
      {"{id=protean.Proteus;bits_per_key=12}+partitioned",
       "{id=protean.Proteus;bits_per_key=12}", false, true},
      {"a+partitioned+decoupled", "a", false, true, true},
      {"a+decoupled+partitioned", "a", false, true, true},
      {"bloom:14+prefix12+partitioned", "bloom:14", false, true, false, 12},
      {"bloom:14+query_filter8+prefix3+first_key", "bloom:14", true, false,
       false, 3, 8},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.given);
    std::string spec = c.given;
    TableLayout layout;
    EXPECT_OK(TakeTableLayout(&spec, &layout));
    EXPECT_EQ(c.rest, spec);
    EXPECT_EQ(
        std::tie(c.first_key, c.partitioned, c.decoupled, c.prefix,
                 c.query_filter),
        std::tie(layout.first_key_index, layout.partitioned, layout.decoupled,
                 layout.prefix_bytes, layout.query_filter_bytes));
  }
}

TEST(FilterSpecTest, OthersAreRefused) {
  for (const char* given :
       {"a+prefix", "a+prefixes", "a+prefix0", "a+prefix-1", "a+prefix1.5",
        "a+prefix9999", "a+query_filter", "a+query_filter0", "a+query_filter-1",
        "a+query_filter1025",
        // These contradict each other.
        "a+decoupled", "a+first_key+partitioned", "a+first_key+decoupled",
        "a+trie_index+first_key", "a+trie_index+partitioned"}) {
    std::string spec = given;
    TableLayout layout;
    EXPECT_TRUE(TakeTableLayout(&spec, &layout).IsInvalidArgument()) << given;
  }
}

// Only closed seeks have a range that segments can lie outside of, and all
// seeks may ask for prefixes where that is right.
TEST(FilterSpecTest, SeeksAskWhatIsLegal) {
  const Slice lo("b");
  const Slice upper_bound("c");
  for (const size_t bytes : {size_t{0}, size_t{8}}) {
    TableLayout layout;
    layout.query_filter_bytes = bytes;
    TableLayoutOptions options;
    ASSERT_OK(options.Init(layout, nullptr));
    for (const Slice* bound :
         {&upper_bound, static_cast<const Slice*>(nullptr)}) {
      const SeekOptions seek(options, lo, bound);
      EXPECT_EQ(bound, seek.get().iterate_upper_bound);
      EXPECT_EQ(bytes > 0 && bound != nullptr,
                seek.get().table_filter != nullptr);
      EXPECT_TRUE(seek.get().auto_prefix_mode);
    }
  }
}

// ---- Designs ----

TEST(DesignPolicyTest, BuildsTheDesign) {
  for (const auto& [spec, design] : std::map<std::string, std::string>{
           {"design:10:bloom20", "bloom 20"},
           {"design:10.5:ribbon20", "ribbon 20"},
           {"design:10:trie12", "trie 12"},
           {"design:10:trie12:bloom20", "trie 12, bloom 20"},
           {"design:10:trie12:lead3:bloom20", "trie 12, bloom 20"},
           {"design:10:first12:share40:bloom20", "bloom 12, bloom 20"},
           {"design:10:trie12:ribbon24:stride16", "trie 12, ribbon 24+16"}}) {
    EXPECT_EQ(design, DesignOf(spec)) << spec;
  }
}

TEST(DesignPolicyTest, RefusesOthers) {
  for (const char* spec :
       {"", "design", "design:10", "design:10:", "design:x:bloom20",
        "design:10:bloom", "design:10:bloomx", "design:10:bloom-1",
        "design:10:bloom99999999999", "design:10:first12",
        "design:10:trie12:bloom12", "design:10:trie8:first12:bloom20",
        "design:10:first12:bloom20:share100", "design:10:bloom20:stride3",
        "design:10:cuckoo20", "design:10:trie12:lead8",
        "design:10:trie63:lead2", "design:10:lead1:bloom20"}) {
    EXPECT_EQ("refused", DesignOf(spec)) << spec;
  }
}

TEST(DesignPolicyTest, Predicts) {
  const Keys keys = SomeKeys();
  const auto policy = DesignPolicy::Create("design:10:bloom20");
  std::vector<Query> samples;
  Rng rng(302);
  for (int i = 0; i < 1000; i++) {
    const std::string key = BigEndianKey(rng());
    samples.push_back({key, key});
  }
  SeedSamples(policy.get(), samples);
  const MemoryFilter filter(policy, keys);
  EXPECT_GT(filter.report().samples, 900u);
  EXPECT_NEAR(filter.report().predicted_fpr, 0.01, 0.01);
}

TEST(DesignPolicyTest, ListsAllDesigns) {
  const Keys keys = SomeKeys();
  Keys specs;
  const auto list = [&](const std::string& space) {
    specs.clear();
    ASSERT_OK(DesignsOf(space, keys, &specs));
    for (const std::string& spec : specs) {
      EXPECT_NE(nullptr, DesignPolicy::Create(spec)) << spec;
    }
  };
  list("1pbf:10");
  EXPECT_EQ(64u, specs.size());
  list("2pbf:10:ribbon");
  EXPECT_EQ(64u * 65 / 2, specs.size());
  list("proteus:10");
  EXPECT_EQ("design:10:bloom1", specs.front());
  // The deepest trie that fits.
  EXPECT_EQ(0u, specs.back().find("design:10:trie1"));
  for (const char* space : {"", "proteus", "3pbf:10", "proteus:x", "1pbf:10:x",
                            "1pbf:10:bloom:x"}) {
    EXPECT_TRUE(DesignsOf(space, keys, &specs).IsInvalidArgument()) << space;
  }
}

// ---- Rosetta, ARF ----

TEST(NumberFilterTest, MissesNoKey) {
  const Keys keys = DifficultKeys();
  for (const char* spec : {"rosetta:12", "arf:1", "arf:20"}) {
    SCOPED_TRACE(spec);
    const auto policy = PolicyOf(spec);
    SeedSamples(policy.get(), EmptyRanges(keys, 256, 1000));
    const MemoryFilter filter(policy, keys);
    ASSERT_NE(nullptr, filter.block());
    for (const std::string& key : keys) {
      EXPECT_TRUE(filter.MayMatch({key, key}));
      for (const uint64_t more : {1, 2, 77, 1 << 20}) {
        EXPECT_TRUE(filter.MayMatch({KeyMinus(key, more), key}));
        EXPECT_TRUE(filter.MayMatch({key, KeyPlus(key, more)}));
        EXPECT_TRUE(filter.MayMatch({KeyMinus(key, more), KeyPlus(key, more)}));
      }
      // Bounds that are no keys.
      EXPECT_TRUE(filter.MayMatch({key.substr(0, 3), key + "x", false}));
    }
  }
}

TEST(RosettaTest, PredictsItsRate) {
  const Keys keys = DifficultKeys();
  for (const uint64_t length : {1, 16, 256}) {
    const auto policy = PolicyOf("rosetta:16");
    std::vector<Query> queries = EmptyRanges(keys, length, 20000);
    SeedSamples(policy.get(), {queries.begin() + 10000, queries.end()});
    queries.resize(10000);
    const MemoryFilter filter(policy, keys);
    EXPECT_LE(8.0 * static_cast<double>(filter.contents().size()),
              16.7 * static_cast<double>(keys.size()));
    int matches = 0;
    for (const Query& query : queries) matches += filter.MayMatch(query);
    EXPECT_NEAR(filter.report().predicted_fpr, matches / 10000.0, 0.01)
        << length << ": " << filter.report().design;
    if (length == 1) {
      EXPECT_EQ("levels 0 to 0", filter.report().design);
    }
  }
}

TEST(ArfTest, AnswersMoreSamplesWithMoreBits) {
  const Keys keys = DifficultKeys();
  const std::vector<Query> samples = EmptyRanges(keys, 1 << 20, 1000);
  int64_t last_matches = 1001;
  for (const int bits : {1, 4, 8}) {
    const auto policy = PolicyOf("arf:" + std::to_string(bits));
    SeedSamples(policy.get(), samples);
    const MemoryFilter filter(policy, keys);
    EXPECT_LE(filter.contents().size(), bits * keys.size() / 8 + 128);
    const int64_t matches = std::count_if(
        samples.begin(), samples.end(),
        [&](const Query& query) { return filter.MayMatch(query); });
    EXPECT_LT(matches, last_matches) << bits;
    last_matches = matches;
  }
  EXPECT_EQ(0, last_matches);
}

TEST(ArfTest, NeedsNoSamples) {
  const Keys keys = {BigEndianKey(0), BigEndianKey(~uint64_t{0})};
  const MemoryFilter filter(PolicyOf("arf:20"), keys);
  EXPECT_TRUE(filter.MayMatch({keys[0], keys[1]}));
  EXPECT_FALSE(filter.MayMatch(
      {BigEndianKey(uint64_t{1} << 60), BigEndianKey(uint64_t{14} << 60)}));
}

TEST(NumberFilterTest, RefusesOthers) {
  for (const char* spec : {"rosetta", "rosetta:", "rosetta:0", "rosetta:x",
                           "rosetta:12:bloom", "rosetta:101", "arf:0"}) {
    EXPECT_EQ(nullptr, PolicyOf(spec)) << spec;
  }
  // Keys of another length get no filter.
  const MemoryFilter filter(PolicyOf("rosetta:12"), {"a", "bcd"});
  EXPECT_TRUE(filter.MayMatch({"b", "b"}));
}

}  // namespace ROCKSDB_NAMESPACE::protean
