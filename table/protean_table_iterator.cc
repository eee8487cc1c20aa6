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
  return iterator.arguments().caller == TableReaderCaller::kUserIterator &&
         !iterator.SeeksPrefixes() && !read_options.tailing &&
         read_options.max_skippable_internal_keys == 0 && file.allows_markers();
}

}  // namespace

ProteanTableIterator::ProteanTableIterator(
    FilteredFile* file, const ReadOptions& read_options,
    const FileIterator::Arguments& arguments)
    : file_(file),
      inner_(file->file(), read_options, arguments),
      markers_allowed_(AllowsMarkers(*file, inner_)),
      // With pin_data, RocksDB keeps the files that it has left; with a
      // table_filter, some files are not in the search (seek_decision.h).
      skips_allowed_(markers_allowed_ && !read_options.pin_data &&
                     read_options.table_filter == nullptr),
      outcomes_(
          file->open_file(), &inner_, file->file().statistics(),
          file->file().statistics() != nullptr && file->file().IsLastLevel()) {
  // RocksDB may ask a filter for a prefix, and show nothing of the file.
  const bool sees_all =
      inner_.prefix_extractor() == nullptr || read_options.total_order_seek;
  if (skips_allowed_ && sees_all && !read_options.async_io) {
    dead_range_file = file->dead_range_number();
  }
}

ProteanTableIterator::~ProteanTableIterator() {
  if (search_ != nullptr) search_->Leave(this);
  RecordPendingOutcome(/*still_waits=*/false);
}

inline const FileRangeFilter* ProteanTableIterator::Filter() {
  if (prepared_ || inner_.arguments().skip_filters) return nullptr;
  if (view_ != nullptr) return &view_->filter;
  const bool open = bounds_.upper() == nullptr && bounds_.lower() == nullptr;
  return file_->GetRangeFilter(
      open ? AskedFor::kOpenSeek : AskedFor::kClosedSeek, read_options(),
      inner_.arguments().caller, &view_);
}

inline void ProteanTableIterator::BeginSeek(const Slice* target, bool backwards,
                                            bool still_waits) {
  if (search_ != nullptr) search_->BeginSeek(file_, target, this);
  RecordPendingOutcome(still_waits);
  marker_.set_moves(0);
  has_skipped_ = false;
  if (search_ != nullptr && backwards) search_->dead_ranges().Forbid();
  watches_deletions_ =
      !backwards &&
      ((file_->deletions() != nullptr && MaySkipDeletions()) ||
       (search_ != nullptr && search_->dead_ranges().IsSkipping()));
  if (watches_deletions_) ForgetDeletions();
  bounds_.Take(read_options());
  // Tailing iterators forget files in which a search has ended, and with a
  // table_filter, some files are not in the search.
  if (ThreadBounds::AreUsed() && search_ != nullptr &&
      !read_options().tailing && read_options().table_filter == nullptr) {
    bounds_.Add(search_->bounds().Take(target, backwards));
  }
}

void ProteanTableIterator::Act(const SeekDecision& decision) {
  if (decision.action == SeekDecision::Action::kEmpty) {
    SetEmpty(decision.has_key_beyond ? IterBoundCheck::kOutOfBound
                                     : IterBoundCheck::kUnknown);
  } else {
    state_ = State::kWaiting;
    bound_check_ = IterBoundCheck::kUnknown;
    marker_.Place(decision.purpose, file_->marker_sequence());
    if (marker_.IsEnd()) view_.reset();
  }
}

bool ProteanTableIterator::Apply(const SeekDecision& decision, SeekKind kind) {
  if (decision.action == SeekDecision::Action::kRead) return false;
  Act(decision);
  if (!WaitsForSearch()) outcomes_.CountNegative(kind);
  return true;
}

// ---- Samples ----

inline void ProteanTableIterator::Sample(const Slice& target, bool backwards,
                                         bool inclusive) {
  if (file_->queue() == nullptr) return;
  const bool found = backwards ? HasFoundBackwards() : Valid();
  if (found) {
    if (search_ == nullptr) return;
  } else {
    // Without a bound, there is nothing to learn beyond the file's first or
    // last key: the filter knows them. At a key the status is OK, and need not
    // be copied.
    const bool has_end = backwards ? bounds_.lower() != nullptr
                                   : bounds_.upper() != nullptr ||
                                         inner_.prefix_extractor() != nullptr;
    if (!has_end || !status().ok()) return;
  }
  if (!file_->queue()->Tick() || !file_->IsOn()) return;
  if (found) {
    search_->Watch(target, backwards, inclusive, this);
  } else if (backwards) {
    RecordEmptyRange(*bounds_.lower(), target, inclusive);
  } else {
    RecordNothingFrom(target);
  }
}

