//  The iterator over an SST file that asks the file's filter before it reads
//  anything.
//
//  A seek under ReadOptions::iterate_upper_bound looks for keys in [target,
//  upper bound). If the filter says that there are none, the iterator turns
//  invalid without I/O. What it then answers to UpperBoundCheckResult() decides
//  what the iterator over the level does: kOutOfBound, if this file holds a key
//  at or above the bound, ends the search in this level; kUnknown sends it on
//  to the next file, whose SeekToFirst asks that file's filter in the same way.
//
//  Otherwise the filter tells how far the search may skip: no key of the file
//  lies below some bound. Then the iterator *waits* there without I/O, until
//  the search comes by. It is valid while it waits, and its key is a marker:
//  the bound as a user key with a sequence number that no write has yet. To
//  RocksDB's iterators that is the key of a write that is too new to be seen;
//  they order it among the keys of the other files, and if no key of these ends
//  the search before, they pass it by with Next. Only then is this file read.
//  So an open seek over several sorted runs reads those alone whose next key
//  may be the first one, as the SuRF paper describes it (section 4), and a scan
//  opens a run when it gets there.
//
//  When the search comes by a marker and another file is at a key already, the
//  search need not go further than to that key. If the filter says that nothing
//  lies between the marker and it, the iterator waits behind that key instead.
//  So at the latest after the first read, an open seek is a closed one, which
//  all filters are good at. Before that, it moves on to the next marker in the
//  same way. Of files that wait at the same place, the one of the most keys has
//  its turn first, as it is the likeliest to have the next one.
//
//  Backwards, a seek under iterate_lower_bound looks for keys in [lower bound,
//  target]. If there are none, but the file holds keys below the bound, the
//  iterator waits just below the bound, where the search ends: were it
//  invalid, the iterator over the level would walk on through all files before
//  this one.
//
//  A bound that ReadOptions do not have may come from the thread
//  (plugin/search_bounds.h). RocksDB's iterators do not know of it, so a search
//  that is over is told by an iterator that is invalid. Forward, kOutOfBound
//  ends it in the level as above. Backwards, where nothing does, the iterator
//  over the level walks on through some files before, none of which is read,
//  and then stops at a key of one that is.
//
//  What becomes of the seeks that ask the filter is counted as
//  plugin/filter_statistics.h defines it: here in plain numbers, which are
//  handed over to the file's when they are many, and in the end.

#pragma once

#include <optional>
#include <string>

