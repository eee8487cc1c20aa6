// SPDX-License-Identifier: Apache-2.0

#include "table/protean_table_iterator.h"

#include <algorithm>

#include "db/dbformat.h"
#include "filter_policy/open_db/get_tally.h"
#include "rocksdb/perf_context.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Data blocks that this thread has found in the cache, as far as it counts.
uint64_t DataBlocksInCache(const PerfContext& counters) {
  return counters.block_cache_hit_count - counters.block_cache_index_hit_count -
         counters.block_cache_filter_hit_count;
}

bool AllowsMarkers(const FilteredFile& file, const FileIterator& iterator) {
  // A prefix seek may not take a marker for a key with its prefix; a tailing
  // iterator sees all sequence numbers; max_skippable_internal_keys would count
  // markers.
  const ReadOptions& read_options = iterator.read_options();
  return iterator.caller() == TableReaderCaller::kUserIterator &&
         !iterator.SeeksPrefixes() && !read_options.tailing &&
         read_options.max_skippable_internal_keys == 0 && file.allows_markers();
}

}  // namespace

ProteanTableIterator::ProteanTableIterator(
    FilteredFile* file, const ReadOptions& read_options,
    const FileIterator::Arguments& arguments)
    : WaitingIterator(file->file(), read_options, arguments), file_(file) {}

ProteanTableIterator::Seeks::Seeks(FilteredFile* file,
                                   const FileIterator& inner)
    : outcomes(file), markers_allowed(AllowsMarkers(*file, inner)) {}

ProteanTableIterator::~ProteanTableIterator() {
  search().Leave();
  if (seeks_ != nullptr) RecordPendingOutcome(/*still_waits=*/false);
}

inline const FileRangeFilter* ProteanTableIterator::Asking::Filter() {
  if (iterator_.seeks_->prepared) return nullptr;
  if (iterator_.seeks_->view != nullptr) return &iterator_.seeks_->view->filter;
  const SeekBounds& bounds = iterator_.bounds_;
  const bool open = bounds.upper() == nullptr && bounds.lower() == nullptr;
  return iterator_.file_->GetRangeFilter(
      open ? AskedFor::kOpenSeek : AskedFor::kClosedSeek,
      iterator_.read_options(), iterator_.inner().caller(), &view_);
}

void ProteanTableIterator::Asking::LeaveView() {
  if (!iterator_.WaitsForSearch()) {
    iterator_.seeks_->view.reset();
  } else if (iterator_.seeks_->view == nullptr) {
    iterator_.seeks_->view = std::move(view_);
  }
}

inline void ProteanTableIterator::BeginSeek(const Slice* target, bool backwards,
                                            bool still_waits) {
  search().BeginSeek(file_, target);
  RecordPendingOutcome(still_waits);
  SetReading();
  TakeBounds();
  // Tailing iterators forget files in which a search has ended, and with a
  // table_filter, some files are not in the search.
  if (ThreadBounds::AreUsed() && search().IsJoined() &&
      !read_options().tailing && read_options().table_filter == nullptr) {
    bounds_.Add(search().bounds().Take(target, backwards));
  }
}

