// SPDX-License-Identifier: Apache-2.0

#include "table/seek/run_search.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>

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

// ---- Search sampler ----

void SearchSampler::Watch(OpenRun* run, const Slice& target, bool backwards,
                          bool inclusive) {
  const SearchPosition landing = run->Position();
  if (landing.kind == SearchPosition::Kind::kNone) return;
  watched_.Add(run);
  run->watch.reset(new WatchedSeek{
      target.ToString(), landing.user_key.ToString(), backwards, inclusive});
}

void SearchSampler::Follow(OpenRun* run) {
  if (run->watch == nullptr) return;
  const SearchPosition landing = run->Position();
  if (landing.kind != SearchPosition::Kind::kNone) {
    run->watch->landing = landing.user_key.ToString();
  } else {
    run->RecordNothingFrom(run->watch->target);
    Forget(run);
  }
}

void SearchSampler::Finish(const OpenRuns& runs) {
  // The ends of a forward and a backward search.
  Slice ends[2];
  const bool found[2] = {runs.FindEnd(/*backwards=*/false, &ends[0]),
                         runs.FindEnd(/*backwards=*/true, &ends[1])};
  for (size_t i = 0; i < watched_.size(); i++) {
    OpenRun* const run = watched_[i];
    const WatchedSeek& watch = *run->watch;
    const SearchPosition at = run->Position();
    const Slice& end = ends[watch.backwards];
    // An iterator that has moved had a key that was part of the search.
    if (!found[watch.backwards] || at.kind == SearchPosition::Kind::kNone ||
        at.user_key != watch.landing) {
      continue;
    }
    if (watch.backwards) {
      if (at.user_key.compare(end) < 0) {
        run->RecordEmptyRange(end, watch.target, watch.inclusive);
      }
    } else if (at.user_key.compare(end) > 0) {
      run->RecordEmptyRange(watch.target, end, /*hi_inclusive=*/true);
    }
  }
  while (IsWatching()) Forget(watched_[watched_.size() - 1]);
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
  runs_.Remove(run);
  joined_--;
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
