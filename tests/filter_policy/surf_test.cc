// SPDX-License-Identifier: Apache-2.0

//  SuRF, over bytes and over digits of a code, against a simple model: a list
//  of leaves (surf_models.h). It is not enough that the filter has no false
//  negatives: it must give the model's answer to every query.
//
//  The prefix bits of SuRF, one by one, as docs/internals/file_format.md
//  defines them; and the step of a file.

#include "filter_policy/surf/surf.h"

#include "filter_policy/surf/surf_suffix.h"
#include "tests/filter_blocks.h"
#include "tests/filter_policy/surf_models.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A SuRF at an odd address; over digits, if that is asked for and possible.
class OwnedSurf {
 public:
  OwnedSurf(const Keys& keys, const SurfSuffix& suffix, FstOptions options = {},
            bool coded = false) {
    if (coded) options.digits = FstOptions::kIfPossible;
    SurfBuilder builder(suffix, options, {kModelSalt, 0});
    for (const std::string& key : keys) builder.AddKey(key);
    bytes_ = "?" + FinishPayload(&builder);
    payload_size_ = bytes_.size() - 1 - kReadPadding;
    const Slice payload(bytes_.data() + 1, payload_size_);
    EXPECT_OK(Surf::Open(payload, kModelSalt, &filter_));
    is_coded_ = (payload[0] & 0x80) != 0;
    Slice code(payload.data() + 8, payload.size() - 8);
    EXPECT_TRUE(!is_coded_ || code_.Open(&code));
  }

  const Surf& operator*() const { return static_cast<Surf&>(*filter_); }
  const Surf* operator->() const { return &**this; }
  // With the step that the builder has chosen.
  const SurfSuffix& suffix() const { return (**this).suffix(); }
  bool is_coded() const { return is_coded_; }
  const KeyCode& code() const { return code_; }
  double bits_per_key(size_t keys) const {
    return 8.0 * static_cast<double>(payload_size_) / static_cast<double>(keys);
  }

 private:
  std::string bytes_;
  size_t payload_size_;
  std::unique_ptr<RangeFilter> filter_;
  bool is_coded_ = false;
  KeyCode code_;
};

const SurfSuffix kSuffixes[] = {{0, 0},    {4, 0},    {0, 4},    {0, 8},
                                {3, 5},    {0, 16},   {7, 13},   {32, 32},
                                {0, 1},    {1, 0},    {0, 0, 8}, {0, 0, 16},
                                {0, 0, 1}, {3, 5, 4}, {0, 8, 6}, {16, 32, 16}};

// Digits go with no real bits.
const SurfSuffix kCodedSuffixes[] = {
    {0, 0}, {5, 0}, {0, 0, 3}, {2, 0, 16}, {3, 0, 8}, {0, 0, 1}, {3, 0, 13}};

// The exact count after the ambiguous keys have been looked up, as RangeCounter
// does it: at each bound, the first key at or above it.
uint64_t ResolvedCount(const Keys& keys, const std::string& lo,
                       const std::string& hi, bool hi_inclusive,
                       const RangeCount& counted) {
  const auto is_first = [&](const std::string& bound, size_t shared,
                            const std::string& limit, bool or_bound) {
    const auto key = std::lower_bound(keys.begin(), keys.end(), bound);
    return key != keys.end() && (or_bound || *key != bound) &&
           Slice(*key).starts_with(Slice(bound.data(), shared)) &&
           (limit.empty() || *key < limit);
  };
  uint64_t count = counted.count;
  bool low_is_below = false;
  if (counted.low_ambiguous) {
    low_is_below = !is_first(lo, counted.low_shared, counted.low_limit, true);
    if (low_is_below) count--;
  }
  if (counted.high_ambiguous && !(low_is_below && counted.count == 1) &&
      is_first(hi, counted.high_shared, counted.high_limit, !hi_inclusive)) {
    count--;
  }
  return count;
}

