// SPDX-License-Identifier: Apache-2.0

//  The iterator over an SST file that asks the file's filter before it reads
//  anything, and samples the seeks that find nothing. In a file without a
//  filter that ranges can be asked of, it reads, and samples.
//  table/seek/seek_decision.h decides what a seek does; this iterator acts on
//  it (docs/internals/reads.md). RocksDB's iterators see one of three
//  positions:
//
//  - A key of the file.
//  - Nothing, if the filter says that the file has no key in the range of the
//    seek. UpperBoundCheckResult() tells LevelIterator whether the search in
//    the level has ended or goes on to the next file, whose SeekToFirst asks
//    that file's filter in the same way.
//  - A marker, if the filter says that no key of the file lies below some
//    bound. The iterator *waits* there without I/O. It is valid, and its key is
//    the bound as a user key with a sequence number that no write has yet. To
//    RocksDB's iterators that is the key of a write that is too new to be seen.
//    They order it among the keys of the other files, and if no key of these
//    ends the search before, they pass it with Next. Only then is this file
//    read, or waits further on (table/seek/run_search.h).
//
//  A scan over deletions waits, too: once it has met a few in a row, and no
//  file of the search may have a value before some key, it goes on at that key.

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "table/filtered_file.h"
#include "table/rocksdb_internals/file_iterator.h"
#include "table/rocksdb_internals/versions.h"
#include "table/seek/run_search.h"
#include "table/seek/seek_decision.h"
#include "table/seek/seek_statistics.h"
#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableIterator final : public InternalIterator, private OpenRun {
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

  bool Valid() const override {
    return IsReading() ? inner_->Valid() : IsWaiting();
  }
  Status status() const override {
    return IsReading() ? inner_->status() : Status::OK();
  }
  IterBoundCheck UpperBoundCheckResult() override {
    return IsReading() ? inner_->UpperBoundCheckResult() : bound_check_;
  }

  // These require Valid().

  void Next() override {
    has_gap_ = false;
    if (IsReading()) {
      PassEntry();
      inner_->Next();
      if (!StopAtUpperBound() && watches_deletions_) WatchDeletions();
    } else {
      LeaveMarker();
    }
  }
  bool NextAndGetResult(IterateResult* result) override {
    has_gap_ = false;
    if (IsReading()) {
      PassEntry();
      if (!inner_->NextAndGetResult(result) || StopAtUpperBound()) {
        return false;
      }
      if (!watches_deletions_ || !WatchDeletions()) return true;
    } else {
      LeaveMarker();
    }
    if (!Valid()) return false;
    result->key = key();
    result->bound_check_result = UpperBoundCheckResult();
    result->value_prepared = !IsReading();
    return true;
  }
  void Prev() override {
    has_gap_ = false;
    if (search_ != nullptr) search_->dead_ranges().Forbid();
    if (IsReading()) {
      inner_->Prev();
      StopAtLowerBound();
    } else {
      ReadBeforeMarker();
    }
  }
  Slice key() const override {
    return IsReading() ? inner_->key() : marker_.key();
  }
  Slice user_key() const override {
    return IsReading() ? inner_->user_key() : marker_.user_key();
  }
  // RocksDB asks for no value of a write that is too new to be seen.
  Slice value() const override {
    return IsReading() ? inner_->value() : Slice();
  }
  bool PrepareValue() override {
    return !IsReading() || inner_->PrepareValue();
  }
  uint64_t write_unix_time() const override {
    return IsReading() ? inner_->write_unix_time()
                       : InternalIterator::write_unix_time();
  }

  bool MayBeOutOfLowerBound() override {
    return !IsReading() || inner_->MayBeOutOfLowerBound();
  }
  bool IsKeyPinned() const override {
    return IsReading() && inner_->Valid() && inner_->IsKeyPinned();
  }
  bool IsValuePinned() const override {
    return IsReading() && inner_->Valid() && inner_->IsValuePinned();
  }
  Status GetProperty(std::string name, std::string* value) override {
    return inner_.Get()->GetProperty(std::move(name), value);
  }
  void GetReadaheadState(ReadaheadFileInfo* info) override {
    inner_.GetReadaheadState(info);
  }
  void SetReadaheadState(ReadaheadFileInfo* info) override {
    inner_.SetReadaheadState(info);
  }
  // LevelIterator calls this before it destroys the iterator over the file
  // before, so a search goes on from one file of the level to the next.
  void SetPinnedItersMgr(PinnedIteratorsManager* manager) override {
    inner_.SetPinnedItersMgr(manager);
    if (manager != nullptr && search_ == nullptr) {
      search_ = RunSearch::Of(read_options());
      search_->Join();
    }
  }
