// SPDX-License-Identifier: Apache-2.0

//  The iterator over an SST file that asks the file's filter before it reads
//  anything, and samples the seeks that find nothing. In a file without a
//  filter that ranges can be asked of, it reads, and samples.
//  table/seek/seek_decision.h decides what a seek does; this iterator acts on
//  it.
//
//  A seek under ReadOptions::iterate_upper_bound looks for keys in [target,
//  upper bound). If the filter says that there are none, the iterator turns
//  invalid without I/O, and UpperBoundCheckResult() tells LevelIterator whether
//  the search in the level has ended or goes on to the next file, whose
//  SeekToFirst asks that file's filter in the same way.
//
//  Otherwise the filter tells how far the search may skip: no key of the file
//  lies below some bound. Then the iterator *waits* there without I/O, until
//  the search gets there. It is valid while it waits, and its key is a marker:
//  the bound as a user key with a sequence number that no write has yet. To
//  RocksDB's iterators a marker is the key of a write that is too new to be
//  seen. They order it among the keys of the other files, and if no key of
//  these ends the search before, they pass it with Next. Only then is this file
//  read. So an open seek over several sorted runs reads only those whose next
//  key may be the first one, as the SuRF paper describes it (section 4), and a
//  scan opens a run when it gets there.
//
//  When the search reaches a marker and another file is at a key already, the
//  search need not go further than to that key. If the filter says that nothing
//  lies between the marker and that key, the iterator waits behind the key
//  instead. So after the first read at the latest, an open seek is a closed
//  one, which all filters are good at. Before the first read, the iterator
//  moves on to the next marker of another file in the same way. Of files that
//  wait at the same place, the one with the most keys is read first, as it is
//  the likeliest to have the next key.
//
//  Backwards, a seek under iterate_lower_bound looks for keys in [lower bound,
//  target]. If there are none, but the file has keys below the bound, the
//  iterator waits just below the bound, where the search ends. If it were
//  invalid, LevelIterator would go on through all files before this one.
//
//  A scan over deletions waits, too: once it has met a few in a row, and no
//  file of the search may have a value before some key, it goes on at that key
//  (table/seek/seek_decision.h).
//
//  Bounds that ReadOptions do not have may come from the thread
//  (plugin/search_bounds.h). RocksDB's iterators do not know them, so an
//  iterator that is invalid has to end the search. Forward, kOutOfBound ends it
//  in the level as above. Backwards, nothing does: LevelIterator goes on
//  through some files before, none of which is read, and then stops at a key of
//  one that is.

#pragma once

#include <memory>

#include "table/filtered_file.h"
#include "table/rocksdb_internals/file_iterator.h"
#include "table/rocksdb_internals/versions.h"
#include "table/seek/run_search.h"
#include "table/seek/seek_decision.h"
#include "table/seek/seek_statistics.h"
#include "table/seek/thread_bounds.h"
#include "table/seek/waiting_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableIterator final : public WaitingIterator, private OpenRun {
 public:
  // `file` and `read_options` must outlive the iterator. `arguments` are those
  // of TableReader::NewIterator.
  ProteanTableIterator(FilteredFile* file, const ReadOptions& read_options,
                       const FileIterator::Arguments& arguments);
  ~ProteanTableIterator() override;

  void Seek(const Slice& target) override;
  void SeekToFirst() override;
  void SeekForPrev(const Slice& target) override;
  void SeekToLast() override;

  // These require Valid().

  void Next() override {
    has_gap_ = false;
    if (IsReading()) {
      inner()->Next();
      if (!StopAtUpperBound() && watches_deletions_) WatchDeletions();
    } else {
      LeaveMarker();
    }
  }
  bool NextAndGetResult(IterateResult* result) override {
    has_gap_ = false;
    if (IsReading()) {
      if (!inner()->NextAndGetResult(result) || StopAtUpperBound()) {
        return false;
      }
      if (!watches_deletions_ || !WatchDeletions()) return true;
    } else {
      LeaveMarker();
    }
    return GetResult(result);
  }
  void Prev() override {
    has_gap_ = false;
    if (IsReading()) {
      inner()->Prev();
      StopAtLowerBound();
    } else {
      ReadBeforeMarker();
    }
  }

  // LevelIterator calls this before it destroys the iterator over the file
  // before, so a search goes on from one file of the level to the next.
  void SetPinnedItersMgr(PinnedIteratorsManager* manager) override {
    inner().SetPinnedItersMgr(manager);
    if (manager != nullptr && search_ == nullptr) {
      search_ = RunSearch::Of(read_options());
      search_->Join();
    }
  }