void CheckRange(const OwnedSurf& surf, const SurfModel& model, const Keys& keys,
                const std::string& lo, const std::string& hi, bool inclusive) {
  const uint64_t truth = KeysIn(keys, lo, hi, inclusive);
  const bool may_match = surf->RangeMayMatch(lo, hi, inclusive);
  const bool expected = model.Range(lo, hi, inclusive);
  ASSERT_TRUE(may_match || truth == 0);
  ASSERT_TRUE(may_match == expected || (expected && !model.IsExact()));
  RangeCount counted;
  ASSERT_TRUE(surf->CountRange(lo, hi, inclusive, &counted));
  ASSERT_LE(counted.low_shared, lo.size());
  ASSERT_LE(counted.high_shared, hi.size());
  ASSERT_TRUE(CountIsOf(truth, counted));
  ASSERT_EQ(truth, ResolvedCount(keys, lo, hi, inclusive, counted));
  // With prefix bits, a count looks at each bound alone, unless both leave the
  // same key open.
  ASSERT_LE(may_match, counted.count > 0);
  if (surf.suffix().prefix_bits == 0) {
    ASSERT_EQ(may_match, counted.count > 0);
  }
  if (const auto* plain = dynamic_cast<const PlainSurfModel*>(&model)) {
    const RangeCount wanted = plain->Count(lo, hi, inclusive);
    ASSERT_EQ(wanted.count, counted.count);
    ASSERT_EQ(wanted.low_ambiguous, counted.low_ambiguous);
    ASSERT_EQ(wanted.high_ambiguous, counted.high_ambiguous);
  }
}

void CheckSeek(const OwnedSurf& surf, const SurfModel& model, const Keys& keys,
               const std::string& target) {
  Surf::Iterator it(&*surf);
  const bool ambiguous = it.Seek(target);
  std::string bound;
  ASSERT_EQ(it.Valid(), surf->LowerBound(target, &bound));
  bool may_be_below;
  const size_t leaf = model.Seek(target, &may_be_below);
  if (model.IsExact()) {
    ASSERT_EQ(may_be_below, ambiguous);
    ASSERT_EQ(leaf < keys.size(), it.Valid());
  }
  if (!it.Valid()) {
    ASSERT_TRUE(keys.empty() || keys.back() < target);
    return;
  }
  ASSERT_LE(target, bound);
  ASSERT_EQ(0u, KeysIn(keys, target, bound, false));
  if (ambiguous) {
    ASSERT_EQ(Hex(target), Hex(bound));
  }
  if (model.IsExact()) {
    ASSERT_TRUE(Slice(keys[leaf]).starts_with(it.key_prefix()));
  }
  if (const auto* plain = dynamic_cast<const PlainSurfModel*>(&model)) {
    const PlainSurfModel::Leaf& of_model = plain->leaves()[leaf];
    ASSERT_EQ(Hex(of_model.prefix), it.key_prefix().ToString(true));
    ASSERT_EQ(of_model.whole_key, it.IsWholeKey());
    ASSERT_EQ(plain->Real(of_model), it.real_suffix());
  }
}

// All that starts with a prefix.
void CheckScan(const OwnedSurf& surf, const SurfModel& model,
               const std::string& prefix) {
  const auto* coded = dynamic_cast<const CodedSurfModel*>(&model);
  if (coded == nullptr || prefix.empty() || prefix.back() == '\xff') return;
  std::string end = prefix;
  end.back()++;
  bool is_sure;
  const bool expected = coded->Scan(prefix, end, &is_sure);
  const bool may_match = surf->RangeMayMatch(prefix, end, false);
  ASSERT_LE(may_match, expected);
  ASSERT_TRUE(!is_sure || may_match == expected);
}

// All keys, and their leaves in the model unless it is nullptr.
void CheckIterator(const OwnedSurf& surf, const PlainSurfModel* plain,
                   const Keys& keys) {
  Surf::Iterator it(&*surf);
  it.SeekToFirst();
  for (size_t i = 0; i < keys.size(); i++, it.Next()) {
    ASSERT_TRUE(it.Valid());
    ASSERT_TRUE(Slice(keys[i]).starts_with(it.key_prefix())) << Hex(keys[i]);
    if (plain != nullptr) {
      ASSERT_EQ(Hex(plain->leaves()[i].prefix), it.key_prefix().ToString(true));
    }
  }
  ASSERT_FALSE(it.Valid());
}