bool ProteanTableIterator::Apply(const SeekDecision& decision, SeekKind kind) {
  switch (decision.action) {
    case SeekDecision::Action::kRead:
      return false;
    case SeekDecision::Action::kEmpty:
      SetEmpty(decision.has_key_beyond ? IterBoundCheck::kOutOfBound
                                       : IterBoundCheck::kUnknown);
      seeks_->outcomes.CountNegative(kind);
      return true;
    case SeekDecision::Action::kWait:
      SetWaiting();
      marker().Place(decision.purpose, file_->marker_sequence());
      if (marker().IsEnd()) seeks_->outcomes.CountNegative(kind);
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
  if (!search().bounds().MaySkip()) {
    bounds_.WaiveLower();
    return false;
  }
  SetEmpty(IterBoundCheck::kUnknown);
  return true;
}

// ---- Forward seeks ----

inline void ProteanTableIterator::SeekInner(const Slice& target) {
  const PerfContext& counters = ThreadPerf::Context();
  const uint64_t read = counters.block_read_count;
  const uint64_t found = DataBlocksInCache(counters);
  inner().Seek(target);
  // Anything else, such as a block that was read ahead, or counters that are
  // switched off, tells nothing.
  const bool from_file = counters.block_read_count > read;
  if (!from_file && DataBlocksInCache(counters) <= found) return;
  seeks_->outcomes.backoff().OnRead(/*from_cache=*/!from_file);
  file_->gets()->CountSeek(/*from_cache=*/!from_file);
}

void ProteanTableIterator::Seek(const Slice& target) {
  MakeSeeks();
  if (read_options().async_io && status().IsTryAgain()) {
    SeekAgain(target);
    return;
  }
  const Slice user_key = file_->UserKey(target);
  // This seek continues the search (run_search.h). A file that reads goes on
  // reading, and one that waits has moved. Otherwise all of many files would
  // come to wait at one place again and again, and each time RocksDB would seek
  // all of them.
  const bool alone = IsReading() && search().BeginSeekAlone(file_, user_key);
  const bool again =
      !alone && search().IsJoined() && search().HasPassed(user_key);
  const int moves = !again        ? 0
                    : IsReading() ? Marker::kMaxMoves
                                  : marker().moves() + 1;
  const bool still_waits = again && WaitsForSearch();
  if (alone) {
    seeks_->outcomes.RecordPendingOutcome(inner());
    TakeBounds();
  } else {
    BeginSeek(&user_key, /*backwards=*/false, still_waits);
    marker().set_moves(
        static_cast<uint8_t>(std::min<int>(moves, Marker::kMaxMoves)));
  }
  const bool closed = bounds_.upper() != nullptr;
  const bool may_wait =
      CanWait() && moves < Marker::kMaxMoves &&
      !(file_->IsSlow() && seeks_->outcomes.backoff().ReadsAreCheap()) &&
      (closed || seeks_->outcomes.backoff().ShouldWait());
  if (alone && !closed && !may_wait && !Sampler().SamplesOpenAlone()) {
    SeekInner(target);
    return;
  }
  Asking asking(this);
  const FileRangeFilter* filter =
      closed || may_wait ? asking.Filter() : nullptr;
  bool decided = false;
  if (filter != nullptr) {
    const Waiting waiting = !may_wait ? Waiting::kForbidden
                            : again   ? Waiting::kNotAtTarget
                                      : Waiting::kAllowed;
    const SeekDecision decision = DecideSeek(*filter, user_key, bounds_.upper(),
                                             waiting, marker().new_user_key());
    decided = Apply(decision, bounds_.ForwardKind());
    if (may_wait && decision.action != SeekDecision::Action::kEmpty &&
        filter->LowerBoundIsSlow(user_key)) {
      file_->NoteSlow();
    }
  }
  if (!decided) {
    SeekInner(target);
    StopAtUpperBound();
    const SeekKind kind = bounds_.ForwardKind();
    if (still_waits) {
      seeks_->outcomes.CountReached(kind, Valid(), &inner());
    } else if (filter != nullptr) {
      seeks_->outcomes.CountRead(kind, Valid(), &inner());
    }
    if (may_wait || still_waits) seeks_->outcomes.CountUselessWait(kind);
  }
  SeekSampler sampler = Sampler();
  if (sampler.IsOn()) {
    // At a key the status is OK, and need not be copied.
    const bool found = Valid();
    if (found || status().ok()) sampler.Sample(user_key, found);
  }
}

void ProteanTableIterator::SeekAgain(const Slice& target) {
  inner().Seek(target);
  StopAtUpperBound();
  seeks_->outcomes.CountReadAgain(bounds_.ForwardKind(), Valid(), inner());
  SeekSampler sampler = Sampler();
  if (sampler.IsOn() && status().ok()) {
    sampler.Sample(file_->UserKey(target), Valid());
  }
}

// SeekToFirst is not sampled: where a search that began in the file before goes
// on in this one, only LevelIterator knows its target. For the same reason
// there is no marker to wait at: the search is at this file already.
void ProteanTableIterator::SeekToFirst() {
  MakeSeeks();
  BeginSeek(/*target=*/nullptr, /*backwards=*/false);
  Asking asking(this);
  const FileRangeFilter* filter =
      bounds_.upper() != nullptr ? asking.Filter() : nullptr;
  if (filter != nullptr &&
      Apply(DecideSeekToFirst(*filter, *bounds_.upper()), SeekKind::kClosed)) {
    return;
  }
  inner().SeekToFirst();
  StopAtUpperBound();
  if (filter != nullptr) {
    seeks_->outcomes.CountRead(SeekKind::kClosed, Valid(), &inner());
  }
}

// ---- Markers ----

void ProteanTableIterator::LeaveMarker() {
  Asking asking(this);
  if (marker().purpose() == Marker::Purpose::kProbe && MoveMarker(&asking)) {
    if (StopAtUpperBound()) seeks_->outcomes.CountNegative(SeekKind::kClosed);
    search().Follow();
  } else {
    ReadFromMarker();
  }
}

bool ProteanTableIterator::MoveMarker(Asking* asking) {
  const Slice begin = marker().user_key();
  search().Pass(begin);
  if (!marker().MayMove() || (marker().moves() >= Marker::kMaxMovesIfCached &&
                              seeks_->outcomes.backoff().ReadsAreCheap())) {
    return false;
  }
  const FileRangeFilter* filter = asking->Filter();
  return filter != nullptr && MoveOn(*filter, search().NextStop(begin),
                                     file_->marker_sequence(), &marker());
}

void ProteanTableIterator::ReadFromMarker() {
  SetReading();
  SeekInner(marker().key());
  // With async_io, the block may be on its way.
  if (read_options().async_io && inner().status().IsTryAgain()) {
    inner().Seek(marker().key());
  }
  StopAtUpperBound();
  if (marker().IsEnd()) return;
  const SeekKind kind = bounds_.ForwardKind();
  seeks_->outcomes.CountReached(kind, Valid(), &inner());
  seeks_->outcomes.CountUselessWait(kind);
  if (search().IsJoined() && status().ok()) search().Follow();
}

void ProteanTableIterator::ReadBeforeMarker() {
  SetReading();
  seeks_->view.reset();
  inner().SeekForPrev(marker().key());
  StopAtLowerBound();
  if (!marker().IsEnd()) {
    seeks_->outcomes.CountReached(bounds_.ForwardKind(), Valid(), &inner());
  }
}

// ---- Backward seeks ----

void ProteanTableIterator::SeekForPrev(const Slice& target) {
  MakeSeeks();
  const Slice user_key = file_->UserKey(target);
  BeginSeek(&user_key, /*backwards=*/true);
  // RocksDB uses the last sequence number to look for what lies before an upper
  // bound.
  const bool inclusive = GetInternalKeySeqno(target) != kMaxSequenceNumber;
  // Below the bound there is no range to ask for.
  const bool closed =
      bounds_.lower() != nullptr && !bounds_.IsBelowLower(user_key);
  Asking asking(this);
  const FileRangeFilter* filter =
      closed && CanWait() ? asking.Filter() : nullptr;
  if (filter == nullptr ||
      !Apply(DecideSeekForPrev(*filter, user_key, inclusive, *bounds_.lower(),
                               /*lower_is_known=*/!bounds_.stops_at_lower(),
                               marker().new_user_key()),
             SeekKind::kClosed)) {
    inner().SeekForPrev(target);
    StopAtLowerBound();
    if (filter != nullptr) {
      seeks_->outcomes.RecordMatch(&inner());
      seeks_->outcomes.CountReadBackwards(Valid() && IsAboveLower(), inner());
    }
  }
  SeekSampler sampler = Sampler();
  if (sampler.IsOn() && status().ok()) {
    sampler.SampleBackwards(user_key, inclusive,
                            /*found=*/Valid() &&
                                !(IsWaiting() && marker().IsEnd()) &&
                                IsAboveLower());
  }
}

void ProteanTableIterator::SeekToLast() {
  MakeSeeks();
  BeginSeek(/*target=*/nullptr, /*backwards=*/true);
  Asking asking(this);
  const FileRangeFilter* filter =
      bounds_.lower() != nullptr && CanWait() ? asking.Filter() : nullptr;
  if (filter != nullptr) {
    const SeekDecision decision = DecideSeekToLast(
        *filter, *bounds_.lower(),
        /*lower_is_known=*/!bounds_.stops_at_lower(), marker().new_user_key());
    if (decision.action == SeekDecision::Action::kEmpty &&
        !search().bounds().MaySkip()) {
      bounds_.WaiveLower();
      inner().SeekToLast();
      return;
    }
    if (Apply(decision, SeekKind::kClosed)) return;
  }
  inner().SeekToLast();
  StopAtLowerBound();
  if (filter != nullptr) {
    seeks_->outcomes.CountReadBackwards(Valid() && IsAboveLower(), inner());
  }
}

// ---- MultiScan ----

#if PROTEAN_HAS_MULTI_SCAN
bool ProteanTableIterator::MayHoldAnyOf(const MultiScanRanges& ranges) {
  Asking asking(this);
  const FileRangeFilter* filter = asking.Filter();
  if (filter == nullptr) return true;
  for (const ScanOptions& scan : ScansOf(ranges)) {
    const RangeOpt& range = scan.range;
    if (!range.start.has_value() || !range.limit.has_value() ||
        filter->RangeMayMatch(*range.start, *range.limit,
                              /*hi_inclusive=*/false)) {
      return true;
    }
  }
  return false;
}

// inner() reads ahead the ranges and then expects a seek to each of them, so
// the filter decides for all of them at once: either the file is spared, or its
// filter is not asked any more. An iterator that is not prepared may be sought
// as usual.
void ProteanTableIterator::Prepare(const MultiScanRanges* ranges) {
  if (ranges == nullptr) return;
  MakeSeeks();
  if (!MayHoldAnyOf(*ranges)) return;
  inner().Get()->Prepare(ranges);
  seeks_->prepared = true;
}
#endif

}  // namespace ROCKSDB_NAMESPACE::protean
