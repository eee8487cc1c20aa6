// SPDX-License-Identifier: Apache-2.0

//  The dynamic part of a SuRF with updates (SuRF paper, appendix A; the hybrid
//  index of Zhang et al., SIGMOD 2016): an ordered map of the keys that were
//  inserted or deleted since the last merge, whole and few.
//
//    directory   the lowest key of each chunk, and sums over its records
//    chunks      sorted arrays of up to 256 records
//    record      the first 8 bytes of a key as a number, the place of the
//                others, the size, and what is known of the key: 16 bytes
//    places      blocks of bytes, which only grow
//
//  Two levels of sorted arrays are enough for a few million keys: an insert
//  moves 2 KB on average, and a sum runs over the directory.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether the parts below hold a key.
enum class Below : uint8_t {
  kNo,
  kMaybe,      // a leaf of the SuRF may be that of the key
  kCertainly,  // a leaf is, or will be after the merge that runs
};

// What a front says of a key.
struct FrontRecord {
  bool is_present = false;  // else it was deleted
  Below below = Below::kNo;

  bool operator==(const FrontRecord& other) const {
    return is_present == other.is_present && below == other.below;
  }
};

// What the records of a range add to the number of keys in the parts below:
// between `most - unsure` and `most`.
struct FrontSum {
  int64_t most = 0;
  int64_t unsure = 0;

  FrontSum& operator+=(const FrontSum& other) {
    most += other.most;
    unsure += other.unsure;
    return *this;
  }
  FrontSum& operator-=(const FrontSum& other) {
    most -= other.most;
    unsure -= other.unsure;
    return *this;
  }
  // The sum of one record. A key that is certainly in the parts below is
  // counted there, too.
  static FrontSum Of(const FrontRecord& record) {
    return {(record.is_present ? 1 : 0) -
                (record.below == Below::kCertainly ? 1 : 0),
            record.below == Below::kMaybe ? 1 : 0};
  }
};

// Not synchronized: Set and Erase need the front for themselves.
class Front {
 public:
  static constexpr size_t kMaxKeySize = size_t{16} << 20;

  // Stores what is known of the key; false if it has no record.
  bool Find(const Slice& key, FrontRecord* record) const;

  // Adds a record, or replaces that of the key. key.size() <= kMaxKeySize.
  void Set(const Slice& key, const FrontRecord& record);

  // Takes the record of a key away, if it has one.
  void Erase(const Slice& key);

  // Sums up the records in [lo, hi).
  FrontSum SumBetween(const Slice& lo, const Slice& hi) const;

  // Stores the first key at or above `target` that is present; false if there
  // is none.
  bool FirstPresent(const Slice& target, std::string* key) const;

  // The number of records.
  uint64_t size() const { return size_; }
  // Returns true if no more than a few thousand keys should be added.
  bool IsFull() const { return blocks_.size() > kMaxBlocks; }
  size_t MemoryUsage() const;

  // Steps through the records in the order of their keys. Any change of the
  // front makes it invalid.
  class Cursor;

 private:
  static constexpr size_t kChunkRecords = 256;
  static constexpr size_t kHeadBytes = 8;
  static constexpr unsigned kBlockShift = 16;
  static constexpr size_t kBlockBytes = size_t{1} << kBlockShift;
  // Places have 32 bits.
  static constexpr size_t kMaxBlocks = 60000;

  struct Entry {
    uint64_t head = 0;   // the first bytes, the first one highest
    uint32_t place = 0;  // of the other bytes: block << kBlockShift | offset
    uint32_t size : 28;
    uint32_t is_present : 1;
    uint32_t below : 2;

    FrontRecord record() const {
      return {is_present != 0, static_cast<Below>(below)};
    }
    void set_record(const FrontRecord& record) {
      is_present = record.is_present ? 1 : 0;
      below = static_cast<uint32_t>(record.below) & 3;
    }
  };

  struct Chunk {
    // No key in the chunk is below that of the entry, but in the first chunk.
    Entry lowest;
    FrontSum sum;
    std::vector<Entry> entries;
  };

  // Where the first key at or above another one is, or would be.
  struct Position {
    size_t chunk = 0;
    size_t index = 0;
    bool is_equal = false;
  };

  static uint64_t HeadOf(const Slice& key);
  Slice RestOf(const Entry& entry) const {
    return Slice(
        &blocks_[entry.place >> kBlockShift][entry.place & (kBlockBytes - 1)],
        entry.size - kHeadBytes);
  }
  // Negative, zero or positive as the entry is below, equal to or above the
  // key with this head.
  int Compare(const Entry& entry, uint64_t head, const Slice& key) const {
    if (entry.head != head) return entry.head < head ? -1 : 1;
    return CompareRest(entry, key);
  }
  int CompareRest(const Entry& entry, const Slice& key) const;
  Position Locate(const Slice& key) const;
  // Sums up the records [begin, end) of a chunk.
  FrontSum SumWithin(size_t chunk, size_t begin, size_t end) const;
  // The place of a copy of the bytes.
  uint32_t Store(const Slice& bytes);
  // Makes room for one more entry at a position in a chunk that is full, and
  // moves the position there.
  void Split(Position* position);

  std::vector<Chunk> chunks_;
  uint64_t size_ = 0;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t block_bytes_ = 0;  // of all blocks
  // Where the next bytes go: block << kBlockShift | offset; the end of that
  // block.
  uint64_t next_ = 0;
  uint64_t next_end_ = 0;
};

class Front::Cursor {
 public:
  explicit Cursor(const Front* front) : front_(front) { SkipEmpty(); }

  bool Valid() const { return chunk_ < front_->chunks_.size(); }
  void Next() {
    index_++;
    SkipEmpty();
  }
  // The current key, until the cursor moves. REQUIRES: Valid()
  Slice key() const { return key_; }
  FrontRecord record() const { return entry().record(); }

 private:
  friend class Front;

  Cursor(const Front* front, const Position& position)
      : front_(front), chunk_(position.chunk), index_(position.index) {
    SkipEmpty();
  }
  const Entry& entry() const { return front_->chunks_[chunk_].entries[index_]; }
  // Goes on to the next record if there is none here, and reads its key.
  void SkipEmpty();

  const Front* front_;
  size_t chunk_ = 0;
  size_t index_ = 0;
  std::string key_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
