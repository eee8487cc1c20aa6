// SPDX-License-Identifier: Apache-2.0

#include "table/seek/run_search.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>

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
  if (position.kind == SearchPosition::Kind::kNone) return;
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
  using Kind = SearchPosition::Kind;
  while (moved_.size() > 0) {
    OpenRun* const moved = moved_[moved_.size() - 1];
    moved_.Remove(moved);
    Note(moved);
  }
  Forget(run);
  while (!stops_.empty()) {
    OpenRun* const nearest = stops_.begin()->run;
    const SearchPosition position = nearest->Position();
    const int order =
        position.kind == Kind::kNone ? -1 : position.user_key.compare(marker);
    if (order < 0 || (order == 0 && position.kind == Kind::kMarker)) {
      Forget(nearest);
    } else if (nearest->stop->IsAt(position)) {
      return position;
    } else {
      Note(nearest);
    }
  }
  return {};
}

bool OpenRuns::FindEnd(bool backwards, Slice* end) const {
  bool found = false;
  for (size_t i = 0; i < sought_; i++) {
    const SearchPosition position = runs_[i]->Position();
    if (position.kind == SearchPosition::Kind::kNone) continue;
    const int order = found ? position.user_key.compare(*end) : 0;
    if (!found || (backwards ? order > 0 : order < 0)) {
      *end = position.user_key;
    }
    found = true;
  }
  return found;
}

bool OpenRuns::FindNextValue(OpenRun* run, const Slice& from,
                             std::string* next) const {
  bool found = run->FindNextValue(from, /*limit=*/nullptr, next);
  std::string other;
  for (size_t i = 0; i < size(); i++) {
    if (found && from.compare(*next) >= 0) return false;
    if (runs_[i] == run) continue;
    const Slice limit(*next);
    if (!runs_[i]->FindNextValue(from, found ? &limit : nullptr, &other)) {
      continue;
    }
    next->swap(other);
    found = true;
  }
  return found && from.compare(*next) < 0;
}

bool OpenRuns::FindNearest(std::string* nearest) const {
  bool found = false;
  for (size_t i = 0; i < size(); i++) {
    const SearchPosition position = runs_[i]->Position();
    if (position.kind == SearchPosition::Kind::kNone) {
      if (!runs_[i]->HasNoMoreKeys()) return false;
      continue;
    }
    if (found && position.user_key.compare(*nearest) >= 0) continue;
    nearest->assign(position.user_key.data(), position.user_key.size());
    found = true;
  }
  return found;
}

// ---- Search sampler ----

void SearchSampler::Watch(OpenRun* run, const Slice& target, bool backwards,
                          bool inclusive) {
  const SearchPosition landing = run->Position();
  if (landing.kind == SearchPosition::Kind::kNone) return;
  Forget(run);
  run->watch = static_cast<uint32_t>(watches_.size());
  watches_.push_back({run, target.ToString(), landing.user_key.ToString(),
                      backwards, inclusive});
}

void SearchSampler::Follow(OpenRun* run) {
  if (run->watch == OpenRun::kNowhere) return;
  WatchedSeek& watch = watches_[run->watch];
  const SearchPosition landing = run->Position();
  if (landing.kind != SearchPosition::Kind::kNone) {
    watch.landing = landing.user_key.ToString();
  } else {
    run->RecordNothingFrom(watch.target);
    Forget(run);
  }
}

void SearchSampler::Forget(OpenRun* run) {
  if (run->watch == OpenRun::kNowhere) return;
  WatchedSeek& last = watches_.back();
  last.run->watch = run->watch;
  if (last.run != run) watches_[run->watch] = std::move(last);
  watches_.pop_back();
  run->watch = OpenRun::kNowhere;
}

void SearchSampler::Finish(const OpenRuns& runs) {
  // The ends of a forward and a backward search.
  Slice ends[2];
  const bool found[2] = {runs.FindEnd(/*backwards=*/false, &ends[0]),
                         runs.FindEnd(/*backwards=*/true, &ends[1])};
  for (const WatchedSeek& watch : watches_) {
    watch.run->watch = OpenRun::kNowhere;
    const SearchPosition at = watch.run->Position();
    const Slice& end = ends[watch.backwards];
    // An iterator that has moved had a key that was part of the search.
    if (!found[watch.backwards] || at.kind == SearchPosition::Kind::kNone ||
        at.user_key != watch.landing) {
      continue;
    }
    if (watch.backwards) {
      if (at.user_key.compare(end) < 0) {
        watch.run->RecordEmptyRange(end, watch.target, watch.inclusive);
      }
    } else if (at.user_key.compare(end) > 0) {
      watch.run->RecordEmptyRange(watch.target, end, /*hi_inclusive=*/true);
    }
  }
  watches_.clear();
}

// ---- Dead ranges ----

