// SPDX-License-Identifier: Apache-2.0

//  How the outcomes of seeks are counted, and when iterators hand the counts
//  over.

#include <thread>

#include "rocksdb/slice_transform.h"
#include "tests/plugin/filter_statistics_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Outcomes of seeks ----

TEST_F(FilterStatisticsTest, ClosedSeeks) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", FirstIn(Key(6), Key(9)));
  ExpectClosed({kNegative, kNegative, kNegative});
  // The target is a key of level 0.
  EXPECT_EQ(Key(12), FirstIn(Key(12), Key(13)));
  ExpectClosed({kTrue, kNegative, kNegative});
  // The target is no key, so the file waits.
  EXPECT_EQ(Key(12), FirstIn(Key(11), Key(14)));
  ExpectClosed({kReachedTrue, kNegative, kNegative});
  // All files wait; the search ends in the first one.
  EXPECT_EQ(Key(2), FirstIn(Key(1), Key(100)));
  ExpectClosed({kReachedTrue, kPassed, kPassed});
  EXPECT_EQ(Key(5), FirstIn(Key(3), Key(20)));
  ExpectClosed({kPassed, kReachedTrue, kPassed});
}

TEST_F(FilterStatisticsTest, OpenSeeks) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ(Key(2), FirstFrom(Key(1)));
  ExpectOpen({kReachedTrue, kPassed, kPassed});
  EXPECT_EQ(Key(15), FirstFrom(Key(15)));
  ExpectOpen({kPassed, kTrue, kPassed});
  // The target is beyond all files. Only level 0 asks the filter: in other
  // levels, RocksDB finds no file to seek in.
  EXPECT_EQ("", FirstFrom(Key(101)));
  ExpectOpen({kNegative, kNothing, kNothing});
  // Without a target, the filter cannot be asked.
  EXPECT_EQ(31u, AllRecords(db_.get()).size());
  ExpectOpen({kNothing, kNothing, kNothing});
}

TEST_F(FilterStatisticsTest, Backwards) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", LastIn(Key(6), Key(9)));
  ExpectClosed({kNegative, kNegative, kNegative});
  EXPECT_EQ(Key(5), LastIn(Key(4), Key(9)));
  ExpectClosed({kNegative, kTrue, kNegative});
  // An inverted range is not asked.
  EXPECT_EQ("", LastIn(Key(6), Key(4)));
  ExpectClosed({kNothing, kNothing, kNothing});
  EXPECT_EQ(Key(100), LastIn(Key(96), ""));
  ExpectClosed({kNegative, kNegative, kTrue});
}

TEST_F(FilterStatisticsTest, AFilterThatErrs) {
  SetTable("blind:1");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", FirstIn(Key(6), Key(9)));
  ExpectClosed({kFalse, kFalse, kFalse});
  EXPECT_EQ(Key(12), FirstIn(Key(12), Key(13)));
  ExpectClosed({kTrue, kFalse, kFalse});
  EXPECT_EQ(Key(12), FirstIn(Key(11), Key(16)));
  ExpectClosed({kTrue, kTrue, kFalse});
  // The filter knows the smallest key.
  EXPECT_EQ(Key(0), FirstIn("000", Key(1)));
  ExpectClosed({kNegative, kNegative, kReachedTrue});
  EXPECT_EQ("", LastIn(Key(6), Key(9)));
  ExpectClosed({kFalse, kFalse, kFalse});
  EXPECT_EQ(Key(5), LastIn(Key(4), Key(9)));
  ExpectClosed({kFalse, kTrue, kFalse});
  EXPECT_EQ(Key(12), FirstFrom(Key(11)));
  ExpectOpen({kTrue, kFalse, kFalse});
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    it->Seek(Key(11));
    // The search goes on to 0015, which is in level 1.
    it->Next();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(Key(15), it->key());
  }
  ExpectOpen({kTrue, kTrue, kFalse});
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (int i = 0; i < 3; i++) {
      it->Seek(Key(11));
      ASSERT_TRUE(it->Valid());
    }
  }
  // The second seek finds the blocks loaded.
  ExpectOpen({{0, 0, 3, 0, 0}, {0, 0, 2, 1, 0}, {0, 0, 2, 1, 0}});
}

// RocksDB's iterator over a level goes from file to file.
TEST_F(FilterStatisticsTest, SeeksThatGoOnInTheNextFile) {
  Open();
  for (const int first : {5, 55, 105}) AddFile(1, first, 5);
  Open();
  const ReadOptions read = UpTo(57);
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    int keys = 0;
    for (it->Seek(Key(44)); it->Valid(); it->Next()) keys++;
    EXPECT_EQ(2, keys);
  }
  ExpectClosed({kNothing, {0, 0, 2, 0, 1}, kNothing});
  // The target is between two files; RocksDB does not seek in the first one.
  EXPECT_EQ("", FirstIn(Key(46), Key(54)));
  ExpectClosed({kNothing, kNegative, kNothing});
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    it->Seek(Key(45));
    ASSERT_TRUE(it->Valid());
    it->Next();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(Key(55), it->key());
  }
  ExpectClosed({kNothing, {0, 0, 2, 0, 0}, kNothing});
  EXPECT_EQ(Key(45), FirstIn(Key(45), Key(50)));
  ExpectClosed({kNothing, kTrue, kNothing});
}

