// SPDX-License-Identifier: Apache-2.0

//  Dead ranges: a scan passes one if the newest entry of each key is a
//  deletion; the table of ranges finds, replaces and forgets them. The cache of
//  misses: its answers are true for any keys, and for any number of threads.

#include "filter_policy/open_db/dead_ranges.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "filter_policy/open_db/miss_cache.h"
#include "tests/lcg.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct Entry {
  uint64_t file;
  std::string key;
  bool is_deletion;
  SequenceNumber sequence;
};

class DeadRangeFinderTest : public testing::Test {
 public:
  DeadRangeFinderTest() { DeadRangeFinder::SetMinEntries(1); }
  ~DeadRangeFinderTest() override {
    DeadRangeFinder::SetMinEntries(DeadRangeFinder::kMinEntries);
  }

  // The range from `target` to `end`, or to the first key that is not dead.
  static std::string Find(const std::string& target,
                          const std::vector<Entry>& entries,
                          const std::string& end, bool sees_all = true) {
    DeadRangeFinder finder;
    finder.Begin(target, /*inclusive=*/true);
    DeadRange range;
    for (const Entry& entry : entries) {
      if (!finder.Pass(entry.file, entry.key, entry.is_deletion, entry.sequence,
                       sees_all)) {
        return finder.Finish(entry.key, &range) ? Text(range) : "none";
      }
    }
    const bool found = finder.Finish(end, &range);
    return found ? Text(range) : "none";
  }

  // Begin, first key, end, the newest sequence number and the files.
  static std::string Text(const DeadRange& range) {
    std::string text = range.begin + "," + range.first + "," + range.end + "@" +
                       std::to_string(range.sequence);
    for (const uint64_t file : range.files) text += " " + std::to_string(file);
    return text;
  }
};

TEST_F(DeadRangeFinderTest, WhatEndsARange) {
  // Deletions hide older entries of their key.
  EXPECT_EQ("a,b,d@9 1 2", Find("a",
                                {{2, "b", true, 7},
                                 {1, "b", false, 3},
                                 {1, "b", true, 2},
                                 {1, "b", false, 1},
                                 {2, "c", true, 9}},
                                "d"));
  // A value ends the range.
  EXPECT_EQ(
      "a,b,c@7 2",
      Find("a", {{2, "b", true, 7}, {1, "c", false, 3}, {1, "c", true, 2}},
           "z"));
  EXPECT_EQ("none", Find("a", {{1, "b", false, 3}, {2, "c", true, 7}}, "z"));
  // The target may have newer entries.
  const std::string after_a("a\0", 2);
  EXPECT_EQ(after_a + ",b,z@7 2",
            Find("a", {{1, "a", false, 8}, {2, "b", true, 7}}, "z"));
  EXPECT_EQ(after_a + ",b,z@7 2",
            Find("a", {{2, "b", true, 7}}, "z", /*sees_all=*/false));
}

TEST_F(DeadRangeFinderTest, FewEntriesAreNotWorthKeeping) {
  DeadRangeFinder::SetMinEntries(2);
  EXPECT_EQ("none", Find("a", {{2, "b", true, 7}}, "z"));
  EXPECT_EQ("a,b,z@7 1 2",
            Find("a", {{2, "b", true, 7}, {1, "b", false, 3}}, "z"));
  // The search has passed nothing below the end.
  EXPECT_EQ("none", Find("a", {{2, "b", true, 7}, {1, "b", false, 3}}, "b"));
}

DeadRange Range(const std::string& begin, const std::string& end,
                std::vector<uint64_t> files) {
  DeadRange range;
  range.begin = range.first = begin;
  range.end = end;
  range.files = std::move(files);
  return range;
}

// The range of the file that has the key; "-" if there is none.
std::string FoundIn(const DeadRanges& ranges, uint64_t file, const Slice& key) {
  const auto range = ranges.Find(file, key);
  return range == nullptr ? "-" : range->begin + "-" + range->end;
}

