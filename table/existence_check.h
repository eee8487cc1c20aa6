// SPDX-License-Identifier: Apache-2.0

//  Whether keys or ranges may exist, without reading them. RocksDB seeks or
//  gets as ever, over memtables, files, range deletions and snapshots; while an
//  ExistenceCheck is at work in this thread, the tables of Protean do not read
//  data blocks: they ask the files' filters, tell the check if something may be
//  there, and turn out empty. What RocksDB finds itself is in the memtables.

#pragma once

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "table/at_work.h"

namespace ROCKSDB_NAMESPACE::protean {

class FilteredFile;

class ExistenceCheck {
 public:
  // Stores for each range, [start, limit), whether a live key may be in it.
  static Status CheckRanges(DB* db, const ReadOptions& read_options,
                            ColumnFamilyHandle* column_family,
                            size_t num_ranges, const RangePtr* ranges,
                            bool* may_exist);
  // Stores for each key whether it may be live.
  static Status CheckKeys(DB* db, const ReadOptions& read_options,
                          ColumnFamilyHandle* column_family, size_t num_keys,
                          const Slice* keys, bool* may_exist);

  // The check at work in this thread, or nullptr.
  static ExistenceCheck* Current() { return AtWork<ExistenceCheck>::Current(); }

  // The iterator that asks the filter of a file. In `arena`, unless that is
  // nullptr.
  InternalIterator* NewIterator(FilteredFile* file,
                                const ReadOptions& read_options, Arena* arena);

  // What TableReader::Get does: Incomplete if the file may hold the key.
  static Status Get(const FilteredFile& file, const ReadOptions& read_options,
                    const Slice& internal_key, GetContext* get_context,
                    const SliceTransform* prefix_extractor, bool skip_filters);

 private:
  friend class ExistenceIterator;

  // Whether the range, up to limit_ unless that is unset, holds a live key.
  Status CheckRange(const Slice* start, Iterator* it, bool* may_exist);
  const Slice* limit() const { return has_limit_ ? &limit_ : nullptr; }

  // The end of the range that is being asked for, and whether any file may hold
  // a key in it.
  bool has_limit_ = false;
  Slice limit_;
  bool file_may_match_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
