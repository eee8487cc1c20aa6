// SPDX-License-Identifier: Apache-2.0

//  What Protean keeps beside filters has one limit for each block cache, and
//  one in the process, which those who hold it share.

#include "filter_policy/kept_memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "filter_policy/proteus/design_memory.h"
#include "filter_policy/samples/query_queue.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/table.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kCache = 8 << 20;
constexpr size_t kLimit = kCache / 8;
constexpr size_t kStep = 256 << 10;  // in which a cache is charged

std::shared_ptr<Cache> NewCache(size_t bytes = kCache, bool strict = false) {
  return NewLRUCache(bytes, /*num_shard_bits=*/0, strict);
}

void Record(QueryQueue* queue, int times) {
  for (int i = 0; i < times; i++) {
    queue->Record("a key that is long enough " + std::to_string(i), "b", true);
  }
}

uint64_t BytesOf(const std::shared_ptr<Cache>& cache) {
  return KeptMemory::UsageOf(cache.get()).bytes;
}

class KeptMemoryTest : public testing::Test {
 protected:
  ~KeptMemoryTest() override {
    KeptMemory::SetMaxOfProcess(KeptMemory::kMaxOfProcess);
  }
};

}  // namespace

TEST_F(KeptMemoryTest, CountsWhereFiltersCount) {
  BlockBasedTableOptions options;
  options.block_cache = NewCache();
  EXPECT_EQ(nullptr, CapOf(options));
  options.cache_index_and_filter_blocks = true;
  EXPECT_EQ(options.block_cache, CapOf(options));
  options.cache_index_and_filter_blocks = false;
  CacheEntryRoleOptions& readers =
      options.cache_usage_options
          .options_overrides[CacheEntryRole::kBlockBasedTableReader];
  EXPECT_EQ(nullptr, CapOf(options));
  readers.charged = CacheEntryRoleOptions::Decision::kEnabled;
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
    EXPECT_EQ(kLimit, KeptMemory::UsageOf(cache.get()).max_bytes);
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
  EXPECT_EQ(KeptMemory::kMaxOfProcess,
            KeptMemory::UsageOf(cache.get()).max_bytes);
  EXPECT_EQ(1, cache.use_count());
}

TEST_F(KeptMemoryTest, QueuesShare) {
  const auto cache = NewCache();
  QueryQueue first(1 << 20, 1);
  first.CountIn(cache);
  Record(&first, 20000);
  const size_t alone = first.size();
  EXPECT_GT(BytesOf(cache), kLimit - 2048);
  EXPECT_LE(BytesOf(cache), kLimit);
  EXPECT_EQ("a key that is long enough 19999", first.Snapshot().back().lo);
  {
    // The first one is idle, and gives half.
    QueryQueue second(1 << 20, 1);
    second.CountIn(cache);
    Record(&second, 20000);
    EXPECT_NEAR(alone / 2, first.size(), alone / 50);
    EXPECT_NEAR(alone / 2, second.size(), alone / 50);
    EXPECT_LE(BytesOf(cache), kLimit);
    EXPECT_EQ("a key that is long enough 19999", first.Snapshot().back().lo);
    EXPECT_EQ("a key that is long enough 19999", second.Snapshot().back().lo);
    EXPECT_EQ(0u, first.dropped() + second.dropped());
    // A table that takes a quarter leaves three eighths to each.
    KeptMemory table(cache);
    EXPECT_EQ(kLimit / 4, table.RoomForTable());
    ASSERT_TRUE(table.Resize(table.RoomForTable()));
    EXPECT_NEAR(alone * 3 / 8, first.size(), alone / 50);
    EXPECT_NEAR(alone * 3 / 8, second.size(), alone / 50);
    EXPECT_LE(BytesOf(cache), kLimit);
    EXPECT_EQ(kLimit / 8, table.RoomForTable());
  }
  Record(&first, 20000);
  EXPECT_NEAR(alone, first.size(), alone / 50);
  // Elsewhere there is room for few, and then for all again.
  const auto small = NewCache(kCache / 16);
  first.CountIn(small);
  EXPECT_EQ(0u, BytesOf(cache));
  EXPECT_GT(first.size(), alone / 64);
  EXPECT_LE(BytesOf(small), kLimit / 16);
  first.CountIn(nullptr);
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
    queues.push_back(std::make_unique<QueryQueue>(1 << 20, 1));
    queues.back()->CountIn(caches.back());
    Record(queues.back().get(), 5000);
    ASSERT_LE(KeptMemory::UsageOf(nullptr).bytes, kMost);
    ASSERT_LE(KeptMemory::UsageOf(caches[0].get()).max_bytes, kMost);
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
  Record(&queue, 100);
  queue.Add({"a", "b", true});
  EXPECT_EQ(0u, queue.size());
  EXPECT_EQ(0u, queue.recorded());
  EXPECT_EQ(0u, queue.sampled());
  EXPECT_EQ(100u, queue.dropped());
  DesignMemory designs;
  designs.Keep(KeptDesign());
  EXPECT_TRUE(designs.IsEmpty());
  KeptMemory::SetMaxOfProcess(KeptMemory::kMaxOfProcess);
  Record(&queue, 100);
  EXPECT_EQ(100u, queue.size());
  designs.Keep(KeptDesign());
  EXPECT_FALSE(designs.IsEmpty());
}

TEST_F(KeptMemoryTest, ThreadsShareAtTheSameTime) {
  const auto cache = NewCache(1 << 20);
  const size_t limit = KeptMemory::UsageOf(cache.get()).max_bytes;
  std::vector<std::unique_ptr<QueryQueue>> queues;
  for (int i = 0; i < 8; i++) {
    queues.push_back(std::make_unique<QueryQueue>(1 << 20, 1));
    queues.back()->CountIn(cache);
  }
  std::atomic<int> exceeded{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; thread++) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 8; i++) {
          Record(queues[(thread + i) % 8].get(), 20);
          if (BytesOf(cache) > limit) exceeded++;
        }
        // Queues of DBs that are closed and opened.
        queues[2 * thread]->CountIn(round % 2 == 0 ? nullptr : cache);
        QueryQueue passing(1 << 20, 1);
        passing.CountIn(cache);
        Record(&passing, 20);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0, exceeded.load());
  queues.clear();
  EXPECT_EQ(0u, BytesOf(cache));
  EXPECT_EQ(1, cache.use_count());
}

}  // namespace ROCKSDB_NAMESPACE::protean
