// SPDX-License-Identifier: Apache-2.0

//  A filter block in segments (segmented_filter.h), put together of blocks that
//  are finished: the segments of a whole filter, or the parts of a partitioned
//  one.

#pragma once

#include <memory>
#include <string>

#include "filter_policy/filter_block.h"
#include "filter_policy/segments/segmented_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

class SegmentedBlock {
 public:
  bool empty() const { return segments_.empty(); }
  // Whether a segment holds no keys in its filter, so that the block does not
  // either.
  bool HoldsNoKeys() const { return holds_no_keys_; }
  // The number of distinct keys, and the largest one.
  uint64_t num_keys() const { return whole_.num_keys; }
  const std::string& last_key() const { return last_key_; }
  // The bytes of the segments.
  size_t bytes() const { return segments_.block_bytes(); }

  // Adds a segment of the keys that follow, with its header and its last key.
  // `block` has `size` bytes.
  void Add(const FilterBlockHeader& header, const Slice& last_key,
           std::unique_ptr<const char[]> block, size_t size);
  // Says that `next` is the first key of the next segment.
  void EndLast(const Slice& next) { segments_.EndLast(last_key_, next); }
  // Counts a key that no segment holds.
  void CountKey(const Slice& key);

  // The maximum size of the block, without the blocks of segments to come: of
  // one that ends with `next_last`, unless that is empty.
  size_t MaxSize(const Slice& next_last) const {
    return segments_.MaxPayloadSize(last_key_.size() + next_last.size()) +
           kMaxEnvelope;
  }

  // The size of the block, once all segments have been added.
  size_t EndAll(uint16_t flags);
  // Writes the block to `bytes`, which has that many zero bytes. The segments
  // are freed.
  void Write(char* bytes);

 private:
  // The header, the stored keys and what follows the payload.
  static constexpr size_t kMaxEnvelope =
      64 + 2 * FilterBlockHeader::kMaxStoredKey + kReadPadding;

  FilterBlockHeader whole_;
  SegmentWriter segments_;
  // The header refers to these.
  std::string smallest_;
  std::string last_key_;
  bool holds_no_keys_ = false;
  size_t size_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
