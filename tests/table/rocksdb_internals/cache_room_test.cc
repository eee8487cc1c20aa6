// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/cache_room.h"

#include <gtest/gtest.h>

#include <cstring>

#include "cache/charged_cache.h"
#include "cache/sharded_cache.h"
#include "rocksdb/cache.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kMB = 1 << 20;

using SharedCache = std::shared_ptr<Cache>;

SharedCache HyperClock(size_t capacity, size_t estimated_entry_charge,
                       int num_shard_bits = -1) {
  return HyperClockCacheOptions(capacity, estimated_entry_charge,
                                num_shard_bits)
      .MakeSharedCache();
}

void ExpectRoom(uint64_t capacity, uint32_t shards, const Cache& cache) {
  const CacheRoom room = RoomOf(cache);
  EXPECT_EQ(capacity, room.capacity) << cache.Name();
  EXPECT_EQ(shards, room.shards) << cache.Name();
}

std::string KeyOf(uint64_t number) {
  std::string key;
  PutFixed64(&key, number);
  PutFixed64(&key, number);
  return key;
}

bool Holds(Cache* cache, uint64_t number) {
  Cache::Handle* const handle = cache->Lookup(KeyOf(number));
  if (handle == nullptr) return false;
  cache->Release(handle);
  return true;
}

// Whether the cache keeps an entry with this charge when it is released.
bool Keeps(Cache* cache, size_t charge, uint64_t number) {
  static const Cache::CacheItemHelper kHelper{CacheEntryRole::kMisc};
  static int object;
  Cache::Handle* handle = nullptr;
  EXPECT_TRUE(
      cache->Insert(KeyOf(number), &object, &kHelper, charge, &handle).ok());
  cache->Release(handle);
  return Holds(cache, number);
}

uint64_t LargestThatFits(const CacheRoom& room) {
  uint64_t bytes = room.shard();
  for (;; bytes--) {
    CachedFilters filters;
    filters.Add(bytes);
    if (FitOf(filters, room) == CacheFit::kFits) return bytes;
  }
}

// The cache keeps what the room says that it keeps.
void ExpectKept(const SharedCache& cache) {
  const CacheRoom room = RoomOf(*cache);
  SCOPED_TRACE(cache->Name() + std::string(" ") +
               std::to_string(room.capacity) + " / " +
               std::to_string(room.shards));
  CachedFilters fitting;
  fitting.Add(LargestThatFits(room));
  ASSERT_EQ(CacheFit::kFits, FitOf(fitting, room));
  // Blocks of memory that are not small are whole pages.
  const size_t charge = (fitting.largest + 4095) / 4096 * 4096;
  cache->EraseUnRefEntries();
  for (uint64_t i = 1; i <= 100; i++) {
    EXPECT_TRUE(Keeps(cache.get(), charge, i)) << i;
  }
}

// What is larger than a shard is dropped, if not at once, then by what comes
// next, even if that is much smaller.
void ExpectDropped(const SharedCache& cache, bool at_once) {
  const CacheRoom room = RoomOf(*cache);
  for (uint64_t i = 0; i < 20; i++) {
    const uint64_t number = 1000 * (i + 1);
    const bool kept = Keeps(cache.get(), room.shard() + 1, number);
    EXPECT_FALSE(kept && at_once) << i;
    for (uint64_t next = 1; next <= 20 * room.shards; next++) {
      Keeps(cache.get(), room.shard() / 10, number + next);
    }
    EXPECT_FALSE(Holds(cache.get(), number)) << i;
  }
}

class Wrapper : public CacheWrapper {
 public:
  using CacheWrapper::CacheWrapper;
  const char* Name() const override { return target_->Name(); }
};

// A cache of an application, whose text and capacity are its own.
class Peculiar : public Wrapper {
 public:
  Peculiar(std::string text, size_t capacity)
      : Wrapper(NewLRUCache(kMB)),
        text_(std::move(text)),
        capacity_(capacity) {}
  std::string GetPrintableOptions() const override { return text_; }
  size_t GetCapacity() const override { return capacity_; }

