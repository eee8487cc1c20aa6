// SPDX-License-Identifier: Apache-2.0

//  The queue of sample queries.

#include "filter_policy/samples/query_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "test_util/testharness.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Queries = std::vector<SampleQuery>;

SampleQuery Point(const std::string& key) { return {key, key, true}; }

Queries Points(int begin, int end) {
  Queries points;
  for (int i = begin; i < end; i++) points.push_back(Point(std::to_string(i)));
  return points;
}

// Runs it in a thread that no queue has counted in.
template <typename Function>
void InNewThread(Function function) {
  std::thread(function).join();
}

// The calls of Tick, from 0, that return true.
std::vector<int> Sampled(QueryQueue* queue, int calls) {
  std::vector<int> sampled;
  for (int i = 0; i < calls; i++) {
    if (queue->Tick()) sampled.push_back(i);
  }
  return sampled;
}

}  // namespace

TEST(QueryQueueTest, FirstInFirstOut) {
  QueryQueue queue(5);
  EXPECT_TRUE(queue.Snapshot().empty());
  for (int i = 0; i < 23; i++) {
    if (i % 2 == 0) {
      queue.Add(Point(std::to_string(i)));
    } else {
      queue.Record(std::to_string(i), std::to_string(i), true);
    }
    EXPECT_EQ(Points(std::max(0, i - 4), i + 1), queue.Snapshot());
    EXPECT_EQ(std::min<size_t>(i + 1, 5), queue.size());
    EXPECT_EQ(i + 1u, queue.recorded());
  }
  EXPECT_EQ(0u, queue.dropped());
}

TEST(QueryQueueTest, CapacityOfOneAndOfNone) {
  for (size_t capacity : {0, 1}) {
    QueryQueue queue(capacity, 0);
    queue.Add(Point("a"));
    queue.Add(Point("b"));
    EXPECT_EQ(Queries{Point("b")}, queue.Snapshot());
    EXPECT_TRUE(queue.Tick());
  }
}

TEST(QueryQueueTest, RecordKeepsBounds) {
  QueryQueue queue;
  const std::string zeros("\0\0", 2);
  queue.Record("a", "b", true);
  queue.Record("", "\xff", false);
  queue.Record(zeros, zeros, true);
  EXPECT_EQ((Queries{{"a", "b", true}, {"", "\xff", false}, Point(zeros)}),
            queue.Snapshot());
}

TEST(QueryQueueTest, RecordDropsLongKeysAndInvertedRanges) {
  QueryQueue queue;
  const std::string longest(QueryQueue::kMaxRecordedKey, 'k');
  const std::string longer = longest + "k";
  queue.Record(longer, longer, true);
  queue.Record("a", longer, true);
  queue.Record(longer, "z", true);
  queue.Record("b", "a", true);
  queue.Record("a", "a", false);
  EXPECT_EQ(5u, queue.dropped());
  EXPECT_EQ(0u, queue.recorded());
  queue.Record(longest, longest, true);
  EXPECT_EQ(Queries{Point(longest)}, queue.Snapshot());
  EXPECT_EQ(5u, queue.dropped());
}

TEST(QueryQueueTest, SnapshotsForAFile) {
  QueryQueue queue(100);
  for (char c = 'a'; c <= 'z'; c++) queue.Add(Point(std::string(1, c)));
  queue.Add({"a", "c", /*hi_inclusive=*/false});
  queue.Add({"a", "c", /*hi_inclusive=*/true});
  queue.Add({"x", "z", /*hi_inclusive=*/true});
  const SamplesOfFile all = queue.SnapshotFor("c", "x", 100);
  EXPECT_EQ(24u, all.queries.size());
  EXPECT_EQ(Point("c"), all.queries.front());
  EXPECT_EQ((SampleQuery{"x", "z", true}), all.queries.back());
  EXPECT_EQ(5u, all.outside);
  EXPECT_EQ(1u, all.per_query);
  const SamplesOfFile some = queue.SnapshotFor("c", "x", 5);
  EXPECT_EQ(5u, some.per_query);
  EXPECT_EQ((Queries{Point("f"), Point("k"), Point("p"), Point("u")}),
            some.queries);
  EXPECT_EQ(10u, some.outside);
  // For a narrow file, a larger part of the queue is looked at.
  const SamplesOfFile few = queue.SnapshotFor("k", "n", 5);
  EXPECT_EQ(1u, few.per_query);
  EXPECT_EQ((Queries{Point("k"), Point("l"), Point("m"), Point("n")}),
            few.queries);
  EXPECT_EQ(25u, few.outside);
  EXPECT_EQ(29u, queue.SnapshotFor("a", "z", 20).queries.size());
  EXPECT_TRUE(queue.SnapshotFor("zz", "zzz", 5).queries.empty());
}

