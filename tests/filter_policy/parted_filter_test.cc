// SPDX-License-Identifier: Apache-2.0

//  Filters in parts and in units, and what RocksDB is told of the size of a
//  filter while it is being built.

#include "filter_policy/parted_filter.h"

#include <cmath>

#include "filter_policy/amq/bloom.h"
#include "filter_policy/building/file_filter_builder.h"
#include "rocksdb/convenience.h"
#include "tests/filter_blocks.h"
#include "tests/with_salt.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct Form {
  const char* name;
  const char* policy;
  size_t part_bytes;      // 0 for as few parts as there can be
  size_t max_key_memory;  // of a group of Proteus; 0 for the usual
};

const Form kForms[] = {
    {"Proteus", "proteus:12", 512, 0},
    {"ProteusInGroups", "proteus:12", 0, 60 << 10},
    {"ProteusInGroupsOfParts", "proteus:12", 1024, 100 << 10},
    {"OnePrefixFilter", "prefixbloom:10", 1200, 0},
    {"TwoPrefixFilters", "prefixbloom2:14", 2400, 0},
    {"Surf", "surf:0:8", 512, 0},
    {"SurfAlone", "surf:0:0", 512, 0},
    {"SurfWithHashes", "surf:4:4", 1024, 0},
};

void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

// A Proteus whose groups have less memory than usual.
class SmallGroups : public ProteanFilterPolicy {
 public:
  explicit SmallGroups(size_t max_key_memory)
      : max_key_memory_(max_key_memory) {}
  const char* Name() const override { return "protean.SmallGroups"; }
  FileBuilders NewFileBuilders(const FilterBuildingContext&, Env*,
                               uint64_t) const override {
    ProteusSettings settings;
    settings.max_key_memory = max_key_memory_;
    return {kProteusKind, [settings](const FilterTask& task) {
              return std::make_unique<ProteusBuilder>(settings, nullptr, task);
            }};
  }

 private:
  const size_t max_key_memory_;
};

class FileFilterTest : public testing::Test {
 protected:
  void SetPolicy(const std::string& policy) {
    EXPECT_OK(FilterPolicy::CreateFromString({}, policy, &policy_));
  }
  // In parts of about that many bytes, unless that is 0.
  void SetPartBytes(size_t part_bytes) {
    table_options_.cache_index_and_filter_blocks = part_bytes > 0;
    table_options_.metadata_block_size = part_bytes;
  }
  std::unique_ptr<FilterBitsBuilder> NewBuilder(
      const FilterPolicy& policy, const FilterBuildingContext& context) const {
    return std::unique_ptr<FilterBitsBuilder>(
        AsProteanFilterPolicy(&policy)->NewBuilder(context, Env::Default(),
                                                   kUsualPrice, built_));
  }

  void Open(const std::string& bytes) {
    block_.reset();
    bytes_ = bytes;
    block_ = std::make_unique<FilterBlock>(bytes_);
  }
  const std::vector<FilterPart>& parts() const {
    return block_->directory().parts();
  }

  BlockBasedTableOptions table_options_;
  std::shared_ptr<const FilterPolicy> policy_;
  std::shared_ptr<FinishedFilter> built_ = std::make_shared<FinishedFilter>();
  Keys keys_;
  std::string bytes_;
  std::unique_ptr<FilterBlock> block_;
};