#include "filter_policy/open_db/seek_backoff.h"
#include "table/protean_table_reader.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/rocksdb_internals/file_iterator.h"
#include "table/rocksdb_internals/versions.h"
#include "table/run_search.h"
#include "table/search_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableIterator final : public InternalIterator {
 public:
  // Walks reader->file(). The block-based table's own iterator, which
  // `arguments` are for, is made when it is first needed: making it costs a
  // look at the file's index, which a filtered seek does not need.
  struct Arguments {
    const SliceTransform* prefix_extractor;
    Arena* arena;  // of this iterator and of the inner one, or nullptr
    TableReaderCaller caller;
    size_t compaction_readahead_size;
    bool allow_unprepared_value;
  };

  // `read_options` must outlive the iterator.
  ProteanTableIterator(ProteanTableReader* reader,
                       const ReadOptions& read_options,
                       const Arguments& arguments);
  ~ProteanTableIterator() override;

  void Seek(const Slice& target) override;
  void SeekToFirst() override;
  void SeekForPrev(const Slice& target) override;
  void SeekToLast() override;

  // Where keys are read one after the other, inner_ is a
  // BlockBasedTableIterator nearly always, whose functions need not be looked
  // up: these are asked first and all else is left to others.

  bool Valid() const override {
    return state_ == State::kReading
               ? exact()->BlockBasedTableIterator::Valid()
               : state_ == State::kWaiting ||
                     (state_ == State::kReadingAny && inner_.get() != nullptr &&
                      inner_->Valid());
  }

  // These require Valid().

  void Next() override {
    if (state_ == State::kReading) {
      exact()->BlockBasedTableIterator::Next();
    } else if (state_ == State::kWaiting) {
      LeaveMarker();
    } else {
      inner_->Next();
      StopAtUpperBound();
    }
  }
  bool NextAndGetResult(IterateResult* result) override;
  void Prev() override {
    if (state_ == State::kWaiting) {
      ReadBeforeMarker();
    } else {
      inner_->Prev();
      StopAtLowerBound();
    }
  }
  Slice key() const override {
    if (state_ == State::kReading) {
      return exact()->BlockBasedTableIterator::key();
    }
    return state_ == State::kWaiting ? Slice(marker_) : inner_->key();
  }
  Slice user_key() const override {
    if (state_ == State::kReading) {
      return exact()->BlockBasedTableIterator::user_key();
    }
    return state_ == State::kWaiting ? ExtractUserKey(marker_)
                                     : inner_->user_key();
  }
  // Nobody asks for the value of a write that is too new to be seen.
  Slice value() const override {
    if (state_ == State::kReading) {
      return exact()->BlockBasedTableIterator::value();
    }
    return state_ == State::kWaiting ? Slice() : inner_->value();
  }
  bool PrepareValue() override {
    if (state_ == State::kReading) {
      return exact()->BlockBasedTableIterator::PrepareValue();
    }
    return state_ == State::kWaiting || inner_->PrepareValue();
  }
  uint64_t write_unix_time() const override {
    if (state_ == State::kReading) {
      return exact()->BlockBasedTableIterator::write_unix_time();
    }
    return state_ == State::kWaiting ? InternalIterator::write_unix_time()
                                     : inner_->write_unix_time();
  }
  bool MayBeOutOfLowerBound() override {
    if (state_ == State::kReading) {
      return exact()->BlockBasedTableIterator::MayBeOutOfLowerBound();
    }
    return state_ == State::kWaiting || inner_->MayBeOutOfLowerBound();
  }

  Status status() const override {
    return !IsReading() || inner_.get() == nullptr ? Status::OK()
                                                   : inner_->status();
  }
  IterBoundCheck UpperBoundCheckResult() override {
    if (state_ == State::kReading) {
      return exact()->BlockBasedTableIterator::UpperBoundCheckResult();
    }
    if (state_ == State::kFiltered) return filtered_bound_;
    return state_ == State::kWaiting || inner_.get() == nullptr
               ? IterBoundCheck::kUnknown
               : inner_->UpperBoundCheckResult();
  }
  // Before the iterator over a level forgets the file before.
  void SetPinnedItersMgr(PinnedIteratorsManager* manager) override {
    pinned_iters_manager_ = manager;
    if (manager != nullptr && search_ == nullptr) {
      search_ = RunSearch::Of(read_options_);
    }
    if (inner_.get() != nullptr) inner_->SetPinnedItersMgr(manager);
  }
  bool IsKeyPinned() const override {
    return IsReading() && Valid() && inner_->IsKeyPinned();
  }
  bool IsValuePinned() const override {
    return IsReading() && Valid() && inner_->IsValuePinned();
  }
  Status GetProperty(std::string name, std::string* value) override {
    return Inner()->GetProperty(std::move(name), value);
  }
  void GetReadaheadState(ReadaheadFileInfo* info) override {
    if (inner_.get() != nullptr) inner_->GetReadaheadState(info);
  }
  void SetReadaheadState(ReadaheadFileInfo* info) override {
    if (inner_.get() != nullptr) {
      inner_->SetReadaheadState(info);
    } else {
      readahead_ = *info;
    }
  }
#if PROTEAN_HAS_MULTI_SCAN
  void Prepare(const MultiScanArgs* scans) override;
