// SPDX-License-Identifier: Apache-2.0

//  SuRF against a simple model: a list of leaves, each with its prefix and
//  suffix bits, searched one by one. It is not enough that the filter has no
//  false negatives: it must give the model's answer to every query.

#include "filter_policy/surf/surf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "filter_policy/bits/bit_util.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Keys = std::vector<std::string>;

size_t SharedLength(const std::string& a, const std::string& b) {
  return Slice(a).difference_offset(b);
}

constexpr FilterSalt kSalt = {/*file=*/17, /*process=*/0};

class SurfModel {
 public:
  struct Leaf {
    std::string prefix;
    bool whole_key;
    uint64_t value;
  };

  SurfModel(const Keys& keys, const SurfSuffix& suffix) : suffix_(suffix) {
    for (size_t i = 0; i < keys.size(); i++) {
      size_t shared = 0;
      if (i > 0) shared = SharedLength(keys[i], keys[i - 1]);
      if (i + 1 < keys.size()) {
        shared = std::max(shared, SharedLength(keys[i], keys[i + 1]));
      }
      const bool whole_key = shared == keys[i].size();
      const size_t depth = whole_key ? shared : shared + 1;
      leaves_.push_back(
          {keys[i].substr(0, depth), whole_key, ValueOf(keys[i], depth)});
    }
  }

  bool Key(const std::string& key) const {
    for (const Leaf& leaf : leaves_) {
      if (leaf.whole_key ? leaf.prefix == key
                         : Slice(key).starts_with(leaf.prefix) &&
                               leaf.value == ValueOf(key, leaf.prefix.size())) {
        return true;
      }
    }
    return false;
  }

  // Whether all keys that the leaf may stand for are below `key`.
  bool Below(const Leaf& leaf, const std::string& key) const {
    if (RealBelow(leaf, key)) return true;
    return !leaf.whole_key && Slice(key).starts_with(leaf.prefix) &&
           !MayBeIn(leaf, key, Highest(leaf.prefix));
  }

  // Whether all these keys are above `key`, or at least not below it.
  bool Above(const Leaf& leaf, const std::string& key, bool or_equal) const {
    if (RealAbove(leaf, key, or_equal)) return true;
    return !or_equal && !leaf.whole_key && key == leaf.prefix &&
           !MayBeIn(leaf, key, key);
  }

  // Below and Above by the stored prefix and the real bits alone.
  bool RealBelow(const Leaf& leaf, const std::string& key) const {
    if (leaf.whole_key || !Slice(key).starts_with(leaf.prefix)) {
      return leaf.prefix < key;
    }
    return Real(leaf) < suffix_.Real(key, leaf.prefix.size());
  }
  bool RealAbove(const Leaf& leaf, const std::string& key,
                 bool or_equal) const {
    if (leaf.whole_key) {
      return or_equal ? leaf.prefix >= key : leaf.prefix > key;
    }
    if (!Slice(key).starts_with(leaf.prefix)) return leaf.prefix > key;
    const uint64_t real = suffix_.Real(key, leaf.prefix.size());
    const std::string rest = key.substr(leaf.prefix.size());
    const bool all_bits_known =
        rest.empty() ||
        (8 * rest.size() <= suffix_.real_bits && rest.back() != '\0');
    if (or_equal && all_bits_known && Real(leaf) == real) return true;
    return Real(leaf) > real;
  }

  bool Range(const std::string& lo, std::string hi, bool hi_inclusive) const {
    if (lo > hi || (lo == hi && !hi_inclusive)) return false;
    MakeInclusive(&hi, &hi_inclusive);
    return std::any_of(leaves_.begin(), leaves_.end(), [&](const Leaf& leaf) {
      return !RealBelow(leaf, lo) && !RealAbove(leaf, hi, !hi_inclusive) &&
             (leaf.whole_key || MayLieBetween(leaf, lo, hi, hi_inclusive));
    });
  }