void Compare(const Keys& keys, const Keys& queries, const SurfSuffix& suffix,
             const FstOptions& options, bool coded) {
  const OwnedSurf surf(keys, suffix, options, coded);
  ASSERT_EQ(coded, surf.is_coded());
  ASSERT_EQ(keys.size(), surf->fst().num_leaves());
  std::unique_ptr<SurfModel> model;
  if (coded) {
    model = std::make_unique<CodedSurfModel>(surf.code(), keys, surf.suffix());
  } else {
    model = std::make_unique<PlainSurfModel>(keys, surf.suffix());
  }
  for (const std::string& key : keys) {
    ASSERT_TRUE(surf->KeyMayMatch(key)) << Hex(key);
  }
  // All keys at once are more than a batch.
  const std::vector<bool> found = AnswersToBatch(*surf, queries);
  for (size_t i = 0; i < queries.size(); i++) {
    const std::string& lo = queries[i];
    ASSERT_EQ(model->Key(lo), surf->KeyMayMatch(lo)) << Hex(lo);
    ASSERT_EQ(model->Key(lo), found[i]) << Hex(lo);
    ASSERT_NO_FATAL_FAILURE(CheckSeek(surf, *model, keys, lo)) << Hex(lo);
    ASSERT_NO_FATAL_FAILURE(CheckScan(surf, *model, lo)) << Hex(lo);
    for (const std::string& hi : queries) {
      for (const bool inclusive : {false, true}) {
        CheckRange(surf, *model, keys, lo, hi, inclusive);
        ASSERT_FALSE(testing::Test::HasFatalFailure())
            << Hex(lo) << " " << Hex(hi) << (inclusive ? " inclusive" : "");
      }
    }
  }
  CheckIterator(surf, dynamic_cast<const PlainSurfModel*>(model.get()), keys);
}

Keys Draw(const Keys& space, int size, Random* rnd) {
  return MakeKeys(size, [&](size_t) { return AnyOf(space, rnd); });
}

// With a trie over bytes, and over digits.
class SurfTest : public testing::TestWithParam<bool> {
 protected:
  bool coded() const { return GetParam(); }

  SurfSuffix SuffixOf(int round) const {
    return coded() ? kCodedSuffixes[round % std::size(kCodedSuffixes)]
                   : kSuffixes[round % std::size(kSuffixes)];
  }
  // Digits go with an alphabet that is reduced, and with runs.
  FstOptions RandomOptions(Random* rnd) const {
    FstOptions options;
    options.list_exceptions = rnd->OneIn(2);
    if (!coded()) {
      options.reduce_alphabet = rnd->OneIn(2);
      options.runs = rnd->OneIn(2);
    }
    for (int i = rnd->Uniform(6); i > 0; i--) {
      options.forced.push_back(rnd->Uniform(coded() ? 3 : 9));
    }
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Tries, SurfTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& trie) {
                           return trie.param ? "OverDigits" : "OverBytes";
                         });

// Queries of random sets of keys may have bytes that do not occur in these.
TEST_P(SurfTest, ExhaustiveSmallSpaces) {
  Random rnd(301);
  const std::pair<std::string, std::string> alphabets[] = {
      {std::string("\0a\xff", 3), std::string("\0a\xff", 3)},
      {"ab", "ab"},
      {"\xfe\xff", "\xfe\xff"},
      {"bd", "abcde"},
      {std::string("\0\2", 2), std::string("\0\1\2\3", 4)},
      {"\x7f\x80\xfe", "\x7f\x80\xfd\xff"},
      {"abcdefghij", "adj"}};
  for (const auto& [bytes, asked] : alphabets) {
    const Keys space = StringsOver(bytes, 3);
    const Keys queries = StringsOver(asked, 3);
    for (int round = 0; round < 60; round++) {
      const Keys keys = Draw(space, 1 + rnd.Uniform(round < 30 ? 4 : 20), &rnd);
      // The empty key alone has no node.
      if (coded() && keys.size() == 1 && keys[0].empty()) continue;
      ASSERT_NO_FATAL_FAILURE(
          Compare(keys, queries, SuffixOf(round), {}, coded()));
    }
  }
}

TEST_P(SurfTest, ExhaustiveEncodings) {
  Random rnd(302);
  const Keys space = StringsOver(std::string("\0a\xfe\xff", 4), 3);
  for (int round = 0; round < (coded() ? 100 : 400); round++) {
    const Keys keys = Draw(space, 2 + rnd.Uniform(30), &rnd);
    ASSERT_NO_FATAL_FAILURE(
        Compare(keys, space, SuffixOf(round), RandomOptions(&rnd), coded()));
  }
}