#endif

  // For the search that it takes part in (run_search.h):

  // The user key that it is at or waits at. False if there is none.
  bool Position(Slice* key) const {
    if (!Valid()) return false;
    *key = reader_->UserKey(this->key());
    return true;
  }
  bool IsWaiting() const { return state_ == State::kWaiting; }
  const RunSearch::Part& part() const { return part_; }
  RunSearch::Part& part() { return part_; }
  // Keep a sample: that the file holds nothing in a range, or nothing from
  // `target` to the upper bound.
  void Record(const Slice& lo, const Slice& hi, bool hi_inclusive) const {
    reader_->queue()->Record(lo, hi, hi_inclusive);
  }
  void RecordEmpty(const Slice& target) const;

 private:
  enum class State {
    kReading,     // the inner iterator decides, a BlockBasedTableIterator
    kReadingAny,  // the same, but it is another one, or the thread's bounds
                  // decide as well; invalid if there is none
    kFiltered,    // invalid, since the filter says so
    kWaiting,     // valid, at the marker
  };

  // A seek that the filter let through, whose outcome is not known yet.
  enum class Unsettled : uint8_t {
    kNothing,
    kOpenSeek,  // is at a key, to which the search may come
    kTryAgain,  // waits for a block, with async_io
  };

  static constexpr uint16_t kMostTallied = 1024;
  // So many times in a seek, a marker is moved. A scan comes by again and
  // again.
  static constexpr uint8_t kMostMoves = 4;

  bool IsReading() const {
    return state_ == State::kReading || state_ == State::kReadingAny;
  }
  BlockBasedTableIterator* exact() const { return inner_.exact(); }

  // Whether the iterator may wait. Markers are for DBIter, which compares
  // sequence numbers with that of its snapshot; nobody else gives a manager of
  // pinned iterators to iterators that are made for users.
  bool CanWait() const {
    return markers_allowed_ && pinned_iters_manager_ != nullptr;
  }

  // Waiting was of no use for an open seek.
  void BackOff() {
    if (upper_bound_ == nullptr) backoff_.OnReached();
  }

  // The block-based table's iterator.
  InternalIterator* Inner() {
    if (inner_.get() == nullptr) MakeInner();
    return inner_.get();
  }
  void MakeInner();
  // Leaves all to it from now on.
  void SetReading() {
    state_ = exact() != nullptr && thread_bounds_ == nullptr
                 ? State::kReading
                 : State::kReadingAny;
  }
  // Seeks it, and notes whether its blocks were in the cache.
  void SeekInner(const Slice& target);

  // The file's filter, or nullptr. `*hold` keeps it in memory.
  const FilterBlock* Filter(FilterHold* hold);
#if PROTEAN_HAS_MULTI_SCAN
  // False if the filter says that this file holds no key in any of the ranges.
  bool MayHoldAnyOf(const MultiScanArgs& scans);