  // Whether the prefix bits let the key of a leaf be in a range. If the bounds
  // part in two neighboring bytes, all strings start with either of them, and
  // the two groups are looked at one by one.
  bool MayLieBetween(const Leaf& leaf, const std::string& lo,
                     const std::string& hi, bool hi_inclusive) const {
    const std::string end = hi_inclusive ? hi : LastBefore(hi);
    const size_t shared = SharedLength(lo, hi);
    const auto may_be_in = [&](const std::string& group) {
      const std::string first = std::max(lo, group);
      const std::string last = std::min(end, Highest(group));
      return first <= last && MayBeIn(leaf, first, last);
    };
    if (shared >= leaf.prefix.size() && shared < lo.size() &&
        static_cast<uint8_t>(lo[shared]) + 1 ==
            static_cast<uint8_t>(hi[shared])) {
      return may_be_in(lo.substr(0, shared + 1)) ||
             may_be_in(hi.substr(0, shared + 1));
    }
    return may_be_in(leaf.prefix);
  }

  // Whether the prefix bits let the key of a leaf be one of the strings from
  // `first` to `last`, which start with its prefix: then it starts with what
  // the two share, and if there is only one string, it is that one.
  bool MayBeIn(const Leaf& leaf, const std::string& first,
               const std::string& last) const {
    const size_t depth = leaf.prefix.size();
    const size_t known = SharedLength(first, last) - depth;
    const uint64_t different =
        (leaf.value ^ ValueOf(first, depth)) >> suffix_.hash_bits;
    for (uint32_t j = 1; j <= suffix_.prefix_bits; j++) {
      if (2 * known < size_t{j} * suffix_.prefix_step && first != last) break;
      if ((different >> (j - 1) & 1) != 0) return false;
    }
    return true;
  }

  // The last of the strings that start with `prefix`, or rather one that is
  // longer than all strings here.
  static std::string Highest(const std::string& prefix) {
    return prefix + std::string(400, '\xff');
  }
  // The last of the strings below `key`, which does not end in 0x00.
  static std::string LastBefore(std::string key) {
    if (key.empty()) return key;
    key.back()--;
    return Highest(key);
  }
  static void MakeInclusive(std::string* hi, bool* inclusive) {
    if (*inclusive || hi->empty() || hi->back() != '\0') return;
    hi->pop_back();
    *inclusive = true;
  }

  // The first leaf that may be at or above `key`, and whether it may be below.
  size_t Seek(const std::string& key, bool* ambiguous) const {
    size_t i = 0;
    while (i < leaves_.size() && Below(leaves_[i], key)) i++;
    *ambiguous = i < leaves_.size() && !Above(leaves_[i], key, true);
    return i;
  }

  RangeCount Count(const std::string& lo, std::string hi,
                   bool hi_inclusive) const {
    RangeCount result;
    if (lo > hi || (lo == hi && !hi_inclusive)) return result;
    MakeInclusive(&hi, &hi_inclusive);
    for (const Leaf& leaf : leaves_) {
      if (Below(leaf, lo) || Above(leaf, hi, !hi_inclusive)) continue;
      result.count++;
      // The key is certainly in the range: it is ambiguous on neither side.
      const bool above_lo = Above(leaf, lo, true);
      const bool at_hi = leaf.whole_key && leaf.prefix == hi;
      if (!above_lo) result.low_ambiguous = true;
      if (!Below(leaf, hi) && !at_hi) result.high_ambiguous = true;
    }
    const bool either_end = result.low_ambiguous && result.high_ambiguous;
    if (result.count == 1 && either_end && !Range(lo, hi, hi_inclusive)) {
      return RangeCount();
    }
    return result;
  }

  uint64_t Real(const Leaf& leaf) const {
    return suffix_.RealOfValue(leaf.value);
  }
  const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  uint64_t ValueOf(const std::string& key, size_t depth) const {
    return suffix_.Value(key, depth, suffix_.Real(key, depth), kSalt);
  }

  const SurfSuffix suffix_;
  std::vector<Leaf> leaves_;
};

