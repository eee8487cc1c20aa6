// SPDX-License-Identifier: Apache-2.0

#include "table/seek/open_runs.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

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

bool OpenRuns::FindNearest(std::string* nearest, bool* all) const {
  bool found = false;
  *all = true;
  for (size_t i = 0; i < size(); i++) {
    const SearchPosition position = runs_[i]->Position();
    if (position.kind == SearchPosition::Kind::kNone) {
      if (!runs_[i]->HasNoMoreKeys()) *all = false;
      continue;
    }
    if (found && position.user_key.compare(*nearest) >= 0) continue;
    nearest->assign(position.user_key.data(), position.user_key.size());
    found = true;
  }
  return found;
}

}  // namespace ROCKSDB_NAMESPACE::protean
