// SPDX-License-Identifier: Apache-2.0

//  The runs of a search: a file of each sorted run, and where its iterator is.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "table/seek/search_member.h"

namespace ROCKSDB_NAMESPACE::protean {

class OpenRuns {
 public:
  size_t size() const { return runs_.size(); }

  // Lists a run unless it is listed. It must be removed before it is destroyed.
  void Add(OpenRun* run) {
    if (run->is_listed) return;
    runs_.push_back(run);
    run->is_listed = true;
  }
  void Remove(OpenRun* run);

  // Whether the list is long enough to look for idle runs.
  bool IsCrowded() const { return runs_.size() >= crowded_size_; }
  // Removes the runs that have not been sought in the last kMaxIdleRounds
  // rounds. They are listed again when they are sought. With
  // ReadOptions::pin_data, RocksDB keeps the iterator over each file of a level
  // that it has left, without telling it.
  void RemoveIdle(uint64_t round);

  // Where `run`, which waits at `marker`, might go on to wait: behind the
  // nearest key of another run, where the search ends at the latest; if no
  // other run is at a key, at the next marker of another run.
  SearchPosition NextStop(const OpenRun& run, const Slice& marker) const;

  // Stores the nearest position of the runs of that round except `run`: where
  // the search has come to, as far as they tell. False if they do not.
  bool FindEnd(const OpenRun& run, uint64_t round, bool backwards,
               Slice* end) const;

  // Rounds during which a run may be at a key while others are sought: the
  // search may go from one range deletion to the next of the levels below.
  static constexpr uint64_t kMaxIdleRounds = 16;
  static constexpr size_t kMinCrowdedSize = 32;

 private:
  std::vector<OpenRun*> runs_;
  size_t crowded_size_ = kMinCrowdedSize;
};

}  // namespace ROCKSDB_NAMESPACE::protean
