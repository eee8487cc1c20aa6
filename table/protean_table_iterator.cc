// SPDX-License-Identifier: Apache-2.0

#include "table/protean_table_iterator.h"

#include <algorithm>

#include "db/dbformat.h"
#include "rocksdb/perf_context.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Data blocks that this thread has found in the cache, as far as it counts.
uint64_t DataBlocksInCache(const PerfContext& counters) {
  return counters.block_cache_hit_count - counters.block_cache_index_hit_count -
         counters.block_cache_filter_hit_count;
}

// Whether seeks ask only for keys with the prefix of their target.
bool SeeksPrefixes(const ReadOptions& read_options,
                   const SliceTransform* prefix_extractor) {
  return prefix_extractor != nullptr &&
         (read_options.prefix_same_as_start ||
          !(read_options.total_order_seek || read_options.auto_prefix_mode));
}

bool AllowsMarkers(const ReadOptions& read_options,
                   const FileIterator::Arguments& arguments,
                   const BlockBasedFile& file) {
  // A prefix seek may not take a marker for a key with its prefix; a tailing
  // iterator sees all sequence numbers; max_skippable_internal_keys would count
  // markers.
  return arguments.caller == TableReaderCaller::kUserIterator &&
         !SeeksPrefixes(read_options, arguments.prefix_extractor) &&
         !read_options.tailing &&
         read_options.max_skippable_internal_keys == 0 &&
         file.user_comparator() == BytewiseComparator();
}

}  // namespace

ProteanTableIterator::ProteanTableIterator(
    FilteredFile* file, const ReadOptions& read_options,
    const FileIterator::Arguments& arguments)
    : file_(file),
      read_options_(read_options),
      markers_allowed_(AllowsMarkers(read_options, arguments, file->file())),
      inner_(file->file(), read_options, arguments),
      outcomes_(file),
      backoff_(file->NewBackoff()),
      lookup_context_(arguments.caller),
      search_(this, file) {}

ProteanTableIterator::~ProteanTableIterator() {
  search_.Leave();
  Settle(/*still_waits=*/false);
}

const FileRangeFilter* ProteanTableIterator::Filter(FilterView* view) {
  if (prepared_) return nullptr;
  return file_->GetRangeFilter(read_options_, &lookup_context_, view);
}

void ProteanTableIterator::Settle(bool still_waits) {
  if (state_ == State::kWaiting && !marker_.IsEnd() && !still_waits) {
    const SeekKind kind = bounds_.ForwardKind();
    outcomes_.CountPassed(kind);
    if (kind == SeekKind::kOpen) backoff_.OnPassed();
  }
  outcomes_.Settle(inner_);
}

void ProteanTableIterator::BeginSeek(const Slice* target, bool backwards,
                                     bool still_waits) {
  search_.BeginSeek(target);
  Settle(still_waits);
  state_ = State::kReading;
  marker_.set_moves(0);
  bounds_.Take(read_options_);
  // Tailing iterators forget files in which a search has ended, and with a
  // table_filter, some files are not in the search.
  if (ThreadBounds::AreUsed() && inner_.pinned_iters_manager() != nullptr &&
      !read_options_.tailing && read_options_.table_filter == nullptr) {
    bounds_.Add(search_.bounds().Take(target, backwards));
  }
}

bool ProteanTableIterator::Obey(const SeekDecision& decision, SeekKind kind) {
  switch (decision.action) {
    case SeekDecision::Action::kRead:
      return false;
    case SeekDecision::Action::kEmpty:
      SetEmpty(decision.has_key_beyond ? IterBoundCheck::kOutOfBound
                                       : IterBoundCheck::kUnknown);
      outcomes_.CountNegative(kind);
      return true;
    case SeekDecision::Action::kWait:
      state_ = State::kWaiting;
      bound_check_ = IterBoundCheck::kUnknown;
      marker_.Place(decision.purpose, file_->marker_sequence());
      if (marker_.IsEnd()) outcomes_.CountNegative(kind);
      return true;
  }
  return false;
}