void ProteanTableIterator::RecordNothingFrom(const Slice& target) {
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

// ---- Forward seeks ----

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
  outcomes_.backoff().OnRead(/*from_cache=*/!from_file);
  file_->gets()->CountSeek(/*from_cache=*/!from_file);
}

void ProteanTableIterator::Seek(const Slice& target) {
  const Slice user_key = file_->UserKey(target);
  if (read_options().async_io && status().IsTryAgain()) {
    // The block of the seek was not there yet.
    Read()->Seek(target);
    StopAtUpperBound();
    outcomes_.CountReadAgain(bounds_.ForwardKind(), Valid());
    return Sample(user_key, /*backwards=*/false, /*inclusive=*/true);
  }
  // This seek continues the search (run_search.h). A file that reads goes on
  // reading, and one that waits has moved. Otherwise all of many files would
  // come to wait at one place again and again, and each time RocksDB would seek
  // all of them.
  const bool again = search_ != nullptr && search_->HasPassed(user_key);
  const int moves = !again        ? 0
                    : IsReading() ? Marker::kMaxMoves
                                  : marker_.moves() + 1;
  const bool still_waits = again && WaitsForSearch();
  BeginSeek(&user_key, /*backwards=*/false, still_waits);
  if (search_ != nullptr) {
    search_->dead_ranges().OnSeek(ExtractInternalKeyFooter(target), round);
    // The thread's bounds may change before the next file of a level is sought.
    if (bounds_.stops_at_upper()) search_->dead_ranges().Stop();
    if (file_->has_dead_ranges() && WaitForDeadRange(user_key)) return;
  }
  marker_.set_moves(
      static_cast<uint8_t>(std::min<int>(moves, Marker::kMaxMoves)));
  const SeekKind kind = bounds_.ForwardKind();
  SeekBackoff& backoff = outcomes_.backoff();
  const bool may_wait = CanWait() && moves < Marker::kMaxMoves &&
                        !(file_->IsSlow() && backoff.ReadsAreCheap()) &&
                        (kind == SeekKind::kClosed || backoff.ShouldWait());
  const FileRangeFilter* filter =
      kind == SeekKind::kClosed || may_wait ? Filter() : nullptr;
  const bool is_asked = filter != nullptr;
  const Waiting waiting = !may_wait ? Waiting::kForbidden
                          : again   ? Waiting::kNotAtTarget
                                    : Waiting::kAllowed;
  bool has_decided = false;
  if (is_asked) {
    const SeekDecision decision = DecideSeek(*filter, user_key, bounds_.upper(),
                                             waiting, marker_.new_user_key());
    if (may_wait && decision.action != SeekDecision::Action::kEmpty &&
        filter->LowerBoundIsSlow(user_key)) {
      file_->NoteSlow();
    }
    has_decided = Apply(decision, kind) || SkipMiss(*filter, user_key, waiting);
  }
  if (!has_decided) {
    ReadFrom(target);
    if (still_waits) {
      outcomes_.CountReached(kind, Valid());
    } else if (is_asked) {
      outcomes_.CountRead(kind, Valid());
      if (file_->SeesAllVersions(ExtractInternalKeyFooter(target))) {
        NoteGap(user_key);
      }
    }
    if (may_wait || still_waits) outcomes_.CountUselessWait(kind);
    if (HasLandedInDeadRange()) return;
  }
  Sample(user_key, /*backwards=*/false, /*inclusive=*/true);
}

