#include "table/protean_table_iterator.h"

#include <algorithm>

#include "db/dbformat.h"
#include "monitoring/perf_context_imp.h"
#include "monitoring/statistics_impl.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// That this thread has found, as far as it counts.
uint64_t DataBlocksInCache() {
  return perf_context.block_cache_hit_count -
         perf_context.block_cache_index_hit_count -
         perf_context.block_cache_filter_hit_count;
}

// Turns a user key into one right below it: at most keys that share all but the
// last byte and go on with 0xFF lie between the two. REQUIRES: !key->empty()
void MoveBelow(std::string* key) {
  if (key->back() == '\0') {
    key->pop_back();
  } else {
    key->back() = static_cast<char>(static_cast<uint8_t>(key->back()) - 1);
    key->append(8, '\xff');
  }
}

// Whether seeks ask for keys with the prefix of their target only.
bool SeeksPrefixes(const ReadOptions& read_options,
                   const ProteanTableIterator::Arguments& arguments) {
  return arguments.prefix_extractor != nullptr &&
         (read_options.prefix_same_as_start ||
          !(read_options.total_order_seek || read_options.auto_prefix_mode));
}

bool AllowsMarkers(const ReadOptions& read_options,
                   const ProteanTableIterator::Arguments& arguments,
                   const BlockBasedFile& file) {
  // Markers may be on their way when keys with a prefix of their own are
  // expected; a tailing iterator sees all sequence numbers; and whoever limits
  // how many keys may be skipped, does not mean markers.
  return arguments.caller == TableReaderCaller::kUserIterator &&
         !SeeksPrefixes(read_options, arguments) && !read_options.tailing &&
         read_options.max_skippable_internal_keys == 0 &&
         file.user_comparator() == BytewiseComparator();
}

}  // namespace

ProteanTableIterator::ProteanTableIterator(ProteanTableReader* reader,
                                           const ReadOptions& read_options,
                                           const Arguments& arguments)
    : reader_(reader),
      read_options_(read_options),
      arguments_(arguments),
      markers_allowed_(AllowsMarkers(read_options, arguments, reader->file())),
      backoff_(reader->NewBackoff()),
      lookup_context_(arguments.caller) {}

ProteanTableIterator::~ProteanTableIterator() {
  if (search_ != nullptr) search_->Leave(this);
  Reset();
  if (until_hand_over_ < kMostTallied) HandOver();
}

void ProteanTableIterator::TakeThreadBounds(const Slice* target,
                                            bool backwards) {
  // With a table_filter, some files are not in the search.
  if (read_options_.table_filter == nullptr) {
    thread_bounds_ = search_->TakeThreadBounds(target, backwards);
  }
  if (thread_bounds_ != nullptr) {
    if (upper_bound_ == nullptr) upper_bound_ = thread_bounds_->upper();
    if (lower_bound_ == nullptr) lower_bound_ = thread_bounds_->lower();
  }
  SetReading();
}

bool ProteanTableIterator::StopAtUpperBound() {
  if (upper_bound_ == read_options_.iterate_upper_bound || !Valid() ||
      reader_->UserKey(key()).compare(*upper_bound_) < 0) {
    return false;
  }
  state_ = State::kFiltered;
  filtered_bound_ = IterBoundCheck::kOutOfBound;
  return true;
}

bool ProteanTableIterator::StopAtLowerBound() {
  if (goes_below_ || IsLowerBoundKnown() || !Valid() ||
      reader_->UserKey(key()).compare(*lower_bound_) >= 0) {
    return false;
  }
  if (!search_->MayLeaveOut()) {
    goes_below_ = true;
    return false;
  }
  state_ = State::kFiltered;
  filtered_bound_ = IterBoundCheck::kUnknown;
  return true;
}

void ProteanTableIterator::MakeInner() {
  inner_.Make(reader_->file(), read_options_, arguments_.prefix_extractor,
              arguments_.arena, arguments_.caller,
              arguments_.compaction_readahead_size,
              arguments_.allow_unprepared_value);
  if (pinned_iters_manager_ != nullptr) {
    inner_->SetPinnedItersMgr(pinned_iters_manager_);
  }
  if (readahead_.has_value()) inner_->SetReadaheadState(&*readahead_);
  if (IsReading()) SetReading();
}

