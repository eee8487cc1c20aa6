//  A read-only bit vector that answers rank1 in constant time: one look-up
//  table entry of 32 bits for each basic block of 512 bits, then a population
//  count inside the block, which is one cache line (SuRF paper, section 2.6).

#pragma once

#include "filter_policy/bits/bit_buffer.h"

namespace ROCKSDB_NAMESPACE::protean {

class RankVector {
 public:
  static constexpr uint64_t kBlockBits = 512;

  // Appends `bits` and their look-up table to `out`.
  static void Serialize(const BitBuffer& bits, std::string* out) {
    bits.SerializeTo(out);
    uint32_t ones = 0;
    for (uint64_t word = 0; word < bits.words().size(); word++) {
      if (word % kBlockWords == 0) PutFixed32(out, ones);
      ones += PopCount(bits.words()[word]);
    }
  }

  // Takes a serialized vector of `size` bits off the front of `input`, which
  // must outlive this object. False if the bytes are too few, the table
  // disagrees with the bits, or bits past the end are set.
  bool Open(Slice* input, uint64_t size) {
    const uint64_t num_words = (size + 63) / 64;
    const uint64_t num_blocks = (num_words + kBlockWords - 1) / kBlockWords;
    if (!TakeBytes(input, 8 * num_words, &words_) ||
        !TakeBytes(input, 4 * num_blocks, &table_)) {
      return false;
    }
    size_ = size;
    uint64_t ones = 0;
    for (uint64_t word = 0; word < num_words; word++) {
      if (word % kBlockWords == 0 &&
          LoadWord32(table_, word / kBlockWords) != ones) {
        return false;
      }
      ones += PopCount(LoadWord(words_, word));
    }
    ones_ = ones;
    return size % 64 == 0 || LoadWord(words_, size / 64) >> (size % 64) == 0;
  }

  bool Get(uint64_t pos) const {
    return LoadWord(words_, pos / 64) >> (pos % 64) & 1;
  }

  // The number of set bits in [0, pos); pos <= size().
  uint64_t Rank(uint64_t pos) const {
    if (pos == size_) return ones_;
    const uint64_t block = pos / kBlockBits;
    uint64_t rank = LoadWord32(table_, block);
    const uint64_t last = pos / 64;
    for (uint64_t word = block * kBlockWords; word < last; word++) {
      rank += PopCount(LoadWord(words_, word));
    }
    return rank + PopCount(LoadWord(words_, last) & LowBits(pos % 64));
  }

  uint64_t size() const { return size_; }
  uint64_t ones() const { return ones_; }

 private:
  static constexpr uint64_t kBlockWords = kBlockBits / 64;

  const char* words_ = nullptr;
  const char* table_ = nullptr;
  uint64_t size_ = 0;
  uint64_t ones_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
