// SPDX-License-Identifier: Apache-2.0

//  What a file's iterator does with a seek: read the file, turn invalid because
//  the file has nothing for the seek, or wait at a marker. The decision is a
//  pure function of the file's filter, the bounds and what is known of the
//  sorted run; protean_table_iterator.h acts on it, and tools/filter_replay.cc
//  replays it.
//
//  Keys are user keys without timestamps, and markers are stored as such, in
//  `*marker`, which is only meaningful after a decision to wait.

#pragma once

#include <string>

#include "filter_policy/file_range_filter.h"
#include "table/seek/marker.h"
#include "table/seek/open_run.h"

namespace ROCKSDB_NAMESPACE::protean {

struct SeekDecision {
  enum class Action : uint8_t { kRead, kEmpty, kWait };

  static SeekDecision Read() { return {}; }
  static SeekDecision Empty(bool has_key_beyond = false) {
    return {Action::kEmpty, has_key_beyond, Marker::Purpose::kNextKey};
  }
  static SeekDecision Wait(Marker::Purpose purpose) {
    return {Action::kWait, /*has_key_beyond=*/false, purpose};
  }

  Action action = Action::kRead;
  // For kEmpty: whether the file certainly has a key at or above the upper
  // bound. Then the search in the level has ended, else it goes on to the next
  // file.
  bool has_key_beyond = false;
  // For kWait.
  Marker::Purpose purpose = Marker::Purpose::kNextKey;
};

// How a forward seek may wait.
enum class Waiting {
  kForbidden,
  kAllowed,
  // Not right behind the target, where the search has passed a marker before
  // (SearchRounds::HasPassed).
  kNotAtTarget,
};

// Where a forward seek waits, if it may and the range is not known to be empty.
// As DecideSeek, which calls it.
SeekDecision DecideWait(const FileRangeFilter& filter, const Slice& target,
                        const Slice* upper, Waiting waiting,
                        std::string* marker);

// A seek to the first key at or above `target`, below `upper` unless that is
// nullptr. Inline, since most seeks end with the first question.
inline SeekDecision DecideSeek(const FileRangeFilter& filter,
                               const Slice& target, const Slice* upper,
                               Waiting waiting, std::string* marker) {
  if (upper != nullptr &&
      !filter.RangeMayMatch(target, *upper, /*hi_inclusive=*/false)) {
    return SeekDecision::Empty(filter.HasKeyAtOrAbove(*upper));
  }
  return waiting == Waiting::kForbidden
             ? SeekDecision::Read()
             : DecideWait(filter, target, upper, waiting, marker);
}

// A seek to the file's first key, below `upper`. It never waits: the search has
// come to the file from the one before.
SeekDecision DecideSeekToFirst(const FileRangeFilter& filter,
                               const Slice& upper);

// A seek to the last key in [lower, target], or in [lower, target) unless
// `inclusive`. `lower_is_known` tells whether RocksDB's iterators know the
// lower bound, and so end the search at a marker below it.
SeekDecision DecideSeekForPrev(const FileRangeFilter& filter,
                               const Slice& target, bool inclusive,
                               const Slice& lower, bool lower_is_known,
                               std::string* marker);

// A seek to the file's last key, at or above `lower`.
SeekDecision DecideSeekToLast(const FileRangeFilter& filter, const Slice& lower,
                              bool lower_is_known, std::string* marker);

// The search has come to a marker whose purpose is kProbe, at `begin`. Decides
// to read, or to wait further on: at the latest behind the key, or at the
// marker, at which another file of the search is (OpenRuns::NextStop).
SeekDecision DecideMove(const FileRangeFilter& filter, const Slice& begin,
                        const SearchPosition& stop, std::string* marker);
// Moves `*marker`, to which the search has come, as DecideMove decides. False
// if the file must be read.
bool MoveOn(const FileRangeFilter& filter, const SearchPosition& stop,
            SequenceNumber sequence, Marker* marker);

}  // namespace ROCKSDB_NAMESPACE::protean