class PartedFilterTest : public FileFilterTest,
                         public testing::WithParamInterface<Form> {
 protected:
  PartedFilterTest() {
    SetPartBytes(GetParam().part_bytes);
    if (GetParam().max_key_memory > 0) {
      policy_ = std::make_shared<SmallGroups>(GetParam().max_key_memory);
    } else {
      SetPolicy(GetParam().policy);
    }
  }

  std::unique_ptr<FilterBitsBuilder> NewBuilder() const {
    return FileFilterTest::NewBuilder(*policy_,
                                      FilterBuildingContext(table_options_));
  }
  // Adds each key some times, if that is -1 once and the last key first.
  void Build(const Keys& keys, int times = 1) {
    const std::unique_ptr<FilterBitsBuilder> builder = NewBuilder();
    keys_ = keys;
    for (size_t i = 0; i < keys.size(); i++) {
      const size_t place = times < 0 ? keys.size() - 1 - i : i;
      for (int j = std::abs(times); j > 0; j--) builder->AddKey(keys[place]);
    }
    EXPECT_EQ(keys.size(), builder->EstimateEntriesAdded());
    Open(Finish(builder.get()));
    ASSERT_OK(block_->status());
    EXPECT_EQ(keys.size(), block_->header().num_keys);
    EXPECT_EQ(keys.front().substr(0, 64), block_->smallest().ToString());
    EXPECT_EQ(keys.back().substr(0, 64), block_->largest().ToString());
  }
  // Indexes of keys, those around the borders of parts among them.
  std::vector<size_t> Places() const {
    std::vector<size_t> places;
    for (size_t i = 0; i < keys_.size(); i += 1 + keys_.size() / 997) {
      places.push_back(i);
    }
    const size_t step = 1 + parts().size() / 50;
    for (size_t i = 1; i < parts().size(); i += step) {
      const uint64_t before = parts()[i].keys_before;
      for (size_t place = before - 2; place < before + 2; place++) {
        if (place < keys_.size()) places.push_back(place);
      }
    }
    return places;
  }

  void AskEverything() {
    Random rnd(7);
    std::string end;
    for (const size_t place : Places()) {
      const std::string& key = keys_[place];
      ASSERT_TRUE(block_->KeyMayMatch(key)) << Hex(key);
      ASSERT_TRUE(block_->PrefixMayMatch(
          Slice(key.data(), rnd.Uniform(static_cast<int>(key.size()) + 1))));
      const Keys around = Around(key);
      const std::string far = rnd.OneIn(3)   ? around.back()
                              : rnd.OneIn(2) ? AnyOf(keys_, &rnd)
                                             : AnyOf(keys_, &rnd) + "x";
      for (const std::string& lo : around) {
        ASSERT_NO_FATAL_FAILURE(AskBounds(lo));
        for (const std::string& hi : {key, key + '\0', far}) {
          for (bool inclusive : {false, true}) AskRange(lo, hi, inclusive);
        }
      }
    }
    Keys asked;
    for (int i = 0; i < 500; i++) {
      asked.push_back(i % 2 == 0 ? keys_[rnd.Next() % keys_.size()]
                                 : rnd.RandomBinaryString(8));
    }
    for (const bool sorted : {false, true}) {
      if (sorted) std::sort(asked.begin(), asked.end());
      const std::vector<bool> answers = AnswersToBatch(*block_, asked);
      for (size_t i = 0; i < asked.size(); i++) {
        ASSERT_EQ(block_->KeyMayMatch(asked[i]), answers[i]) << Hex(asked[i]);
      }
    }
  }

  void AskBounds(const std::string& bound) {
    SCOPED_TRACE(Hex(bound));
    ASSERT_TRUE(LowerBoundHolds(*block_, keys_, bound));
    const auto first = std::lower_bound(keys_.begin(), keys_.end(), bound);
    const bool is_above = first == keys_.end();
    ASSERT_TRUE(is_above || block_->MayHaveKeyAtOrAbove(bound));
    ASSERT_FALSE(is_above && block_->HasKeyAtOrAbove(bound));
    ASSERT_TRUE(KeysIn(keys_, "", bound) == 0 ||
                block_->MayHaveKeyAtOrBelow(bound));
    ASSERT_FALSE(first == keys_.begin() && block_->HasKeyBelow(bound));
    std::string quick;
    if (!block_->QuickLowerBound(bound, &quick)) {
      ASSERT_TRUE(is_above);
      return;
    }
    ASSERT_LE(bound, quick);
    ASSERT_EQ(first, std::lower_bound(keys_.begin(), keys_.end(), quick));
    std::string again;
    ASSERT_TRUE(block_->QuickLowerBound(quick, &again));
    ASSERT_EQ(quick, again);
  }

  void AskRange(const std::string& lo, const std::string& hi, bool inclusive) {
    const uint64_t keys = KeysIn(keys_, lo, hi, inclusive);
    ASSERT_TRUE(keys == 0 || block_->RangeMayMatch(lo, hi, inclusive))
        << Hex(lo) << " " << Hex(hi);
    RangeCount count;
    if (lo > hi || !block_->CountRange(lo, hi, inclusive, &count)) return;
    ASSERT_TRUE(CountIsOf(keys, count)) << Hex(lo) << " " << Hex(hi);
  }
};

