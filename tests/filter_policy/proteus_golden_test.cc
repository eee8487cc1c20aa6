// SPDX-License-Identifier: Apache-2.0

//  The filter blocks in golden_proteus/*.block were written once, each with the
//  answers that it gave, and freeze the file format of Proteus. The rules of
//  golden_test.cc hold for them too: a block that a release has written is
//  never replaced or removed; if the builder is meant to write other bytes for
//  the same keys, the new block is added as `name.2.block`.
//
//  With the environment variable PROTEAN_WRITE_GOLDEN=1, the test writes what
//  does not exist yet.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "filter_policy/proteus/proteus.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/lcg.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// `count` keys as `draw` draws them with the number of the key.
Keys Drawn(uint64_t seed, size_t count,
           const std::function<std::string(Lcg*, size_t)>& draw) {
  Lcg random(seed);
  Keys keys;
  for (size_t i = 0; i < count; i++) keys.push_back(draw(&random, i));
  SortUnique(&keys);
  return keys;
}

Keys Integers() {
  return Drawn(1, 300, [](Lcg* random, size_t) { return random->Bytes(8); });
}

Keys Emails() {
  return Drawn(2, 300, [](Lcg* random, size_t) {
    const char* const domains[] = {"com.example@", "com.example.mail@",
                                   "org.example@", "org.example.lists@"};
    const std::string domain = domains[random->Next(4)];
    return domain + random->Word("aeilnorst.-", 2, 12);
  });
}

Keys Chains() {
  Lcg random(4);
  Keys keys = {""};
  for (int chain = 0; chain < 20; chain++) {
    std::string key = random.Word(std::string("\0a\xff", 3), 1, 3);
    for (int link = 0; link < 10; link++) {
      keys.push_back(key);
      key += random.Word(std::string("\0b\xff", 3), 1, 2);
    }
  }
  SortUnique(&keys);
  return keys;
}

// Keys whose heads are hashed in pieces, and once a lookup.
Keys Long() {
  return Drawn(
      5, 20, [](Lcg* random, size_t i) { return random->Bytes(300 + 40 * i); });
}

// Keys whose series have enough prefixes for a Ribbon filter in shards.
Keys Wide() {
  return Drawn(6, 275, [](Lcg* random, size_t) { return random->Bytes(480); });
}

// Printed times, whose places have alphabets.
Keys Times() {
  return Drawn(7, 300, [](Lcg* random, size_t) {
    std::string key = "2026-";
    for (const auto& [least, below, end] : {std::tuple(1, 12, "-"),
                                            {1, 28, "T"},
                                            {0, 24, ":"},
                                            {0, 60, ":"},
                                            {0, 60, ""}}) {
      const std::string number = std::to_string(least + random->Next(below));
      key += (number.size() < 2 ? "0" : "") + number + end;
    }
    return key;
  });
}

ProteusDesign SetOfKeys() { return WithKeys({}, 0); }

ProteusDesign KeysAlone(const ProteusDesign& design) {
  return WithKeys(design, 0.3, /*alone=*/true);
}

struct Recipe {
  const char* name;
  Keys keys;
  ProteusDesign design;
  double bits_per_key;
  FilterSalt salt;
  size_t part_keys;  // about the number of keys of a part; 0 for one part
  bool in_units;

  std::string Build() const {
    return part_keys > 0 ? BuildPartedProteus(keys, part_keys, design,
                                              bits_per_key, salt, in_units)
                         : BuildProteusBlock(keys, design, bits_per_key, salt);
  }
};

Recipe Make(const char* name, const Keys& keys, const ProteusDesign& design,
            double bits_per_key, const FilterSalt& salt = {},
            size_t part_keys = 0, bool in_units = false) {
  return {name, keys, design, bits_per_key, salt, part_keys, in_units};
}

void PrintTo(const Recipe& recipe, std::ostream* out) { *out << recipe.name; }

