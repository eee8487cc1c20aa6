// SPDX-License-Identifier: Apache-2.0

//  Fills a quotient filter with fingerprints that come in order, as fast as
//  memory can be written: nothing is moved.

#pragma once

#include "sets/quotient/quotient_multiset.h"

namespace ROCKSDB_NAMESPACE::protean {

class QuotientAppender {
 public:
  // `filter` is empty, and is used by nothing else until Finish has returned.
  explicit QuotientAppender(QuotientMultiset* filter)
      : filter_(filter), capacity_(filter->capacity()) {}

  // Adds a fingerprint of the filter's shape, which is not smaller than the one
  // before. False if the filter is full, or if there is no memory for the end
  // of its last cluster.
  bool Append(uint64_t fingerprint) {
    MutableQuotientBlocks& blocks = filter_->blocks_;
    if (filter_->size_ >= capacity_) return false;
    const uint64_t quotient = blocks.shape().Quotient(fingerprint);
    const uint64_t slot = quotient > next_ ? quotient : next_;
    if (!filter_->ProvideFreeSlot(slot)) return false;
    SetOffsets(quotient / QuotientBlocks::kSlots);
    if (blocks.IsOccupied(quotient)) {
      blocks.SetRunend(slot - 1, false);
    } else {
      blocks.SetOccupied(quotient, true);
    }
    blocks.SetRunend(slot, true);
    blocks.SetRemainder(slot, blocks.shape().Remainder(fingerprint));
    next_ = slot + 1;
    filter_->size_++;
    return true;
  }

  // Makes the filter complete. Must be called once, after the last Append.
  void Finish() { SetOffsets(filter_->blocks_.num_blocks() - 1); }

 private:
  // Sets the offsets of all blocks up to `last`, which get no more remainders
  // from blocks before them.
  void SetOffsets(uint64_t last) {
    while (block_ < last) {
      const uint64_t begin = ++block_ * QuotientBlocks::kSlots;
      if (next_ > begin) filter_->blocks_.SetOffset(block_, next_ - begin);
    }
  }

  QuotientMultiset* const filter_;
  const uint64_t capacity_;
  uint64_t next_ = 0;   // the slot behind the last remainder
  uint64_t block_ = 0;  // the last block whose offset is set
};

}  // namespace ROCKSDB_NAMESPACE::protean
