// SPDX-License-Identifier: Apache-2.0

//  A read in vain is paid once: what repeated queries cost, and that nothing is
//  denied that is there (filter_policy/open_db/miss_cache.h).

#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

MissCacheStatistics MissesOf(DB* db) { return StatisticsOf(db).miss_cache; }

class MissCacheDBTest : public testing::TestWithParam<const char*> {
 protected:
  // Small filters let much through. Three runs, the deeper ones of many files.
  void Fill(const std::string& more = "") {
    dbs_.options(TwinDB::kProtean).table_factory =
        NewTable("ProteanTable", GetParam() + more);
    dbs_.Open();
    for (const int level : {3, 2, 0}) {
      for (int i = 0; i < 2000; i++) {
        dbs_.Put(KeyOf(random_.Uniform(1 << 20)), "value");
      }
      dbs_.Flush();
      if (level > 0) dbs_.CompactLevel0Into(level, 8 << 10);
    }
  }
  static std::string KeyOf(uint64_t number) { return Digits(number, 8); }
  // The i-th of 500 numbers, nearly all of which are no keys.
  static uint64_t Target(int i) { return i * 977 % (1 << 20); }
  void GetTargets() {
    Keys keys;
    for (int i = 0; i < 500; i++) keys.push_back(KeyOf(Target(i)));
    CompareGets(&dbs_, keys);
  }

  // The files that filters have let through in vain.
  uint64_t InVain() {
    const FilterSums total = StatisticsOf(dbs_.protean()).total;
    return total.bounded_seeks.false_positives +
           total.unbounded_seeks.false_positives + total.gets.false_positives;
  }
  // Runs `ask` a number of times, and returns what was read in vain each time.
  std::vector<uint64_t> Repeat(int times, const std::function<void()>& ask) {
    std::vector<uint64_t> in_vain;
    for (int i = 0; i < times; i++) {
      const uint64_t before = InVain();
      ask();
      in_vain.push_back(InVain() - before);
    }
    return in_vain;
  }

  Random random_{301};
  TwinDB dbs_{"miss_cache", UnthrottledFiles(), nullptr,
              NewTable("BlockBasedTable", "block_size=512")};
};

TEST_P(MissCacheDBTest, ReadsInVainArePaidOnce) {
  Fill();
  const auto gets = Repeat(3, [this] { GetTargets(); });
  EXPECT_GT(gets[0], 20u);
  EXPECT_LE(gets[1] + gets[2], gets[0] / 50);
  const auto bounded = Repeat(3, [this] {
    TwinIterator it(&dbs_, ReadOptions(), /*lower=*/false, /*upper=*/true);
    for (int i = 0; i < 500; i++) {
      it.SetUpper(KeyOf(Target(i) + 8));
      it.Seek(KeyOf(Target(i)));
    }
  });
  EXPECT_GT(bounded[0], 20u);
  EXPECT_LE(bounded[1] + bounded[2], bounded[0] / 50);
  EXPECT_GT(MissesOf(dbs_.protean()).hits, 2 * bounded[1]);
}

TEST_P(MissCacheDBTest, UnboundedSeeksGoOnBehindGaps) {
  Fill();
  const auto unbounded = Repeat(3, [this] {
    TwinIterator it(&dbs_, ReadOptions(), /*lower=*/false, /*upper=*/false);
    for (int i = 0; i < 500; i++) {
      if (it.Seek(KeyOf(Target(i))) && i % 3 == 0) it.Next();
    }
  });
  EXPECT_GT(unbounded[0], 20u);
  EXPECT_LE(unbounded[2], unbounded[0] / 3);
}

// What reads have found out, the functions that do not read know, too.
TEST_P(MissCacheDBTest, WhatIsKnownToBeAbsentDoesNotExist) {
  Fill();
  DB* const db = dbs_.protean();
  uint64_t wrong = 0;
  for (int i = 0; i < 500; i++) {
    const std::string key = KeyOf(Target(i));
    wrong += !Has(db, key) && KeyMayExist(db, key);
  }
  EXPECT_LE(wrong, 10u);
}

// What a snapshot does not see is there all the same.
TEST_P(MissCacheDBTest, SnapshotsDoNotHideKeysFromLaterReads) {
  dbs_.options(TwinDB::kProtean).table_factory =
      NewTable("ProteanTable", GetParam());
  dbs_.Open();
  dbs_.Put("a", "old");
  dbs_.TakeSnapshot();
  Keys keys;
  for (int i = 0; i < 100; i++) {
    keys.push_back(KeyOf(i));
    dbs_.Put(keys.back(), "new");
  }
  dbs_.Put("b", "new");
  dbs_.Flush();
  for (const int snapshot : {0, -1, 0, -1}) {
    CompareGets(&dbs_, keys, snapshot);
    TwinIterator it(&dbs_, ReadOptions(), false, /*upper=*/true, snapshot);
    TwinIterator open(&dbs_, ReadOptions(), false, false, snapshot);
    for (const std::string& key : keys) {
      it.SetUpper(key + "x");
      it.Seek(key);
      open.Seek(key);
    }
  }
}

// Random queries, some of them again and again, with new files in between.
TEST_P(MissCacheDBTest, AnswersAreThoseOfPlainRocksDB) {
  Fill(";miss_cache_size=4096");
  for (int round = 0; round < 6; round++) {
    Keys targets;
    for (int i = 0; i < 200; i++) {
      targets.push_back(KeyOf(random_.Uniform(1 << 20)));
    }
    TwinIterator bounded(&dbs_, ReadOptions(), /*lower=*/true, /*upper=*/true);
    TwinIterator it(&dbs_, ReadOptions(), /*lower=*/false, /*upper=*/false);
    for (int i = 0; i < 3000 && !HasFailure(); i++) {
      const std::string& target = Pick(targets, &random_);
      bounded.SetLower(target);
      bounded.SetUpper(target.substr(0, 3 + random_.Uniform(5)) + "\xff");
      bounded.Seek(target);
      bool valid = it.Seek(target + std::string(random_.Uniform(2), '5'));
      for (int n = random_.Uniform(4); n > 0 && valid; n--) valid = it.Next();
      if (valid && random_.OneIn(5)) it.Prev();
    }
    CompareGets(&dbs_, targets);
    for (int i = 0; i < 100; i++) {
      if (random_.OneIn(2)) {
        dbs_.Put(Pick(targets, &random_), "again");
      } else {
        dbs_.Delete(Pick(targets, &random_));
      }
    }
    dbs_.Flush();
    if (round % 2 == 1) dbs_.CompactLevel0Into(1 + round % 3, 8 << 10);
  }
  EXPECT_EQ(4096u, MissesOf(dbs_.protean()).bytes);
  EXPECT_GT(MissesOf(dbs_.protean()).hits, 100u);
}

TEST_P(MissCacheDBTest, CanBeSwitchedOff) {
  Fill(";miss_cache_size=0");
  const auto gets = Repeat(2, [this] { GetTargets(); });
  EXPECT_GT(gets[0], 20u);
  EXPECT_EQ(gets[0], gets[1]);
  EXPECT_EQ(0u, MissesOf(dbs_.protean()).bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, MissCacheDBTest,
    testing::Values(
        "block_size=512;filter_policy=proteus:4",
        "block_size=512;filter_policy=surf:2:0",
        "block_size=512;filter_policy=proteus:4;metadata_block_size=256;"
        "cache_index_and_filter_blocks=true"));

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
