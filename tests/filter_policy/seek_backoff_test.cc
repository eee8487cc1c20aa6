// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/seek_backoff.h"

#include <gtest/gtest.h>

#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

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

// What an iterator has learned with cached blocks says nothing about reads from
// a disk.
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
