// SPDX-License-Identifier: Apache-2.0

//  The golden blocks of SuRF, golden/*.block: each comes of a recipe, keys and
//  a way to build a filter of them. The first block of the recipe `name` is
//  `name.block`.
//
//  The keys must not change with a library or a compiler, so a generator of the
//  tests' own makes them, and no expression draws from it twice, since the
//  order would be the compiler's choice.

#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "plugin/protean.h"
#include "tests/filter_blocks.h"
#include "tests/lcg.h"
#include "tests/with_salt.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Keys ----

inline Keys Sorted(const std::set<std::string>& keys) {
  return Keys(keys.begin(), keys.end());
}

inline Keys RandomIntegers(size_t count) {
  Lcg random(1);
  std::set<std::string> keys;
  while (keys.size() < count) keys.insert(random.Bytes(8));
  return Sorted(keys);
}

// Short keys, of which many are neighbors.
inline Keys Counters(uint32_t count, uint32_t step) {
  Keys keys;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t number = i * step;
    keys.push_back({static_cast<char>(number >> 16),
                    static_cast<char>(number >> 8), static_cast<char>(number)});
  }
  return keys;
}

// Counters after a few bytes, which become the run of the root.
inline Keys CountersAfter(const std::string& begin, uint32_t count,
                          uint32_t step) {
  Keys keys = Counters(count, step);
  for (std::string& key : keys) key = begin + key;
  return keys;
}

inline Keys Emails(size_t count) {
  Lcg random(2);
  std::set<std::string> keys;
  const char* const domains[] = {"com.example@", "com.example.mail@",
                                 "org.example@", "org.example.lists@"};
  while (keys.size() < count) {
    const std::string domain = domains[random.Next(4)];
    keys.insert(domain + random.Word("aeilnorst.-", 2, 12));
  }
  return Sorted(keys);
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
  std::set<std::string> keys;
  while (keys.size() < count) {
    std::string key = words[random.Next(11)];
    while (random.Next(3) > 0) {
      key += random.Next(4) == 0 ? "_" : "-";
      key += words[random.Next(11)];
    }
    if (random.Next(2) == 0) key += random.Word("aeilnorst", 1, 5);
    if (random.Next(4) == 0) key += random.Word("0123456789", 1, 2);
    keys.insert(key);
  }
  return Sorted(keys);
}

// Keys that are prefixes of the next ones, also by bytes 0x00 and 0xff.
inline Keys PrefixChains() {
  Lcg random(4);
  std::set<std::string> keys = {""};
  for (int chain = 0; chain < 40; chain++) {
    std::string key = random.Word(std::string("\0a\xff", 3), 1, 3);
    for (int link = 0; link < 15; link++) {
      keys.insert(key);
      key += random.Word(std::string("\0b\xff", 3), 1, 2);
    }
  }
  return Sorted(keys);
}

inline Keys AllBytes() {
  Keys keys;
  for (int byte = 0; byte < 256; byte++) {
    keys.push_back(std::string(1, static_cast<char>(byte)));
  }
  return keys;
}

// Keys of two letters, whose codes have one bit.
inline Keys TwoLetters() {
  Lcg random(5);
  std::set<std::string> keys;
  while (keys.size() < 300) keys.insert(random.Word("01", 1, 14));
  return Sorted(keys);
}

