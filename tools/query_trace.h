// SPDX-License-Identifier: Apache-2.0

//  Reads traces of a DB's operations, as DB::StartTrace writes them.

#pragma once

#include <string>

#include "rocksdb/env.h"
#include "tools/read_queries.h"

namespace ROCKSDB_NAMESPACE::protean {

// Reads a trace, and adds the reads of the column family with this id to
// `reads`: each key of a Get or MultiGet, each Seek and SeekForPrev. Reads
// whose bounds leave nothing to look for are left out. `*others` gets the
// number of reads of other column families.
//
// A trace that is damaged or has no end, because the process died before
// DB::EndTrace, is read up to there; `*cut_off` says so in words, and is empty
// otherwise.
//
// Returns NotFound if there is no such file, InvalidArgument if it is not a
// trace or of a version that this RocksDB cannot read, Corruption if it is
// damaged or cut off before its first record.
Status ReadTrace(Env* env, const std::string& file, uint32_t column_family,
                 ReadSample* reads, uint64_t* others, std::string* cut_off);

}  // namespace ROCKSDB_NAMESPACE::protean
