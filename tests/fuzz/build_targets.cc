// SPDX-License-Identifier: Apache-2.0

//  Builds filters of the input's keys, and compares their answers with these.

#include "tests/filter_blocks.h"
#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kParameters = 16;

// The last parameters; the first ones are the filter's.
constexpr size_t kNumQueries = kParameters - 1;
constexpr size_t kSalt = kParameters - 2;
constexpr size_t kPartKeys = kParameters - 3;  // 0 for one part

// The parameters, a byte each, then queries, then keys.
struct BuildInput {
  explicit BuildInput(const Slice& bytes) {
    FuzzInput input(bytes);
    parameters = input.Bytes(kParameters).ToString();
    parameters.resize(kParameters);
    while (queries.size() < Parameter(kNumQueries) % 10) {
      queries.push_back(input.String());
    }
    queries.emplace_back();
    keys = ParseStrings(input);
    SortUnique(&keys);
  }

  uint32_t Parameter(size_t index) const {
    return static_cast<uint8_t>(parameters[index]);
  }
  // A number from two bytes, so that prefixes longer than any key occur.
  uint32_t Bits(size_t index) const {
    return Parameter(index) + 256 * (Parameter(index + 1) % 3);
  }
  // No salt, or one.
  FilterSalt Salt() const {
    return {uint64_t{Parameter(kSalt)} << 56, Parameter(kSalt)};
  }

  std::string parameters;
  Keys queries;
  Keys keys;  // ascending, all different
};

std::string MakeSeed(const std::string& parameters, uint8_t num_queries,
                     const Keys& strings, uint8_t part_keys = 0) {
  std::string input = parameters;
  input.resize(kParameters);
  input[kNumQueries] = static_cast<char>(num_queries);
  input[kSalt] = static_cast<char>(strings.size() % 2);
  input[kPartKeys] = static_cast<char>(part_keys);
  return input + StoreStrings(strings);
}

std::string Mutate(const Slice& input, size_t max_size, Dice* random,
                   GenericMutator generic) {
  FuzzInput pieces(input);
  std::string parameters = pieces.Bytes(kParameters).ToString();
  std::string strings = pieces.rest().ToString();
  parameters.resize(std::min(kParameters, max_size));
  for (uint64_t left = 1 + random->Below(3); left > 0; left--) {
    if (random->OneIn(10)) {
      const size_t size = parameters.size();
      parameters = MutateGenerically(parameters, size, generic);
      parameters.resize(size);
    } else {
      strings =
          MutateStrings(strings, max_size - parameters.size(), random, generic);
    }
  }
  return parameters + strings;
}

void CheckKeys(const FilterBlock& block, const Keys& keys) {
  for (const std::string& key : keys) {
    Check(block.KeyMayMatch(key), "a key is found");
    Check(block.RangeMayMatch(key, key, true), "a range of one key is found");
    Check(block.RangeMayMatch("", key + '\0', false), "the key is before");
    Check(block.PrefixMayMatch(Slice(key.data(), key.size() / 2)),
          "a prefix is found");
    Check(block.MayHaveKeyAtOrAbove(key), "the key is at or above itself");
    Check(block.HasKeyAtOrAbove(key) || key.size() > 64,
          "the largest key is known");
  }
  const std::vector<bool> answers = AnswersToBatch(block, keys);
  Check(std::count(answers.begin(), answers.end(), false) == 0,
        "keys are found together");
}

void CheckQueries(const FilterBlock& block, const Keys& keys,
                  const Keys& queries) {
  const BlockExam exam = Examine(block, queries);
  Check(exam.broken == nullptr, exam.broken);
  for (const std::string& lo : queries) {
    Check(LowerBoundHolds(block, keys, lo), "a search skips no key");
    const auto first = std::lower_bound(keys.begin(), keys.end(), lo);
    Check(first == keys.end() || block.MayHaveKeyAtOrAbove(lo),
          "a key above is not overlooked");
    Check(!block.HasKeyAtOrAbove(lo) || first != keys.end(),
          "a key above is there");
    Check(!block.HasKeyBelow(lo) || first != keys.begin(),
          "a key below is there");
    for (const std::string& hi : queries) {
      if (hi < lo) continue;
      const uint64_t count = KeysIn(keys, lo, hi);
      Check(count == 0 || block.RangeMayMatch(lo, hi, true),
            "a closed range is found");
      Check(KeysIn(keys, lo, hi, /*hi_inclusive=*/false) == 0 ||
                block.RangeMayMatch(lo, hi, false),
            "a half-open range is found");
      RangeCount counted;
      if (!block.CountRange(lo, hi, true, &counted)) continue;
      Check(CountIsOf(count, counted), "a count is exact but for its ends");
    }
  }
}

