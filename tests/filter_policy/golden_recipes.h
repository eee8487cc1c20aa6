// SPDX-License-Identifier: Apache-2.0

//  The golden blocks of SuRF, golden/*.block, and of Proteus,
//  golden_proteus/*.block: each comes of a recipe, keys and a way to build a
//  filter of them. The first block of the recipe `name` is `name.block`.
//
//  The keys must not change with a library or a compiler, so a generator of the
//  tests' own makes them, and no expression draws from it twice, since the
//  order would be the compiler's choice.

#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "plugin/protean.h"
#include "tests/dice.h"
#include "tests/filter_blocks.h"
#include "tests/with_salt.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Keys ----

inline Keys Sorted(const std::set<std::string>& keys) {
  return Keys(keys.begin(), keys.end());
}

// `count` different keys of those that `draw` makes.
template <typename Draw>
Keys Drawn(size_t count, const Draw& draw) {
  std::set<std::string> keys;
  while (keys.size() < count) keys.insert(draw());
  return Sorted(keys);
}

inline Keys RandomIntegers(size_t count) {
  Lcg random(1);
  return Drawn(count, [&] { return random.Bytes(8); });
}

// Many are neighbors. Bytes before all of them become the run of the root.
inline Keys Counters(uint32_t count, uint32_t step,
                     const std::string& before = "") {
  return MakeKeys(
      count, [&](size_t i) { return before + BigEndian(i * step).substr(5); });
}

inline Keys Emails(size_t count) {
  Lcg random(2);
  const char* const domains[] = {"com.example@", "com.example.mail@",
                                 "org.example@", "org.example.lists@"};
  return Drawn(count, [&] {
    const std::string domain = domains[random.Next(4)];
    return domain + random.Word("aeilnorst.-", 2, 12);
  });
}

// Keys with runs of hundreds of bytes. The smallest and the largest key are
// longer than what the header stores of them.
inline Keys LongPaths() {
  Lcg random(3);
  std::set<std::string> keys;
  for (int folder = 0; folder < 6; folder++) {
    const std::string path =
        "/home/" + random.Word("abc", 40, 300) + "/" + std::string(70, 'd');
    for (int file = 0; file < 5; file++) {
      keys.insert(path + random.Word("xyz/", 1, 90));
    }
  }
  return Sorted(keys);
}

// Names of a few words, as packages have, many of which begin alike.
inline Keys Words(size_t count) {
  Lcg random(11);
  const char* const words[] = {"data",  "web",  "core",  "test",
                               "utils", "json", "async", "micro",
                               "graph", "auth", "lib"};
  return Drawn(count, [&] {
    std::string key = words[random.Next(11)];
    while (random.Next(3) > 0) {
      key += random.Next(4) == 0 ? "_" : "-";
      key += words[random.Next(11)];
    }
    if (random.Next(2) == 0) key += random.Word("aeilnorst", 1, 5);
    if (random.Next(4) == 0) key += random.Word("0123456789", 1, 2);
    return key;
  });
}

// Keys that are prefixes of the next ones, also by bytes 0x00 and 0xff.
inline Keys PrefixChains(int chains = 40, int links = 15) {
  Lcg random(4);
  std::set<std::string> keys = {""};
  for (int chain = 0; chain < chains; chain++) {
    std::string key = random.Word(std::string("\0a\xff", 3), 1, 3);
    for (int link = 0; link < links; link++) {
      keys.insert(key);
      key += random.Word(std::string("\0b\xff", 3), 1, 2);
    }
  }
  return Sorted(keys);
}

// Keys of two letters, whose codes have one bit.
inline Keys TwoLetters() {
  Lcg random(5);
  return Drawn(300, [&] { return random.Word("01", 1, 14); });
}

// Keys of 95 letters, whose codes have seven bits.
inline Keys Printable() {
  std::string letters;
  for (char c = ' '; c <= '~'; c++) letters.push_back(c);
  Lcg random(10);
  return Drawn(400, [&] { return random.Word(letters, 1, 6); });
}

