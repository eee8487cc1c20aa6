// SPDX-License-Identifier: Apache-2.0

//  Counting the keys of a range without reading them. An iterator over the
//  memtables and files of a DB seeks the range; while a RangeCounter is at work
//  in this thread, the iterators that the tables of Protean make for it do not
//  walk their files: they ask the files' filters how many keys lie in the range
//  (SuRF paper, sections 3.5 and 4), add that to the counter, and turn out
//  empty. What is left to step through is the memtables.
//
//  A filter counts all keys but those at the two ends of the range, which only
//  the file itself can tell: one seek for each. A run has one file at each end.

#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "table/at_work.h"
#include "table/rocksdb_internals/column_family.h"

namespace ROCKSDB_NAMESPACE::protean {

class FilteredFile;

class RangeCounter {
 public:
  // What has been counted, as plugin/approximate_count.h describes it.
  struct Totals {
    uint64_t in_files = 0;
    uint64_t in_memtables = 0;
    uint64_t sorted_runs = 0;
    uint64_t files = 0;
    uint64_t files_scanned = 0;
    uint64_t deletions = 0;
    // Whether something has been counted of which it is not known whether it is
    // a key of its own.
    bool unsure = false;
  };

  // Counts the keys in [*start, *limit) of a column family whose table factory
  // is ProteanTable, all in one version of the DB. nullptr stands for no bound
  // on that side. `read_options` are those of ApproximateCount; NotSupported if
  // no count can obey them.
  static Status Count(DB* db, const ReadOptions& read_options,
                      ColumnFamilyHandle* column_family, const Slice* start,
                      const Slice* limit, Totals* totals);

  // The counter at work in this thread, or nullptr.
  static RangeCounter* Current() { return AtWork<RangeCounter>::Current(); }

  // The iterator that counts the keys of a file. In `arena`, unless that is
  // nullptr.
  InternalIterator* NewIterator(FilteredFile* file, Arena* arena);

 private:
  friend class CountingIterator;

  // The smallest or the largest key of a file, as far as it is known.
  struct EndKey {
    std::string key;
    bool is_known = false;  // at least its beginning
    bool is_whole = false;
  };

  RangeCounter(const Slice* start, const Slice* limit,
               const ReadOptions& file_options, const Comparator* comparator,
               Totals* totals);

  // Whether a key is not below the start, or is below the limit.
  bool IsAfterStart(const Slice& key) const;
  bool IsBeforeLimit(const Slice& key) const;

  // Goes to the first key in the memtables, and has the files counted.
  void SeekToRange(InternalIterator* it);
  void CountMemtables(InternalIterator* it);
  // Takes care of a key that the last file of a run and the next one both hold,
  // in different versions.
  void JoinFiles(const EndKey& first, uint64_t* count);

  const Slice* const start_;
  const Slice* const limit_;
  const Comparator* const comparator_;
  const ReadOptions& file_options_;  // without bounds
  Totals* const totals_;
  // Without a start, the files with which sorted runs begin are found first.
  bool lists_first_files_ = false;
  std::set<const FilteredFile*> first_files_;
  bool run_is_new_ = false;  // nothing of it has been counted
  EndKey last_;              // of the run's file before
};

}  // namespace ROCKSDB_NAMESPACE::protean
