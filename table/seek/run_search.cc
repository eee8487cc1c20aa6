// SPDX-License-Identifier: Apache-2.0

#include "table/seek/run_search.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Open runs ----

void OpenRuns::Remove(OpenRun* run) {
  if (run->index == OpenRun::kNowhere) return;
  stops_.Remove(run);
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
  stops_.Note(moved_.data(), moved_.size());
  moved_.Clear();
  stops_.Remove(run);
  return stops_.Next(marker);
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

// ---- Run search ----

// The searches of all user iterators, by the address of their ReadOptions. A
// search is registered as long as a member holds it, and members do not outlive
// the ReadOptions. One thread after the other may use an iterator.
class RunSearch::Registry {
 public:
  static Registry& Instance() {
    static Registry& instance = *new Registry;  // outlives all iterators
    return instance;
  }

  // nullptr if there is none.
  std::shared_ptr<RunSearch> Find(const ReadOptions* read_options) {
    Shard& shard = ShardOf(read_options);
    std::lock_guard<std::mutex> lock(shard.mutex);
    const auto known = shard.searches.find(read_options);
    return known == shard.searches.end() ? nullptr : known->second.lock();
  }
  void Add(const ReadOptions* read_options,
           const std::shared_ptr<RunSearch>& search) {
    Shard& shard = ShardOf(read_options);
    std::lock_guard<std::mutex> lock(shard.mutex);
    shard.searches[read_options] = search;
  }
  // A search with these ReadOptions has ended. Another one may have begun.
  void Forget(const ReadOptions* read_options) {
    Shard& shard = ShardOf(read_options);
    std::lock_guard<std::mutex> lock(shard.mutex);
    const auto known = shard.searches.find(read_options);
    if (known != shard.searches.end() && known->second.expired()) {
      shard.searches.erase(known);
    }
  }

 private:
  // Enough for threads rarely to wait for each other.
  static constexpr size_t kShards = 64;
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<const ReadOptions*, std::weak_ptr<RunSearch>> searches;
  };

  Shard& ShardOf(const ReadOptions* read_options) {
    return shards_[GetSliceHash64(
                       Slice(reinterpret_cast<const char*>(&read_options),
                             sizeof(read_options))) %
                   kShards];
  }

  std::array<Shard, kShards> shards_;
};

std::shared_ptr<RunSearch> RunSearch::Of(const ReadOptions& read_options) {
  Registry& registry = Registry::Instance();
  std::shared_ptr<RunSearch> search = registry.Find(&read_options);
  if (search == nullptr) {
    search.reset(new RunSearch(&read_options));
    registry.Add(&read_options, search);
  }
  return search;
}

RunSearch::~RunSearch() {
  assert(runs_.size() == 0);
  Registry::Instance().Forget(read_options_);
}

void SearchHandle::Leave() {
  if (!IsJoined()) return;
  // A file that was part of an earlier round only makes room for another one.
  if (search_->sampler_.IsWatching() && round == search_->rounds_.current()) {
    search_->sampler_.Finish(search_->runs_);
  }
  Unlist();
}

void SearchHandle::Unlist() {
  search_->sampler_.Forget(this);
  search_->runs_.Remove(this);
  search_.reset();
}

}  // namespace ROCKSDB_NAMESPACE::protean