#if PROTEAN_HAS_MULTI_SCAN
  void Prepare(const MultiScanRanges* ranges) override;
#endif

 private:
  enum class State : uint8_t { kReading, kEmpty, kWaiting };

  static constexpr uint32_t kMaxDeletionsBetween = 64;
  // Deletions in a row at each of which a dead range may begin that is known:
  // where a level goes on with another file, ranges end, and begin again after
  // a key or two.
  static constexpr uint32_t kFirstDeletions = 3;

  bool IsReading() const { return state_ == State::kReading; }
  bool IsWaiting() const { return state_ == State::kWaiting; }
  // Returns true if the iterator waits at a marker from which the search may go
  // on.
  bool WaitsForSearch() const { return IsWaiting() && !marker_.IsEnd(); }

  // The iterator is where RocksDB's iterator over the file is, which is
  // returned to be positioned.
  InternalIterator* Read() {
    state_ = State::kReading;
    view_.reset();
    return inner_.Get();
  }
  // The iterator is invalid, because the file has nothing for the seek.
  void SetEmpty(IterBoundCheck bound_check) {
    state_ = State::kEmpty;
    bound_check_ = bound_check;
    view_.reset();
  }

  // OpenRun:
  SearchPosition Position() const override {
    using Kind = SearchPosition::Kind;
    if (IsWaiting()) return {Kind::kMarker, marker_.user_key()};
    if (!IsReading() || !inner_->Valid()) return {};
    return {Kind::kKey, file_->UserKey(inner_->key())};
  }
  void RecordEmptyRange(const Slice& lo, const Slice& hi,
                        bool hi_inclusive) override {
    file_->queue()->Record(lo, hi, hi_inclusive);
  }
  void RecordNothingFrom(const Slice& target) override;
  bool FindNextValue(const Slice& from, const Slice* limit,
                     std::string* next) override;
  bool IsAtValue(const Slice& from, const Slice& to) const override {
    const SearchPosition at = Position();
    return at.kind == SearchPosition::Kind::kKey &&
           at.user_key.compare(from) >= 0 && at.user_key.compare(to) < 0 &&
           !IsDeletion(ExtractValueType(inner_->key()));
  }
  void LimitToFile(std::string* to) override;
  bool HasNoMoreKeys() const override {
    return dead_range_file != 0 && IsReading() && !inner_->Valid() &&
           inner_->status().ok() &&
           inner_->UpperBoundCheckResult() != IterBoundCheck::kOutOfBound &&
           !file_->has_range_deletions();
  }
  bool SeesAllVersions(uint64_t footer) const override {
    return file_->SeesAllVersions(footer);
  }
  void NoteDeadRange() override {
    file_->NoteDeadRange();
    watches_deletions_ = true;
  }
  void KeepDeadRange(DeadRange range) override {
    file_->KeepDeadRange(std::move(range));
  }

  // Returns true if the iterator may wait. Markers are for DBIter, which
  // compares sequence numbers with that of its snapshot. Only iterators under a
  // DBIter join a search: RocksDB gives them a manager of pinned iterators. A
  // seek of which RocksDB takes a sample reads.
  bool CanWait() const {
    return markers_allowed_ && search_ != nullptr && !IsSampledSeek();
  }
  // Returns true if a backward seek has found a key at or above the lower
  // bound, if there is one.
  bool HasFoundBackwards() const {
    return IsReading() && Valid() &&
           (bounds_.lower() == nullptr ||
            !bounds_.IsBelowLower(file_->UserKey(key())));
  }

  // Counts the outcome of the last seek, unless the next one `still_waits`.
  void RecordPendingOutcome(bool still_waits) {
    if (has_gap_) RememberGap();
    if (WaitsForSearch() && !still_waits) {
      outcomes_.CountPassed(bounds_.ForwardKind());
    }
    outcomes_.RecordPendingOutcome();
  }
  // Settles the last seek, and begins one to a user key, or to the first or
  // last key if that is nullptr.
  [[gnu::always_inline]] void BeginSeek(const Slice* target, bool backwards,
                                        bool still_waits = false);

  // The file's filter, or nullptr, until the iterator reads or turns invalid.
  // Of a filter in the block cache, the parts that have been asked stay in
  // memory while the iterator waits: the search may come back to them.
  const FileRangeFilter* Filter();

  // Turns invalid or waits, at marker_.new_user_key(), as has been decided.
  void Act(const SeekDecision& decision);
  // Acts, and counts the outcome of a seek of that kind; false if the file must
  // be read.
  bool Apply(const SeekDecision& decision, SeekKind kind);

  // Seeks forward in the file, and notes whether its blocks were in the cache.
  [[gnu::always_inline]] void ReadFrom(const Slice& target);

  // The search has come to the marker: the iterator waits further on, or reads.
  void LeaveMarker();
  bool MoveMarker();

  bool MaySkipDeletions() const {
    return skips_allowed_ && CanWait() && !prepared_ && file_->IsOn() &&
           DeletionSkips::are_allowed.load(std::memory_order_relaxed);
  }
  void ForgetDeletions() {
    deletions_ = 0;
    ask_after_ = DeletionSkips::ask_after;
  }
  // The iterator, which reads, has moved to the next key. Returns true if it is
  // at a deletion after others, and has skipped some.
  bool WatchDeletions();
  // The iterator, at `from`, is about to skip deletions, or what is `dead`.
  void BeginSkip(const Slice& from, bool dead);
  // The iterator, at `from`, waits after the deletions that the search may skip
  // (seek/seek_decision.h). Returns false if there are none.
  bool SkipDeletions(const Slice& from);

  // Dead ranges (DeadRangeSearch).

  // The iterator leaves the key that it is at.
  void PassEntry() {
    if (search_ != nullptr && search_->dead_ranges().WantsEntries()) {
      search_->dead_ranges().Pass(inner_->key(), file_->UserKey(inner_->key()),
                                  this);
    }
  }
  // The iterator is at `from`, or is to seek it. If that is in a dead range
  // that the search skips, or may skip if `may_ask`, it waits after the range.
  bool SkipDeadRange(const Slice& from, bool may_ask);
  // The iterator, which reads, has landed somewhere. Returns true if that is in
  // the dead range that the search skips: it waits after it.
  bool HasLandedInDeadRange();
  // The iterator waits where a dead range begins, after the target of its seek.
  bool WaitForDeadRange(const Slice& target);

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
  bool SkipMissAtMarker();

  // Move from the marker to the first key above it, or to the last one below.
  void ReadFromMarker();
  void ReadBeforeMarker();

  // Turn invalid at a key or marker outside of the thread's bounds. The first
  // one returns true then.
  bool StopAtUpperBound() {
    if (!bounds_.stops_at_upper() || !Valid() ||
        !bounds_.IsAtOrAboveUpper(file_->UserKey(key()))) {
      return false;
    }
    SetEmpty(IterBoundCheck::kOutOfBound);
    return true;
  }
  void StopAtLowerBound() {
    if (!bounds_.stops_at_lower() || !Valid() ||
        !bounds_.IsBelowLower(file_->UserKey(key()))) {
      return;
    }
    if (search_->bounds().MaySkip()) {
      SetEmpty(IterBoundCheck::kUnknown);
    } else {
      bounds_.WaiveLower();
    }
  }

  // Samples a seek that has ended, if it is the turn of one. The search watches
  // a seek that has found a key within its bounds, or waits before one.
  [[gnu::always_inline]] void Sample(const Slice& target, bool backwards,
                                     bool inclusive);

  const ReadOptions& read_options() const { return inner_.read_options(); }

  FilteredFile* const file_;
  FileIterator inner_;                 // made if kReading
  std::shared_ptr<RunSearch> search_;  // nullptr unless under a DBIter
  SeekBounds bounds_;
  Marker marker_;
  FilterView view_;
  State state_ = State::kEmpty;
  IterBoundCheck bound_check_ = IterBoundCheck::kUnknown;  // unless kReading
  const bool markers_allowed_;
  const bool skips_allowed_;  // of deletions
  bool prepared_ = false;     // whether inner_ has read ahead for a MultiScan
  // Whether an open seek has found a gap, from the marker to the key at which
  // the iterator is.
  bool has_gap_ = false;
  bool watches_deletions_ = false;  // whether deletions are skipped
  // Whether the iterator waits where it has skipped deletions. Then the outcome
  // of its seek has been counted.
  bool has_skipped_ = false;
  // Deletions in a row that the iterator has been at, and how many there must
  // be before the search is asked whether it may skip some. After an answer in
  // vain, twice as many must follow, up to kMaxDeletionsBetween.
  uint32_t deletions_ = 0;
  uint32_t ask_after_ = 0;
  SeekOutcomes outcomes_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