#endif

  // Leaves the state in which the last seek left the iterator.
  void Reset();

  // Turn invalid, and return true, at a key or marker outside of the thread's
  // bounds. Beyond that of the ReadOptions, the inner iterator does so by
  // itself, and RocksDB's iterators come by no marker; below that of the
  // ReadOptions, they end the search.
  bool StopAtUpperBound();
  bool StopAtLowerBound();
  // `kind` is that of the seek.
  void SetFiltered(SeekKind kind);
  // The same, where nothing is found below an upper bound.
  void SetFilteredBelow(const FilterBlock& filter, const Slice& upper_bound);
  // Waits at marker_, which holds a user key. `filtered` tells whether it is
  // sure that the seek finds nothing.
  void Wait(bool filtered);
  // Turns marker_ from a user key to an internal one.
  void CompleteMarker();

  // Take the state that follows from the filter, or return false if the file
  // must be read at once.
  bool FilterRange(const FilterBlock& filter, const Slice& lo);
  bool FilterFirst(const FilterBlock& filter);
  // `again` tells whether the search has passed by a marker at the target.
  bool SkipAhead(const FilterBlock& filter, const Slice& target, bool again);
  // Stores `end` in marker_, or the first string behind it if `inclusive`, if
  // it is certain that the file has keys from there on and none in the range.
  bool MoveBehind(const FilterBlock& filter, const Slice& begin,
                  const Slice& end, bool inclusive);
  bool FilterBackwards(const FilterBlock& filter, const Slice& user_key,
                       bool inclusive);

  // The search has come to the marker: waits further on, or reads.
  void LeaveMarker();
  bool MoveMarker();
  bool FindNextMarker(const FilterBlock& filter);
  // Move from the marker to the first key above it, or to the last one below.
  void ReadFromMarker();
  void ReadBeforeMarker();

  void RecordFiltered();
  void RecordMatch();

  // Counting.

  SeekKind ForwardKind() const {
    return upper_bound_ != nullptr ? SeekKind::kClosed : SeekKind::kOpen;
  }
  void Count(SeekKind kind, SeekEvent event) {
    tally_(kind, event)++;
    if (--until_hand_over_ == 0) HandOver();
  }
  void HandOver();
  // The file has been read after the filter let the seek through.
  void CountRead(SeekKind kind);
  // The same, from the marker at which the file has waited.
  void CountReached();
  // The same, backwards above the lower bound.
  void CountReadBackwards();
  // What has come of the last seek, if it was not known at once.
  void CountUnsettled();

  // Ends the last seek, and begins one to a user key, or to the first or last
  // key if that is nullptr.
  void BeginSeek(const Slice* target, bool backwards) {
    if (search_ != nullptr) {
      search_->BeginSeek(this, reader_, target, &part_);
    }
    Reset();
    upper_bound_ = read_options_.iterate_upper_bound;
    lower_bound_ = read_options_.iterate_lower_bound;
    // Tailing iterators forget files in which a search has ended.
    if (SearchBounds::AreUsed() && pinned_iters_manager_ != nullptr &&
        !read_options_.tailing) {
      TakeThreadBounds(target, backwards);
    }
  }
  void TakeThreadBounds(const Slice* target, bool backwards);
  // Whether the lower bound is one that RocksDB's iterators know.
  bool IsLowerBoundKnown() const {
    return lower_bound_ == read_options_.iterate_lower_bound;
  }

  // Sample a seek that found nothing, or that perhaps found what the search
  // does not come to. The block-based table's iterator compares with the upper
  // bound itself.
  void Sample(const Slice& target);
  void SampleBackwards(const Slice& target, bool inclusive);

  ProteanTableReader* const reader_;
  const ReadOptions& read_options_;
  const Arguments arguments_;
  const bool markers_allowed_;
  Unsettled unsettled_ = Unsettled::kNothing;
  uint16_t until_hand_over_ = kMostTallied;  // of the tally
  SeekTally tally_;
  SeekBackoff backoff_;
  BlockCacheLookupContext lookup_context_;
  FileIterator inner_;
  PinnedIteratorsManager* pinned_iters_manager_ = nullptr;
  std::optional<ReadaheadFileInfo> readahead_;  // for the inner iterator
  bool prepared_ = false;  // whether the inner iterator read for a MultiScan
  State state_ = State::kReadingAny;
  IterBoundCheck filtered_bound_ = IterBoundCheck::kUnknown;
  // The bounds of the latest seek, or nullptr: those of the ReadOptions or,
  // where these have none, of the thread.
  const Slice* upper_bound_ = nullptr;
  const Slice* lower_bound_ = nullptr;
  std::shared_ptr<const SearchBounds> thread_bounds_;
  std::string marker_;          // an internal key
  bool waits_in_vain_ = false;  // whether it is known that nothing is here
  bool goes_below_ = false;     // the thread's bound; callers end the search
  bool may_move_ = false;       // the marker: the filter's LowerBoundIsLoose()
  uint8_t moves_ = 0;           // of the marker since the seek
  std::shared_ptr<RunSearch> search_;
  RunSearch::Part part_;  // in the search
};

}  // namespace ROCKSDB_NAMESPACE::protean