// Runs of every length, kept or turned into nodes, at few or many of the nodes.
TEST_P(SurfTest, Runs) {
  Random rnd(304);
  for (int round = 0; round < (coded() ? 60 : 100); round++) {
    const Keys keys = MakeKeys(60, [&](size_t) {
      std::string key;
      while (!rnd.OneIn(3)) {
        key += static_cast<char>('a' + rnd.Uniform(2));
        key.append(rnd.Uniform(rnd.OneIn(5) ? (coded() ? 90 : 40) : 3), 'x');
      }
      return key;
    });
    const Keys queries = AroundEach(Draw(keys, 20, &rnd));
    FstOptions options = RandomOptions(&rnd);
    if (!coded()) options.runs = round % 2 == 0;
    ASSERT_NO_FATAL_FAILURE(
        Compare(keys, queries, SuffixOf(round), options, coded()));
  }
}

TEST_P(SurfTest, AllFamilies) {
  int compared = 0;
  for (uint32_t seed = 1; seed <= 3; seed++) {
    for (const KeyFamily& family : KeyFamilies(150, seed)) {
      SCOPED_TRACE(family.name);
      if (OwnedSurf(family.keys, {0, 0}, {}, coded()).is_coded() != coded()) {
        continue;
      }
      compared++;
      Random rnd(seed);
      Keys queries = {"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
      while (queries.size() < 60) {
        queries.push_back(AnyOf(Around(AnyOf(family.keys, &rnd)), &rnd));
      }
      const int suffixes = coded() ? 4 : std::size(kSuffixes);
      for (int i = 0; i < suffixes; i++) {
        ASSERT_NO_FATAL_FAILURE(
            Compare(family.keys, queries, SuffixOf(i), {}, coded()));
      }
    }
  }
  EXPECT_GE(compared, 9);
}

// Large enough for LOUDS-Dense levels, for groups of more than one node and for
// codes of contexts, they are compared with a sorted list only.
TEST_P(SurfTest, NoFalseNegativesInLargeFilters) {
  for (const KeyFamily& family : KeyFamilies(coded() ? 60000 : 100000, 17)) {
    SCOPED_TRACE(family.name);
    const SurfSuffix suffix = coded() ? SurfSuffix{2, 0, 6} : SurfSuffix{2, 6};
    const OwnedSurf surf(family.keys, suffix, {}, coded());
    Random rnd(5);
    const int step = family.keys.size() > 1000 ? 7 : 1;
    for (size_t i = 0; i < family.keys.size(); i += step) {
      const std::string& key = family.keys[i];
      ASSERT_TRUE(surf->KeyMayMatch(key)) << Hex(key);
      const size_t last =
          std::min<size_t>(i + rnd.Uniform(1000), family.keys.size() - 1);
      // The key itself, and the one behind it, are among these.
      const Keys around = Around(key);
      for (const std::string& bound : around) {
        ASSERT_TRUE(bound <= key ? surf->RangeMayMatch(bound, key, true)
                                 : surf->RangeMayMatch(key, bound, false))
            << Hex(key);
        const auto next =
            std::lower_bound(family.keys.begin(), family.keys.end(), bound);
        std::string skipped;
        if (next != family.keys.end()) {
          ASSERT_TRUE(surf->LowerBound(bound, &skipped));
          ASSERT_LE(bound, skipped);
          ASSERT_LE(skipped, *next) << Hex(bound);
        }
      }
      // The count is exact up to the two ends of the range.
      const std::string& hi = family.keys[last];
      ASSERT_EQ(last - i + 1, surf->Count(key, hi).count);
      const std::string& lo = AnyOf(around, &rnd);
      const uint64_t truth = KeysIn(family.keys, lo, hi);
      const RangeCount counted = surf->Count(lo, hi);
      ASSERT_GE(counted.count, truth) << Hex(lo);
      ASSERT_LE(counted.count, truth + counted.low_ambiguous) << Hex(lo);
    }
    CheckIterator(surf, nullptr, family.keys);
  }
}

// For text alone, if there is enough, and not if there are real bits.
TEST(OneSurfTest, WhereDigitsAreChosen) {
  const auto is_coded = [](const Keys& keys, const SurfSuffix& suffix) {
    return OwnedSurf(keys, suffix).is_coded();
  };
  for (const KeyFamily& family : KeyFamilies(20000, 3)) {
    if (family.name != "emails" && family.name != "urls" &&
        family.name != "random integers") {
      continue;
    }
    SCOPED_TRACE(family.name);
    const bool is_text = family.name != "random integers";
    EXPECT_EQ(is_text, is_coded(family.keys, {0, 0}));
    EXPECT_EQ(is_text, is_coded(family.keys, {6, 0}));
    // The digit in the suffix counts as a part of the trie.
    EXPECT_EQ(family.name == "urls", is_coded(family.keys, {0, 0, 8}));
    EXPECT_FALSE(is_coded(family.keys, {0, 4, 4}));
    EXPECT_FALSE(is_coded(family.keys, {0, 8}));
    const Keys few(family.keys.begin(), family.keys.begin() + 200);
    EXPECT_FALSE(is_coded(few, {0, 0}));
  }
}

// ---- Over bytes ----

// Every way to encode nodes of every fanout, over all labels.
TEST(OneSurfTest, EncodingsOverAllLabels) {
  Random rnd(303);
  for (unsigned bits = 0; bits <= 8; bits++) {
    for (int fanout : {1, 3, 16, 64, 200, 256}) {
      const auto two_bytes = [&rnd] {
        const std::string first(1, "ab\xff"[rnd.Uniform(3)]);
        return first + static_cast<char>(rnd.Uniform(256));
      };
      const Keys keys = MakeKeys(2 * fanout, [&](size_t) {
        return two_bytes() + (rnd.OneIn(3) ? "x" : "");
      });
      Keys queries = {"", "a", "b", "c", "\xff", "\xff\xff\xff"};
      while (queries.size() < 46) queries.push_back(two_bytes());
      for (unsigned root_bits : {0, 3, 8}) {
        FstOptions options;
        options.reduce_alphabet = rnd.OneIn(2);
        options.list_exceptions = rnd.OneIn(2);
        options.runs = rnd.OneIn(2);
        options.forced = {root_bits, bits};
        ASSERT_NO_FATAL_FAILURE(
            Compare(keys, queries, {0, 8}, options, /*coded=*/false));
      }
    }
  }
}

TEST(OneSurfTest, VeryLongKeys) {
  const std::string prefix(100000, 'p');
  Compare({prefix + "a", prefix + "b", prefix + "bb"},
          {"p", prefix, prefix + "aa", prefix + "b", prefix + "c", "q"}, {0, 8},
          {}, /*coded=*/false);
}

// Even if each level needs another encoding, the number of sections is limited.
TEST(OneSurfTest, ManyDifferentLevels) {
  Keys keys;
  constexpr size_t kLevels = 90;
  for (int spine = 0; spine < 24; spine++) {
    for (size_t level = 1; level < kLevels; level++) {
      const std::string path =
          static_cast<char>(spine) + std::string(level, '\0');
      for (int leaf = 1; leaf <= (level % 2 == 0 ? 255 : 1); leaf++) {
        keys.push_back(path + static_cast<char>(leaf) + "x");
      }
    }
  }
  SortUnique(&keys);
  const OwnedSurf surf(keys, {0, 0});
  for (const std::string& key : keys) ASSERT_TRUE(surf->KeyMayMatch(key));
}

TEST(OneSurfTest, SequentialThreeByteKeys) {
  Keys keys(738552);
  for (size_t i = 0; i < keys.size(); i++) keys[i] = BigEndian(i).substr(5);
  const OwnedSurf surf(keys, {0, 0});
  for (size_t i = 0; i < 1 << 20; i += i < keys.size() ? 1 : 997) {
    ASSERT_EQ(i < keys.size(), surf->KeyMayMatch(BigEndian(i).substr(5))) << i;
  }
  EXPECT_EQ(keys.size(), surf->Count(keys[0], "\xff\xff\xff").count);
}

// At its peak, the builder holds at most 1.5 times the keys.
TEST(OneSurfTest, BuildMemoryIsLinear) {
  for (const KeyFamily& family : KeyFamilies(100000, 23)) {
    for (const SurfSuffix& suffix : {SurfSuffix{0, 8}, SurfSuffix{0, 0, 8}}) {
      SCOPED_TRACE(family.name + ", " + suffix.Describe());
      SurfBuilder builder(suffix);
      size_t key_bytes = 0;
      for (const std::string& key : family.keys) {
        builder.AddKey(key);
        key_bytes += key.size();
      }
      std::vector<PlannedPart> parts;
      ASSERT_TRUE(builder.Finish(KeysEnd(), &parts).ok());
      EXPECT_LE(builder.MemoryUsage() + parts[0].payload_size,
                1.5 * key_bytes + 4096);
    }
  }
}

TEST(OneSurfTest, SizeOnRandomIntegers) {
  Random64 rnd(8);
  Keys keys(1000000);
  for (std::string& key : keys) key = BigEndian(rnd.Next());
  SortUnique(&keys);
  const OwnedSurf base(keys, {0, 0});
  EXPECT_LE(base.bits_per_key(keys.size()), 7.5);
  const OwnedSurf hash(keys, {8, 0});
  EXPECT_LE(hash.bits_per_key(keys.size()), 15.5);
  int positives = 0;
  constexpr int kQueries = 200000;
  for (int i = 0; i < kQueries; i++) {
    positives += hash->KeyMayMatch(BigEndian(rnd.Next()));
  }
  EXPECT_LE(positives, kQueries / 200);  // 0.5 %
}

// ---- Prefix bits ----

constexpr FilterSalt kSalt = {/*file=*/91, /*process=*/0};

// The definition, bit by bit.

uint64_t WordOf(const std::string& bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < bytes.size(); i++) {
    word |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return word;
}

uint64_t Mixed(uint64_t x) {
  x *= 0x9e3779b97f4a7c15;
  return x ^ x >> 32;
}

uint64_t Finished(uint64_t state, const std::string& part, uint64_t ending) {
  constexpr uint64_t kFinal = 0xd6e8feb86659fd93;
  return Mixed((state ^ WordOf(part)) + ending * kFinal) * kFinal;
}

// Whether bit `j`, counted from 1, is set.
bool DefinedBit(const std::string& key, size_t depth, uint32_t j,
                uint32_t step) {
  const size_t reach = (j * step + 1) / 2;
  const bool second = j > 1 && ((j - 1) * step + 1) / 2 == reach;
  const std::string rest = key.substr(depth);
  const bool ends = rest.size() < reach;
  const size_t hashed = ends ? rest.size() : reach;
  // A prefix may end with a whole word as its part, the key with an empty one.
  const size_t words = ends ? hashed / 8 : (hashed - 1) / 8;
  uint64_t state = Hash64(key.data(), depth, kSalt.file);
  for (size_t i = 0; i < words; i++) {
    state = Mixed(state ^ WordOf(rest.substr(8 * i, 8)));
  }
  const std::string part = rest.substr(8 * words, hashed - 8 * words);
  if (!ends) {
    return (Finished(state, part, part.size()) >> (second ? 62 : 63) & 1) != 0;
  }
  uint64_t whole = Finished(state, part, 9 + part.size());
  whole ^= whole >> 32;
  return (whole >> (second ? 31 + reach : reach - 1) & 1) != 0;
}

std::string RandomBytes(Random* rnd, size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(rnd->Uniform(4) * 85);
  return bytes;
}

std::string Letters(Random* rnd, size_t size) {
  std::string text;
  while (text.size() < size) text += static_cast<char>('a' + rnd->Uniform(26));
  return text;
}

}  // namespace

