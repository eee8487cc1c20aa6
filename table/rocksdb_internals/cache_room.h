// SPDX-License-Identifier: Apache-2.0

//  How much a block cache holds, and how it is cut into shards.

#pragma once

#include "filter_policy/open_db/cache_fit.h"
#include "rocksdb/advanced_cache.h"

namespace ROCKSDB_NAMESPACE::protean {

// RocksDB tells the number of shards only in the text that it logs when a DB is
// opened, GetPrintableOptions. A cache whose text has none counts as a single
// shard: what exceeds its whole capacity is not kept either. Such are wrappers
// and caches of the application. The room is unknown if there is a secondary
// cache, which keeps what this one drops, and if a cache of the application
// says that it has no capacity.
CacheRoom RoomOf(const Cache& cache);

}  // namespace ROCKSDB_NAMESPACE::protean
