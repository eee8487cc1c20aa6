// SPDX-License-Identifier: Apache-2.0

//  A set of leaves of a SuRF, by their numbers: a bit for each leaf, such as
//  the tombstones of deleted keys (SuRF paper, appendix A). Leaves can be added
//  and counted: the ones in each block of bits are summed up in a Fenwick tree.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filter_policy/bits/bit_array.h"

namespace ROCKSDB_NAMESPACE::protean {

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

}  // namespace ROCKSDB_NAMESPACE::protean
