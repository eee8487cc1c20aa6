// SPDX-License-Identifier: Apache-2.0

//  Dead ranges: which are worth keeping, and their table. The cache of misses.
//  The list of a file's stretches of deletions, compared with all its entries.

#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "filter_policy/deletion_stretches.h"
#include "filter_policy/open_db/dead_ranges.h"
#include "filter_policy/open_db/miss_cache.h"
#include "tests/dice.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// deletion_skips_test tells which entries may be passed, and what is found
// then.
TEST(DeadRangeFinderTest, FewEntriesAreNotWorthKeeping) {
  constexpr uint64_t kEnough = DeadRangeFinder::kMinEntries;
  for (const uint64_t entries : {kEnough - 1, kEnough}) {
    for (const bool target_is_alive : {false, true}) {
      for (const char* end : {"b", "c"}) {
        DeadRangeFinder finder;
        finder.Begin("a", /*inclusive=*/true);
        if (target_is_alive) finder.Pass(3, "a", false, 9, true);
        // Deletions hide older entries of their key.
        for (uint64_t i = 0; i < entries; i++) {
          EXPECT_TRUE(finder.Pass(2 - i % 2, "b", i != 1, 20 - i, true));
        }
        DeadRange range;
        // The finder has passed nothing below b.
        const bool found = finder.Finish(end, &range);
        EXPECT_EQ(entries == kEnough && *end == 'c', found);
        if (!found) continue;
        EXPECT_EQ(target_is_alive ? std::string("a\0", 2) : "a", range.begin);
        EXPECT_EQ("b", range.first);
        EXPECT_EQ("c", range.end);
        EXPECT_EQ(20u, range.sequence);
        EXPECT_EQ((std::vector<uint64_t>{1, 2}), range.files);
      }
    }
  }
}

DeadRange Range(const std::string& begin, const std::string& end,
                std::vector<uint64_t> files) {
  DeadRange range;
  range.begin = range.first = begin;
  range.end = end;
  range.files = std::move(files);
  return range;
}

Keys WordsOf(const std::string& text) {
  std::istringstream in(text);
  return Keys(std::istream_iterator<std::string>(in), {});
}

// The ranges of files and keys such as "1abc 2d"; "-" where there is none.
std::string FoundIn(const DeadRanges& ranges, const std::string& asked) {
  std::string found;
  for (const std::string& word : WordsOf(asked)) {
    const auto range = ranges.Find(word[0] - '0', word.substr(1));
    found += range == nullptr ? "- " : range->begin + "-" + range->end + " ";
  }
  return found;
}

TEST(DeadRangesTest, FindsAndForgetsRangesByEachOfTheirFiles) {
  DeadRanges ranges(1 << 20);
  ranges.Add(Range("b", "d", {1, 2}));
  ranges.Add(Range("d", "f", {2, 3}));
  ranges.Add(Range("f", "g", {1, 3}));
  EXPECT_EQ("- b-d b-d d-f - - f-g ", FoundIn(ranges, "1a 1b 2cc 2d 1d 2f 3f"));
  EXPECT_TRUE(ranges.Find(2, "c")->HasFile(1));
  EXPECT_FALSE(ranges.Find(2, "c")->HasFile(3));
  ranges.Forget(1);
  ranges.Forget(9);
  EXPECT_EQ("- - d-f ", FoundIn(ranges, "2b 3f 2d"));
  EXPECT_EQ(1u, ranges.size());
}

TEST(DeadRangesTest, RangesOfAFileDoNotOverlap) {
  DeadRanges ranges(1 << 20);
  ranges.Add(Range("d", "f", {1, 2}));
  // One of other files may.
  ranges.Add(Range("a", "z", {4}));
  EXPECT_EQ("a-z ", FoundIn(ranges, "4d"));
  // Known already.
  ranges.Add(Range("d", "e", {2, 3}));
  EXPECT_EQ("- ", FoundIn(ranges, "3d"));
  // A new range is stored without the part that is known, at either end.
  ranges.Add(Range("e", "h", {2, 3}));
  ranges.Add(Range("c", "e", {2, 3}));
  EXPECT_EQ("f-h c-d d-f ", FoundIn(ranges, "3g 3c 2d"));
  EXPECT_EQ(4u, ranges.size());
  // One that contains others takes their place.
  ranges.Add(Range("c", "g", {1, 2}));
  EXPECT_EQ("c-f c-f - f-h ", FoundIn(ranges, "1d 2e 3c 2g"));
  EXPECT_EQ(3u, ranges.size());
}

TEST(DeadRangesTest, TheOldestRangesMakeRoom) {
  DeadRanges ranges(1 << 14);
  for (int i = 0; i < 1000; i++) {
    const std::string key = std::to_string(10000 + i);
    ranges.Add(Range(key, key + "x", {1, 2}));
  }
  EXPECT_LT(ranges.size(), 60u);
  EXPECT_GT(ranges.size(), 20u);
  EXPECT_EQ("- 10999-10999x ", FoundIn(ranges, "110000 110999"));
  // One that takes much of the room is not kept.
  ranges.Add(Range("a", std::string(4000, 'x'), {1}));
  EXPECT_EQ("- ", FoundIn(ranges, "1b"));
}