// A block that was built of the input's keys.
struct BuiltBlock {
  BuiltBlock(const std::string& bytes, const BuildInput& input)
      : copy(bytes), block(copy.slice()) {
    Check(block.status().ok(), "what was built can be opened");
    CheckKeys(block, input.keys);
    CheckQueries(block, input.keys, input.queries);
  }
  const GuardedBlock copy;
  const FilterBlock block;
};

// ---- SuRF ----

void BuildSurf(const Slice& data) {
  const BuildInput input(data);
  SurfSuffix suffix;
  suffix.hash_bits = input.Parameter(0) % (SurfSuffix::kMaxHashBits + 1);
  suffix.real_bits = input.Parameter(1) % (SurfSuffix::kMaxRealBits + 1);
  // Parameters are bytes, so each adds up to 7.
  suffix.prefix_bits =
      std::min(input.Parameter(0) / (SurfSuffix::kMaxHashBits + 1) +
                   input.Parameter(1) / (SurfSuffix::kMaxRealBits + 1),
               SurfSuffix::kMaxBits - suffix.bits());
  FstOptions options;
  const uint32_t flags = input.Parameter(2);
  options.reduce_alphabet = (flags & 1) != 0;
  options.list_exceptions = (flags & 2) != 0;
  options.runs = (flags & 4) != 0;
  if ((flags & 8) != 0) options.digits = FstOptions::kIfPossible;
  if ((flags & 16) != 0) suffix.real_bits = 0;
  for (uint32_t i = 0; i < flags >> 5; i++) {
    options.forced.push_back(input.Parameter(3 + i) % 9);
  }
  if (input.keys.empty()) return;
  const std::string bytes = BuildPartedSurf(
      input.keys, input.Parameter(kPartKeys), suffix, options, input.Salt());
  if (bytes.empty()) {
    // A filter can only be too large to build; a node takes up to 64 bytes.
    size_t key_bytes = 0;
    for (const std::string& key : input.keys) key_bytes += key.size();
    Check(key_bytes > 1000, "a small filter can be built");
    return;
  }
  const BuiltBlock built(bytes, input);
  if (built.block.directory().parts().size() != 1) return;
  Surf::Iterator it(&static_cast<const Surf&>(*built.block.filter()));
  it.SeekToFirst();
  for (const std::string& key : input.keys) {
    Check(it.Valid() && Slice(key).starts_with(it.key_prefix()),
          "the iterator visits all keys");
    it.Next();
  }
  Check(!it.Valid(), "the iterator ends");
}