TEST(SurfPrefixBitsTest, AreAsDefined) {
  Random rnd(11);
  for (int round = 0; round < 3000; round++) {
    const size_t depth = rnd.Uniform(30);
    const std::string key =
        RandomBytes(&rnd, depth + rnd.Uniform(round % 2 == 0 ? 12 : 90));
    // Nothing outside of the key is read.
    const GuardedBlock copy(key, round % 8);
    for (uint32_t bits : {1, 3, 8, 13, 16}) {
      const PrefixBitDrafts drafts(bits);
      ASSERT_LE(drafts.bits(), 64u);
      const uint64_t draft = drafts.Of(copy.slice(), depth, kSalt);
      for (uint32_t step : PrefixSteps(bits)) {
        ASSERT_LE(PrefixReach(bits, step), kMaxPrefixReach);
        uint64_t defined = 0;
        for (uint32_t j = 1; j <= bits; j++) {
          defined |= uint64_t{DefinedBit(key, depth, j, step)} << (j - 1);
        }
        SCOPED_TRACE("step " + std::to_string(step) + ", " +
                     std::to_string(bits) + " bits, depth " +
                     std::to_string(depth) + ", key " + Hex(key));
        ASSERT_EQ(defined,
                  PrefixBitsOf(copy.slice(), depth, kSalt, bits, step));
        ASSERT_EQ(defined, drafts.Choose(draft, drafts.PlacesOf(step)));
        const uint32_t some = rnd.Uniform(static_cast<int>(bits)) + 1;
        ASSERT_EQ(defined & ((uint64_t{1} << some) - 1),
                  PrefixBitsOf(copy.slice(), depth, kSalt, some, step));
      }
    }
  }
}

