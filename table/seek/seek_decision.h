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

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "db/dbformat.h"
#include "filter_policy/deletion_stretches.h"
#include "filter_policy/parted_filter.h"
#include "table/seek/run_search.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Marker ----

// The position of an iterator that waits (protean_table_iterator.h).

// Returns the sequence number of the markers of a file, above those of all
// writes, and below the largest one, which RocksDB's iterators use. At the same
// key, larger numbers come first, so they are given to the files that are
// likely to have more keys in a range: files of deeper levels, then files with
// more keys. `level` may be negative if it is unknown.
inline SequenceNumber MarkerSequence(int level, uint64_t keys) {
  constexpr SequenceNumber kLast = kMaxSequenceNumber - 1;
  constexpr int kMaxLevel = 255;
  constexpr int kSizes = 64;
  const int size = FloorLog2(std::max<uint64_t>(keys, 1));
  const int before = kMaxLevel - std::clamp(level, 0, kMaxLevel);
  return kLast -
         static_cast<SequenceNumber>(before * kSizes + (kSizes - 1 - size));
}

class Marker {
 public:
  // No key of the file is below the marker, or it is kEnd.
  enum Purpose : uint8_t {
    kNextKey,  // the filter can rule out no more
    kProbe,    // the filter may rule out ranges that start at the marker
    kEnd,      // the file has nothing for the seek; DBIter ends at the marker
  };

  // Maximum marker moves per seek. A scan reaches markers again and again, and
  // each move takes about half the time of a read from the block cache.
  static constexpr uint8_t kMaxMoves = 4;
  static constexpr uint8_t kMaxMovesIfCached = 1;

  bool IsEnd() const { return purpose == kEnd; }
  // Returns true if the filter may be asked for a position further on.
  bool MayMove() const { return purpose == kProbe && moves < kMaxMoves; }

  // The position as an internal key and as a user key.
  Slice key() const { return key_; }
  Slice user_key() const { return ExtractUserKey(key_); }

  // Where to store the user key of a new position, before Place.
  std::string* new_user_key() { return &key_; }
  // Makes a marker with that sequence number of new_user_key().
  void Place(Purpose its_purpose, SequenceNumber sequence) {
    purpose = its_purpose;
    PutFixed64(&key_, PackSequenceAndType(sequence, kTypeValue));
  }
  // Moves the marker forward to `*user_key`, which is consumed.
  void Move(std::string* user_key, SequenceNumber sequence) {
    key_.swap(*user_key);
    moves++;
    Place(purpose, sequence);
  }

  Purpose purpose = kNextKey;
  uint8_t moves = 0;  // since the seek that placed the marker

 private:
  std::string key_;
};

// ---- Seek decision ----

struct SeekDecision {
  enum Action : uint8_t { kRead, kEmpty, kWait };

  static SeekDecision Read() { return {}; }
  static SeekDecision Empty(bool has_key_beyond = false) {
    return {kEmpty, has_key_beyond, Marker::kNextKey};
  }
  static SeekDecision Wait(Marker::Purpose purpose) {
    return {kWait, /*has_key_beyond=*/false, purpose};
  }

  Action action = kRead;
  // For kEmpty: whether the file certainly has a key at or above the upper
  // bound. Then the search in the level has ended, else it goes on to the next
  // file.
  bool has_key_beyond = false;
  // For kWait.
  Marker::Purpose purpose = Marker::kNextKey;
};

// How a forward seek may wait.
enum class Waiting {
  kForbidden,
  kAllowed,
  // Not right behind the target, where the search has passed a marker before
  // (RunSearch::HasPassed).
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

// A seek to the last key in [lower, *target], or in [lower, *target) unless
// `inclusive`; or to the file's last key if `target` is nullptr.
// `lower_is_known` tells whether RocksDB's iterators know the lower bound, and
// so end the search at a marker below it.
SeekDecision DecideSeekBackwards(const FileRangeFilter& filter,
                                 const Slice* target, bool inclusive,
                                 const Slice& lower, bool lower_is_known,
                                 std::string* marker);

// The search has come to the marker. Moves it as far as the filter rules out
// keys: at the latest behind the key, or to the marker, at which another file
// of the search is (OpenRuns::NextStop). Returns false if the file must be
// read.
bool MoveOn(const FileRangeFilter& filter, const SearchPosition& stop,
            SequenceNumber sequence, Marker* marker);

// ---- Next value ----

// Where a scan may skip deletions: if a search (run_search.h) has come to
// `from`, and no file may have a value in [from, to), it may go on at `to`.
// docs/deletions.md says why, and where the rule is not used.
//
// What a file knows. Its stretches (filter_policy/deletion_stretches.h) say
// exactly where it has deletions only. Elsewhere, its filter may say that it
// has no key at all. It knows nothing beyond its largest key, where the next
// file of its level begins, so each file's answer ends there. When its
// iterator has come to the end, RocksDB's LevelIterator goes on to the next
// file. But if the file has range deletions, LevelIterator stops where the
// last one ends, which no filter knows. Then nothing is skipped.

// Whether, and when, iterators of this process skip deletions.
struct DeletionSkips {
  // Cleared for good, which counts from the next seek on. Thread safe.
  static inline std::atomic<bool> are_allowed{true};
  // Deletions in a row after which a scan asks where it may go on. To ask, and
  // to go on there, takes about as long as stepping over eight deletions. Only
  // tests change it, while nothing reads.
  static inline uint32_t ask_after = 8;
};

// Finds where a file may have its next value: stores a key, from `from` on,
// below which the file has no value that is at or above `from`. Returns false,
// and may store anything, if that key would not be below `limit`, unless that
// is nullptr. `filter`, which is asked once, and `stretches` are the file's, or
// nullptr. `position` is the key or marker at which the file's iterator is.
bool NextValue(const FileRangeFilter* filter,
               const DeletionStretches* stretches, const Slice& position,
               const Slice& from, const Slice* limit, std::string* next);

}  // namespace ROCKSDB_NAMESPACE::protean
