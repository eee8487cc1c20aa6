// SPDX-License-Identifier: Apache-2.0

//  Makes one filter block, that of a whole file or of a part of it: feeds keys
//  to a RangeFilterBuilder and puts its result into the envelope. RocksDB gives
//  keys in the order of its comparator, which need not be the bytewise one.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "filter_policy/filter_block.h"

namespace ROCKSDB_NAMESPACE::protean {

// The keys of a file whose comparator reverses the bytewise order, kept until
// all are there: builders take keys in ascending order.
class DescendingKeys {
 public:
  bool empty() const { return ends_.empty(); }
  size_t size() const { return ends_.size(); }
  Slice last() const { return At(ends_.size() - 1); }

  void Add(const Slice& key) {
    bytes_.append(key.data(), key.size());
    ends_.push_back(bytes_.size());
  }
  void MoveTo(RangeFilterBuilder* builder) {
    for (size_t i = ends_.size(); i-- > 0;) builder->AddKey(At(i));
    *this = DescendingKeys();
  }
  size_t MemoryUsage() const {
    return bytes_.capacity() + ends_.capacity() * sizeof(size_t);
  }

 private:
  Slice At(size_t index) const {
    const size_t begin = index == 0 ? 0 : ends_[index - 1];
    return Slice(bytes_.data() + begin, ends_[index] - begin);
  }

  std::string bytes_;
  std::vector<size_t> ends_;
};

// Not thread safe.
class BlockBuilder {
 public:
  BlockBuilder(std::unique_ptr<RangeFilterBuilder> builder,
               const FilterBlockHeader& header);

  void AddKey(const Slice& key) {
    if (unordered_ || !descending_.empty() || !builder_->AddKey(key)) {
      AddOutOfOrder(key);
    }
    header_.key_lengths |= FilterBlockHeader::LengthBit(key);
  }
  void AddFlags(uint16_t flags) {
    header_.flags = static_cast<uint16_t>(header_.flags | flags);
  }
  // The first key, which comes next, is the last one of the part before.
  void CountFirstKeyBefore() { header_.keys_before--; }
  // The keys that come are in neither order.
  void SetUnordered() { unordered_ = true; }
  // Makes the block that of a part. Called before Finish.
  void MakePart() {
    header_.is_part = true;
    builder_->ExpectParts();
  }

  uint64_t num_keys() const {
    return builder_->num_keys() + descending_.size() + unordered_keys_;
  }
  size_t MemoryUsage() const {
    return builder_->MemoryUsage() + descending_.MemoryUsage();
  }
  // The smallest and the largest key of those in ascending order.
  Slice first_key() const { return builder_->first_key(); }
  Slice last_key() const { return builder_->last_key(); }
  bool KeepsRange() const {
    return builder_->KeepsRange() && builder_->num_keys() > 0;
  }
  // Whether the builder wants no more keys, since they would take too much
  // memory, and all keys are in ascending order.
  bool IsFull() const {
    return !unordered_ && descending_.empty() && builder_->IsFull();
  }

  // The maximum of size() after Finish, if no more keys come. A guess where the
  // keys descend, since they are not in the filter yet.
  uint64_t MaxSize() const;

  // Called after the last key. Returns why the block cannot hold the keys: then
  // it says so.
  Status Finish();
  bool WaitsForParts() const { return filters() && builder_->WaitsForParts(); }
  std::unique_ptr<RangeFilterBuilder> NextPart() {
    return builder_->NextPart();
  }

  // The size of the block, after Finish.
  size_t size() const { return FilterBlockSize(header_, payload_size_); }
  // Writes the block to size() zero bytes.
  void Write(char* block);
  // Makes the block of a part one that says that it holds no keys.
  void Overwrite(char* block);

  // The header, after Finish.
  const FilterBlockHeader& header() const { return header_; }
  FilterReport Report() const { return builder_->Report(); }

 private:
  bool filters() const { return header_.kind != FilterKind::kAlwaysTrue; }
  void AddOutOfOrder(const Slice& key);

  const std::unique_ptr<RangeFilterBuilder> builder_;
  FilterBlockHeader header_;
  uint64_t payload_size_ = 0;
  DescendingKeys descending_;
  bool unordered_ = false;
  uint64_t unordered_keys_ = 0;
  std::string last_unordered_key_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
