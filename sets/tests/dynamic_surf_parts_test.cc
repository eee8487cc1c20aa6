// SPDX-License-Identifier: Apache-2.0

//  The parts of a SuRF with updates against a set of keys: all short sequences
//  of steps over few keys that collide, and long random ones over difficult
//  keys. Steps come in the middle of merges, which may fail.

#include <map>
#include <random>

#include "sets/dynamic_surf/saved_surf.h"
#include "sets/dynamic_surf/surf_merge.h"
#include "sets/dynamic_surf/surf_parts.h"
#include "sets/dynamic_surf/surf_rebuilder.h"
#include "tests/filter_blocks.h"
#include "tests/set_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr FilterSalt kSalt = {17, 4};

const SurfSuffix kSuffixes[] = {{0, 0}, {3, 0}, {0, 4}, {2, 11}, {0, 32}};

std::string FreshPayload(const KeySet& keys, const SurfSuffix& suffix) {
  FstOptions options;
  options.digits = FstOptions::kNever;
  SurfBuilder builder(suffix, options, {kSalt, 0});
  for (const std::string& key : keys) builder.AddKey(key);
  const std::string payload = FinishPayload(&builder);
  return payload.substr(0, payload.size() - kReadPadding);
}

std::unique_ptr<SurfPart> PartOf(const KeySet& keys, const SurfSuffix& suffix) {
  SurfRebuilder builder(suffix, kSalt);
  for (const std::string& key : keys) builder.AddWhole(key);
  std::string payload;
  uint64_t size;
  EXPECT_OK(builder.FinishPayload(&payload, &size));
  std::unique_ptr<SurfPart> part;
  EXPECT_OK(SurfPart::Create(std::move(payload), size, kSalt, &part));
  return part;
}

struct Merged {
  std::unique_ptr<SurfPart> part;
  SurfMergeCounts counts;
};

// Merges the frozen part of the front with the bottom.
Merged Merge(const SurfParts& parts, const KeySet& keys) {
  SetIterator source(keys);
  const std::atomic<bool> cancelled{false};
  Merged merged;
  EXPECT_OK(MergeSurf(parts.bottom(), kSalt, *parts.frozen(), &source,
                      cancelled, &merged.part, &merged.counts));
  return merged;
}

// The least and the most number of keys in [lo, hi), as the parts count them.
std::pair<uint64_t, uint64_t> CountIn(const SurfParts& parts, const Slice& lo,
                                      const Slice& hi) {
  uint64_t least;
  uint64_t most;
  parts.Count(lo, hi, &least, &most);
  return {least, most};
}

// The parts, and the keys that they should have. A key is in the source from
// before it is inserted until after it is deleted.
class CheckedParts {
 public:
  explicit CheckedParts(const SurfSuffix& suffix, KeySet keys = {})
      : suffix_(suffix),
        keys_(std::move(keys)),
        parts_(PartOf(keys_, suffix), std::make_unique<Front>()) {}

  bool Has(const std::string& key) const { return keys_.count(key) > 0; }
  bool IsMerging() const { return parts_.frozen() != nullptr; }
  const SurfParts& parts() const { return parts_; }

  void Insert(const std::string& key) {
    keys_.insert(key);
    parts_.Insert(key);
  }
  void Delete(const std::string& key) {
    parts_.Delete(key);
    keys_.erase(key);
  }
  void BeginMerge() {
    source_ = keys_;
    parts_.Freeze();
  }
  void EndMerge() {
    Merged merged = Merge(parts_, source_);
    std::unique_ptr<Front> front;
    ASSERT_NE(merged.part, nullptr);
    EXPECT_EQ(merged.counts.not_found, 0);
    EXPECT_EQ(merged.counts.extra, 0);
    parts_.Install(std::move(merged.part), &front);
  }
  void FailMerge() { parts_.Unfreeze(); }

