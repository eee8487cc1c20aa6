// SPDX-License-Identifier: Apache-2.0

#include "table/protean_table_iterator.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "db/dbformat.h"
#include "filter_policy/open_db/level_sums.h"
#include "filter_policy/parted_filter.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/slice_transform.h"
#include "table/rocksdb_internals/versions.h"
#include "table/seek/run_search.h"
#include "table/seek/seek_decision.h"
#include "table/seek/seek_statistics.h"
#include "table/seek/thread_bounds.h"

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
  const ReadOptions& read_options = iterator.read_options;
  return iterator.arguments.caller == TableReaderCaller::kUserIterator &&
         !iterator.SeeksPrefixes() && !read_options.tailing &&
         read_options.max_skippable_internal_keys == 0 && file.allows_markers();
}

// What few seeks and steps do is not inlined into them.
class ProteanTableIterator final : public InternalIterator, private OpenRun {
 public:
  ProteanTableIterator(FilteredFile* file, const ReadOptions& read_options,
                       const FileIterator::Arguments& arguments)
      : file_(file),
        inner_(file->file(), read_options, arguments),
        markers_allowed_(AllowsMarkers(*file, inner_)),
        // DBIter expects no total order. Otherwise it may seek a key of another
        // prefix at a turn. Tailing iterators forget files that turn invalid.
        seeks_prefixes_(
            arguments.caller == TableReaderCaller::kUserIterator &&
            file->is_bytewise() && inner_.prefix_extractor() != nullptr &&
            !read_options.total_order_seek && !read_options.auto_prefix_mode &&
            !read_options.tailing),
        // With pin_data, RocksDB keeps the files that it has left; with a
        // table_filter, some files are not in the search (seek_decision.h).
        skips_allowed_(markers_allowed_ && !read_options.pin_data &&
                       read_options.table_filter == nullptr),
        outcomes_(file->open_file(), &inner_, file->file().statistics(),
                  file->file().IsLastLevel()) {
    // RocksDB may ask a filter for a prefix, and show nothing of the file.
    const bool sees_all =
        inner_.prefix_extractor() == nullptr || read_options.total_order_seek;
    if (skips_allowed_ && sees_all && !read_options.async_io) {
      dead_range_file = file->dead_range_number();
    }
  }
  ~ProteanTableIterator() override {
    if (search_ != nullptr) search_->Leave(this);
    RecordPendingOutcome(/*still_waits=*/false);
  }