bool ProteanTableIterator::StopAtThreadUpperBound() {
  if (!Valid() || !bounds_.IsAtOrAboveUpper(file_->UserKey(key()))) {
    return false;
  }
  SetEmpty(IterBoundCheck::kOutOfBound);
  return true;
}

bool ProteanTableIterator::StopAtThreadLowerBound() {
  if (!Valid() || !bounds_.IsBelowLower(file_->UserKey(key()))) return false;
  if (!search_.bounds().MaySkip()) {
    bounds_.WaiveLower();
    return false;
  }
  SetEmpty(IterBoundCheck::kUnknown);
  return true;
}

// ---- Forward seeks ----

void ProteanTableIterator::Seek(const Slice& target) {
  if (read_options_.async_io && status().IsTryAgain()) {
    SeekAgain(target);
    return;
  }
  const Slice user_key = file_->UserKey(target);
  // This seek continues the search (search_rounds.h). A file that reads goes on
  // reading, and one that waits has moved. Otherwise all of many files would
  // come to wait at one place again and again, and each time RocksDB would seek
  // all of them.
  const bool again = search_.IsJoined() && search_.HasPassed(user_key);
  const int moves = !again                      ? 0
                    : state_ == State::kReading ? Marker::kMaxMoves
                                                : marker_.moves() + 1;
  const bool still_waits = again && IsWaiting() && !marker_.IsEnd();
  BeginSeek(&user_key, /*backwards=*/false, still_waits);
  marker_.set_moves(
      static_cast<uint8_t>(std::min<int>(moves, Marker::kMaxMoves)));
  const bool closed = bounds_.upper() != nullptr;
  const bool may_wait = CanWait() && moves < Marker::kMaxMoves &&
                        !(file_->IsSlow() && backoff_.ReadsAreCheap()) &&
                        (closed || backoff_.ShouldWait());
  FilterView view;
  const FileRangeFilter* filter = closed || may_wait ? Filter(&view) : nullptr;
  bool decided = false;
  if (filter != nullptr) {
    const Waiting waiting = !may_wait ? Waiting::kForbidden
                            : again   ? Waiting::kNotAtTarget
                                      : Waiting::kAllowed;
    const SeekDecision decision = DecideSeek(*filter, user_key, bounds_.upper(),
                                             waiting, marker_.new_user_key());
    decided = Obey(decision, bounds_.ForwardKind());
    if (may_wait && decision.action != SeekDecision::Action::kEmpty &&
        filter->LowerBoundIsSlow(user_key)) {
      file_->NoteSlow();
    }
  }
  if (!decided) {
    SeekInner(target);
    StopAtUpperBound();
    if (still_waits) {
      CountReached();
    } else if (filter != nullptr) {
      outcomes_.RecordMatch(&inner_);
      outcomes_.CountRead(bounds_.ForwardKind(), Valid(), inner_);
    }
    if (may_wait || still_waits) WaitedInVain();
  }
  if (file_->queue() != nullptr) Sample(user_key);
}

void ProteanTableIterator::SeekAgain(const Slice& target) {
  inner_.Seek(target);
  StopAtUpperBound();
  outcomes_.CountReadAgain(bounds_.ForwardKind(), Valid(), inner_);
  if (file_->queue() != nullptr) Sample(file_->UserKey(target));
}

// SeekToFirst is not sampled: where a search that began in the file before goes
// on in this one, only LevelIterator knows its target. For the same reason
// there is no marker to wait at: the search is at this file already.
void ProteanTableIterator::SeekToFirst() {
  BeginSeek(/*target=*/nullptr, /*backwards=*/false);
  FilterView view;
  const FileRangeFilter* filter =
      bounds_.upper() != nullptr ? Filter(&view) : nullptr;
  if (filter != nullptr &&
      Obey(DecideSeekToFirst(*filter, *bounds_.upper()), SeekKind::kClosed)) {
    return;
  }
  inner_.SeekToFirst();
  StopAtUpperBound();
  if (filter == nullptr) return;
  outcomes_.RecordMatch(&inner_);
  outcomes_.CountRead(SeekKind::kClosed, Valid(), inner_);
}