Keys RandomNumbers(size_t count, uint64_t seed = 5) {
  Random64 random(seed);
  return MakeKeys(count, [&](size_t) { return BigEndian(random.Next()); });
}

Keys AllFamilies() {
  Keys keys;
  for (const KeyFamily& family : KeyFamilies(3000, 11)) {
    keys.insert(keys.end(), family.keys.begin(), family.keys.end());
  }
  SortUnique(&keys);
  return keys;
}

INSTANTIATE_TEST_SUITE_P(Forms, PartedFilterTest, testing::ValuesIn(kForms),
                         [](const auto& test) { return test.param.name; });

TEST_P(PartedFilterTest, NoFalseNegatives) {
  for (const Keys& keys : {RandomNumbers(60000), AllFamilies()}) {
    ASSERT_NO_FATAL_FAILURE(Build(keys));
    EXPECT_GT(parts().size(), 3u);
    ASSERT_NO_FATAL_FAILURE(AskEverything());
  }
  // Several versions of the last key of a part do not begin the next one.
  for (const int times : {2, 5, /*descending=*/-1}) {
    SCOPED_TRACE(times);
    ASSERT_NO_FATAL_FAILURE(Build(RandomNumbers(30000), times));
    EXPECT_GT(parts().size(), 3u);
    ASSERT_NO_FATAL_FAILURE(AskEverything());
  }
  // Parts may be small, too.
  const size_t part_bytes = GetParam().part_bytes;
  for (const auto& [bytes, keys] : {std::pair<size_t, size_t>(part_bytes, 1500),
                                    {std::min<size_t>(part_bytes, 80), 300}}) {
    SetPartBytes(bytes);
    for (const KeyFamily& family : KeyFamilies(keys, 12)) {
      SCOPED_TRACE(family.name);
      ASSERT_NO_FATAL_FAILURE(Build(family.keys));
      ASSERT_NO_FATAL_FAILURE(AskEverything());
    }
  }
}

// The properties are those of all parts, and sizes are those asked for.
TEST_P(PartedFilterTest, Sizes) {
  ASSERT_NO_FATAL_FAILURE(Build(RandomNumbers(60000)));
  EXPECT_NE("", built_->properties[kDesignProperty]);
  const double bits = 8.0 * static_cast<double>(bytes_.size()) / 60000;
  EXPECT_NEAR(bits, PropertyNumber(built_->properties, kBitsPerKeyProperty, 0),
              0.01);
  if (block_->header().kind == kProteusKind) {
    const double wanted = std::stod(strchr(GetParam().policy, ':') + 1);
    EXPECT_LE(bits, wanted * 1.02);
    // Bloom filters consist of lines of 64 bytes.
    EXPECT_GE(bits, wanted * 0.92);
  }
  if (GetParam().part_bytes == 0) return;
  const double average = 1.0 * bytes_.size() / parts().size();
  EXPECT_LE(average, 1.3 * GetParam().part_bytes);
  EXPECT_GE(average, 0.7 * GetParam().part_bytes);
}

// A key is not above those of the parts before.
TEST_P(PartedFilterTest, KeysInNoOrder) {
  for (const bool at_the_end : {false, true}) {
    Keys keys = RandomNumbers(30000);
    keys[keys.size() - (at_the_end ? 1 : 5000)] = "";
    const std::unique_ptr<FilterBitsBuilder> builder = NewBuilder();
    for (const std::string& key : keys) builder->AddKey(key);
    const OwnBlock block(Finish(builder.get()));
    EXPECT_FALSE(block->CanFilter());
    EXPECT_EQ(keys.size(), block->header().num_keys);
    EXPECT_TRUE(block->KeyMayMatch("absent"));
    EXPECT_EQ("none", built_->properties[kKindProperty]);
  }
}