  void Seek(const Slice& target) override {
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
    // come to wait at one place again and again, and each time RocksDB would
    // seek all of them.
    const bool again = search_ != nullptr && search_->HasPassed(user_key);
    const int moves = !again        ? 0
                      : IsReading() ? Marker::kMaxMoves
                                    : marker_.moves + 1;
    const bool still_waits = again && WaitsForSearch();
    BeginSeek(&user_key, /*backwards=*/false, still_waits);
    if (search_ != nullptr) {
      search_->dead_ranges.OnSeek(ExtractInternalKeyFooter(target), round);
      // The thread's bounds may change before the next file of a level is
      // sought.
      if (bounds_.stops_at_upper) search_->dead_ranges.Stop();
      if (file_->has_dead_ranges() && WaitForDeadRange(user_key)) return;
    }
    marker_.moves =
        static_cast<uint8_t>(std::min<int>(moves, Marker::kMaxMoves));
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
      const SeekDecision decision = DecideSeek(*filter, user_key, bounds_.upper,
                                               waiting, marker_.new_user_key());
      if (may_wait && decision.action != SeekDecision::kEmpty &&
          filter->LowerBoundIsSlow(user_key)) {
        file_->NoteSlow();
      }
      has_decided =
          Apply(decision, kind) || SkipMiss(*filter, user_key, waiting);
    }
    if (!has_decided) {
      ReadFrom(target);
      if (still_waits) {
        outcomes_.CountReached(kind, Valid());
      } else if (is_asked) {
        outcomes_.CountRead(kind, HasFound());
        if (file_->SeesAllVersions(ExtractInternalKeyFooter(target))) {
          NoteGap(user_key);
        }
      }
      if (may_wait || still_waits) outcomes_.CountUselessWait(kind);
      if (HasLandedInDeadRange()) return;
    }
    Sample(user_key, /*backwards=*/false, /*inclusive=*/true);
  }
  // SeekToFirst is not sampled: where a search that began in the file before
  // goes on in this one, only LevelIterator knows its target. For the same
  // reason there is no marker to wait at: the search is at this file already.
  void SeekToFirst() override {
    const bool is_new = round == 0;
    BeginSeek(/*target=*/nullptr, /*backwards=*/false);
    if (search_ != nullptr) search_->dead_ranges.OnSeekToFirst(is_new);
    const FileRangeFilter* filter =
        bounds_.upper != nullptr ? Filter() : nullptr;
    const bool is_asked = filter != nullptr;
    if (is_asked &&
        Apply(DecideSeekToFirst(*filter, *bounds_.upper), SeekKind::kClosed)) {
      return;
    }
    Read()->SeekToFirst();
    StopAtUpperBound();
    if (is_asked) outcomes_.CountRead(SeekKind::kClosed, Valid());
    HasLandedInDeadRange();
  }
  void SeekForPrev(const Slice& target) override { SeekBackwards(&target); }
  void SeekToLast() override { SeekBackwards(nullptr); }

  bool Valid() const override {
    return IsReading() ? inner_->Valid() : IsWaiting();
  }
  Status status() const override {
    return IsReading() ? inner_->status() : Status::OK();
  }
  IterBoundCheck UpperBoundCheckResult() override {
    return IsReading() ? inner_->UpperBoundCheckResult() : bound_check_;
  }

  // These require Valid().

  void Next() override {
    IterateResult ignored;
    NextAndGetResult(&ignored);
  }
  bool NextAndGetResult(IterateResult* result) override {
    has_gap_ = false;
    if (IsReading()) {
      PassEntry();
      if (!inner_->NextAndGetResult(result) || StopAtUpperBound()) {
        return false;
      }
      if (!watches_deletions_ || !WatchDeletions()) return true;
    } else {
      LeaveMarker();
    }
    if (!Valid()) return false;
    result->key = key();
    result->bound_check_result = UpperBoundCheckResult();
    result->value_prepared = !IsReading();
    return true;
  }
  void Prev() override {
    has_gap_ = false;
    if (search_ != nullptr) search_->dead_ranges.Forbid();
    if (IsReading()) {
      inner_->Prev();
      StopAtLowerBound();
    } else {
      ReadBeforeMarker();
    }
  }
  Slice key() const override {
    return IsReading() ? inner_->key() : marker_.key();
  }
  Slice user_key() const override {
    return IsReading() ? inner_->user_key() : marker_.user_key();
  }
  // RocksDB asks for no value of a write that is too new to be seen.
  Slice value() const override {
    return IsReading() ? inner_->value() : Slice();
  }
  bool PrepareValue() override {
    return !IsReading() || inner_->PrepareValue();
  }
  uint64_t write_unix_time() const override {
    return IsReading() ? inner_->write_unix_time()
                       : InternalIterator::write_unix_time();
  }

  bool MayBeOutOfLowerBound() override {
    return !IsReading() || inner_->MayBeOutOfLowerBound();
  }
  bool IsKeyPinned() const override {
    return IsReading() && inner_->Valid() && inner_->IsKeyPinned();
  }
  bool IsValuePinned() const override {
    return IsReading() && inner_->Valid() && inner_->IsValuePinned();
  }
  Status GetProperty(std::string name, std::string* value) override {
    return inner_.Get()->GetProperty(std::move(name), value);
  }
  void GetReadaheadState(ReadaheadFileInfo* info) override {
    inner_.GetReadaheadState(info);
  }
  void SetReadaheadState(ReadaheadFileInfo* info) override {
    inner_.SetReadaheadState(info);
  }
  // LevelIterator calls this before it destroys the iterator over the file
  // before, so a search goes on from one file of the level to the next.
  void SetPinnedItersMgr(PinnedIteratorsManager* manager) override {
    inner_.SetPinnedItersMgr(manager);
    if (manager != nullptr && search_ == nullptr) {
      search_ = RunSearch::Of(read_options());
      search_->Join();
    }
  }