#if PROTEAN_HAS_MULTI_SCAN
  void Prepare(const MultiScanRanges* ranges) override;
#endif

 private:
  // Members of an iterator that has been sought.
  struct Seeks {
    Seeks(FilteredFile* file, const FileIterator& inner);

    SeekOutcomes outcomes;
    Marker marker;
    FilterView view;  // while the iterator waits
    const bool markers_allowed;
    bool prepared = false;  // whether inner() has read ahead for a MultiScan
    // Whether the iterator waits where it has skipped deletions. Then the
    // outcome of its seek has been counted.
    bool has_skipped = false;
    // Deletions in a row that the iterator has been at, and how many there must
    // be before the search is asked whether it may skip some. After an answer
    // in vain, twice as many must follow, up to kMaxDeletionsBetween.
    uint32_t deletions = 0;
    uint32_t ask_after = DeletionSkips::AskAfter();

    void ForgetDeletions() {
      deletions = 0;
      ask_after = DeletionSkips::AskAfter();
    }
  };
  static constexpr uint32_t kMaxDeletionsBetween = 64;
  // Called first by whatever positions the iterator.
  void MakeSeeks() {
    if (seeks_ != nullptr) return;
    seeks_ = std::make_unique<Seeks>(file_, inner());
    set_marker(&seeks_->marker);
  }

  // OpenRun:
  SearchPosition Position() const override {
    using Kind = SearchPosition::Kind;
    if (IsWaiting()) return {Kind::kMarker, marker().user_key()};
    if (!IsReading() || !inner()->Valid()) return {};
    return {Kind::kKey, file_->UserKey(inner()->key())};
  }
  void RecordEmptyRange(const Slice& lo, const Slice& hi,
                        bool hi_inclusive) override {
    file_->queue()->Record(lo, hi, hi_inclusive);
  }
  void RecordNothingFrom(const Slice& target) override;
  bool FindNextValue(const Slice& from, const Slice* limit,
                     std::string* next) override;

  // Returns true if the iterator may wait. Markers are for DBIter, which
  // compares sequence numbers with that of its snapshot. Of the iterators that
  // are made for users, only those under a DBIter join a search: RocksDB gives
  // them a manager of pinned iterators. A seek of which RocksDB takes a sample
  // reads.
  bool CanWait() const {
    return seeks_->markers_allowed && search_ != nullptr && !IsSampledSeek();
  }
  // Returns true if the key is at or above the lower bound, if there is one.
  // REQUIRES: Valid()
  bool IsAboveLower() const {
    return bounds_.lower() == nullptr ||
           !bounds_.IsBelowLower(file_->UserKey(key()));
  }

  // Counts the outcome of the last seek, unless it `still_waits`: then the wait
  // goes on in the next one, and its outcome is not known yet.
  void RecordPendingOutcome(bool still_waits) {
    if (has_gap_) RememberGap();
    if (WaitsForSearch() && !still_waits) {
      seeks_->outcomes.CountPassed(bounds_.ForwardKind());
    }
    seeks_->outcomes.RecordPendingOutcome(inner());
  }
  // Settles the last seek, and begins one to a user key, or to the first or
  // last key if that is nullptr.
  [[gnu::always_inline]] void BeginSeek(const Slice* target, bool backwards,
                                        bool still_waits = false);

  // The file's filter, or nullptr, for the scope of the object. The end of the
  // scope lets go of the filter, unless it is in the block cache and the search
  // may come back to it: while the iterator waits, the one or two parts that
  // have been asked stay in memory, as a data block would.
  class Asking {
   public:
    explicit Asking(ProteanTableIterator* iterator) : iterator_(*iterator) {}
    ~Asking() {
      FilterView& view = iterator_.seeks_->view;
      if (view != nullptr && !iterator_.WaitsForSearch()) view.reset();
    }
    const FileRangeFilter* Filter();

   private:
    ProteanTableIterator& iterator_;
  };

  // Turns invalid or waits, as a seek of that kind has decided; false if the
  // file must be read.
  bool Apply(const SeekDecision& decision, SeekKind kind);

  // Decides a forward seek by the filter. Returns false if the file must be
  // read.
  bool DecideForward(const FileRangeFilter& filter, const Slice& user_key,
                     Waiting waiting);
  // Seeks forward in the file, and notes whether its blocks were in the cache.
  [[gnu::always_inline]] void ReadFrom(const Slice& target);
  // Repeats a seek whose block was not there yet, with async_io.
  void SeekAgain(const Slice& target);

  // The search has come to the marker: the iterator waits further on, or reads.
  void LeaveMarker();
  bool MoveMarker(Asking* asking);

  bool MaySkipDeletions() const;
  // The iterator, which reads, has moved to the next key. Returns true if it is
  // at a deletion after others, and has skipped some.
  bool WatchDeletions();
  // The iterator, at `from`, waits after the deletions that the search may skip
  // (seek/seek_decision.h). Returns false if there are none.
  bool SkipDeletions(const Slice& from);

  // Misses (filter_policy/open_db/miss_cache.h). The filter has let a seek from
  // `begin` on through, which has read the file and seen all versions there:
  // remembers the gap that it has found, if the seek was in vain. Whether an
  // open seek was is known when the next one begins.
  void NoteGap(const Slice& begin);
  void RememberGap();
  // Turns invalid or waits if it is known that the file has no key from
  // `user_key`, the target of a seek, or from the marker, to some key.
  bool SkipMiss(const FileRangeFilter& filter, const Slice& user_key,
                Waiting waiting);
  bool SkipMissAtMarker(Asking* asking);

  // Move from the marker to the first key above it, or to the last one below.
  void ReadFromMarker();
  void ReadBeforeMarker();

  // Turn invalid, and return true, at a key or marker outside of the thread's
  // bounds.
  bool StopAtUpperBound() {
    return bounds_.stops_at_upper() && StopAtThreadUpperBound();
  }
  bool StopAtLowerBound() {
    return bounds_.stops_at_lower() && StopAtThreadLowerBound();
  }
  bool StopAtThreadUpperBound();
  bool StopAtThreadLowerBound();

  // Samples a seek that has ended, if it is the turn of one. The search watches
  // a seek that has found a key within its bounds, or waits before one: whether
  // it was in vain is only known when the search is over.
  [[gnu::always_inline]] void Sample(const Slice& target);
  void SampleBackwards(const Slice& target, bool inclusive);

#if PROTEAN_HAS_MULTI_SCAN
  // False if the filter says that this file holds no key in any of the ranges.
  bool MayHoldAnyOf(const MultiScanRanges& ranges);
#endif

  const ReadOptions& read_options() const { return inner().read_options(); }

  FilteredFile* const file_;
  std::shared_ptr<RunSearch> search_;  // nullptr unless under a DBIter
  SeekBounds bounds_;
  bool watches_deletions_ = false;  // whether deletions are skipped
  // Whether an open seek has found a gap, from marker() to the key at which the
  // iterator is.
  bool has_gap_ = false;
  // nullptr until the first seek. RocksDB gets the memory of iterators in
  // blocks, which many iterators over files fill the better the smaller they
  // are; and where there are many files, some are never sought.
  std::unique_ptr<Seeks> seeks_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
