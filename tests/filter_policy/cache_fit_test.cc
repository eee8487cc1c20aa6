// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/cache_fit.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kKB = 1 << 10;
constexpr uint64_t kMB = 1 << 20;

CachedFilters Filters(uint64_t files, uint64_t bytes_each) {
  CachedFilters filters;
  for (uint64_t i = 0; i < files; i++) filters.Add(bytes_each);
  return filters;
}

}  // namespace

TEST(CacheFitTest, ShardsAndSums) {
  const CacheRoom room{16 * kMB, 32};
  EXPECT_EQ(512 * kKB, room.shard());
  EXPECT_EQ(4u, (CacheRoom{10, 3}).shard());
  EXPECT_EQ(CacheFit::kFits, FitOf(CachedFilters(), room));
  EXPECT_EQ(CacheFit::kFits, FitOf(Filters(32, 500 * kKB), room));
  EXPECT_EQ(CacheFit::kExceedsShard, FitOf(Filters(1, 700 * kKB), room));
  // A block of a shard's size has no room for what the cache adds.
  EXPECT_EQ(CacheFit::kExceedsShard, FitOf(Filters(1, 512 * kKB), room));
  EXPECT_EQ(CacheFit::kExceedsCache, FitOf(Filters(33, 500 * kKB), room));
  EXPECT_EQ(CacheFit::kExceedsShard, FitOf(Filters(1, 1), CacheRoom{0, 1}));
  EXPECT_EQ(CacheFit::kFits, FitOf(Filters(9, kMB), CacheRoom()));
}

TEST(CacheFitTest, LeastCapacities) {
  for (const uint64_t bytes : {1, 1000, 500'000, 700'000, 40'000'000}) {
    for (const uint64_t files : {1, 50, 1000}) {
      const CachedFilters filters = Filters(files, bytes);
      for (const uint32_t shards : {1, 16, 64}) {
        const uint64_t least = LeastCapacity(filters, shards);
        EXPECT_EQ(CacheFit::kFits, FitOf(filters, {least, shards}));
        EXPECT_NE(CacheFit::kFits, FitOf(filters, {least - shards, shards}));
      }
      // No larger cache of the kind has smaller shards.
      for (const CacheKind kind : {CacheKind::kLRU, CacheKind::kHyperClock}) {
        const uint64_t least = LeastDefaultCapacity(kind, filters);
        for (uint64_t more = 0; more < 80 * least; more += least / 3 + 1) {
          EXPECT_EQ(CacheFit::kFits,
                    FitOf(filters, DefaultRoom(kind, least + more)))
              << bytes << " " << files << " " << more;
        }
      }
    }
  }
  EXPECT_EQ(0u, LeastCapacity(CachedFilters(), 64));
  // The example of the manual: 6 MB of filters in 9 files.
  const CachedFilters filters = Filters(9, 700 * kKB);
  EXPECT_EQ(filters.bytes,
            LeastDefaultCapacity(CacheKind::kHyperClock, filters));
  EXPECT_LT(64 * filters.largest,
            LeastDefaultCapacity(CacheKind::kLRU, filters));
}

TEST(CacheFitTest, DefaultShards) {
  EXPECT_EQ(1u, DefaultRoom(CacheKind::kLRU, 0).shards);
  EXPECT_EQ(1u, DefaultRoom(CacheKind::kLRU, kMB - 1).shards);
  EXPECT_EQ(2u, DefaultRoom(CacheKind::kLRU, kMB).shards);
  EXPECT_EQ(32u, DefaultRoom(CacheKind::kLRU, 16 * kMB).shards);
  EXPECT_EQ(64u, DefaultRoom(CacheKind::kLRU, 1000 * kMB).shards);
  EXPECT_EQ(1u, DefaultRoom(CacheKind::kHyperClock, 63 * kMB).shards);
  EXPECT_EQ(4u, DefaultRoom(CacheKind::kHyperClock, 128 * kMB).shards);
}

TEST(CacheFitTest, TextsNameFiguresAndOptions) {
  const CacheRoom room{16 * kMB, 32};
  const CachedFilters filters = Filters(2, 700 * kKB);
  const std::string shard = ShardExceededText("/db/1.sst", filters, room);
  for (const char* words :
       {"/db/1.sst", "716800 bytes", "16777216", "524288", "32 shards",
        "partition_filters=true; index_type=kTwoLevelIndexSearch; "
        "pin_top_level_index_and_filter=true",
        "cache_index_and_filter_blocks=false", "Cache::SetCapacity"}) {
    EXPECT_NE(std::string::npos, shard.find(words)) << words << ": " << shard;
  }
  EXPECT_NE(std::string::npos,
            shard.find(std::to_string(LeastCapacity(filters, 32))));
  const std::string cache = CacheExceededText(filters, {kMB, 1});
  for (const char* words : {"2 files", "1433600 bytes", "1048576",
                            "partition_filters=true", "Cache::SetCapacity"}) {
    EXPECT_NE(std::string::npos, cache.find(words)) << words << ": " << cache;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
