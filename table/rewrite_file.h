//  Writing an SST file of an open DB anew, so that it gets the filter that the
//  column family's policy would build today.

#pragma once

#include <string>

#include "rocksdb/db.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Compacts a file, by its name such as "000123.sst", into the level where it
// is: that does what every compaction does, and nothing else. If the last key
// of the file has an older version in the next file, that one is compacted too.
// `db` may be wrapped in StackableDBs.
//
// NotFound if the column family has no such file (any more), Aborted if a
// compaction has it in hand, and else what DB::CompactFiles returns. Thread
// safe.
Status RewriteFile(DB* db, ColumnFamilyHandle* column_family,
                   const std::string& name);

}  // namespace ROCKSDB_NAMESPACE::protean