// Bits of shared bytes are equal. Each bit from the first different byte on is
// a coin toss: two of them agree in a quarter of all cases, and so on. Nothing
// else is true of a key and its extension, or of zeros.
TEST(SurfPrefixBitsTest, AreCoinsFromTheFirstDifferenceOn) {
  EXPECT_EQ(16u, PrefixBitsWithin(~size_t{0} / 2, 16, 16));
  constexpr int kRounds = 20000;
  constexpr uint32_t kBits = 12;
  for (const std::string kind : {"byte", "digit", "extension", "zero"}) {
    for (uint32_t step : {1, 2, 3, 8}) {
      Random rnd(step);
      int agree[kBits][kBits] = {};
      for (int round = 0; round < kRounds; round++) {
        const std::string key = "prefix" + BigEndian(round) +
                                Letters(&rnd, 12) + std::string(2, '\0');
        const bool inside = kind == "byte" || kind == "digit";
        const size_t depth = inside ? 14 : key.size() - 3;
        std::string other = key;
        if (inside) {
          const int change = kind == "byte" ? 1 + rnd.Uniform(255) : 1;
          other[depth + 4] = static_cast<char>(other[depth + 4] ^ change);
        } else {
          other += kind == "extension" ? 'x' : '\0';
        }
        const size_t shared = Slice(key).difference_offset(other) - depth;
        const uint32_t same = PrefixBitsWithin(shared, kBits, step);
        const uint64_t different =
            PrefixBitsOf(key, depth, kSalt, kBits, step) ^
            PrefixBitsOf(other, depth, kSalt, kBits, step);
        ASSERT_EQ(0u, different & ((uint64_t{1} << same) - 1));
        for (uint32_t i = same; i < kBits; i++) {
          for (uint32_t j = i; j < kBits; j++) {
            agree[i][j] += ((different >> i | different >> j) & 1) == 0;
          }
        }
        ASSERT_LT(same, kBits);
      }
      for (uint32_t i = 0; i < kBits; i++) {
        if (agree[i][i] == 0) continue;
        for (uint32_t j = i; j < kBits; j++) {
          EXPECT_NEAR(i == j ? 0.5 : 0.25, agree[i][j] / double{kRounds}, 0.02)
              << kind << ", step " << step << ", bits " << i << " and " << j;
        }
      }
    }
  }
}

