// SPDX-License-Identifier: Apache-2.0

//  Where the runs of a search are, the best stop for a file that waits first:
//  keys before markers, and the nearest of each (run_search.h).
//
//  Iterators go on from key to key without telling, but only forward, so a
//  position in the heap is never behind its run. It is compared with the run's
//  when it comes to the top. After a change of direction, a position may be too
//  far ahead until its run is sought again: then a stop is further on than need
//  be.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Open run ----

// What a search (run_search.h) knows of the iterator over one of its files.

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

// ---- Stop heap ----

class StopHeap {
 public:
  // Notes where the `count` runs from `runs` on are now.
  void Note(OpenRun* const* runs, size_t count);
  // Forgets the run, if it is noted.
  void Remove(OpenRun* run) {
    if (run->stop != OpenRun::kNowhere) RemoveAt(run->stop);
  }

  // Returns the nearest key at or above `marker` or, if no run is at a key, the
  // nearest marker above it. Forgets the runs that the search has left.
  SearchPosition Next(const Slice& marker);

 private:
  struct Stop {
    OpenRun* run;
    SearchPosition::Kind kind;
    std::string user_key;

    bool IsAt(const SearchPosition& position) const {
      return position.kind == kind && position.user_key == user_key;
    }
    bool operator<(const Stop& other) const {
      return kind != other.kind ? kind < other.kind : user_key < other.user_key;
    }
  };

  void Set(size_t at, const SearchPosition& position);
  void Put(size_t at, Stop&& stop);
  void RemoveAt(size_t at);
  // Move the stop to its place in the heap, which is elsewhere in order.
  void SiftUp(size_t at);
  void SiftDown(size_t at);

  std::vector<Stop> stops_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