// A SuRF and the bytes that it lives in, at an odd address.
class OwnedSurf {
 public:
  OwnedSurf(const Keys& keys, const SurfSuffix& suffix,
            const FstOptions& options = {}) {
    SurfBuilder builder(suffix, options, {kSalt, 0});
    for (const std::string& key : keys) builder.AddKey(key);
    bytes_ = "?" + FinishPayload(&builder);
    payload_size_ = bytes_.size() - 1 - kReadPadding;
    const Status s =
        Surf::Open(Slice(bytes_.data() + 1, payload_size_), kSalt, &filter_);
    EXPECT_TRUE(s.ok()) << s.ToString();
  }

  // With the step that the builder has chosen.
  const SurfSuffix& suffix() const { return (**this).suffix(); }

  const Surf& operator*() const { return static_cast<Surf&>(*filter_); }
  const Surf* operator->() const { return &**this; }
  double bits_per_key(size_t keys) const {
    return 8.0 * static_cast<double>(payload_size_) / static_cast<double>(keys);
  }

 private:
  std::string bytes_;
  size_t payload_size_;
  std::unique_ptr<RangeFilter> filter_;
};

const SurfSuffix kSuffixes[] = {{0, 0},    {4, 0},    {0, 4},    {0, 8},
                                {3, 5},    {0, 16},   {7, 13},   {32, 32},
                                {0, 1},    {1, 0},    {0, 0, 8}, {0, 0, 16},
                                {0, 0, 1}, {3, 5, 4}, {0, 8, 6}, {16, 32, 16}};

// The number of keys in a range, found by a test of every key.
uint64_t TrueCount(const Keys& keys, const std::string& lo,
                   const std::string& hi, bool hi_inclusive) {
  return static_cast<uint64_t>(
      std::count_if(keys.begin(), keys.end(), [&](const std::string& key) {
        return key >= lo && (hi_inclusive ? key <= hi : key < hi);
      }));
}

// The exact count after the ambiguous keys have been looked up: at each bound,
// the first key at or above it.
uint64_t ResolvedCount(const Keys& keys, const std::string& lo,
                       const std::string& hi, bool hi_inclusive,
                       const RangeCount& counted) {
  uint64_t count = counted.count;
  const auto first = [&](const std::string& bound) {
    return std::lower_bound(keys.begin(), keys.end(), bound);
  };
  const auto shares = [](const std::string& key, const std::string& bound,
                         size_t size, const std::string& limit) {
    return Slice(key).starts_with(Slice(bound.data(), size)) &&
           (limit.empty() || key < limit);
  };
  if (counted.low_ambiguous) {
    const auto key = first(lo);
    const bool inside = key != keys.end() &&
                        shares(*key, lo, counted.low_shared, counted.low_limit);
    // One key may be at both bounds.
    if (!inside) count--;
    if (!inside && counted.high_ambiguous && counted.count == 1) return count;
  }
  if (counted.high_ambiguous) {
    const auto key = first(hi);
    const bool above =
        key != keys.end() &&
        shares(*key, hi, counted.high_shared, counted.high_limit) &&
        !(hi_inclusive && *key == hi);
    if (above) count--;
  }
  return count;
}

