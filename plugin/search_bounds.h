// SPDX-License-Identifier: Apache-2.0

//  Bounds for the seeks of a thread, for applications that cannot set them in
//  ReadOptions.
//
//  An application that creates its own iterators sets
//  ReadOptions::iterate_upper_bound and iterate_lower_bound, and does not need
//  this header. But a layer between the application and RocksDB, such as an
//  engine or a language binding, may create the iterators, not pass on the
//  bounds that the application knows, and compare each key with them itself.
//  Without a bound, no range is empty, and a filter can only say where to read
//  first. So bounds can also be set from outside:
//
//    {
//      const SearchBoundsScope bounds(&lower, &upper);  // of this thread
//      ...                              // creates iterators and seeks
//    }
//
//  In between, the seeks of this thread end at these bounds, as if they were in
//  the ReadOptions of all iterators that have no bound of their own in the
//  direction of the seek. Files that hold nothing in the range are not read. An
//  iterator keeps the bounds of its last seek until it seeks again. Tailing
//  iterators and iterators with a table_filter ignore these bounds. End the
//  scope when the seek has been made: while it lasts, do not step any
//  iterator that is positioned by another seek. Coming to another file, such an
//  iterator is not affected; but RocksDB may seek within a step, such as to
//  skip many versions of a key or to change direction, and such a seek looks
//  like one of the application.
//
//  Outside of the bounds, the keys of an iterator are in order, but incomplete;
//  unlike with bounds in ReadOptions, the iterator may be valid there. So these
//  bounds are for callers that look at nothing outside of them, and whose seeks
//  begin within them: at a key in [lower, upper), backwards also at `upper`, or
//  at the first or last key. SeekToFirst and SeekToLast go to the first and the
//  last key of the column family, even if that key is outside of the bounds:
//  with an upper bound, SeekForPrev(upper) finds the last key of the range, and
//  with a lower bound, Seek(lower) finds the first. As a safeguard, a seek to
//  another key ignores the bounds; the result is wrong all the same if that
//  iterator later comes into the bounds, and through them.
//
//  Iterators that merge the DB's iterator with something else, such as those of
//  a transaction or a WriteBatchWithIndex, must not change direction after a
//  seek with bounds: they take the end of the DB's iterator for the end of the
//  DB.
//
//  RocksDB 11 has iterators that write: with a column family option
//  min_tombstones_for_range_conversion other than 0, they replace deletions
//  without a key between them by a range deletion, and so must see all keys.
//  Once a DB of the process has been opened with that option, or has written a
//  file with it, all bounds are ignored, and a line in its log says so. RocksDB
//  does not notify anyone when SetOptions changes the option: do not use both.

#pragma once

#include <memory>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

class ThreadBounds;

// Bounds of this thread as long as the object lives: bounds that are forgotten
// would hide keys from later seeks. Scopes may be nested; the inner one counts.
// An object must be destroyed in the thread that made it.
class SearchBoundsScope {
 public:
  // Only keys in [lower, upper) matter to this thread's seeks. nullptr means no
  // bound on that side. The keys, which have no timestamps, are copied. Other
  // threads are not affected.
  SearchBoundsScope(const Slice* lower, const Slice* upper);
  // Sets the bounds that the thread had before, or none.
  ~SearchBoundsScope();

  SearchBoundsScope(const SearchBoundsScope&) = delete;
  SearchBoundsScope& operator=(const SearchBoundsScope&) = delete;

 private:
  const std::shared_ptr<const ThreadBounds> before_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
