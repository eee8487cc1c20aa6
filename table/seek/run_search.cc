// SPDX-License-Identifier: Apache-2.0

#include "table/seek/run_search.h"

#include <array>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "db/dbformat.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Open runs ----

void OpenRuns::Forget(OpenRun* run) {
  if (run->stop == nullptr) return;
  stops_.erase(*run->stop);
  run->stop = nullptr;
}

void OpenRuns::Note(OpenRun* run) {
  const SearchPosition position = run->Position();
  if (run->stop != nullptr && run->stop->IsAt(position)) return;
  Forget(run);
  if (position.kind == SearchPosition::kNone) return;
  run->stop =
      &*stops_.insert({position.kind, position.user_key.ToString(), run}).first;
}

void OpenRuns::Remove(OpenRun* run) {
  if (run->index == OpenRun::kNowhere) return;
  Forget(run);
  moved_.Remove(run);
  if (run->index < sought_) runs_.Swap(run->index, --sought_);
  runs_.Remove(run);
}

void OpenRuns::RemoveIdle(uint64_t round) {
  for (size_t i = size(); i-- > 0;) {
    if (runs_[i]->round + kMaxIdleRounds < round) Remove(runs_[i]);
  }
  crowded_size_ = std::max(kMinCrowdedSize, 2 * runs_.size());
}

SearchPosition OpenRuns::NextStop(OpenRun* run, const Slice& marker) {
  while (moved_.size() > 0) {
    OpenRun* const moved = moved_[moved_.size() - 1];
    moved_.Remove(moved);
    Note(moved);
  }
  Forget(run);
  while (!stops_.empty()) {
    OpenRun* const nearest = stops_.begin()->run;
    const SearchPosition position = nearest->Position();
    const int order = position.kind == SearchPosition::kNone
                          ? -1
                          : position.user_key.compare(marker);
    if (order < 0 || (order == 0 && position.kind == SearchPosition::kMarker)) {
      Forget(nearest);
    } else if (nearest->stop->IsAt(position)) {
      return position;
    } else {
      Note(nearest);
    }
  }
  return {};
}

// ---- Dead range search ----

void DeadRangeSearch::BeginRound(uint64_t footer) {
  ValueType type;
  SequenceNumber sequence;
  UnPackSequenceAndType(footer, &sequence, &type);
  footer_ = footer;
  // So a user's iterator seeks. Where a range deletion ends, and behind many
  // versions of a key, RocksDB's iterators seek in other ways.
  const bool is_users =
      type == kValueTypeForSeek && sequence < kMaxSequenceNumber;
  sequence_ = is_users ? sequence : 0;
  const bool begins = sequence_ != 0;
  finding_ = begins && !is_forbidden_ ? Finding::kReady : Finding::kOff;
  if (begins) skipped_.reset();
}

void DeadRangeSearch::OnSeekToFirst(bool is_new) {
  if (!level_goes_on_ || !is_new) {
    // The user's iterator begins anew, perhaps with another snapshot.
    Stop();
    sequence_ = 0;
    skipped_.reset();
  }
  level_goes_on_ = false;
}

void DeadRangeSearch::Begin(const Slice& target, bool inclusive) {
  if (finder_ == nullptr) finder_ = std::make_unique<DeadRangeFinder>();
  finder_->Begin(target, inclusive);
  finding_ = Finding::kBegun;
}

void DeadRangeSearch::Pass(const Slice& internal_key, const Slice& user_key,
                           OpenRun* run) {
  const bool is_deletion = IsDeletion(ExtractValueType(internal_key));
  if (finding_ == Finding::kReady) {
    finding_ = Finding::kPaused;
    if (!is_deletion) return;
    Begin(target_.slice(), /*inclusive=*/true);
  }
  const uint64_t file = run->dead_range_file;
  if (file == 0 || !finder_->Pass(file, user_key, is_deletion,
                                  GetInternalKeySeqno(internal_key),
                                  run->SeesAllVersions(footer_))) {
    Finish(user_key, run);
  }
}

void DeadRangeSearch::OnSkip(const Slice& from, bool dead) {
  if (finding_ == Finding::kReady) Begin(target_.slice(), /*inclusive=*/true);
  if (!HasBegun()) return;
  finder_->Skip(from, dead ? skipped_->range.get() : nullptr,
                /*sees_all=*/!dead || skipped_->sees_all);
}

