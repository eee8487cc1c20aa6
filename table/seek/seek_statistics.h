// SPDX-License-Identifier: Apache-2.0

//  A seek of one iterator over a file, once it is decided: its bounds, whether
//  it becomes a sample, and how it is counted.

#pragma once

#include <memory>

#include "filter_policy/open_db/level_sums.h"
#include "filter_policy/open_db/seek_backoff.h"
#include "filter_policy/samples/query_queue.h"
#include "rocksdb/options.h"
#include "rocksdb/statistics.h"
#include "table/rocksdb_internals/file_iterator.h"
#include "table/seek/run_search.h"
#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

// The bounds of an iterator's latest seek: those of its ReadOptions and, where
// these have none, those of the thread (thread_bounds.h).
//
// RocksDB's iterators enforce the bounds of ReadOptions. They do not know the
// bounds of the thread, so the table iterator has to stop at these itself.
class SeekBounds {
 public:
  // Takes the bounds of `read_options` alone, as they are now: the keys behind
  // the pointers may change between seeks.
  void Take(const ReadOptions& read_options) {
    upper_ = read_options.iterate_upper_bound;
    lower_ = read_options.iterate_lower_bound;
    stops_at_upper_ = false;
    stops_at_lower_ = false;
  }
  // Adds the bounds of the thread, or none if that is nullptr, where Take found
  // none.
  void Add(std::shared_ptr<const ThreadBounds> thread) {
    thread_ = std::move(thread);
    if (thread_ == nullptr) return;
    if (upper_ == nullptr) {
      upper_ = thread_->upper();
      stops_at_upper_ = upper_ != nullptr;
    }
    if (lower_ == nullptr) {
      lower_ = thread_->lower();
      stops_at_lower_ = lower_ != nullptr;
    }
  }

  // User keys, or nullptr for no bound. The upper bound is exclusive.
  const Slice* upper() const { return upper_; }
  const Slice* lower() const { return lower_; }

  SeekKind ForwardKind() const {
    return upper_ != nullptr ? SeekKind::kClosed : SeekKind::kOpen;
  }

  // Returns true if the table iterator itself must stop at the bound, which is
  // the thread's.
  bool stops_at_upper() const { return stops_at_upper_; }
  bool stops_at_lower() const { return stops_at_lower_; }
  // Lets the seek go below the thread's lower bound.
  void WaiveLower() { stops_at_lower_ = false; }

  bool IsAtOrAboveUpper(const Slice& user_key) const {
    return user_key.compare(*upper_) >= 0;
  }
  bool IsBelowLower(const Slice& user_key) const {
    return user_key.compare(*lower_) < 0;
  }

 private:
  const Slice* upper_ = nullptr;
  const Slice* lower_ = nullptr;
  bool stops_at_upper_ = false;
  bool stops_at_lower_ = false;
  std::shared_ptr<const ThreadBounds> thread_;  // keeps its keys
};

// ---- Seek sampler ----

// Samples the seeks of one iterator for which its file has nothing. A seek
// that has found a key, or waits before one, may turn out to be in vain, too:
// the search watches it (run_search.h).

// Made for each use, of parts of the iterator.
class SeekSampler {
 public:
  // The queue is the file's; nothing is sampled if it is nullptr.
  SeekSampler(QueryQueue* queue, const FileIterator& inner,
              const SeekBounds& bounds, SearchHandle* search)
      : queue_(queue), inner_(inner), bounds_(bounds), search_(*search) {}

  bool IsOn() const { return queue_ != nullptr; }

  // Returns true if a forward seek without a bound, of the only run of a
  // search, might be sampled.
  bool SamplesOpenAlone() const {
    return IsOn() && inner_.prefix_extractor() != nullptr;
  }

  // All that follows requires IsOn().

  // A seek has ended without an error. `found` tells whether it is at a key
  // within its bounds, or waits before one.
  void Sample(const Slice& target, bool found) {
    // Beyond all keys of the file, there is nothing to learn without a bound:
    // the filter knows the largest key.
    if (found ? !search_.IsJoined() : !IsBounded()) return;
    if (queue_->Tick()) Record(target, found);
  }
  void SampleBackwards(const Slice& target, bool inclusive, bool found);

  // What SearchMember is asked for.
  void RecordEmptyRange(const Slice& lo, const Slice& hi,
                        bool hi_inclusive) const {
    queue_->Record(lo, hi, hi_inclusive);
  }
  void RecordNothingFrom(const Slice& target) const;

 private:
  bool IsBounded() const {
    return bounds_.upper() != nullptr || inner_.prefix_extractor() != nullptr;
  }
  // Samples a seek when it is its turn.
  void Record(const Slice& target, bool found);

