// SPDX-License-Identifier: Apache-2.0

//  The bytes that occur in a trie, numbered in their order.
//
//  Text uses 30 to 70 of the 256 bytes. The *code* of a byte is its number
//  among the bytes that occur. The trie stores codes, in as few bits as they
//  take.
//
//  Queries contain other bytes as well. They compare *symbols*: the symbol of a
//  byte with code c is 2c + 1. The symbol of a byte that does not occur is 2c,
//  where c is the code of the next byte that does. So symbols order as bytes
//  do, and only an odd symbol can be found in the trie.

#pragma once

#include "filter_policy/bits/bit_array.h"

namespace ROCKSDB_NAMESPACE::protean {

class Alphabet {
 public:
  // The size in a block: a bit for each byte.
  static constexpr size_t kSize = 32;

  Alphabet() = default;
  // Copies the kSize bytes at `bytes`.
  explicit Alphabet(const char* bytes) {
    unsigned count = 0;
    for (unsigned i = 0; i < 4; i++) {
      words_[i] = LoadWord(bytes, i);
      before_[i] = static_cast<uint16_t>(count);
      count += PopCount(words_[i]);
    }
    size_ = count;
    code_bits_ = count <= 2 ? 1 : BitsFor(count - 1);
    are_first_ = count < 64 && words_[0] == LowBits(count);
  }

  unsigned size() const { return size_; }
  // The bits of a code, 1 to 8.
  unsigned code_bits() const { return code_bits_; }

  // The symbol of a byte, 0 to 511.
  int Symbol(uint8_t byte) const {
    if (size_ == 256) return 2 * byte + 1;
    const uint64_t word = words_[byte / 64];
    const int code = before_[byte / 64] + PopCount(word & LowBits(byte % 64));
    return 2 * code + static_cast<int>(word >> (byte % 64) & 1);
  }

  // The byte of a code, or any byte for a code that no byte has.
  uint8_t Byte(unsigned code) const {
    if (size_ == 256 || code >= size_ || are_first_) {
      return static_cast<uint8_t>(code);
    }
    unsigned i = 3;
    while (before_[i] > code) i--;
    return static_cast<uint8_t>(64 * i +
                                SelectInWord(words_[i], code - before_[i]));
  }

 private:
  uint64_t words_[4] = {};
  uint16_t before_[4] = {};
  uint16_t size_ = 0;
  uint16_t code_bits_ = 1;
  bool are_first_ = false;  // whether each code is its byte
};

}  // namespace ROCKSDB_NAMESPACE::protean