// Keys of pairs are each other's nearest neighbors. The longer they go on alike
// behind what tells them from all other keys, the longer is the step.
TEST(SurfPrefixBitsTest, StepsFitTheKeys) {
  Random rnd(5);
  const auto design = [](const Keys& keys, uint32_t bits) {
    FstOptions options;
    options.digits = FstOptions::kNever;
    SurfBuilder builder({0, 0, bits}, options);
    for (const std::string& key : keys) builder.AddKey(key);
    FinishPayload(&builder);
    return builder.Report().design;
  };
  const auto pairs = [&rnd](const std::string& same) {
    std::string head;
    return MakeKeys(10000, [&](size_t i) {
      if (i % 2 == 0) head = Letters(&rnd, 6) + same;
      return head + Letters(&rnd, 8);
    });
  };
  const std::pair<size_t, std::string> expected[] = {
      {0, "1 byte"}, {4, "1.5 bytes"}, {8, "2 bytes"}, {25, "8 bytes"}};
  for (const auto& [size, step] : expected) {
    EXPECT_EQ("trie, 8 prefix bits over " + step + " each",
              design(pairs(std::string(size, '-')), 8));
  }
  const Keys ids = MakeKeys(20000, [&](size_t) {
    return std::to_string(1000000 + rnd.Uniform(9000000));
  });
  EXPECT_EQ("trie, 8 prefix bits over 0.5 bytes each", design(ids, 8));
  // Without a key that a neighbor could be taken for.
  EXPECT_EQ("trie, 4 prefix bits over 1 byte each", design({"a"}, 4));
  EXPECT_EQ("trie, 4 prefix bits over 1 byte each", design({}, 4));
}

}  // namespace ROCKSDB_NAMESPACE::protean