  QueryQueue* const queue_;
  const FileIterator& inner_;
  const SeekBounds& bounds_;
  SearchHandle& search_;
};

// ---- Seek outcomes ----

// What becomes of the seeks of one iterator, as plugin/filter_statistics.h
// defines it, RocksDB's tickers and perf context counters for it, and what the
// iterator learns from it about waiting.
//
// The iterator counts in plain numbers, which are handed over to the file's
// shared counts when they are many, and when the iterator is destroyed.

// What SeekOutcomes needs of the file whose seeks it counts.
class CountedFile {
 public:
  // Adds an iterator's counts of seeks, `events` in all.
  virtual void Add(const SeekTally& seeks, uint32_t events) = 0;
  // A new iterator's knowledge of whether waiting at markers pays.
  virtual SeekBackoff NewBackoff() = 0;
  // RocksDB's statistics, or nullptr, and whether these count the file among
  // those of the last level.
  virtual Statistics* statistics() const = 0;
  virtual bool IsLastLevel() const = 0;

 protected:
  ~CountedFile() = default;
};

class SeekOutcomes {
 public:
  explicit SeekOutcomes(CountedFile* file)
      : file_(file),
        statistics_(file->statistics()),
        backoff_(file->NewBackoff()) {}
  ~SeekOutcomes() {
    if (until_hand_over_ < kMaxTallied) HandOver();
  }
  SeekOutcomes(const SeekOutcomes&) = delete;
  SeekOutcomes& operator=(const SeekOutcomes&) = delete;

  // The filter knew that the file has nothing for the seek.
  void CountNegative(SeekKind kind) {
    Count(kind, SeekEvent::kNegative);
    RecordFiltered();
  }
  // The search ended before the marker at which the file waited.
  void CountPassed(SeekKind kind) {
    Count(kind, SeekEvent::kPassed);
    RecordFiltered();
    if (kind == SeekKind::kOpen) backoff_.OnPassed();
  }

  // The filter let a forward seek through, which has read the file. `valid`
  // tells whether it found a key within its bounds.
  void CountRead(SeekKind kind, bool valid, FileIterator* inner) {
    RecordMatch(inner);
    CountOutcome(kind, valid, *inner);
  }
  // The search came to the marker, and the file was read from there.
  void CountReached(SeekKind kind, bool valid, FileIterator* inner) {
    Count(kind, SeekEvent::kReached);
    CountRead(kind, valid, inner);
  }
  // The block that such a seek waits for has been read, with async_io.
  void CountReadAgain(SeekKind kind, bool valid, const FileIterator& inner) {
    if (pending_outcome_ != PendingOutcome::kTryAgain) return;
    pending_outcome_ = PendingOutcome::kNothing;
    CountOutcome(kind, valid, inner);
  }
  // A backward seek with a lower bound has read the file. `found` tells whether
  // it found a key at or above the bound.
  void CountReadBackwards(bool found, const FileIterator& inner) {
    if (!found && !inner.status().ok()) return;
    Count(SeekKind::kClosed,
          found ? SeekEvent::kTruePositive : SeekEvent::kFalsePositive);
  }
  // The filter let a backward seek through.
  void RecordMatch(FileIterator* inner);

  // Waiting was of no use for a seek.
  void CountUselessWait(SeekKind kind) {
    if (kind == SeekKind::kOpen) backoff_.OnReached();
  }
  SeekBackoff& backoff() { return backoff_; }

  // Counts the outcome of the last seek, if that was not known at once.
  void RecordPendingOutcome(const FileIterator& inner) {
    if (pending_outcome_ != PendingOutcome::kNothing)
      CountPendingOutcome(inner);
  }

 private:
  // A seek that the filter let through, whose outcome is not known yet.
  enum class PendingOutcome : uint8_t {
    kNothing,
    kOpenSeek,  // the iterator is at a key, to which the search may come
    kTryAgain,  // the iterator waits for a block, with async_io
  };

  static constexpr uint16_t kMaxTallied = 1024;

  void Count(SeekKind kind, SeekEvent event) {
    tally_(kind, event)++;
    if (--until_hand_over_ == 0) HandOver();
  }
  void HandOver();
  // Counts one by the ticker of the file's level, unless statistics_ is
  // nullptr.
  void Tick(Tickers last_level, Tickers other_level) const;
  void RecordFiltered();
  void CountOutcome(SeekKind kind, bool valid, const FileIterator& inner);
  void CountPendingOutcome(const FileIterator& inner);

  CountedFile* const file_;
  Statistics* const statistics_;
  PendingOutcome pending_outcome_ = PendingOutcome::kNothing;
  uint16_t until_hand_over_ = kMaxTallied;
  SeekTally tally_;
  SeekBackoff backoff_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