std::vector<std::string> SurfBuildSeeds() {
  return {
      MakeSeed({8, 4, 7}, 3, {"b", "ab", "zz", "", "a", "ab", "abc", "b"}),
      MakeSeed({'\xe7', 33, 5}, 2,
               {"com.a", "com.acm@johnson42", "com.acm@johnd", "com.acm@john",
                "com.acm@kim", "com.acm@kimberley", "com.ex@jo\xff\xff"}),
      MakeSeed({0, 0, 4}, 2,
               {"com.a", "com.z", "com.acm@x", "com.acm@y", "com.acm@yz",
                "org.acm@x", "org.example@someone", "org.example@somewhere"}),
      MakeSeed({4, 4, 7}, 3,
               {"b", "ab", "abd", "a", "abc", "abe", "abca", "b", "bb", "c"},
               2),
      MakeSeed({0, 8, '\x63', 3, 5, 8}, 2,
               {"k1", "k9", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"}),
      MakeSeed({4, 0, '\xe6', 0, 1, 2, 3, 4, 5, 6}, 1,
               {"x", std::string(3, '\0'), std::string(7, '\0'),
                std::string(3, '\xff'), std::string(8, '\xff')}),
  };
}

// ---- Proteus ----

ProteusDesign DesignOf(const BuildInput& input) {
  const uint32_t flags = input.Parameter(0);
  const uint32_t first = input.Bits(1);
  const double share = input.Parameter(6) / 255.0;
  Layer outer;
  outer.bits = first;
  Layer inner;
  if ((flags & 2) != 0) inner.bits = first + 1 + input.Bits(3);
  const bool two_sets = (flags & 4) != 0 && inner.bits > 0;
  if (two_sets) {
    outer.share = share;
  } else {
    outer.kind = Layer::Kind::kTrie;
    const uint32_t lead = input.Parameter(5) % 8;
    if (first + lead <= 64) outer.lead = lead;
  }
  if ((flags & 8) != 0 && inner.bits > 0) {
    inner.kind = Layer::Kind::kSeries;
    inner.bits = BytesForBits(inner.bits) * 8;
    inner.stride = 8 * (1 + input.Parameter(7) % 16);
  }
  ProteusDesign design;
  design.amq = (flags & 1) != 0 ? kRibbonAmq : kBloomAmq;
  if (outer.bits > 0) design.Add(outer);
  if (inner.bits > 0) design.Add(inner);
  return two_sets || (input.Parameter(5) & 8) == 0
             ? design
             : WithKeys(design, share, (input.Parameter(5) & 16) != 0);
}

void CheckProteus(const BuildInput& input, const ProteusSettings& settings,
                  std::vector<SampleQuery> samples) {
  if (input.keys.empty()) return;
  const double part_bytes =
      settings.bits_per_key / 8 * input.Parameter(kPartKeys);
  const std::string bytes =
      BuildProteusBlock(input.keys, settings, std::move(samples), input.Salt(),
                        static_cast<uint64_t>(part_bytes));
  Check(!bytes.empty(), "the filter can be built");
  BuiltBlock(bytes, input);
}

void BuildProteus(const Slice& data) {
  const BuildInput input(data);
  ProteusSettings settings;
  settings.bits_per_key = 1 + input.Parameter(8);
  settings.forced = DesignOf(input);
  CheckProteus(input, settings, {});
}

void DesignProteus(const Slice& data) {
  const BuildInput input(data);
  ProteusSettings settings;
  settings.bits_per_key = 1 + input.Parameter(0) % 64;
  settings.space = static_cast<DesignSpace>(input.Parameter(1) % 3);
  if ((input.Parameter(2) & 1) != 0) settings.kinds = {kBloomAmq};
  if ((input.Parameter(2) & 2) != 0) settings.kinds = {kRibbonAmq};
  settings.keys_alone = (input.Parameter(2) & 4) != 0 &&
                        settings.space != DesignSpace::kTwoPrefixFilters;
  std::vector<SampleQuery> samples;
  for (const std::string& lo : input.queries) {
    for (const std::string& hi : input.queries) {
      if (samples.size() == input.Parameter(3)) break;
      samples.push_back({lo, hi, samples.size() % 2 == 0});
    }
  }
  CheckProteus(input, settings, std::move(samples));
}

std::vector<std::string> SeedsOf(const std::vector<std::string>& parameters) {
  const Keys mixed = {"b", "ab", "zz", "", "a", "ab", "abc", "b"};
  const Keys text = {
      "com.a",     "com.z",      "com.acm@x",          "com.acm@y",
      "org.acm@x", "org.acm@yz", "org.example@someone"};
  Keys integers = {"\x01\x02", "\x7f"};
  for (char c = 0; c < 24; c++) {
    integers.push_back(std::string("\x01\x02\x03\x04", 4) + c + '\x05');
  }
  std::vector<std::string> seeds;
  for (const Keys& strings : {mixed, text, integers}) {
    for (const std::string& some : parameters) {
      seeds.push_back(MakeSeed(some, 2, strings, seeds.size() % 3 * 3));
    }
  }
  return seeds;
}

// Designs: a trie, a set, both, two sets, a series, whole keys.
std::vector<std::string> ProteusBuildSeeds() {
  return SeedsOf({{0, 12, 0, 0, 0, 3, 0, 0, 12},
                  {2, 0, 0, 40, 0, 0, 0, 0, 12},
                  {3, 12, 0, 30, 0, 1, 0, 0, 20},
                  {6, 12, 0, 30, 0, 0, 127, 0, 12},
                  {10, 7, 0, 8, 0, 0, 0, 1, 16},
                  {0, 20, 0, 0, 0, 8, 127, 0, 16}});
}

// Designs of each space, with and without samples.
std::vector<std::string> DesignSeeds() {
  return SeedsOf({{12, 0, 0, 9}, {12, 1, 2, 9}, {14, 2, 0, 9}, {10, 2, 1, 0}});
}

}  // namespace

const FuzzTarget kSurfBuildTarget = {"surf_build", BuildSurf, SurfBuildSeeds,
                                     Mutate};
const FuzzTarget kProteusBuildTarget = {"proteus_build", BuildProteus,
                                        ProteusBuildSeeds, Mutate};
const FuzzTarget kDesignTarget = {"design", DesignProteus, DesignSeeds, Mutate};

}  // namespace ROCKSDB_NAMESPACE::protean
