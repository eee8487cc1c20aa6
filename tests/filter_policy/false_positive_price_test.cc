// SPDX-License-Identifier: Apache-2.0

//  The cost of a false positive follows from recent reads, in classes that a
//  fluctuating cost does not leave. Seeks stop waiting where that saves
//  nothing.

#include <gtest/gtest.h>

#include <cmath>

#include "filter_policy/open_db/open_families.h"
#include "filter_policy/open_db/seek_backoff.h"
#include "filter_policy/query_demand.h"
#include "rocksdb/statistics.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

TEST(FalsePositivePriceTest, PriceOfReads) {
  // Too few reads tell nothing.
  EXPECT_EQ(200000, PriceOfFalsePositive({}, 0));
  EXPECT_EQ(200000, PriceOfFalsePositive({63, 0}, 0));
  EXPECT_EQ(200000, PriceOfFalsePositive({0, 63}, 5000));
  EXPECT_EQ(2000, PriceOfFalsePositive({64, 0}, 0));
  EXPECT_EQ(2000, PriceOfFalsePositive({64, 0}, 100));
  // The time of reads from files is unknown, or between the limits.
  EXPECT_EQ(200000, PriceOfFalsePositive({0, 64}, 0));
  EXPECT_EQ(90000, PriceOfFalsePositive({0, 64}, 90));
  EXPECT_EQ(20000, PriceOfFalsePositive({0, 64}, 3));
  EXPECT_EQ(50e6, PriceOfFalsePositive({0, 64}, 50000));
  EXPECT_EQ(10e9, PriceOfFalsePositive({0, 64}, 12e6));
  // The mean of both kinds.
  EXPECT_EQ(101000, PriceOfFalsePositive({500, 500}, 0));
  EXPECT_EQ(11800, PriceOfFalsePositive({900, 100}, 100));
}

TEST(FalsePositivePriceTest, NearestClass) {
  // Far from the usual price, the nearest class is taken.
  EXPECT_EQ(2000u, PriceClassOf(2000, 0));
  EXPECT_EQ(2000u, PriceClassOf(6000, 0));
  EXPECT_EQ(20000u, PriceClassOf(7000, 0));
  EXPECT_EQ(20000u, PriceClassOf(20000, 0));
  EXPECT_EQ(200000u, PriceClassOf(200000, 0));
  EXPECT_EQ(2000000u, PriceClassOf(6e6, 0));
  // Storage that is far away.
  EXPECT_EQ(20000000u, PriceClassOf(10e6, 0));
  EXPECT_EQ(20000000u, PriceClassOf(50e6, 0));
  EXPECT_EQ(200000000u, PriceClassOf(100e6, 0));
  EXPECT_EQ(2000000000u, PriceClassOf(3e9, 0));
  EXPECT_EQ(2000000000u, PriceClassOf(10e9, 0));
  // Reads of an SSD of any speed are usual.
  for (const double price : {40e3, 60e3, 100e3, 300e3, 1e6}) {
    EXPECT_EQ(200000u, PriceClassOf(price, 0)) << price;
    EXPECT_EQ(200000u, PriceClassOf(price, 200000)) << price;
  }
  EXPECT_EQ(2000u, PriceClassOf(2000, 2000000));
  EXPECT_EQ(2000000u, PriceClassOf(6e6, 2000));
}

// Wherever a price fluctuates by a factor of 3, the class changes once at most.
TEST(FalsePositivePriceTest, FluctuationsChangeNothing) {
  for (double price = 1500; price < 10e9; price *= 1.1) {
    uint64_t price_class = PriceClassOf(price, 0);
    int changes = 0;
    for (int i = 0; i < 100; i++) {
      const double factor = i % 2 == 0 ? std::sqrt(3.0) : 1 / std::sqrt(3.0);
      const uint64_t now = PriceClassOf(price * factor, price_class);
      if (now != price_class) changes++;
      price_class = now;
    }
    EXPECT_LE(changes, 1) << price;
  }
}

TEST(FalsePositivePriceTest, RateForTime) {
  EXPECT_EQ(0.002, MaxRateForTime(200000));
  EXPECT_EQ(0.0002, MaxRateForTime(2000000));
  EXPECT_EQ(0.00002, MaxRateForTime(20000000));
  EXPECT_EQ(0.02, MaxRateForTime(20000));
  EXPECT_EQ(0.02, MaxRateForTime(2000));
}

TEST(FalsePositivePriceTest, Text) {
  for (const auto& [text, price] :
       {std::pair<const char*, uint64_t>{"1us", 1000},
        {"2us", 2000},
        {"2.5us", 2500},
        {"10us", 10000},
        {"200us", 200000},
        {"1ms", 1000000},
        {"1.25ms", 1250000},
        {"100ms", 100000000},
        {"2000ms", 2000000000},
        {"10000ms", 10000000000}}) {
    uint64_t parsed = 0;
    EXPECT_TRUE(ParsePrice(text, &parsed)) << text;
    EXPECT_EQ(price, parsed) << text;
    EXPECT_EQ(text, PriceText(price));
  }
  uint64_t price = 17;
  EXPECT_TRUE(ParsePrice("0.2ms", &price));
  EXPECT_EQ(200000u, price);
  price = 17;
  for (const char* text :
       {"", "us", "ms", "2", "2s", "2 us", "-2us", "+2us", "2us ", "2US", "0us",
        "0.9us", "10001ms", "1e3us", "nanus", "2us2us", "1..5us",
        "99999999999999999999999999ms", "auto"}) {
    EXPECT_FALSE(ParsePrice(text, &price)) << text;
    EXPECT_EQ(17u, price) << text;
  }
}