// With a bound, the filter is asked for the range, in which there is a key, and
// by RocksDB for the prefix, with which there is none.
TEST_F(FilterStatisticsTest, PrefixSeeks) {
  options_.prefix_extractor.reset(NewFixedPrefixTransform(2));
  Open();
  WriteFile({Key(0), Key(50), Key(2000)});
  Open();
  ReadOptions read;
  read.prefix_same_as_start = true;
  EXPECT_EQ("", FirstIn(Key(1000), Key(3000), read));
  ExpectClosed({kNegative, kNothing, kNothing});
  EXPECT_EQ("", FirstIn(Key(10), Key(20), read));
  ExpectClosed({kNegative, kNothing, kNothing});
  EXPECT_EQ(Key(50), FirstIn(Key(10), Key(60), read));
  ExpectClosed({kTrue, kNothing, kNothing});
  // Without a bound, only RocksDB asks the filter, for the prefix.
  EXPECT_EQ("", FirstFrom(Key(1000), read));
  ExpectOpen({kNothing, kNothing, kNothing});
}

TEST_F(FilterStatisticsTest, BlocksThatAreNotInTheCacheTeachNothing) {
  SetPolicy("exact:1", "block_cache=1M;block_size=64");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  ReadOptions read = UpTo(13);
  read.read_tier = kBlockCacheTier;
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    it->Seek(Key(12));
    EXPECT_TRUE(it->status().IsIncomplete());
  }
  EXPECT_EQ(0u, Level(FilterStats(), 0).bounded_seeks.asked());
}

// ---- Handing counts over ----

TEST_F(FilterStatisticsTest, IteratorsHandOverNowAndThenAndInTheEnd) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (int i = 0; i < 3; i++) {
      it->Seek(Key(1));
      ASSERT_TRUE(it->Valid());
    }
    // The iterator has handed nothing over yet.
    ExpectOpen({kNothing, kNothing, kNothing});
  }
  ExpectOpen({{0, 0, 3, 0, 3}, {0, 3, 0, 0, 0}, {0, 3, 0, 0, 0}});

  const std::unique_ptr<Iterator> it(db_->NewIterator(UpTo(9)));
  for (uint64_t i = 1; i <= 5000; i++) {
    it->Seek(Key(6));
    ASSERT_FALSE(it->Valid());
    if (i % 500 != 0) continue;
    const uint64_t counted = Level(FilterStats(), 0).bounded_seeks.negatives;
    EXPECT_LE(counted, i);
    EXPECT_LT(i, counted + 1024);
  }
}

TEST_F(FilterStatisticsTest, ThreadsLoseNothing) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kRounds = 300;
  std::atomic<bool> done{false};
  std::thread reader([&] {
    uint64_t last = 0;
    while (!done) {
      const uint64_t asked = FilterStats().total.bounded_seeks.asked();
      EXPECT_LE(last, asked);
      last = asked;
    }
  });
  const ReadOptions read = UpTo(9);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; t++) {
    threads.emplace_back([this, &read] {
      for (uint64_t i = 0; i < kRounds; i++) {
        EXPECT_EQ("", FirstIn(Key(6), Key(9)));
        EXPECT_EQ(Key(2), FirstIn(Key(1), Key(100)));
      }
      const std::unique_ptr<Iterator> it(db_->NewIterator(read));
      for (uint64_t i = 0; i < 10 * kRounds; i++) it->Seek(Key(6));
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  reader.join();
  const uint64_t negatives = kThreads * 11 * kRounds;
  const uint64_t others = kThreads * kRounds;
  // A seek of which RocksDB takes a sample reads where it would have waited.
  const uint64_t sampled = MostSampledSeeks(2 * others);
  const std::vector<Numbers> news = News(/*open=*/false);
  EXPECT_EQ((Numbers{negatives, 0, others}),
            Numbers(news[0].begin(), news[0].begin() + 3));
  for (const size_t level : {1, 2}) {
    EXPECT_EQ(negatives, news[level][0]);
    EXPECT_EQ(others, news[level][1] + news[level][2]);
    EXPECT_LE(news[level][2], sampled);
  }
  const uint64_t avoided = FilterStats().total.blocks_avoided();
  EXPECT_LE(avoided, 3 * negatives + 2 * others);
  EXPECT_GE(avoided + sampled, 3 * negatives + 2 * others);
}

}  // namespace ROCKSDB_NAMESPACE::protean
