// SPDX-License-Identifier: Apache-2.0

//  A marker: the position of an iterator that waits without having read its
//  file (protean_table_iterator.h). A marker is an internal key whose sequence
//  number no write has yet, so DBIter takes it for a write newer than its
//  snapshot and skips it.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "db/dbformat.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

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
  enum class Purpose : uint8_t {
    kNextKey,  // no key of the file is below the marker; the filter can rule
               // out no more
    kProbe,    // no key of the file is below the marker; the filter may rule
               // out ranges that start at it
    kEnd,      // the file has nothing for the seek; DBIter ends at the marker
  };

  // Maximum marker moves per seek. A scan reaches markers again and again, and
  // each move takes about half the time of a read from the block cache.
  static constexpr uint8_t kMaxMoves = 4;
  static constexpr uint8_t kMaxMovesIfCached = 1;

  Purpose purpose() const { return purpose_; }
  bool IsEnd() const { return purpose_ == Purpose::kEnd; }
  // Whether the filter may be asked for a position further on.
  bool MayMove() const {
    return purpose_ == Purpose::kProbe && moves_ < kMaxMoves;
  }
  // Moves since the seek that placed the marker.
  uint8_t moves() const { return moves_; }
  void set_moves(uint8_t moves) { moves_ = moves; }

  // The position as an internal key and as a user key.
  Slice key() const { return key_; }
  Slice user_key() const { return ExtractUserKey(key_); }

  // Where to store the user key of a new position, before Place.
  std::string* new_user_key() { return &key_; }
  // Makes a marker with that sequence number of new_user_key().
  void Place(Purpose purpose, SequenceNumber sequence) {
    purpose_ = purpose;
    PutFixed64(&key_, PackSequenceAndType(sequence, kTypeValue));
  }
  // Moves the marker forward to `*user_key`, which is consumed.
  void Move(std::string* user_key, SequenceNumber sequence) {
    key_.swap(*user_key);
    moves_++;
    Place(purpose_, sequence);
  }

 private:
  std::string key_;
  Purpose purpose_ = Purpose::kNextKey;
  uint8_t moves_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
