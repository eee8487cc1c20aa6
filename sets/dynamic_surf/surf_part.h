// SPDX-License-Identifier: Apache-2.0

//  The static part of a SuRF with updates: a SuRF, and tombstones for those of
//  its keys that were deleted (SuRF paper, appendix A).

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "filter_policy/surf/surf.h"

namespace ROCKSDB_NAMESPACE::protean {

// A set of leaves of a SuRF, by their numbers: a bit for each leaf, such as
// the tombstones of deleted keys (SuRF paper, appendix A). Leaves can be added
// and counted: the ones in each block of bits are summed up in a Fenwick tree.
class LeafSet {
 public:
  // An empty set takes no memory.
  explicit LeafSet(uint32_t num_leaves) : num_leaves_(num_leaves) {}

  // The number of leaves in the set.
  uint32_t size() const { return size_; }

  bool Has(uint32_t leaf) const {
    return size_ > 0 && GetBit(words_.data(), leaf);
  }

  void Add(uint32_t leaf) {
    if (words_.empty()) {
      // Reading a word may load the one after it.
      words_.resize(BitArrayBytes(num_leaves_) + 8);
      sums_.resize(num_leaves_ / kBlockBits + 2);
    }
    if (GetBit(words_.data(), leaf)) return;
    words_[leaf / 8] = static_cast<char>(
        static_cast<uint8_t>(words_[leaf / 8]) | 1u << leaf % 8);
    size_++;
    for (uint32_t i = leaf / kBlockBits + 1; i < sums_.size(); i += i & -i) {
      sums_[i]++;
    }
  }

  // The number of leaves of the set in [begin, end).
  uint32_t CountBetween(uint32_t begin, uint32_t end) const {
    return size_ == 0 ? 0 : CountBelow(end) - CountBelow(begin);
  }

  // The bits, in whole words; nothing if the set is empty.
  Slice words() const {
    return size_ == 0 ? Slice()
                      : Slice(words_.data(), BitArrayBytes(num_leaves_));
  }

  size_t MemoryUsage() const {
    return words_.capacity() + sizeof(uint32_t) * sums_.capacity();
  }

 private:
  static constexpr uint32_t kBlockBits = 512;

  uint32_t CountBelow(uint32_t leaf) const {
    uint32_t count = 0;
    for (uint32_t i = leaf / kBlockBits; i > 0; i &= i - 1) count += sums_[i];
    return count + static_cast<uint32_t>(CountOnes(
                       words_.data(), leaf / kBlockBits * kBlockBits, leaf));
  }

  uint32_t num_leaves_;
  uint32_t size_ = 0;
  std::string words_;
  // The i-th sum, from 1 on, is of the i & -i blocks up to the i-th one.
  std::vector<uint32_t> sums_;
};

// Not synchronized: functions that are not const need the part for themselves.
class SurfPart {
 public:
  // Takes a payload of `size` bytes and the padding behind it. Returns
  // Corruption if the payload is damaged or a trie of digits.
  static Status Create(std::string payload, uint64_t size,
                       const FilterSalt& salt, std::unique_ptr<SurfPart>* part);

  // The SuRF, with all of its keys.
  const Surf& surf() const { return static_cast<const Surf&>(*filter_); }
  Slice payload() const { return Slice(payload_.data(), size_); }

  // The leaves whose keys were deleted.
  const LeafSet& removed() const { return removed_; }
  void Remove(uint32_t leaf) { removed_.Add(leaf); }

  // The leaf that may be that of `key`, and was not removed; false if there is
  // none.
  bool FindLeaf(const Slice& key, uint32_t* leaf) const;
  bool KeyMayMatch(const Slice& key) const {
    uint32_t leaf;
    return removed_.size() == 0 ? surf().KeyMayMatch(key)
                                : FindLeaf(key, &leaf);
  }

  // Counts as Surf::CountRange does.
  RangeCount Count(const Slice& lo, const Slice& hi, bool hi_inclusive) const {
    Surf::RemovedLeaves removed;
    if (removed_.size() > 0) {
      removed = [this](uint32_t begin, uint32_t end) {
        return removed_.CountBetween(begin, end);
      };
    }
    RangeCount count;
    surf().CountLeaves(lo, hi, hi_inclusive, removed, &count);
    return count;
  }

  // False if certainly no key is at or above `target`. Else stores a string
  // such that no key is in [target, *bound): the stored prefix of the first
  // key, or that of a deleted key if very many of these come first.
  bool LowerBound(const Slice& target, std::string* bound) const;

  size_t MemoryUsage() const {
    return payload_.capacity() + removed_.MemoryUsage();
  }

 private:
  // LowerBound steps over this many deleted keys at most.
  static constexpr int kMaxSteps = 256;

  SurfPart(std::string payload, uint64_t size)
      : payload_(std::move(payload)), size_(size) {}

  const std::string payload_;
  const uint64_t size_;
  std::unique_ptr<RangeFilter> filter_;  // a Surf
  LeafSet removed_{0};
};

}  // namespace ROCKSDB_NAMESPACE::protean
