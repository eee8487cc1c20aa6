// SPDX-License-Identifier: Apache-2.0

//  A search over runs.
//
//  What a search is. An LSM tree holds its keys in sorted runs: each file of
//  level 0 is one, and all files of a deeper level together are one. To find
//  the first key at or above a target, RocksDB's iterator seeks one file of
//  each run, and a heap over these files (MergingIterator) gives the nearest of
//  the keys that they stand at. The user's iterator goes on from there, from
//  key to key. So a search costs a block of every run, although only the
//  nearest key counts, and in most runs the next key is further away.
//
//  Why runs may wait. A range filter often knows that a file has no key between
//  the target and some bound. It does not know the file's next key, but the
//  search need not know that key either as long as another run has one below
//  the bound. So the file waits at the bound, unread, and is a stop of the
//  search like any key (protean_table_iterator.h says how RocksDB is made to
//  take it for one). If the search ends before it, the file is never read. This
//  is the open seek of the SuRF paper (section 4), and it holds for every later
//  step, too: a scan opens a run when it gets there.
//
//  Why a run may answer from its filter alone. Filters are good at one
//  question: is there a key in this range? The range of a seek without a bound
//  has an end as soon as any run stands at a key: the search ends there at the
//  latest. So when the search reaches a file that waits, this file asks the
//  others where they are (NextStop). If another run is at a key, the filter is
//  asked for the range from the bound to that key, and if it is empty, the file
//  goes on to wait after the key. If no run is at a key yet, the nearest bound
//  of another run serves as the end. Each answer of the filter thus spares a
//  block, and a wrong "may match" costs one, so what is found never depends on
//  any of this.
//
//  Who must know of whom. Only all files of one search together tell where it
//  ends, but RocksDB makes an iterator for each file and tells none of them of
//  the others. A RunSearch is what they share: the rounds in which they are
//  sought, where they are (OpenRuns), which of their seeks may turn out to
//  have been in vain, what they skip together (DeadRangeSearch), and the
//  bounds that the thread has set (thread_bounds.h).
//
//  What a round is. The user seeks again and again with one iterator, and
//  positions of an earlier seek mean nothing. Within a round, each run is
//  sought at most once, and all of them for one key; a second seek of a run, or
//  a seek of a new run for another key, begins the next round. RocksDB itself
//  begins rounds, too: where a range deletion covers a key, it seeks the lower
//  levels at the end of the deletion.
//
//  How the files find their search. RocksDB gives no name to a search, but it
//  passes each file's iterator a reference to ReadOptions that stays valid for
//  as long as the iterator lives. All files of one user's iterator get the same
//  object, and no two iterators share one: it is a copy in the
//  ArenaWrappedDBIter (read_options_, or since 11.8 child_read_options_). So
//  its address names the search, in a registry of this process. The contract
//  test ReadOptionsNameASearch watches that this stays so. A file takes part
//  only under a DBIter (ProteanTableIterator::SetPinnedItersMgr).
//
//  Work. There may be thousands of runs, and each is sought, moved and left. So
//  nothing that is done for one run looks at all of them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/open_db/dead_ranges.h"
#include "filter_policy/range_filter.h"
#include "rocksdb/options.h"
#include "rocksdb/slice.h"
#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Open run ----

// Where the iterator over a file is.
struct SearchPosition {
  // A key is a better stop than a marker, which may have no key near it.
  enum Kind : uint8_t {
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

  // The number by which dead ranges know the file; 0 if it takes no part.
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

// ---- Dead range search ----

// Finds the dead ranges (filter_policy/open_db/dead_ranges.h) that a forward
// search goes through, and skips those that are known.
//
// Why it is right to skip one. A search sees the files of one version of the
// tree. If all files of a range are among them, the newest entry that they
// have of each key in the range is a deletion, and the search sees that
// deletion unless its snapshot is older. Entries of other files and of
// memtables are not part of the range: if another file may have a value in it,
// the range is skipped up to there.
//
// All or none. A file with deletions may only skip them if each file whose
// values they hide skips these, too. So a range is skipped where the search
// has come to, and no sooner: then all runs have been sought, none of them
// stands at a value in it, and none waits before it. From then on, no run of
// these files goes there: wherever one lands in the range, it goes on after
// it. RocksDB seeks some runs and not others where a range deletion ends. The
// next seek of the user, which is one of all runs, begins anew.
class DeadRangeSearch {
 public:
  // The runs of the search, and the key for which the round seeks.
  DeadRangeSearch(const OpenRuns& runs, const KeyCopy& target)
      : runs_(runs), target_(target) {}

