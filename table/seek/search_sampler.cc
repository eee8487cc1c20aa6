// SPDX-License-Identifier: Apache-2.0

#include "table/seek/search_sampler.h"

#include <utility>

namespace ROCKSDB_NAMESPACE::protean {

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

}  // namespace ROCKSDB_NAMESPACE::protean