// SeekToFirst is not sampled: where a search that began in the file before goes
// on in this one, only LevelIterator knows its target. For the same reason
// there is no marker to wait at: the search is at this file already.
void ProteanTableIterator::SeekToFirst() {
  const bool is_new = round == 0;
  BeginSeek(/*target=*/nullptr, /*backwards=*/false);
  if (search_ != nullptr) search_->dead_ranges().OnSeekToFirst(is_new);
  const FileRangeFilter* filter =
      bounds_.upper() != nullptr ? Filter() : nullptr;
  const bool is_asked = filter != nullptr;
  if (is_asked &&
      Apply(DecideSeekToFirst(*filter, *bounds_.upper()), SeekKind::kClosed)) {
    return;
  }
  Read()->SeekToFirst();
  StopAtUpperBound();
  if (is_asked) outcomes_.CountRead(SeekKind::kClosed, Valid());
  HasLandedInDeadRange();
}

// ---- Markers ----

void ProteanTableIterator::LeaveMarker() {
  if (!marker_.IsEnd() && file_->has_dead_ranges()) {
    const std::string from = marker_.user_key().ToString();
    if (SkipDeadRange(from, /*may_ask=*/true)) return;
  }
  if ((marker_.purpose() == Marker::Purpose::kProbe && MoveMarker()) ||
      (!marker_.IsEnd() && SkipMissAtMarker())) {
    if (StopAtUpperBound()) outcomes_.CountNegative(SeekKind::kClosed);
    search_->Follow(this);
  } else if (!watches_deletions_ || marker_.IsEnd() ||
             !SkipDeletions(marker_.user_key())) {
    ReadFromMarker();
  }
}

bool ProteanTableIterator::MoveMarker() {
  const Slice begin = marker_.user_key();
  search_->Pass(begin);
  if (!marker_.MayMove() || (marker_.moves() >= Marker::kMaxMovesIfCached &&
                             outcomes_.backoff().ReadsAreCheap())) {
    return false;
  }
  const FileRangeFilter* filter = Filter();
  return filter != nullptr &&
         MoveOn(*filter, search_->runs().NextStop(this, begin),
                file_->marker_sequence(), &marker_);
}

void ProteanTableIterator::ReadFromMarker() {
  ReadFrom(marker_.key());
  if (!marker_.IsEnd()) NoteGap(marker_.user_key());
  // With async_io, the block may be on its way.
  if (read_options().async_io && status().IsTryAgain()) {
    Read()->Seek(marker_.key());
    StopAtUpperBound();
  }
  if (marker_.IsEnd()) return;
  if (has_skipped_) {
    search_->runs().Follow(this);
  } else {
    const SeekKind kind = bounds_.ForwardKind();
    outcomes_.CountReached(kind, Valid());
    outcomes_.CountUselessWait(kind);
    if (search_ != nullptr && status().ok()) search_->Follow(this);
  }
  HasLandedInDeadRange();
}

void ProteanTableIterator::ReadBeforeMarker() {
  Read()->SeekForPrev(marker_.key());
  StopAtLowerBound();
  if (!marker_.IsEnd()) {
    outcomes_.CountReached(bounds_.ForwardKind(), Valid());
  }
}

// ---- Misses ----

void ProteanTableIterator::NoteGap(const Slice& begin) {
  const bool found = Valid();
  const bool is_open = bounds_.ForwardKind() == SeekKind::kOpen;
  if (!file_->remembers_misses() || found != is_open ||
      !inner_->status().ok()) {
    return;
  }
  // RocksDB may have asked the filter for a prefix, and have read nothing.
  if (inner_.prefix_extractor() != nullptr &&
      (inner_.SeeksPrefixes() || !read_options().total_order_seek)) {
    return;
  }
  const Slice end =
      inner_->Valid() ? file_->UserKey(inner_->key()) : *bounds_.upper();
  if (!is_open) return file_->AddMiss(begin, end);
  if (begin.data() != marker_.key().data()) {
    marker_.new_user_key()->assign(begin.data(), begin.size());
    marker_.Place(Marker::Purpose::kNextKey, file_->marker_sequence());
  }
  has_gap_ = true;
}

void ProteanTableIterator::RememberGap() {
  has_gap_ = false;
  if (inner_.HasReadInVain() && inner_->Valid()) {
    file_->AddMiss(marker_.user_key(), file_->UserKey(inner_->key()));
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
    marker_.new_user_key()->swap(end);
    decision = SeekDecision::Wait(Marker::Purpose::kNextKey);
  } else {
    return false;
  }
  file_->CountMissHit();
  return Apply(decision, bounds_.ForwardKind());
}

