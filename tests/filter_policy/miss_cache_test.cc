// SPDX-License-Identifier: Apache-2.0

//  The cache of what reads in vain have found out: whatever it says is true,
//  whatever is stored, and by how many threads.

#include "filter_policy/open_db/miss_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/lcg.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

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
  EXPECT_EQ(1u, misses.Counts().stored);
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

// What is found is one of the gaps that were stored, never a mixture of two.
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
