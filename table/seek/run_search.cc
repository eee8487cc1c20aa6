// SPDX-License-Identifier: Apache-2.0

#include "table/seek/run_search.h"

#include <array>
#include <mutex>
#include <unordered_map>

#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

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
  if (landing.kind == SearchPosition::Kind::kNone) return;
  is_watching_ = true;
  run->watch.reset(new WatchedSeek{
      target.ToString(), landing.user_key.ToString(), backwards, inclusive});
}

void RunSearch::Follow(OpenRun* run) {
  runs_.Follow(run);
  if (run->watch == nullptr) return;
  const SearchPosition landing = run->Position();
  if (landing.kind != SearchPosition::Kind::kNone) {
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
  for (size_t i = 0; i < runs_.sought(); i++) {
    const SearchPosition at = runs_[i]->Position();
    if (at.kind == SearchPosition::Kind::kNone) continue;
    if (!found || at.user_key.compare(first) < 0) first = at.user_key;
    if (!found || at.user_key.compare(last) > 0) last = at.user_key;
    found = true;
  }
  for (size_t i = 0; i < runs_.sought(); i++) {
    OpenRun* const run = runs_[i];
    if (run->watch == nullptr) continue;
    const std::unique_ptr<WatchedSeek> watch = std::move(run->watch);
    const SearchPosition at = run->Position();
    // An iterator that has moved had a key that was part of the search.
    if (at.kind == SearchPosition::Kind::kNone ||
        at.user_key != watch->landing) {
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
  if (run->round == 0) unsought_--;
  const bool at_end =
      (unsought_ > 0 || dead_ranges_.HasBegun()) && run->HasNoMoreKeys();
  if (dead_ranges_.HasBegun()) FinishDeadRange(run, at_end);
  dead_ranges_.OnLeave(/*makes_room=*/at_end && unsought_ > 0);
  runs_.Remove(run);
  joined_--;
}

void RunSearch::FinishDeadRange(OpenRun* run, bool at_end) {
  // Where an idle run is, which is not listed, is not known.
  if (runs_.size() + unsought_ != joined_) {
    return dead_ranges_.Finish(/*end=*/Slice(), runs_, run);
  }
  const std::string& passed = dead_ranges_.passed();
  std::string end;
  bool all = false;
  const bool found = runs_.FindNearest(&end, &all);
  const std::string after = passed + '\0';
  if (!found || (!all && end > after)) end = after;
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
