//  Format versions 1 and 2 are frozen by filter blocks that were written once
//  and are checked in, golden/*.block. Blocks like these lie in the files of
//  applications: every later reader must read them, and answer as it did.
//
//  Each block comes of a recipe: keys, and a way to build a filter of them. The
//  first block of the recipe `name` is `name.block`. Two kinds of tests fail
//  for two reasons:
//
//    IsRead, CutShort     The reader no longer reads what was written. That is
//                         a bug.
//    IsWritten            The builder writes other bytes for the same keys than
//                         it did. If that is meant (a better choice of the
//                         encoding, say), the new block is added as
//                         `name.2.block`, then `name.3.block`: all of them must
//                         be read, and the last one is what is written today.
//                         No block is ever replaced or removed.
//
//  With the environment variable PROTEAN_WRITE_GOLDEN=1, the test writes blocks
//  that do not exist yet: of new recipes, and of those whose newest block is
//  not what the builder writes. It never overwrites one.
//
//  Keys and queries must not change with a library or a compiler: they are made
//  by a generator of the test's own, and no expression draws from it twice,
//  since the order would be the compiler's choice.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "filter_policy/filter_block.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/surf/surf.h"
#include "plugin/protean.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/lcg.h"
#include "tests/with_salt.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Keys = std::vector<std::string>;

// ---- Keys ----

Keys Sorted(const std::set<std::string>& keys) {
  return Keys(keys.begin(), keys.end());
}

Keys RandomIntegers(size_t count) {
  Lcg random(1);
  std::set<std::string> keys;
  while (keys.size() < count) keys.insert(random.Bytes(8));
  return Sorted(keys);
}

// Of few bytes each, so that many next to each other occur.
Keys Counters(uint32_t count, uint32_t step) {
  Keys keys;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t number = i * step;
    keys.push_back({static_cast<char>(number >> 16),
                    static_cast<char>(number >> 8), static_cast<char>(number)});
  }
  return keys;
}

