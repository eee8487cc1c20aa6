// SPDX-License-Identifier: Apache-2.0

//  The golden blocks of SuRF, golden/*.block: each comes of a recipe, keys and
//  a way to build a filter of them. The first block of the recipe `name` is
//  `name.block`.

#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "plugin/protean.h"
#include "tests/filter_blocks.h"
#include "tests/filter_policy/golden_keys.h"
#include "tests/with_salt.h"

namespace ROCKSDB_NAMESPACE::protean {

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

// Encodings that a policy does not choose for a few keys.
struct Forced {
  std::vector<unsigned> remainder_bits;  // of each level
  bool reduce_alphabet = true;
  bool list_exceptions = true;
  bool runs = true;
  FstOptions::Digits digits = FstOptions::kIfSmaller;
};

inline Build Trie(uint32_t hash_bits, uint32_t real_bits,
                  const Forced& forced) {
  FstOptions options;
  options.forced = forced.remainder_bits;
  options.reduce_alphabet = forced.reduce_alphabet;
  options.list_exceptions = forced.list_exceptions;
  options.runs = forced.runs;
  options.digits = forced.digits;
  SurfSuffix suffix;
  suffix.hash_bits = hash_bits;
  suffix.real_bits = real_bits;
  return
      [=](const Keys& keys) { return BuildSurfBlock(keys, suffix, options); };
}

// Builds a filter with prefix bits as Policy does, with a trie of bytes or of
// digits.
inline Build PrefixBits(uint32_t prefix_bits, FilterSalt salt,
                        FstOptions::Digits digits) {
  return [=](const Keys& keys) {
    FstOptions options;
    options.digits = digits;
    SurfSuffix suffix;
    suffix.prefix_bits = prefix_bits;
    return BuildSurfBlock(keys, suffix, options, salt);
  };
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
       PrefixBits(8, {5, 7}, FstOptions::kNever), kNone},
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
      {"coded_words", Words(2500),
       Trie(0, 0, {{}, true, true, true, FstOptions::kIfPossible}), kNone},
      {"coded_words_hash", Words(1200),
       Trie(6, 0, {{}, true, true, true, FstOptions::kIfPossible}), kNone},
      {"coded_chains", PrefixChains(),
       Trie(4, 0, {{}, true, true, true, FstOptions::kIfPossible}), kNone},
      {"coded_paths", LongPaths(),
       Trie(0, 0, {{2, 1, 0}, true, false, true, FstOptions::kIfPossible}),
       kNone},
      {"coded_emails_prefix_bits", Emails(1500),
       PrefixBits(8, {5, 7}, FstOptions::kIfPossible), kNone},
      {"coded_chains_prefix_bits", PrefixChains(),
       PrefixBits(7, {3, 9}, FstOptions::kIfPossible), kNone},
      {"annotated",
       {"app", "apple", "apply", "band"},
       Trie(4, 8, {{0, 1, 8}}),
       kNone},
      {"dense_child_bits", Emails(300), Trie(0, 4, {{0}, true, false}), kNone},
      {"dense_leaves_listed", MostlyTerminators(), Trie(4, 0, {{0}}), kNone},
      {"quotient_leaves_listed", MostlyTerminators(), Trie(1, 1, {{3}}), kNone},
      {"sparse_children_listed", Counters(900, 3), Trie(0, 0, {{8}}), kNone},
      {"whole_alphabet", Emails(300), Trie(0, 3, {{8}, false}), kNone},
      {"runs_as_nodes", LongPaths(), Trie(0, 6, {{2}, true, true, false}),
       kNone},
      {"upside_down", Pairs(150), Trie(0, 0, {{8, 3, 1, 0}}), kNone},
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
