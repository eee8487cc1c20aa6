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
//  question: is there a key in this range? A seek with a bound is such a
//  question, and a seek without one seems to be none, because its range has no
//  end. But it has one as soon as any run stands at a key: the search ends
//  there at the latest. So when the search reaches a file that waits, this file
//  asks the others where they are (NextStop). If another run is at a key, the
//  filter is asked for the range from the bound to that key, and if it is
//  empty, the file goes on to wait after the key. If no run is at a key yet,
//  the nearest bound of another run serves as the end. Each answer of the
//  filter thus spares a block, and a wrong "may match" costs one, so what is
//  found never depends on any of this.
//
//  Who must know of whom. Only all files of one search together tell where it
//  ends, but RocksDB makes an iterator for each file and tells none of them of
//  the others. A RunSearch is what they share: the rounds in which they are
//  sought, where they are (open_runs.h), which of their seeks may turn out to
//  have been in vain, what they skip together (dead_range_search.h), and the
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
#include <string>
#include <utility>

#include "filter_policy/range_filter.h"
#include "rocksdb/options.h"
#include "rocksdb/slice.h"
#include "table/seek/dead_range_search.h"
#include "table/seek/open_runs.h"
#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

// Not thread safe, as the user's iterator is not. Its files share it.
class RunSearch {
 public:
  ~RunSearch();
  RunSearch(const RunSearch&) = delete;
  RunSearch& operator=(const RunSearch&) = delete;

  // The search of the user's iterator that has these ReadOptions: the one that
  // other files hold, or a new one. Thread safe.
  static std::shared_ptr<RunSearch> Of(const ReadOptions& read_options);

  // Runs that have been sought lately.
  OpenRuns& runs() { return runs_; }

  // A run becomes part of the search, in which it takes part when it is sought.
  void Join() {
    joined_++;
    unsought_++;
  }

  // `run` is about to seek, for the key `target` or, if that is nullptr, for
  // the first or last key of its file, which `file` identifies.
  void BeginSeek(const void* file, const Slice* target, OpenRun* run) {
    if (IsNextRound(*run, file, target)) BeginRound(run);
    if (run->round == 0) unsought_--;
    if (target != nullptr && first_file_ == nullptr) {
      first_file_ = file;
      first_target_.Assign(*target);
    }
    run->round = round_;
    runs_.Enter(run);
  }
  // `run` takes no part any more.
  void Leave(OpenRun* run);

  // The thread's bounds in this round.
  RoundBounds& bounds() { return bounds_; }

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

  // Seeks in vain are sampled.
  //
  // A file whose next key lies beyond the end of the search has been asked in
  // vain: it has no key from the target to there, and its filter should have
  // known. Whether that is so is found out when the next round begins, or when
  // the first of the iterators is destroyed: then the seeks that are watched
  // are looked at, and sampled.
  //
  // A key that is found in a memtable is not seen. Then the search seems to
  // have gone on to the first key of the files; so it does, too, if a file
  // makes room for the next one of its level before all runs have been sought.
  // What is sampled is empty all the same.

  // Watches the seek of `run`, in this round, for `target`, which has found a
  // key or waits before one. `inclusive` tells whether a backward seek may find
  // `target` itself.
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
    runs_.Follow(run);
    Pass(from);
    dead_ranges_.OnSkip(from, dead, first_target_.slice());
  }

  // Dead ranges.

  DeadRangeSearch& dead_ranges() { return dead_ranges_; }
  // DeadRangeSearch::OnSeek, after BeginSeek.
  void OnSeek(uint64_t footer) {
    dead_ranges_.OnSeek(footer, /*begins=*/dead_ranges_round_ != round_);
    dead_ranges_round_ = round_;
  }
  // `run` leaves this entry.
  void PassEntry(const Slice& internal_key, const Slice& user_key,
                 OpenRun* run) {
    if (!dead_ranges_.Pass(internal_key, user_key, first_target_.slice(),
                           run)) {
      dead_ranges_.Finish(user_key, runs_, run);
    }
  }
  // DeadRangeSearch::Skip. Idle runs, which are not listed, may have values.
  bool SkipDeadRange(std::shared_ptr<const DeadRange> range, const Slice& from,
                     std::string* to) {
    return runs_.size() == joined_ &&
           dead_ranges_.Skip(std::move(range), from, runs_, to);
  }

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
    if (dead_ranges_.HasBegun()) FinishDeadRange(run, /*at_end=*/false);
    round_++;
    first_file_ = nullptr;
    runs_.BeginRound(round_);
    bounds_.BeginRound();
    skipped_to_.clear();
  }

  // Samples what was in vain in this round, and watches nothing any more.
  void SampleWatched();
  // The range that is looked for ends where the search is. `at_end` tells that
  // `run`, which leaves, is at the end of its file.
  void FinishDeadRange(OpenRun* run, bool at_end);

  const ReadOptions* const read_options_;
  size_t joined_ = 0;
  size_t unsought_ = 0;  // of these
  uint64_t round_ = 0;
  // The first file that is sought by key in this round, and the key.
  const void* first_file_ = nullptr;
  KeyCopy first_target_;
  std::string passed_;
  // No run has a value in [skipped_from_, skipped_to_), if that is not empty.
  std::string skipped_from_;
  std::string skipped_to_;
  RoundBounds bounds_;
  OpenRuns runs_;
  bool is_watching_ = false;  // some runs of this round
  DeadRangeSearch dead_ranges_;
  uint64_t dead_ranges_round_ = 0;  // the latest one that it knows of
};

}  // namespace ROCKSDB_NAMESPACE::protean
