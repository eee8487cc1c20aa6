//  Where the searches of a thread end, for those who cannot say it in
//  ReadOptions.
//
//  Whoever makes an iterator sets ReadOptions::iterate_upper_bound and
//  iterate_lower_bound, and needs nothing of this. But between the application
//  and RocksDB there may be somebody who makes the iterators, does not pass on
//  what the application knows, and looks at each key himself to see when it is
//  enough: an engine or a language binding. Without a bound, no range is empty,
//  and a filter can only say where to read first. So bounds can be set from
//  outside:
//
//    SetSearchBounds(&lower, &upper);  // this thread's
//    ...                               // what makes iterators and seeks
//    ClearSearchBounds();
//
//  In between, the searches of this thread end at these bounds, as if they were
//  in the ReadOptions of all iterators that have none of their own in the
//  direction of the search. Files that hold nothing in the range are not read.
//  An iterator keeps the bounds that it has sought under, until it seeks again.
//  Tailing iterators take no notice of them, nor do those with a table_filter.
//  So clear them when the search has begun: while bounds are set, step no
//  iterator whose search is another one. Where it comes to another file, they
//  do not affect it; but RocksDB may seek in a step, such as to skip many
//  versions of a key or to turn around, and such a seek cannot be told from one
//  of yours.
//
//  What an iterator shows outside of the bounds is in order, but incomplete:
//  unlike with bounds in ReadOptions, it may be valid there. So this is for
//  callers who look at nothing outside, and whose searches begin within: at a
//  key in [lower, upper), backwards also at `upper`, or at the first or last. A
//  seek to another key ignores the bounds, which is a safeguard: it goes wrong
//  nevertheless where its search comes into the bounds, and through them.
//
//  Iterators that merge those of the DB with something else, such as those of a
//  transaction or a WriteBatchWithIndex, must not turn around after a search
//  under bounds: they take the end of the DB's iterator for the end of the DB.
//
//  RocksDB 11 has iterators that write: with a column family option
//  min_tombstones_for_range_conversion other than 0, they put a range deletion
//  in the place of deletions without a key between them, and so must see all
//  keys. Once a DB of the process has been opened with that option, or has
//  written a file under it, all bounds are ignored, and a line in its log says
//  so. RocksDB tells nobody that SetOptions has changed it: do not use both.

#pragma once

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// Sets the bounds of this thread's searches, in place of those that it has:
// keys in [lower, upper) matter. nullptr means no bound on that side. The keys
// are copied, and are without timestamps. Other threads are not affected.
void SetSearchBounds(const Slice* lower, const Slice* upper);

// Takes them away, if there are any.
void ClearSearchBounds();

}  // namespace ROCKSDB_NAMESPACE::protean
