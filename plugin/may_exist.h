// SPDX-License-Identifier: Apache-2.0

//  Existence without a read: keys and ranges of which the filters, the
//  memtables, the range deletions and the snapshot say that nothing is there.
//  For ingest that drops what it has seen before, for uniqueness checks, and
//  for schedulers that want to know which windows of time hold anything.
//
//  Beside DB::KeyMayExist, which reads nothing at all, these functions also
//  answer for ranges, and read filters that are not in the block cache if
//  ReadOptions::read_tier allows it. sst_file_filter.h asks a file that no DB
//  has.

#pragma once

#include "rocksdb/convenience.h"  // RangePtr in RocksDB 10 and 11
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace ROCKSDB_NAMESPACE::protean {

// Stores for each of `num_keys` keys whether it may exist: false says that the
// column family, as the snapshot of `read_options` or its present state shows
// it, certainly has no value for the key; true says that it has one, or
// perhaps. `may_exist` has room for as many values. No data block is read.
//
// Keys come without timestamps; with user-defined timestamps, `read_options`
// needs one. Keys are asked one after the other, each for itself: without a
// snapshot, a write in between is seen by the keys that follow.
//
// In files with RocksDB's own filters, only those in the block cache are asked.
// With kBlockCacheTier, files that are not open, and filters that are not in
// memory, may hold anything.
//
// Ask for many keys at once: each call looks at the options of the column
// family, which takes longer than a few keys.
//
// Returns InvalidArgument if the table factory of the column family is not
// ProteanTable, else the status of the reads; then what has not been asked may
// exist. Thread safe.
Status KeysMayExist(DB* db, const ReadOptions& read_options,
                    ColumnFamilyHandle* column_family, size_t num_keys,
                    const Slice* keys, bool* may_exist);

// Stores for each of `num_ranges` ranges [*start, *limit) whether it may hold a
// key that exists, as KeysMayExist does for keys. nullptr stands for no bound
// on that side. A range whose start is not below its limit holds nothing. A
// file without a range filter of Protean may hold anything. The bounds, the
// prefix modes, and `tailing` and `async_io` of `read_options` have no effect.
Status RangesMayExist(DB* db, const ReadOptions& read_options,
                      ColumnFamilyHandle* column_family, size_t num_ranges,
                      const RangePtr* ranges, bool* may_exist);

}  // namespace ROCKSDB_NAMESPACE::protean