// One lets its keys through, but all parts must have the kind of the block.
TEST_P(PartedFilterTest, OneDamagedPart) {
  ASSERT_NO_FATAL_FAILURE(Build(RandomNumbers(60000)));
  const std::string intact = bytes_;
  const size_t damaged = parts().size() / 2;
  const FilterPart part = parts()[damaged];
  std::string bytes = bytes_;
  bytes[part.first.offset + part.first.payload_size / 2] ^= 4;
  Open(bytes);
  EXPECT_TRUE(block_->status().IsCorruption());
  EXPECT_TRUE(block_->CanFilter());
  ASSERT_NO_FATAL_FAILURE(AskEverything());
  Random64 random(10);
  size_t passed_others = 0;
  for (int i = 0; i < 5000; i++) {
    const std::string key = BigEndian(random.Next());
    if (block_->directory().Find(key) == damaged) {
      EXPECT_TRUE(block_->KeyMayMatch(key));
    } else {
      passed_others += block_->KeyMayMatch(key);
    }
  }
  EXPECT_LT(passed_others, 2500u);

  // The directory ends with the last part's kind, design and beginning.
  const FilterPart last = parts().back();
  const size_t kind = parts().front().first.offset - last.begin.size() - 3;
  ASSERT_EQ(static_cast<char>(block_->header().kind), intact[kind]);
  ASSERT_EQ(static_cast<char>(last.begin.size()), intact[kind + 2]);
  bytes = intact;
  bytes[kind] = 77;
  Open(WithRightChecksums(bytes));
  EXPECT_TRUE(block_->status().IsCorruption()) << block_->status().ToString();
  EXPECT_FALSE(block_->CanFilter());
  for (const std::string& key : keys_) ASSERT_TRUE(block_->KeyMayMatch(key));
}

// The rate of false positives is that of one filter of as many bits as the
// parts have beside what each of them adds. Where parts are too small for the
// trie that one filter has, some kinds of queries are better with the other
// design, and others worse: then the mean counts.
TEST_F(FileFilterTest, FalsePositivesOfParts) {
  constexpr int kQueries = 20000;
  keys_ = RandomNumbers(100000, /*seed=*/3);
  // The kinds: points, ranges anywhere, and short ranges after keys.
  const auto rate_of = [&](int kind) {
    Random64 random(4);
    int asked = 0;
    int positive = 0;
    while (asked < kQueries) {
      const uint64_t width = kind == 0 ? 1 : kind == 1 ? 1 << 20 : 32;
      uint64_t number = random.Next();
      if (kind == 2) {
        const std::string& key = keys_[number % keys_.size()];
        number = EndianSwapValue(DecodeFixed64(key.data())) + 1 +
                 random.Uniform(1000);
      }
      const std::string lo = BigEndian(number);
      const std::string hi = BigEndian(number + width);
      if (number + width < number || KeysIn(keys_, lo, hi, false) > 0) continue;
      asked++;
      positive += kind == 0 ? block_->KeyMayMatch(lo)
                            : block_->RangeMayMatch(lo, hi, false);
    }
    return static_cast<double>(positive) / kQueries;
  };
  // SuRF takes as many bits per key as it needs.
  for (const auto& [name, bits_per_key, settings] :
       {std::tuple<std::string, double, std::string>{"proteus:", 12, ""},
        {"proteus:", 12, ":bloom"},
        {"surf:0:4", 0, ""}}) {
    std::string designs[2];
    double rates[2][3];
    double header_bits = 0;  // of the parts, per key, at least
    for (const bool in_parts : {true, false}) {
      const std::string bits =
          bits_per_key > 0 ? std::to_string(bits_per_key - header_bits) : "";
      SetPolicy(name + bits + settings);
      SetPartBytes(in_parts ? 4096 : 0);
      built_ = std::make_shared<FinishedFilter>();
      const std::unique_ptr<FilterBitsBuilder> builder =
          NewBuilder(*policy_, FilterBuildingContext(table_options_));
      for (const std::string& key : keys_) builder->AddKey(key);
      Open(Finish(builder.get()));
      ASSERT_OK(block_->status());
      // The only part tells more of the design.
      designs[in_parts] = in_parts ? built_->properties[kDesignProperty]
                                   : block_->filter()->Report().design;
      for (const int kind : {0, 1, 2}) rates[in_parts][kind] = rate_of(kind);
      // Each part has an entry in the directory, bytes after its payload, and
      // the header of a set.
      header_bits = 8 * 45.0 * parts().size() / keys_.size();
    }
    SCOPED_TRACE(name + settings + ": " + designs[0] + "; in parts " +
                 designs[1]);
    const auto expect_alike = [&](double whole, double parts) {
      const double noise = 3 * std::sqrt(whole / kQueries);
      EXPECT_LE(parts, std::max(1.1 * whole, whole + 0.002) + noise);
    };
    double sums[2] = {0, 0};
    for (const int kind : {0, 1, 2}) {
      sums[0] += rates[0][kind];
      sums[1] += rates[1][kind];
      if (designs[0] == designs[1]) {
        expect_alike(rates[0][kind], rates[1][kind]);
      }
    }
    expect_alike(sums[0] / 3, sums[1] / 3);
  }
}

