// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/segments/segmented_block.h"

#include <utility>

namespace ROCKSDB_NAMESPACE::protean {

void SegmentedBlock::Add(const FilterBlockHeader& header, const Slice& last_key,
                         std::unique_ptr<const char[]> block, size_t size) {
  if (empty()) smallest_ = header.smallest.ToString();
  last_key_.assign(last_key.data(), last_key.size());
  holds_no_keys_ = holds_no_keys_ || header.kind == FilterKind::kAlwaysTrue;
  whole_.kind = header.kind;
  whole_.flags |= header.flags;
  whole_.num_keys += header.num_keys;
  whole_.key_lengths |= header.key_lengths;
  if (!header.salt.IsNone()) whole_.salt = header.salt;
  segments_.Add(std::move(block), size);
}

void SegmentedBlock::CountKey(const Slice& key) {
  if (key == last_key_) return;
  whole_.num_keys++;
  last_key_.assign(key.data(), key.size());
}

size_t SegmentedBlock::EndAll(uint16_t flags) {
  segments_.EndLast(last_key_, Slice());
  whole_.flags |= flags;
  whole_.smallest = smallest_;
  whole_.largest = last_key_;
  whole_.is_segmented = true;
  if (holds_no_keys_) whole_.HoldNoKeys();
  size_ = FilterBlockSize(whole_, holds_no_keys_ ? 0 : segments_.PayloadSize());
  return size_;
}

void SegmentedBlock::Write(char* bytes) {
  char* const payload = StartFilterBlock(whole_, bytes);
  if (!holds_no_keys_) segments_.Write(payload);
  FinishFilterBlock(bytes, size_);
}

}  // namespace ROCKSDB_NAMESPACE::protean