  void Check(const Keys& queries) const {
    for (const std::string& query : queries) {
      ASSERT_TRUE(!Has(query) || parts_.KeyMayMatch(query)) << query;
      std::string bound;
      const bool found = parts_.LowerBound(query, &bound);
      const auto next = keys_.lower_bound(query);
      ASSERT_TRUE(found || next == keys_.end()) << query;
      if (!found) continue;
      ASSERT_GE(bound, query);
      ASSERT_TRUE(next == keys_.end() || bound <= *next) << query;
    }
  }
  void CheckRanges(const Keys& bounds) const {
    for (const std::string& lo : bounds) {
      for (const std::string& hi : bounds) {
        const uint64_t count = KeysIn(lo, hi);
        ASSERT_TRUE(count == 0 || parts_.RangeMayMatch(lo, hi))
            << lo << " " << hi;
        const auto [least, most] = CountIn(parts_, lo, hi);
        ASSERT_LE(least, count) << lo << " " << hi;
        ASSERT_GE(most, count) << lo << " " << hi;
      }
    }
  }
  // The number of keys in [lo, hi).
  uint64_t KeysIn(const std::string& lo, const std::string& hi) const {
    if (hi <= lo) return 0;
    return static_cast<uint64_t>(
        std::distance(keys_.lower_bound(lo), keys_.lower_bound(hi)));
  }

  // Once all is merged, the SuRF is the one that is built anew.
  void MergeAndCompare() {
    if (IsMerging()) EndMerge();
    BeginMerge();
    EndMerge();
    ASSERT_EQ(parts_.active().size(), 0);
    ASSERT_EQ(parts_.bottom().removed().size(), 0);
    ASSERT_EQ(parts_.bottom().payload(), FreshPayload(keys_, suffix_));
  }

 private:
  const SurfSuffix suffix_;
  KeySet keys_;
  KeySet source_;  // when the merge began
  SurfParts parts_;
};

// ---- All sequences ----

// Step kFirstKey + i inserts or deletes a key.
enum Step { kBegin, kEnd, kFail, kFirstKey };

void Take(int step, const Keys& universe, CheckedParts* parts) {
  if (step == kBegin) return parts->BeginMerge();
  if (step == kEnd) return parts->EndMerge();
  if (step == kFail) return parts->FailMerge();
  const auto i = static_cast<size_t>(step - kFirstKey);
  const std::string& key = universe[i / 2];
  if (i % 2 == 0) {
    parts->Insert(key);
  } else if (parts->Has(key)) {
    parts->Delete(key);
  }
}

// Checks the ends of all sequences of `steps` and `more`, and counts them.
uint64_t TakeAll(const Keys& universe, const KeySet& first, size_t more,
                 const SurfSuffix& suffix, std::vector<int> steps = {}) {
  CheckedParts parts(suffix, first);
  for (const int step : steps) Take(step, universe, &parts);
  if (more == 0) {
    Keys queries = universe;
    for (const std::string& key : universe) queries.push_back(key + '\0');
    parts.Check(queries);
    parts.CheckRanges(queries);
    parts.MergeAndCompare();
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "steps " << testing::PrintToString(steps);
    }
    return 1;
  }
  const int end = kFirstKey + 2 * static_cast<int>(universe.size());
  uint64_t taken = 0;
  for (int step = 0; step < end; step++) {
    if (step < kFirstKey && parts.IsMerging() == (step == kBegin)) continue;
    steps.push_back(step);
    taken += TakeAll(universe, first, more - 1, suffix, steps);
    steps.pop_back();
    if (testing::Test::HasFatalFailure()) break;
  }
  return taken;
}

// Keys are prefixes of others, or collide at leaves, with other suffixes or
// not. Sequences over two keys are longer.
TEST(DynamicSurfPartsTest, AllSequencesOverFewKeys) {
  const Keys leaves = {"ab", "ac\xff", "ac\xff\x01"};
  const Keys two = {"key 1", "key 2"};
  struct Case {
    Keys universe;
    KeySet first;
    size_t length;
    SurfSuffix suffix;
  };
  for (const Case& c :
       std::initializer_list<Case>{{leaves, {"b"}, 5, {0, 0}},
                                   {leaves, {"b"}, 5, {1, 3}},
                                   {{"a", "ab", "abc"}, {"ab"}, 5, {0, 8}},
                                   {{"", "\xff", "\xff\xff"}, {}, 5, {0, 0}},
                                   {two, {}, 6, {0, 0}},
                                   {two, {"key 1"}, 6, {0, 0}},
                                   {two, {"key 1", "key 2"}, 6, {0, 0}},
                                   {two, {"key 2"}, 7, {0, 0}}}) {
    EXPECT_GT(TakeAll(c.universe, c.first, c.length, c.suffix), 1000u);
    if (HasFatalFailure()) return;
  }
}