void DeadRangeSearch::Finish(const Slice& end, OpenRun* run) {
  finding_ = Finding::kPaused;
  DeadRange range;
  if (!finder_->Finish(end, &range)) return;
  for (size_t i = 0; i < runs_.size(); i++) {
    if (range.HasFile(runs_[i]->dead_range_file)) runs_[i]->NoteDeadRange();
  }
  run->KeepDeadRange(std::move(range));
}

void DeadRangeSearch::FinishHere(OpenRun* run, bool at_end) {
  // Where an idle run is, which is not listed, is not known.
  if (runs_.size() + runs_.unsought != runs_.joined) {
    return Finish(/*end=*/Slice(), run);
  }
  std::string end;  // the nearest position of all runs
  bool found = false;
  bool all = true;
  for (size_t i = 0; i < runs_.size(); i++) {
    const SearchPosition position = runs_[i]->Position();
    if (position.kind == SearchPosition::kNone) {
      // A run that has ended at a bound may have keys from there on.
      if (!runs_[i]->HasNoMoreKeys()) all = false;
    } else if (!found || position.user_key.compare(end) < 0) {
      end.assign(position.user_key.data(), position.user_key.size());
      found = true;
    }
  }
  const std::string& passed = finder_->key();
  const std::string after = passed + '\0';
  if (!found || (!all && end > after)) end = after;
  // The next file of the level begins after the last key that has been passed,
  // and no run may wait above all keys of its file.
  if (at_end && end > passed) end = passed;
  Finish(end, run);
}

void DeadRangeSearch::OnLeave(OpenRun* run) {
  const bool at_end =
      (runs_.unsought > 0 || HasBegun()) && run->HasNoMoreKeys();
  if (HasBegun()) FinishHere(run, at_end);
  level_goes_on_ = at_end && runs_.unsought > 0;
}

bool DeadRangeSearch::Skip(std::shared_ptr<const DeadRange> range,
                           const Slice& from, std::string* to) {
  // Idle runs, which are not listed, may have values.
  if (runs_.size() != runs_.joined || !Sees(*range)) return false;
  for (size_t i = 0; IsSkipping() && i < runs_.size(); i++) {
    // A run of the range that is skipped may not have come to its end.
    const SearchPosition position = runs_[i]->Position();
    if (position.kind != SearchPosition::kNone &&
        position.user_key.compare(skipped_->to) < 0 &&
        skipped_->range->HasFile(runs_[i]->dead_range_file)) {
      return false;
    }
  }
  std::string end = range->end;
  std::vector<OpenRun*> members;
  for (size_t i = 0; i < runs_.size(); i++) {
    if (!range->HasFile(runs_[i]->dead_range_file)) continue;
    // A run may have gone ahead of the search.
    const SearchPosition position = runs_[i]->Position();
    if (position.kind == SearchPosition::kMarker &&
        position.user_key.compare(from) < 0) {
      return false;
    }
    members.push_back(runs_[i]);
    runs_[i]->LimitToFile(&end);
  }
  if (members.size() != range->files.size()) return false;
  std::string next;
  for (size_t i = 0; i < runs_.size() && from.compare(end) < 0; i++) {
    const Slice limit(end);
    if (!range->HasFile(runs_[i]->dead_range_file) &&
        runs_[i]->FindNextValue(from, &limit, &next)) {
      end = next;
    }
  }
  if (from.compare(end) >= 0) return false;
  for (OpenRun* const run : members) {
    if (run->IsAtValue(from, end)) return false;
  }
  auto skipped = std::make_unique<Skipped>();
  for (OpenRun* const run : members) {
    run->NoteDeadRange();
    if (!run->SeesAllVersions(footer_)) skipped->sees_all = false;
  }
  skipped->range = std::move(range);
  skipped->from = from.ToString();
  skipped->to = *to = end;
  skipped_ = std::move(skipped);
  return true;
}

// ---- Run search ----

namespace {

// The searches of all user iterators, by the address of their ReadOptions. A
// search is registered as long as a file holds it, and files do not outlive the
// ReadOptions. One thread after the other may use an iterator.
struct alignas(64) Shard {
  std::mutex mutex;
  std::unordered_map<const ReadOptions*, std::weak_ptr<RunSearch>> searches;
};

Shard& ShardOf(const ReadOptions* read_options) {
  // Enough for threads rarely to wait for each other.
  constexpr size_t kShards = 64;
  static auto& shards = *new std::array<Shard, kShards>;  // never destroyed
  const Slice address(reinterpret_cast<const char*>(&read_options),
                      sizeof(read_options));
  return shards[GetSliceHash64(address) % kShards];
}

}  // namespace