  // The search goes backwards, or cannot tell what it is for: from now on,
  // nothing is found or skipped.
  void Forbid() {
    is_forbidden_ = true;
    Stop();
    skipped_.reset();
  }
  // Finds nothing more until the next seek of the user.
  void Stop() { finding_ = Finding::kOff; }

  // A run is sought in a round for an internal key with this footer.
  void OnSeek(uint64_t footer, uint64_t round) {
    level_goes_on_ = false;
    if (round != round_) {
      round_ = round;
      BeginRound(footer);
    } else if (footer != footer_ || sequence_ == 0) {
      // Some runs go on at another key.
      Stop();
    }
  }
  // A run is sought for the first key of its file. `is_new` tells whether it is
  // sought for the first time.
  void OnSeekToFirst(bool is_new);
  // A run leaves. If it has come to the end of its file, and another run waits
  // to be sought, its level goes on with the next file.
  void OnLeave(OpenRun* run);

  // Returns true if the entries that runs leave are wanted.
  bool WantsEntries() const { return finding_ >= Finding::kReady; }
  // `run` leaves an entry.
  void Pass(const Slice& internal_key, const Slice& user_key, OpenRun* run);
  // The search has come to a deletion of this key, which it has not passed yet.
  void OnDeletion(const Slice& user_key) {
    if (finding_ == Finding::kPaused && !IsInSkipped(user_key)) {
      Begin(user_key, /*inclusive=*/false);
    }
  }
  // The search skips what it has at `from`: deletions that hide nothing, or if
  // `dead`, what is in the range that is skipped.
  void OnSkip(const Slice& from, bool dead);
  bool HasBegun() const { return finding_ == Finding::kBegun; }
  // The range that has begun ends where the search is: `run` keeps it.
  // `at_end` tells that `run`, which leaves, is at the end of its file.
  void FinishHere(OpenRun* run, bool at_end);

  bool IsSkipping() const { return skipped_ != nullptr; }
  // Returns true if runs of this file may not be at `key`, and stores where
  // they go on.
  bool MustSkip(uint64_t file, const Slice& key, std::string* to) const {
    if (!IsInSkipped(key) || !skipped_->range->HasFile(file)) return false;
    *to = skipped_->to;
    return true;
  }
  // Returns true if the search sees all deletions of the range.
  bool Sees(const DeadRange& range) const {
    return !is_forbidden_ && sequence_ >= range.sequence;
  }
  // The search has come to `from`. Skips what it can of the range, and stores
  // where its files go on. False if that is nothing.
  bool Skip(std::shared_ptr<const DeadRange> range, const Slice& from,
            std::string* to);

 private:
  enum class Finding : uint8_t {
    kOff,     // some runs have gone another way
    kPaused,  // a range may begin at a deletion
    kReady,   // a range may begin at the target: no entry has been left yet
    kBegun,
  };
  // What is skipped: [from, to) of the range.
  struct Skipped {
    std::shared_ptr<const DeadRange> range;
    std::string from;
    std::string to;
    // Whether the round sees all versions of its target in the range's files.
    bool sees_all = true;
  };

  void BeginRound(uint64_t footer);
  void Begin(const Slice& target, bool inclusive);
  // The search has passed all entries below `end`: `run` keeps the range, which
  // has begun.
  void Finish(const Slice& end, OpenRun* run);
  bool IsInSkipped(const Slice& key) const {
    return IsSkipping() && key.compare(skipped_->to) < 0 &&
           key.compare(skipped_->from) >= 0;
  }

  const OpenRuns& runs_;
  const KeyCopy& target_;
  Finding finding_ = Finding::kOff;
  bool is_forbidden_ = false;
  bool level_goes_on_ = false;
  uint64_t round_ = 0;  // the latest one that it knows of
  // The footer of the keys for which the round seeks, and the sequence number
  // of the search's snapshot, which it tells; 0 if it does not.
  uint64_t footer_ = 0;
  SequenceNumber sequence_ = 0;
  std::unique_ptr<DeadRangeFinder> finder_;  // made when a range begins
  std::unique_ptr<const Skipped> skipped_;
};

// ---- Run search ----

// Not thread safe, as the user's iterator is not. Its files share it.
class RunSearch {
 public:
  ~RunSearch();
  RunSearch(const RunSearch&) = delete;
  RunSearch& operator=(const RunSearch&) = delete;