void ProteanTableIterator::SeekInner(const Slice& target) {
  const PerfContext& counters = *get_perf_context();
  const uint64_t read = counters.block_read_count;
  const uint64_t found = DataBlocksInCache(counters);
  inner_.Seek(target);
  // Anything else, such as a block that was read ahead, or counters that are
  // switched off, tells nothing.
  if (counters.block_read_count > read) {
    backoff_.OnRead(/*from_cache=*/false);
  } else if (DataBlocksInCache(counters) > found) {
    backoff_.OnRead(/*from_cache=*/true);
  }
}

// ---- Markers ----

bool ProteanTableIterator::NextAndGetResult(IterateResult* result) {
  if (state_ == State::kReading) {
    return inner_.NextAndGetResult(result) && !StopAtUpperBound();
  }
  LeaveMarker();
  if (state_ == State::kReading) return inner_.GetResult(result);
  if (state_ == State::kEmpty) return false;
  result->key = marker_.key();
  result->bound_check_result = IterBoundCheck::kUnknown;
  result->value_prepared = true;
  return true;
}

void ProteanTableIterator::LeaveMarker() {
  if (marker_.purpose() == Marker::Purpose::kProbe && MoveMarker()) {
    if (StopAtUpperBound()) outcomes_.CountNegative(SeekKind::kClosed);
    search_.Follow();
  } else {
    ReadFromMarker();
  }
}

bool ProteanTableIterator::MoveMarker() {
  const Slice begin = marker_.user_key();
  search_.Pass(begin);
  if (!marker_.MayMove()) return false;
  FilterView view;
  const FileRangeFilter* filter = Filter(&view);
  if (filter == nullptr) return false;
  std::string user_key;
  const SeekDecision decision =
      DecideMove(*filter, begin, search_.NextStop(begin), &user_key);
  if (decision.action != SeekDecision::Action::kWait) return false;
  marker_.Move(&user_key, file_->marker_sequence());
  return true;
}

void ProteanTableIterator::ReadFromMarker() {
  state_ = State::kReading;
  SeekInner(marker_.key());
  // With async_io, the block may be on its way.
  if (read_options_.async_io && inner_.status().IsTryAgain()) {
    inner_.Seek(marker_.key());
  }
  StopAtUpperBound();
  if (marker_.IsEnd()) return;
  CountReached();
  WaitedInVain();
  if (search_.IsJoined() && status().ok()) search_.Follow();
}

void ProteanTableIterator::ReadBeforeMarker() {
  state_ = State::kReading;
  inner_.SeekForPrev(marker_.key());
  StopAtLowerBound();
  if (!marker_.IsEnd()) CountReached();
}

void ProteanTableIterator::CountReached() {
  const SeekKind kind = bounds_.ForwardKind();
  outcomes_.RecordMatch(&inner_);
  outcomes_.CountReached(kind);
  outcomes_.CountRead(kind, Valid(), inner_);
}

// ---- Backward seeks ----

void ProteanTableIterator::SeekForPrev(const Slice& target) {
  const Slice user_key = file_->UserKey(target);
  BeginSeek(&user_key, /*backwards=*/true);
  // RocksDB uses the last sequence number to look for what lies before an upper
  // bound.
  const bool inclusive = GetInternalKeySeqno(target) != kMaxSequenceNumber;
  // Below the bound there is no range to ask for.
  const bool closed =
      bounds_.lower() != nullptr && !bounds_.IsBelowLower(user_key);
  FilterView view;
  const FileRangeFilter* filter = closed && CanWait() ? Filter(&view) : nullptr;
  if (filter == nullptr ||
      !Obey(DecideSeekForPrev(*filter, user_key, inclusive, *bounds_.lower(),
                              /*lower_is_known=*/!bounds_.stops_at_lower(),
                              marker_.new_user_key()),
            SeekKind::kClosed)) {
    inner_.SeekForPrev(target);
    StopAtLowerBound();
    if (filter != nullptr) {
      outcomes_.RecordMatch(&inner_);
      CountReadBackwards();
    }
  }
  if (file_->queue() != nullptr) SampleBackwards(user_key, inclusive);
}

