// SPDX-License-Identifier: Apache-2.0

//  Approximate counts of keys in a range.

#pragma once

#include <cstdint>

#include "rocksdb/convenience.h"  // RangePtr in RocksDB 10 and 11
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace ROCKSDB_NAMESPACE::protean {

// The number of keys in a range, as far as it is known without reading them.
struct CountResult {
  // The number of keys: in each sorted run of SST files, all keys but those in
  // long stretches of deletions; in the memtables, keys whose newest entry is
  // not a deletion. A key that is in several of these counts once in each.
  uint64_t count = 0;

  // The part of `count` that the memtables hold.
  uint64_t in_memtables = 0;
  // Number of sorted runs that hold the other keys: an L0 file, or a level.
  uint64_t sorted_runs = 0;
  // Number of SST files that were asked, and of these the number whose filter
  // cannot count: only SuRF can, and any filter if all of the file lies within
  // the range. Such a file is scanned if less than 64 KB of it lie between the
  // bounds. Otherwise its index tells which share of it they are, with an error
  // of a block at each bound, and its keys are taken to be spread evenly.
  uint64_t files = 0;
  uint64_t files_scanned = 0;
  uint64_t files_estimated = 0;
  // Number of deletions: anywhere in the files asked, within the range in the
  // memtables, and all range deletions. Each may be counted as a key, and may
  // hide others that are counted.
  uint64_t deletions = 0;
  // Number of deleted keys in the range that `count` leaves out, because files
  // tell that they have four deletions in a row or more there.
  uint64_t deletions_left_out = 0;
  // Whether `count` may include entries that are not separate live keys:
  // versions of a key of 64 bytes or more that two files of a run share, or
  // data that a transaction of a TransactionDB has written before its commit,
  // if the write policy is not WRITE_COMMITTED.
  bool unsure = false;

  // Returns true if `count` is certainly the number of live keys.
  bool IsExact() const {
    return deletions == 0 && !unsure && files_estimated == 0 &&
           sorted_runs + (in_memtables > 0 ? 1 : 0) <= 1;
  }
};

// Counts the keys in [*range.start, *range.limit) of a column family whose
// table factory is ProteanTable; nullptr stands for no bound on that side. Keys
// come without timestamps. Reads about one block for each bound from each
// sorted run, besides the filters and indexes, and at most 64 KB of a file that
// is counted in CountResult::files_scanned. Counts the present state of the DB,
// without regard to timestamps. `*result` is overwritten.
//
// All reads of files obey `read_options`: deadline, io_timeout, read_tier,
// rate_limiter_priority, fill_cache, verify_checksums, and readahead_size.
// Files that its table_filter refuses are not counted. Its bounds,
// ignore_range_deletions, the prefix modes, `tailing`, and `async_io` have no
// effect.
//
// Returns InvalidArgument if the column family has another table factory;
// NotSupported if `read_options` has a snapshot, a timestamp, or the read_tier
// kPersistedTier; TimedOut after the deadline, which RocksDB looks at when it
// reads a file; Incomplete if kBlockCacheTier does not suffice; else the status
// of the reads. After an error, `*result` has what was counted before. Thread
// safe.
Status ApproximateCount(DB* db, const ReadOptions& read_options,
                        ColumnFamilyHandle* column_family,
                        const RangePtr& range, CountResult* result);

}  // namespace ROCKSDB_NAMESPACE::protean