TEST(DeadRangesTest, FindsARangeByEachOfItsFiles) {
  DeadRanges ranges(1 << 20);
  ranges.Add(Range("b", "d", {1, 2}));
  ranges.Add(Range("d", "f", {2, 3}));
  EXPECT_EQ("-", FoundIn(ranges, 1, "a"));
  EXPECT_EQ("b-d", FoundIn(ranges, 1, "b"));
  EXPECT_EQ("b-d", FoundIn(ranges, 2, "cc"));
  EXPECT_EQ("d-f", FoundIn(ranges, 2, "d"));
  EXPECT_EQ("-", FoundIn(ranges, 1, "d"));
  EXPECT_EQ("-", FoundIn(ranges, 2, "f"));
  EXPECT_TRUE(ranges.Find(2, "c")->HasFile(1));
  EXPECT_FALSE(ranges.Find(2, "c")->HasFile(3));
}

TEST(DeadRangesTest, RangesOfAFileDoNotOverlap) {
  DeadRanges ranges(1 << 20);
  ranges.Add(Range("d", "f", {1, 2}));
  // One of other files may.
  ranges.Add(Range("a", "z", {4}));
  EXPECT_EQ("a-z", FoundIn(ranges, 4, "d"));
  // Known already.
  ranges.Add(Range("d", "e", {2, 3}));
  EXPECT_EQ("-", FoundIn(ranges, 3, "d"));
  // A new range is stored without the part that is known, at either end.
  ranges.Add(Range("e", "h", {2, 3}));
  EXPECT_EQ("f-h", FoundIn(ranges, 3, "g"));
  ranges.Add(Range("c", "e", {2, 3}));
  EXPECT_EQ("c-d", FoundIn(ranges, 3, "c"));
  EXPECT_EQ("d-f", FoundIn(ranges, 2, "d"));
  EXPECT_EQ(4u, ranges.size());
  // One that contains others takes their place.
  ranges.Add(Range("c", "g", {1, 2}));
  EXPECT_EQ("c-f", FoundIn(ranges, 1, "d"));
  EXPECT_EQ("c-f", FoundIn(ranges, 2, "e"));
  EXPECT_EQ("-", FoundIn(ranges, 3, "c"));
  EXPECT_EQ("f-h", FoundIn(ranges, 2, "g"));
  EXPECT_EQ(3u, ranges.size());
}

TEST(DeadRangesTest, ForgetsTheRangesOfAFile) {
  DeadRanges ranges(1 << 20);
  ranges.Add(Range("b", "d", {1, 2}));
  ranges.Add(Range("e", "f", {1, 3}));
  ranges.Add(Range("g", "h", {2, 3}));
  ranges.Forget(1);
  EXPECT_EQ("-", FoundIn(ranges, 2, "b"));
  EXPECT_EQ("-", FoundIn(ranges, 3, "e"));
  EXPECT_EQ("g-h", FoundIn(ranges, 2, "g"));
  ranges.Forget(9);
  EXPECT_EQ(1u, ranges.size());
}

TEST(DeadRangesTest, TheOldestRangesMakeRoom) {
  DeadRanges ranges(1 << 14);
  for (int i = 0; i < 1000; i++) {
    const std::string key = std::to_string(10000 + i);
    ranges.Add(Range(key, key + "x", {1, 2}));
  }
  EXPECT_LT(ranges.size(), 60u);
  EXPECT_GT(ranges.size(), 20u);
  EXPECT_EQ("-", FoundIn(ranges, 1, "10000"));
  EXPECT_EQ("10999-10999x", FoundIn(ranges, 1, "10999"));
  // One that takes much of the room is not kept.
  ranges.Add(Range("a", std::string(4000, 'x'), {1}));
  EXPECT_EQ("-", FoundIn(ranges, 1, "b"));
}

// The end of the gap of file 1 that has the key; "-" if none is known.
std::string EndOf(const MissCache& misses, const Slice& key,
                  uint64_t file = 1) {
  std::string end;
  return misses.Find(file, key, &end) ? end : "-";
}

