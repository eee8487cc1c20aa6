// SPDX-License-Identifier: Apache-2.0

#include "table/seek/open_runs.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

void OpenRuns::Remove(OpenRun* run) {
  if (!run->is_listed) return;
  runs_.erase(std::find(runs_.begin(), runs_.end(), run));
  run->is_listed = false;
}

void OpenRuns::RemoveIdle(uint64_t round) {
  const auto idle =
      std::partition(runs_.begin(), runs_.end(), [round](const OpenRun* run) {
        return run->round + kMaxIdleRounds >= round;
      });
  std::for_each(idle, runs_.end(),
                [](OpenRun* run) { run->is_listed = false; });
  runs_.erase(idle, runs_.end());
  crowded_size_ = std::max(kMinCrowdedSize, 2 * runs_.size());
}

SearchPosition OpenRuns::NextStop(const OpenRun& run,
                                  const Slice& marker) const {
  using Kind = SearchPosition::Kind;
  SearchPosition stop;
  for (const OpenRun* other : runs_) {
    if (other == &run) continue;
    const SearchPosition position = other->member->Position();
    if (position.kind == Kind::kNone) continue;
    const bool is_marker = position.kind == Kind::kMarker;
    if (is_marker && stop.kind == Kind::kKey) continue;
    const int order = position.user_key.compare(marker);
    if (order < 0 || (order == 0 && is_marker)) continue;
    if (position.kind != stop.kind ||
        position.user_key.compare(stop.user_key) < 0) {
      stop = position;
    }
  }
  return stop;
}

bool OpenRuns::FindEnd(const OpenRun& run, uint64_t round, bool backwards,
                       Slice* end) const {
  bool found = false;
  for (const OpenRun* other : runs_) {
    if (other == &run || other->round != round) continue;
    const SearchPosition position = other->member->Position();
    if (position.kind == SearchPosition::Kind::kNone) continue;
    const int order = found ? position.user_key.compare(*end) : 0;
    if (!found || (backwards ? order > 0 : order < 0)) {
      *end = position.user_key;
    }
    found = true;
  }
  return found;
}

}  // namespace ROCKSDB_NAMESPACE::protean
