// SPDX-License-Identifier: Apache-2.0

//  The iterator over an SST file that asks the file's filter before it reads
//  anything. table/seek/seek_decision.h decides what a seek does; this iterator
//  acts on it.
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
//  Bounds that ReadOptions do not have may come from the thread
//  (plugin/search_bounds.h). RocksDB's iterators do not know them, so an
//  iterator that is invalid has to end the search. Forward, kOutOfBound ends it
//  in the level as above. Backwards, nothing does: LevelIterator goes on
//  through some files before, none of which is read, and then stops at a key of
//  one that is.

#pragma once

#include <string>

#include "table/filtered_file.h"
#include "table/rocksdb_internals/file_iterator.h"
#include "table/seek/marker.h"
#include "table/seek/run_search.h"
#include "table/seek/search_member.h"
#include "table/seek/seek_bounds.h"
#include "table/seek/seek_decision.h"
#include "table/seek/seek_outcomes.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableIterator final : public InternalIterator,
                                   private SearchMember {
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
    return state_ == State::kReading ? inner_.Valid()
                                     : state_ == State::kWaiting;
  }

  // These require Valid().

  void Next() override {
    if (state_ == State::kReading) {
      inner_.Next();
      StopAtUpperBound();
    } else {
      LeaveMarker();
    }
  }
  bool NextAndGetResult(IterateResult* result) override;
  void Prev() override {
    if (state_ == State::kReading) {
      inner_.Prev();
      StopAtLowerBound();
    } else {
      ReadBeforeMarker();
    }
  }
  Slice key() const override {
    return state_ == State::kReading ? inner_.key() : marker_.key();
  }
  Slice user_key() const override {
    return state_ == State::kReading ? inner_.user_key() : marker_.user_key();
  }
  // RocksDB asks for no value of a write that is too new to be seen.
  Slice value() const override {
    return state_ == State::kReading ? inner_.value() : Slice();
  }
  bool PrepareValue() override {
    return state_ != State::kReading || inner_.PrepareValue();
  }
  uint64_t write_unix_time() const override {
    return state_ == State::kReading ? inner_.write_unix_time()
                                     : InternalIterator::write_unix_time();
  }
  bool MayBeOutOfLowerBound() override {
    return state_ != State::kReading || inner_.MayBeOutOfLowerBound();
  }
  bool IsKeyPinned() const override {
    return state_ == State::kReading && inner_.IsKeyPinned();
  }
  bool IsValuePinned() const override {
    return state_ == State::kReading && inner_.IsValuePinned();
  }

  Status status() const override {
    return state_ == State::kReading ? inner_.status() : Status::OK();
  }
  IterBoundCheck UpperBoundCheckResult() override {
    return state_ == State::kReading ? inner_.UpperBoundCheckResult()
                                     : bound_check_;
  }
  // LevelIterator calls this before it destroys the iterator over the file
  // before, so a search goes on from one file of the level to the next.
  void SetPinnedItersMgr(PinnedIteratorsManager* manager) override {
    inner_.SetPinnedItersMgr(manager);
    if (manager != nullptr) search_.Join(read_options_);
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
#if PROTEAN_HAS_MULTI_SCAN
  void Prepare(const MultiScanArgs* scans) override;
#endif

 private:
  enum class State : uint8_t {
    kReading,  // the iterator is where inner_ is
    kEmpty,    // invalid, because the file has nothing for the seek
    kWaiting,  // valid, at the marker
  };

  // SearchMember:
  SearchPosition Position() const override {
    using Kind = SearchPosition::Kind;
    if (state_ == State::kWaiting) return {Kind::kMarker, marker_.user_key()};
    if (state_ == State::kEmpty || !inner_.Valid()) return {};
    return {Kind::kKey, file_->UserKey(inner_.key())};
  }
  void RecordEmptyRange(const Slice& lo, const Slice& hi,
                        bool hi_inclusive) const override {
    file_->queue()->Record(lo, hi, hi_inclusive);
  }
  void RecordNothingFrom(const Slice& target) const override;

  bool IsWaiting() const { return state_ == State::kWaiting; }
  // Whether the iterator may wait. Markers are for DBIter, which compares
  // sequence numbers with that of its snapshot. Of the iterators that are made
  // for users, RocksDB gives a manager of pinned iterators only to those under
  // a DBIter.
  bool CanWait() const {
    return markers_allowed_ && inner_.pinned_iters_manager() != nullptr;
  }

  // Counts the outcome of the last seek, unless it `still_waits`: then the wait
  // goes on in the next one, and its outcome is not known yet.
  void Settle(bool still_waits);
  // Settles the last seek, and begins one to a user key, or to the first or
  // last key if that is nullptr.
  void BeginSeek(const Slice* target, bool backwards, bool still_waits = false);

  // The file's filter, or nullptr. `*view` keeps it in memory.
  const FileRangeFilter* Filter(FilterView* view);

  // Turns invalid or waits, as a seek of that kind has decided; false if the
  // file must be read.
  bool Obey(const SeekDecision& decision, SeekKind kind);
  void SetEmpty(IterBoundCheck bound_check) {
    state_ = State::kEmpty;
    bound_check_ = bound_check;
  }

  // Seeks inner_, and notes whether its blocks were in the cache.
  void SeekInner(const Slice& target);
  // Repeats a seek whose block was not there yet, with async_io.
  void SeekAgain(const Slice& target);

  // The search has come to the marker: the iterator waits further on, or reads.
  void LeaveMarker();
  bool MoveMarker();
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

  // Waiting was of no use for an open seek.
  void WaitedInVain() {
    if (bounds_.upper() == nullptr) backoff_.OnReached();
  }
  // The file has been read from the marker at which it waited.
  void CountReached();
  // A backward seek above the lower bound has read the file.
  void CountReadBackwards();

  // Sample a seek that found nothing, or that may have found a key to which the
  // search does not come. The block-based table's iterator compares with the
  // upper bound itself.
  void Sample(const Slice& target);
  void SampleBackwards(const Slice& target, bool inclusive);

#if PROTEAN_HAS_MULTI_SCAN
  // False if the filter says that this file holds no key in any of the ranges.
  bool MayHoldAnyOf(const MultiScanArgs& scans);
#endif

  FilteredFile* const file_;
  const ReadOptions& read_options_;
  const bool markers_allowed_;
  bool prepared_ = false;  // whether inner_ has read ahead for a MultiScan
  State state_ = State::kReading;
  IterBoundCheck bound_check_ = IterBoundCheck::kUnknown;  // unless kReading
  FileIterator inner_;
  SeekBounds bounds_;
  Marker marker_;
  SeekOutcomes outcomes_;
  SeekBackoff backoff_;
  BlockCacheLookupContext lookup_context_;
  SearchHandle search_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
