// SPDX-License-Identifier: Apache-2.0

//  A read-only bit vector that answers rank1 in constant time: one look-up
//  table entry of 32 bits for each basic block of 512 bits, then a population
//  count inside the block, which is one cache line (SuRF paper, section 2.6).

#pragma once

#include "filter_policy/bits/bit_array.h"

namespace ROCKSDB_NAMESPACE::protean {

class RankVector {
 public:
  static constexpr uint64_t kBlockBits = 512;

  // The size of a vector of `bits` bits. The vector begins with the bits;
  // Complete writes the table after them.
  static uint64_t Bytes(uint64_t bits) {
    return BitArrayBytes(bits) + (Blocks(bits) * 4 + 7) / 8 * 8;
  }
  static void Complete(char* vector, uint64_t bits) {
    char* table = vector + BitArrayBytes(bits);
    uint32_t ones = 0;
    for (uint64_t word = 0; word < BitArrayBytes(bits) / 8; word++) {
      if (word % kBlockWords == 0) {
        EncodeFixed32(table + 4 * (word / kBlockWords), ones);
      }
      ones += PopCount(LoadWord(vector, word));
    }
  }

  // Takes a vector of `size` bits, `ones` of them set, off the front of
  // `input`, which must outlive this object. False if the bytes are too few,
  // the table or `ones` disagree with the bits, or bits past the end are set.
  bool Open(Slice* input, uint64_t size, uint64_t ones) {
    const char* start;
    if (!TakeBytes(input, Bytes(size), &start)) return false;
    words_ = start;
    table_ = start + BitArrayBytes(size);
    size_ = size;
    uint64_t found = 0;
    for (uint64_t word = 0; word < BitArrayBytes(size) / 8; word++) {
      if (word % kBlockWords == 0 &&
          LoadWord32(table_, word / kBlockWords) != found) {
        return false;
      }
      found += PopCount(LoadWord(words_, word));
    }
    ones_ = ones;
    return found == ones && TailIsZero(words_, size);
  }

  bool Get(uint64_t pos) const { return GetBit(words_, pos); }

  // The number of set bits in [0, pos); pos may be the size.
  uint64_t Rank(uint64_t pos) const {
    if (pos == size_) return ones_;
    const uint64_t block = pos / kBlockBits;
    return LoadWord32(table_, block) +
           CountOnes(words_, block * kBlockBits, pos);
  }

 private:
  static constexpr uint64_t kBlockWords = kBlockBits / 64;
  static uint64_t Blocks(uint64_t bits) {
    return (bits + kBlockBits - 1) / kBlockBits;
  }

  const char* words_ = nullptr;
  const char* table_ = nullptr;
  uint64_t size_ = 0;
  uint64_t ones_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
