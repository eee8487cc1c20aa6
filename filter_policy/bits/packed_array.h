// SPDX-License-Identifier: Apache-2.0

//  A read-only array of small numbers, each of the same number of bits.

#pragma once

#include "filter_policy/bits/bit_array.h"

namespace ROCKSDB_NAMESPACE::protean {

class PackedArray {
 public:
  static uint64_t Bytes(uint64_t size, unsigned bits) {
    return BitArrayBytes(size * bits);
  }

  // Takes `size` numbers of `bits` bits each off the front of `input`, which
  // must outlive this object; they were written with BitWriter. bits <= 64.
  bool Open(Slice* input, uint64_t size, unsigned bits) {
    bits_ = bits;
    return TakeBytes(input, Bytes(size, bits), &words_);
  }

  // The number at `index`, which is below the size.
  uint64_t Get(uint64_t index) const {
    const uint64_t pos = index * bits_;
    if (bits_ <= 57) return GetBits(words_, pos, bits_);
    const unsigned shift = pos % 64;
    uint64_t value = LoadWord(words_, pos / 64) >> shift;
    if (shift + bits_ > 64) {
      value |= LoadWord(words_, pos / 64 + 1) << (64 - shift);
    }
    return bits_ == 64 ? value : value & LowBits(bits_);
  }

  const char* data() const { return words_; }
  unsigned bits() const { return bits_; }

 private:
  const char* words_ = nullptr;
  unsigned bits_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
