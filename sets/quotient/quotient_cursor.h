// SPDX-License-Identifier: Apache-2.0

//  Reads the fingerprints of a quotient filter from the smallest to the
//  largest, which is the order they are stored in.

#pragma once

#include "sets/quotient/quotient_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

// Invalid once the blocks change. Copies of a fingerprint come one by one.
class QuotientCursor {
 public:
  // The cursor is at the first fingerprint.
  explicit QuotientCursor(const QuotientBlocks& blocks) : blocks_(blocks) {
    EnterRun(0);
  }

  // Returns true if there is a fingerprint; if not, all have been read.
  bool Valid() const { return quotient_ < blocks_.shape().num_quotients(); }
  // REQUIRES: Valid()
  uint64_t Fingerprint() const {
    return blocks_.shape().Join(quotient_, blocks_.Remainder(slot_));
  }
  // REQUIRES: Valid()
  void Next() {
    if (blocks_.IsRunend(slot_++)) EnterRun(quotient_ + 1);
  }

  // Moves to the first fingerprint that is at least `fingerprint`, forwards or
  // backwards.
  void Seek(uint64_t fingerprint) {
    const uint64_t quotient = blocks_.shape().Quotient(fingerprint);
    slot_ = blocks_.RunBegin(quotient);
    EnterRun(quotient);
    while (Valid() && Fingerprint() < fingerprint) Next();
  }

 private:
  // Goes to the first run of a quotient that is at least `quotient`; slot_ is
  // behind all runs before.
  void EnterRun(uint64_t quotient) {
    quotient_ = blocks_.NextOccupied(quotient);
    if (slot_ < quotient_) slot_ = quotient_;
  }

  const QuotientBlocks blocks_;
  uint64_t quotient_ = 0;
  uint64_t slot_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
