// SPDX-License-Identifier: Apache-2.0

//  A search of the user's iterator: it seeks one file of each sorted run, and
//  ends at the first key that any of them has, or at a later one if the
//  application goes on. Only all files together tell where that is. So the
//  iterators over the files of one search, its members, know each other, for
//  two reasons:
//
//  - A file that waits (protean_table_iterator.h) until the search reaches it
//    asks how far the search can come at all: to the nearest key of the other
//    files. That makes a closed seek of an open one.
//  - A seek that was in vain, because another file has the next key, is known
//    when the search is over, and sampled.

#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/options.h"
#include "rocksdb/slice.h"
#include "table/seek/stop_heap.h"
#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Open runs ----

// The runs of a search: a file of each sorted run, and where its iterator is.
//
// A user's iterator may have thousands of runs, and seeks, moves and leaves
// each of them. So what is done for a run never walks through all runs: the
// nearest stops are a heap, and what is asked once a round looks at the runs
// of that round.

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

  // Another round begins.
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

// ---- Search sampler ----

// Samples the seeks of a search that turn out to be in vain.
//
// A file whose next key lies behind the end of the search has been asked in
// vain: it has no key from the target to there, and its filter should have
// known. Whether that is so is found out when the next round begins, or when
// the first of the iterators is destroyed: then the seeks that are watched are
// looked at, and sampled.
//
// A key that is found in a memtable is not seen. Then the search seems to have
// gone on to the first key of the files; so it does, too, if a file makes room
// for the next one of its level before all runs have been sought. What is
// sampled is empty all the same.

class SearchSampler {
 public:
  bool IsWatching() const { return !watches_.empty(); }

  // Watches the seek of `run` for `target`, which has found a key or waits
  // before one. `inclusive` tells whether a backward seek may find `target`
  // itself.
  void Watch(OpenRun* run, const Slice& target, bool backwards, bool inclusive);
  // `run`, if it is watched, has waited, and is at a key, at a marker further
  // on, or at none now.
  void Follow(OpenRun* run);
  // Samples what was in vain in this round, and watches nothing any more.
  void Finish(const OpenRuns& runs);
  // `run` is no part of the search any more.
  void Forget(OpenRun* run);

 private:
  struct WatchedSeek {
    OpenRun* run;
    std::string target;
    std::string landing;  // the position at which the seek has ended
    bool backwards;
    bool inclusive;
  };

  // One for each run that is watched.
  std::vector<WatchedSeek> watches_;
};

// ---- Search rounds ----

// The rounds of a search. Within a round, each file is sought at most once,
// and all for one key. (A search that goes on behind a range deletion does so
// in another round.)

class SearchRounds {
 public:
  uint64_t current() const { return round_; }

  // Returns true if a seek of `run`, for the key `target` or, if that is
  // nullptr, for the first or last key of `file`, begins another round: if the
  // run was sought in this one. A new run, as there is where a search comes to
  // another file of each level, tells by its target, which all runs are sought
  // for.
  bool IsNext(const OpenRun& run, const void* file, const Slice* target) const {
    return run.round == round_ ||
           (run.round == 0 && target != nullptr && first_file_ != nullptr &&
            (first_file_ == file || *target != first_target_));
  }
  void BeginNext() {
    round_++;
    first_file_ = nullptr;
  }
  // `run`, over `file`, is sought in this round.
  void Enter(const void* file, const Slice* target, OpenRun* run) {
    if (target != nullptr && first_file_ == nullptr) {
      first_file_ = file;
      SetFirstTarget(*target);
    }
    run->round = round_;
  }

  // Returns true if `run`, over `file`, was the first one of this round, sought
  // for a key, and no marker has been passed. If it is sought again, alone, it
  // may begin another round by Repeat, as by BeginNext and Enter.
  bool CanRepeat(const OpenRun& run, const void* file) const {
    return run.round == round_ && first_file_ == file && passed_.empty();
  }
  void Repeat(const Slice& target, OpenRun* run) {
    run->round = ++round_;
    SetFirstTarget(target);
  }

  // The search has passed a marker at this user key. RocksDB's iterator may
  // respond to several markers at one key by another seek there
  // (DBIter::FindNextUserEntry). Then no file may move its marker right behind
  // the target, which is the target with one more zero: that would go on for
  // ever.
  void Pass(const Slice& key) { passed_.assign(key.data(), key.size()); }
  // Returns true if `target` is such a key, with any number of zeros behind it.
  bool HasPassed(const Slice& target) const {
    return !passed_.empty() && target.starts_with(passed_) &&
           std::all_of(target.data() + passed_.size(),
                       target.data() + target.size(),
                       [](char c) { return c == '\0'; });
  }

 private:
  // Copies short keys of one length without a call.
  void SetFirstTarget(const Slice& target) {
    const size_t size = target.size();
    if (first_target_.size() != size) first_target_.resize(size);
    const char* const from = target.data();
    char* const to = first_target_.data();
    if (size < 8 || size > 16) {
      std::copy_n(from, size, to);
    } else {
      uint64_t first, last;
      memcpy(&first, from, 8);
      memcpy(&last, from + size - 8, 8);
      memcpy(to, &first, 8);
      memcpy(to + size - 8, &last, 8);
    }
  }

  uint64_t round_ = 1;
  // The first file that is sought by key in this round, and the key.
  const void* first_file_ = nullptr;
  std::string first_target_;
  std::string passed_;
};

// ---- Run search ----

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