  // The search of the user's iterator that has these ReadOptions: the one that
  // other files hold, or a new one. Thread safe.
  static std::shared_ptr<RunSearch> Of(const ReadOptions& read_options);

  // A run becomes part of the search, in which it takes part when it is sought.
  void Join() {
    runs.joined++;
    runs.unsought++;
  }

  // `run` is about to seek, for the key `target` or, if that is nullptr, for
  // the first or last key of its file, which `file` identifies.
  void BeginSeek(const void* file, const Slice* target, OpenRun* run) {
    if (IsNextRound(*run, file, target)) BeginRound(run);
    if (target != nullptr && first_file_ == nullptr) {
      first_file_ = file;
      first_target_.Assign(*target);
    }
    runs.Enter(run, round_);
  }
  // `run` takes no part any more.
  void Leave(OpenRun* run);

  // The search has passed a marker at this user key. RocksDB's iterator may
  // respond to several markers at one key by another seek there
  // (DBIter::FindNextUserEntry). Then no file may move its marker right after
  // the target, which is the target with one more zero: that would go on for
  // ever.
  void Pass(const Slice& key) { passed_.assign(key.data(), key.size()); }
  // Returns true if `target` is such a key, with any number of zeros added.
  bool HasPassed(const Slice& target) const {
    return !passed_.empty() && target.starts_with(passed_) &&
           std::all_of(target.data() + passed_.size(),
                       target.data() + target.size(),
                       [](char c) { return c == '\0'; });
  }

  // Watches the seek of `run`, in this round, for `target`, which has found a
  // key or waits before one. If the search ends before that key, the file has
  // been asked in vain: it has no key from the target to there, and its filter
  // should have known. That is found out, and sampled, when the next round
  // begins, or when the first of the iterators is destroyed. `inclusive` tells
  // whether a backward seek may find `target` itself.
  //
  // A key that is found in a memtable is not seen. Then the search seems to
  // have gone on to the first key of the files; so it does, too, if a file
  // makes room for the next one of its level before all runs have been sought.
  // What is sampled is empty all the same.
  void Watch(const Slice& target, bool backwards, bool inclusive, OpenRun* run);
  // `run`, to whose marker the search has come, is at a key, at a marker
  // further on, or at none now.
  void Follow(OpenRun* run);

  // Finds where the search may go on (seek_decision.h), which has come to
  // `run`, at `from`: stores a key above `from`, or returns false. The answer
  // serves all runs: those that stand in what is skipped ask again, and get it
  // without a look at the others.
  bool SkipDeletions(const Slice& from, OpenRun* run, std::string* to);
  // `run`, at `from`, skips deletions, or what is `dead`. This says nothing of
  // the seek that is watched.
  void OnSkip(const Slice& from, bool dead, OpenRun* run) {
    runs.Follow(run);
    Pass(from);
    dead_ranges.OnSkip(from, dead);
  }

  OpenRuns runs;       // that have been sought lately
  RoundBounds bounds;  // of the thread, in this round
  DeadRangeSearch dead_ranges{runs, first_target_};

 private:
  explicit RunSearch(const ReadOptions* read_options)
      : read_options_(read_options) {}

  // Returns true if a seek of `run` begins another round: the first one, or if
  // the run was sought in this one. A new run, as there is where a search comes
  // to another file of each level, tells by its target.
  bool IsNextRound(const OpenRun& run, const void* file,
                   const Slice* target) const {
    return run.round == round_ ||
           (run.round == 0 && target != nullptr && first_file_ != nullptr &&
            (first_file_ == file || *target != first_target_.slice()));
  }
  void BeginRound(OpenRun* run) {
    if (is_watching_) SampleWatched();
    if (dead_ranges.HasBegun()) {
      dead_ranges.FinishHere(run, /*at_end=*/false);
    }
    round_++;
    first_file_ = nullptr;
    runs.BeginRound(round_);
    bounds.BeginRound();
    skipped_to_.clear();
  }

  // Samples what was in vain in this round, and watches nothing any more.
  void SampleWatched();

  const ReadOptions* const read_options_;
  uint64_t round_ = 0;
  // The first file that is sought by key in this round, and the key.
  const void* first_file_ = nullptr;
  KeyCopy first_target_;
  std::string passed_;
  // No run has a value in [skipped_from_, skipped_to_), if that is not empty.
  std::string skipped_from_;
  std::string skipped_to_;
  bool is_watching_ = false;  // some runs of this round
};

}  // namespace ROCKSDB_NAMESPACE::protean
