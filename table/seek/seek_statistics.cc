// SPDX-License-Identifier: Apache-2.0

#include "table/seek/seek_statistics.h"

#include <string>

#include "filter_policy/range_filter.h"
#include "monitoring/perf_context_imp.h"
#include "monitoring/statistics_impl.h"
#include "rocksdb/slice_transform.h"

namespace ROCKSDB_NAMESPACE::protean {

void SeekSampler::RecordNothingFrom(const Slice& target) const {
  if (bounds_.upper() != nullptr) {
    RecordEmptyRange(target, *bounds_.upper(), /*hi_inclusive=*/false);
    return;
  }
  const SliceTransform* extractor = inner_.prefix_extractor();
  if (!inner_.SeeksPrefixes() || !extractor->InDomain(target)) return;
  // The range of which the block-based table has asked the filter.
  const Slice prefix = extractor->Transform(target);
  std::string end;
  if (target.starts_with(prefix) && FirstAfterPrefix(prefix, &end)) {
    RecordEmptyRange(prefix, end, /*hi_inclusive=*/false);
  }
}

void SeekSampler::Record(const Slice& target, bool found) {
  if (found) {
    search_.Watch(target, /*backwards=*/false, /*inclusive=*/true);
  } else {
    RecordNothingFrom(target);
  }
}

void SeekSampler::SampleBackwards(const Slice& target, bool inclusive,
                                  bool found) {
  if (found ? !search_.IsJoined() : bounds_.lower() == nullptr) return;
  if (!queue_->Tick()) return;
  if (found) {
    search_.Watch(target, /*backwards=*/true, inclusive);
  } else {
    RecordEmptyRange(*bounds_.lower(), target, inclusive);
  }
}

// ---- Seek outcomes ----

void SeekOutcomes::HandOver() {
  file_->Add(tally_, kMaxTallied - until_hand_over_);
  tally_ = SeekTally();
  until_hand_over_ = kMaxTallied;
}

void SeekOutcomes::Tick(Tickers last_level, Tickers other_level) const {
  if (statistics_ == nullptr) return;
  RecordTick(statistics_, file_->IsLastLevel() ? last_level : other_level);
}

void SeekOutcomes::RecordFiltered() {
  PERF_COUNTER_ADD(bloom_sst_miss_count, 1);
  Tick(LAST_LEVEL_SEEK_FILTERED, NON_LAST_LEVEL_SEEK_FILTERED);
}

void SeekOutcomes::RecordMatch(FileIterator* inner) {
  PERF_COUNTER_ADD(bloom_sst_hit_count, 1);
  if (!inner->MarkFilterUsed()) return;
  Tick(LAST_LEVEL_SEEK_FILTER_MATCH, NON_LAST_LEVEL_SEEK_FILTER_MATCH);
}

void SeekOutcomes::CountOutcome(SeekKind kind, bool valid,
                                const FileIterator& inner) {
  if (valid) {
    if (kind == SeekKind::kOpen) {
      pending_outcome_ = PendingOutcome::kOpenSeek;
    } else {
      Count(kind, SeekEvent::kTruePositive);
    }
    return;
  }
  const Status s = inner.status();
  if (s.IsTryAgain()) pending_outcome_ = PendingOutcome::kTryAgain;
  if (!s.ok()) return;
  // The block-based table may have asked the filter for the target's prefix
  // besides, and have read nothing.
  const bool filtered =
      inner.prefix_extractor() != nullptr && !inner.HasReadBlock();
  Count(kind, filtered ? SeekEvent::kNegative : SeekEvent::kFalsePositive);
}

void SeekOutcomes::CountPendingOutcome(const FileIterator& inner) {
  if (pending_outcome_ == PendingOutcome::kOpenSeek) {
    Count(SeekKind::kOpen, inner.HasReadInVain() ? SeekEvent::kFalsePositive
                                                 : SeekEvent::kTruePositive);
  }
  pending_outcome_ = PendingOutcome::kNothing;
}

}  // namespace ROCKSDB_NAMESPACE::protean
