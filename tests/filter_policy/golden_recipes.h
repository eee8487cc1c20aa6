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
  // What the block holds (Describe in golden_fields.h).
  std::string contents;
  // The answers to the queries that golden_test.cc makes, + for "may match",
  // and the numbers of keys in its ranges.
  std::string points;
  std::string ranges;
  std::string prefixes;
  std::string counts;
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
      {"no_keys",
       {},
       Policy(4, 8),
       kNone,
       "no keys",
       "..................................................",
       "..................................................",
       "..............+.....+..+......+..+................",
       ""},
      {"empty_key",
       {""},
       Policy(4, 8),
       kNone,
       "1 leaves, 0 nodes, 0 bytes",
       "..................................................",
       "..................................................",
       "...................................+..............",
       "1 0 0 0 0 0 0 0"},
      {"one_key",
       {"protean"},
       Policy(4, 8),
       kNone,
       "1 leaves, 1 nodes, 1 bytes; 1 levels dense, children listed",
       ".......+..........................................",
       "..................................................",
       "..................................",
       "1 1h 1lh 1lh 1h 1lh 1lh 1lh"},
      {"unordered",
       {"b", "a", "c", "c"},
       Policy(0, 8),
       kNone,
       "no filter",
       "++++++++++++++++++++++++++++++++++++++++",
       "++++++++++++++++++++++++++++++++++++++++",
       "+++++++++++++++++++++++++",
       ""},
      {"literal_prefixes", Emails(60), PolicyWithPrefixes(FirstBytes, 0, 8),
       kPrefixes,
       "60 leaves, 26 nodes, 17 bytes; 5 levels quotient, child bits, 4 runs",
       ".+.++.++..+...++..+...+........+.++....+++...+...+",
       ".+.++.+++.++..+++.+.+.+.+.+....++++...++++.+++.+.+",
       "++++.+.+.+..+....++...+++..+...+", "60 11h 33h 13h 8lh 19 7h 27"},
      {"unknown_prefixes", Emails(60), PolicyWithPrefixes(LastBytes, 0, 8),
       kUnknownPrefixes,
       "60 leaves, 26 nodes, 17 bytes; 5 levels quotient, child bits, 4 runs",
       ".+.++.++..+...++..+...+........+.++....+++...+...+",
       ".+.++.+++.++..+++.+.+.+.+.+....++++...++++.+++.+.+",
       "++++++++++++++++++++++++++++++++", "60 11h 33h 13h 8lh 19 7h 27"},
      {"integers_bare", RandomIntegers(1000), Policy(0, 0), kNone,
       "1000 leaves, 246 nodes, 256 bytes; 1 levels dense, leaves listed; 2 "
       "levels quotient, children listed",
       "....+..+.+........+...+.+......+....++...+....+...",
       "++++++++++++++++++++.++++.++++++++++++++++.+++++.+",
       "++++++++++++++.++++++++++++++++++++",
       "1000 499lh 64lh 463lh 88lh 180lh 545lh 45lh"},
      {"long_paths_salted", LongPaths(), Policy(9, 4, {~uint64_t{0}, 0}), kNone,
       "30 leaves, 20 nodes, 12 bytes; 4 levels quotient, child bits, 9 runs",
       "..................................................",
       ".+.++.+.++++..+++++.+.+.+.+++.+++.+.++++++.+++.+++",
       "+++.++++.+++...+.++.++.+.+..++", "30 1h 13l 3h 24l 12lh 25lh 5"},
      {"integers_hash_salted", RandomIntegers(1000), Policy(7, 0, {11, 13}),
       kNone,
       "1000 leaves, 246 nodes, 256 bytes; 1 levels dense, leaves listed; 2 "
       "levels quotient, children listed",
       "..................................................",
       "++++++++++++++++++++.++++.++++++++++++++++.+++++.+",
       "++++++++++++++.++++++++++++++++++++",
       "1000 499lh 64lh 463lh 88lh 180lh 545lh 45lh"},
      {"integers_hash", RandomIntegers(1000), Policy(7, 0), kNone,
       "1000 leaves, 246 nodes, 256 bytes; 1 levels dense, leaves listed; 2 "
       "levels quotient, children listed",
       "..................................................",
       "++++++++++++++++++++.++++.++++++++++++++++.+++++.+",
       "++++++++++++++.++++++++++++++++++++",
       "1000 499lh 64lh 463lh 88lh 180lh 545lh 45lh"},
      {"integers_real", RandomIntegers(2500), Policy(0, 8), kNone,
       "2500 leaves, 307 nodes, 256 bytes; 1 levels dense, leaves listed; 2 "
       "levels quotient, children listed",
       "....+..+.+........+...+.+......+....++...+....+...",
       "++++++++++++++++++++.++++.+++.++++++++++++.+++++.+",
       "++++++++++++++.+++.++++++++++++++++",
       "2500 1003lh 1064lh 539lh 88lh 1680lh 1457lh 45lh"},
      {"integers_both", RandomIntegers(200), Policy(32, 32), kNone,
       "200 leaves, 50 nodes, 186 bytes; 3 levels quotient, child bits",
       "..................................................",
       "++.++.+++++++.+++++...+.+.+++.+++.+.++++++.+++++.+",
       "++++++.+.+..++...+.+++.++.+++..++.+",
       "200 103lh 138h 138l 88lh 180h 144l 44l"},
      {"counters", Counters(4000, 3), Policy(0, 0), kNone,
       "4000 leaves, 49 nodes, 256 bytes; 3 levels dense, children listed",
       "..............................................",
       ".+.+..........+.......+...+..+..+...++....+...",
       "++....+..+..+.++..++..+..", "4000 2433l 753h 512 4000 1387 195 0"},
      {"wide_top", WideTop(), Policy(0, 0), kNone,
       "4032 leaves, 515 nodes, 256 bytes; 2 levels dense, leaves listed; 1 "
       "levels quotient, children listed",
       "..................................................",
       ".+.+......+....+...............+..+....++....+...+",
       "++...+.+.....++...++..+.+", "4032 704l 3345h 439 1707 1970 647h 944"},
      {"emails", Emails(1500), Policy(0, 4), kNone,
       "1500 leaves, 655 nodes, 17 bytes; 23 levels quotient, child bits, 163 "
       "terminators",
       ".+.++..+..++...+..+...+.+.......++.+....+++...++..",
       ".+.++.++..++..++..+..++.+...+...++.+...++++...++..",
       "++++.+++.+...++......+++...+++.++..",
       "1500 311h 442h 1333h 471l 992 1045lh 1420"},
      {"emails_prefix_bits", Emails(1500),
       PrefixBits(8, {5, 7}, FstOptions::kNever), kNone,
       "1500 leaves, 655 nodes, 17 bytes, 8 prefix bits of step 1; 23 "
       "levels quotient, child bits, 163 terminators",
       "...++.....++...+..+...+.+.......++.+....+++....+..",
       "...++.+...++..++..+..++.+...+...++.+...++++...++..",
       ".++..+++.+...++......+++...+++..+..",
       "1500 311h 442h 1333h 471l 993h 1045lh 1420"},
      {"long_paths_prefix_bits", LongPaths(), Policy(3, 4, {1, 2}, 12), kNone,
       "30 leaves, 20 nodes, 12 bytes, 12 prefix bits of step 1; 4 "
       "levels quotient, child bits, 9 runs",
       "........+...................+.....................",
       ".+.++.+.++++..+++++.+.+.+.+++.+++.+.++++++.+++.+++",
       "+++.+.++.+++...+.++.++.+.+..++", "30 1h 13l 3h 24l 12lh 25lh 5"},
      {"pairs_prefix_bits", Pairs(700), Policy(0, 0, {}, 3), kNone,
       "1641 leaves, 988 nodes, 11 bytes, 3 prefix bits of step 4; 6 levels "
       "sparse, child bits, 243 terminators, 701 runs",
       ".............................................+...",
       ".+.+......+.....+...........+...+.+....++....+...",
       "++...+....+.........+..++....++...+...",
       "1641 809h 136l 390 362 1333 166h 479"},
      {"pairs", Pairs(700), Policy(3, 2), kNone,
       "1641 leaves, 988 nodes, 11 bytes; 6 levels sparse, child bits, 243 "
       "terminators, 701 runs",
       ".................................................",
       "................+...............+.......+........",
       "..........+............+......+.......",
       "1641 809 135 390 362 1333 166 479"},
      {"long_paths", LongPaths(), Policy(4, 4), kNone,
       "30 leaves, 20 nodes, 12 bytes; 4 levels quotient, child bits, 9 runs",
       "..................................................",
       ".+.++.+.++++..+++++.+.+.+.+++.+++.+.++++++.+++.+++",
       "+++.++++.+++...+.++.++.+.+..++", "30 1h 13l 3h 24l 12lh 25lh 5"},
      {"prefix_chains", PrefixChains(), Policy(5, 3), kNone,
       "563 leaves, 765 nodes, 4 bytes; 27 levels sparse, leaves listed, 523 "
       "terminators",
       "........................................",
       "........................................",
       "..................................", "563 250 28 195 326 78 154 321"},
      {"mostly_terminators", MostlyTerminators(), Policy(0, 0), kNone,
       "360 leaves, 349 nodes, 38 bytes; 30 levels sparse, leaves listed, 348 "
       "terminators",
       "......................................",
       "......................................",
       "...................................", "360 30 227 163 32 223 210 78"},
      {"few_runs", FewRuns(), Policy(0, 5), kNone,
       "506 leaves, 171 nodes, 250 bytes; 7 levels quotient, child bits",
       "....+.++.+........+...+.+......+....++...+....+...",
       "++++++++++++.+++++++.++++.+++.++++++++++++.+++++.+",
       "++++++++++++++.+++.++++++++++++++++",
       "506h 337lh 104lh 113lh 366lh 74lh 71lh 210h"},
      {"all_bytes", AllBytes(), Policy(0, 0), kNone,
       "256 leaves, 1 nodes, 256 bytes; 1 levels dense, children listed",
       ".......................", ".+.++.+..+.+++...+..+++", "++++++++++++",
       "256h 203h 145h 13h 103h 171h 99h 4lh"},
      {"two_letters", TwoLetters(), Policy(3, 0), kNone,
       "300 leaves, 274 nodes, 2 bytes; 13 levels sparse, child bits, 117 "
       "terminators",
       "...................................+.+.....",
       ".++.++.+.+.+..+...+.+..+...+...+++++.++.+..",
       ".+.++.+.+.+......++.+..++.++.++...",
       "300 254h 34h 139lh 72l 75h 200l 21"},
      {"printable", Printable(), Policy(2, 3), kNone,
       "400 leaves, 94 nodes, 95 bytes; 3 levels quotient, child bits, 51 "
       "terminators",
       "....+....+......+.+.................+......+..",
       ".++.+.+++++++.+++.+.+..+++++.+++.+.+++++.+.++.",
       "+.++++.+.++.++..+++..++..++..++.",
       "400 102l 338l 33h 88lh 380h 57h 205l"},
      // Encodings that a policy would not choose for these keys.
      {"coded_words", Words(2500),
       Trie(0, 0, {{}, true, true, true, FstOptions::kIfPossible}), kNone,
       "2500 leaves, 1820 nodes, 4 digits of 1 codes; 15 levels dense, child "
       "bits, 681 runs",
       ".+++++...+..++...++..+.+++.+..++.+.++..+.++...+",
       ".+++++...+..+++..++..+.+++.+..++.+.++.++.++...+",
       "+++..+...++.++++.+.+++.+.++...+",
       "2500 988l 1064lh 539lh 481 39l 371 1380lh"},
      {"coded_words_hash", Words(1200),
       Trie(6, 0, {{}, true, true, true, FstOptions::kIfPossible}), kNone,
       "1200 leaves, 906 nodes, 4 digits of 1 codes; 13 levels dense, child "
       "bits, 384 runs",
       "...+......+.........................+..........",
       "++.++..++++++++..+.+..+++++.+.++++.++++.+.++...",
       "+++.++++....+.++.++.++++..++++.++...",
       "1200 903lh 740h 438l 27h 457lh 445lh 274lh"},
      {"coded_chains", PrefixChains(),
       Trie(4, 0, {{}, true, true, true, FstOptions::kIfPossible}), kNone,
       "563 leaves, 531 nodes, 4 digits of 4 codes; 19 levels dense, child "
       "bits, 399 runs",
       ".+......................................",
       ".+.........+............................",
       "+........+........................", "563 250h 28 195 326 78 155l 321"},
      {"coded_paths", LongPaths(),
       Trie(0, 0, {{2, 1, 0}, true, false, true, FstOptions::kIfPossible}),
       kNone,
       "30 leaves, 25 nodes, 4 digits of 1 codes; 1 levels sparse, child bits, "
       "1 runs; 1 levels quotient, child bits, 1 runs; 5 levels dense, child "
       "bits, 16 runs",
       ".+.++.++++++..+++.+...+.+...+..+..+.+..+.+...+..++",
       ".+.++.++++++..+++++.+.+.+.+++.+++.+.++++++.+++.+++",
       "++++++++.+++...+.++.++.+.+..++", "30 1h 13l 3h 24lh 12lh 25lh 5"},
      {"coded_emails_prefix_bits", Emails(1500),
       PrefixBits(8, {5, 7}, FstOptions::kIfPossible), kNone,
       "1500 leaves, 1024 nodes, 4 digits of 1 codes, 8 prefix bits of step 1; "
       "10 levels dense, child bits, 195 runs",
       "...++.....++...+..+...+.+.......++.+....+++....+..",
       "...++.+...++..++..+..++.+...+...++.+...++++...++..",
       ".++..+++.+...++......+++...+++..+..",
       "1500 311h 442h 1333h 471l 993h 1045lh 1420"},
      {"coded_chains_prefix_bits", PrefixChains(),
       PrefixBits(7, {3, 9}, FstOptions::kIfPossible), kNone,
       "563 leaves, 531 nodes, 4 digits of 4 codes, 7 prefix bits of step 1; "
       "19 levels dense, child bits, 399 runs",
       "........................................",
       "........................................",
       "..................................", "563 250h 28 195 326 78 155l 321"},
      {"annotated",
       {"app", "apple", "apply", "band"},
       Trie(4, 8, {{0, 1, 8}}),
       kNone,
       "4 leaves, 3 nodes, 6 bytes; 1 levels dense, children listed; 1 levels "
       "quotient, leaves listed, 1 terminators, 1 runs; 1 levels sparse, "
       "children listed",
       ".............................................",
       "..++..+.......+++.++.......++.....+.++.++....",
       "......................+........",
       "4 3 1h 1 1h 0 1 0"},
      {"dense_child_bits", Emails(300), Trie(0, 4, {{0}, true, false}), kNone,
       "300 leaves, 155 nodes, 17 bytes; 21 levels dense, child bits, 10 "
       "terminators",
       ".+.+...+.++.++.+..+...+.+...+..++++..+.+.+.+.+....",
       ".+.++.++.+++++.++++...+.+.+.+.+++++..+++++.+++.+..",
       "++.+++.+.+..++...+.++..+.+.++.+....",
       "300 11h 153h 132 114h 93h 141l 145lh"},
      {"dense_leaves_listed", MostlyTerminators(), Trie(4, 0, {{0}}), kNone,
       "360 leaves, 349 nodes, 38 bytes; 30 levels dense, leaves listed, 348 "
       "terminators",
       "......................................",
       "......................................",
       "...................................", "360 30 227 163 32 223 210 78"},
      {"quotient_leaves_listed", MostlyTerminators(), Trie(1, 1, {{3}}), kNone,
       "360 leaves, 349 nodes, 38 bytes; 30 levels quotient, leaves listed, "
       "348 terminators",
       "......................................",
       "......................................",
       "...................................", "360 30 227 163 32 223 210 78"},
      {"sparse_children_listed", Counters(900, 3), Trie(0, 0, {{8}}), kNone,
       "900 leaves, 13 nodes, 256 bytes; 3 levels sparse, children listed",
       ".+.+......++.+...............+..++..++...+..",
       ".+.+......++.+...............+..++..++...+..",
       "++...+++.....+++..++..+..", "900 355h 753h 434 0 79 106lh 127h"},
      {"whole_alphabet", Emails(300), Trie(0, 3, {{8}, false}), kNone,
       "300 leaves, 155 nodes, 256 bytes; 21 levels sparse, child bits, 10 "
       "terminators",
       ".+.+...+.++.++.+..+...+.+...+..++++..+.+++.+.+....",
       ".+.++.++.+++++.++++...+.+.+.+.+++++..+++++.+++.+..",
       "++.+++.+.+..++...+.++..+.++++.+....",
       "300 11h 153h 132 114h 93h 141l 145lh"},
      {"runs_as_nodes", LongPaths(), Trie(0, 6, {{2}, true, true, false}),
       kNone,
       "30 leaves, 1411 nodes, 12 bytes; 345 levels quotient, leaves listed",
       ".+.++.+.++++..+++.+...+.+...+..+..+.+..+.+...+..++",
       ".+.++.+.++++..+++++.+.+.+.+++.+++.+.++++++.+++.+++",
       "+++.++++.+++...+.++.++.+.+..++", "30 1h 13l 3h 24l 12lh 25lh 5"},
      {"upside_down", Pairs(150), Trie(0, 0, {{8, 3, 1, 0}}), kNone,
       "354 leaves, 219 nodes, 11 bytes; 1 levels sparse, leaves listed; 1 "
       "levels quotient, leaves listed; 1 levels quotient, child bits, 8 "
       "terminators, 27 runs; 3 levels dense, children listed, 46 terminators, "
       "126 runs",
       ".+........+....+............+...+.+....++....+...+",
       ".+........+....+............+...+.+....++....+...+",
       "+....+.+......+..++....++...+...+", "354 59h 44 32 18 228 90h 295"},
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
