// SPDX-License-Identifier: Apache-2.0

//  What tables do in place of reading. While an object is at work in a thread,
//  RocksDB walks through memtables and files as ever, and the tables of Protean
//  tell the object what they know from their filters, and turn out empty. Two
//  questions are answered so: whether something may exist, and how much.

#pragma once

#include <cstdint>

#include "memory/arena.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// Returns true if the start of a range, without a timestamp, is not below its
// limit: nothing lies in it.
inline bool IsEmptyRange(const RangePtr& range, const Comparator& order) {
  return range.start != nullptr && range.limit != nullptr &&
         order.CompareWithoutTimestamp(*range.start, /*a_has_ts=*/false,
                                       *range.limit, /*b_has_ts=*/false) >= 0;
}

// The object of a class that is at work in this thread, or nullptr. It is set
// for a scope, by SaveAndRestore.
template <typename T>
inline thread_local T* at_work = nullptr;

class FilteredFile;

// The iterator over a file that tells the object at work in this thread what
// the file's filter knows; nullptr if none is at work. Made as by NewIn.
InternalIterator* NewIteratorAtWork(FilteredFile* file,
                                    const ReadOptions& read_options,
                                    Arena* arena);

// ---- Existence check ----

// Whether keys or ranges may exist. RocksDB seeks or gets as ever, over
// memtables, files, range deletions and snapshots. What it finds itself is in
// the memtables.

struct ExistenceCheck;

// Store for each range, [start, limit), or for each key, whether it may be
// live.
Status CheckRangesExist(DB* db, const ReadOptions& read_options,
                        ColumnFamilyHandle* column_family, size_t num_ranges,
                        const RangePtr* ranges, bool* may_exist);
Status CheckKeysExist(DB* db, const ReadOptions& read_options,
                      ColumnFamilyHandle* column_family, size_t num_keys,
                      const Slice* keys, bool* may_exist);

// ---- Range counter ----

// Counting the keys of a range (docs/internals/reads.md#counting).

struct RangeCounter;

// What has been counted, as plugin/approximate_count.h describes it.
struct CountTotals {
  uint64_t in_files = 0;
  uint64_t in_memtables = 0;
  uint64_t sorted_runs = 0;
  uint64_t files = 0;
  uint64_t files_scanned = 0;
  uint64_t files_estimated = 0;
  uint64_t deletions = 0;
  uint64_t deletions_left_out = 0;
  // Whether something has been counted of which it is not known whether it is a
  // key of its own.
  bool unsure = false;
};

// Counts the keys in [*start, *limit) of a column family whose table factory is
// ProteanTable, all in one version of the DB. nullptr stands for no bound on
// that side. `read_options` are those of ApproximateCount; NotSupported if no
// count can obey them.
Status CountKeysInRange(DB* db, const ReadOptions& read_options,
                        ColumnFamilyHandle* column_family, const Slice* start,
                        const Slice* limit, CountTotals* totals);

}  // namespace ROCKSDB_NAMESPACE::protean
