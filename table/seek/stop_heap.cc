// SPDX-License-Identifier: Apache-2.0

#include "table/seek/stop_heap.h"

#include <utility>

namespace ROCKSDB_NAMESPACE::protean {

void StopHeap::Set(size_t at, const SearchPosition& position) {
  Stop& stop = stops_[at];
  stop.kind = position.kind;
  stop.user_key.assign(position.user_key.data(), position.user_key.size());
}

void StopHeap::Put(size_t at, Stop&& stop) {
  stop.run->stop = static_cast<uint32_t>(at);
  stops_[at] = std::move(stop);
}

void StopHeap::SiftUp(size_t at) {
  Stop stop = std::move(stops_[at]);
  while (at > 0 && stop < stops_[(at - 1) / 2]) {
    Put(at, std::move(stops_[(at - 1) / 2]));
    at = (at - 1) / 2;
  }
  Put(at, std::move(stop));
}

void StopHeap::SiftDown(size_t at) {
  Stop stop = std::move(stops_[at]);
  for (size_t child; (child = 2 * at + 1) < stops_.size(); at = child) {
    if (child + 1 < stops_.size() && stops_[child + 1] < stops_[child]) child++;
    if (!(stops_[child] < stop)) break;
    Put(at, std::move(stops_[child]));
  }
  Put(at, std::move(stop));
}

void StopHeap::RemoveAt(size_t at) {
  stops_[at].run->stop = OpenRun::kNowhere;
  const size_t last = stops_.size() - 1;
  if (at != last) Put(at, std::move(stops_[last]));
  stops_.pop_back();
  if (at == last) return;
  SiftDown(at);
  SiftUp(at);
}

void StopHeap::Note(OpenRun* const* runs, size_t count) {
  // To put many stops in order at once takes less than one after the other.
  const bool all_at_once = 2 * count > stops_.size();
  for (OpenRun* const* run = runs; run != runs + count; run++) {
    const SearchPosition position = (*run)->Position();
    if (position.kind == SearchPosition::Kind::kNone) {
      Remove(*run);
      continue;
    }
    if ((*run)->stop == OpenRun::kNowhere) {
      (*run)->stop = static_cast<uint32_t>(stops_.size());
      stops_.push_back({*run, position.kind, std::string()});
    }
    const size_t at = (*run)->stop;
    Set(at, position);
    if (all_at_once) continue;
    SiftDown(at);
    SiftUp(at);
  }
  if (!all_at_once) return;
  for (size_t at = stops_.size() / 2; at-- > 0;) SiftDown(at);
}

SearchPosition StopHeap::Next(const Slice& marker) {
  using Kind = SearchPosition::Kind;
  while (!stops_.empty()) {
    const Stop& nearest = stops_.front();
    const SearchPosition position = nearest.run->Position();
    const int order =
        position.kind == Kind::kNone ? -1 : position.user_key.compare(marker);
    if (order < 0 || (order == 0 && position.kind == Kind::kMarker)) {
      RemoveAt(0);
    } else if (nearest.IsAt(position)) {
      return position;
    } else {
      Set(0, position);
      SiftDown(0);
    }
  }
  return {};
}

}  // namespace ROCKSDB_NAMESPACE::protean
