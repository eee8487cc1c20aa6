// SPDX-License-Identifier: Apache-2.0

//  The queue of sample queries, what is counted of queries and keys, which
//  queries find no key of a file, and limits of what is kept beside filters.

#include "filter_policy/samples/query_queue.h"

#include <atomic>

#include "filter_policy/kept_memory.h"
#include "filter_policy/proteus/design_memory.h"
#include "filter_policy/query_demand.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

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

// A queue of no capacity has room for one.
TEST(QueryQueueTest, FirstInFirstOut) {
  for (const int capacity : {0, 1, 5}) {
    QueryQueue queue(static_cast<size_t>(capacity), /*sample_every=*/0);
    const int most = std::max(capacity, 1);
    EXPECT_TRUE(queue.Snapshot().empty());
    for (int i = 0; i < 23; i++) {
      EXPECT_TRUE(queue.Tick());
      if (i % 2 == 0) {
        queue.Add(Point(std::to_string(i)));
      } else {
        queue.Record(std::to_string(i), std::to_string(i), true);
      }
      EXPECT_EQ(Points(std::max(0, i + 1 - most), i + 1), queue.Snapshot());
      EXPECT_EQ(std::min(i + 1, most), static_cast<int>(queue.size()));
      EXPECT_EQ(i + 1u, queue.recorded());
    }
    EXPECT_EQ(0u, queue.dropped());
  }
}

