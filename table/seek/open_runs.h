// SPDX-License-Identifier: Apache-2.0

//  The runs of a search: a file of each sorted run, and where its iterator is.
//
//  A user's iterator may have thousands of runs, and seeks, moves and leaves
//  each of them. So what is done for a run never walks through all runs: the
//  nearest stops are a heap, and what is asked once a round looks at the runs
//  of that round.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "table/seek/open_run.h"
#include "table/seek/stop_heap.h"

namespace ROCKSDB_NAMESPACE::protean {

// Runs that know their places in the list.
template <uint32_t OpenRun::*kPlace>
class RunList {
 public:
  size_t size() const { return runs_.size(); }
  OpenRun* operator[](size_t i) const { return runs_[i]; }
  OpenRun* const* data() const { return runs_.data(); }

  void Add(OpenRun* run) {
    if (run->*kPlace != OpenRun::kNowhere) return;
    run->*kPlace = static_cast<uint32_t>(size());
    runs_.push_back(run);
  }
  void Remove(OpenRun* run) {
    if (run->*kPlace == OpenRun::kNowhere) return;
    Swap(run->*kPlace, size() - 1);
    runs_.pop_back();
    run->*kPlace = OpenRun::kNowhere;
  }
  void Clear() {
    for (OpenRun* run : runs_) run->*kPlace = OpenRun::kNowhere;
    runs_.clear();
  }
  void Swap(size_t a, size_t b) {
    if (a == b) return;
    std::swap(runs_[a], runs_[b]);
    runs_[a]->*kPlace = static_cast<uint32_t>(a);
    runs_[b]->*kPlace = static_cast<uint32_t>(b);
  }

 private:
  std::vector<OpenRun*> runs_;
};

class OpenRuns {
 public:
  size_t size() const { return runs_.size(); }

  // Another round begins (search_rounds.h).
  void BeginRound() { sought_ = 0; }
  // Lists a run that is sought in this round. It must be removed before it is
  // destroyed.
  void Enter(OpenRun* run) {
    runs_.Add(run);
    if (run->index >= sought_) runs_.Swap(run->index, sought_++);
    moved_.Add(run);
  }
  void Remove(OpenRun* run);

  // Returns true if the list is long enough to look for idle runs.
  bool IsCrowded() const { return runs_.size() >= crowded_size_; }
  // Removes the runs that have not been sought in the last kMaxIdleRounds
  // rounds. They are listed again when they are sought. With
  // ReadOptions::pin_data, RocksDB keeps the iterator over each file of a level
  // that it has left, without telling it. Follows BeginRound.
  void RemoveIdle(uint64_t round);

  // Where `run`, which leaves its `marker`, might go on to wait: behind the
  // nearest key of another run, where the search ends at the latest; if no
  // other run is at a key, at the next marker of another run.
  SearchPosition NextStop(OpenRun* run, const Slice& marker);
  // `run`, to whose marker the search has come, has moved.
  void Follow(OpenRun* run) {
    if (run->index != OpenRun::kNowhere) moved_.Add(run);
  }

  // Stores the nearest position of the runs that have been sought in this
  // round: where the search has come to, as far as they tell. False if none of
  // them tells.
  bool FindEnd(bool backwards, Slice* end) const;

  // Rounds during which a run may be at a key while others are sought: the
  // search may go from one range deletion to the next of the levels below.
  static constexpr uint64_t kMaxIdleRounds = 16;
  static constexpr size_t kMinCrowdedSize = 32;

 private:
  RunList<&OpenRun::index> runs_;  // first the sought_ runs of this round
  size_t sought_ = 0;
  size_t crowded_size_ = kMinCrowdedSize;
  // Where the runs are, except for those that have moved since NextStop.
  StopHeap stops_;
  RunList<&OpenRun::moved> moved_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