void ProteanTableIterator::SeekInner(const Slice& target) {
  const uint64_t read = perf_context.block_read_count;
  const uint64_t found = DataBlocksInCache();
  Inner()->Seek(target);
  // Whatever else has happened, such as a block that was read ahead, or that
  // nobody counts, tells nothing.
  if (perf_context.block_read_count > read) {
    backoff_.OnRead(/*from_cache=*/false);
  } else if (DataBlocksInCache() > found) {
    backoff_.OnRead(/*from_cache=*/true);
  }
}

const FilterBlock* ProteanTableIterator::Filter(FilterHold* hold) {
  if (prepared_) return nullptr;
  return reader_->GetRangeFilter(read_options_, &lookup_context_, hold);
}

#if PROTEAN_HAS_MULTI_SCAN
bool ProteanTableIterator::MayHoldAnyOf(const MultiScanArgs& scans) {
  FilterHold hold;
  const FilterBlock* filter = Filter(&hold);
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

// The inner iterator reads ahead what lies in the ranges and then expects a
// seek to each of them, so the filter decides for all of them at once: it
// spares the file, or it is not asked any more. An iterator that is not
// prepared may be sought as ever.
void ProteanTableIterator::Prepare(const MultiScanArgs* scans) {
  if (scans == nullptr || !MayHoldAnyOf(*scans)) return;
  Inner()->Prepare(scans);
  prepared_ = true;
}
#endif

void ProteanTableIterator::Reset() {
  if (state_ == State::kWaiting && !waits_in_vain_) {
    RecordFiltered();
    if (ForwardKind() == SeekKind::kOpen) {
      backoff_.OnPassed();
      Count(SeekKind::kOpen, SeekEvent::kPassed);
    } else {
      Count(SeekKind::kClosed, SeekEvent::kPassed);
    }
  }
  if (unsettled_ != Unsettled::kNothing) CountUnsettled();
  SetReading();
  waits_in_vain_ = false;
  goes_below_ = false;
  moves_ = 0;
}

void ProteanTableIterator::SetFiltered(SeekKind kind) {
  state_ = State::kFiltered;
  filtered_bound_ = IterBoundCheck::kUnknown;
  Count(kind, SeekEvent::kNegative);
  RecordFiltered();
}

void ProteanTableIterator::SetFilteredBelow(const FilterBlock& filter,
                                            const Slice& upper_bound) {
  SetFiltered(SeekKind::kClosed);
  if (filter.HasKeyAtOrAbove(upper_bound)) {
    filtered_bound_ = IterBoundCheck::kOutOfBound;
  }
}

void ProteanTableIterator::Wait(bool filtered) {
  state_ = State::kWaiting;
  waits_in_vain_ = filtered;
  if (filtered) {
    RecordFiltered();
    // Only backwards, under a lower bound.
    Count(SeekKind::kClosed, SeekEvent::kNegative);
  }
  CompleteMarker();
}

void ProteanTableIterator::CompleteMarker() {
  PutFixed64(&marker_,
             PackSequenceAndType(reader_->marker_sequence(), kTypeValue));
}

bool ProteanTableIterator::MoveMarker() {
  search_->PassBy(ExtractUserKey(marker_));
  if (moves_ == kMostMoves) return false;
  FilterHold hold;
  const FilterBlock* filter = Filter(&hold);
  if (filter == nullptr || !FindNextMarker(*filter)) return false;
  moves_++;
  CompleteMarker();
  return true;
}

// Behind the key, or at the marker, of another file, or as far as prefixes can
// be tried.
bool ProteanTableIterator::FindNextMarker(const FilterBlock& filter) {
  const Slice begin = ExtractUserKey(marker_);
  const RunSearch::Stop stop = search_->NextStop(this, begin);
  if (stop.kind != RunSearch::Stop::kNone &&
      MoveBehind(filter, begin, stop.user_key,
                 /*inclusive=*/stop.kind == RunSearch::Stop::kKey)) {
    return true;
  }
  std::string bound;
  if (!filter.LowerBoundIsSlow() || !filter.LowerBound(begin, &bound) ||
      begin == bound) {
    return false;
  }
  marker_.swap(bound);
  return true;
}

void ProteanTableIterator::LeaveMarker() {
  if (may_move_ && !waits_in_vain_ && MoveMarker()) {
    if (StopAtUpperBound()) {
      Count(SeekKind::kClosed, SeekEvent::kNegative);
      RecordFiltered();
    }
    search_->Move(this);
  } else {
    ReadFromMarker();
  }
}

void ProteanTableIterator::ReadFromMarker() {
  SetReading();
  SeekInner(marker_);
  // With async_io, the block may be on its way.
  if (read_options_.async_io && inner_->status().IsTryAgain()) {
    inner_->Seek(marker_);
  }
  StopAtUpperBound();
  if (waits_in_vain_) return;
  RecordMatch();
  CountReached();
  BackOff();
  if (search_ != nullptr && status().ok()) search_->Move(this);
}

void ProteanTableIterator::ReadBeforeMarker() {
  SetReading();
  Inner()->SeekForPrev(marker_);
  StopAtLowerBound();
  if (waits_in_vain_) return;
  RecordMatch();
  CountReached();
}

bool ProteanTableIterator::NextAndGetResult(IterateResult* result) {
  if (state_ != State::kWaiting) {
    return inner_.NextAndGetResult(result) && !StopAtUpperBound();
  }
  LeaveMarker();
  if (state_ == State::kFiltered) return false;
  if (state_ != State::kWaiting) return inner_.GetResult(result);
  result->key = marker_;
  result->bound_check_result = IterBoundCheck::kUnknown;
  result->value_prepared = true;
  return true;
}

void ProteanTableIterator::RecordFiltered() {
  PERF_COUNTER_ADD(bloom_sst_miss_count, 1);
  RecordTick(reader_->file().statistics(), reader_->file().IsLastLevel()
                                               ? LAST_LEVEL_SEEK_FILTERED
                                               : NON_LAST_LEVEL_SEEK_FILTERED);
}

void ProteanTableIterator::RecordMatch() {
  PERF_COUNTER_ADD(bloom_sst_hit_count, 1);
  if (!inner_.MarkFilterUsed()) return;
  RecordTick(reader_->file().statistics(),
             reader_->file().IsLastLevel() ? LAST_LEVEL_SEEK_FILTER_MATCH
                                           : NON_LAST_LEVEL_SEEK_FILTER_MATCH);
}

void ProteanTableIterator::HandOver() {
  reader_->Add(tally_, kMostTallied - until_hand_over_);
  tally_ = SeekTally();
  until_hand_over_ = kMostTallied;
}

void ProteanTableIterator::CountRead(SeekKind kind) {
  if (Valid()) {
    if (kind == SeekKind::kOpen) {
      unsettled_ = Unsettled::kOpenSeek;
    } else {
      Count(kind, SeekEvent::kTruePositive);
    }
    return;
  }
  const Status s = status();
  if (s.IsTryAgain()) unsettled_ = Unsettled::kTryAgain;
  if (!s.ok()) return;
  // The block-based table has asked the filter for the target's prefix besides,
  // and has read nothing.
  const bool filtered =
      arguments_.prefix_extractor != nullptr && !inner_.HasReadBlock();
  Count(kind, filtered ? SeekEvent::kNegative : SeekEvent::kFalsePositive);
}

void ProteanTableIterator::CountReached() {
  const SeekKind kind = ForwardKind();
  Count(kind, SeekEvent::kReached);
  CountRead(kind);
}

void ProteanTableIterator::CountReadBackwards() {
  const bool found =
      Valid() && reader_->UserKey(key()).compare(*lower_bound_) >= 0;
  if (!found && !status().ok()) return;
  Count(SeekKind::kClosed,
        found ? SeekEvent::kTruePositive : SeekEvent::kFalsePositive);
}

void ProteanTableIterator::CountUnsettled() {
  if (unsettled_ == Unsettled::kOpenSeek) {
    Count(SeekKind::kOpen, inner_.HasReadInVain() ? SeekEvent::kFalsePositive
                                                  : SeekEvent::kTruePositive);
  }
  unsettled_ = Unsettled::kNothing;
}

bool ProteanTableIterator::FilterRange(const FilterBlock& filter,
                                       const Slice& lo) {
  const Slice& hi = *upper_bound_;
  if (filter.RangeMayMatch(lo, hi, /*hi_inclusive=*/false)) return false;
  SetFilteredBelow(filter, hi);
  return true;
}

bool ProteanTableIterator::FilterFirst(const FilterBlock& filter) {
  if (!FilterRange(filter, Slice())) return false;
  // Nothing is below the bound, so all is above, though it may share the part
  // of the largest key that is stored.
  if (filter.header().num_keys > 0) {
    filtered_bound_ = IterBoundCheck::kOutOfBound;
  }
  return true;
}

bool ProteanTableIterator::MoveBehind(const FilterBlock& filter,
                                      const Slice& begin, const Slice& end,
                                      bool inclusive) {
  if (filter.RangeMayMatch(begin, end, inclusive)) return false;
  // `begin` may be a part of marker_.
  std::string marker;
  marker.reserve(end.size() + 1 + kNumInternalBytes);
  marker.append(end.data(), end.size());
  if (inclusive) marker.push_back('\0');
  // Always, but that not all of a long key is known.
  if (!filter.HasKeyAtOrAbove(marker)) return false;
  marker_.swap(marker);
  return true;
}

bool ProteanTableIterator::SkipAhead(const FilterBlock& filter,
                                     const Slice& target, bool again) {
  may_move_ = filter.LowerBoundIsLoose();
  const bool may_step = may_move_ && !again;
  bool may_hold;
  if (filter.LowerBoundIsSlow()) reader_->NoteSlow();
  if (may_step && filter.LowerBoundIsSlow()) {
    // Prefixes are tried when the search has come by.
    may_hold = filter.MayHaveKeyAtOrAbove(target);
    const Slice smallest = filter.header().smallest;
    const Slice first = target.compare(smallest) < 0 ? smallest : target;
    marker_.assign(first.data(), first.size());
  } else {
    may_hold = filter.LowerBound(target, &marker_);
  }
  if (!may_hold) {
    SetFiltered(ForwardKind());
    return true;
  }
  // A marker must come after all versions of the target.
  if (marker_ == target &&
      !(may_step && MoveBehind(filter, target, target, /*inclusive=*/true))) {
    return false;
  }
  if (upper_bound_ != nullptr && upper_bound_->compare(marker_) <= 0) {
    SetFilteredBelow(filter, *upper_bound_);
    return true;
  }
  Wait(/*filtered=*/false);
  return true;
}

void ProteanTableIterator::Seek(const Slice& target) {
  // With async_io, a seek whose block is on its way is repeated to finish it.
  if (read_options_.async_io && status().IsTryAgain()) {
    Inner()->Seek(target);
    StopAtUpperBound();
    if (unsettled_ == Unsettled::kTryAgain) {
      unsettled_ = Unsettled::kNothing;
      CountRead(ForwardKind());
    }
    if (reader_->queue() != nullptr) Sample(reader_->UserKey(target));
    return;
  }
  const Slice user_key = reader_->UserKey(target);
  // The same search goes on (run_search.h). A file that reads goes on reading,
  // and one that waits has moved: else all files of many would come to wait at
  // one place again and again, and each time RocksDB would seek all of them.
  const bool again = search_ != nullptr && search_->HasPassedBy(user_key);
  const uint8_t moves = !again        ? 0
                        : IsReading() ? kMostMoves
                                      : std::min<int>(moves_ + 1, kMostMoves);
  // What comes of the wait is not known yet.
  const bool waits = again && state_ == State::kWaiting && !waits_in_vain_;
  waits_in_vain_ |= waits;
  BeginSeek(&user_key, /*backwards=*/false);
  moves_ = moves;
  const bool closed = upper_bound_ != nullptr;
  // Under a bound, the filter is asked in any case.
  const bool may_wait = CanWait() && moves_ < kMostMoves &&
                        !(reader_->IsSlow() && backoff_.ReadsAreCheap()) &&
                        (closed || backoff_.ShouldWait());
  FilterHold hold;
  const FilterBlock* filter = closed || may_wait ? Filter(&hold) : nullptr;
  const bool decided =
      filter != nullptr && ((closed && FilterRange(*filter, user_key)) ||
                            (may_wait && SkipAhead(*filter, user_key, again)));
  if (!decided) {
    SeekInner(target);
    StopAtUpperBound();
    if (waits) {
      RecordMatch();
      CountReached();
    } else if (filter != nullptr) {
      RecordMatch();
      CountRead(ForwardKind());
    }
    if (may_wait || waits) BackOff();
  }
  if (reader_->queue() != nullptr) Sample(user_key);
}

// Not sampled: where a search that began in the file before goes on in this
// one, only the iterator over the level knows its target. For the same reason
// there is no marker to wait at: the search is at this file already.
void ProteanTableIterator::SeekToFirst() {
  BeginSeek(/*target=*/nullptr, /*backwards=*/false);
  FilterHold hold;
  const FilterBlock* filter = upper_bound_ != nullptr ? Filter(&hold) : nullptr;
  if (filter != nullptr && FilterFirst(*filter)) return;
  Inner()->SeekToFirst();
  StopAtUpperBound();
  if (filter == nullptr) return;
  RecordMatch();
  CountRead(SeekKind::kClosed);
}

// The file holds no key in [lower bound, user_key]. Where the search goes on
// depends on where its keys are.
bool ProteanTableIterator::FilterBackwards(const FilterBlock& filter,
                                           const Slice& user_key,
                                           bool inclusive) {
  const Slice& lo = *lower_bound_;
  if (filter.RangeMayMatch(lo, user_key, inclusive)) return false;
  if (IsLowerBoundKnown() && filter.HasKeyBelow(lo)) {
    marker_.assign(lo.data(), lo.size());
    MoveBelow(&marker_);
    Wait(/*filtered=*/true);
    return true;
  }
  if (IsLowerBoundKnown() && filter.header().smallest.compare(user_key) <= 0) {
    return false;
  }
  SetFiltered(SeekKind::kClosed);
  return true;
}

void ProteanTableIterator::SeekForPrev(const Slice& target) {
  const Slice user_key = reader_->UserKey(target);
  BeginSeek(&user_key, /*backwards=*/true);
  // That is how RocksDB looks for what lies before an upper bound.
  const bool inclusive = GetInternalKeySeqno(target) != kMaxSequenceNumber;
  // Below the bound there is no range to ask for.
  const bool closed =
      lower_bound_ != nullptr && user_key.compare(*lower_bound_) >= 0;
  FilterHold hold;
  const FilterBlock* filter = closed && CanWait() ? Filter(&hold) : nullptr;
  if (filter == nullptr || !FilterBackwards(*filter, user_key, inclusive)) {
    Inner()->SeekForPrev(target);
    StopAtLowerBound();
    if (filter != nullptr) {
      RecordMatch();
      CountReadBackwards();
    }
  }
  if (reader_->queue() != nullptr) SampleBackwards(user_key, inclusive);
}

void ProteanTableIterator::SeekToLast() {
  BeginSeek(/*target=*/nullptr, /*backwards=*/true);
  FilterHold hold;
  const FilterBlock* filter =
      lower_bound_ != nullptr && CanWait() ? Filter(&hold) : nullptr;
  if (filter != nullptr && !filter->MayHaveKeyAtOrAbove(*lower_bound_)) {
    if (!IsLowerBoundKnown()) {
      if (search_->MayLeaveOut()) {
        SetFiltered(SeekKind::kClosed);
      } else {
        goes_below_ = true;
        Inner()->SeekToLast();
      }
      return;
    }
    // Not right below the bound: the search may have come to this file from a
    // target that is further down.
    marker_ = filter->header().largest.ToString();
    Wait(/*filtered=*/true);
    return;
  }
  Inner()->SeekToLast();
  StopAtLowerBound();
  if (filter != nullptr) CountReadBackwards();
}

void ProteanTableIterator::RecordEmpty(const Slice& target) const {
  if (upper_bound_ != nullptr) {
    Record(target, *upper_bound_, /*hi_inclusive=*/false);
    return;
  }
  const SliceTransform* extractor = arguments_.prefix_extractor;
  if (!SeeksPrefixes(read_options_, arguments_) ||
      !extractor->InDomain(target)) {
    return;
  }
  // What the filter was asked for.
  const Slice prefix = extractor->Transform(target);
  std::string end;
  if (target.starts_with(prefix) && FirstBehindPrefix(prefix, &end)) {
    Record(prefix, end, /*hi_inclusive=*/false);
  }
}

// Beyond all keys of the file, there is nothing to learn without a bound: the
// filter knows the largest key.
void ProteanTableIterator::Sample(const Slice& target) {
  if (!status().ok()) return;
  const bool found = Valid();
  const bool bounded =
      upper_bound_ != nullptr || arguments_.prefix_extractor != nullptr;
  if (found ? search_ == nullptr : !bounded) return;
  if (!reader_->queue()->Tick()) return;
  if (found) {
    search_->Watch(this, target, /*backwards=*/false, /*inclusive=*/true);
  } else {
    RecordEmpty(target);
  }
}

void ProteanTableIterator::SampleBackwards(const Slice& target,
                                           bool inclusive) {
  if (!status().ok()) return;
  const bool found = Valid() && !waits_in_vain_ &&
                     (lower_bound_ == nullptr ||
                      reader_->UserKey(key()).compare(*lower_bound_) >= 0);
  if (found ? search_ == nullptr : lower_bound_ == nullptr) return;
  if (!reader_->queue()->Tick()) return;
  if (found) {
    search_->Watch(this, target, /*backwards=*/true, inclusive);
  } else {
    Record(*lower_bound_, target, inclusive);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