TEST(QueryQueueTest, RecordKeepsBoundsButDropsLongKeysAndInvertedRanges) {
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
  const std::string zeros("\0\0", 2);
  const Queries kept = {
      Point(longest), {"a", "b", true}, {"", "\xff", false}, Point(zeros)};
  for (const SampleQuery& query : kept)
    queue.Record(query.lo, query.hi, query.hi_inclusive);
  EXPECT_EQ(kept, queue.Snapshot());
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

// Each queue samples every n-th query, whatever others count.
TEST(QueryQueueTest, TickOfEveryNth) {
  InNewThread([] {
    std::vector<std::unique_ptr<QueryQueue>> queues;
    for (const uint32_t every :
         {1u, 2u, 3u, 7u, 100u, 100u, 1000u, UINT32_MAX}) {
      queues.push_back(std::make_unique<QueryQueue>(10, every));
    }
    for (uint32_t i = 1; i <= 100000; i++) {
      for (const auto& queue : queues) {
        ASSERT_EQ(i % queue->sample_every() == 0, queue->Tick())
            << i << " of " << queue->sample_every();
      }
    }
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
  QueryQueue of_short_threads(10, 100);
  size_t sampled = 0;
  for (int thread = 0; thread < 500; thread++) {
    InNewThread([&] { sampled += Sampled(&of_short_threads, 10).size(); });
  }
  EXPECT_NEAR(50, sampled, 3);
}

// Some are in the place of others, and there is no room for all counts.
TEST(QueryQueueTest, ManyQueues) {
  InNewThread([] {
    for (int i = 0; i < 300; i++) {
      QueryQueue queue(10, 5);
      ASSERT_EQ(2u, Sampled(&queue, 10).size());
      queue.Tick();
    }
    std::vector<std::unique_ptr<QueryQueue>> queues;
    for (int i = 0; i < 200; i++) {
      queues.push_back(std::make_unique<QueryQueue>(10, 20));
    }
    std::vector<int> counts(queues.size());
    for (int call = 0; call < 2000; call++) {
      for (size_t i = 0; i < queues.size(); i++) counts[i] += queues[i]->Tick();
    }
    for (int count : counts) ASSERT_NEAR(100, count, 3);
  });
}

TEST(QueryQueueTest, Concurrency) {
  constexpr int kThreads = 4;
  constexpr int kPerThread = 20000;
  QueryQueue queue(500, 1);
  std::atomic<int> running{kThreads};
  InThreads(kThreads + 1, [&](size_t t) {
    if (t == kThreads) {
      do {
        for (const SampleQuery& query : queue.Snapshot()) {
          ASSERT_EQ(std::string(query.lo.size(), query.lo[0]), query.lo);
          ASSERT_EQ(query.lo + "~", query.hi);
        }
      } while (running > 0);
      return;
    }
    for (int i = 0; i < kPerThread; i++) {
      // All lengths occur, so that bytes of one query in another would show.
      const std::string lo(1 + i % 50, static_cast<char>('a' + t));
      if (queue.Tick()) queue.Record(lo, lo + "~", i % 2 == 0);
    }
    running--;
  });
  EXPECT_EQ(1u * kThreads * kPerThread, queue.recorded() + queue.dropped());
  EXPECT_EQ(std::min<size_t>(500, queue.recorded()), queue.size());
}

// ---- Demand ----

TEST(QueryDemandTest, BuildingCountsWhereFewQueriesCome) {
  FilterDemand demand;
  // 200 us a false positive, 1,000 queries a key.
  EXPECT_DOUBLE_EQ(1e-6, demand.CostOfBuilding(200));
  EXPECT_DOUBLE_EQ(0.002 + 1e-5, demand.MaxRateForTime());
  demand.queries_per_key = 0.01;
  EXPECT_DOUBLE_EQ(0.1, demand.CostOfBuilding(200));
  demand.price = kCachedPrice;
  EXPECT_DOUBLE_EQ(10, demand.CostOfBuilding(200));
  // A demand that an option sets has not been found.
  EXPECT_FALSE(demand.WasFoundLow());
  demand.is_measured = true;
  EXPECT_TRUE(demand.WasFoundLow());
  demand.queries_per_key = 1;
  EXPECT_FALSE(demand.WasFoundLow());
}

TEST(QueryDemandTest, WritingLowersItAndQueriesRaiseIt) {
  DemandCounts counts;
  double before = counts.QueriesPerKey(0, 0);
  EXPECT_DOUBLE_EQ(0.03, before);
  for (int file = 0; file < 100; file++) {
    const double now = counts.QueriesPerKey(0, 100000);
    EXPECT_LE(now, before);
    before = now;
    if (file != 9) continue;
    DemandCounts read = counts;
    EXPECT_NEAR(0.1, read.QueriesPerKey(100000, 0), 0.01);
    EXPECT_NEAR(1, read.QueriesPerKey(1000000, 0), 0.02);
    EXPECT_DOUBLE_EQ(kManyQueriesPerKey,
                     read.QueriesPerKey(uint64_t{1} << 40, 0));
  }
  EXPECT_DOUBLE_EQ(kFewQueriesPerKey, before);
}

// A family that is no longer read soon counts as one that is only written to.
TEST(QueryDemandTest, ForgetsWhatWasLongAgo) {
  DemandCounts counts;
  constexpr uint64_t kQueries = 1000 * 1000 * 1000;
  constexpr uint64_t kKeys = 1 << 20;
  EXPECT_DOUBLE_EQ(kManyQueriesPerKey, counts.QueriesPerKey(kQueries, kKeys));
  for (int file = 0; file < 16; file++) counts.QueriesPerKey(kQueries, kKeys);
  EXPECT_GT(counts.QueriesPerKey(kQueries, 0), 1);
  for (int file = 0; file < 200; file++) counts.QueriesPerKey(kQueries, kKeys);
  EXPECT_LT(counts.QueriesPerKey(kQueries, 0), 0.01);
  EXPECT_NEAR(1, counts.QueriesPerKey(kQueries + (12 << 20), 0), 0.5);
  // The count of queries may fall when the sampling rate is changed.
  counts = DemandCounts();
  for (int file = 0; file < 40; file++) counts.QueriesPerKey(kQueries, kKeys);
  EXPECT_DOUBLE_EQ(kFewQueriesPerKey, counts.QueriesPerKey(0, kKeys));
}

// ---- Empty queries ----

// Whether no key lies in the range, by a walk over all.
bool IsEmpty(const Keys& keys, const SampleQuery& query) {
  return std::none_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return key >= query.lo && !IsInverted(key, query.hi, query.hi_inclusive);
  });
}

TEST(EmptyQueriesTest, GapsAreEmpty) {
  for (const KeyFamily& family : KeyFamilies(3000, 7)) {
    SCOPED_TRACE(family.name);
    GapQueries gaps(family.keys.size());
    for (const std::string& key : family.keys) {
      gaps.Pass(key);
      gaps.Pass(key);
    }
    const Queries queries = gaps.Finish();
    EXPECT_LE(queries.size(), 2 * GapQueries::kMaxQueries);
    EXPECT_TRUE(family.name != "random integers" || queries.size() > 700);
    for (const SampleQuery& query : queries) {
      ASSERT_LE(query.lo, query.hi);
      ASSERT_TRUE(query.hi_inclusive);
      ASSERT_TRUE(IsEmpty(family.keys, query))
          << Hex(query.lo) << " " << Hex(query.hi);
      ASSERT_GT(query.lo, family.keys.front());
      ASSERT_LT(query.hi, family.keys.back());
    }
  }
}

TEST(EmptyQueriesTest, SamplesThatAreEmpty) {
  Random rnd(3);
  for (const KeyFamily& family : KeyFamilies(200, 7)) {
    SCOPED_TRACE(family.name);
    Queries samples;
    for (const std::string& key : family.keys) {
      const Keys around = Around(key);
      for (int i = 0; i < 3; i++) {
        const SampleQuery query = {AnyOf(around, &rnd), AnyOf(around, &rnd),
                                   rnd.OneIn(2)};
        if (!IsInverted(query.lo, query.hi, query.hi_inclusive)) {
          samples.push_back(query);
        }
      }
    }
    std::sort(samples.begin(), samples.end(),
              [](const auto& a, const auto& b) { return a.lo < b.lo; });
    std::vector<const SampleQuery*> given;
    for (const SampleQuery& sample : samples) given.push_back(&sample);
    EmptySamples empty(given);
    for (const std::string& key : family.keys) {
      empty.Pass(key);
      if (rnd.OneIn(3)) empty.Pass(key);
    }
    const std::vector<const SampleQuery*> found = empty.Finish();
    for (const SampleQuery& sample : samples) {
      EXPECT_EQ(IsEmpty(family.keys, sample),
                std::count(found.begin(), found.end(), &sample) == 1)
          << Hex(sample.lo) << " " << Hex(sample.hi);
    }
  }
}

// ---- Kept memory ----

constexpr size_t kCache = 8 << 20;
constexpr size_t kLimit = kCache / 8;
constexpr size_t kStep = 256 << 10;  // in which a cache is charged

std::shared_ptr<Cache> NewCache(size_t bytes = kCache, bool strict = false) {
  return NewLRUCache(bytes, /*num_shard_bits=*/0, strict);
}

void RecordTimes(QueryQueue* queue, int times) {
  for (int i = 0; i < times; i++) {
    queue->Record("a key that is long enough " + std::to_string(i), "b", true);
  }
}

uint64_t BytesOf(const std::shared_ptr<Cache>& cache) {
  return KeptMemory::UsageOf(cache.get()).bytes;
}

uint64_t MostOf(const std::shared_ptr<Cache>& cache) {
  return KeptMemory::UsageOf(cache.get()).max_bytes;
}
std::unique_ptr<QueryQueue> NewQueue(const std::shared_ptr<Cache>& cache) {
  auto queue = std::make_unique<QueryQueue>(1 << 20, 1);
  queue->CountIn(cache);
  return queue;
}
std::string LastOf(const QueryQueue& queue) {
  return queue.Snapshot().back().lo;
}

class KeptMemoryTest : public testing::Test {
 protected:
  ~KeptMemoryTest() override {
    KeptMemory::SetMaxOfProcess(KeptMemory::kMaxOfProcess);
  }
};

TEST_F(KeptMemoryTest, CountsWhereFiltersCount) {
  BlockBasedTableOptions options;
  options.block_cache = NewCache();
  EXPECT_EQ(nullptr, CapOf(options));
  options.cache_index_and_filter_blocks = true;
  EXPECT_EQ(options.block_cache, CapOf(options));
  options.cache_index_and_filter_blocks = false;
  EXPECT_EQ(nullptr, CapOf(options));
  options.cache_usage_options
      .options_overrides[CacheEntryRole::kBlockBasedTableReader]
      .charged = CacheEntryRoleOptions::Decision::kEnabled;
  EXPECT_EQ(options.block_cache, CapOf(options));
  options.block_cache = nullptr;
  EXPECT_EQ(nullptr, CapOf(options));
}

TEST_F(KeptMemoryTest, IsChargedAndGivenBack) {
  const auto cache = NewCache();
  {
    KeptMemory memory(cache);
    EXPECT_TRUE(memory.Resize(3 * kStep - 1));
    EXPECT_EQ(3 * kStep - 1, BytesOf(cache));
    EXPECT_EQ(kLimit, MostOf(cache));
    EXPECT_GE(cache->GetPinnedUsage(), 2 * kStep);
    EXPECT_LT(cache->GetPinnedUsage(), 3 * kStep);
    // Three quarters are the most, and what is refused changes nothing.
    EXPECT_TRUE(memory.Resize(3 * kStep));
    EXPECT_FALSE(memory.Resize(3 * kStep + 1));
    EXPECT_EQ(3 * kStep, BytesOf(cache));
    EXPECT_TRUE(memory.Resize(10));
    EXPECT_LT(cache->GetPinnedUsage(), kStep);
    EXPECT_TRUE(memory.Resize(2 * kStep));
  }
  EXPECT_EQ(0u, BytesOf(cache));
  EXPECT_EQ(0u, cache->GetPinnedUsage());
  EXPECT_EQ(1, cache.use_count());
}

TEST_F(KeptMemoryTest, ACacheThatIsFullRefuses) {
  const auto cache = NewCache(kCache, /*strict=*/true);
  KeptMemory memory(cache);
  ASSERT_TRUE(memory.Resize(kStep));
  Cache::Handle* pinned = nullptr;
  ASSERT_OK(cache->Insert("0123456789abcdef", nullptr, &kNoopCacheItemHelper,
                          kCache - 2 * kStep, &pinned));
  EXPECT_FALSE(memory.Resize(3 * kStep));
  EXPECT_EQ(kStep, BytesOf(cache));
  EXPECT_TRUE(memory.Resize(2 * kStep - 1));
  cache->Release(pinned);
  EXPECT_TRUE(memory.Resize(3 * kStep));
}

TEST_F(KeptMemoryTest, ACacheOfNothingCapsNothing) {
  const auto cache = NewCache(0);
  KeptMemory memory(cache);
  EXPECT_TRUE(memory.Resize(kStep));
  EXPECT_GE(BytesOf(cache), kStep);
  EXPECT_EQ(KeptMemory::kMaxOfProcess, MostOf(cache));
  EXPECT_EQ(1, cache.use_count());
}

TEST_F(KeptMemoryTest, QueuesShare) {
  const auto cache = NewCache();
  const auto first = NewQueue(cache);
  RecordTimes(first.get(), 20000);
  const size_t alone = first->size();
  EXPECT_GT(BytesOf(cache), kLimit - 2048);
  EXPECT_LE(BytesOf(cache), kLimit);
  EXPECT_EQ("a key that is long enough 19999", LastOf(*first));
  {
    // The first one is idle, and gives half.
    const auto second = NewQueue(cache);
    RecordTimes(second.get(), 20000);
    EXPECT_NEAR(alone / 2, first->size(), alone / 50);
    EXPECT_NEAR(alone / 2, second->size(), alone / 50);
    EXPECT_LE(BytesOf(cache), kLimit);
    EXPECT_EQ("a key that is long enough 19999", LastOf(*first));
    EXPECT_EQ("a key that is long enough 19999", LastOf(*second));
    EXPECT_EQ(0u, first->dropped() + second->dropped());
    // A table that takes a quarter leaves three eighths to each.
    KeptMemory table(cache);
    EXPECT_EQ(kLimit / 4, table.RoomForTable());
    ASSERT_TRUE(table.Resize(table.RoomForTable()));
    EXPECT_NEAR(alone * 3 / 8, first->size(), alone / 50);
    EXPECT_NEAR(alone * 3 / 8, second->size(), alone / 50);
    EXPECT_LE(BytesOf(cache), kLimit);
    EXPECT_EQ(kLimit / 8, table.RoomForTable());
  }
  RecordTimes(first.get(), 20000);
  EXPECT_NEAR(alone, first->size(), alone / 50);
  // Elsewhere there is room for few, and then for all again.
  const auto small = NewCache(kCache / 16);
  first->CountIn(small);
  EXPECT_EQ(0u, BytesOf(cache));
  EXPECT_GT(first->size(), alone / 64);
  EXPECT_LE(BytesOf(small), kLimit / 16);
  first->CountIn(nullptr);
  EXPECT_EQ(0u, BytesOf(small));
}

// Caches that have room do not make the process exceed its limit.
TEST_F(KeptMemoryTest, CachesShareTheLimitOfTheProcess) {
  constexpr size_t kMost = 512 << 10;
  KeptMemory::SetMaxOfProcess(kMost);
  std::vector<std::shared_ptr<Cache>> caches;
  std::vector<std::unique_ptr<QueryQueue>> queues;
  for (int i = 0; i < 64; i++) {
    caches.push_back(NewCache());
    queues.push_back(NewQueue(caches.back()));
    RecordTimes(queues.back().get(), 5000);
    ASSERT_LE(KeptMemory::UsageOf(nullptr).bytes, kMost);
    ASSERT_LE(MostOf(caches[0]), kMost);
  }
  EXPECT_GT(KeptMemory::UsageOf(nullptr).bytes, kMost * 3 / 4);
  for (const auto& cache : caches) {
    EXPECT_LE(BytesOf(cache), kMost / 64);
    EXPECT_GE(BytesOf(cache), kMost / 64 - 2048);
  }
}

TEST_F(KeptMemoryTest, WithoutRoomNothingIsKept) {
  KeptMemory::SetMaxOfProcess(0);
  QueryQueue queue(100, 1);
  queue.CountIn(nullptr);
  RecordTimes(&queue, 100);
  queue.Add({"a", "b", true});
  EXPECT_EQ(0u, queue.size());
  EXPECT_EQ(0u, queue.recorded());
  EXPECT_EQ(0u, queue.sampled());
  EXPECT_EQ(100u, queue.dropped());
  DesignMemory designs;
  designs.Keep(KeptDesign());
  EXPECT_TRUE(designs.IsEmpty());
  KeptMemory::SetMaxOfProcess(KeptMemory::kMaxOfProcess);
  RecordTimes(&queue, 100);
  EXPECT_EQ(100u, queue.size());
  designs.Keep(KeptDesign());
  EXPECT_FALSE(designs.IsEmpty());
}

TEST_F(KeptMemoryTest, ThreadsShareAtTheSameTime) {
  const auto cache = NewCache(1 << 20);
  const size_t limit = MostOf(cache);
  std::vector<std::unique_ptr<QueryQueue>> queues;
  for (int i = 0; i < 8; i++) queues.push_back(NewQueue(cache));
  std::atomic<int> exceeded{0};
  InThreads(4, [&](size_t thread) {
    for (int round = 0; round < 50; round++) {
      for (size_t i = 0; i < 8; i++) {
        RecordTimes(queues[(thread + i) % 8].get(), 20);
        if (BytesOf(cache) > limit) exceeded++;
      }
      // Queues of DBs that are closed and opened.
      queues[2 * thread]->CountIn(round % 2 == 0 ? nullptr : cache);
      RecordTimes(NewQueue(cache).get(), 20);
    }
  });
  EXPECT_EQ(0, exceeded.load());
  queues.clear();
  EXPECT_EQ(0u, BytesOf(cache));
  EXPECT_EQ(1, cache.use_count());
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
