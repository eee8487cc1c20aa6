// SPDX-License-Identifier: Apache-2.0

//  What a search (run_search.h) knows of the iterator over one of its files.

#pragma once

#include <cstdint>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// Where an iterator is.
struct SearchPosition {
  // A key is a better stop than a marker (stop_heap.h).
  enum class Kind : uint8_t {
    kNone,    // at no key
    kKey,     // at this key of its file
    kMarker,  // waits here; its file has no key below
  };
  Kind kind = Kind::kNone;
  Slice user_key;
};

// A run of a search: the iterator over one of its files. It takes itself out of
// the search before it is destroyed (SearchHandle), and knows its places in the
// lists of the search, so that none of them is searched for it.
class OpenRun {
 public:
  // The user key at which the iterator is or waits. The key stays valid until
  // the iterator moves.
  virtual SearchPosition Position() const = 0;

  // Samples that the file has no key in [lo, hi], or in [lo, hi) unless
  // `hi_inclusive`.
  virtual void RecordEmptyRange(const Slice& lo, const Slice& hi,
                                bool hi_inclusive) = 0;
  // Samples that the file has no key from `target` to the end of the search, as
  // far as the iterator's bounds tell where that is.
  virtual void RecordNothingFrom(const Slice& target) = 0;

  static constexpr uint32_t kNowhere = ~uint32_t{0};

  uint64_t round = 0;  // the latest round in which it was sought; 0: none
  uint32_t index = kNowhere;  // in OpenRuns
  uint32_t moved = kNowhere;  // in OpenRuns, among those that have moved
  uint32_t stop = kNowhere;   // in StopHeap
  uint32_t watch = kNowhere;  // in SearchSampler

 protected:
  OpenRun() = default;
  ~OpenRun() = default;
};

}  // namespace ROCKSDB_NAMESPACE::protean