TEST(QueryQueueTest, LongQueriesAreFewer) {
  constexpr size_t kCapacity = 100;
  constexpr size_t kMaxBytes = kCapacity * QueryQueue::kMaxBytesPerQuery;
  QueryQueue queue(kCapacity);
  Queries all;
  const auto expect_latest = [&](size_t number) {
    EXPECT_EQ(Queries(all.end() - static_cast<ptrdiff_t>(number), all.end()),
              queue.Snapshot());
    EXPECT_EQ(number, queue.size());
    EXPECT_EQ(all.size(), queue.recorded());
  };
  const auto record = [&](size_t bytes) {
    all.push_back(
        Point(std::string(bytes - 4, 'k') + std::to_string(1000 + all.size())));
    queue.Record(all.back().lo, all.back().hi, true);
  };
  for (int i = 0; i < 300; i++) record(10);
  expect_latest(kCapacity);
  for (int i = 0; i < 300; i++) record(2000);
  expect_latest(kMaxBytes / 4000);
  // Short queries fill the queue up again.
  for (int i = 0; i < 200; i++) record(10);
  expect_latest(kCapacity);
  all.push_back(Point(std::string(kMaxBytes, 'a')));
  queue.Add(all.back());
  expect_latest(1);
}

TEST(QueryQueueTest, TickOfEveryNth) {
  for (int every : {1, 2, 3, 100, 1000}) {
    InNewThread([every] {
      QueryQueue queue(10, every);
      std::vector<int> expected;
      for (int i = 1; i <= 7; i++) expected.push_back(i * every - 1);
      EXPECT_EQ(expected, Sampled(&queue, 8 * every - 1)) << every;
    });
  }
}

TEST(QueryQueueTest, TickOfLargestCount) {
  InNewThread([] {
    QueryQueue never(10, UINT32_MAX);
    QueryQueue always(10, 1);
    EXPECT_TRUE(Sampled(&never, 100000).empty());
    EXPECT_EQ(1000u, Sampled(&always, 1000).size());
  });
}

// Each thread counts for itself, and starts elsewhere in the count.
TEST(QueryQueueTest, TickInThreads) {
  constexpr int kEvery = 10;
  QueryQueue queue(10, kEvery);
  for (int thread = 0; thread < 50; thread++) {
    InNewThread([&] {
      const std::vector<int> sampled = Sampled(&queue, 20 * kEvery);
      ASSERT_EQ(20u, sampled.size());
      EXPECT_LT(sampled[0], kEvery);
      EXPECT_TRUE(thread > 0 || sampled[0] == kEvery - 1);
      for (size_t i = 1; i < sampled.size(); i++) {
        ASSERT_EQ(kEvery, sampled[i] - sampled[i - 1]);
      }
    });
  }
}

TEST(QueryQueueTest, TickInShortThreads) {
  QueryQueue queue(10, 100);
  size_t sampled = 0;
  for (int thread = 0; thread < 500; thread++) {
    InNewThread([&] { sampled += Sampled(&queue, 10).size(); });
  }
  EXPECT_NEAR(50, sampled, 3);
}

TEST(QueryQueueTest, QueuesDoNotDisturbEachOther) {
  InNewThread([] {
    QueryQueue a(10, 100);
    QueryQueue b(10, 100);
    QueryQueue c(10, 7);
    for (int i = 1; i <= 7000; i++) {
      ASSERT_EQ(i % 100 == 0, a.Tick()) << i;
      ASSERT_EQ(i % 100 == 0, b.Tick()) << i;
      ASSERT_EQ(i % 7 == 0, c.Tick()) << i;
    }
  });
}

// More queues than there is room for still get their shares.
TEST(QueryQueueTest, ManyQueues) {
  InNewThread([] {
    std::vector<std::unique_ptr<QueryQueue>> queues;
    for (int i = 0; i < 200; i++) {
      queues.push_back(std::make_unique<QueryQueue>(10, 20));
    }
    std::vector<int> sampled(queues.size());
    for (int call = 0; call < 2000; call++) {
      for (size_t i = 0; i < queues.size(); i++)
        sampled[i] += queues[i]->Tick();
    }
    for (int count : sampled) ASSERT_NEAR(100, count, 3);
  });
}

TEST(QueryQueueTest, QueueInThePlaceOfAnother) {
  InNewThread([] {
    for (int i = 0; i < 300; i++) {
      QueryQueue queue(10, 5);
      ASSERT_EQ(2u, Sampled(&queue, 10).size());
      queue.Tick();
    }
  });
}

TEST(QueryQueueTest, Concurrency) {
  constexpr int kThreads = 4;
  constexpr int kPerThread = 20000;
  QueryQueue queue(500, 1);
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPerThread; i++) {
        // All lengths occur, so that bytes of one query in another would show.
        const std::string lo(1 + i % 50, static_cast<char>('a' + t));
        if (queue.Tick()) queue.Record(lo, lo + "~", i % 2 == 0);
      }
      running--;
    });
  }
  int snapshots = 0;
  do {
    for (const SampleQuery& query : queue.Snapshot()) {
      ASSERT_EQ(std::string(query.lo.size(), query.lo[0]), query.lo);
      ASSERT_EQ(query.lo + "~", query.hi);
    }
    snapshots++;
  } while (running > 0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(snapshots, 0);
  EXPECT_EQ(uint64_t{kThreads} * kPerThread,
            queue.recorded() + queue.dropped());
  EXPECT_EQ(std::min<size_t>(500, queue.recorded()), queue.size());
}

}  // namespace ROCKSDB_NAMESPACE::protean
