// SPDX-License-Identifier: Apache-2.0

//  Where the runs of a search are, the best stop for a file that waits first:
//  keys before markers, and the nearest of each (open_runs.h).
//
//  Iterators go on from key to key without telling, but only forward, so a
//  position in the heap is never behind its run. It is compared with the run's
//  when it comes to the top. After a change of direction, a position may be too
//  far ahead until its run is sought again: then a stop is further on than need
//  be.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "table/seek/open_run.h"

namespace ROCKSDB_NAMESPACE::protean {

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