void ProteanTableIterator::SeekToLast() {
  BeginSeek(/*target=*/nullptr, /*backwards=*/true);
  FilterView view;
  const FileRangeFilter* filter =
      bounds_.lower() != nullptr && CanWait() ? Filter(&view) : nullptr;
  if (filter != nullptr) {
    const SeekDecision decision = DecideSeekToLast(
        *filter, *bounds_.lower(),
        /*lower_is_known=*/!bounds_.stops_at_lower(), marker_.new_user_key());
    if (decision.action == SeekDecision::Action::kEmpty &&
        !search_.bounds().MaySkip()) {
      bounds_.WaiveLower();
      inner_.SeekToLast();
      return;
    }
    if (Obey(decision, SeekKind::kClosed)) return;
  }
  inner_.SeekToLast();
  StopAtLowerBound();
  if (filter != nullptr) CountReadBackwards();
}

void ProteanTableIterator::CountReadBackwards() {
  const bool found = Valid() && !bounds_.IsBelowLower(file_->UserKey(key()));
  if (found || status().ok()) outcomes_.CountFound(SeekKind::kClosed, found);
}

// ---- Samples ----

void ProteanTableIterator::RecordNothingFrom(const Slice& target) const {
  if (bounds_.upper() != nullptr) {
    RecordEmptyRange(target, *bounds_.upper(), /*hi_inclusive=*/false);
    return;
  }
  const SliceTransform* extractor = inner_.prefix_extractor();
  if (!SeeksPrefixes(read_options_, extractor) ||
      !extractor->InDomain(target)) {
    return;
  }
  // The range of which the block-based table has asked the filter.
  const Slice prefix = extractor->Transform(target);
  std::string end;
  if (target.starts_with(prefix) && FirstBehindPrefix(prefix, &end)) {
    RecordEmptyRange(prefix, end, /*hi_inclusive=*/false);
  }
}

void ProteanTableIterator::Sample(const Slice& target) {
  if (!status().ok()) return;
  const bool found = Valid();
  // Beyond all keys of the file, there is nothing to learn without a bound: the
  // filter knows the largest key.
  const bool bounded =
      bounds_.upper() != nullptr || inner_.prefix_extractor() != nullptr;
  if (found ? !search_.IsJoined() : !bounded) return;
  if (!file_->queue()->Tick()) return;
  if (found) {
    search_.Watch(target, /*backwards=*/false, /*inclusive=*/true);
  } else {
    RecordNothingFrom(target);
  }
}

void ProteanTableIterator::SampleBackwards(const Slice& target,
                                           bool inclusive) {
  if (!status().ok()) return;
  const bool found = Valid() && !(IsWaiting() && marker_.IsEnd()) &&
                     (bounds_.lower() == nullptr ||
                      !bounds_.IsBelowLower(file_->UserKey(key())));
  if (found ? !search_.IsJoined() : bounds_.lower() == nullptr) return;
  if (!file_->queue()->Tick()) return;
  if (found) {
    search_.Watch(target, /*backwards=*/true, inclusive);
  } else {
    RecordEmptyRange(*bounds_.lower(), target, inclusive);
  }
}

// ---- MultiScan ----

#if PROTEAN_HAS_MULTI_SCAN
bool ProteanTableIterator::MayHoldAnyOf(const MultiScanArgs& scans) {
  FilterView view;
  const FileRangeFilter* filter = Filter(&view);
  if (filter == nullptr) return true;
  for (const ScanOptions& scan : scans.GetScanRanges()) {
    const RangeOpt& range = scan.range;
    if (!range.start.has_value() || !range.limit.has_value() ||
        filter->RangeMayMatch(*range.start, *range.limit,
                              /*hi_inclusive=*/false)) {
      return true;
    }
  }
  return false;
}

// inner_ reads ahead the ranges and then expects a seek to each of them, so the
// filter decides for all of them at once: either the file is spared, or its
// filter is not asked any more. An iterator that is not prepared may be sought
// as usual.
void ProteanTableIterator::Prepare(const MultiScanArgs* scans) {
  if (scans == nullptr || !MayHoldAnyOf(*scans)) return;
  inner_.Get()->Prepare(scans);
  prepared_ = true;
}
#endif

}  // namespace ROCKSDB_NAMESPACE::protean
