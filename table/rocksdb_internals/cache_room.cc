// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/cache_room.h"

#include <cstdlib>
#include <cstring>
#include <string>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The number of shards according to a cache's text; 0 if it tells none.
uint32_t ShardsIn(const std::string& text) {
  constexpr char kShardBits[] = "num_shard_bits : ";
  constexpr long kMaxShardBits = 20;
  const size_t at = text.find(kShardBits);
  if (at == std::string::npos) return 0;
  const char* const number = text.c_str() + at + strlen(kShardBits);
  char* end = nullptr;
  const long bits = strtol(number, &end, 10);
  if (end == number || bits < 0 || bits > kMaxShardBits) return 0;
  return uint32_t{1} << bits;
}

bool HasSecondaryCache(const Cache& cache, const std::string& text) {
  size_t capacity = 0;
  const bool known = cache.GetSecondaryCacheCapacity(capacity).ok();
  return (known && capacity > 0) ||
         text.find("secondary_cache") != std::string::npos;
}

}  // namespace

CacheRoom RoomOf(const Cache& cache) {
  CacheRoom room;
  const std::string text = cache.GetPrintableOptions();
  if (HasSecondaryCache(cache, text)) return room;
  const uint32_t shards = ShardsIn(text);
  const uint64_t capacity = cache.GetCapacity();
  if (shards == 0 && capacity == 0) return room;
  room.capacity = capacity;
  if (shards > 0) room.shards = shards;
  return room;
}

}  // namespace ROCKSDB_NAMESPACE::protean