// A few short runs among many nodes without one. They are not worth keeping.
inline Keys FewRuns() {
  Keys keys = RandomIntegers(500);
  for (const char* word : {"aaarun", "bbbrun", "cccrun"}) {
    keys.push_back(word + std::string("1"));
    keys.push_back(word + std::string("2"));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

// Keys with all bytes on the top two levels and a few below: the first levels
// are best in LOUDS-Dense, the last one is not.
inline Keys WideTop() {
  Lcg random(6);
  std::set<std::string> keys;
  for (const char* first : {"a", "q"}) {
    for (int second = 0; second < 256; second++) {
      const std::string top = first + std::string(1, static_cast<char>(second));
      for (int i = 0; i < 8; i++) keys.insert(top + random.Bytes(1));
    }
  }
  return Sorted(keys);
}

// Keys with hundreds of runs: one above each pair of keys, some below a key.
inline Keys Pairs(int count) {
  Lcg random(9);
  std::set<std::string> keys;
  for (int i = 0; i < count; i++) {
    const std::string word = random.Word("aeilnorst", 5, 9);
    keys.insert(word + "-");
    keys.insert(word + ".");
    if (random.Next(3) == 0) keys.insert(word);
  }
  return Sorted(keys);
}

// Keys of which most are terminators on long chains: few edges end in leaves.
inline Keys MostlyTerminators() {
  Lcg random(7);
  std::set<std::string> keys;
  for (int chain = 0; chain < 12; chain++) {
    std::string key = random.Bytes(1);
    for (int link = 0; link < 30; link++) {
      keys.insert(key);
      key += random.Word("abcdefghijklmnopqrstuvwxyz", 1, 1);
    }
  }
  return Sorted(keys);
}

// Keys whose heads are hashed in pieces, and once a lookup.
inline Keys LongBytes() {
  Lcg random(5);
  return MakeKeys(20, [&](size_t i) { return random.Bytes(300 + 40 * i); });
}

// Keys whose series have enough prefixes for a Ribbon filter in shards.
inline Keys WideBytes() {
  Lcg random(6);
  return MakeKeys(275, [&](size_t) { return random.Bytes(480); });
}

// Printed times, whose places have alphabets.
inline Keys Times() {
  Lcg random(7);
  return MakeKeys(300, [&](size_t) {
    std::string key = "2026-";
    for (const auto& [least, below, end] : {std::tuple(1, 12, "-"),
                                            {1, 28, "T"},
                                            {0, 24, ":"},
                                            {0, 60, ":"},
                                            {0, 60, ""}}) {
      const std::string number = std::to_string(least + random.Next(below));
      key += (number.size() < 2 ? "0" : "") + number + end;
    }
    return key;
  });
}

// ---- Builders ----

using Build = std::function<std::string(const Keys&)>;

inline std::string FirstBytes(const std::string& key) {
  return key.substr(0, 14);
}
inline std::string LastBytes(const std::string& key) { return key.substr(4); }

// Builds a filter as RocksDB builds that of a file, with these suffix bits.
inline Build Policy(uint32_t hash_bits, uint32_t real_bits,
                    FilterSalt salt = {}, uint32_t prefix_bits = 0,
                    PrefixOfKey prefix = nullptr) {
  return [=](const Keys& keys) {
    const WithSalt with(salt);
    return BuildBlock(keys,
                      *NewSurfFilterPolicy({hash_bits, real_bits, prefix_bits}),
                      prefix);
  };
}

// Builds a filter with a trie that a policy might never choose.
inline Build Trie(const SurfSuffix& suffix, const FstOptions& options,
                  FilterSalt salt = {}) {
  return [=](const Keys& keys) {
    return BuildSurfBlock(keys, suffix, options, salt);
  };
}

// A trie of bytes, with these remainder bits of each level, and with an option
// that is off unless it is nullptr.
inline FstOptions Forced(std::vector<unsigned> remainder_bits,
                         bool FstOptions::*off = nullptr) {
  FstOptions options;
  options.forced = std::move(remainder_bits);
  if (off != nullptr) options.*off = false;
  return options;
}
constexpr auto kChildBits = &FstOptions::list_exceptions;
constexpr auto kWholeAlphabet = &FstOptions::reduce_alphabet;
constexpr auto kRunsAsNodes = &FstOptions::runs;
// A trie of digits, or one of bytes where a policy would choose digits.
inline FstOptions WithDigits(bool digits, FstOptions options = {}) {
  options.digits = digits ? FstOptions::kIfPossible : FstOptions::kNever;
  return options;
}

// A Proteus in parts of about `part_keys` keys, or in one part for 0.
inline Build Designed(const ProteusDesign& design, double bits_per_key,
                      FilterSalt salt = {}, size_t part_keys = 0,
                      bool in_units = false) {
  return [=](const Keys& keys) {
    return part_keys > 0 ? BuildPartedProteus(keys, part_keys, design,
                                              bits_per_key, salt, in_units)
                         : BuildProteusBlock(keys, design, bits_per_key, salt);
  };
}
inline ProteusDesign SetOfKeys() { return WithKeys({}, 0); }
inline ProteusDesign KeysAlone(const ProteusDesign& design) {
  return WithKeys(design, 0.3, /*alone=*/true);
}

// ---- Recipes ----

struct Recipe {
  const char* name;
  Keys keys;  // in the order in which they are added
  Build build;
};

inline std::vector<Recipe> SurfRecipes() {
  return {
      // Encodings that a policy chooses for these keys.
      {"no_keys", {}, Policy(4, 8)},
      {"empty_key", {""}, Policy(4, 8)},
      {"one_key", {"protean"}, Policy(4, 8)},
      // Without a filter, there is no salt either.
      {"unordered", {"b", "a", "c", "c"}, Policy(0, 8, {11, 13})},
      {"literal_prefixes", Emails(60), Policy(0, 8, {}, 0, FirstBytes)},
      {"unknown_prefixes", Emails(60), Policy(0, 8, {}, 0, LastBytes)},
      {"integers_bare", RandomIntegers(1000), Policy(0, 0)},
      {"long_paths_salted", LongPaths(), Policy(9, 4, {~uint64_t{0}, 0})},
      {"integers_hash_salted", RandomIntegers(1000), Policy(7, 0, {11, 13})},
      {"integers_hash", RandomIntegers(1000), Policy(7, 0)},
      {"integers_real", RandomIntegers(2500), Policy(0, 8)},
      {"integers_both", RandomIntegers(200), Policy(32, 32)},
      {"counters", Counters(4000, 3), Policy(0, 0)},
      {"counters_after_a_beginning", Counters(4000, 3, "\x80\x01\x02\x03\x04"),
       Policy(0, 0)},
      {"wide_top", WideTop(), Policy(0, 0)},
      {"emails", Emails(1500), Policy(0, 4)},
      {"emails_prefix_bits", Emails(1500),
       Trie({0, 0, 8}, WithDigits(false), {5, 7})},
      {"long_paths_prefix_bits", LongPaths(), Policy(3, 4, {1, 2}, 12)},
      {"pairs_prefix_bits", Pairs(700), Policy(0, 0, {}, 3)},
      {"pairs", Pairs(700), Policy(3, 2)},
      {"long_paths", LongPaths(), Policy(4, 4)},
      {"prefix_chains", PrefixChains(), Policy(5, 3)},
      {"mostly_terminators", MostlyTerminators(), Policy(0, 0)},
      {"few_runs", FewRuns(), Policy(0, 5)},
      {"all_bytes",
       MakeKeys(256, [](size_t byte) { return std::string(1, byte); }),
       Policy(0, 0)},
      {"two_letters", TwoLetters(), Policy(3, 0)},
      {"printable", Printable(), Policy(2, 3)},
      // Encodings that a policy would not choose for these keys.
      {"coded_words", Words(2500), Trie({0, 0}, WithDigits(true))},
      {"coded_words_hash", Words(1200), Trie({6, 0}, WithDigits(true))},
      {"coded_chains", PrefixChains(), Trie({4, 0}, WithDigits(true))},
      {"coded_paths", LongPaths(),
       Trie({0, 0}, WithDigits(true, Forced({2, 1, 0}, kChildBits)))},
      {"coded_emails_prefix_bits", Emails(1500),
       Trie({0, 0, 8}, WithDigits(true), {5, 7})},
      {"coded_chains_prefix_bits", PrefixChains(),
       Trie({0, 0, 7}, WithDigits(true), {3, 9})},
      {"annotated",
       {"app", "apple", "apply", "band"},
       Trie({4, 8}, Forced({0, 1, 8}))},
      {"dense_child_bits", Emails(300), Trie({0, 4}, Forced({0}, kChildBits))},
      {"dense_leaves_listed", MostlyTerminators(), Trie({4, 0}, Forced({0}))},
      {"quotient_leaves_listed", MostlyTerminators(),
       Trie({1, 1}, Forced({3}))},
      {"sparse_children_listed", Counters(900, 3), Trie({0, 0}, Forced({8}))},
      {"whole_alphabet", Emails(300),
       Trie({0, 3}, Forced({8}, kWholeAlphabet))},
      {"runs_as_nodes", LongPaths(), Trie({0, 6}, Forced({2}, kRunsAsNodes))},
      {"upside_down", Pairs(150), Trie({0, 0}, Forced({8, 3, 1, 0}))},
  };
}

inline std::vector<Recipe> ProteusRecipes() {
  const Keys integers = RandomIntegers(300);
  const Keys emails = Emails(300);
  const Keys chains = PrefixChains(20, 10);
  return {
      {"no_keys", {}, Designed(TrieAndSet(0, 8), 12)},
      {"empty_key", {""}, Designed(TrieAndSet(8, 16), 2000)},
      {"no_layer", {"a", "b"}, Designed(ProteusDesign(), 12)},
      {"bloom_64", integers, Designed(TrieAndSet(0, 64), 12)},
      {"bloom_41", integers, Designed(TrieAndSet(0, 41), 8)},
      {"bloom_few_bits", integers, Designed(TrieAndSet(0, 64), 5)},
      {"bloom_many_bits", integers, Designed(TrieAndSet(0, 64), 60)},
      {"ribbon_64", integers, Designed(TrieAndSet(0, 64, kRibbonAmq), 12)},
      {"ribbon_30", integers, Designed(TrieAndSet(0, 30, kRibbonAmq), 7)},
      {"trie_11", integers, Designed(TrieAndSet(11, 0), 12)},
      {"trie_64", integers, Designed(TrieAndSet(64, 0), 70)},
      {"trie_10_bloom_40", integers, Designed(TrieAndSet(10, 40), 16)},
      {"trie_9_ribbon_58", integers,
       Designed(TrieAndSet(9, 58, kRibbonAmq), 16)},
      {"blooms_12_60", integers, Designed(TwoSets(12, 60, kBloomAmq, 0.4), 16)},
      {"ribbons_20_64", integers,
       Designed(TwoSets(20, 64, kRibbonAmq, 0.6), 16)},
      {"emails_bloom_200", emails, Designed(TrieAndSet(0, 200), 12)},
      {"emails_series_96_8", emails,
       Designed(TrieAndSet(0, 96, kBloomAmq, 8), 20)},
      {"emails_series_64_24", emails,
       Designed(TrieAndSet(0, 64, kRibbonAmq, 24), 20)},
      {"emails_trie_series", emails,
       Designed(TrieAndSet(90, 128, kBloomAmq, 16), 30)},
      {"emails_trie_130", emails, Designed(TrieAndSet(130, 0), 50)},
      {"emails_sets_99_161", emails, Designed(TwoSets(99, 161), 20)},
      {"chains_trie_20", chains, Designed(TrieAndSet(20, 0), 30)},
      {"chains_trie_40_ribbon_90", chains,
       Designed(TrieAndSet(40, 90, kRibbonAmq), 60)},
      {"chains_series_8_8", chains,
       Designed(TrieAndSet(0, 8, kBloomAmq, 8), 60)},
      {"salted_bloom_64", integers, Designed(TrieAndSet(0, 64), 12, {1, 2})},
      {"salted_ribbon_30", integers,
       Designed(TrieAndSet(0, 30, kRibbonAmq), 7, {3, 4})},
      {"salted_trie_10_bloom_40", integers,
       Designed(TrieAndSet(10, 40), 16, {5, 6})},
      {"salted_emails_bloom_200", emails,
       Designed(TrieAndSet(0, 200), 12, {7, 8})},
      {"salted_emails_series", emails,
       Designed(TrieAndSet(0, 96, kBloomAmq, 8), 20, {~0ull, ~0ull})},
      {"salted_emails_sets", emails, Designed(TwoSets(99, 161), 20, {9, 10})},
      {"salted_emails_keys", emails, Designed(SetOfKeys(), 12, {11, 12})},
      {"salted_integers_keys", integers, Designed(SetOfKeys(), 12, {11, 12})},
      {"salted_trie_11", integers, Designed(TrieAndSet(11, 0), 12, {13, 14})},
      {"long_bloom", LongBytes(), Designed(TrieAndSet(0, 2397), 60)},
      {"salted_long_bloom", LongBytes(),
       Designed(TrieAndSet(0, 2397), 60, {15, 16})},
      {"salted_long_half", LongBytes(),
       Designed(TrieAndSet(0, 2397), 60, {0, 17})},
      {"salted_long_keys", LongBytes(), Designed(SetOfKeys(), 60, {18, 0})},
      {"wide_series_8_8", WideBytes(),
       Designed(TrieAndSet(0, 8, kRibbonAmq, 8), 600, {33, 34})},
      {"salted_keys_alone", integers,
       Designed(KeysAlone(TrieAndSet(10, 40)), 30, {35, 36})},
      {"salted_keys_alone_trie", emails,
       Designed(KeysAlone(TrieAndSet(90, 0)), 40, {37, 38})},
      {"part_keys_alone", emails,
       Designed(KeysAlone(TrieAndSet(0, 96, kRibbonAmq, 8)), 80, {39, 40},
                100)},
      {"units_bloom_64", integers,
       Designed(TrieAndSet(0, 64), 120, {45, 46}, 100, true)},
      {"units_ribbons_20_64", integers,
       Designed(TwoSets(20, 64, kRibbonAmq, 0.6), 120, {47, 48}, 100, true)},
      {"units_emails_trie_series", emails,
       Designed(TrieAndSet(90, 128, kBloomAmq, 16), 160, {49, 50}, 100, true)},
      {"salted_times_bloom_141", Times(),
       Designed(TrieAndSet(0, 141), 40, {49, 50})},
      {"part_times_ribbons_80_152", Times(),
       Designed(TwoSets(80, 152, kRibbonAmq, 0.6), 120, {51, 52}, 100)},
      {"part_bloom_64", integers,
       Designed(TrieAndSet(0, 64), 12, {19, 20}, 100)},
      {"part_ribbons_20_64", integers,
       Designed(TwoSets(20, 64, kRibbonAmq, 0.6), 16, {21, 22}, 120)},
      {"part_trie_10_bloom_40", integers,
       Designed(TrieAndSet(10, 40), 60, {23, 24}, 100)},
      {"part_emails_keys", emails, Designed(SetOfKeys(), 12, {25, 26}, 100)},
      {"part_emails_series", emails,
       Designed(TrieAndSet(0, 96, kBloomAmq, 8), 20, {27, 28}, 100)},
  };
}

// ---- Files ----

struct GoldenSet {
  const char* name;
  std::vector<Recipe> recipes;

  std::filesystem::path Folder() const {
    return std::filesystem::path(PROTEAN_SOURCE_DIR) / "tests" /
           "filter_policy" / name;
  }
  // The n-th block of a recipe, counted from 1, or its answers.
  std::filesystem::path PathOf(const Recipe& recipe, size_t n,
                               const char* end = ".block") const {
    const std::string number = n == 1 ? "" : "." + std::to_string(n);
    return Folder() / (recipe.name + number + end);
  }
  // All blocks of a recipe, from the oldest to the newest.
  std::vector<std::filesystem::path> FilesOf(const Recipe& recipe) const {
    std::vector<std::filesystem::path> paths;
    for (size_t n = 1; std::filesystem::exists(PathOf(recipe, n)); n++) {
      paths.push_back(PathOf(recipe, n));
    }
    return paths;
  }
};

inline const GoldenSet& SurfBlocks() {
  static const auto* const set = new GoldenSet{"golden", SurfRecipes()};
  return *set;
}
inline const GoldenSet& ProteusBlocks() {
  static const auto* const set =
      new GoldenSet{"golden_proteus", ProteusRecipes()};
  return *set;
}

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace ROCKSDB_NAMESPACE::protean