Keys Emails(size_t count) {
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

// Runs of hundreds of bytes, a smallest and a largest key longer than what the
// header stores of them.
Keys LongPaths() {
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

// Each key a prefix of the next ones, also by 0x00 and 0xff.
Keys PrefixChains() {
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

Keys AllBytes() {
  Keys keys;
  for (int byte = 0; byte < 256; byte++) {
    keys.push_back(std::string(1, static_cast<char>(byte)));
  }
  return keys;
}

// Keys of two letters: codes of one bit.
Keys TwoLetters() {
  Lcg random(5);
  std::set<std::string> keys;
  while (keys.size() < 300) keys.insert(random.Word("01", 1, 14));
  return Sorted(keys);
}

// Of 95 letters: codes of seven bits.
Keys Printable() {
  std::string letters;
  for (char c = ' '; c <= '~'; c++) letters.push_back(c);
  Lcg random(10);
  std::set<std::string> keys;
  while (keys.size() < 400) keys.insert(random.Word(letters, 1, 6));
  return Sorted(keys);
}

// A few short runs among many nodes without one, not worth keeping.
Keys FewRuns() {
  Keys keys = RandomIntegers(500);
  for (const char* word : {"aaarun", "bbbrun", "cccrun"}) {
    keys.push_back(word + std::string("1"));
    keys.push_back(word + std::string("2"));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

// All bytes at the top, on two levels, and a few of them below: the first
// levels are best in LOUDS-Dense, the last one is not.
Keys WideTop() {
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

// Hundreds of runs, one above each pair of keys, some of them below a key.
Keys Pairs(int count) {
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

// Few edges end in leaves: most keys are terminators on long chains.
Keys MostlyTerminators() {
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

// As RocksDB builds the filter of a file, with that many suffix bits; none of
// version 1 has a salt.
Build Policy(uint32_t hash_bits, uint32_t real_bits, FilterSalt salt = {}) {
  return [=](const Keys& keys) {
    const WithSalt with(salt);
    const auto builder = NewBuilder(*NewSurfFilterPolicy(hash_bits, real_bits));
    for (const std::string& key : keys) builder->AddKey(key);
    return Finish(builder.get());
  };
}

// The same with a prefix extractor.
Build PolicyWithPrefixes(std::function<std::string(const std::string&)> prefix,
                         uint32_t hash_bits, uint32_t real_bits) {
  return [=](const Keys& keys) {
    const WithSalt with(FilterSalt{});
    const auto builder = NewBuilder(*NewSurfFilterPolicy(hash_bits, real_bits));
    for (const std::string& key : keys) {
      builder->AddKeyAndAlt(key, prefix(key));
    }
    return Finish(builder.get());
  };
}

// The encodings that a policy does not choose for so few keys: the remainder
// bits of each level.
struct Forced {
  std::vector<unsigned> remainder_bits;
  bool reduce_alphabet = true;
  bool list_exceptions = true;
  bool runs = true;
};

Build Trie(uint32_t hash_bits, uint32_t real_bits, const Forced& forced) {
  FstOptions options;
  options.forced = forced.remainder_bits;
  options.reduce_alphabet = forced.reduce_alphabet;
  options.list_exceptions = forced.list_exceptions;
  options.runs = forced.runs;
  SurfSuffix suffix;
  suffix.hash_bits = hash_bits;
  suffix.real_bits = real_bits;
  return
      [=](const Keys& keys) { return BuildSurfBlock(keys, suffix, options); };
}

// ---- Recipes ----

struct Recipe {
  const char* name;
  Keys keys;  // in the order in which they are added
  Build build;
  uint16_t flags;
  // What the first block holds (Describe).
  std::string contents;
  // The answers to the queries that QueriesAbout makes, + for "may match",
  // and to those of CountedRanges.
  std::string points;
  std::string ranges;
  std::string prefixes;
  std::string counts;
};

void PrintTo(const Recipe* recipe, std::ostream* out) { *out << recipe->name; }

std::string FirstBytes(const std::string& key) { return key.substr(0, 14); }
std::string LastBytes(const std::string& key) { return key.substr(4); }

const std::vector<Recipe>& Recipes() {
  constexpr uint16_t kNone = 0;
  constexpr uint16_t kPrefixes = FilterBlockHeader::kAskedForPrefixes;
  constexpr uint16_t kUnknownPrefixes =
      kPrefixes | FilterBlockHeader::kPrefixesUnknown;
  static const auto* const recipes = new std::vector<Recipe>{
      // As a policy builds them.
      {"no_keys",
       {},
       Policy(4, 8),
       kNone,
       "0 leaves, 0 nodes, 0 bytes",
       "..................................................",
       "..................................................",
       "..............+.....+..+......+..+................",
       "0 0 0 0 0 0 0 0"},
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
       ".....+.+.+..+..+.................+..............+.",
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
       ".+.++.++..+...+++.+...+........+.++....+++...+...+",
       ".+.++.+++.++..+++.+.+.+.+.+....++++...++++.+++.+.+",
       "++++.+.+.+..+....++...+++..+...+", "60 11h 33h 13h 8lh 19 7h 27"},
      {"unknown_prefixes", Emails(60), PolicyWithPrefixes(LastBytes, 0, 8),
       kUnknownPrefixes,
       "60 leaves, 26 nodes, 17 bytes; 5 levels quotient, child bits, 4 runs",
       ".+.++.++..+...+++.+...+........+.++....+++...+...+",
       ".+.++.+++.++..+++.+.+.+.+.+....++++...++++.+++.+.+",
       "++++++++++++++++++++++++++++++++", "60 11h 33h 13h 8lh 19 7h 27"},
      {"integers_bare", RandomIntegers(1000), Policy(0, 0), kNone,
       "1000 leaves, 246 nodes, 256 bytes; 3 levels quotient, child bits",
       "++++++++++++++++++++.++++.++++++++++++++++.+++++.+",
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
       "1000 leaves, 246 nodes, 256 bytes; 3 levels quotient, child bits",
       "..................................................",
       "++++++++++++++++++++.++++.++++++++++++++++.+++++.+",
       "++++++++++++++.++++++++++++++++++++",
       "1000 499lh 64lh 463lh 88lh 180lh 545lh 45lh"},
      {"integers_hash", RandomIntegers(1000), Policy(7, 0), kNone,
       "1000 leaves, 246 nodes, 256 bytes; 3 levels quotient, child bits",
       "..................................................",
       "++++++++++++++++++++.++++.++++++++++++++++.+++++.+",
       "++++++++++++++.++++++++++++++++++++",
       "1000 499lh 64lh 463lh 88lh 180lh 545lh 45lh"},
      {"integers_real", RandomIntegers(2500), Policy(0, 8), kNone,
       "2500 leaves, 307 nodes, 256 bytes; 3 levels quotient, children listed",
       "++++++++++++++++++++.++++.+++.++++++++++++.+++++.+",
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
       ".+.+..........+.......+...+..+..+...++....+...",
       ".+.+..........+.......+...+..+..+...++....+...",
       "++....+..+..+.++..++..+..", "4000 2433l 753h 512 4000 1387 195 0"},
      {"wide_top", WideTop(), Policy(0, 0), kNone,
       "4032 leaves, 515 nodes, 256 bytes; 2 levels dense, leaves listed; 1 "
       "levels quotient, children listed",
       ".+.+......+....+...............+..+....++....+...+",
       ".+.+......+....+...............+..+....++....+...+",
       "++...+.+.....++...++..+.+", "4032 704l 3345h 439 1707 1970 647h 944"},
      {"emails", Emails(1500), Policy(0, 4), kNone,
       "1500 leaves, 655 nodes, 17 bytes; 23 levels quotient, child bits, 163 "
       "terminators",
       ".+.++..+..++...+..+...+.+.......++.+....+++...++..",
       ".+.++.++..++..++..+..++.+...+...++.+...++++...++..",
       "++++.+++.+...++......+++...+++.++..",
       "1500 311h 442h 1333h 471l 992 1045lh 1420"},
      {"pairs", Pairs(700), Policy(3, 2), kNone,
       "1641 leaves, 988 nodes, 11 bytes; 6 levels quotient, child bits, 243 "
       "terminators, 701 runs",
       ".................................................",
       "................+...............+.......+........",
       "..........+............+......+.......",
       "1641 809 135 390 362 1333 166 479"},
      {"long_paths", LongPaths(), Policy(4, 4), kNone,
       "30 leaves, 20 nodes, 12 bytes; 4 levels quotient, child bits, 9 runs",
       "..............+................+..................",
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
       "++++++++++++.+++++++.++++.+++.++++++++++++.+++++.+",
       "++++++++++++.+++++++.++++.+++.++++++++++++.+++++.+",
       "++++++++++++++.+++.++++++++++++++++",
       "506h 337lh 104lh 113lh 366lh 74lh 71lh 210h"},
      {"all_bytes", AllBytes(), Policy(0, 0), kNone,
       "256 leaves, 1 nodes, 256 bytes; 1 levels dense, children listed",
       ".+.++.+..+.+++...+..+++", ".+.++.+..+.+++...+..+++", "++++++++++++",
       "256h 203h 145h 13h 103h 171h 99h 4lh"},
      {"two_letters", TwoLetters(), Policy(3, 0), kNone,
       "300 leaves, 274 nodes, 2 bytes; 13 levels sparse, child bits, 117 "
       "terminators",
       "...................................+.++....",
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
      // With encodings that a policy would not choose for these keys.
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

std::vector<const Recipe*> RecipePointers() {
  std::vector<const Recipe*> pointers;
  for (const Recipe& recipe : Recipes()) pointers.push_back(&recipe);
  return pointers;
}

// ---- Files ----

std::filesystem::path GoldenFolder() {
  return std::filesystem::path(PROTEAN_SOURCE_DIR) / "tests" / "filter_policy" /
         "golden";
}

// The n-th block of a recipe, from 1.
std::filesystem::path GoldenPath(const Recipe& recipe, int n) {
  const std::string number = n == 1 ? "" : "." + std::to_string(n);
  return GoldenFolder() / (recipe.name + number + ".block");
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// All blocks of a recipe, from the oldest to the newest.
std::vector<std::filesystem::path> GoldenFiles(const Recipe& recipe) {
  std::vector<std::filesystem::path> paths;
  for (int n = 1; std::filesystem::exists(GoldenPath(recipe, n)); n++) {
    paths.push_back(GoldenPath(recipe, n));
  }
  return paths;
}

void WriteIfNew(const Recipe& recipe) {
  const std::vector<std::filesystem::path> files = GoldenFiles(recipe);
  const std::string block = recipe.build(recipe.keys);
  if (!files.empty() && ReadFile(files.back()) == block) return;
  const auto path = GoldenPath(recipe, static_cast<int>(files.size()) + 1);
  std::ofstream(path, std::ios::binary) << block;
}

// ---- What a block holds, read as docs/file_format.md says ----

struct SectionFields {
  uint32_t levels, nodes, edges, children, terminators, runs, run_codes;
  unsigned remainder_bits, child_encoding, exception_bits;
};

struct BlockFields {
  explicit BlockFields(const std::string& block) {
    const char* at = block.data() + DecodeFixed32(&block[kPayloadOffset]);
    hash_bits = static_cast<uint8_t>(at[0]);
    real_bits = static_cast<uint8_t>(at[1]);
    at += 8;
    height = DecodeFixed32(at);
    nodes = DecodeFixed32(at + 4);
    leaves = DecodeFixed32(at + 8);
    const uint32_t num_sections = DecodeFixed32(at + 12);
    at += 24;
    for (int i = 0; i < 32; i++) {
      for (int bit = 0; bit < 8; bit++) alphabet_size += at[i] >> bit & 1;
    }
    while ((1u << code_bits) < alphabet_size) code_bits++;
    at += 32;
    for (uint32_t i = 0; i < num_sections; i++, at += 32) {
      auto number = [at](int n) { return DecodeFixed32(at + 4 * n); };
      auto byte = [at](int n) { return static_cast<uint8_t>(at[28 + n]); };
      sections.push_back({number(0), number(1), number(2), number(3), number(4),
                          number(5), number(6), byte(0), byte(1), byte(2)});
    }
  }

  unsigned hash_bits = 0;
  unsigned real_bits = 0;
  uint32_t height = 0;
  uint32_t nodes = 0;
  uint32_t leaves = 0;
  unsigned alphabet_size = 0;
  unsigned code_bits = 1;
  std::vector<SectionFields> sections;
};

// How the edges of a section are stored, and which of them lead to nodes.
std::string DescribeEncoding(const BlockFields& block,
                             const SectionFields& section) {
  const std::string labels = section.remainder_bits == 0 ? "dense"
                             : section.remainder_bits == block.code_bits
                                 ? "sparse"
                                 : "quotient";
  const char* const children[] = {"child bits", "children listed",
                                  "leaves listed"};
  return labels + ", " + children[section.child_encoding];
}

std::string Describe(const std::string& bytes) {
  if (bytes[kKindOffset] == 0) return "no filter";
  const BlockFields block(bytes);
  std::string text = std::to_string(block.leaves) + " leaves, " +
                     std::to_string(block.nodes) + " nodes, " +
                     std::to_string(block.alphabet_size) + " bytes";
  for (const SectionFields& section : block.sections) {
    text += "; " + std::to_string(section.levels) + " levels " +
            DescribeEncoding(block, section);
    if (section.terminators > 0) {
      text += ", " + std::to_string(section.terminators) + " terminators";
    }
    if (section.runs > 0) text += ", " + std::to_string(section.runs) + " runs";
  }
  return text;
}

// ---- Queries ----

struct Range {
  std::string lo;
  std::string hi;
  bool hi_inclusive;
};

struct Queries {
  Keys points;
  std::vector<Range> ranges;
  Keys prefixes;
};

// Near a key, so that a filter may take it for one.
std::string NearMiss(Lcg* random, const std::string& key) {
  const std::string tail = random->Bytes(1);
  switch (key.empty() ? 0 : random->Next(5)) {
    case 0:
      return key + tail;
    case 1:  // another last byte
      return key.substr(0, key.size() - 1) + tail;
    case 2:
      return key.substr(0, random->Next(key.size()));
    case 3:  // another end
      return key.substr(0, random->Next(key.size())) + tail;
    default:  // of the keys' own bytes
      return key.substr(0, key.size() / 2) + key[random->Next(key.size())];
  }
}

// A range without keys that begins at a point without one. `next` is the first
// key above it, or null.
Range EmptyRange(Lcg* random, const std::string& lo, const std::string* next) {
  if (next != nullptr && random->Next(2) == 0) return {lo, *next, false};
  const std::string hi = lo + "\xff";
  if (next == nullptr || hi < *next) return {lo, hi, true};
  return {lo, lo, true};
}

// Queries for what is not there.
Queries QueriesAbout(const Keys& keys_added) {
  constexpr int kTries = 50;
  const std::set<std::string> keys(keys_added.begin(), keys_added.end());
  const Keys sorted = Sorted(keys);
  Lcg random(8);
  Queries queries;
  for (int i = 0; i < kTries; i++) {
    const std::string key =
        keys.empty() ? random.Bytes(2) : sorted[random.Next(sorted.size())];
    const std::string point = NearMiss(&random, key);
    if (keys.count(point) > 0) continue;
    const auto next = keys.lower_bound(point);
    queries.points.push_back(point);
    queries.ranges.push_back(
        EmptyRange(&random, point, next == keys.end() ? nullptr : &*next));
    if (next == keys.end() || !Slice(*next).starts_with(point)) {
      queries.prefixes.push_back(point);
    }
  }
  return queries;
}

std::string Answers(const FilterBlock& block, const Keys& points) {
  std::string answers;
  for (const std::string& key : points) {
    answers += block.KeyMayMatch(key) ? '+' : '.';
  }
  return answers;
}

std::string Answers(const FilterBlock& block,
                    const std::vector<Range>& ranges) {
  std::string answers;
  for (const Range& range : ranges) {
    answers +=
        block.RangeMayMatch(range.lo, range.hi, range.hi_inclusive) ? '+' : '.';
  }
  return answers;
}

std::string PrefixAnswers(const FilterBlock& block, const Keys& prefixes) {
  std::string answers;
  for (const std::string& prefix : prefixes) {
    answers += block.PrefixMayMatch(prefix) ? '+' : '.';
  }
  return answers;
}

// Ranges between points that are no keys.
std::vector<Range> CountedRanges(const Keys& keys) {
  const Keys points = QueriesAbout(keys).points;
  std::vector<Range> ranges = {{"", std::string(400, '\xff'), true}};
  for (size_t i = 0; i + 1 < points.size() && ranges.size() < 8; i += 2) {
    ranges.push_back({std::min(points[i], points[i + 1]),
                      std::max(points[i], points[i + 1]), true});
  }
  return ranges;
}

// Numbers of keys; with l and h where the first or the last one counted may lie
// outside.
std::string Counts(const Surf& surf, const std::vector<Range>& ranges) {
  std::string text;
  for (const Range& range : ranges) {
    const RangeCount counted = surf.Count(range.lo, range.hi);
    if (!text.empty()) text += " ";
    text += std::to_string(counted.count) + (counted.low_ambiguous ? "l" : "") +
            (counted.high_ambiguous ? "h" : "");
  }
  return text;
}

const Surf* SurfOf(const FilterBlock& block) {
  return block.header().kind == kSurfKind
             ? static_cast<const Surf*>(block.filter())
             : nullptr;
}

// ---- What is expected of a block ----

void ExpectHeader(const FilterBlock& block, const Recipe& recipe) {
  const FilterBlockHeader& header = block.header();
  const std::set<std::string> keys(recipe.keys.begin(), recipe.keys.end());
  EXPECT_EQ(recipe.flags, header.flags);
  EXPECT_EQ(keys.size(), header.num_keys);
  if (recipe.contents == "no filter") {
    EXPECT_EQ(FilterKind::kAlwaysTrue, header.kind);
    EXPECT_EQ("", Hex(header.smallest));
    EXPECT_EQ("", Hex(header.largest));
    return;
  }
  EXPECT_EQ(kSurfKind, header.kind);
  const std::string smallest = recipe.keys.empty() ? "" : recipe.keys.front();
  const std::string largest = recipe.keys.empty() ? "" : recipe.keys.back();
  EXPECT_EQ(Hex(smallest.substr(0, 64)), Hex(header.smallest));
  EXPECT_EQ(Hex(largest.substr(0, 64)), Hex(header.largest));
}

// As the table asks: one by one, and for MultiGet all at once.
void ExpectReaderFinds(const Slice& block, const Keys& keys) {
  ProteanFilterBitsReader protean_reader(block);
  FilterBitsReader& reader = protean_reader;
  std::vector<Slice> slices(keys.begin(), keys.end());
  std::vector<Slice*> pointers;
  for (Slice& slice : slices) pointers.push_back(&slice);
  const std::unique_ptr<bool[]> found(new bool[keys.size()]);
  reader.MayMatch(static_cast<int>(keys.size()), pointers.data(), found.get());
  for (size_t i = 0; i < keys.size(); i++) {
    ASSERT_TRUE(reader.MayMatch(slices[i])) << Hex(keys[i]);
    ASSERT_TRUE(found[i]) << Hex(keys[i]);
  }
}

void ExpectFound(const FilterBlock& block, const Keys& keys) {
  for (const std::string& key : keys) {
    ASSERT_TRUE(block.KeyMayMatch(key)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch(key, key, true)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch(key, key + '\0', false)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch("", key, true)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch(key, std::string(400, '\xff'), true))
        << Hex(key);
    for (size_t length = 0; length <= key.size(); length++) {
      ASSERT_TRUE(block.PrefixMayMatch(Slice(key.data(), length))) << Hex(key);
    }
  }
}

size_t SharedLength(const std::string& a, const std::string& b) {
  return Slice(a).difference_offset(b);
}

// The keys, each cut off one byte past what it shares with its neighbours.
void ExpectIterated(const Surf& surf, const Keys& keys) {
  Surf::Iterator it(&surf);
  it.SeekToFirst();
  for (size_t i = 0; i < keys.size(); i++, it.Next()) {
    size_t shared = i == 0 ? 0 : SharedLength(keys[i - 1], keys[i]);
    if (i + 1 < keys.size()) {
      shared = std::max(shared, SharedLength(keys[i], keys[i + 1]));
    }
    ASSERT_TRUE(it.Valid());
    ASSERT_EQ(Hex(keys[i].substr(0, shared + 1)), Hex(it.key_prefix()));
  }
  EXPECT_FALSE(it.Valid());
}

void ExpectCountsHoldKeys(const Surf& surf, const std::vector<Range>& ranges,
                          const Keys& keys) {
  for (const Range& range : ranges) {
    const auto count = static_cast<uint64_t>(
        std::upper_bound(keys.begin(), keys.end(), range.hi) -
        std::lower_bound(keys.begin(), keys.end(), range.lo));
    const RangeCount counted = surf.Count(range.lo, range.hi);
    EXPECT_GE(counted.count, count) << Hex(range.lo) << " " << Hex(range.hi);
    EXPECT_LE(counted.count,
              count + counted.low_ambiguous + counted.high_ambiguous)
        << Hex(range.lo) << " " << Hex(range.hi);
  }
}

// What the second block of a recipe, which knows the lengths of the keys,
// answers where that makes a difference to Recipe::points.
const std::map<std::string, std::string>& PointsWithLengths() {
  static const auto* const points = new std::map<std::string, std::string>{
      {"one_key", ".......+.........................................."},
      {"literal_prefixes",
       ".+.++.++..+...++..+...+........+.++....+++...+...+"},
      {"unknown_prefixes",
       ".+.++.++..+...++..+...+........+.++....+++...+...+"},
      {"integers_bare", "....+..+.+........+...+.+......+....++...+....+..."},
      {"integers_real", "....+..+.+........+...+.+......+....++...+....+..."},
      {"counters", ".............................................."},
      {"wide_top", ".................................................."},
      {"long_paths", "...............................+.................."},
      {"few_runs", "....+.++.+........+...+.+......+....++...+....+..."},
      {"all_bytes", "......................."},
      {"two_letters", "...................................+.+....."}};
  return *points;
}

void ExpectAnswers(const FilterBlock& block, const Recipe& recipe) {
  SCOPED_TRACE(
      "answers to queries for what is not there; one that was + and is . "
      "shows a better reader, for which the expectation may change");
  const Queries queries = QueriesAbout(recipe.keys);
  const auto newer = PointsWithLengths().find(recipe.name);
  EXPECT_EQ(
      block.header().key_lengths != 0 && newer != PointsWithLengths().end()
          ? newer->second
          : recipe.points,
      Answers(block, queries.points));
  EXPECT_EQ(recipe.ranges, Answers(block, queries.ranges));
  EXPECT_EQ(recipe.prefixes, PrefixAnswers(block, queries.prefixes));
  const Surf* surf = SurfOf(block);
  EXPECT_EQ(recipe.counts,
            surf == nullptr ? "" : Counts(*surf, CountedRanges(recipe.keys)));
}

// Where in a block an offset lies, in words.
std::string PartOf(const std::string& block, size_t offset) {
  const size_t payload = DecodeFixed32(&block[kPayloadOffset]);
  if (offset < payload) return "the envelope";
  if (block[kKindOffset] == 0) return "the zeros at the end";
  if (offset < payload + 8) return "the SuRF header";
  const size_t sections = payload + 8 + 24 + 32;
  if (offset < sections) return "the trie's header";
  if (offset < sections + 32 * BlockFields(block).sections.size()) {
    return "the header of section " + std::to_string((offset - sections) / 32);
  }
  return "the arrays";
}

// The first byte that differs, but for the checksum, which always does.
std::string FirstDifference(const std::string& golden,
                            const std::string& written) {
  size_t offset = 0;
  while (offset < golden.size() && offset < written.size() &&
         (golden[offset] == written[offset] ||
          (offset >= kChecksumOffset && offset < kCheckedOffset))) {
    offset++;
  }
  return "byte " + std::to_string(offset) + ", in " + PartOf(golden, offset);
}

std::string SuffixFeature(const BlockFields& block) {
  if (block.hash_bits + block.real_bits == 0) return "no suffix";
  if (block.hash_bits + block.real_bits == 64) return "64 suffix bits";
  if (block.hash_bits == 0) return "real suffix";
  return block.real_bits == 0 ? "hash suffix" : "both suffixes";
}

// What a block is an example of.
std::set<std::string> FeaturesOf(const std::string& bytes) {
  if (bytes[kKindOffset] == 0) return {"no filter"};
  const BlockFields block(bytes);
  std::set<std::string> features = {SuffixFeature(block)};
  if (block.sections.size() > 3) features.insert("many sections");
  if (block.sections.empty()) return features;
  features.insert("codes of " + std::to_string(block.code_bits) + " bits");
  for (const SectionFields& section : block.sections) {
    features.insert(DescribeEncoding(block, section));
    // More of them than one entry of the tables is for.
    const bool many_nodes = section.nodes > 512;
    if (many_nodes && section.terminators > 0) features.insert("terminators");
    if (many_nodes && section.runs > 64) features.insert("runs");
    if (section.run_codes > 100 * section.runs) features.insert("long runs");
    if (section.child_encoding != 0 && section.exception_bits == 0) {
      features.insert("exceptions of no bits");
    }
  }
  return features;
}

// ---- One block, byte by byte ----
//
// Of the keys app, apple, apply and band, with 4 hash and 8 real suffix bits,
// and each level in another encoding:
//
//   node 0, dense         a -> node 1       b: leaf 0 (band)
//   node 1, quotient      run pp, terminator: leaf 1 (app), l -> node 2
//   node 2, sparse        e: leaf 2 (apple)                 y: leaf 3 (apply)

struct Annotation {
  size_t offset;
  const char* bytes;  // in hex
  const char* meaning;
};

const Annotation kAnnotated[] = {
    // The envelope.
    {0, "50 52 54 4E", "magic: PRTN"},
    {4, "01", "format version"},
    {5, "01", "kind: SuRF"},
    {6, "00 00", "flags"},
    {8, "46 33 76 C6", "CRC-32C of all other bytes"},
    {12, "28 00 00 00", "offset of the payload: 40"},
    {16, "04 00 00 00 00 00 00 00", "keys"},
    {24, "03 00", "length of the smallest key"},
    {26, "04 00", "length of the largest key"},
    {28, "00 00 00 00", "zero"},
    {32, "61 70 70", "the smallest key: app"},
    {35, "62 61 6E 64", "the largest key: band"},
    {39, "00", "zeros up to the payload"},
    // The payload.
    {40, "04", "hash suffix bits"},
    {41, "08", "real suffix bits"},
    {42, "00 00 00 00 00 00", "zeros"},
    // The trie's header.
    {48, "03 00 00 00", "height"},
    {52, "03 00 00 00", "nodes"},
    {56, "04 00 00 00", "leaves"},
    {60, "03 00 00 00", "sections"},
    {64, "0C 00 00 00", "bits of a value: 12"},
    {68, "00 00 00 00", "zero"},
    {72, "00 00 00 00 00 00 00 00 00 00 00 00", "no bytes below 60"},
    {84, "26 10 01 02", "61 a, 62 b, 65 e, 6C l, 70 p, 79 y: codes 0 to 5"},
    {88, "00 00 00 00 00 00 00 00", "no bytes from 80"},
    {96, "00 00 00 00 00 00 00 00", "no bytes from C0"},
    // The header of section 0.
    {104, "01 00 00 00", "levels"},
    {108, "01 00 00 00", "nodes"},
    {112, "02 00 00 00", "edges: a, b"},
    {116, "01 00 00 00", "edges that lead to nodes: a"},
    {120, "00 00 00 00", "nodes with a terminator"},
    {124, "00 00 00 00", "nodes with a run"},
    {128, "00 00 00 00", "codes in runs"},
    {132, "00", "remainder bits: none, LOUDS-Dense"},
    {133, "01", "the edges that lead to nodes are listed"},
    {134, "01", "bits of each one listed"},
    {135, "00", "zero"},
    // The header of section 1.
    {136, "01 00 00 00", "levels"},
    {140, "01 00 00 00", "nodes"},
    {144, "01 00 00 00", "edges: l"},
    {148, "01 00 00 00", "edges that lead to nodes: l"},
    {152, "01 00 00 00", "nodes with a terminator"},
    {156, "01 00 00 00", "nodes with a run"},
    {160, "02 00 00 00", "codes in runs: pp"},
    {164, "01", "remainder bits: one of three, LOUDS-Quotient"},
    {165, "02", "the edges that lead to no node are listed"},
    {166, "00", "bits of each one listed: none, the group has one edge"},
    {167, "00", "zero"},
    // The header of section 2.
    {168, "01 00 00 00", "levels"},
    {172, "01 00 00 00", "nodes"},
    {176, "02 00 00 00", "edges: e, y"},
    {180, "00 00 00 00", "edges that lead to nodes"},
    {184, "00 00 00 00", "nodes with a terminator"},
    {188, "00 00 00 00", "nodes with a run"},
    {192, "00 00 00 00", "codes in runs"},
    {196, "03", "remainder bits: all three, LOUDS-Sparse"},
    {197, "01", "the edges that lead to nodes are listed"},
    {198, "01", "bits of each one listed"},
    {199, "00", "zero"},
    // The arrays of section 0.
    {200, "00 00 00 00 00 00 00 00", "before node 0: no edges"},
    {208, "02 00 00 00 01 00 00 00", "in all: 2 edges, 1 leads to a node"},
    {216, "03 00 00 00 00 00 00 00", "labels: codes 0 (a) and 1 (b)"},
    {224, "00 00 00 00 00 00 00 00", "listed: edge 0"},
    // The arrays of section 1.
    {232, "00 00 00 00 00 00 00 00", "before the only group: no edges"},
    {240, "01 00 00 00 01 00 00 00", "in all: 1 edge, which leads to a node"},
    {248, "1D 00 00 00 00 00 00 00", "labels, first bit first: 1, 01, 1, 1"},
    {256, "01 00 00 00 00 00 00 00", "remainder 1 of quotient 1: code 3 (l)"},
    {264, "01 00 00 00 00 00 00 00", "the node has a terminator"},
    {272, "00 00 00 00 00 00 00 00", "none before the first 512 nodes"},
    {280, "01 00 00 00 00 00 00 00", "the node has a run"},
    {288, "00 00 00 00 00 00 00 00", "none before the first 512 nodes"},
    {296, "01 00 00 00 00 00 00 00", "a run begins at the first of 2 codes"},
    {304, "00 00 00 00 00 00 00 00", "the first run begins at 0"},
    {312, "24 00 00 00 00 00 00 00", "the run: codes 4, 4 (pp)"},
    // The arrays of section 2.
    {320, "00 00 00 00 00 00 00 00", "before the only group: no edges"},
    {328, "02 00 00 00 00 00 00 00", "in all: 2 edges"},
    {336, "02 00 00 00 00 00 00 00", "labels: the second edge is the last"},
    {344, "2A 00 00 00 00 00 00 00", "remainders: codes 2 (e) and 5 (y)"},
    // The values, of 12 bits: what follows the stored prefix, and the hash.
    {352, "10 16 00 00 40 00 00 00",
     "61'0 band, 00'1 app, 00'0 apple, 00'4 apply"},
    {360, "00 00 00 00 00 00 00 00", "zeros that queries may read"},
    {368, "00 00 00 00 00 00 00 00", "zeros that queries may read"},
};

std::string BytesOf(const Annotation& annotation) {
  std::string hex = annotation.bytes;
  hex.erase(std::remove(hex.begin(), hex.end(), ' '), hex.end());
  std::string bytes;
  EXPECT_TRUE(Slice(hex).DecodeHex(&bytes));
  return bytes;
}

// ---- The tests ----

class GoldenTest : public testing::TestWithParam<const Recipe*> {
 protected:
  static void SetUpTestSuite() {
    const char* write = getenv("PROTEAN_WRITE_GOLDEN");
    if (write == nullptr || std::string(write) != "1") return;
    std::filesystem::create_directories(GoldenFolder());
    for (const Recipe& recipe : Recipes()) WriteIfNew(recipe);
  }

  const Recipe& recipe() const { return *GetParam(); }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Recipes, GoldenTest,
                         testing::ValuesIn(RecipePointers()),
                         [](const auto& test) { return test.param->name; });

TEST_P(GoldenTest, IsRead) {
  const auto files = GoldenFiles(recipe());
  ASSERT_FALSE(files.empty()) << "the recipe has no block yet";
  for (const auto& file : files) {
    SCOPED_TRACE(
        "THE READER NO LONGER READS WHAT WAS WRITTEN, which is a bug: " +
        file.filename().string());
    const GuardedBlock copy(ReadFile(file), /*misalignment=*/1);
    const FilterBlock block(copy.slice());
    ASSERT_OK(block.status());
    ExpectHeader(block, recipe());
    ExpectFound(block, recipe().keys);
    ExpectReaderFinds(copy.slice(), recipe().keys);
    ExpectAnswers(block, recipe());
    if (const Surf* surf = SurfOf(block); surf != nullptr) {
      ExpectIterated(*surf, recipe().keys);
      ExpectCountsHoldKeys(*surf, CountedRanges(recipe().keys), recipe().keys);
    }
  }
}

TEST_P(GoldenTest, IsWritten) {
  const auto files = GoldenFiles(recipe());
  ASSERT_FALSE(files.empty()) << "the recipe has no block yet";
  const std::string golden = ReadFile(files.back());
  const std::string written = recipe().build(recipe().keys);
  EXPECT_TRUE(golden == written)
      << "THE BUILDER WRITES OTHER BYTES than " << files.back().filename()
      << " for the same keys.\nWas: " << Describe(golden)
      << "\nIs:  " << Describe(written) << "\nThe first difference is "
      << FirstDifference(golden, written)
      << ".\nUnless that was meant, it is a bug. If it was, the reader must "
         "still read the old block (test IsRead), which stays, and the new one "
         "is added to it: run with PROTEAN_WRITE_GOLDEN=1.";
}

TEST_P(GoldenTest, HoldsWhatItIsFor) {
  const std::string bytes = ReadFile(GoldenPath(recipe(), 1));
  ASSERT_FALSE(bytes.empty()) << "the recipe has no block yet";
  EXPECT_EQ(recipe().contents, Describe(bytes));
  EXPECT_LE(bytes.size(), 8192u) << "golden blocks are small";
}

// Neither the checksum nor, if that is right, the lengths let a shorter block
// pass.
TEST_P(GoldenTest, CutShort) {
  for (const auto& file : GoldenFiles(recipe())) {
    SCOPED_TRACE(file.filename().string());
    const std::string bytes = ReadFile(file);
    for (size_t bytes_cut : {1, 8}) {
      const std::string cut = bytes.substr(0, bytes.size() - bytes_cut);
      for (const std::string& damaged : {cut, WithRightChecksum(cut)}) {
        const GuardedBlock copy(damaged);
        const FilterBlock block(copy.slice());
        EXPECT_TRUE(block.status().IsCorruption()) << bytes_cut;
        EXPECT_FALSE(block.CanFilter());
      }
    }
  }
}

// A block whose recipe is gone would no longer be tested.
TEST(GoldenFilesTest, HaveRecipes) {
  std::set<std::filesystem::path> known;
  for (const Recipe& recipe : Recipes()) {
    for (const auto& file : GoldenFiles(recipe)) known.insert(file);
  }
  for (const auto& entry :
       std::filesystem::directory_iterator(GoldenFolder())) {
    EXPECT_EQ(1u, known.count(entry.path())) << entry.path();
  }
}

// All that the format has is in some block.
TEST(GoldenFilesTest, CoverTheFormat) {
  std::set<std::string> found;
  for (const Recipe& recipe : Recipes()) {
    const std::string bytes = ReadFile(GoldenPath(recipe, 1));
    ASSERT_FALSE(bytes.empty()) << recipe.name << " has no block yet";
    found.merge(FeaturesOf(bytes));
  }
  const std::set<std::string> wanted = {"no filter",
                                        "no suffix",
                                        "hash suffix",
                                        "real suffix",
                                        "both suffixes",
                                        "64 suffix bits",
                                        "dense, child bits",
                                        "dense, children listed",
                                        "dense, leaves listed",
                                        "quotient, child bits",
                                        "quotient, children listed",
                                        "quotient, leaves listed",
                                        "sparse, child bits",
                                        "sparse, children listed",
                                        "sparse, leaves listed",
                                        "terminators",
                                        "runs",
                                        "long runs",
                                        "exceptions of no bits",
                                        "many sections",
                                        "codes of 1 bits",
                                        "codes of 2 bits",
                                        "codes of 3 bits",
                                        "codes of 4 bits",
                                        "codes of 5 bits",
                                        "codes of 6 bits",
                                        "codes of 7 bits",
                                        "codes of 8 bits"};
  for (const std::string& feature : wanted) {
    EXPECT_EQ(1u, found.count(feature)) << "no block has: " << feature;
  }
}

TEST(GoldenFilesTest, AnnotatedBytes) {
  const std::string golden = ReadFile(GoldenFolder() / "annotated.block");
  ASSERT_FALSE(golden.empty());
  size_t end = 0;
  for (const Annotation& annotation : kAnnotated) {
    SCOPED_TRACE(annotation.meaning);
    ASSERT_EQ(end, annotation.offset);
    const std::string bytes = BytesOf(annotation);
    EXPECT_EQ(Hex(bytes), Hex(golden.substr(end, bytes.size())));
    end += bytes.size();
  }
  EXPECT_EQ(golden.size(), end);
}

}  // namespace ROCKSDB_NAMESPACE::protean
