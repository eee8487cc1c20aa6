// SPDX-License-Identifier: Apache-2.0

//  What becomes of the seeks of one iterator, as plugin/filter_statistics.h
//  defines it, and RocksDB's tickers and perf context counters for it.
//
//  The iterator counts in plain numbers, which are handed over to the file's
//  shared counts when they are many, and when the iterator is destroyed.

#pragma once

#include "filter_policy/open_db/seek_counts.h"
#include "table/filtered_file.h"
#include "table/rocksdb_internals/file_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

class SeekOutcomes {
 public:
  explicit SeekOutcomes(FilteredFile* file) : file_(file) {}
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
  }
  // The search came to the marker, and the file was read from there.
  void CountReached(SeekKind kind) { Count(kind, SeekEvent::kReached); }
  // A seek whose outcome is known has read the file.
  void CountFound(SeekKind kind, bool found) {
    Count(kind, found ? SeekEvent::kTruePositive : SeekEvent::kFalsePositive);
  }

  // The filter let the seek through.
  void RecordMatch(FileIterator* inner);

  // A forward seek has read the file after the filter let it through. `valid`
  // tells whether it found a key within its bounds.
  void CountRead(SeekKind kind, bool valid, const FileIterator& inner);
  // The block that such a seek waits for has been read, with async_io.
  void CountReadAgain(SeekKind kind, bool valid, const FileIterator& inner) {
    if (unsettled_ != Unsettled::kTryAgain) return;
    unsettled_ = Unsettled::kNothing;
    CountRead(kind, valid, inner);
  }

  // Counts the outcome of the last seek, if that was not known at once.
  void Settle(const FileIterator& inner) {
    if (unsettled_ != Unsettled::kNothing) CountUnsettled(inner);
  }

 private:
  // A seek that the filter let through, whose outcome is not known yet.
  enum class Unsettled : uint8_t {
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
  void RecordFiltered();
  void CountUnsettled(const FileIterator& inner);

  FilteredFile* const file_;
  Unsettled unsettled_ = Unsettled::kNothing;
  uint16_t until_hand_over_ = kMaxTallied;
  SeekTally tally_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
