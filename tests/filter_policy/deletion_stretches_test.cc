// SPDX-License-Identifier: Apache-2.0

//  The list of a file's stretches of deletions, compared with what a look at
//  all its entries tells.

#include "filter_policy/deletion_stretches.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/lcg.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A version of a key.
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
  std::istringstream in(words);
  for (std::string word; in >> word;) {
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

TEST(DeletionStretchesTest, WhatIsPartOfAStretch) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"ends are short", "a-long-key -k1 -k2 -k3 -k4 value-of-the-next",
       "[k, v) 4"},
      {"ends are short", "k0999 -k1 -k2 -k3 -k4 k50", "[k1, k5) 4"},
      {"nothing is before the first key", "-k1 -k2 -k3 -k4 k5", "[, k5) 4"},
      {"more of the last key may follow in another file", "-k1 -k2 -k3 -k4 -k5",
       "[, k5) 4"},
      {"more of the last key may follow in another file", "-k1 -k2 -k3 -k4",
       ""},
      {"a deletion may be older than a value, and newer",
       "k0 -k0 -k1 -k2 -k3 -k4 -k5 k5 -k5", "[k1, k5) 4"},
      {"versions of one key count once", "-k1 -k2 -k2 -k2 -k3 k4", ""},
  };
  for (const auto& [what, entries, stretches] : cases) {
    EXPECT_EQ(stretches, TextOf(EntriesOf(entries))) << what << ": " << entries;
  }
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

TEST(DeletionStretchesTest, FindsTheStretchOfAKey) {
  const std::string list = ListOf(EntriesOf(kTwoStretches));
  const DeletionStretches stretches(list);
  ASSERT_EQ(2u, stretches.size());
  for (const char* key : {"", "k4~", "m"}) {
    EXPECT_TRUE(stretches.Contain(key)) << key;
  }
  for (const char* key : {"k5", "l", "n"}) {
    EXPECT_FALSE(stretches.Contain(key)) << key;
  }
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
  for (size_t i = 0; i < list.size(); i++) {
    for (int bit = 0; bit < 8; bit++) {
      std::string damaged = list;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      const DeletionStretches stretches(damaged);
      for (size_t j = 1; j < stretches.size(); j++) {
        EXPECT_LE(stretches[j - 1].end.compare(stretches[j].begin), 0);
      }
    }
  }
  EXPECT_EQ(0u, DeletionStretches("").size());
}

// No key of a stretch has a value, and each key in it that is asked for is
// found; all stretches of enough deletions are there.
TEST(DeletionStretchesTest, RandomEntries) {
  Lcg random(1);
  for (int round = 0; round < 2000; round++) {
    std::map<std::string, std::vector<bool>> versions;
    const size_t keys = 1 + random.Next(60);
    const uint64_t values = 1 + random.Next(20);
    for (size_t i = 0; i < keys; i++) {
      std::string key;
      for (size_t n = random.Next(4); n > 0; n--) {
        key += "\0a\xff"[random.Next(3)];
      }
      versions[key].push_back(random.Next(values) != 0);
    }
    Entries entries;
    std::map<std::string, bool> has_value;
    for (const auto& [key, all] : versions) {
      for (const bool is_deletion : all) {
        entries.push_back({key, is_deletion});
        has_value[key] = has_value[key] || !is_deletion;
      }
    }
    const DeletionStretches stretches(ListOf(entries));
    uint64_t in_a_row = 0;
    uint64_t in_stretches = 0;
    uint64_t expected = 0;
    for (const auto& [key, value] : has_value) {
      const bool is_last = key == has_value.rbegin()->first;
      if (stretches.Contain(key)) {
        EXPECT_FALSE(value);
        EXPECT_FALSE(is_last);
        in_stretches++;
      }
      if (value || is_last) {
        if (in_a_row >= DeletionStretchesBuilder::kMinDeletions) {
          expected += in_a_row;
        }
        in_a_row = 0;
      } else {
        in_a_row++;
      }
    }
    EXPECT_EQ(expected, in_stretches);
    uint64_t told = 0;
    for (const DeletionStretch& stretch : stretches) told += stretch.deletions;
    EXPECT_EQ(expected, told);
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