// Compares every query with the model.
void Compare(const Keys& keys, const Keys& queries, const SurfSuffix& suffix,
             const FstOptions& options = {}) {
  const OwnedSurf surf(keys, suffix, options);
  const SurfModel model(keys, surf.suffix());
  ASSERT_EQ(keys.size(), surf->fst().num_leaves());

  for (const std::string& key : keys) {
    ASSERT_TRUE(surf->KeyMayMatch(key)) << Hex(key);
  }
  // All keys at once are more than a batch.
  std::vector<Slice> slices(queries.begin(), queries.end());
  std::vector<Slice*> pointers;
  for (Slice& slice : slices) pointers.push_back(&slice);
  const std::unique_ptr<bool[]> found(new bool[queries.size()]);
  surf->KeysMayMatch(queries.size(), pointers.data(), found.get());
  for (size_t i = 0; i < queries.size(); i++) {
    ASSERT_EQ(model.Key(queries[i]), found[i]) << Hex(queries[i]);
  }

  Surf::Iterator it(&*surf);
  for (const std::string& lo : queries) {
    ASSERT_EQ(model.Key(lo), surf->KeyMayMatch(lo)) << Hex(lo);
    bool ambiguous;
    const size_t leaf = model.Seek(lo, &ambiguous);
    ASSERT_EQ(ambiguous, it.Seek(lo)) << Hex(lo);
    ASSERT_EQ(leaf < keys.size(), it.Valid()) << Hex(lo);
    if (it.Valid()) {
      ASSERT_EQ(Hex(model.leaves()[leaf].prefix),
                it.key_prefix().ToString(true));
      ASSERT_EQ(model.leaves()[leaf].whole_key, it.IsWholeKey());
      ASSERT_EQ(model.Real(model.leaves()[leaf]), it.real_suffix());
    }
    for (const std::string& hi : queries) {
      for (bool inclusive : {false, true}) {
        ASSERT_EQ(model.Range(lo, hi, inclusive),
                  surf->RangeMayMatch(lo, hi, inclusive))
            << Hex(lo) << " " << Hex(hi) << " " << inclusive;
      }
      for (bool inclusive : {false, true}) {
        const std::string range =
            Hex(lo) + " " + Hex(hi) + (inclusive ? " inclusive" : "");
        const RangeCount expected = model.Count(lo, hi, inclusive);
        RangeCount counted;
        ASSERT_TRUE(surf->CountRange(lo, hi, inclusive, &counted));
        ASSERT_EQ(expected.count, counted.count) << range;
        ASSERT_EQ(expected.low_ambiguous, counted.low_ambiguous) << range;
        ASSERT_EQ(expected.high_ambiguous, counted.high_ambiguous) << range;
        ASSERT_EQ(TrueCount(keys, lo, hi, inclusive),
                  ResolvedCount(keys, lo, hi, inclusive, counted))
            << range;
      }
    }
    std::string bound;
    if (surf->LowerBound(lo, &bound)) {
      ASSERT_LE(lo, bound);
      ASSERT_EQ(0u, TrueCount(keys, lo, bound, false)) << Hex(lo);
      if (ambiguous) {
        ASSERT_EQ(lo, bound);
      }
    } else {
      ASSERT_FALSE(it.Valid());
      ASSERT_EQ(0u, TrueCount(keys, lo, std::string(70, '\xff'), true));
    }
  }

  it.SeekToFirst();
  for (const SurfModel::Leaf& leaf : model.leaves()) {
    ASSERT_TRUE(it.Valid());
    ASSERT_EQ(Hex(leaf.prefix), it.key_prefix().ToString(true));
    it.Next();
  }
  ASSERT_FALSE(it.Valid());
  it.SeekToLast();
  for (size_t i = keys.size(); i-- > 0;) {
    ASSERT_TRUE(it.Valid());
    ASSERT_EQ(Hex(model.leaves()[i].prefix), it.key_prefix().ToString(true));
    it.Prev();
  }
  ASSERT_FALSE(it.Valid());
}

FstOptions RandomOptions(Random* rnd) {
  FstOptions options;
  options.reduce_alphabet = rnd->OneIn(2);
  options.list_exceptions = rnd->OneIn(2);
  options.runs = rnd->OneIn(2);
  for (int i = rnd->Uniform(6); i > 0; i--) {
    options.forced.push_back(rnd->Uniform(9));
  }
  return options;
}

// All strings over an alphabet up to a length.
Keys AllStrings(const std::string& alphabet, size_t max_length) {
  Keys all = {""};
  for (size_t begin = 0, length = 0; length < max_length; length++) {
    const size_t end = all.size();
    for (; begin < end; begin++) {
      for (char c : alphabet) all.push_back(all[begin] + c);
    }
  }
  return all;
}

}  // namespace

