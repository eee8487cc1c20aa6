// SPDX-License-Identifier: Apache-2.0

//  The runs of a search (run_search.h), and where they are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/open_db/dead_ranges.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Open run ----

// Where the iterator over a file is.
struct SearchPosition {
  // A key is a better stop than a marker, which may have no key near it.
  enum class Kind : uint8_t {
    kNone,    // at no key
    kKey,     // at this key of its file
    kMarker,  // waits here; its file has no key below
  };
  Kind kind = Kind::kNone;
  Slice user_key;
};

struct Stop;

// A seek that is watched (RunSearch::Watch).
struct WatchedSeek {
  std::string target;
  std::string landing;  // the position at which the seek has ended
  bool backwards;
  bool inclusive;
};

// A run of a search: the iterator over one of its files. It must leave the
// search before any part of it is destroyed.
class OpenRun {
 public:
  // The user key at which the iterator is or waits. The key stays valid until
  // the iterator moves.
  virtual SearchPosition Position() const = 0;

  // Sample that the file has no key in [lo, hi], or in [lo, hi) unless
  // `hi_inclusive`; or from `target` to the end of the search, as far as the
  // iterator's bounds tell where that is.
  virtual void RecordEmptyRange(const Slice& lo, const Slice& hi,
                                bool hi_inclusive) = 0;
  virtual void RecordNothingFrom(const Slice& target) = 0;

  // Finds where the file may have its next value (seek_decision.h).
  virtual bool FindNextValue(const Slice& from, const Slice* limit,
                             std::string* next) = 0;

  // Dead ranges (DeadRangeSearch).

  // Returns true if the iterator stands at an entry in [from, to) that is no
  // deletion.
  virtual bool IsAtValue(const Slice& from, const Slice& to) const = 0;
  // Lowers `*to` as far as the file's level may go on with another file below.
  virtual void LimitToFile(std::string* to) = 0;
  // Returns true if the iterator has come to the end of its file, and not to a
  // bound or to where a range deletion ends: its level goes on with the next
  // file.
  virtual bool HasNoMoreKeys() const = 0;
  // Returns true if a seek for a key with this footer sees all entries that the
  // file has of the key.
  virtual bool SeesAllVersions(uint64_t footer) const = 0;
  // The search keeps, or skips, a range with entries of the file.
  virtual void NoteDeadRange() = 0;
  // Keeps the range for other searches of the DB.
  virtual void KeepDeadRange(DeadRange range) = 0;

  static constexpr uint32_t kNowhere = ~uint32_t{0};

  // The number by which dead ranges know the file; 0 if the run takes no part
  // in them.
  uint64_t dead_range_file = 0;
  uint64_t round = 0;  // the latest round in which it was sought; 0: none
  // The run's places in the lists of OpenRuns.
  uint32_t index = kNowhere;
  uint32_t moved = kNowhere;  // moved since the stops were noted
  const Stop* stop = nullptr;
  std::unique_ptr<WatchedSeek> watch;

 protected:
  OpenRun() = default;
  ~OpenRun() = default;
};

// Where a run was when that was noted. The best stop for a file that waits
// comes first: keys before markers, and the nearest of each.
struct Stop {
  SearchPosition::Kind kind;
  std::string user_key;
  OpenRun* run;

  bool IsAt(const SearchPosition& position) const {
    return position.kind == kind && position.user_key == user_key;
  }
  bool operator<(const Stop& other) const {
    if (kind != other.kind) return kind < other.kind;
    const int order = user_key.compare(other.user_key);
    return order != 0 ? order < 0 : run < other.run;
  }
};

// ---- Open runs ----

// Runs that know their places in the list.
template <uint32_t OpenRun::*kPlace>
class RunList {
 public:
  size_t size() const { return runs_.size(); }
  OpenRun* operator[](size_t i) const { return runs_[i]; }

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
  void Swap(size_t a, size_t b) {
    if (a == b) return;
    std::swap(runs_[a], runs_[b]);
    runs_[a]->*kPlace = static_cast<uint32_t>(a);
    runs_[b]->*kPlace = static_cast<uint32_t>(b);
  }

 private:
  std::vector<OpenRun*> runs_;
};

// Where the runs of a search are.
//
// Iterators go on from key to key without telling, but only forward, so a stop
// that was noted is never after its run. It is compared with where the run is
// when it comes first. After a change of direction, a stop may be too far ahead
// until its run is sought again: then a file goes on to wait further on than
// need be.
class OpenRuns {
 public:
  size_t joined = 0;    // runs that are part of the search
  size_t unsought = 0;  // of these, runs that have not been sought yet

  // Runs that have been sought lately: those of this round come first.
  size_t size() const { return runs_.size(); }
  size_t sought() const { return sought_; }
  OpenRun* operator[](size_t i) const { return runs_[i]; }

  // Another round begins, with this number. Of many runs, those that have not
  // been sought in the last kMaxIdleRounds rounds are removed: they are listed
  // again when they are sought. With ReadOptions::pin_data, RocksDB keeps the
  // iterator over each file of a level that it has left, without telling it.
  void BeginRound(uint64_t round) {
    sought_ = 0;
    if (runs_.size() >= crowded_size_) RemoveIdle(round);
  }
  // A run is sought in this round. It must be removed before it is destroyed.
  void Enter(OpenRun* run, uint64_t round) {
    if (run->round == 0) unsought--;
    run->round = round;
    runs_.Add(run);
    if (run->index >= sought_) runs_.Swap(run->index, sought_++);
    moved_.Add(run);
  }
  // `run`, to whose marker the search has come, has moved.
  void Follow(OpenRun* run) {
    if (run->index != OpenRun::kNowhere) moved_.Add(run);
  }
  void Remove(OpenRun* run);

  // Where `run`, which leaves its `marker`, might go on to wait: after the
  // nearest key of another run, where the search ends at the latest; if no
  // other run is at a key, at the next marker of another run.
  SearchPosition NextStop(OpenRun* run, const Slice& marker);

  // Rounds during which a run may be at a key while others are sought: the
  // search may go from one range deletion to the next of the levels below.
  static constexpr uint64_t kMaxIdleRounds = 16;
  static constexpr size_t kMinCrowdedSize = 32;

 private:
  void RemoveIdle(uint64_t round);
  // Notes where a run is, as a stop.
  void Note(OpenRun* run);
  void Forget(OpenRun* run);

  RunList<&OpenRun::index> runs_;
  size_t sought_ = 0;
  size_t crowded_size_ = kMinCrowdedSize;
  // Where the runs are, except for those that have moved since NextStop.
  std::set<Stop> stops_;
  RunList<&OpenRun::moved> moved_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