void DeadRangeSearch::OnSeek(const Slice& user_key, uint64_t footer,
                             bool begins) {
  level_goes_on_ = false;
  ValueType type;
  SequenceNumber sequence;
  UnPackSequenceAndType(footer, &sequence, &type);
  // So a user's iterator seeks. Where a range deletion ends, and behind many
  // versions of a key, RocksDB's iterators seek in other ways.
  const bool is_users = type == kValueTypeForSeek && sequence > 0 &&
                        sequence < kMaxSequenceNumber;
  if (is_users) sequence_ = sequence;
  if (skipped_ != nullptr &&
      (user_key.compare(from_) < 0 || sequence_ < skipped_->sequence)) {
    skipped_.reset();
  }
  if (begins) {
    footer_ = footer;
    is_ready_ = is_users && !is_forbidden_;
  } else if (footer != footer_) {
    // Some runs go on at another key.
    Stop();
  }
}

void DeadRangeSearch::OnSeekToFirst() {
  if (!level_goes_on_) {
    // The user's iterator begins anew, perhaps with another snapshot.
    Stop();
    sequence_ = 0;
    skipped_.reset();
  }
  level_goes_on_ = false;
}

bool DeadRangeSearch::Pass(const Slice& internal_key, const Slice& user_key,
                           SequenceNumber largest, const Slice& target,
                           OpenRun* run) {
  ValueType type;
  SequenceNumber sequence;
  UnPackSequenceAndType(ExtractInternalKeyFooter(internal_key), &sequence,
                        &type);
  const bool is_deletion = IsDeletion(type);
  if (is_ready_) {
    is_ready_ = false;
    if (!is_deletion) return true;
    finder_.Begin(target, /*inclusive=*/true);
  }
  const uint64_t file = run->DeadRangeFile();
  const bool sees_all =
      footer_ >= PackSequenceAndType(largest, kValueTypeForSeek);
  return file != 0 &&
         finder_.Pass(file, user_key, is_deletion, sequence, sees_all);
}

void DeadRangeSearch::OnSkip(const Slice& from, bool dead,
                             const Slice& target) {
  if (is_ready_) finder_.Begin(target, /*inclusive=*/true);
  is_ready_ = false;
  if (finder_.IsOn()) finder_.Skip(from, dead ? skipped_.get() : nullptr);
}

void DeadRangeSearch::Finish(const Slice& end, const OpenRuns& runs,
                             OpenRun* run) {
  DeadRange range;
  if (!finder_.Finish(end, &range)) return;
  for (size_t i = 0; i < runs.size(); i++) {
    if (range.HasFile(runs[i]->DeadRangeFile())) runs[i]->NoteDeadRange();
  }
  run->KeepDeadRange(std::move(range));
}

bool DeadRangeSearch::Skip(std::shared_ptr<const DeadRange> range,
                           const Slice& from, const OpenRuns& runs,
                           std::string* to) {
  if (!Sees(*range)) return false;
  std::string end = range->end;
  std::vector<OpenRun*> members;
  for (size_t i = 0; i < runs.size(); i++) {
    if (!range->HasFile(runs[i]->DeadRangeFile())) continue;
    members.push_back(runs[i]);
    runs[i]->LimitToFile(&end);
  }
  if (members.size() != range->files.size()) return false;
  std::string next;
  for (size_t i = 0; i < runs.size() && from.compare(end) < 0; i++) {
    const Slice limit(end);
    if (!range->HasFile(runs[i]->DeadRangeFile()) &&
        runs[i]->FindNextValue(from, &limit, &next)) {
      end = next;
    }
  }
  if (from.compare(end) >= 0) return false;
  for (OpenRun* const run : members) {
    if (run->IsAtValue(from, end)) return false;
  }
  for (OpenRun* const run : members) run->NoteDeadRange();
  skipped_ = std::move(range);
  from_.assign(from.data(), from.size());
  to_ = *to = end;
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

void RunSearch::Leave(OpenRun* run) {
  // A file that was part of an earlier round only makes room for another one.
  if (sampler_.IsWatching() && run->round == round_) sampler_.Finish(runs_);
  sampler_.Forget(run);
  const bool at_end = run->IsAtEndOfFile();
  if (dead_ranges_.HasBegun()) FinishDeadRange(run, at_end);
  dead_ranges_.OnLeave(at_end);
  runs_.Remove(run);
  joined_--;
  if (run->round == 0) unsought_--;
}

void RunSearch::FinishDeadRange(OpenRun* run, bool at_end) {
  // Where an idle run is, which is not listed, is not known.
  if (runs_.size() + unsought_ != joined_) return dead_ranges_.Stop();
  std::string end;
  const std::string& passed = dead_ranges_.passed();
  const bool found = runs_.FindNearest(&end);
  if (!found) end = passed + '\0';
  // The next file of the level begins after the last key that has been passed,
  // and no run may wait above all keys of its file.
  if (at_end && end > passed) end = passed;
  dead_ranges_.Finish(end, runs_, run);
}

bool RunSearch::SkipDeletions(const Slice& from, OpenRun* run,
                              std::string* to) {
  if (from.compare(skipped_to_) < 0 && from.compare(skipped_from_) >= 0) {
    *to = skipped_to_;
    return true;
  }
  // Idle runs, which are not listed, may have values.
  if (runs_.size() != joined_ || !runs_.FindNextValue(run, from, to)) {
    return false;
  }
  skipped_from_.assign(from.data(), from.size());
  skipped_to_ = *to;
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