// ---- Units ----

// A filter of parts in two units, which have a set each of the same prefixes.
class FilterUnitsTest : public FileFilterTest {
 protected:
  void Build(const ProteusDesign& design, double bits_per_key = 12) {
    keys_ = RandomNumbers(40000);
    Open(BuildPartedProteus(keys_, 2500, design, bits_per_key, {1, 2},
                            /*in_units=*/true));
    ASSERT_OK(block_->status());
    EXPECT_LE(8.0 * bytes_.size(), bits_per_key * keys_.size());
    for (const FilterPart& part : parts()) ASSERT_TRUE(part.HasSecond());
    ASSERT_GT(parts().size(), 8u);
  }
  // Asks for all keys, and returns the rate at which others pass.
  static double RateOf(const FilterBlock& block, const Keys& keys) {
    for (const std::string& key : keys) {
      EXPECT_TRUE(block.KeyMayMatch(key));
      EXPECT_TRUE(block.RangeMayMatch(key, key, /*hi_inclusive=*/true));
    }
    Random64 random(11);
    constexpr int kAsked = 50000;
    int passed = 0;
    for (int i = 0; i < kAsked; i++) {
      const std::string key = BigEndian(random.Next());
      passed += block.KeyMayMatch(key);
      EXPECT_LE(block.KeyMayMatch(key),
                block.RangeMayMatch(key, key, /*hi_inclusive=*/true));
    }
    return static_cast<double>(passed) / kAsked;
  }
  // The block if the first or the second unit of each part is damaged.
  std::string WithDamaged(bool second) const {
    std::string damaged = bytes_;
    for (size_t i = 0; i < parts().size(); i++) {
      const FilterUnit& unit = block_->directory().UnitOf({i, second});
      damaged[unit.offset + unit.payload_size / 2] ^= 4;
    }
    EXPECT_TRUE(FilterBlock(damaged).status().IsCorruption());
    EXPECT_EQ(!second, !FilterBlock(damaged).CanFilter());
    return damaged;
  }
};

