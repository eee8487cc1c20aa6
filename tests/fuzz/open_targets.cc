// SPDX-License-Identifier: Apache-2.0

//  Opens filter blocks that may be damaged, and asks them. The seeds are blocks
//  as builders write them, of every encoding and every design, of one part and
//  of several, with queries about their keys.

#include "filter_policy/parted_filter.h"
#include "tests/filter_blocks.h"
#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kMaxQueries = 8;

void Open(const Slice& bytes) {
  FuzzInput input(bytes);
  const Slice query_bytes = input.Bytes(input.Number16());
  const Slice contents = input.rest();
  const FilterBlock block(contents);
  FuzzInput query_input(query_bytes);
  std::vector<std::string> queries;
  while (queries.size() < kMaxQueries && !query_input.empty()) {
    queries.push_back(query_input.String());
  }
  // Stored strings, if there are any.
  queries.push_back(block.header().smallest.ToString());
  const std::vector<FilterPart>& parts = block.directory().parts();
  if (parts.size() > 1) queries.push_back(parts.back().begin.ToString());
  const BlockExam exam = Examine(block, queries, /*range_step=*/1, &contents);
  Check(exam.broken == nullptr, exam.broken);
}

template <BlockCare kCare>
std::string Mutate(const Slice& input, size_t max_size, Dice* random,
                   GenericMutator generic) {
  return MutateBlockInput(input, max_size, kCare, random, generic);
}

// ---- Seeds ----

// The inputs are small, so that a second takes many of them.
std::vector<Keys> KeySets() {
  std::vector<Keys> sets = {{"", "a", "b"}};
  for (const size_t size : {6, 40}) {
    for (KeyFamily& family : KeyFamilies(size, 7)) {
      sets.push_back(std::move(family.keys));
    }
  }
  // This set has several groups, and several blocks of rank and select.
  Dice random(7);
  Keys many;
  while (many.size() < 700) {
    const uint64_t number = random.Below(1 << 14);
    many.push_back(BigEndian(number).substr(6));
    if (number % 3 != 0) continue;
    many.push_back(many.back() + "run");
    many.push_back(many.back() + "1");
  }
  SortUnique(&many);
  sets.push_back(many);
  return sets;
}

FilterSalt SaltOf(size_t turn) { return {0x0123456789abcdef, turn}; }

std::string WithQueries(const std::string& block, const Keys& keys) {
  Strings queries;
  for (const size_t i : {size_t{0}, keys.size() / 2, keys.size() - 1}) {
    if (i < keys.size() && keys[i].size() <= 64) queries.push_back(keys[i]);
  }
  queries.push_back("a");
  return BlockInput{StoreStrings(queries), block}.Join();
}

// Adds a block, unless it is large, or cannot be built.
bool AddSmall(const std::string& block, const Keys& keys,
              std::vector<std::string>* seeds) {
  if (block.empty() || block.size() > 3000) return false;
  seeds->push_back(WithQueries(block, keys));
  return true;
}

// Filters of printed numbers that have room for up to eight alphabets.
std::vector<std::string> SeedsOfAlphabets() {
  constexpr double kBitsPerKey = 400;
  Keys numbers;
  for (uint64_t i = 0; i < 24; i++) {
    numbers.push_back(std::to_string(10'000'000 + 1'234'567 * i + i * i));
  }
  std::vector<std::string> seeds;
  size_t turn = 0;
  for (const ProteusDesign& design :
       {TrieAndSet(0, 60), TrieAndSet(18, 40), TwoSets(24, 64),
        TwoSets(20, 56, kRibbonAmq)}) {
    const FilterSalt salt = SaltOf(turn++);
    seeds.push_back(WithQueries(
        BuildProteusBlock(numbers, design, kBitsPerKey, salt), numbers));
    seeds.push_back(
        WithQueries(BuildPartedProteus(numbers, numbers.size() / 2, design,
                                       2 * kBitsPerKey, salt),
                    numbers));
  }
  return seeds;
}