TEST(SurfTest, NoKeys) {
  const OwnedSurf surf({}, {4, 4});
  EXPECT_FALSE(surf->KeyMayMatch(""));
  EXPECT_FALSE(surf->KeyMayMatch("a"));
  EXPECT_FALSE(surf->RangeMayMatch("", "\xff\xff", true));
  EXPECT_EQ(0u, surf->Count("", "\xff").count);
}

// All queries over a small space, for random sets of keys from it.
TEST(SurfTest, ExhaustiveSmallSpaces) {
  Random rnd(301);
  for (const std::string& alphabet :
       {std::string("\0a\xff", 3), std::string("ab"),
        std::string("\xfe\xff")}) {
    const Keys space = AllStrings(alphabet, 3);
    for (int round = 0; round < 60; round++) {
      Keys keys;
      const int size = 1 + rnd.Uniform(round < 30 ? 4 : 20);
      for (int i = 0; i < size; i++) {
        keys.push_back(space[rnd.Uniform(static_cast<int>(space.size()))]);
      }
      SortUnique(&keys);
      const SurfSuffix& suffix = kSuffixes[round % std::size(kSuffixes)];
      Compare(keys, space, suffix);
      if (HasFatalFailure()) return;
    }
  }
}

// Every way to encode the levels gives the same answers.
TEST(SurfTest, ExhaustiveEncodings) {
  Random rnd(302);
  const Keys space = AllStrings(std::string("\0a\xfe\xff", 4), 3);
  for (int round = 0; round < 400; round++) {
    Keys keys;
    const int size = 1 + rnd.Uniform(30);
    for (int i = 0; i < size; i++) {
      keys.push_back(space[rnd.Uniform(static_cast<int>(space.size()))]);
    }
    SortUnique(&keys);
    const FstOptions options = RandomOptions(&rnd);
    Compare(keys, space, kSuffixes[round % std::size(kSuffixes)], options);
    if (HasFatalFailure()) return;
  }
}