std::vector<Recipe> Recipes() {
  return {
      Make("no_keys", {}, TrieAndSet(0, 8), 12),
      Make("empty_key", {""}, TrieAndSet(8, 16), 2000),
      Make("no_layer", {"a", "b"}, ProteusDesign(), 12),
      Make("bloom_64", Integers(), TrieAndSet(0, 64), 12),
      Make("bloom_41", Integers(), TrieAndSet(0, 41), 8),
      Make("bloom_few_bits", Integers(), TrieAndSet(0, 64), 5),
      Make("bloom_many_bits", Integers(), TrieAndSet(0, 64), 60),
      Make("ribbon_64", Integers(), TrieAndSet(0, 64, kRibbonAmq), 12),
      Make("ribbon_30", Integers(), TrieAndSet(0, 30, kRibbonAmq), 7),
      Make("trie_11", Integers(), TrieAndSet(11, 0), 12),
      Make("trie_64", Integers(), TrieAndSet(64, 0), 70),
      Make("trie_10_bloom_40", Integers(), TrieAndSet(10, 40), 16),
      Make("trie_9_ribbon_58", Integers(), TrieAndSet(9, 58, kRibbonAmq), 16),
      Make("blooms_12_60", Integers(), TwoSets(12, 60, kBloomAmq, 0.4), 16),
      Make("ribbons_20_64", Integers(), TwoSets(20, 64, kRibbonAmq, 0.6), 16),
      Make("emails_bloom_200", Emails(), TrieAndSet(0, 200), 12),
      Make("emails_series_96_8", Emails(), TrieAndSet(0, 96, kBloomAmq, 8), 20),
      Make("emails_series_64_24", Emails(), TrieAndSet(0, 64, kRibbonAmq, 24),
           20),
      Make("emails_trie_series", Emails(), TrieAndSet(90, 128, kBloomAmq, 16),
           30),
      Make("emails_trie_130", Emails(), TrieAndSet(130, 0), 50),
      Make("emails_sets_99_161", Emails(), TwoSets(99, 161), 20),
      Make("chains_trie_20", Chains(), TrieAndSet(20, 0), 30),
      Make("chains_trie_40_ribbon_90", Chains(), TrieAndSet(40, 90, kRibbonAmq),
           60),
      Make("chains_series_8_8", Chains(), TrieAndSet(0, 8, kBloomAmq, 8), 60),
      Make("salted_bloom_64", Integers(), TrieAndSet(0, 64), 12, {1, 2}),
      Make("salted_ribbon_30", Integers(), TrieAndSet(0, 30, kRibbonAmq), 7,
           {3, 4}),
      Make("salted_trie_10_bloom_40", Integers(), TrieAndSet(10, 40), 16,
           {5, 6}),
      Make("salted_emails_bloom_200", Emails(), TrieAndSet(0, 200), 12, {7, 8}),
      Make("salted_emails_series", Emails(), TrieAndSet(0, 96, kBloomAmq, 8),
           20, {~0ull, ~0ull}),
      Make("salted_emails_sets", Emails(), TwoSets(99, 161), 20, {9, 10}),
      Make("salted_emails_keys", Emails(), SetOfKeys(), 12, {11, 12}),
      Make("salted_integers_keys", Integers(), SetOfKeys(), 12, {11, 12}),
      Make("salted_trie_11", Integers(), TrieAndSet(11, 0), 12, {13, 14}),
      Make("long_bloom", Long(), TrieAndSet(0, 2397), 60),
      Make("salted_long_bloom", Long(), TrieAndSet(0, 2397), 60, {15, 16}),
      Make("salted_long_half", Long(), TrieAndSet(0, 2397), 60, {0, 17}),
      Make("salted_long_keys", Long(), SetOfKeys(), 60, {18, 0}),
      Make("wide_series_8_8", Wide(), TrieAndSet(0, 8, kRibbonAmq, 8), 600,
           {33, 34}),
      Make("salted_keys_alone", Integers(), KeysAlone(TrieAndSet(10, 40)), 30,
           {35, 36}),
      Make("salted_keys_alone_trie", Emails(), KeysAlone(TrieAndSet(90, 0)), 40,
           {37, 38}),
      Make("part_keys_alone", Emails(),
           KeysAlone(TrieAndSet(0, 96, kRibbonAmq, 8)), 80, {39, 40}, 100),
      Make("units_bloom_64", Integers(), TrieAndSet(0, 64), 120, {45, 46}, 100,
           true),
      Make("units_ribbons_20_64", Integers(), TwoSets(20, 64, kRibbonAmq, 0.6),
           120, {47, 48}, 100, true),
      Make("units_emails_trie_series", Emails(),
           TrieAndSet(90, 128, kBloomAmq, 16), 160, {49, 50}, 100, true),
      Make("salted_times_bloom_141", Times(), TrieAndSet(0, 141), 40, {49, 50}),
      Make("part_times_ribbons_80_152", Times(),
           TwoSets(80, 152, kRibbonAmq, 0.6), 120, {51, 52}, 100),
      Make("part_bloom_64", Integers(), TrieAndSet(0, 64), 12, {19, 20}, 100),
      Make("part_ribbons_20_64", Integers(), TwoSets(20, 64, kRibbonAmq, 0.6),
           16, {21, 22}, 120),
      Make("part_trie_10_bloom_40", Integers(), TrieAndSet(10, 40), 60,
           {23, 24}, 100),
      Make("part_emails_keys", Emails(), SetOfKeys(), 12, {25, 26}, 100),
      Make("part_emails_series", Emails(), TrieAndSet(0, 96, kBloomAmq, 8), 20,
           {27, 28}, 100)};
}