// Together, the units are as exact as one unit of all the bits.
TEST_F(FilterUnitsTest, RatesMultiply) {
  for (const ProteusDesign& design :
       {TrieAndSet(0, 64), TrieAndSet(0, 64, kRibbonAmq), TwoSets(24, 60)}) {
    ASSERT_NO_FATAL_FAILURE(Build(design));
    const double both = RateOf(*block_, keys_);
    const std::string first_alone = WithDamaged(/*second=*/true);
    const double first = RateOf(FilterBlock(first_alone), keys_);
    EXPECT_GT(first, 0.01);
    EXPECT_LT(first, 0.2);
    EXPECT_LT(both, 1.5 * first * first + 0.001);
    const OwnBlock whole(BuildPartedProteus(keys_, 2500, design, 12, {1, 2}));
    EXPECT_LT(both, 1.5 * RateOf(*whole, keys_) + 0.001);
    const std::string second_alone = WithDamaged(/*second=*/false);
    EXPECT_EQ(1, RateOf(FilterBlock(second_alone), keys_));
  }
}

// A range has to hold a prefix that both units let through: two different
// prefixes do not add up.
TEST_F(FilterUnitsTest, RangesAskBothUnitsForOnePrefix) {
  for (const ProteusDesign& design :
       {TrieAndSet(0, 40), TrieAndSet(10, 40), TwoSets(24, 40),
        TrieAndSet(0, 40, kRibbonAmq)}) {
    ASSERT_NO_FATAL_FAILURE(Build(design, 16));
    const std::string first_alone = WithDamaged(/*second=*/true);
    const FilterBlock first(first_alone);
    const OwnBlock whole(BuildPartedProteus(keys_, 2500, design, 16, {1, 2}));
    Random64 random(3);
    double passed_first = 0;
    double passed_both = 0;
    double passed_whole = 0;
    constexpr int kRanges = 5000;
    for (int i = 0; i < kRanges; i++) {
      const uint64_t begin = random.Next();
      const std::string lo = BigEndian(begin);
      const std::string hi = BigEndian(begin + (uint64_t{30} << 24));
      const bool both = block_->RangeMayMatch(lo, hi, true);
      ASSERT_TRUE(both || KeysIn(keys_, lo, hi) == 0);
      ASSERT_LE(both, first.RangeMayMatch(lo, hi, true));
      passed_first += first.RangeMayMatch(lo, hi, true);
      passed_both += both;
      passed_whole += whole->RangeMayMatch(lo, hi, true);
    }
    EXPECT_LT(passed_both, 0.7 * passed_first);
    EXPECT_LT(passed_both, 1.3 * passed_whole + 20) << design.Describe();
  }
}

// A seek asks once more where its iterator waits only if that may tell more.
TEST(PartsTest, BoundsAreAsTightAsThoseOfTheKind) {
  const Keys keys = RandomNumbers(3000);
  for (const size_t part_keys : {500, 5000}) {
    const OwnBlock surf(BuildPartedSurf(keys, part_keys, {4}, {}));
    EXPECT_FALSE(surf->LowerBoundIsLoose()) << part_keys;
    const OwnBlock proteus(
        BuildPartedProteus(keys, part_keys, TrieAndSet(0, 64), 12));
    EXPECT_TRUE(proteus->LowerBoundIsLoose()) << part_keys;
  }
}

// A unit may have no room for one of two sets, which the other unit has.
TEST(PartsTest, SetsThatOneUnitHasNoRoomFor) {
  const Keys keys = MakeKeys(24, [](size_t i) { return BigEndian(i << 40); });
  for (const AmqKind kind : {kBloomAmq, kRibbonAmq}) {
    for (const double share : {0.1, 0.3, 0.6}) {
      for (double bits_per_key = 40; bits_per_key < 500; bits_per_key += 3) {
        SCOPED_TRACE(testing::Message() << share << " " << bits_per_key);
        const OwnBlock block(
            BuildPartedProteus(keys, 8, TwoSets(20, 60, kind, share),
                               bits_per_key, {1, 2}, /*in_units=*/true));
        ASSERT_NO_FATAL_FAILURE(ExpectHolds(*block, keys));
        for (const std::string& key : keys) {
          ASSERT_TRUE(block->RangeMayMatch(key, key + "x", false));
        }
      }
    }
  }
}