// Every way to encode nodes of every fanout, over all labels, gives the same
// answers.
TEST(SurfTest, EncodingsOverAllLabels) {
  Random rnd(303);
  for (unsigned bits = 0; bits <= 8; bits++) {
    for (int fanout : {1, 3, 16, 64, 200, 256}) {
      Keys keys;
      for (int i = 0; i < 2 * fanout; i++) {
        keys.push_back(std::string(1, "ab\xff"[rnd.Uniform(3)]) +
                       static_cast<char>(rnd.Uniform(256)) +
                       (rnd.OneIn(3) ? "x" : ""));
      }
      SortUnique(&keys);
      Keys queries = {"", "a", "b", "c", "\xff", "\xff\xff\xff"};
      for (int i = 0; i < 40; i++) {
        queries.push_back(std::string(1, "ab\xff"[rnd.Uniform(3)]) +
                          static_cast<char>(rnd.Uniform(256)));
      }
      for (unsigned root_bits : {0, 3, 8}) {
        FstOptions options = RandomOptions(&rnd);
        options.forced = {root_bits, bits};
        Compare(keys, queries, {0, 8}, options);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Runs of every length, kept or turned into nodes, in tries of which few or
// many nodes have one.
TEST(SurfTest, Runs) {
  Random rnd(304);
  for (int round = 0; round < 100; round++) {
    Keys keys;
    for (int i = 0; i < 60; i++) {
      std::string key;
      while (!rnd.OneIn(3)) {
        key += static_cast<char>('a' + rnd.Uniform(2));
        key.append(rnd.Uniform(rnd.OneIn(5) ? 40 : 3), 'x');
      }
      keys.push_back(key);
    }
    SortUnique(&keys);
    Keys queries;
    for (int i = 0; i < 20; i++) {
      const Keys around =
          Around(keys[rnd.Uniform(static_cast<int>(keys.size()))]);
      queries.insert(queries.end(), around.begin(), around.end());
    }
    SortUnique(&queries);
    FstOptions options = RandomOptions(&rnd);
    options.runs = round % 2 == 0;
    Compare(keys, queries, kSuffixes[round % std::size(kSuffixes)], options);
    if (HasFatalFailure()) return;
  }
}

TEST(SurfTest, AllFamilies) {
  for (uint32_t seed = 1; seed <= 3; seed++) {
    for (const KeyFamily& family : KeyFamilies(150, seed)) {
      SCOPED_TRACE(family.name);
      Random rnd(seed);
      Keys queries = {"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
      while (queries.size() < 60) {
        const int pick = rnd.Uniform(static_cast<int>(family.keys.size()));
        const Keys around = Around(family.keys[pick]);
        queries.push_back(around[rnd.Uniform(static_cast<int>(around.size()))]);
      }
      for (const SurfSuffix& suffix : kSuffixes) {
        Compare(family.keys, queries, suffix);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// The sets are large enough for LOUDS-Dense levels, so filters are compared
// with a sorted list only.
TEST(SurfTest, NoFalseNegativesInLargeFilters) {
  for (const KeyFamily& family : KeyFamilies(200000, 17)) {
    SCOPED_TRACE(family.name);
    const OwnedSurf surf(family.keys, {2, 6});
    Random rnd(5);
    const int step = family.keys.size() > 1000 ? 7 : 1;
    for (size_t i = 0; i < family.keys.size(); i += step) {
      const std::string& key = family.keys[i];
      ASSERT_TRUE(surf->KeyMayMatch(key)) << Hex(key);
      ASSERT_TRUE(surf->RangeMayMatch(key, key, true)) << Hex(key);
      ASSERT_TRUE(surf->RangeMayMatch(key, key + '\0', false)) << Hex(key);
      for (const std::string& bound : Around(key)) {
        if (bound <= key) {
          ASSERT_TRUE(surf->RangeMayMatch(bound, key, true));
        } else {
          ASSERT_TRUE(surf->RangeMayMatch(key, bound, false));
        }
      }
      // The count is exact up to the two ends of the range.
      const size_t last =
          std::min<size_t>(i + rnd.Uniform(1000), family.keys.size() - 1);
      const RangeCount counted = surf->Count(key, family.keys[last]);
      ASSERT_EQ(last - i + 1, counted.count);
    }
    Surf::Iterator it(&*surf);
    it.SeekToFirst();
    for (const std::string& key : family.keys) {
      ASSERT_TRUE(it.Valid());
      ASSERT_TRUE(Slice(key).starts_with(it.key_prefix())) << Hex(key);
      it.Next();
    }
    ASSERT_FALSE(it.Valid());
  }
}

// A key whose only byte is the label that also marks terminators.
TEST(SurfTest, TheKeyFf) {
  const OwnedSurf surf({"\xff"}, {0, 0});
  EXPECT_TRUE(surf->KeyMayMatch("\xff"));
  EXPECT_TRUE(surf->RangeMayMatch("\xff", "\xff", true));
  EXPECT_TRUE(surf->RangeMayMatch("a", "\xff", true));
  EXPECT_FALSE(surf->KeyMayMatch("a"));
  EXPECT_FALSE(surf->KeyMayMatch(""));
  EXPECT_FALSE(surf->RangeMayMatch("", "\xfe", true));
}

TEST(SurfTest, PrefixKeysBetweenOthers) {
  const Keys keys = {"dh", "dhgpn", "dhi", "dhk", "dho"};
  for (const SurfSuffix& suffix : kSuffixes) {
    const OwnedSurf surf(keys, suffix);
    EXPECT_TRUE(surf->RangeMayMatch("dhn", "dho", true));
    EXPECT_EQ(1u, surf->Count("dhn", "dho").count);
    for (const std::string& key : keys) EXPECT_TRUE(surf->KeyMayMatch(key));
  }
}

// The real suffix is longer than the rest of the key.
TEST(SurfTest, SuffixLongerThanTheKey) {
  const OwnedSurf surf({"ab"}, {0, 16});
  EXPECT_TRUE(surf->KeyMayMatch("ab"));
  EXPECT_TRUE(surf->RangeMayMatch("aab", "bab", true));
  EXPECT_TRUE(surf->RangeMayMatch("ab", "ab", true));
  EXPECT_FALSE(surf->RangeMayMatch("ac", "bab", true));
}

TEST(SurfTest, VeryLongKeys) {
  const std::string prefix(100000, 'p');
  const OwnedSurf surf({prefix + "a", prefix + "b", prefix + "bb"}, {0, 8});
  EXPECT_TRUE(surf->KeyMayMatch(prefix + "b"));
  EXPECT_TRUE(surf->RangeMayMatch(prefix + "aa", prefix + "b", true));
  EXPECT_FALSE(surf->RangeMayMatch(prefix + "c", "q", false));
  EXPECT_FALSE(surf->RangeMayMatch("p", prefix, true));
  EXPECT_EQ(2u, surf->Count(prefix + "b", "q").count);
}

// Even if each level needs another encoding, the number of sections is limited.
TEST(SurfTest, ManyDifferentLevels) {
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

TEST(SurfTest, SequentialThreeByteKeys) {
  SurfBuilder builder({0, 0});
  constexpr uint32_t kKeys = 738552;
  for (uint32_t i = 0; i < kKeys; i++) {
    builder.AddKey(BigEndian(i).substr(5));
  }
  const std::string bytes = FinishPayload(&builder);
  std::unique_ptr<RangeFilter> filter;
  const Slice payload(bytes.data(), bytes.size() - kReadPadding);
  ASSERT_TRUE(Surf::Open(payload, FilterSalt(), &filter).ok());
  for (uint32_t i = 0; i < 1 << 20; i += i < kKeys ? 1 : 997) {
    ASSERT_EQ(i < kKeys, filter->KeyMayMatch(BigEndian(i).substr(5))) << i;
  }
  EXPECT_EQ(kKeys, static_cast<Surf&>(*filter)
                       .Count(BigEndian(0).substr(5), "\xff\xff\xff")
                       .count);
}

TEST(SurfTest, CountIsExactOnWholeKeys) {
  Keys keys;
  for (uint64_t i = 0; i < 20000; i++) keys.push_back(BigEndian(3 * i));
  const OwnedSurf surf(keys, {0, 16});
  Random rnd(9);
  for (int i = 0; i < 20000; i++) {
    const uint64_t lo = rnd.Uniform(60000);
    const uint64_t hi = lo + rnd.Uniform(3000);
    const auto expected =
        std::upper_bound(keys.begin(), keys.end(), BigEndian(hi)) -
        std::lower_bound(keys.begin(), keys.end(), BigEndian(lo));
    const RangeCount counted = surf->Count(BigEndian(lo), BigEndian(hi));
    ASSERT_GE(counted.count, static_cast<uint64_t>(expected));
    ASSERT_LE(counted.count, expected + uint64_t{counted.low_ambiguous} +
                                 uint64_t{counted.high_ambiguous});
  }
}

// At its peak, the builder holds at most 1.5 times the keys.
TEST(SurfTest, BuildMemoryIsLinear) {
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

TEST(SurfTest, SizeOnRandomIntegers) {
  const KeyFamily family = KeyFamilies(1000000, 7)[0];
  const OwnedSurf base(family.keys, {0, 0});
  EXPECT_LE(base.bits_per_key(family.keys.size()), 7.5);
  const OwnedSurf hash(family.keys, {8, 0});
  EXPECT_LE(hash.bits_per_key(family.keys.size()), 15.5);
  Random64 rnd(8);
  int positives = 0;
  constexpr int kQueries = 200000;
  for (int i = 0; i < kQueries; i++) {
    positives += hash->KeyMayMatch(BigEndian(rnd.Next()));
  }
  EXPECT_LE(positives, kQueries / 200);  // 0.5 %
}

}  // namespace ROCKSDB_NAMESPACE::protean
