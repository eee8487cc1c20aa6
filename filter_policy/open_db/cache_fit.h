// SPDX-License-Identifier: Apache-2.0

//  Whether a block cache keeps whole filters.
//
//  With cache_index_and_filter_blocks, reads get filters through the block
//  cache. RocksDB's caches are cut into shards, and each block has its place in
//  one of them. A block that is larger than a shard does not stay: LRUCache
//  drops it as soon as its reader releases it, HyperClockCache when other
//  blocks come to its shard, which holds nothing else until then. So a filter
//  of that size is read from disk again and again, however large the cache is.
//  Where filters fit into shards but not together into the cache, they push out
//  each other. Both cost more reads than the filters save, and nothing but the
//  reads tells. Parts of partitioned filters fit in any shard, and those that
//  are asked stay.

#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// The size of a block cache at one moment.
struct CacheRoom {
  static constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

  uint64_t capacity = kUnknown;  // of all shards
  uint32_t shards = 1;

  // The capacity of each shard.
  uint64_t shard() const {
    return capacity / shards + (capacity % shards == 0 ? 0 : 1);
  }
  bool operator==(const CacheRoom& other) const {
    return capacity == other.capacity && shards == other.shards;
  }
};

// The filter of an open file, if reads get it through a block cache.
struct CachedFilter {
  // Identifies the cache; nullptr if the filter is partitioned, pinned, or not
  // in a cache.
  const void* cache = nullptr;
  CacheRoom room;      // when the file was opened
  uint64_t bytes = 0;  // size of the filter
};

// Whole filters that share a block cache.
struct CachedFilters {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t largest = 0;

  void Add(uint64_t filter_bytes) {
    files++;
    bytes += filter_bytes;
    if (filter_bytes > largest) largest = filter_bytes;
  }
};

enum class CacheFit {
  kFits,
  kExceedsShard,  // the largest filter is larger than a shard
  kExceedsCache,  // all together are larger than the cache
};

CacheFit FitOf(const CachedFilters& filters, const CacheRoom& room);

// The least capacity in which a cache of `shards` shards keeps the filters, as
// far as hashing spreads them evenly.
uint64_t LeastCapacity(const CachedFilters& filters, uint32_t shards);

// A kind of RocksDB's caches, whose number of shards follows from the capacity
// by default: as many as are not smaller than this, at most 64, and a power of
// two.
enum class CacheKind : uint64_t {
  kLRU = 512 << 10,
  kHyperClock = 32 << 20,
};
// The room of a new cache with the default number of shards.
CacheRoom DefaultRoom(CacheKind kind, uint64_t capacity);
// The capacity from which on a new cache with the default number of shards
// keeps the filters, as far as hashing spreads them evenly.
uint64_t LeastDefaultCapacity(CacheKind kind, const CachedFilters& filters);

// Options with which filters are read in parts.
extern const char* const kPartitionOptions;

// Log lines for filters that do not fit: what is the matter, and which options
// help. `filter` names the filter that exceeds a shard.
std::string ShardExceededText(const std::string& filter,
                              const CachedFilters& filters,
                              const CacheRoom& room);
std::string CacheExceededText(const CachedFilters& filters,
                              const CacheRoom& room);

}  // namespace ROCKSDB_NAMESPACE::protean