TEST(FalsePositivePriceTest, LevelsCountReadsAnew) {
  LevelPrice level;
  EXPECT_EQ(0u, level.Update({0, 0}, 0));
  EXPECT_EQ(0u, level.Update({63, 0}, 0));
  EXPECT_EQ(2000u, level.Update({64, 0}, 0));
  // Too few new reads change nothing.
  EXPECT_EQ(2000u, level.Update({64, 63}, 0));
  EXPECT_EQ(200000u, level.Update({64, 64}, 0));
  // A long time with cached reads is not remembered.
  EXPECT_EQ(2000u, level.Update({1000064, 64}, 0));
  EXPECT_EQ(200000u, level.Update({1000064, 164}, 0));
  EXPECT_EQ(2000000u, level.Update({1000064, 264}, 6000));
  // Counts that are read while threads go on may seem to fall.
  EXPECT_EQ(2000000u, level.Update({1000000, 364}, 6000));
  EXPECT_EQ(2000000u, level.Update({1000063, 300}, 6000));
  EXPECT_EQ(2000u, level.Update({1000200, 300}, 6000));
}

TEST(FalsePositivePriceTest, TimeOfFileReads) {
  FileReadTime time;
  EXPECT_EQ(0, time.Update(nullptr));
  const auto statistics = CreateDBStatistics();
  EXPECT_EQ(0, time.Update(statistics.get()));
  const auto read = [&](Histograms kind, uint64_t micros, int times) {
    for (int i = 0; i < times; i++) {
      statistics->recordInHistogram(kind, micros);
    }
  };
  read(FILE_READ_GET_MICROS, 100, 40);
  read(SST_READ_MICROS, 9000, 200);
  read(FILE_READ_COMPACTION_MICROS, 9000, 200);
  EXPECT_EQ(0, time.Update(statistics.get()));
  read(FILE_READ_DB_ITERATOR_MICROS, 60, 40);
  EXPECT_EQ(80, time.Update(statistics.get()));
  EXPECT_EQ(80, time.Update(statistics.get()));
  read(FILE_READ_GET_MICROS, 10, 100);
  EXPECT_EQ(10, time.Update(statistics.get()));
  // The statistics may be reset, or be away for a while.
  EXPECT_EQ(10, time.Update(nullptr));
  ASSERT_TRUE(statistics->Reset().ok());
  EXPECT_EQ(10, time.Update(statistics.get()));
  read(FILE_READ_GET_MICROS, 500, 70);
  EXPECT_EQ(500, time.Update(statistics.get()));
}

TEST(SeekBackoffTest, PausesWhereWaitsAreOfNoUse) {
  for (const bool from_cache : {false, true}) {
    SeekBackoff::Shared shared;
    SeekBackoff::CachedReads cached{0};
    int waits = 0;
    for (int i = 0; i < 100000; i++) {
      SeekBackoff backoff(&shared, &cached);
      if (backoff.ShouldWait()) {
        waits++;
        backoff.OnReached();
      }
      backoff.OnRead(from_cache);
    }
    EXPECT_LT(waits, from_cache ? 1000 : 4000);
    EXPECT_GT(waits, from_cache ? 100 : 1000);
  }
}

TEST(SeekBackoffTest, OneInFourIsWorthIt) {
  for (const bool from_cache : {false, true}) {
    SeekBackoff::Shared shared;
    SeekBackoff::CachedReads cached{0};
    Random random(1);
    int waits = 0;
    for (int i = 0; i < 100000; i++) {
      SeekBackoff backoff(&shared, &cached);
      if (!backoff.ShouldWait()) continue;
      waits++;
      if (random.OneIn(4)) {
        backoff.OnPassed();
      } else {
        backoff.OnReached();
        backoff.OnRead(from_cache);
      }
    }
    EXPECT_GE(waits, from_cache ? 90000 : 100000);
  }
}

// An iterator that has backed off over cached blocks begins anew when blocks
// are read from disk.
TEST(SeekBackoffTest, BeginsAnewWhenBlocksAreReadAgain) {
  SeekBackoff::Shared shared;
  SeekBackoff::CachedReads cached{0};
  SeekBackoff backoff(&shared, &cached);
  for (int i = 0; i < 100; i++) backoff.OnRead(/*from_cache=*/true);
  EXPECT_TRUE(backoff.ReadsAreCheap());
  for (int i = 0; i < 32; i++) backoff.OnReached();
  EXPECT_FALSE(backoff.ShouldWait());
  backoff.OnRead(/*from_cache=*/false);
  EXPECT_FALSE(backoff.ReadsAreCheap());
  EXPECT_TRUE(backoff.ShouldWait());
}

TEST(SeekBackoffTest, FilesOfALevelShareWhatReadsCost) {
  SeekBackoff::Shared shared;
  SeekBackoff::Shared other_shared;
  SeekBackoff::CachedReads cached{0};
  SeekBackoff backoff(&shared, &cached);
  SeekBackoff other(&other_shared, &cached);
  for (int i = 0; i < 50; i++) {
    backoff.OnRead(/*from_cache=*/true);
    other.OnRead(/*from_cache=*/true);
  }
  EXPECT_TRUE(backoff.ReadsAreCheap());
  EXPECT_TRUE(other.ReadsAreCheap());
  for (int i = 0; i < 32; i++) other.OnReached();
  EXPECT_FALSE(other.ShouldWait());
  EXPECT_TRUE(backoff.ShouldWait());
  backoff.OnRead(/*from_cache=*/false);
  EXPECT_FALSE(other.ReadsAreCheap());
  EXPECT_TRUE(other.ShouldWait());
}

}  // namespace ROCKSDB_NAMESPACE::protean
