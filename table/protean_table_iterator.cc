// SPDX-License-Identifier: Apache-2.0

#include "table/protean_table_iterator.h"

#include <algorithm>
#include <string>

#include "db/dbformat.h"
#include "filter_policy/open_db/level_sums.h"
#include "filter_policy/parted_filter.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/slice_transform.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Data blocks that this thread has found in the cache, as far as it counts.
uint64_t DataBlocksInCache(const PerfContext& counters) {
  return counters.block_cache_hit_count - counters.block_cache_index_hit_count -
         counters.block_cache_filter_hit_count;
}

// Returns true if `end` is the first string above `key`. No file waits there
// (RunSearch::HasPassed).
bool IsRightAfter(const Slice& key, const Slice& end) {
  return end.size() == key.size() + 1 && end[key.size()] == '\0';
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
  if (search_ != nullptr) search_->Leave(this);
  if (seeks_ != nullptr) RecordPendingOutcome(/*still_waits=*/false);
}

inline const FileRangeFilter* ProteanTableIterator::Asking::Filter() {
  Seeks& seeks = *iterator_.seeks_;
  if (seeks.prepared || iterator_.inner().skip_filters()) return nullptr;
  if (seeks.view != nullptr) return &seeks.view->filter;
  const SeekBounds& bounds = iterator_.bounds_;
  const bool open = bounds.upper() == nullptr && bounds.lower() == nullptr;
  return iterator_.file_->GetRangeFilter(
      open ? AskedFor::kOpenSeek : AskedFor::kClosedSeek,
      iterator_.read_options(), iterator_.inner().caller(), &seeks.view);
}