std::vector<std::string> SurfSeeds() {
  std::vector<std::string> seeds;
  size_t turn = 0;
  for (const Keys& keys : KeySets()) {
    // The mixture that the builder chooses, each encoding alone, and digits.
    for (uint32_t remainder_bits = 0; remainder_bits <= 10;
         remainder_bits += 2) {
      turn++;
      SurfSuffix suffix;
      suffix.hash_bits = turn % 7;
      suffix.real_bits = turn % 4 * 2;
      suffix.prefix_bits = turn % 11;
      FstOptions options;
      options.list_exceptions = turn % 2 == 0;
      if (remainder_bits > 8) {
        options.digits = FstOptions::kIfPossible;
        suffix.real_bits = 0;
      } else {
        options.runs = turn % 5 != 0;
        options.reduce_alphabet = turn % 7 != 0;
        if (remainder_bits > 0) {
          options.forced.assign(1 + turn % 4, remainder_bits - turn % 3);
        }
      }
      if (!AddSmall(BuildSurfBlock(keys, suffix, options, SaltOf(turn)), keys,
                    &seeds)) {
        continue;
      }
      if (turn % 4 != 0 || keys.size() < 3) continue;
      seeds.push_back(
          WithQueries(BuildPartedSurf(keys, keys.size() / 3 + 1, suffix,
                                      options, SaltOf(turn)),
                      keys));
    }
  }
  return seeds;
}

std::vector<std::string> ProteusSeeds() {
  const ProteusDesign designs[] = {
      TrieAndSet(5, 0),
      TrieAndSet(20, 0),
      TrieAndSet(64, 0),
      TrieAndSet(90, 0),
      TrieAndSet(9, 33),
      TrieAndSet(16, 24, kRibbonAmq),
      TrieAndSet(30, 100),
      TrieAndSet(70, 96, kBloomAmq, 8),
      TrieAndSet(0, 7),
      TrieAndSet(0, 40, kRibbonAmq),
      TrieAndSet(0, 64),
      TrieAndSet(0, 16, kBloomAmq, 8),
      TrieAndSet(0, 200),
      TwoSets(10, 30),
      TwoSets(30, 64, kRibbonAmq),
      TwoSets(40, 100),
      WithKeys(TrieAndSet(12, 0), 0),
      WithKeys(TrieAndSet(0, 24), 0.4),
      WithKeys(TrieAndSet(12, 24), 0.5, /*alone=*/true),
  };
  std::vector<std::string> seeds;
  size_t turn = 0;
  for (const Keys& keys : KeySets()) {
    for (const ProteusDesign& design : designs) {
      // Small sets of keys have a third of the designs.
      if (turn++ % 3 != 0 && keys.size() < 20) continue;
      if (!AddSmall(BuildProteusBlock(keys, design, 12, SaltOf(turn)), keys,
                    &seeds)) {
        continue;
      }
      if (turn % 4 != 0 || keys.size() < 20) continue;
      // Each part has room for sets.
      const size_t num_parts = 2 + turn % 3;
      const double bits_per_key = 2400.0 * static_cast<double>(num_parts) /
                                  static_cast<double>(keys.size());
      seeds.push_back(WithQueries(
          BuildPartedProteus(keys, keys.size() / num_parts + 1, design,
                             bits_per_key, SaltOf(turn), turn % 8 == 0),
          keys));
    }
  }
  const std::vector<std::string> others = SeedsOfAlphabets();
  seeds.insert(seeds.end(), others.begin(), others.end());
  return seeds;
}

// Some of both kinds, and blocks without parts.
std::vector<std::string> EnvelopeSeeds() {
  std::vector<std::string> seeds;
  for (const auto& all : {SurfSeeds(), ProteusSeeds()}) {
    for (size_t i = 0; i < all.size(); i += 4) {
      if (all[i].size() < 600) seeds.push_back(all[i]);
    }
  }
  FilterBlockHeader none;
  none.num_keys = 5;
  FilterBlockWriter writer;
  for (const std::string& block :
       {Written(none, &writer), BuildSurfBlock({}, {}, {})}) {
    seeds.push_back(WithQueries(block, {"a", "b"}));
  }
  return seeds;
}

}  // namespace

const FuzzTarget kSurfTarget = {"surf", Open, SurfSeeds,
                                Mutate<BlockCare::kPayload>};
const FuzzTarget kProteusTarget = {"proteus", Open, ProteusSeeds,
                                   Mutate<BlockCare::kPayload>};
const FuzzTarget kEnvelopeTarget = {"envelope", Open, EnvelopeSeeds,
                                    Mutate<BlockCare::kEnvelope>};

}  // namespace ROCKSDB_NAMESPACE::protean