std::filesystem::path Folder() {
  return std::filesystem::path(PROTEAN_SOURCE_DIR) / "tests" / "filter_policy" /
         "golden_proteus";
}

// The n-th block of a recipe, counted from 1, or its answers.
std::filesystem::path PathOf(const Recipe& recipe, int n, const char* end) {
  const std::string number = n == 1 ? "" : "." + std::to_string(n);
  return Folder() / (recipe.name + number + end);
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The answers, a line a query: points, then ranges, near keys and far from
// them.
// + stands for "may match".
std::string Answers(const FilterBlock& block, const Keys& keys) {
  Lcg random(99);
  Keys queries = {"", "a", std::string("\0", 1), "\xff\xff"};
  for (int i = 0; i < 30; i++) {
    std::string query =
        keys.empty() ? random.Bytes(4) : keys[random.Next(keys.size())];
    const uint64_t change = random.Next(4);
    if (change == 0) query += random.Bytes(1);
    if (change == 1) query.resize(query.size() / 2);
    if (change == 2) query = random.Bytes(8);
    if (change == 3 && !query.empty()) query.back()++;
    queries.push_back(query);
  }
  std::string answers;
  if (const auto* proteus = dynamic_cast<const Proteus*>(block.filter())) {
    answers = proteus->design().Describe() + "\n";
  } else if (block.filter() != nullptr) {
    answers = "units of " + block.filter()->Report().design + "\n";
  }
  for (const std::string& query : queries) {
    answers += Hex(query) + (block.KeyMayMatch(query) ? " +" : " .") + "\n";
  }
  for (size_t i = 0; i < queries.size(); i++) {
    std::string hi = queries[(i * 7 + 3) % queries.size()];
    if (i % 2 == 0) hi = queries[i] + random.Bytes(1 + random.Next(3));
    for (bool inclusive : {true, false}) {
      answers +=
          Hex(queries[i]) + " " + Hex(hi) +
          (inclusive ? " inclusive" : " exclusive") +
          (block.RangeMayMatch(queries[i], hi, inclusive) ? " +" : " .") + "\n";
    }
  }
  return answers;
}

class ProteusGoldenTest : public testing::TestWithParam<Recipe> {
 protected:
  static int CountBlocks(const Recipe& recipe) {
    int n = 0;
    while (std::filesystem::exists(PathOf(recipe, n + 1, ".block"))) n++;
    return n;
  }

  static void SetUpTestSuite() {
    const char* write = getenv("PROTEAN_WRITE_GOLDEN");
    if (write == nullptr || std::string(write) != "1") return;
    std::filesystem::create_directories(Folder());
    for (const Recipe& recipe : Recipes()) {
      const int n = CountBlocks(recipe);
      const std::string block = recipe.Build();
      if (n > 0 && ReadFile(PathOf(recipe, n, ".block")) == block) continue;
      std::ofstream(PathOf(recipe, n + 1, ".block"), std::ios::binary) << block;
      std::ofstream(PathOf(recipe, n + 1, ".answers"), std::ios::binary)
          << Answers(FilterBlock(block), recipe.keys);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Recipes, ProteusGoldenTest,
                         testing::ValuesIn(Recipes()),
                         [](const auto& test) { return test.param.name; });

TEST_P(ProteusGoldenTest, IsRead) {
  const Recipe& recipe = GetParam();
  ASSERT_GT(CountBlocks(recipe), 0) << "the recipe has no block yet";
  for (int n = 1; n <= CountBlocks(recipe); n++) {
    SCOPED_TRACE("THE READER NO LONGER READS WHAT WAS WRITTEN, which is a bug");
    const GuardedBlock copy(ReadFile(PathOf(recipe, n, ".block")), 1);
    const FilterBlock block(copy.slice());
    const Keys& keys = recipe.keys;
    ASSERT_NO_FATAL_FAILURE(ExpectHolds(block, keys));
    EXPECT_EQ(keys.size(), block.header().num_keys);
    EXPECT_EQ(ReadFile(PathOf(recipe, n, ".answers")), Answers(block, keys))
        << "an answer that was + and is . shows a better reader, for which the "
           "expectation may change";
  }
}

TEST_P(ProteusGoldenTest, IsWritten) {
  const Recipe& recipe = GetParam();
  const int n = CountBlocks(recipe);
  ASSERT_GT(n, 0) << "the recipe has no block yet";
  const std::string golden = ReadFile(PathOf(recipe, n, ".block"));
  const std::string written = recipe.Build();
  size_t offset = 0;
  while (offset < std::min(golden.size(), written.size()) &&
         golden[offset] == written[offset]) {
    offset++;
  }
  EXPECT_TRUE(golden == written)
      << "THE BUILDER WRITES OTHER BYTES for the same keys; the first that "
         "differs is "
      << offset
      << ". Unless that was meant, it is a bug. If it was, the reader must "
         "still read the old block (test IsRead), which stays, and the new one "
         "is added to it: run with PROTEAN_WRITE_GOLDEN=1.";
}

TEST_P(ProteusGoldenTest, CutShort) {
  const std::string bytes = ReadFile(PathOf(GetParam(), 1, ".block"));
  ASSERT_FALSE(bytes.empty()) << "the recipe has no block yet";
  for (size_t bytes_cut : {size_t{1}, size_t{8}, size_t{64}}) {
    const std::string cut =
        bytes.substr(0, bytes.size() - std::min(bytes_cut, bytes.size()));
    for (const std::string& damaged : {cut, WithRightChecksums(cut)}) {
      const GuardedBlock copy(damaged);
      EXPECT_TRUE(FilterBlock(copy.slice()).status().IsCorruption());
    }
  }
}

// A block without a recipe would not be tested.
TEST(ProteusGoldenFilesTest, HaveRecipes) {
  std::set<std::filesystem::path> known;
  for (const Recipe& recipe : Recipes()) {
    for (int n = 1; n < 10; n++) {
      known.insert(PathOf(recipe, n, ".block"));
      known.insert(PathOf(recipe, n, ".answers"));
    }
  }
  std::error_code none_yet;
  for (const auto& entry :
       std::filesystem::directory_iterator(Folder(), none_yet)) {
    EXPECT_EQ(1u, known.count(entry.path())) << entry.path();
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
