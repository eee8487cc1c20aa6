// SPDX-License-Identifier: Apache-2.0

//  Counts the outcomes of the seeks of one iterator, which
//  plugin/filter_statistics.h defines, in Protean's statistics and in RocksDB's
//  tickers and perf context. The iterator learns from them whether waiting
//  pays. It counts in plain numbers, which are handed over to the file's shared
//  counts when they are many, and when the iterator is destroyed.

#pragma once

#include <cstdint>

#include "filter_policy/open_db/open_families.h"
#include "monitoring/perf_context_imp.h"
#include "monitoring/statistics_impl.h"
#include "rocksdb/statistics.h"
#include "table/rocksdb_internals/file_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

class SeekOutcomes {
 public:
  // `inner` is RocksDB's iterator over the file. Both outlive the object, as do
  // RocksDB's statistics, or nullptr. `is_last_level` tells whether these count
  // the file among those of the last level.
  SeekOutcomes(OpenFile* file, FileIterator* inner, Statistics* statistics,
               bool is_last_level)
      : file_(file),
        inner_(inner),
        statistics_(statistics),
        is_last_level_(is_last_level),
        backoff_(file->NewBackoff()) {}
  ~SeekOutcomes() {
    if (until_hand_over_ < kMaxTallied) HandOver();
  }
  SeekOutcomes(const SeekOutcomes&) = delete;
  SeekOutcomes& operator=(const SeekOutcomes&) = delete;

  void Count(SeekKind kind, SeekEvent event) {
    tally_(kind, event)++;
    if (--until_hand_over_ == 0) HandOver();
  }
  void CountNegative(SeekKind kind) {
    Count(kind, SeekEvent::kNegative);
    RecordFiltered();
  }
  void CountPassed(SeekKind kind) {
    Count(kind, SeekEvent::kPassed);
    RecordFiltered();
    if (kind == SeekKind::kOpen) backoff_.OnPassed();
  }

  // The filter let a forward seek through, which has read the file. `valid`
  // tells whether it found a key within its bounds.
  void CountRead(SeekKind kind, bool valid) {
    RecordMatch();
    CountOutcome(kind, valid);
  }
  // The search came to the marker, and the file was read from there.
  void CountReached(SeekKind kind, bool valid) {
    Count(kind, SeekEvent::kReached);
    CountRead(kind, valid);
  }
  // The block that such a seek waits for has been read, with async_io.
  void CountReadAgain(SeekKind kind, bool valid) {
    if (pending_outcome_ != PendingOutcome::kTryAgain) return;
    pending_outcome_ = PendingOutcome::kNothing;
    CountOutcome(kind, valid);
  }
  // A backward seek with a lower bound has read the file. `found` tells whether
  // it found a key at or above the bound.
  void CountReadBackwards(bool found) {
    if (!found && !(*inner_)->status().ok()) return;
    Count(SeekKind::kClosed,
          found ? SeekEvent::kTruePositive : SeekEvent::kFalsePositive);
  }
  // The filter let a backward seek through.
  [[gnu::noinline]] void RecordMatch() {
    PERF_COUNTER_ADD(bloom_sst_hit_count, 1);
    if (!inner_->MarkFilterUsed()) return;
    Tick(LAST_LEVEL_SEEK_FILTER_MATCH, NON_LAST_LEVEL_SEEK_FILTER_MATCH);
  }

  // Waiting was of no use.
  void CountUselessWait(SeekKind kind) {
    if (kind == SeekKind::kOpen) backoff_.OnReached();
  }
  SeekBackoff& backoff() { return backoff_; }

  // Counts the outcome of the last seek, if that was not known at once.
  void RecordPendingOutcome() {
    if (pending_outcome_ != PendingOutcome::kNothing) CountPendingOutcome();
  }

 private:
  // A seek that the filter let through, whose outcome is not known yet.
  enum class PendingOutcome : uint8_t {
    kNothing,
    kOpenSeek,  // the iterator is at a key, to which the search may come
    kTryAgain,  // the iterator waits for a block, with async_io
  };

  static constexpr uint16_t kMaxTallied = 1024;

  [[gnu::noinline]] void HandOver() {
    file_->Add(tally_, kMaxTallied - until_hand_over_);
    tally_ = SeekTally();
    until_hand_over_ = kMaxTallied;
  }
  // Counts one by the ticker of the file's level.
  void Tick(Tickers last_level, Tickers other_level) const {
    RecordTick(statistics_, is_last_level_ ? last_level : other_level);
  }
  [[gnu::noinline]] void RecordFiltered() {
    PERF_COUNTER_ADD(bloom_sst_miss_count, 1);
    Tick(LAST_LEVEL_SEEK_FILTERED, NON_LAST_LEVEL_SEEK_FILTERED);
  }
  [[gnu::noinline]] void CountOutcome(SeekKind kind, bool valid) {
    if (valid) {
      if (kind == SeekKind::kOpen) {
        pending_outcome_ = PendingOutcome::kOpenSeek;
      } else {
        Count(kind, SeekEvent::kTruePositive);
      }
      return;
    }
    const Status s = (*inner_)->status();
    if (s.IsTryAgain()) pending_outcome_ = PendingOutcome::kTryAgain;
    if (!s.ok()) return;
    // The block-based table may have asked the filter for the target's prefix
    // besides, and have read nothing.
    const bool filtered =
        inner_->prefix_extractor() != nullptr && !inner_->HasReadBlock();
    Count(kind, filtered ? SeekEvent::kNegative : SeekEvent::kFalsePositive);
  }
  [[gnu::noinline]] void CountPendingOutcome() {
    if (pending_outcome_ == PendingOutcome::kOpenSeek) {
      Count(SeekKind::kOpen, inner_->HasReadInVain()
                                 ? SeekEvent::kFalsePositive
                                 : SeekEvent::kTruePositive);
    }
    pending_outcome_ = PendingOutcome::kNothing;
  }

  OpenFile* const file_;
  FileIterator* const inner_;
  Statistics* const statistics_;
  const bool is_last_level_;
  PendingOutcome pending_outcome_ = PendingOutcome::kNothing;
  uint16_t until_hand_over_ = kMaxTallied;
  SeekTally tally_;
  SeekBackoff backoff_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
