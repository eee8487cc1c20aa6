// SPDX-License-Identifier: Apache-2.0

#include "table/seek/search_sampler.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

void SearchSampler::Watch(const OpenRun& run, const Slice& target,
                          bool backwards, bool inclusive) {
  const SearchPosition landing = run.member->Position();
  if (landing.kind == SearchPosition::Kind::kNone) return;
  watches_.push_back({&run, target.ToString(), landing.user_key.ToString(),
                      backwards, inclusive});
}

void SearchSampler::Follow(const OpenRun& run) {
  for (size_t i = watches_.size(); i-- > 0;) {
    if (watches_[i].run != &run) continue;
    const SearchPosition landing = run.member->Position();
    if (landing.kind != SearchPosition::Kind::kNone) {
      watches_[i].landing = landing.user_key.ToString();
    } else {
      run.member->RecordNothingFrom(watches_[i].target);
      watches_.erase(watches_.begin() + static_cast<ptrdiff_t>(i));
    }
  }
}

void SearchSampler::Forget(const OpenRun& run) {
  watches_.erase(
      std::remove_if(watches_.begin(), watches_.end(),
                     [&run](const WatchedSeek& w) { return w.run == &run; }),
      watches_.end());
}

void SearchSampler::Finish(const OpenRuns& runs, uint64_t round) {
  for (const WatchedSeek& watch : watches_) {
    const SearchMember& member = *watch.run->member;
    const SearchPosition at = member.Position();
    Slice end;
    // An iterator that has moved had a key that was part of the search.
    if (at.kind == SearchPosition::Kind::kNone ||
        at.user_key != watch.landing ||
        !runs.FindEnd(*watch.run, round, watch.backwards, &end)) {
      continue;
    }
    if (watch.backwards) {
      if (at.user_key.compare(end) < 0) {
        member.RecordEmptyRange(end, watch.target, watch.inclusive);
      }
    } else if (at.user_key.compare(end) > 0) {
      member.RecordEmptyRange(watch.target, end, /*hi_inclusive=*/true);
    }
  }
  watches_.clear();
}

}  // namespace ROCKSDB_NAMESPACE::protean