// ---- Random sequences ----

void TakeRandomSteps(const Keys& universe, const SurfSuffix& suffix,
                     uint32_t seed) {
  std::mt19937 random(seed);
  const auto any = [&] { return universe[random() % universe.size()]; };
  KeySet first;
  for (size_t i = 0; i < universe.size() / 3; i++) first.insert(any());
  CheckedParts parts(suffix, std::move(first));
  for (int round = 0; round < 12; round++) {
    const size_t steps = 1 + random() % (universe.size() / 8 + 2);
    // Some rounds insert more, some delete more.
    const uint32_t inserts = 1 + random() % 9;
    for (size_t i = 0; i < steps; i++) {
      const std::string key = any();
      if (random() % 10 < inserts) {
        parts.Insert(key);
      } else if (parts.Has(key)) {
        parts.Delete(key);
      }
    }
    Keys queries;
    for (int i = 0; i < 30; i++) queries.push_back(any());
    parts.Check(queries);
    parts.CheckRanges(queries);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    if (!parts.IsMerging()) {
      parts.BeginMerge();
    } else if (random() % 4 == 0) {
      parts.FailMerge();
    } else {
      parts.EndMerge();
    }
  }
  parts.Check(universe);
  parts.MergeAndCompare();
}

TEST(DynamicSurfPartsTest, RandomStepsOverDifficultKeys) {
  for (size_t size : {3, 40, 600}) {
    for (const KeyFamily& family : KeyFamilies(size, 7)) {
      SCOPED_TRACE(family.name + ", " + std::to_string(size));
      Keys universe = AroundEach(family.keys, 5);
      universe.insert(universe.end(), family.keys.begin(), family.keys.end());
      SortUnique(&universe);
      uint32_t seed = 1;
      for (const SurfSuffix& suffix : kSuffixes) {
        TakeRandomSteps(universe, suffix, seed++);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Counts are exact where those of the SuRF are, if no key collides.
TEST(DynamicSurfPartsTest, CountsAreExact) {
  const auto key = [](uint64_t i) { return BigEndian(i << 40); };
  CheckedParts parts({0, 8});
  for (uint64_t i = 0; i < 3000; i += 3) parts.Insert(key(i));
  parts.MergeAndCompare();
  for (uint64_t i = 1; i < 3000; i += 3) parts.Insert(key(i));
  for (uint64_t i = 0; i < 3000; i += 12) {
    parts.Delete(key(i));
    parts.Delete(key(i + 1));
  }
  for (uint64_t lo = 1; lo < 3000; lo += 97) {
    for (uint64_t hi = lo; hi < 3300; hi += 89) {
      // The bounds begin with no stored key.
      const std::string from = BigEndian((lo << 40) - 1);
      const std::string to = BigEndian((hi << 40) - 1);
      const uint64_t count = parts.KeysIn(from, to);
      EXPECT_EQ(CountIn(parts.parts(), from, to), std::pair(count, count))
          << lo << " " << hi;
    }
  }
}

// A deleted key is no false positive, neither before nor after a merge.
TEST(DynamicSurfPartsTest, DeletedKeysAreGone) {
  const auto key = [](uint64_t i) { return BigEndian(i * 0x9e3779b97f4a7c15); };
  CheckedParts parts({0, 0});
  for (uint64_t i = 0; i < 2000; i++) parts.Insert(key(i));
  parts.MergeAndCompare();
  for (uint64_t i = 0; i < 1000; i++) {
    if (i == 500) parts.BeginMerge();
    parts.Delete(key(i));
    EXPECT_FALSE(parts.parts().KeyMayMatch(key(i)));
  }
  parts.EndMerge();
  for (uint64_t i = 0; i < 1000; i++) {
    EXPECT_FALSE(parts.parts().KeyMayMatch(key(i))) << i;
  }
}

// Stepping over deleted keys ends, but at a bound that holds.
TEST(DynamicSurfPartsTest, LowerBoundBehindManyDeletedKeys) {
  const auto key = [](uint64_t i, uint64_t behind = 0) {
    return BigEndian((i << 40) + behind);
  };
  CheckedParts parts({0, 8});
  for (uint64_t i = 0; i < 3000; i++) parts.Insert(key(i));
  parts.MergeAndCompare();
  for (uint64_t i = 100; i < 2900; i++) parts.Delete(key(i));
  Keys queries;
  for (uint64_t i = 0; i < 3000; i += 7) queries.push_back(key(i));
  parts.Check(queries);
  std::string bound;
  ASSERT_TRUE(parts.parts().LowerBound(key(2800), &bound));
  EXPECT_GT(bound, key(2899, 1));
  const uint64_t behind = uint64_t{1} << 36;
  EXPECT_FALSE(parts.parts().RangeMayMatch(key(99, behind), key(2899, behind)));
}

// ---- The source ----

// The key of a leaf cannot be told from one that is being inserted: both stay.
TEST(DynamicSurfPartsTest, SourceWithOtherKeys) {
  SurfParts parts(PartOf({"abc", "b"}, {0, 0}), std::make_unique<Front>());
  parts.Insert("ad");
  parts.Freeze();
  Merged merged = Merge(parts, {"abc", "ad", "ae", "b"});
  EXPECT_EQ(merged.counts.sought, 1);
  EXPECT_EQ(merged.counts.extra, 1);
  std::unique_ptr<Front> front;
  parts.Insert("ae");  // meets its leaf, as it were
  parts.Install(std::move(merged.part), &front);
  for (const char* key : {"abc", "ad", "ae", "b"}) {
    EXPECT_TRUE(parts.KeyMayMatch(key)) << key;
  }
  EXPECT_EQ(CountIn(parts, "", "c"), std::pair(uint64_t{4}, uint64_t{5}));
}

TEST(DynamicSurfPartsTest, SourceThatLacksAKey) {
  SurfParts parts(PartOf({"abc", "b"}, {0, 8}), std::make_unique<Front>());
  parts.Insert("ad");
  parts.Freeze();
  const Merged merged = Merge(parts, {"ad", "b"});
  EXPECT_EQ(merged.counts.not_found, 1);
  EXPECT_EQ(merged.part->surf().fst().num_leaves(), 2);
}

// Only keys that meet a leaf are looked for.
TEST(DynamicSurfPartsTest, MergesSeekSeldom) {
  std::mt19937_64 random(3);
  KeySet keys;
  while (keys.size() < 20000) keys.insert(BigEndian(random()));
  SurfParts parts(PartOf(keys, {0, 8}), std::make_unique<Front>());
  for (int i = 0; i < 2000; i++) {
    parts.Insert(*keys.insert(BigEndian(random())).first);
  }
  parts.Freeze();
  Merged merged = Merge(parts, keys);
  EXPECT_EQ(merged.part->payload(), FreshPayload(keys, {0, 8}));
  EXPECT_LT(merged.counts.sought, 600);
  EXPECT_GT(merged.counts.sought, 0);
  SetIterator source(keys);
  EXPECT_TRUE(MergeSurf(parts.bottom(), kSalt, *parts.frozen(), &source,
                        /*cancelled=*/true, &merged.part, &merged.counts)
                  .IsShutdownInProgress());
}

// ---- The front ----

TEST(FrontTest, IsAnOrderedMap) {
  std::mt19937 random(5);
  for (const KeyFamily& family : KeyFamilies(4000, 11)) {
    SCOPED_TRACE(family.name);
    Front front;
    std::map<std::string, FrontRecord> model;
    for (size_t step = 0; step < 3 * family.keys.size(); step++) {
      const std::string& key = family.keys[random() % family.keys.size()];
      if (random() % 4 == 0) {
        front.Erase(key);
        model.erase(key);
        continue;
      }
      const FrontRecord record = {random() % 2 == 0, Below(random() % 3)};
      front.Set(key, record);
      model[key] = record;
    }
    ASSERT_EQ(front.size(), model.size());
    Front::Cursor cursor(&front);
    for (const auto& [key, record] : model) {
      ASSERT_TRUE(cursor.Valid());
      ASSERT_EQ(cursor.key().ToString(), key);
      ASSERT_TRUE(cursor.record() == record);
      cursor.Next();
      FrontRecord found;
      ASSERT_TRUE(front.Find(key, &found));
      ASSERT_TRUE(found == record);
    }
    ASSERT_FALSE(cursor.Valid());
    for (int i = 0; i < 200; i++) {
      const std::string& lo = family.keys[random() % family.keys.size()];
      const std::string& hi = family.keys[random() % family.keys.size()];
      FrontSum sum;
      for (auto it = model.lower_bound(lo); it != model.end() && it->first < hi;
           ++it) {
        sum += FrontSum::Of(it->second);
      }
      const FrontSum found = front.SumBetween(lo, hi);
      ASSERT_EQ(found.most, sum.most);
      ASSERT_EQ(found.unsure, sum.unsure);
      auto next = model.lower_bound(lo);
      while (next != model.end() && !next->second.is_present) ++next;
      std::string key;
      ASSERT_EQ(front.FirstPresent(lo, &key), next != model.end());
      if (next != model.end()) {
        ASSERT_EQ(key, next->first);
      }
    }
  }
}

TEST(FrontTest, LongKeys) {
  Front front;
  const Keys keys = {std::string(70000, 'a'),
                     std::string(70001, 'a'),
                     std::string(65544, 'b'),
                     std::string(65545, 'c'),
                     std::string(Front::kMaxKeySize, 'd'),
                     "e and some more"};
  for (const std::string& key : keys) front.Set(key, {true, Below::kNo});
  Front::Cursor cursor(&front);
  for (const std::string& key : keys) {
    ASSERT_TRUE(cursor.Valid());
    ASSERT_EQ(cursor.key(), key);
    cursor.Next();
  }
}

TEST(FrontTest, KeysInOrderFillTheirChunks) {
  Front front;
  for (uint64_t i = 0; i < 100000; i++) {
    front.Set(BigEndian(i), {true, Below::kNo});
  }
  EXPECT_LT(front.MemoryUsage(), 18 * 100000);
}

// ---- The saved form ----

struct Saved {
  Status Load(const Slice& from) {
    front = std::make_unique<Front>();
    return DecodeDynamicSurf(from, &salt, &part, front.get());
  }

  FilterSalt salt;
  std::unique_ptr<SurfPart> part;
  std::unique_ptr<Front> front;
};

// The bytes of a SuRF with a key deleted, one inserted, and one come and gone.
std::string SavedParts() {
  CheckedParts parts({2, 5}, {"", "a", "ab", "abc", "x", "yellow"});
  parts.Delete("ab");
  parts.Insert("abcd");
  parts.Insert("x");
  parts.Delete("x");
  return EncodeDynamicSurf(kSalt, parts.parts().bottom(),
                           parts.parts().active());
}

TEST(SavedSurfTest, ComesBackOrIsCorruption) {
  const std::string bytes = SavedParts();
  Saved saved;
  ASSERT_OK(saved.Load(bytes));
  EXPECT_EQ(saved.salt, kSalt);
  EXPECT_EQ(EncodeDynamicSurf(saved.salt, *saved.part, *saved.front), bytes);
  EXPECT_EQ(saved.part->removed().size(), 1);
  EXPECT_EQ(saved.front->size(), 2);
  // Every flipped bit and every missing byte is noticed.
  for (size_t i = 0; i < 8 * bytes.size(); i++) {
    ASSERT_TRUE(saved.Load(WithBitFlipped(bytes, i)).IsCorruption()) << i;
  }
  for (size_t size = 0; size < bytes.size(); size++) {
    ASSERT_TRUE(saved.Load(Slice(bytes.data(), size)).IsCorruption()) << size;
  }
}

TEST(SavedSurfTest, DamageWithAChecksum) {
  const std::string bytes = SavedParts();
  std::mt19937 random(1);
  for (int i = 0; i < 20000; i++) {
    std::string damaged = bytes;
    for (uint32_t flips = 1 + random() % 3; flips > 0; flips--) {
      damaged[16 + random() % (damaged.size() - 16)] =
          static_cast<char>(random());
    }
    if (random() % 8 == 0) damaged.resize(16 + random() % damaged.size());
    EncodeFixed32(&damaged[12], crc32c::Mask(crc32c::Value(
                                    damaged.data() + 16, damaged.size() - 16)));
    Saved saved;
    if (!saved.Load(damaged).ok()) continue;
    SurfParts opened(std::move(saved.part), std::move(saved.front));
    for (const char* key : {"", "a", "ab", "abc", "abcd", "yellow", "z"}) {
      std::string bound;
      opened.KeyMayMatch(key);
      opened.LowerBound(key, &bound);
      opened.RangeMayMatch(key, "ya");
      CountIn(opened, key, "ya");
      opened.Insert(key);
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
