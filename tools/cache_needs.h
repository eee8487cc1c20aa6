// SPDX-License-Identifier: Apache-2.0

//  What block cache the whole filters of a column family need. RocksDB does not
//  write the block cache to the OPTIONS file, so the commands say what would be
//  enough, or look at a size that the operator gives.

#pragma once

#include <string>

#include "filter_policy/open_db/cache_fit.h"
#include "rocksdb/table.h"
#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether reads get whole filters through the block cache with these options,
// where they may be dropped.
bool CachesWholeFilters(const BlockBasedTableOptions& options);

// The least block caches that keep the filters, with RocksDB's default shards.
struct CacheNeeds {
  uint64_t lru = 0;
  uint64_t hyper_clock = 0;
};
CacheNeeds NeedsOf(const CachedFilters& filters);

// Sentences about these needs, for people.
std::string NeedsText(const CachedFilters& filters);

// Adds these needs to a row, as null if `filters` has no file.
void AddNeeds(const CachedFilters& filters, Json* row);

}  // namespace ROCKSDB_NAMESPACE::protean