TEST(MissCacheTest, FindsWhatItsGapsContain) {
  MissCache misses(1 << 20);
  EXPECT_EQ("-", EndOf(misses, "b1"));
  misses.Add(1, "b1", "b5");
  EXPECT_EQ("b5", EndOf(misses, "b1"));
  // A target near the beginning is found, too.
  EXPECT_EQ("b5", EndOf(misses, "b4"));
  EXPECT_EQ("-", EndOf(misses, "b5"));
  EXPECT_EQ("-", EndOf(misses, "b0"));
  EXPECT_EQ("-", EndOf(misses, "b2", /*file=*/2));
  EXPECT_EQ(1u, misses.stored());
}

TEST(MissCacheTest, AGapReplacesItsParts) {
  MissCache misses(1);  // one set
  misses.Add(1, "b3", "b5");
  misses.Add(1, "b2", "b9");
  for (const char* lo : {"c", "d", "e"})
    misses.Add(1, lo, std::string(lo) + "x");
  EXPECT_EQ("b9", EndOf(misses, "b3"));
}

TEST(MissCacheTest, LongKeysAreCutOrLeftOut) {
  MissCache misses(1 << 20);
  const std::string prefix(MissCache::kMaxBytes - 2, 'p');
  misses.Add(1, prefix, prefix + "abcdef");
  EXPECT_EQ(prefix + "ab", EndOf(misses, prefix));
  EXPECT_EQ("-", EndOf(misses, prefix + "ac"));
  misses.Add(1, prefix + "ab", prefix + "b");
  EXPECT_EQ("-", EndOf(misses, prefix + "ab"));
  misses.Add(1, "", std::string(1000, 'x'));
  EXPECT_EQ(std::string(MissCache::kMaxBytes, 'x'), EndOf(misses, ""));
  // No range at all.
  misses.Add(2, "b", "a");
  misses.Add(2, "b", "b");
  EXPECT_EQ("-", EndOf(misses, "b", 2));
  EXPECT_EQ("-", EndOf(misses, "a", 2));
}

// Gaps between the keys of some files, of bytes that hurt, in a small cache.
TEST(MissCacheTest, NeverDeniesAKey) {
  Lcg random(1);
  MissCache misses(16 << 10);
  const auto word = [&random] {
    std::string key;
    for (size_t n = random.Next(5); n > 0; n--)
      key += "\0a\xfe\xff"[random.Next(4)];
    return key;
  };
  std::map<uint64_t, std::map<std::string, bool>> files;
  for (uint64_t file = 0; file < 8; file++) {
    for (int i = 0; i < 30; i++) files[file][word()] = true;
  }
  uint64_t found = 0;
  for (int i = 0; i < 200000; i++) {
    const uint64_t file = random.Next(files.size());
    const std::string target = word();
    const auto next = files[file].lower_bound(target);
    std::string end;
    if (misses.Find(file, target, &end)) {
      found++;
      ASSERT_LT(target, end);
      ASSERT_TRUE(next == files[file].end() || end <= next->first);
    } else if (next != files[file].end()) {
      misses.Add(file, target, next->first);
    }
  }
  EXPECT_GT(found, 20000u);
}

// A look-up finds one of the gaps that were stored, never a mixture of two.
TEST(MissCacheTest, ManyThreads) {
  MissCache misses(1);
  std::vector<std::thread> threads;
  std::atomic<uint64_t> wrong{0};
  for (uint64_t thread = 0; thread < 4; thread++) {
    threads.emplace_back([&, thread] {
      for (uint64_t i = 0; i < 50000; i++) {
        const std::string body(1 + i % 40, static_cast<char>('a' + i % 7));
        misses.Add(i % 3, body, body + body.substr(0, 1));
        std::string end;
        if (misses.Find((i + thread) % 3, body, &end)) {
          wrong += end.find_first_not_of(body[0]) != std::string::npos;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0u, wrong);
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
