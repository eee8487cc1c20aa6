// SPDX-License-Identifier: Apache-2.0

#include "table/seek/seek_statistics.h"

#include "monitoring/perf_context_imp.h"
#include "monitoring/statistics_impl.h"

namespace ROCKSDB_NAMESPACE::protean {

void SeekOutcomes::HandOver() {
  file_->Add(tally_, kMaxTallied - until_hand_over_);
  tally_ = SeekTally();
  until_hand_over_ = kMaxTallied;
}

void SeekOutcomes::Tick(Tickers last_level, Tickers other_level) const {
  if (statistics_ == nullptr) return;
  RecordTick(statistics_, is_last_level_ ? last_level : other_level);
}

void SeekOutcomes::RecordFiltered() {
  PERF_COUNTER_ADD(bloom_sst_miss_count, 1);
  Tick(LAST_LEVEL_SEEK_FILTERED, NON_LAST_LEVEL_SEEK_FILTERED);
}

void SeekOutcomes::RecordMatch() {
  PERF_COUNTER_ADD(bloom_sst_hit_count, 1);
  if (!inner_->MarkFilterUsed()) return;
  Tick(LAST_LEVEL_SEEK_FILTER_MATCH, NON_LAST_LEVEL_SEEK_FILTER_MATCH);
}

void SeekOutcomes::CountOutcome(SeekKind kind, bool valid) {
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

void SeekOutcomes::CountPendingOutcome() {
  if (pending_outcome_ == PendingOutcome::kOpenSeek) {
    Count(SeekKind::kOpen, inner_->HasReadInVain() ? SeekEvent::kFalsePositive
                                                   : SeekEvent::kTruePositive);
  }
  pending_outcome_ = PendingOutcome::kNothing;
}

}  // namespace ROCKSDB_NAMESPACE::protean
