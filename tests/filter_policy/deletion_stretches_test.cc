// SPDX-License-Identifier: Apache-2.0

//  The list of a file's stretches of deletions, compared with what a look at
//  all its entries tells.

#include "filter_policy/deletion_stretches.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
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

// "[begin, end) deletions" of each stretch.
std::string TextOf(const Entries& entries) {
  const DeletionStretches stretches(ListOf(entries));
  std::string text;
  for (const DeletionStretch& stretch : stretches) {
    text += "[" + stretch.begin.ToString() + ", " + stretch.end.ToString() +
            ") " + std::to_string(stretch.deletions) + "\n";
  }
  return text;
}

Entries Deleted(const std::vector<std::string>& keys) {
  Entries entries;
  for (const std::string& key : keys) entries.push_back({key, true});
  return entries;
}

Entries Join(Entries a, const Entries& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Entries kFour = Deleted({"k1", "k2", "k3", "k4"});

TEST(DeletionStretchesTest, EndsAreShort) {
  EXPECT_EQ("[k, v) 4\n", TextOf(Join(Join({{"a-long-key", false}}, kFour),
                                      {{"value-of-the-next", false}})));
  EXPECT_EQ("[k1, k5) 4\n",
            TextOf(Join(Join({{"k0999", false}}, kFour), {{"k50", false}})));
}

TEST(DeletionStretchesTest, NothingIsBeforeTheFirstKey) {
  EXPECT_EQ("[, k5) 4\n", TextOf(Join(kFour, {{"k5", false}})));
}

// Whether more of the last key follows in another file is not known.
TEST(DeletionStretchesTest, TheLastKeyOfTheFileIsNotPartOfIt) {
  EXPECT_EQ("[, k5) 4\n", TextOf(Join(kFour, Deleted({"k5"}))));
  EXPECT_EQ("", TextOf(kFour));
}

TEST(DeletionStretchesTest, AKeyWithAValueInAnyVersionIsNotPartOfIt) {
  // The deletion is older than the value, and newer.
  EXPECT_EQ("[k1, k5) 4\n",
            TextOf(Join(Join({{"k0", false}, {"k0", true}}, kFour),
                        {{"k5", true}, {"k5", false}, {"k5", true}})));
  // Versions of one key count once.
  EXPECT_EQ("", TextOf(Join(Deleted({"k1", "k2", "k2", "k2", "k3"}),
                            {{"k4", false}})));
}

TEST(DeletionStretchesTest, EmptyKeysAndBytesOfAllKinds) {
  const std::string zero(1, '\0');
  EXPECT_EQ("[, \xff) 4\n",
            TextOf(Join(Deleted({"", zero, zero + zero, "\xfe"}),
                        {{"\xff\xff", false}})));
  EXPECT_EQ("[" + zero + ", \xff\xff) 4\n",
            TextOf(Join(Join({{"", false}},
                             Deleted({zero, zero + zero, "\xfe", "\xff"})),
                        {{"\xff\xff", false}})));
}

TEST(DeletionStretchesTest, FindsTheStretchOfAKey) {
  const DeletionStretches stretches(
      ListOf(Join(Join(kFour, {{"k5", false}}),
                  Join(Deleted({"m1", "m2", "m3", "m4"}), {{"n", false}}))));
  ASSERT_EQ(2u, stretches.size());
  EXPECT_TRUE(stretches.Contain(""));
  EXPECT_TRUE(stretches.Contain("k4~"));
  EXPECT_FALSE(stretches.Contain("k5"));
  EXPECT_FALSE(stretches.Contain("l"));
  EXPECT_TRUE(stretches.Contain("m"));
  EXPECT_FALSE(stretches.Contain("n"));
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
  const std::string list =
      ListOf(Join(Join(kFour, {{"k5", false}}),
                  Join(Deleted({"m1", "m2", "m3", "m4"}), {{"n", false}})));
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
