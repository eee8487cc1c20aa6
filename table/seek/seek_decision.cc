// SPDX-License-Identifier: Apache-2.0

#include "table/seek/seek_decision.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Stores `end`, or the first string behind it if `inclusive`, if the file
// certainly has no key between `begin` and there, but keys from there on.
// `begin` and `end` may point into `*marker`.
bool MoveAfter(const FileRangeFilter& filter, const Slice& begin,
               const Slice& end, bool inclusive, std::string* marker) {
  if (filter.RangeMayMatch(begin, end, inclusive)) return false;
  std::string behind;
  behind.reserve(end.size() + 1 + kNumInternalBytes);
  behind.append(end.data(), end.size());
  if (inclusive) behind.push_back('\0');
  // False only where the largest key is too long to be stored as a whole.
  if (!filter.HasKeyAtOrAbove(behind)) return false;
  marker->swap(behind);
  return true;
}

// Turns a user key into one right below it: at most keys that share all but the
// last byte and continue with 0xFF lie between the two. REQUIRES: !key->empty()
void MoveBelow(std::string* key) {
  if (key->back() == '\0') {
    key->pop_back();
  } else {
    key->back() = static_cast<char>(static_cast<uint8_t>(key->back()) - 1);
    key->append(8, '\xff');
  }
}

}  // namespace

SeekDecision DecideWait(const FileRangeFilter& filter, const Slice& target,
                        const Slice* upper, Waiting waiting,
                        std::string* marker) {
  const bool is_probe = filter.LowerBoundIsLoose();
  const bool may_step = is_probe && waiting != Waiting::kNotAtTarget;
  // Prefixes are tried when the search has come to the marker.
  const bool may_hold = may_step && filter.LowerBoundIsSlow(target)
                            ? filter.QuickLowerBound(target, marker)
                            : filter.LowerBound(target, marker);
  if (!may_hold) return SeekDecision::Empty();
  // A marker must come after all versions of the target.
  if (*marker == target &&
      !(may_step &&
        MoveAfter(filter, target, target, /*inclusive=*/true, marker))) {
    return SeekDecision::Read();
  }
  if (upper != nullptr && upper->compare(*marker) <= 0) {
    return SeekDecision::Empty(filter.HasKeyAtOrAbove(*upper));
  }
  return SeekDecision::Wait(is_probe ? Marker::kProbe : Marker::kNextKey);
}

SeekDecision DecideSeekToFirst(const FileRangeFilter& filter,
                               const Slice& upper) {
  if (filter.RangeMayMatch(Slice(), upper, /*hi_inclusive=*/false)) {
    return SeekDecision::Read();
  }
  // No key is below the bound, so all keys are above it, even where the stored
  // part of the largest key cannot tell.
  return SeekDecision::Empty(filter.HasKeys());
}

SeekDecision DecideSeekBackwards(const FileRangeFilter& filter,
                                 const Slice* target, bool inclusive,
                                 const Slice& lower, bool lower_is_known,
                                 std::string* marker) {
  if (target == nullptr ? filter.MayHaveKeyAtOrAbove(lower)
                        : filter.RangeMayMatch(lower, *target, inclusive)) {
    return SeekDecision::Read();
  }
  if (!lower_is_known) return SeekDecision::Empty();
  if (target == nullptr) {
    // The marker is not right below the bound, since the search may have come
    // to this file from a target that is further down.
    *marker = filter.largest().ToString();
    return SeekDecision::Wait(Marker::kEnd);
  }
  if (filter.HasKeyBelow(lower)) {
    // An invalid iterator would send LevelIterator through all files before.
    marker->assign(lower.data(), lower.size());
    MoveBelow(marker);
    return SeekDecision::Wait(Marker::kEnd);
  }
  return filter.MayHaveKeyAtOrBelow(*target) ? SeekDecision::Read()
                                             : SeekDecision::Empty();
}

bool MoveOn(const FileRangeFilter& filter, const SearchPosition& stop,
            SequenceNumber sequence, Marker* marker) {
  if (!marker->MayMove()) return false;
  const Slice begin = marker->user_key();
  std::string further;
  const bool passes_stop =
      stop.kind != SearchPosition::kNone &&
      MoveAfter(filter, begin, stop.user_key,
                /*inclusive=*/stop.kind == SearchPosition::kKey, &further);
  // Else prefixes are tried one after the other, where DecideSeek has not done
  // so.
  if (!passes_stop &&
      (!filter.LowerBoundIsSlow(begin) || !filter.LowerBound(begin, &further) ||
       begin == further)) {
    return false;
  }
  marker->Move(&further, sequence);
  return true;
}

// ---- Next value ----

bool NextValue(const FileRangeFilter* filter,
               const DeletionStretches* stretches, const Slice& position,
               const Slice& from, const Slice* limit, std::string* next) {
  // The file has no key between `from` and where its iterator is.
  Slice start = from.compare(position) < 0 ? position : from;
  for (;;) {
    if (limit != nullptr && start.compare(*limit) >= 0) return false;
    const DeletionStretch* const stretch =
        stretches == nullptr ? nullptr : stretches->EndingAbove(start);
    const bool is_before =
        stretch != nullptr && stretch->begin.compare(start) > 0;
    if (stretch != nullptr && !is_before) {
      // The end tells the next value from the last deletion, so the filter
      // need not be asked for what follows.
      start = stretch->end;
      filter = nullptr;
      continue;
    }
    const Slice* end = limit;
    if (is_before && (limit == nullptr || stretch->begin.compare(*limit) < 0)) {
      end = &stretch->begin;
    }
    if (filter == nullptr || end == nullptr ||
        filter->RangeMayMatch(start, *end, /*hi_inclusive=*/false)) {
      break;
    }
    if (!filter->HasKeyAtOrAbove(*end)) {
      if (start.compare(filter->largest()) < 0) start = filter->largest();
      if (limit != nullptr && start.compare(*limit) >= 0) return false;
      break;
    }
    start = *end;
    filter = nullptr;
  }
  next->assign(start.data(), start.size());
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