std::shared_ptr<RunSearch> RunSearch::Of(const ReadOptions& read_options) {
  Shard& shard = ShardOf(&read_options);
  const std::lock_guard<std::mutex> lock(shard.mutex);
  std::weak_ptr<RunSearch>& known = shard.searches[&read_options];
  std::shared_ptr<RunSearch> search = known.lock();
  if (search == nullptr) {
    search.reset(new RunSearch(&read_options));
    known = search;
  }
  return search;
}

RunSearch::~RunSearch() {
  Shard& shard = ShardOf(read_options_);
  const std::lock_guard<std::mutex> lock(shard.mutex);
  const auto known = shard.searches.find(read_options_);
  // Another search with these ReadOptions may have begun.
  if (known != shard.searches.end() && known->second.expired()) {
    shard.searches.erase(known);
  }
}

void RunSearch::Watch(const Slice& target, bool backwards, bool inclusive,
                      OpenRun* run) {
  const SearchPosition landing = run->Position();
  if (landing.kind == SearchPosition::kNone) return;
  is_watching_ = true;
  run->watch.reset(new WatchedSeek{
      target.ToString(), landing.user_key.ToString(), backwards, inclusive});
}

void RunSearch::Follow(OpenRun* run) {
  runs.Follow(run);
  if (run->watch == nullptr) return;
  const SearchPosition landing = run->Position();
  if (landing.kind != SearchPosition::kNone) {
    run->watch->landing = landing.user_key.ToString();
  } else {
    run->RecordNothingFrom(run->watch->target);
    run->watch.reset();
  }
}

void RunSearch::SampleWatched() {
  is_watching_ = false;
  // Where a forward and a backward search have come to, as far as runs tell.
  Slice first;
  Slice last;
  bool found = false;
  for (size_t i = 0; i < runs.sought(); i++) {
    const SearchPosition at = runs[i]->Position();
    if (at.kind == SearchPosition::kNone) continue;
    if (!found || at.user_key.compare(first) < 0) first = at.user_key;
    if (!found || at.user_key.compare(last) > 0) last = at.user_key;
    found = true;
  }
  for (size_t i = 0; i < runs.sought(); i++) {
    OpenRun* const run = runs[i];
    if (run->watch == nullptr) continue;
    const std::unique_ptr<WatchedSeek> watch = std::move(run->watch);
    const SearchPosition at = run->Position();
    // An iterator that has moved had a key that was part of the search.
    if (at.kind == SearchPosition::kNone || at.user_key != watch->landing) {
      continue;
    }
    if (watch->backwards) {
      if (at.user_key.compare(last) < 0) {
        run->RecordEmptyRange(last, watch->target, watch->inclusive);
      }
    } else if (at.user_key.compare(first) > 0) {
      run->RecordEmptyRange(watch->target, first, /*hi_inclusive=*/true);
    }
  }
}

void RunSearch::Leave(OpenRun* run) {
  // A file that was part of an earlier round only makes room for another one.
  if (is_watching_ && run->round == round_) SampleWatched();
  run->watch.reset();
  if (run->round == 0) runs.unsought--;
  dead_ranges.OnLeave(run);
  runs.Remove(run);
  runs.joined--;
}

bool RunSearch::SkipDeletions(const Slice& from, OpenRun* run,
                              std::string* to) {
  if (from.compare(skipped_to_) < 0 && from.compare(skipped_from_) >= 0) {
    *to = skipped_to_;
    return true;
  }
  // Idle runs, which are not listed, may have values.
  if (runs.size() != runs.joined) return false;
  bool found = run->FindNextValue(from, /*limit=*/nullptr, to);
  std::string other;
  for (size_t i = 0; i < runs.size(); i++) {
    if (found && from.compare(*to) >= 0) return false;
    if (runs[i] == run) continue;
    const Slice limit(*to);
    if (runs[i]->FindNextValue(from, found ? &limit : nullptr, &other)) {
      to->swap(other);
      found = true;
    }
  }
  if (!found || from.compare(*to) >= 0) return false;
  skipped_from_.assign(from.data(), from.size());
  skipped_to_ = *to;
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
