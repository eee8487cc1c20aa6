// SPDX-License-Identifier: Apache-2.0

#include "table/seek/open_runs.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

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

}  // namespace ROCKSDB_NAMESPACE::protean
