#include "table/run_search.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>

#include "table/protean_table_iterator.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

// The searches of all iterators that users have, by their ReadOptions. An
// iterator may be moved by one thread after the other.
class RunSearch::Registry {
 public:
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
  // A search with these ReadOptions is gone. Another one may have begun.
  void Forget(const ReadOptions* read_options) {
    Shard& shard = ShardOf(read_options);
    std::lock_guard<std::mutex> lock(shard.mutex);
    const auto known = shard.searches.find(read_options);
    if (known != shard.searches.end() && known->second.expired()) {
      shard.searches.erase(known);
    }
  }

 private:
  // Threads rarely wait for each other.
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

RunSearch::Registry& RunSearch::AllSearches() {
  static Registry& all = *new Registry;  // outlives all iterators
  return all;
}

std::shared_ptr<RunSearch> RunSearch::Of(const ReadOptions& read_options) {
  std::shared_ptr<RunSearch> search = AllSearches().Find(&read_options);
  if (search == nullptr) {
    search.reset(new RunSearch(&read_options));
    AllSearches().Add(&read_options, search);
  }
  return search;
}

RunSearch::~RunSearch() { AllSearches().Forget(read_options_); }

const std::shared_ptr<const SearchBounds>& RunSearch::TakeThreadBounds(
    const Slice* target, bool backwards) {
  static const std::shared_ptr<const SearchBounds> none;
  const std::shared_ptr<const SearchBounds>& current = SearchBounds::OfThread();
  if (target != nullptr) {
    if (!SearchBounds::AreEqual(bounds_.get(), current.get())) {
      is_outside_bounds_ = false;  // of these
    }
    bounds_ = current;
    if (current != nullptr && current->IsOutside(*target, backwards)) {
      is_outside_bounds_ = true;
    }
  }
  if (!SearchBounds::AreEqual(bounds_.get(), current.get())) {
    // Should they be set again, they are another search's.
    bounds_.reset();
    return none;
  }
  return is_outside_bounds_ ? none : current;
}

void RunSearch::Leave(ProteanTableIterator* run) {
  // A file that was part of an earlier search only makes room for another one.
  if (run->part().round == round_ && !watches_.empty()) Finish();
  watches_.erase(
      std::remove_if(watches_.begin(), watches_.end(),
                     [run](const WatchedSeek& w) { return w.run == run; }),
      watches_.end());
  if (run->part().listed) {
    runs_.erase(std::find(runs_.begin(), runs_.end(), run));
  }
}

void RunSearch::SetAsideIdle() {
  const auto idle =
      std::partition(runs_.begin(), runs_.end(), [this](const auto* run) {
        return run->part().round + kIdleRounds >= round_;
      });
  std::for_each(idle, runs_.end(),
                [](auto* run) { run->part().listed = false; });
  runs_.erase(idle, runs_.end());
  most_runs_ = std::max(kLeastMostRuns, 2 * runs_.size());
}

void RunSearch::Watch(ProteanTableIterator* run, const Slice& target,
                      bool backwards, bool inclusive) {
  Slice landing;
  if (!run->Position(&landing)) return;
  watches_.push_back(
      {run, target.ToString(), landing.ToString(), backwards, inclusive});
}

void RunSearch::Move(ProteanTableIterator* run) {
  for (size_t i = watches_.size(); i-- > 0;) {
    if (watches_[i].run != run) continue;
    Slice landing;
    if (run->Position(&landing)) {
      watches_[i].landing = landing.ToString();
    } else {
      // Nothing at all, up to the bound that the iterator has, if any.
      run->RecordEmpty(watches_[i].target);
      watches_.erase(watches_.begin() + static_cast<ptrdiff_t>(i));
    }
  }
}

bool RunSearch::FindEnd(const WatchedSeek& watch, Slice* end) const {
  bool found = false;
  for (const ProteanTableIterator* run : runs_) {
    Slice position;
    if (run == watch.run || run->part().round != round_ ||
        !run->Position(&position)) {
      continue;
    }
    const int order = found ? position.compare(*end) : 0;
    if (!found || (watch.backwards ? order > 0 : order < 0)) *end = position;
    found = true;
  }
  return found;
}

RunSearch::Stop RunSearch::NextStop(const ProteanTableIterator* run,
                                    const Slice& marker) const {
  Stop stop;
  for (const ProteanTableIterator* other : runs_) {
    Slice position;
    if (other == run || !other->Position(&position)) continue;
    const Stop::Kind kind = other->IsWaiting() ? Stop::kMarker : Stop::kKey;
    if (kind == Stop::kMarker && stop.kind == Stop::kKey) continue;
    const int order = position.compare(marker);
    if (order < 0 || (order == 0 && kind == Stop::kMarker)) continue;
    if (kind != stop.kind || position.compare(stop.user_key) < 0) {
      stop = {kind, position};
    }
  }
  return stop;
}

bool RunSearch::HasPassedBy(const Slice& target) const {
  return !passed_.empty() && target.starts_with(passed_) &&
         std::all_of(target.data() + passed_.size(),
                     target.data() + target.size(),
                     [](char c) { return c == '\0'; });
}

void RunSearch::Finish() {
  Slice end;
  for (const WatchedSeek& watch : watches_) {
    Slice position;
    // It has moved, so its key was part of the search.
    if (!watch.run->Position(&position) || position != watch.landing ||
        !FindEnd(watch, &end)) {
      continue;
    }
    if (watch.backwards) {
      if (position.compare(end) < 0) {
        watch.run->Record(end, watch.target, watch.inclusive);
      }
    } else if (position.compare(end) > 0) {
      watch.run->Record(watch.target, end, /*hi_inclusive=*/true);
    }
  }
  watches_.clear();
}

}  // namespace ROCKSDB_NAMESPACE::protean
