// SPDX-License-Identifier: Apache-2.0

//  Whether keys or ranges may exist, without reading them. RocksDB seeks or
//  gets as ever, over memtables, files, range deletions and snapshots; while an
//  ExistenceCheck is at work in this thread, the tables of Protean do not read
//  data blocks: they ask the files' filters, tell the check if something may be
//  there, and turn out empty. What RocksDB finds itself is in the memtables.

#pragma once

#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "table/at_work.h"

namespace ROCKSDB_NAMESPACE::protean {

class FilteredFile;

class ExistenceCheck {
 public:
  // Stores for each of `ranges`, [start, limit), whether a live key may be in
  // it.
  static Status CheckRanges(DB* db, const ReadOptions& read_options,
                            ColumnFamilyHandle* column_family,
                            const std::vector<Range>& ranges,
                            std::vector<bool>* may_exist);
  // Stores whether each of `keys` may be live.
  static Status CheckKeys(DB* db, const ReadOptions& read_options,
                          ColumnFamilyHandle* column_family,
                          const std::vector<Slice>& keys,
                          std::vector<bool>* may_exist);

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

  // The end of the range that is being asked for, and whether any file may hold
  // a key in it.
  Slice limit_;
  bool file_may_match_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
