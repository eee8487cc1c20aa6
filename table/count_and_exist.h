// SPDX-License-Identifier: Apache-2.0

//  What tables do in place of reading. While an object is at work in a thread,
//  RocksDB walks through memtables and files as ever, and the tables of Protean
//  tell the object what they know from their filters, and turn out empty. Two
//  questions are answered so: whether something may exist, and how much.

#pragma once

#include <cstdint>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "memory/arena.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/rocksdb_internals/handles.h"

namespace ROCKSDB_NAMESPACE::protean {

// Returns true if the start of a range, without a timestamp, is not below its
// limit: nothing lies in it.
inline bool IsEmptyRange(const RangePtr& range, const Comparator& order) {
  return range.start != nullptr && range.limit != nullptr &&
         order.CompareWithoutTimestamp(*range.start, /*a_has_ts=*/false,
                                       *range.limit, /*b_has_ts=*/false) >= 0;
}

// Makes an object the one of its class at work in this thread, for a scope.
template <typename T>
class AtWork {
 public:
  explicit AtWork(T* object) : before_(current_) { current_ = object; }
  ~AtWork() { current_ = before_; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

  // The object at work in this thread, or nullptr.
  static T* Current() { return current_; }

 private:
  inline static thread_local T* current_ = nullptr;

  T* const before_;
};

// An iterator that finds no key, wherever it goes forward.
class FindsNothing : public InternalIterator {
 public:
  void SeekForPrev(const Slice& /*target*/) final {}
  void SeekToLast() final {}
  bool Valid() const final { return false; }
  void Next() final {}
  void Prev() final {}
  Slice key() const final { return Slice(); }
  Slice value() const final { return Slice(); }
};

// Makes an iterator as TableReader::NewIterator does: in `arena`, whose owner
// destroys it, or on the heap if that is nullptr.
template <typename Iterator, typename... Arguments>
Iterator* NewIn(Arena* arena, Arguments&&... arguments) {
  if (arena == nullptr) {
    return new Iterator(std::forward<Arguments>(arguments)...);
  }
  return new (arena->AllocateAligned(sizeof(Iterator)))
      Iterator(std::forward<Arguments>(arguments)...);
}

// ---- Existence check ----

// Whether keys or ranges may exist, without reading them. RocksDB seeks or
// gets as ever, over memtables, files, range deletions and snapshots; while an
// ExistenceCheck is at work in this thread, the tables of Protean do not read
// data blocks: they ask the files' filters, tell the check if something may be
// there, and turn out empty. What RocksDB finds itself is in the memtables.

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

// ---- Range counter ----

// Counting the keys of a range without reading them. An iterator over the
// memtables and files of a DB seeks the range; while a RangeCounter is at work
// in this thread, the iterators that the tables of Protean make for it do not
// walk their files: they ask the files' filters how many keys lie in the range
// (SuRF paper, sections 3.5 and 4), add that to the counter, and turn out
// empty. What is left to step through is the memtables.
//
// A filter counts all keys but those at the two ends of the range, which only
// the file itself can tell: one seek for each. A run has one file at each end.

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
    uint64_t deletions_left_out = 0;
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

  // Returns true if a key is not below the start, or is below the limit.
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
