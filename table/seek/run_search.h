// SPDX-License-Identifier: Apache-2.0

//  A search of the user's iterator: it seeks one file of each sorted run, and
//  ends at the first key that any of them has, or at a later one if the
//  application goes on. Only all files together tell where that is. So the
//  iterators over the files of one search, its members, know each other, for
//  two reasons:
//
//  - A file that waits (protean_table_iterator.h) until the search reaches it
//    asks how far the search can come at all: to the nearest key of the other
//    files (open_runs.h). That makes a closed seek of an open one.
//  - A seek that was in vain, because another file has the next key, is known
//    when the search is over, and sampled (search_sampler.h).

#pragma once

#include <cassert>
#include <memory>

#include "rocksdb/options.h"
#include "table/seek/open_runs.h"
#include "table/seek/round_bounds.h"
#include "table/seek/search_rounds.h"
#include "table/seek/search_sampler.h"

namespace ROCKSDB_NAMESPACE::protean {

// Not thread safe, as the user's iterator is not. Its members share it.
class RunSearch {
 public:
  ~RunSearch();
  RunSearch(const RunSearch&) = delete;
  RunSearch& operator=(const RunSearch&) = delete;

  // The search of the user's iterator that has these ReadOptions, which each
  // iterator has for itself: the one that other members hold, or a new one.
  // Thread safe.
  static std::shared_ptr<RunSearch> Of(const ReadOptions& read_options);

  // Members that have been sought lately.
  size_t runs() const { return runs_.size(); }

 private:
  friend class SearchHandle;
  class Registry;

  explicit RunSearch(const ReadOptions* read_options)
      : read_options_(read_options) {}

  void BeginRound() {
    if (sampler_.IsWatching()) sampler_.Finish(runs_);
    rounds_.BeginNext();
    runs_.BeginRound();
    bounds_.EndRound();
    if (runs_.IsCrowded()) runs_.RemoveIdle(rounds_.current());
  }

  // Begins another round with a seek of `run`, as BeginRound and what follows
  // it, if that is the only run, and the last round has left nothing to do.
  // Else returns false, and does nothing.
  bool Repeat(const void* file, const Slice& target, OpenRun* run) {
    if (runs_.size() != 1 || run->index != 0 || sampler_.IsWatching() ||
        !rounds_.CanRepeat(*run, file) || !bounds_.Repeat()) {
      return false;
    }
    rounds_.Repeat(target, run);
    return true;
  }

  const ReadOptions* const read_options_;
  SearchRounds rounds_;
  RoundBounds bounds_;
  OpenRuns runs_;
  SearchSampler sampler_;
};

// A run with a handle on its search. The search reaches the run between Join
// and Leave only, so the run must call Leave before any part of it is
// destroyed.
class SearchHandle : public OpenRun {
 public:
  SearchHandle() = default;
  SearchHandle(const SearchHandle&) = delete;
  SearchHandle& operator=(const SearchHandle&) = delete;

  // Takes part in a search, unless the handle does.
  void Join(const ReadOptions& read_options) {
    if (!IsJoined()) search_ = RunSearch::Of(read_options);
  }
  void Leave();
  bool IsJoined() const { return search_ != nullptr; }

  // The run is about to seek, for the key `target` or, if that is nullptr, for
  // the first or last key of its file, which `file` identifies.
  void BeginSeek(const void* file, const Slice* target) {
    if (!IsJoined()) return;
    if (search_->rounds_.IsNext(*this, file, target)) search_->BeginRound();
    search_->bounds_.BeginSeek();
    search_->rounds_.Enter(file, target, this);
    search_->runs_.Enter(this);
  }

  // BeginSeek for the only run of a search, which is at a key and is sought for
  // another one. If it cannot be done quickly, returns false, and does nothing.
  bool BeginSeekAlone(const void* file, const Slice& target) {
    return IsJoined() && search_->Repeat(file, target, this);
  }

  // All that follows requires IsJoined().

  // The thread's bounds in this round.
  RoundBounds& bounds() { return search_->bounds_; }

  // The functions of SearchRounds.
  void Pass(const Slice& key) { search_->rounds_.Pass(key); }
  bool HasPassed(const Slice& target) const {
    return search_->rounds_.HasPassed(target);
  }

  // The functions of OpenRuns and SearchSampler, for this run.
  SearchPosition NextStop(const Slice& marker) {
    return search_->runs_.NextStop(this, marker);
  }
  void Watch(const Slice& target, bool backwards, bool inclusive) {
    search_->sampler_.Watch(this, target, backwards, inclusive);
  }
  void Follow() {
    search_->runs_.Follow(this);
    search_->sampler_.Follow(this);
  }

 protected:
  ~SearchHandle() {
    assert(!IsJoined());
    if (IsJoined()) Unlist();
  }

 private:
  void Unlist();

  std::shared_ptr<RunSearch> search_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