bool ProteanTableIterator::SkipMissAtMarker() {
  const Slice begin = marker_.user_key();
  std::string end;
  if (marker_.moves() >= Marker::kMaxMoves || !file_->FindMiss(begin, &end) ||
      IsRightAfter(begin, end)) {
    return false;
  }
  const FileRangeFilter* const filter = Filter();
  if (filter == nullptr || !filter->HasKeyAtOrAbove(end)) return false;
  search_->Pass(begin);
  marker_.Move(&end, file_->marker_sequence());
  file_->CountMissHit();
  return true;
}

// ---- Deletions ----

bool ProteanTableIterator::FindNextValue(const Slice& from, const Slice* limit,
                                         std::string* next) {
  const SearchPosition position = Position();
  if (position.kind == SearchPosition::Kind::kNone) {
    // LevelIterator may stand before the next file.
    return file_->has_range_deletions() &&
           NextValue(nullptr, nullptr, from, from, limit, next);
  }
  // At a key from there on, the filter has nothing to add.
  const bool knows = position.kind == SearchPosition::Kind::kKey &&
                     position.user_key.compare(from) >= 0;
  const bool found = NextValue(knows ? nullptr : Filter(), file_->deletions(),
                               position.user_key, from, limit, next);
  if (!WaitsForSearch()) view_.reset();
  return found;
}

bool ProteanTableIterator::WatchDeletions() {
  if (!inner_->Valid()) return false;
  const bool is_deletion = IsDeletion(ExtractValueType(inner_->key()));
  if (is_deletion) {
    deletions_++;
  } else {
    ForgetDeletions();
  }
  DeadRangeSearch& dead_ranges = search_->dead_ranges();
  if (is_deletion) dead_ranges.OnDeletion(file_->UserKey(inner_->key()));
  const bool asks = is_deletion && deletions_ >= ask_after_;
  const bool asks_first = is_deletion &&
                          (asks || deletions_ <= kFirstDeletions) &&
                          file_->has_dead_ranges();
  if (!asks && !asks_first && !dead_ranges.IsSkipping()) return false;
  // The copy outlives the iterator's position.
  const std::string from = file_->UserKey(inner_->key()).ToString();
  if (SkipDeadRange(from, /*may_ask=*/asks_first)) return true;
  if (!asks || !MaySkipDeletions()) return false;
  ask_after_ += std::min(deletions_, kMaxDeletionsBetween);
  return SkipDeletions(from);
}

void ProteanTableIterator::BeginSkip(const Slice& from, bool dead) {
  search_->OnSkip(from, dead, this);
  ForgetDeletions();
  has_gap_ = false;
  has_skipped_ = IsReading() || has_skipped_;
  outcomes_.CountDeletionsSkipped(bounds_.ForwardKind());
}

bool ProteanTableIterator::SkipDeletions(const Slice& from) {
  std::string to;
  if (!search_->SkipDeletions(from, this, &to)) return false;
  BeginSkip(from, /*dead=*/false);
  marker_.new_user_key()->swap(to);
  // The filter knows the deleted keys, and has little to say of what follows.
  Act(SeekDecision::Wait(Marker::Purpose::kNextKey));
  StopAtUpperBound();
  return true;
}

// ---- Dead ranges ----

void ProteanTableIterator::LimitToFile(std::string* to) {
  if (inner_.is_alone()) return;
  const FileRangeFilter* const filter = Filter();
  if (filter == nullptr) {
    to->clear();
  } else if (!filter->HasKeyAtOrAbove(*to) &&
             filter->largest().compare(*to) < 0) {
    *to = filter->largest().ToString();
  }
  if (!WaitsForSearch()) view_.reset();
}

bool ProteanTableIterator::HasLandedInDeadRange() {
  return search_ != nullptr && search_->dead_ranges().IsSkipping() &&
         IsReading() && inner_->Valid() &&
         SkipDeadRange(file_->UserKey(inner_->key()).ToString(),
                       /*may_ask=*/false);
}

