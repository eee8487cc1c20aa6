// SPDX-License-Identifier: Apache-2.0

//  Existence without a read: keys and ranges of which the filters, the
//  memtables, the range deletions and the snapshot say that nothing is there.
//  For ingest that drops what it has seen before, for uniqueness checks, and
//  for schedulers that want to know which windows of time hold anything.
//
//  Beside DB::KeyMayExist, which reads nothing at all, these functions also
//  answer for ranges, and read filters that are not in the block cache if
//  ReadOptions::read_tier allows it.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace ROCKSDB_NAMESPACE::protean {

// Stores for each of `keys` whether it may exist: false says that the column
// family, as the snapshot of `read_options` or its present state shows it,
// certainly has no value for the key; true says that it has one, or perhaps.
// No data block is read. `*may_exist` gets as many elements as `keys`.
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
// ProteanTable, else the status of the reads; of `*may_exist`, then only the
// elements that are false mean anything. Thread safe.
Status KeysMayExist(DB* db, const ReadOptions& read_options,
                    ColumnFamilyHandle* column_family,
                    const std::vector<Slice>& keys,
                    std::vector<bool>* may_exist);

// Stores for each of `ranges`, [start, limit), whether it may hold any key that
// exists, as KeysMayExist does for keys. All ranges are asked in one state of
// the DB. A range whose start is not below its limit holds nothing. A file
// without a range filter of Protean may hold anything. The bounds, the prefix
// modes, and `tailing` and `async_io` of `read_options` have no effect.
Status RangesMayExist(DB* db, const ReadOptions& read_options,
                      ColumnFamilyHandle* column_family,
                      const std::vector<Range>& ranges,
                      std::vector<bool>* may_exist);

// The filter of one SST file that is read apart from any DB: a file of a
// backup, or one that is going to be ingested. Not thread safe.
class SstFileFilter {
 public:
  // Opens a file, and reads its filter and its index. `options` are those of
  // its column family, whose table factory is ProteanTable. Returns
  // InvalidArgument if it is another one, NotFound or PathNotFound if there is
  // no such file, and Corruption if the file is damaged. A file without a
  // filter of Protean, or with a damaged one, is opened and may hold anything.
  static Status Open(const Options& options, const std::string& path,
                     std::unique_ptr<SstFileFilter>* opened);

  SstFileFilter() = default;
  SstFileFilter(const SstFileFilter&) = delete;
  SstFileFilter& operator=(const SstFileFilter&) = delete;
  virtual ~SstFileFilter() = default;

  // False if the file certainly has no entry of the key, neither a value nor a
  // deletion. (A deletion of a range is no entry.) The key comes without a
  // timestamp.
  virtual bool KeyMayExist(const Slice& key) const = 0;
  // False if the file certainly has no entry of a key in [start, limit).
  virtual bool RangeMayExist(const Range& range) const = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