// The ends of the gaps of files that have the keys; "-" where none is known.
std::string EndsOf(const MissCache& misses, const std::string& asked) {
  std::string ends;
  for (const std::string& word : WordsOf(asked)) {
    std::string end;
    const bool found = misses.Find(word[0] - '0', word.substr(1), &end);
    ends += (found ? end : "-") + " ";
  }
  return ends;
}

TEST(MissCacheTest, AGapReplacesItsParts) {
  MissCache misses(1);  // one set
  misses.Add(1, "b3", "b5");
  misses.Add(1, "b2", "b9");
  misses.Add(1, "c", "cx");
  misses.Add(1, "d", "dx");
  misses.Add(1, "e", "ex");
  EXPECT_EQ("b9 ", EndsOf(misses, "1b3"));
}

TEST(MissCacheTest, LongKeysAreCutOrLeftOut) {
  MissCache misses(1 << 20);
  const std::string prefix(MissCache::kMaxBytes - 2, 'p');
  misses.Add(1, prefix, prefix + "abcdef");
  EXPECT_EQ(prefix + "ab - ",
            EndsOf(misses, "1" + prefix + " 1" + prefix + "ac"));
  misses.Add(1, prefix + "ab", prefix + "b");
  EXPECT_EQ("- ", EndsOf(misses, "1" + prefix + "ab"));
  misses.Add(1, "", std::string(1000, 'x'));
  EXPECT_EQ(std::string(MissCache::kMaxBytes, 'x') + " ", EndsOf(misses, "1"));
  // No range at all.
  misses.Add(2, "b", "a");
  misses.Add(2, "b", "b");
  EXPECT_EQ("- - ", EndsOf(misses, "2b 2a"));
}

// Gaps between the keys of some files, of bytes that hurt, in a small cache.
TEST(MissCacheTest, NeverDeniesAKey) {
  Lcg random(1);
  MissCache misses(16 << 10);
  const std::string bytes("\0a\xfe\xff", 4);
  std::map<uint64_t, std::set<std::string>> files;
  for (uint64_t file = 0; file < 8; file++) {
    for (int i = 0; i < 30; i++) files[file].insert(random.Word(bytes, 0, 4));
  }
  uint64_t found = 0;
  for (int i = 0; i < 200000; i++) {
    const uint64_t file = random.Next(files.size());
    const std::string target = random.Word(bytes, 0, 4);
    const auto next = files[file].lower_bound(target);
    const bool has_next = next != files[file].end();
    std::string end;
    if (misses.Find(file, target, &end)) {
      found++;
      ASSERT_LT(target, end);
      ASSERT_TRUE(!has_next || end <= *next);
    } else if (has_next) {
      misses.Add(file, target, *next);
    }
  }
  EXPECT_GT(found, 20000u);
}

// A look-up finds one of the gaps that were stored, never a mixture of two.
TEST(MissCacheTest, ManyThreads) {
  MissCache misses(1);
  std::atomic<uint64_t> wrong{0};
  InThreads(4, [&](size_t thread) {
    for (uint64_t i = 0; i < 50000; i++) {
      const std::string body(1 + i % 40, static_cast<char>('a' + i % 7));
      misses.Add(i % 3, body, body + body.substr(0, 1));
      std::string end;
      if (misses.Find((i + thread) % 3, body, &end)) {
        wrong += end.find_first_not_of(body[0]) != std::string::npos;
      }
    }
  });
  EXPECT_EQ(0u, wrong);
}

// ---- Stretches of deletions ----

struct Entry {
  std::string key;
  bool is_deletion;
};
using Entries = std::vector<Entry>;

std::string ListOf(const Entries& entries) {
  DeletionStretchesBuilder builder;
  for (const Entry& entry : entries) builder.Add(entry.key, entry.is_deletion);
  return builder.Finish();
}

// Entries in words: "k0 -k1" are a value and a deletion.
Entries EntriesOf(const std::string& words) {
  Entries entries;
  for (const std::string& word : WordsOf(words)) {
    const bool is_deletion = word[0] == '-';
    entries.push_back({word.substr(is_deletion ? 1 : 0), is_deletion});
  }
  return entries;
}

// "[begin, end) deletions" of each stretch.
std::string TextOf(const Entries& entries) {
  const std::string list = ListOf(entries);
  std::string text;
  for (const DeletionStretch& stretch : DeletionStretches(list)) {
    text += "[" + stretch.begin.ToString() + ", " + stretch.end.ToString() +
            ") " + std::to_string(stretch.deletions);
  }
  return text;
}