bool ProteanTableIterator::WaitForDeadRange(const Slice& target) {
  if (dead_range_file == 0) return false;
  SetEmpty(IterBoundCheck::kUnknown);  // wherever the last seek has ended
  if (SkipDeadRange(target, /*may_ask=*/false)) return true;
  if (!MaySkipDeletions()) return false;
  const auto range = file_->FindDeadRange(target);
  if (range == nullptr || !search_->dead_ranges().Sees(*range) ||
      target.compare(range->first) >= 0 ||
      (bounds_.upper() != nullptr &&
       bounds_.upper()->compare(range->first) <= 0)) {
    return false;
  }
  *marker_.new_user_key() = range->first;
  Act(SeekDecision::Wait(Marker::Purpose::kNextKey));
  return true;
}

bool ProteanTableIterator::SkipDeadRange(const Slice& from, bool may_ask) {
  if (search_ == nullptr || dead_range_file == 0) return false;
  std::string to;
  if (!search_->dead_ranges().MustSkip(dead_range_file, from, &to)) {
    if (!may_ask || !MaySkipDeletions()) return false;
    auto range = file_->FindDeadRange(from);
    if (range == nullptr ||
        !search_->dead_ranges().Skip(std::move(range), from, &to)) {
      return false;
    }
  }
  BeginSkip(from, /*dead=*/true);
  // From there on, the file is asked as by a seek.
  const FileRangeFilter* const filter = Filter();
  SeekDecision decision;
  if (filter != nullptr) {
    decision = DecideSeek(*filter, to, bounds_.upper(), Waiting::kNotAtTarget,
                          marker_.new_user_key());
  }
  if (decision.action == SeekDecision::Action::kRead) {
    marker_.new_user_key()->swap(to);
    decision =
        SeekDecision::Wait(filter != nullptr && filter->LowerBoundIsLoose()
                               ? Marker::Purpose::kProbe
                               : Marker::Purpose::kNextKey);
  }
  Act(decision);
  if (IsWaiting()) {
    StopAtUpperBound();
  } else if (!has_skipped_) {
    outcomes_.CountNegative(bounds_.ForwardKind());
  }
  return true;
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
  const FileRangeFilter* filter = closed && CanWait() ? Filter() : nullptr;
  const bool is_asked = filter != nullptr;
  if (!is_asked ||
      !Apply(DecideSeekForPrev(*filter, user_key, inclusive, *bounds_.lower(),
                               /*lower_is_known=*/!bounds_.stops_at_lower(),
                               marker_.new_user_key()),
             SeekKind::kClosed)) {
    Read()->SeekForPrev(target);
    StopAtLowerBound();
    if (is_asked) {
      outcomes_.RecordMatch();
      outcomes_.CountReadBackwards(HasFoundBackwards());
    }
  }
  Sample(user_key, /*backwards=*/true, inclusive);
}

void ProteanTableIterator::SeekToLast() {
  BeginSeek(/*target=*/nullptr, /*backwards=*/true);
  const FileRangeFilter* filter =
      bounds_.lower() != nullptr && CanWait() ? Filter() : nullptr;
  const bool is_asked = filter != nullptr;
  if (is_asked) {
    const SeekDecision decision = DecideSeekToLast(
        *filter, *bounds_.lower(),
        /*lower_is_known=*/!bounds_.stops_at_lower(), marker_.new_user_key());
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
  if (is_asked) outcomes_.CountReadBackwards(HasFoundBackwards());
}

// ---- MultiScan ----

#if PROTEAN_HAS_MULTI_SCAN
// inner_ reads ahead the ranges and then expects a seek to each of them, so
// the filter decides for all of them at once: either the file is spared, or its
// filter is not asked any more. An iterator that is not prepared may be sought
// as usual.
void ProteanTableIterator::Prepare(const MultiScanRanges* ranges) {
  if (ranges == nullptr) return;
  const FileRangeFilter* const filter = Filter();
  const std::vector<ScanOptions>& scans = ScansOf(*ranges);
  prepared_ =
      filter == nullptr ||
      std::any_of(scans.begin(), scans.end(), [&](const ScanOptions& scan) {
        const RangeOpt& range = scan.range;
        return !range.start.has_value() || !range.limit.has_value() ||
               filter->RangeMayMatch(*range.start, *range.limit,
                                     /*hi_inclusive=*/false);
      });
  if (search_ != nullptr) search_->dead_ranges().Forbid();
  if (!WaitsForSearch()) view_.reset();
  if (prepared_) inner_.Get()->Prepare(ranges);
}
#endif

}  // namespace ROCKSDB_NAMESPACE::protean
