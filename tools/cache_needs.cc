// SPDX-License-Identifier: Apache-2.0

#include "tools/cache_needs.h"

namespace ROCKSDB_NAMESPACE::protean {

bool CachesWholeFilters(const BlockBasedTableOptions& options) {
  return options.cache_index_and_filter_blocks &&
         options.metadata_cache_options.unpartitioned_pinning !=
             PinningTier::kAll;
}

CacheNeeds NeedsOf(const CachedFilters& filters) {
  return {LeastDefaultCapacity(CacheKind::kLRU, filters),
          LeastDefaultCapacity(CacheKind::kHyperClock, filters)};
}

std::string NeedsText(const CachedFilters& filters) {
  const CacheNeeds needs = NeedsOf(filters);
  return Format(
      "With cache_index_and_filter_blocks=true, a block cache keeps whole "
      "filters of %s, the largest of %s, if it has at least %s (LRUCache) or "
      "%s (HyperClockCache), with the default number of shards. If yours is "
      "smaller, filters are read from disk again and again: set %s, or "
      "cache_index_and_filter_blocks=false.",
      PrintedBytes(filters.bytes).c_str(),
      PrintedBytes(filters.largest).c_str(), PrintedBytes(needs.lru).c_str(),
      PrintedBytes(needs.hyper_clock).c_str(), kPartitionOptions);
}

void AddNeeds(const CachedFilters& filters, Json* row) {
  const CacheNeeds needs = NeedsOf(filters);
  const bool any = filters.files > 0;
  (*row)["lru_cache_bytes"] = any ? Json(needs.lru) : Json();
  (*row)["hyper_clock_cache_bytes"] = any ? Json(needs.hyper_clock) : Json();
}

}  // namespace ROCKSDB_NAMESPACE::protean
