// SPDX-License-Identifier: Apache-2.0

//  Where a scan may skip deletions.
//
//  The rule. A search (run_search.h) has come to `from`. If no file may have a
//  value in [from, to), then the search may go on at `to`, and leave out the
//  deletions before.
//
//  Why it holds. A deletion hides older values of its key, and nothing else.
//  Older values are in files, since whatever a memtable holds is newer than all
//  files. No file has one in [from, to), in any version, so it does not matter
//  which snapshot the search sees, or whether the values would be operands of a
//  merge. At `to` itself there may be a value, and a deletion that hides it, so
//  `to` is not part of what is skipped.
//
//  What a file knows. Its stretches (filter_policy/deletion_stretches.h) say
//  exactly where it has deletions only. Elsewhere, its filter may say that it
//  has no key at all. It knows nothing beyond its largest key, where the next
//  file of its level begins, so each file's answer ends there. When its
//  iterator has come to the end, RocksDB's LevelIterator goes on to the next
//  file. But if the file has range deletions, LevelIterator stops where the
//  last one ends, which no filter knows. Then nothing is skipped.
//
//  Where the rule is not used: everywhere where iterators may not wait at
//  markers either (ProteanTableIterator::CanWait); with pin_data; with a
//  table_filter, where a level may be at a file that is not in the search; and
//  where iterators write range deletions in the place of the deletions that
//  they see (min_tombstones_for_range_conversion).

#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "filter_policy/deletion_stretches.h"
#include "filter_policy/range_filter.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether, and when, iterators of this process skip deletions.
class DeletionSkips {
 public:
  // Thread safe.
  static bool AreAllowed() { return allowed_.load(std::memory_order_relaxed); }
  // From the next seek on, nothing is skipped any more.
  static void Forbid() { allowed_.store(false, std::memory_order_relaxed); }

  // Deletions in a row after which a scan asks where it may go on. To ask, and
  // to go on there, takes about as long as stepping over eight deletions.
  static uint32_t AskAfter() { return ask_after_; }
  // For tests, while nothing reads.
  static void SetAskAfter(uint32_t deletions) { ask_after_ = deletions; }

 private:
  static inline std::atomic<bool> allowed_{true};
  static inline uint32_t ask_after_ = 8;
};

// Finds where a file may have its next value: stores a key, from `from` on,
// below which the file has no value that is at or above `from`. Returns false,
// and may store anything, if that key would not be below `limit`, unless that
// is nullptr. `filter` and `stretches` are the file's, or nullptr if it has
// none; the filter is asked once, so it is nullptr if there is nothing to ask.
// `position` is the key or the marker at which the file's iterator is.
bool NextValue(const FileRangeFilter* filter,
               const DeletionStretches* stretches, const Slice& position,
               const Slice& from, const Slice* limit, std::string* next);

}  // namespace ROCKSDB_NAMESPACE::protean