 private:
  const std::string text_;
  const size_t capacity_;
};

}  // namespace

// The text of RocksDB's caches tells the number of shards, and a shard keeps
// what is not larger than its share of the capacity.
TEST(CacheRoomTest, ShardsOfRocksDBsCaches) {
  ExpectRoom(16 * kMB, 32, *NewLRUCache(16 * kMB));
  ExpectRoom(16 * kMB, 16, *NewLRUCache(16 * kMB, /*num_shard_bits=*/4));
  ExpectRoom(0, 1, *NewLRUCache(0));
  ExpectRoom(16 * kMB, 1, *HyperClock(16 * kMB, 0));
  ExpectRoom(128 * kMB, 4, *HyperClock(128 * kMB, 0));
  ExpectRoom(16 * kMB, 8, *HyperClock(16 * kMB, 64 << 10, 3));
  const SharedCache caches[] = {
      NewLRUCache(16 * kMB), NewLRUCache(8 * kMB, /*num_shard_bits=*/0),
      HyperClock(16 * kMB, 0, 3), HyperClock(16 * kMB, 256 << 10, 3)};
  for (const SharedCache& cache : caches) {
    const bool is_lru = strcmp("LRUCache", cache->Name()) == 0;
    ExpectKept(cache);
    ExpectDropped(cache, is_lru);
    const uint32_t shards = RoomOf(*cache).shards;
    cache->SetCapacity(8 * kMB);
    ExpectRoom(8 * kMB, shards, *cache);
    ExpectKept(cache);
    ExpectDropped(cache, is_lru);
  }
}

// The default number of shards is the one that DefaultRoom says.
TEST(CacheRoomTest, DefaultNumberOfShards) {
  for (size_t capacity = 1; capacity < size_t{1} << 36;
       capacity = capacity * 5 / 3 + 1) {
    const CacheRoom lru = DefaultRoom(CacheKind::kLRU, capacity);
    EXPECT_EQ(lru.shards, 1u << GetDefaultCacheShardBits(capacity)) << capacity;
    const CacheRoom clock = DefaultRoom(CacheKind::kHyperClock, capacity);
    EXPECT_EQ(clock.shards, 1u << GetDefaultCacheShardBits(capacity, 32 * kMB))
        << capacity;
    if (capacity > 256 * kMB) continue;
    EXPECT_EQ(lru, RoomOf(*NewLRUCache(capacity)));
    if (capacity > kMB) {
      EXPECT_EQ(clock, RoomOf(*HyperClock(capacity, 0)));
    }
  }
}

// Only the capacity is known of a cache that tells no shards. Nothing is known
// of a cache in front of another one.
TEST(CacheRoomTest, OtherCaches) {
  const SharedCache lru = NewLRUCache(16 * kMB);
  ExpectRoom(16 * kMB, 1, Wrapper(lru));
  ExpectRoom(16 * kMB, 1, ChargedCache(lru, lru));
  ExpectRoom(7, 1, Peculiar("", 7));
  ExpectRoom(7, 1, Peculiar("num_shard_bits : ", 7));
  ExpectRoom(7, 1, Peculiar("num_shard_bits : -3", 7));
  ExpectRoom(7, 1, Peculiar("num_shard_bits : 99999999999999999999", 7));
  ExpectRoom(7, 4, Peculiar("x num_shard_bits : 2 y", 7));
  ExpectRoom(CacheRoom::kUnknown, 1, Peculiar("", 0));

  LRUCacheOptions options;
  options.capacity = kMB;
  options.secondary_cache = NewCompressedSecondaryCache(kMB);
  ExpectRoom(CacheRoom::kUnknown, 1, *options.MakeSharedCache());
  TieredCacheOptions tiered;
  tiered.cache_opts = &options;
  tiered.total_capacity = kMB;
  tiered.compressed_secondary_ratio = 0.5;
  ExpectRoom(CacheRoom::kUnknown, 1, *NewTieredCache(tiered));
}

}  // namespace ROCKSDB_NAMESPACE::protean