// A unit says of which part it is, and which of the two.
TEST_F(FilterUnitsTest, WrongNames) {
  ASSERT_NO_FATAL_FAILURE(Build(TrieAndSet(0, 64)));
  const FilterUnit& unit = parts()[1].first;
  const size_t part_number = unit.offset + unit.payload_size + 4;
  for (const size_t number : {part_number, part_number + 4}) {
    for (const char other : {'\0', '\1', '\2', '\xff'}) {
      if (bytes_[number] == other) continue;
      std::string damaged = bytes_;
      damaged[number] = other;
      damaged = WithRightChecksums(damaged);
      const FilterBlock block(damaged);
      EXPECT_TRUE(block.status().IsCorruption());
      for (const std::string& key : keys_) ASSERT_TRUE(block.KeyMayMatch(key));
    }
  }
}

// ---- Estimates of sizes ----

struct Built {
  std::string block;
  size_t estimate = 0;
};

class SizeEstimatesTest : public FileFilterTest,
                          public testing::WithParamInterface<const char*> {
 protected:
  SizeEstimatesTest() { SetPolicy(GetParam()); }

  std::unique_ptr<FilterBitsBuilder> NewBuilder() {
    built_ = std::make_shared<FinishedFilter>();
    FilterBuildingContext context(table_options_);
    context.level_at_creation = 3;
    context.is_bottommost = true;
    context.reason = TableFileCreationReason::kCompaction;
    return FileFilterTest::NewBuilder(*policy_, context);
  }

  // Builds the filter of the first keys. If `asks`, RocksDB asks before each
  // key how large the file would be.
  Built Build(const Keys& keys, size_t num_keys, size_t part_bytes,
              bool asks = true) {
    SetPartBytes(part_bytes);
    const std::unique_ptr<FilterBitsBuilder> builder = NewBuilder();
    auto* const sizing = static_cast<SizingFilterBitsBuilder*>(builder.get());
    Built built;
    for (size_t i = 0; i < num_keys; i++) {
      builder->AddKey(keys[i]);
      if (!asks && i + 1 < num_keys) continue;
      built.estimate = sizing->CalculateSpace(builder->EstimateEntriesAdded());
    }
    built.block = Finish(builder.get());
    return built;
  }
};

// At every key, and later at some.
TEST_P(SizeEstimatesTest, AreNeverTooSmall) {
  for (const KeyFamily& family : KeyFamilies(200, 301)) {
    for (const size_t part_bytes : {0, 200}) {
      for (size_t i = 1; i <= family.keys.size(); i += 1 + i / 20) {
        const Built built = Build(family.keys, i, part_bytes);
        ASSERT_GE(built.estimate, built.block.size())
            << family.name << " " << i << " " << part_bytes;
      }
    }
  }
}

TEST_P(SizeEstimatesTest, AreNotMuchLarger) {
  for (const KeyFamily& family : KeyFamilies(20000, 303)) {
    if (family.keys.size() < 10000) continue;
    for (const size_t part_bytes : {0, 4096}) {
      const Built built = Build(family.keys, family.keys.size(), part_bytes);
      EXPECT_GE(built.estimate, built.block.size()) << family.name;
      // A design may take less than the bits per key that it may have.
      const size_t allowed = family.keys.size() * 12 / 8 + 1500;
      EXPECT_LE(built.estimate, std::max(allowed, built.block.size() * 14 / 10))
          << family.name;
    }
  }
}

TEST_P(SizeEstimatesTest, AskingChangesNothing) {
  for (const KeyFamily& family : KeyFamilies(5000, 304)) {
    for (const size_t part_bytes : {0, 512}) {
      const WithSalt salt(FilterSalt{1, 2});
      const Built quiet =
          Build(family.keys, family.keys.size(), part_bytes, false);
      const Built asked = Build(family.keys, family.keys.size(), part_bytes);
      EXPECT_TRUE(quiet.block == asked.block) << family.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Policies, SizeEstimatesTest,
    testing::Values("surf:0:8", "surf:4:4", "surf:0:0:8", "proteus:12",
                    "levels:surf:0:8,proteus:10",
                    "{id=protean.Proteus;filter_budget_bytes=1M}"));

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