// Which keys they contain: RandomEntries.
TEST(DeletionStretchesTest, EndsAreShort) {
  EXPECT_EQ("[k, v) 4",
            TextOf(EntriesOf("a-long-key -k1 -k2 -k3 -k4 value-of-the-next")));
  EXPECT_EQ("[k1, k5) 4", TextOf(EntriesOf("k0999 -k1 -k2 -k3 -k4 k50")));
  EXPECT_EQ("[, k5) 4", TextOf(EntriesOf("-k1 -k2 -k3 -k4 -k5")));
  const std::string zero(1, '\0');
  EXPECT_EQ("[, \xff) 4", TextOf({{"", true},
                                  {zero, true},
                                  {zero + zero, true},
                                  {"\xfe", true},
                                  {"\xff\xff", false}}));
  EXPECT_EQ("[" + zero + ", \xff\xff) 4", TextOf({{"", false},
                                                  {zero, true},
                                                  {zero + zero, true},
                                                  {"\xfe", true},
                                                  {"\xff", true},
                                                  {"\xff\xff", false}}));
}

constexpr char kTwoStretches[] = "-k1 -k2 -k3 -k4 k5 -m1 -m2 -m3 -m4 n";

TEST(DeletionStretchesTest, FindsTheStretchAboveAKey) {
  const std::string list = ListOf(EntriesOf(kTwoStretches));
  const DeletionStretches stretches(list);
  ASSERT_EQ(2u, stretches.size());
  EXPECT_EQ(&stretches[1], stretches.EndingAbove("k5"));
  EXPECT_EQ(nullptr, stretches.EndingAbove("n"));
}

// The longest ones are kept of too many stretches.
TEST(DeletionStretchesTest, TheListIsSmall) {
  DeletionStretchesBuilder builder;
  uint64_t entries = 0;
  uint64_t longest = 0;
  for (int i = 0; i < 20000; i++) {
    const int deletions = 4 + i % 60;
    if (deletions == 63) longest++;
    for (int j = 0; j < deletions + 1; j++, entries++) {
      char key[16];
      snprintf(key, sizeof(key), "%06d%03d", i, j);
      builder.Add(key, j < deletions);
    }
  }
  const size_t max_bytes = builder.MaxBytes();
  const std::string list = builder.Finish();
  EXPECT_LE(list.size(), max_bytes);
  EXPECT_LE(list.size(),
            entries / DeletionStretchesBuilder::kEntriesPerByte + 100);
  const DeletionStretches stretches(list);
  uint64_t found = 0;
  for (const DeletionStretch& stretch : stretches) {
    found += stretch.deletions == 63;
  }
  EXPECT_EQ(longest, found);
}

TEST(DeletionStretchesTest, DamagedListsAreEmpty) {
  const std::string list = ListOf(EntriesOf(kTwoStretches));
  for (size_t size = 1; size < list.size(); size++) {
    EXPECT_EQ(0u, DeletionStretches(Slice(list.data(), size)).size());
  }
  for (size_t bit = 0; bit < 8 * list.size(); bit++) {
    const std::string damaged = WithBitFlipped(list, bit);
    const DeletionStretches stretches(damaged);
    for (size_t j = 1; j < stretches.size(); j++) {
      EXPECT_LE(stretches[j - 1].end.compare(stretches[j].begin), 0);
    }
  }
  EXPECT_EQ(0u, DeletionStretches("").size());
}

// All stretches that are long enough are there, with all keys and no value.
TEST(DeletionStretchesTest, RandomEntries) {
  Lcg random(1);
  for (int round = 0; round < 2000; round++) {
    std::map<std::string, std::vector<bool>> versions;
    const size_t keys = 1 + random.Next(60);
    const uint64_t values = 1 + random.Next(20);
    for (size_t i = 0; i < keys; i++) {
      versions[random.Word(std::string("\0a\xff", 3), 0, 3)].push_back(
          random.Next(values) != 0);
    }
    Entries entries;
    std::map<std::string, bool> has_value;
    for (const auto& [key, all] : versions) {
      for (const bool is_deletion : all) {
        entries.push_back({key, is_deletion});
        has_value[key] |= !is_deletion;
      }
    }
    const DeletionStretches stretches(ListOf(entries));
    uint64_t in_a_row = 0;
    uint64_t in_stretches = 0;
    uint64_t expected = 0;
    for (const auto& [key, value] : has_value) {
      const bool is_last = key == has_value.rbegin()->first;
      if (stretches.Contain(key)) {
        EXPECT_FALSE(value || is_last);
        in_stretches++;
      }
      if (!value && !is_last) {
        in_a_row++;
        continue;
      }
      if (in_a_row >= DeletionStretchesBuilder::kMinDeletions) {
        expected += in_a_row;
      }
      in_a_row = 0;
    }
    EXPECT_EQ(expected, in_stretches);
    uint64_t told = 0;
    for (const DeletionStretch& stretch : stretches) told += stretch.deletions;
    EXPECT_EQ(expected, told);
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
