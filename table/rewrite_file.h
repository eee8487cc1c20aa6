// SPDX-License-Identifier: Apache-2.0

//  Rewriting an SST file of an open DB, so that it gets the filter that the
//  column family's policy builds now.

#pragma once

#include <string>

#include "rocksdb/db.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Compacts the file of that name, such as "000123.sst", into the level where it
// is at that moment, also if a compaction moves it there meanwhile: this does
// what every compaction does, and nothing else. If the last key
// of the file has an older version in the next file, RocksDB compacts that
// file, too. `db` may be wrapped in StackableDBs.
//
// NotFound if the column family has no such file (any more), Aborted if another
// compaction is using it, and otherwise what DB::CompactFiles returns. Thread
// safe.
Status RewriteFile(DB* db, ColumnFamilyHandle* column_family,
                   const std::string& name);

}  // namespace ROCKSDB_NAMESPACE::protean
