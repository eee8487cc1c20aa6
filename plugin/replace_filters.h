// SPDX-License-Identifier: Apache-2.0

//  The way back from Protean: files get filters of RocksDB's own, which a
//  RocksDB without Protean asks too.

#pragma once

#include "plugin/refresh_run.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Rewrites the files that have no filter of RocksDB's own, from the lowest
// level on: files with a filter of Protean's, and files without a filter. The
// column family has a block-based table with a filter policy of RocksDB's own,
// which builds the new filters.
//
// A file that has been rewritten is not rewritten again by another call, so
// this is resumed by doing it again. A file that has a filter of RocksDB's
// already keeps it, of whichever of its policies.
//
// InvalidArgument if the filter policy is not one of RocksDB's own, or builds
// no filters with the column family's options; and otherwise what
// RefreshFilters returns.
Status ReplaceFilters(RefreshRun* run);

}  // namespace ROCKSDB_NAMESPACE::protean