#if PROTEAN_HAS_MULTI_SCAN
  // inner_ reads ahead the ranges and then expects a seek to each of them, so
  // the filter decides for all of them at once: either the file is spared, or
  // its filter is not asked any more. An iterator that is not prepared may be
  // sought as usual.
  void Prepare(const MultiScanRanges* ranges) override {
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
    if (search_ != nullptr) search_->dead_ranges.Forbid();
    if (!WaitsForSearch()) view_.reset();
    if (prepared_) inner_.Get()->Prepare(ranges);
  }
#endif

 private:
  enum class State : uint8_t { kReading, kEmpty, kWaiting };

  static constexpr uint32_t kMaxDeletionsBetween = 64;
  // Deletions in a row at each of which a dead range may begin that is known:
  // where a level goes on with another file, ranges end, and begin again after
  // a key or two.
  static constexpr uint32_t kFirstDeletions = 3;

  bool IsReading() const { return state_ == State::kReading; }
  bool IsWaiting() const { return state_ == State::kWaiting; }
  // Returns true if the iterator waits at a marker from which the search may go
  // on.
  bool WaitsForSearch() const { return IsWaiting() && !marker_.IsEnd(); }

  // The iterator is where RocksDB's iterator over the file is, which is
  // returned to be positioned.
  InternalIterator* Read() {
    state_ = State::kReading;
    view_.reset();
    return inner_.Get();
  }
  // The iterator is invalid, because the file has nothing for the seek.
  void SetEmpty(IterBoundCheck bound_check) {
    state_ = State::kEmpty;
    bound_check_ = bound_check;
    view_.reset();
  }

  // OpenRun:
  SearchPosition Position() const override {
    if (IsWaiting()) return {SearchPosition::kMarker, marker_.user_key()};
    if (!IsReading() || !inner_->Valid()) return {};
    return {SearchPosition::kKey, file_->UserKey(inner_->key())};
  }
  void RecordEmptyRange(const Slice& lo, const Slice& hi,
                        bool hi_inclusive) override {
    file_->queue()->Record(lo, hi, hi_inclusive);
  }
  void RecordNothingFrom(const Slice& target) override {
    if (bounds_.upper != nullptr) {
      RecordEmptyRange(target, *bounds_.upper, /*hi_inclusive=*/false);
    }
  }
  bool FindNextValue(const Slice& from, const Slice* limit,
                     std::string* next) override {
    const SearchPosition position = Position();
    if (position.kind == SearchPosition::kNone) {
      // LevelIterator may stand before the next file.
      return file_->has_range_deletions() &&
             NextValue(nullptr, nullptr, from, from, limit, next);
    }
    // At a key from there on, the filter has nothing to add.
    const bool knows = position.kind == SearchPosition::kKey &&
                       position.user_key.compare(from) >= 0;
    const bool found = NextValue(knows ? nullptr : Filter(), file_->deletions(),
                                 position.user_key, from, limit, next);
    if (!WaitsForSearch()) view_.reset();
    return found;
  }
  bool IsAtValue(const Slice& from, const Slice& to) const override {
    const SearchPosition at = Position();
    return at.kind == SearchPosition::kKey && at.user_key.compare(from) >= 0 &&
           at.user_key.compare(to) < 0 &&
           !IsDeletion(ExtractValueType(inner_->key()));
  }
  void LimitToFile(std::string* to) override {
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
  bool HasNoMoreKeys() const override {
    return dead_range_file != 0 && IsReading() && !inner_->Valid() &&
           inner_->status().ok() &&
           inner_->UpperBoundCheckResult() != IterBoundCheck::kOutOfBound &&
           !file_->has_range_deletions();
  }
  bool SeesAllVersions(uint64_t footer) const override {
    return file_->SeesAllVersions(footer);
  }
  void NoteDeadRange() override {
    file_->NoteDeadRange();
    watches_deletions_ = true;
  }
  void KeepDeadRange(DeadRange range) override {
    file_->KeepDeadRange(std::move(range));
  }

  // Returns true if the iterator may wait. Markers are for DBIter, which
  // compares sequence numbers with that of its snapshot. Only iterators under a
  // DBIter join a search: RocksDB gives them a manager of pinned iterators. A
  // seek of which RocksDB takes a sample reads.
  bool CanWait() const {
    return markers_allowed_ && search_ != nullptr && !IsSampledSeek();
  }
  // Returns true if a backward seek has found a key at or above the lower
  // bound, if there is one.
  bool HasFoundBackwards() const {
    return IsReading() && Valid() &&
           (bounds_.lower == nullptr ||
            !bounds_.IsBelowLower(file_->UserKey(key())));
  }

  // Counts the outcome of the last seek, unless the next one `still_waits`.
  void RecordPendingOutcome(bool still_waits) {
    if (has_gap_) RememberGap();
    if (WaitsForSearch() && !still_waits) {
      outcomes_.CountPassed(bounds_.ForwardKind());
    }
    outcomes_.RecordPendingOutcome();
  }
  // Settles the last seek, and begins one to a user key, or to the first or
  // last key if that is nullptr.
  [[gnu::always_inline]] void BeginSeek(const Slice* target, bool backwards,
                                        bool still_waits = false) {
    if (search_ != nullptr) search_->BeginSeek(file_, target, this);
    RecordPendingOutcome(still_waits);
    marker_.moves = 0;
    has_skipped_ = false;
    if (search_ != nullptr && backwards) search_->dead_ranges.Forbid();
    watches_deletions_ =
        !backwards &&
        ((file_->deletions() != nullptr && MaySkipDeletions()) ||
         (search_ != nullptr && search_->dead_ranges.IsSkipping()));
    if (watches_deletions_) ForgetDeletions();
    bounds_.Take(read_options());
    // Tailing iterators forget files in which a search has ended, and with a
    // table_filter, some files are not in the search.
    if (ThreadBounds::AreUsed() && search_ != nullptr &&
        !read_options().tailing && read_options().table_filter == nullptr) {
      bounds_.Add(search_->bounds.Take(target, backwards));
    }
    if (seeks_prefixes_ && bounds_.upper == nullptr && target != nullptr &&
        !backwards) {
      bounds_.AddPrefix(*target, *inner_.prefix_extractor(),
                        read_options().prefix_same_as_start);
    }
  }
  // Returns true if the iterator is at a key or marker within its bounds, after
  // a seek forward.
  bool HasFound() const {
    return Valid() && (!bounds_.EndsWithPrefix() ||
                       file_->UserKey(key()).compare(*bounds_.upper) < 0);
  }

  // The file's filter, or nullptr, until the iterator reads or turns invalid.
  // Of a filter in the block cache, the parts that have been asked stay in
  // memory while the iterator waits: the search may come back to them.
  [[gnu::always_inline]] const FileRangeFilter* Filter() {
    if (prepared_ || inner_.arguments.skip_filters) return nullptr;
    if (view_ != nullptr) return &view_->filter;
    const bool open = bounds_.upper == nullptr && bounds_.lower == nullptr;
    return file_->GetRangeFilter(
        open ? AskedFor::kOpenSeek : AskedFor::kClosedSeek, read_options(),
        inner_.arguments.caller, &view_);
  }

  // Seeks the last key at or below `target`, or of the file if that is nullptr.
  void SeekBackwards(const Slice* target) {
    const bool to_last = target == nullptr;
    const Slice user_key = to_last ? Slice() : file_->UserKey(*target);
    BeginSeek(to_last ? nullptr : &user_key, /*backwards=*/true);
    // RocksDB uses the last sequence number to look for what lies before an
    // upper bound.
    const bool inclusive =
        to_last || GetInternalKeySeqno(*target) != kMaxSequenceNumber;
    // Below the bound there is no range to ask for.
    const bool closed = bounds_.lower != nullptr &&
                        (to_last || !bounds_.IsBelowLower(user_key));
    const FileRangeFilter* filter = closed && CanWait() ? Filter() : nullptr;
    bool is_asked = filter != nullptr;
    SeekDecision decision;
    if (is_asked) {
      decision = DecideSeekBackwards(
          *filter, to_last ? nullptr : &user_key, inclusive, *bounds_.lower,
          /*lower_is_known=*/!bounds_.stops_at_lower, marker_.new_user_key());
      if (to_last && decision.action == SeekDecision::kEmpty &&
          !search_->bounds.MaySkip()) {
        bounds_.stops_at_lower = false;
        decision = SeekDecision::Read();
        is_asked = false;
      }
    }
    if (!Apply(decision, SeekKind::kClosed)) {
      if (to_last) {
        Read()->SeekToLast();
      } else {
        Read()->SeekForPrev(*target);
      }
      StopAtLowerBound();
      if (is_asked && !to_last) outcomes_.RecordMatch();
      if (is_asked) outcomes_.CountReadBackwards(HasFoundBackwards());
    }
    if (!to_last) Sample(user_key, /*backwards=*/true, inclusive);
  }

  // Turns invalid or waits, at marker_.new_user_key(), as has been decided.
  void Act(const SeekDecision& decision) {
    if (decision.action == SeekDecision::kEmpty) {
      SetEmpty(decision.has_key_beyond ? IterBoundCheck::kOutOfBound
                                       : IterBoundCheck::kUnknown);
    } else {
      state_ = State::kWaiting;
      bound_check_ = IterBoundCheck::kUnknown;
      marker_.Place(decision.purpose, file_->marker_sequence());
      if (marker_.IsEnd()) view_.reset();
    }
  }
  // Acts, and counts the outcome of a seek of that kind; false if the file must
  // be read.
  bool Apply(const SeekDecision& decision, SeekKind kind) {
    if (decision.action == SeekDecision::kRead) return false;
    Act(decision);
    if (!WaitsForSearch()) outcomes_.CountNegative(kind);
    return true;
  }

  // Seeks forward in the file, and notes whether its blocks were in the cache.
  [[gnu::always_inline]] void ReadFrom(const Slice& target) {
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

  // The search has come to the marker: the iterator waits further on, or reads.
  [[gnu::noinline]] void LeaveMarker() {
    if (marker_.IsEnd()) return ReadFromMarker();
    if (file_->has_dead_ranges() &&
        SkipDeadRange(marker_.user_key().ToString(), /*may_ask=*/true)) {
      return;
    }
    if ((marker_.purpose == Marker::kProbe && MoveMarker()) ||
        SkipMissAtMarker()) {
      if (StopAtUpperBound()) outcomes_.CountNegative(SeekKind::kClosed);
      search_->Follow(this);
    } else if (!watches_deletions_ || !SkipDeletions(marker_.user_key())) {
      ReadFromMarker();
    }
  }
  bool MoveMarker() {
    const Slice begin = marker_.user_key();
    search_->Pass(begin);
    if (!marker_.MayMove() || (marker_.moves >= Marker::kMaxMovesIfCached &&
                               outcomes_.backoff().ReadsAreCheap())) {
      return false;
    }
    const FileRangeFilter* filter = Filter();
    return filter != nullptr &&
           MoveOn(*filter, search_->runs.NextStop(this, begin),
                  file_->marker_sequence(), &marker_);
  }

  [[gnu::always_inline]] bool MaySkipDeletions() const {
    return skips_allowed_ && CanWait() && !prepared_ && file_->IsOn() &&
           DeletionSkips::are_allowed.load(std::memory_order_relaxed);
  }
  void ForgetDeletions() {
    deletions_ = 0;
    ask_after_ = DeletionSkips::ask_after;
  }
  // The iterator, which reads, has moved to the next key. Returns true if it is
  // at a deletion after others, and has skipped some.
  [[gnu::noinline]] bool WatchDeletions() {
    if (!inner_->Valid()) return false;
    const bool is_deletion = IsDeletion(ExtractValueType(inner_->key()));
    DeadRangeSearch& dead_ranges = search_->dead_ranges;
    if (is_deletion) {
      deletions_++;
      dead_ranges.OnDeletion(file_->UserKey(inner_->key()));
    } else {
      ForgetDeletions();
    }
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
  // The iterator, at `from`, is about to skip deletions, or what is `dead`.
  void BeginSkip(const Slice& from, bool dead) {
    search_->OnSkip(from, dead, this);
    ForgetDeletions();
    has_gap_ = false;
    has_skipped_ = IsReading() || has_skipped_;
    outcomes_.Count(bounds_.ForwardKind(), SeekEvent::kDeletionsSkipped);
  }
  // The iterator, at `from`, waits after the deletions that the search may skip
  // (seek/seek_decision.h). Returns false if there are none.
  bool SkipDeletions(const Slice& from) {
    std::string to;
    if (!search_->SkipDeletions(from, this, &to)) return false;
    BeginSkip(from, /*dead=*/false);
    marker_.new_user_key()->swap(to);
    // The filter knows the deleted keys, and has little to say of what follows.
    Act(SeekDecision::Wait(Marker::kNextKey));
    StopAtUpperBound();
    return true;
  }

  // Dead ranges (DeadRangeSearch).

  // The iterator leaves the key that it is at.
  void PassEntry() {
    if (search_ != nullptr && search_->dead_ranges.WantsEntries()) {
      search_->dead_ranges.Pass(inner_->key(), file_->UserKey(inner_->key()),
                                this);
    }
  }
  // The iterator is at `from`, or is to seek it. If that is in a dead range
  // that the search skips, or may skip if `may_ask`, it waits after the range.
  bool SkipDeadRange(const Slice& from, bool may_ask) {
    if (search_ == nullptr || dead_range_file == 0) return false;
    std::string to;
    if (!search_->dead_ranges.MustSkip(dead_range_file, from, &to)) {
      if (!may_ask || !MaySkipDeletions()) return false;
      auto range = file_->FindDeadRange(from);
      if (range == nullptr ||
          !search_->dead_ranges.Skip(std::move(range), from, &to)) {
        return false;
      }
    }
    BeginSkip(from, /*dead=*/true);
    // From there on, the file is asked as by a seek.
    const FileRangeFilter* const filter = Filter();
    SeekDecision decision;
    if (filter != nullptr) {
      decision = DecideSeek(*filter, to, bounds_.upper, Waiting::kNotAtTarget,
                            marker_.new_user_key());
    }
    if (decision.action == SeekDecision::kRead) {
      marker_.new_user_key()->swap(to);
      decision = SeekDecision::Wait(
          filter != nullptr && filter->LowerBoundIsLoose() ? Marker::kProbe
                                                           : Marker::kNextKey);
    }
    Act(decision);
    if (IsWaiting()) {
      StopAtUpperBound();
    } else if (!has_skipped_) {
      outcomes_.CountNegative(bounds_.ForwardKind());
    }
    return true;
  }
  // The iterator, which reads, has landed somewhere. Returns true if that is in
  // the dead range that the search skips: it waits after it.
  [[gnu::noinline]] bool HasLandedInDeadRange() {
    return search_ != nullptr && search_->dead_ranges.IsSkipping() &&
           IsReading() && inner_->Valid() &&
           SkipDeadRange(file_->UserKey(inner_->key()).ToString(),
                         /*may_ask=*/false);
  }
  // The iterator waits where a dead range begins, after the target of its seek.
  [[gnu::noinline]] bool WaitForDeadRange(const Slice& target) {
    if (dead_range_file == 0) return false;
    SetEmpty(IterBoundCheck::kUnknown);  // wherever the last seek has ended
    if (SkipDeadRange(target, /*may_ask=*/false)) return true;
    if (!MaySkipDeletions()) return false;
    const auto range = file_->FindDeadRange(target);
    if (range == nullptr || !search_->dead_ranges.Sees(*range) ||
        target.compare(range->first) >= 0 ||
        (bounds_.upper != nullptr &&
         bounds_.upper->compare(range->first) <= 0)) {
      return false;
    }
    *marker_.new_user_key() = range->first;
    Act(SeekDecision::Wait(Marker::kNextKey));
    return true;
  }

  // Misses (filter_policy/open_db/miss_cache.h). The filter has let a seek from
  // `begin` on through, which has read the file and seen all versions there:
  // remembers the gap that it has found, if the seek was in vain. Whether an
  // open seek was is known when the next one begins.
  [[gnu::noinline]] void NoteGap(const Slice& begin) {
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
        inner_->Valid() ? file_->UserKey(inner_->key()) : *bounds_.upper;
    if (!is_open) return file_->AddMiss(begin, end);
    if (begin.data() != marker_.key().data()) {
      marker_.new_user_key()->assign(begin.data(), begin.size());
      marker_.Place(Marker::kNextKey, file_->marker_sequence());
    }
    has_gap_ = true;
  }
  [[gnu::noinline]] void RememberGap() {
    has_gap_ = false;
    if (inner_.HasReadInVain() && inner_->Valid()) {
      file_->AddMiss(marker_.user_key(), file_->UserKey(inner_->key()));
    }
  }
  // Turns invalid or waits if it is known that the file has no key from
  // `user_key`, the target of a seek, or from the marker, to some key.
  [[gnu::noinline]] bool SkipMiss(const FileRangeFilter& filter,
                                  const Slice& user_key, Waiting waiting) {
    std::string end;
    if (!file_->FindMiss(user_key, &end)) return false;
    const Slice* const upper = bounds_.upper;
    SeekDecision decision;
    if (upper != nullptr && upper->compare(end) <= 0) {
      decision = SeekDecision::Empty(filter.HasKeyAtOrAbove(*upper));
    } else if (waiting == Waiting::kAllowed && filter.HasKeyAtOrAbove(end) &&
               !IsRightAfter(user_key, end)) {
      marker_.new_user_key()->swap(end);
      decision = SeekDecision::Wait(Marker::kNextKey);
    } else {
      return false;
    }
    file_->CountMissHit();
    return Apply(decision, bounds_.ForwardKind());
  }
  bool SkipMissAtMarker() {
    const Slice begin = marker_.user_key();
    std::string end;
    if (marker_.moves >= Marker::kMaxMoves || !file_->FindMiss(begin, &end) ||
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

  // Move from the marker to the first key above it, or to the last one below.
  void ReadFromMarker() {
    ReadFrom(marker_.key());
    if (!marker_.IsEnd()) NoteGap(marker_.user_key());
    // With async_io, the block may be on its way.
    if (read_options().async_io && status().IsTryAgain()) {
      Read()->Seek(marker_.key());
      StopAtUpperBound();
    }
    if (marker_.IsEnd()) return;
    if (has_skipped_) {
      search_->runs.Follow(this);
    } else {
      const SeekKind kind = bounds_.ForwardKind();
      outcomes_.CountReached(kind, Valid());
      outcomes_.CountUselessWait(kind);
      if (search_ != nullptr && status().ok()) search_->Follow(this);
    }
    HasLandedInDeadRange();
  }
  [[gnu::noinline]] void ReadBeforeMarker() {
    Read()->SeekForPrev(marker_.key());
    StopAtLowerBound();
    if (!marker_.IsEnd()) {
      outcomes_.CountReached(bounds_.ForwardKind(), Valid());
    }
  }

  // Turn invalid at a key or marker outside of the thread's bounds. The first
  // one returns true then.
  bool StopAtUpperBound() {
    if (!bounds_.stops_at_upper || !Valid() ||
        file_->UserKey(key()).compare(*bounds_.upper) < 0) {
      return false;
    }
    SetEmpty(IterBoundCheck::kOutOfBound);
    return true;
  }
  void StopAtLowerBound() {
    if (!bounds_.stops_at_lower || !Valid() ||
        !bounds_.IsBelowLower(file_->UserKey(key()))) {
      return;
    }
    if (search_->bounds.MaySkip()) {
      SetEmpty(IterBoundCheck::kUnknown);
    } else {
      bounds_.stops_at_lower = false;
    }
  }

  // Samples a seek that has ended, if it is the turn of one. The search watches
  // a seek that has found a key within its bounds, or waits before one.
  [[gnu::always_inline]] void Sample(const Slice& target, bool backwards,
                                     bool inclusive) {
    if (file_->queue() == nullptr) return;
    const bool found = backwards ? HasFoundBackwards() : HasFound();
    if (found) {
      if (search_ == nullptr) return;
    } else {
      // Without a bound, there is nothing to learn beyond the file's first or
      // last key: the filter knows them. At a key the status is OK, and need
      // not be copied.
      const Slice* const end = backwards ? bounds_.lower : bounds_.upper;
      if (end == nullptr || !status().ok()) return;
    }
    if (!file_->queue()->Tick() || !file_->IsOn()) return;
    if (found) {
      search_->Watch(target, backwards, inclusive, this);
    } else if (backwards) {
      RecordEmptyRange(*bounds_.lower, target, inclusive);
    } else {
      RecordNothingFrom(target);
    }
  }

  const ReadOptions& read_options() const { return inner_.read_options; }

  FilteredFile* const file_;
  FileIterator inner_;                 // made if kReading
  std::shared_ptr<RunSearch> search_;  // nullptr unless under a DBIter
  SeekBounds bounds_;
  Marker marker_;
  FilterView view_;
  State state_ = State::kEmpty;
  IterBoundCheck bound_check_ = IterBoundCheck::kUnknown;  // unless kReading
  const bool markers_allowed_;
  const bool seeks_prefixes_;
  const bool skips_allowed_;  // of deletions
  bool prepared_ = false;     // whether inner_ has read ahead for a MultiScan
  // Whether an open seek has found a gap, from the marker to the key at which
  // the iterator is.
  bool has_gap_ = false;
  bool watches_deletions_ = false;  // whether deletions are skipped
  // Whether the iterator waits where it has skipped deletions. Then the outcome
  // of its seek has been counted.
  bool has_skipped_ = false;
  // Deletions in a row that the iterator has been at, and how many there must
  // be before the search is asked whether it may skip some. After an answer in
  // vain, twice as many must follow, up to kMaxDeletionsBetween.
  uint32_t deletions_ = 0;
  uint32_t ask_after_ = 0;
  SeekOutcomes outcomes_;
};

}  // namespace

InternalIterator* NewProteanTableIterator(
    FilteredFile* file, const ReadOptions& read_options,
    const FileIterator::Arguments& arguments) {
  return NewIn<ProteanTableIterator>(arguments.arena, file, read_options,
                                     arguments);
}

}  // namespace ROCKSDB_NAMESPACE::protean
