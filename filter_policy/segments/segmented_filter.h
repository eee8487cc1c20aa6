// SPDX-License-Identifier: Apache-2.0

//  A whole filter of many keys, in segments: each has a contiguous range of the
//  keys, and a filter of its own. The builder has to keep the keys of one
//  segment only, however large the file is (filter_bits_builder.h). A segment
//  is stored as the block of a part is (filter_block.h).
//
//    offset  size
//         0     4   n, the number of segments, at least 1
//         4     4   zero
//         8  16 n   for each segment: the end of its block (8 bytes), the end
//         of
//                   its end (4 bytes), 4 zero bytes
//                   the ends: strings at or above all keys of a segment, and
//                   below all keys of the next one
//                   the blocks
//
//  Offsets of blocks count from the first block, those of ends from the first
//  end.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/filter_block.h"

namespace ROCKSDB_NAMESPACE::protean {

// The segments that a builder has finished, and their payload.
class SegmentWriter {
 public:
  bool empty() const { return segments_.empty(); }

  // Adds a segment, whose block is given.
  void Add(std::unique_ptr<const char[]> block, size_t size) {
    segments_.push_back({std::move(block), size, std::string()});
    block_bytes_ += size;
  }
  // Says where the last segment ends: at `last`, its last key, and below
  // `next`, a key. An empty `next` says that there is none.
  void EndLast(const std::string& last, const Slice& next);

  // The bytes of all blocks.
  size_t block_bytes() const { return block_bytes_; }
  uint64_t PayloadSize() const;
  // The maximum of PayloadSize() where the last segment and one more, whose
  // block does not count, have ends of `end_bytes` bytes.
  uint64_t MaxPayloadSize(uint64_t end_bytes) const;
  // Writes the payload to PayloadSize() bytes, and frees the segments.
  void Write(char* payload);

 private:
  struct Segment {
    std::unique_ptr<const char[]> block;
    size_t size;
    std::string end;
  };

  std::vector<Segment> segments_;
  size_t block_bytes_ = 0;
  size_t end_bytes_ = 0;
};

class SegmentedFilter : public RangeFilter {
 public:
  // Opens, in place, a payload with filters of one kind. It must outlive the
  // result. Returns Corruption if it is damaged. A segment is megabytes large,
  // so what is allocated for each does not count.
  static Status Open(const Slice& payload, FilterKind kind,
                     std::unique_ptr<RangeFilter>* filter);

  bool KeyMayMatch(const Slice& key) const override;
  // Keys that are in order are looked up by segments.
  void KeysMayMatch(size_t num_keys, Slice** keys,
                    bool* may_match) const override;
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override;
  bool LowerBound(const Slice& target, std::string* bound) const override;
  bool LowerBoundIsLoose() const override { return is_loose_; }
  bool LowerBoundIsSlow() const override { return is_slow_; }
  bool CountRange(const Slice& lo, const Slice& hi, bool hi_inclusive,
                  RangeCount* count) const override;
  // The report of the first segment.
  FilterReport Report() const override {
    return blocks_.front().filter()->Report();
  }

  size_t num_segments() const { return blocks_.size(); }
  const FilterBlock& segment(size_t index) const { return blocks_[index]; }

 private:
  friend class SegmentCursor;

  SegmentedFilter() = default;

  // The first segment that ends at or above the key.
  size_t Find(const Slice& key) const;
  Status Read(const Slice& payload, FilterKind kind);
  // Returns Corruption if the last segment does not go on from those before.
  Status CheckLast(FilterKind kind, uint64_t keys_before) const;

  // For each segment, its end, and the first 8 bytes of that as a number.
  std::vector<Slice> ends_;
  std::vector<uint64_t> end_heads_;
  std::deque<FilterBlock> blocks_;
  // Whether LowerBound is loose, or slow, in any segment.
  bool is_loose_ = false;
  bool is_slow_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