inline void ProteanTableIterator::BeginSeek(const Slice* target, bool backwards,
                                            bool still_waits) {
  if (search_ != nullptr) search_->BeginSeek(file_, target, this);
  RecordPendingOutcome(still_waits);
  marker().set_moves(0);
  seeks_->has_skipped = false;
  watches_deletions_ =
      file_->deletions() != nullptr && !backwards && MaySkipDeletions();
  if (watches_deletions_) seeks_->ForgetDeletions();
  bounds_.Take(read_options());
  // Tailing iterators forget files in which a search has ended, and with a
  // table_filter, some files are not in the search.
  if (ThreadBounds::AreUsed() && search_ != nullptr &&
      !read_options().tailing && read_options().table_filter == nullptr) {
    bounds_.Add(search_->bounds().Take(target, backwards));
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
  if (!search_->bounds().MaySkip()) {
    bounds_.WaiveLower();
    return false;
  }
  SetEmpty(IterBoundCheck::kUnknown);
  return true;
}

// ---- Samples ----

inline void ProteanTableIterator::Sample(const Slice& target) {
  if (file_->queue() == nullptr) return;
  const bool found = Valid();
  // At a key the status is OK, and need not be copied.
  if (found ? search_ == nullptr : !status().ok()) return;
  // Beyond all keys of the file, there is nothing to learn without a bound: the
  // filter knows the largest key.
  if (!found && bounds_.upper() == nullptr &&
      inner().prefix_extractor() == nullptr) {
    return;
  }
  if (!file_->queue()->Tick() || !file_->IsOn()) return;
  if (found) {
    search_->Watch(target, /*backwards=*/false, /*inclusive=*/true, this);
  } else {
    RecordNothingFrom(target);
  }
}

void ProteanTableIterator::SampleBackwards(const Slice& target,
                                           bool inclusive) {
  if (file_->queue() == nullptr || !status().ok()) return;
  const bool found =
      Valid() && !(IsWaiting() && marker().IsEnd()) && IsAboveLower();
  if (found ? search_ == nullptr : bounds_.lower() == nullptr) return;
  if (!file_->queue()->Tick() || !file_->IsOn()) return;
  if (found) {
    search_->Watch(target, /*backwards=*/true, inclusive, this);
  } else {
    RecordEmptyRange(*bounds_.lower(), target, inclusive);
  }
}

void ProteanTableIterator::RecordNothingFrom(const Slice& target) {
  if (bounds_.upper() != nullptr) {
    RecordEmptyRange(target, *bounds_.upper(), /*hi_inclusive=*/false);
    return;
  }
  const SliceTransform* extractor = inner().prefix_extractor();
  if (!inner().SeeksPrefixes() || !extractor->InDomain(target)) return;
  // The range of which the block-based table has asked the filter.
  const Slice prefix = extractor->Transform(target);
  std::string end;
  if (target.starts_with(prefix) && FirstAfterPrefix(prefix, &end)) {
    RecordEmptyRange(prefix, end, /*hi_inclusive=*/false);
  }
}

// ---- Forward seeks ----

inline bool ProteanTableIterator::DecideForward(const FileRangeFilter& filter,
                                                const Slice& user_key,
                                                Waiting waiting) {
  const SeekDecision decision = DecideSeek(filter, user_key, bounds_.upper(),
                                           waiting, marker().new_user_key());
  if (waiting != Waiting::kForbidden &&
      decision.action != SeekDecision::Action::kEmpty &&
      filter.LowerBoundIsSlow(user_key)) {
    file_->NoteSlow();
  }
  return Apply(decision, bounds_.ForwardKind());
}

inline void ProteanTableIterator::ReadFrom(const Slice& target) {
  const PerfContext& counters = ThreadPerf::Context();
  const uint64_t read = counters.block_read_count;
  const uint64_t found = DataBlocksInCache(counters);
  Read()->Seek(target);
  StopAtUpperBound();
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
  const bool again = search_ != nullptr && search_->HasPassed(user_key);
  const int moves = !again        ? 0
                    : IsReading() ? Marker::kMaxMoves
                                  : marker().moves() + 1;
  const bool still_waits = again && WaitsForSearch();
  BeginSeek(&user_key, /*backwards=*/false, still_waits);
  marker().set_moves(
      static_cast<uint8_t>(std::min<int>(moves, Marker::kMaxMoves)));
  const SeekKind kind = bounds_.ForwardKind();
  SeekBackoff& backoff = seeks_->outcomes.backoff();
  const bool may_wait = CanWait() && moves < Marker::kMaxMoves &&
                        !(file_->IsSlow() && backoff.ReadsAreCheap()) &&
                        (kind == SeekKind::kClosed || backoff.ShouldWait());
  Asking asking(this);
  const FileRangeFilter* filter =
      kind == SeekKind::kClosed || may_wait ? asking.Filter() : nullptr;
  const Waiting waiting = !may_wait ? Waiting::kForbidden
                          : again   ? Waiting::kNotAtTarget
                                    : Waiting::kAllowed;
  if (filter == nullptr || !(DecideForward(*filter, user_key, waiting) ||
                             SkipMiss(*filter, user_key, waiting))) {
    ReadFrom(target);
    if (still_waits) {
      seeks_->outcomes.CountReached(kind, Valid(), &inner());
    } else if (filter != nullptr) {
      seeks_->outcomes.CountRead(kind, Valid(), &inner());
      if (file_->SeesAllVersions(target)) NoteGap(user_key);
    }
    if (may_wait || still_waits) seeks_->outcomes.CountUselessWait(kind);
  }
  Sample(user_key);
}

void ProteanTableIterator::SeekAgain(const Slice& target) {
  Read()->Seek(target);
  StopAtUpperBound();
  seeks_->outcomes.CountReadAgain(bounds_.ForwardKind(), Valid(), inner());
  Sample(file_->UserKey(target));
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
  Read()->SeekToFirst();
  StopAtUpperBound();
  if (filter != nullptr) {
    seeks_->outcomes.CountRead(SeekKind::kClosed, Valid(), &inner());
  }
}

// ---- Markers ----

void ProteanTableIterator::LeaveMarker() {
  Asking asking(this);
  if ((marker().purpose() == Marker::Purpose::kProbe && MoveMarker(&asking)) ||
      (!marker().IsEnd() && SkipMissAtMarker(&asking))) {
    if (StopAtUpperBound()) seeks_->outcomes.CountNegative(SeekKind::kClosed);
    search_->Follow(this);
  } else if (!watches_deletions_ || marker().IsEnd() ||
             !SkipDeletions(marker().user_key())) {
    ReadFromMarker();
  }
}

bool ProteanTableIterator::MoveMarker(Asking* asking) {
  const Slice begin = marker().user_key();
  search_->Pass(begin);
  if (!marker().MayMove() || (marker().moves() >= Marker::kMaxMovesIfCached &&
                              seeks_->outcomes.backoff().ReadsAreCheap())) {
    return false;
  }
  const FileRangeFilter* filter = asking->Filter();
  return filter != nullptr && MoveOn(*filter, search_->NextStop(begin, this),
                                     file_->marker_sequence(), &marker());
}

void ProteanTableIterator::ReadFromMarker() {
  ReadFrom(marker().key());
  if (!marker().IsEnd()) NoteGap(marker().user_key());
  // With async_io, the block may be on its way.
  if (read_options().async_io && status().IsTryAgain()) {
    Read()->Seek(marker().key());
    StopAtUpperBound();
  }
  if (marker().IsEnd()) return;
  if (seeks_->has_skipped) {
    search_->FollowSkip(this);
    return;
  }
  const SeekKind kind = bounds_.ForwardKind();
  seeks_->outcomes.CountReached(kind, Valid(), &inner());
  seeks_->outcomes.CountUselessWait(kind);
  if (search_ != nullptr && status().ok()) search_->Follow(this);
}

void ProteanTableIterator::ReadBeforeMarker() {
  seeks_->view.reset();
  Read()->SeekForPrev(marker().key());
  StopAtLowerBound();
  if (!marker().IsEnd()) {
    seeks_->outcomes.CountReached(bounds_.ForwardKind(), Valid(), &inner());
  }
}

// ---- Misses ----

void ProteanTableIterator::NoteGap(const Slice& begin) {
  const bool found = Valid();
  const bool is_open = bounds_.ForwardKind() == SeekKind::kOpen;
  if (!file_->remembers_misses() || found != is_open ||
      !inner()->status().ok()) {
    return;
  }
  // RocksDB may have asked the filter for a prefix, and have read nothing.
  if (inner().prefix_extractor() != nullptr &&
      (inner().SeeksPrefixes() || !read_options().total_order_seek)) {
    return;
  }
  const Slice end =
      inner()->Valid() ? file_->UserKey(inner()->key()) : *bounds_.upper();
  if (!is_open) return file_->AddMiss(begin, end);
  if (begin.data() != marker().key().data()) {
    marker().new_user_key()->assign(begin.data(), begin.size());
    marker().Place(Marker::Purpose::kNextKey, file_->marker_sequence());
  }
  has_gap_ = true;
}

void ProteanTableIterator::RememberGap() {
  has_gap_ = false;
  if (inner().HasReadInVain() && inner()->Valid()) {
    file_->AddMiss(marker().user_key(), file_->UserKey(inner()->key()));
  }
}

bool ProteanTableIterator::SkipMiss(const FileRangeFilter& filter,
                                    const Slice& user_key, Waiting waiting) {
  std::string end;
  if (!file_->FindMiss(user_key, &end)) return false;
  const Slice* const upper = bounds_.upper();
  SeekDecision decision;
  if (upper != nullptr && upper->compare(end) <= 0) {
    decision = SeekDecision::Empty(filter.HasKeyAtOrAbove(*upper));
  } else if (waiting == Waiting::kAllowed && filter.HasKeyAtOrAbove(end) &&
             !IsRightAfter(user_key, end)) {
    marker().new_user_key()->swap(end);
    decision = SeekDecision::Wait(Marker::Purpose::kNextKey);
  } else {
    return false;
  }
  file_->CountMissHit();
  return Apply(decision, bounds_.ForwardKind());
}

bool ProteanTableIterator::SkipMissAtMarker(Asking* asking) {
  const Slice begin = marker().user_key();
  std::string end;
  if (marker().moves() >= Marker::kMaxMoves || !file_->FindMiss(begin, &end) ||
      IsRightAfter(begin, end)) {
    return false;
  }
  const FileRangeFilter* const filter = asking->Filter();
  if (filter == nullptr || !filter->HasKeyAtOrAbove(end)) return false;
  search_->Pass(begin);
  marker().Move(&end, file_->marker_sequence());
  file_->CountMissHit();
  return true;
}

// ---- Deletions ----

bool ProteanTableIterator::MaySkipDeletions() const {
  return CanWait() && !seeks_->prepared && !read_options().pin_data &&
         read_options().table_filter == nullptr && file_->IsOn() &&
         DeletionSkips::AreAllowed();
}

bool ProteanTableIterator::FindNextValue(const Slice& from, const Slice* limit,
                                         std::string* next) {
  Asking asking(this);
  const SearchPosition position = Position();
  if (position.kind == SearchPosition::Kind::kNone) {
    // LevelIterator may stand before the next file.
    return file_->has_range_deletions() &&
           NextValue(nullptr, nullptr, from, from, limit, next);
  }
  // At a key from there on, the filter has nothing to add.
  const bool knows = position.kind == SearchPosition::Kind::kKey &&
                     position.user_key.compare(from) >= 0;
  return NextValue(knows ? nullptr : asking.Filter(), file_->deletions(),
                   position.user_key, from, limit, next);
}

bool ProteanTableIterator::WatchDeletions() {
  if (!inner()->Valid()) return false;
  Seeks& seeks = *seeks_;
  if (!IsDeletion(ExtractValueType(inner()->key()))) {
    seeks.ForgetDeletions();
    return false;
  }
  if (++seeks.deletions < seeks.ask_after) return false;
  seeks.ask_after += std::min(seeks.deletions, kMaxDeletionsBetween);
  // The copy outlives the iterator's position.
  const std::string from = file_->UserKey(inner()->key()).ToString();
  return SkipDeletions(from);
}

bool ProteanTableIterator::SkipDeletions(const Slice& from) {
  std::string to;
  if (!search_->SkipDeletions(from, this, &to)) return false;
  search_->Pass(from);
  seeks_->ForgetDeletions();
  seeks_->has_skipped = IsReading() || seeks_->has_skipped;
  seeks_->outcomes.CountDeletionsSkipped(bounds_.ForwardKind());
  marker().new_user_key()->swap(to);
  // The filter knows the deleted keys, and has little to say of what follows.
  marker().Place(Marker::Purpose::kNextKey, file_->marker_sequence());
  SetWaiting();
  StopAtUpperBound();
  search_->FollowSkip(this);
  return true;
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
    Read()->SeekForPrev(target);
    StopAtLowerBound();
    if (filter != nullptr) {
      seeks_->outcomes.RecordMatch(&inner());
      seeks_->outcomes.CountReadBackwards(Valid() && IsAboveLower(), inner());
    }
  }
  SampleBackwards(user_key, inclusive);
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
        !search_->bounds().MaySkip()) {
      bounds_.WaiveLower();
      Read()->SeekToLast();
      return;
    }
    if (Apply(decision, SeekKind::kClosed)) return;
  }
  Read()->SeekToLast();
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