// Keys of 95 letters, whose codes have seven bits.
inline Keys Printable() {
  std::string letters;
  for (char c = ' '; c <= '~'; c++) letters.push_back(c);
  Lcg random(10);
  std::set<std::string> keys;
  while (keys.size() < 400) keys.insert(random.Word(letters, 1, 6));
  return Sorted(keys);
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

// ---- Builders ----

using Build = std::function<std::string(const Keys&)>;

// Builds a filter as RocksDB builds that of a file, with these suffix bits.
inline Build Policy(uint32_t hash_bits, uint32_t real_bits,
                    FilterSalt salt = {}, uint32_t prefix_bits = 0) {
  return [=](const Keys& keys) {
    const WithSalt with(salt);
    const auto builder =
        NewBuilder(*NewSurfFilterPolicy({hash_bits, real_bits, prefix_bits}));
    for (const std::string& key : keys) builder->AddKey(key);
    return Finish(builder.get());
  };
}

// Builds a filter as Policy does, for a file with a prefix extractor.
inline Build PolicyWithPrefixes(
    std::function<std::string(const std::string&)> prefix, uint32_t hash_bits,
    uint32_t real_bits) {
  return [=](const Keys& keys) {
    const WithSalt with(FilterSalt{});
    const auto builder =
        NewBuilder(*NewSurfFilterPolicy({hash_bits, real_bits}));
    for (const std::string& key : keys) {
      builder->AddKeyAndAlt(key, prefix(key));
    }
    return Finish(builder.get());
  };
}

// Builds a filter with a trie of any encoding, which a policy might never
// choose.
inline Build Trie(const SurfSuffix& suffix, const FstOptions& options,
                  FilterSalt salt = {}) {
  return [=](const Keys& keys) {
    return BuildSurfBlock(keys, suffix, options, salt);
  };
}

// A trie of bytes, with these remainder bits of each level.
inline FstOptions Forced(std::vector<unsigned> remainder_bits) {
  FstOptions options;
  options.forced = std::move(remainder_bits);
  return options;
}
inline FstOptions WithChildBits(FstOptions options) {
  options.list_exceptions = false;
  return options;
}
inline FstOptions WithWholeAlphabet(FstOptions options) {
  options.reduce_alphabet = false;
  return options;
}
inline FstOptions WithoutRuns(FstOptions options) {
  options.runs = false;
  return options;
}
// A trie of digits, or one of bytes where a policy would choose digits.
inline FstOptions WithDigits(bool digits, FstOptions options = {}) {
  options.digits = digits ? FstOptions::kIfPossible : FstOptions::kNever;
  return options;
}

// ---- Recipes ----

struct Recipe {
  const char* name;
  Keys keys;  // in the order in which they are added
  Build build;
  uint16_t flags;
};

inline void PrintTo(const Recipe* recipe, std::ostream* out) {
  *out << recipe->name;
}

inline std::string FirstBytes(const std::string& key) {
  return key.substr(0, 14);
}
inline std::string LastBytes(const std::string& key) { return key.substr(4); }

inline const std::vector<Recipe>& Recipes() {
  constexpr uint16_t kNone = 0;
  constexpr uint16_t kPrefixes = FilterBlockHeader::kAskedForPrefixes;
  constexpr uint16_t kUnknownPrefixes =
      kPrefixes | FilterBlockHeader::kPrefixesUnknown;
  static const auto* const recipes = new std::vector<Recipe>{
      // Encodings that a policy chooses for these keys.
      {"no_keys", {}, Policy(4, 8), kNone},
      {"empty_key", {""}, Policy(4, 8), kNone},
      {"one_key", {"protean"}, Policy(4, 8), kNone},
      {"unordered", {"b", "a", "c", "c"}, Policy(0, 8), kNone},
      {"literal_prefixes", Emails(60), PolicyWithPrefixes(FirstBytes, 0, 8),
       kPrefixes},
      {"unknown_prefixes", Emails(60), PolicyWithPrefixes(LastBytes, 0, 8),
       kUnknownPrefixes},
      {"integers_bare", RandomIntegers(1000), Policy(0, 0), kNone},
      {"long_paths_salted", LongPaths(), Policy(9, 4, {~uint64_t{0}, 0}),
       kNone},
      {"integers_hash_salted", RandomIntegers(1000), Policy(7, 0, {11, 13}),
       kNone},
      {"integers_hash", RandomIntegers(1000), Policy(7, 0), kNone},
      {"integers_real", RandomIntegers(2500), Policy(0, 8), kNone},
      {"integers_both", RandomIntegers(200), Policy(32, 32), kNone},
      {"counters", Counters(4000, 3), Policy(0, 0), kNone},
      {"counters_after_a_beginning",
       CountersAfter("\x80\x01\x02\x03\x04", 4000, 3), Policy(0, 0), kNone},
      {"wide_top", WideTop(), Policy(0, 0), kNone},
      {"emails", Emails(1500), Policy(0, 4), kNone},
      {"emails_prefix_bits", Emails(1500),
       Trie({0, 0, 8}, WithDigits(false), {5, 7}), kNone},
      {"long_paths_prefix_bits", LongPaths(), Policy(3, 4, {1, 2}, 12), kNone},
      {"pairs_prefix_bits", Pairs(700), Policy(0, 0, {}, 3), kNone},
      {"pairs", Pairs(700), Policy(3, 2), kNone},
      {"long_paths", LongPaths(), Policy(4, 4), kNone},
      {"prefix_chains", PrefixChains(), Policy(5, 3), kNone},
      {"mostly_terminators", MostlyTerminators(), Policy(0, 0), kNone},
      {"few_runs", FewRuns(), Policy(0, 5), kNone},
      {"all_bytes", AllBytes(), Policy(0, 0), kNone},
      {"two_letters", TwoLetters(), Policy(3, 0), kNone},
      {"printable", Printable(), Policy(2, 3), kNone},
      // Encodings that a policy would not choose for these keys.
      {"coded_words", Words(2500), Trie({0, 0}, WithDigits(true)), kNone},
      {"coded_words_hash", Words(1200), Trie({6, 0}, WithDigits(true)), kNone},
      {"coded_chains", PrefixChains(), Trie({4, 0}, WithDigits(true)), kNone},
      {"coded_paths", LongPaths(),
       Trie({0, 0}, WithDigits(true, WithChildBits(Forced({2, 1, 0})))), kNone},
      {"coded_emails_prefix_bits", Emails(1500),
       Trie({0, 0, 8}, WithDigits(true), {5, 7}), kNone},
      {"coded_chains_prefix_bits", PrefixChains(),
       Trie({0, 0, 7}, WithDigits(true), {3, 9}), kNone},
      {"annotated",
       {"app", "apple", "apply", "band"},
       Trie({4, 8}, Forced({0, 1, 8})),
       kNone},
      {"dense_child_bits", Emails(300),
       Trie({0, 4}, WithChildBits(Forced({0}))), kNone},
      {"dense_leaves_listed", MostlyTerminators(), Trie({4, 0}, Forced({0})),
       kNone},
      {"quotient_leaves_listed", MostlyTerminators(), Trie({1, 1}, Forced({3})),
       kNone},
      {"sparse_children_listed", Counters(900, 3), Trie({0, 0}, Forced({8})),
       kNone},
      {"whole_alphabet", Emails(300),
       Trie({0, 3}, WithWholeAlphabet(Forced({8}))), kNone},
      {"runs_as_nodes", LongPaths(), Trie({0, 6}, WithoutRuns(Forced({2}))),
       kNone},
      {"upside_down", Pairs(150), Trie({0, 0}, Forced({8, 3, 1, 0})), kNone},
  };
  return *recipes;
}

inline std::vector<const Recipe*> RecipePointers() {
  std::vector<const Recipe*> pointers;
  for (const Recipe& recipe : Recipes()) pointers.push_back(&recipe);
  return pointers;
}

// ---- Files ----

inline std::filesystem::path GoldenFolder() {
  return std::filesystem::path(PROTEAN_SOURCE_DIR) / "tests" / "filter_policy" /
         "golden";
}

// The n-th block of a recipe, counted from 1.
inline std::filesystem::path GoldenPath(const Recipe& recipe, int n) {
  const std::string number = n == 1 ? "" : "." + std::to_string(n);
  return GoldenFolder() / (recipe.name + number + ".block");
}

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// All blocks of a recipe, from the oldest to the newest.
inline std::vector<std::filesystem::path> GoldenFiles(const Recipe& recipe) {
  std::vector<std::filesystem::path> paths;
  for (int n = 1; std::filesystem::exists(GoldenPath(recipe, n)); n++) {
    paths.push_back(GoldenPath(recipe, n));
  }
  return paths;
}

}  // namespace ROCKSDB_NAMESPACE::protean
