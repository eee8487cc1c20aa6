// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/cache_fit.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint32_t kMaxDefaultShards = 64;

// What a cache charges for a filter, at most: its bytes, the block's trailer
// and the cache's own entry, and what the allocator adds. glibc's rounds large
// blocks up to whole pages.
uint64_t MaxCharge(uint64_t filter_bytes) {
  constexpr uint64_t kEntryBytes = 256;
  constexpr uint64_t kPageBytes = 4 << 10;
  constexpr uint64_t kLargeBlock = 64 << 10;
  return filter_bytes + kEntryBytes +
         (filter_bytes < kLargeBlock ? 0 : kPageBytes);
}

std::string Remedies(const CachedFilters& filters, const CacheRoom& room) {
  return std::string("Set ") + kPartitionOptions +
         ", which applies to new files, or cache_index_and_filter_blocks="
         "false, or give the cache at least " +
         std::to_string(LeastCapacity(filters, room.shards)) +
         " bytes (Cache::SetCapacity)";
}

}  // namespace

const char* const kPartitionOptions =
    "partition_filters=true; index_type=kTwoLevelIndexSearch; "
    "pin_top_level_index_and_filter=true";

CacheFit FitOf(const CachedFilters& filters, const CacheRoom& room) {
  if (filters.files == 0 || room.capacity == CacheRoom::kUnknown) {
    return CacheFit::kFits;
  }
  if (MaxCharge(filters.largest) > room.shard()) return CacheFit::kExceedsShard;
  return filters.bytes > room.capacity ? CacheFit::kExceedsCache
                                       : CacheFit::kFits;
}

uint64_t LeastCapacity(const CachedFilters& filters, uint32_t shards) {
  if (filters.files == 0) return 0;
  return std::max(filters.bytes, shards * MaxCharge(filters.largest));
}

CacheRoom DefaultRoom(CacheKind kind, uint64_t capacity) {
  const auto min_shard = static_cast<uint64_t>(kind);
  CacheRoom room;
  room.capacity = capacity;
  while (room.shards < kMaxDefaultShards &&
         capacity / min_shard >= 2 * uint64_t{room.shards}) {
    room.shards *= 2;
  }
  return room;
}

// Where a filter exceeds the smallest shards, larger caches have smaller shards
// again, until there are as many as there may be.
uint64_t LeastDefaultCapacity(CacheKind kind, const CachedFilters& filters) {
  const bool fits_any =
      MaxCharge(filters.largest) <= static_cast<uint64_t>(kind);
  return LeastCapacity(filters, fits_any ? 1 : kMaxDefaultShards);
}

std::string ShardExceededText(const std::string& filter,
                              const CachedFilters& filters,
                              const CacheRoom& room) {
  return "the filter of " + filter + " takes " +
         std::to_string(filters.largest) +
         " bytes, which is more than a shard of the block cache holds: the "
         "cache has " +
         std::to_string(room.capacity) + " bytes, in " +
         std::to_string(room.shards) + " shards of " +
         std::to_string(room.shard()) +
         ". So it does not keep this filter, which is read from disk again and "
         "again. " +
         Remedies(filters, room);
}

std::string CacheExceededText(const CachedFilters& filters,
                              const CacheRoom& room) {
  return "the filters of the " + std::to_string(filters.files) +
         " files opened so far take " + std::to_string(filters.bytes) +
         " bytes, and their block cache has " + std::to_string(room.capacity) +
         ". So filters are read from disk again and again. " +
         Remedies(filters, room);
}

}  // namespace ROCKSDB_NAMESPACE::protean
