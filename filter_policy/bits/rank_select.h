// SPDX-License-Identifier: Apache-2.0

//  Read-only bit vectors that answer rank1 and select1 (SuRF paper, section
//  2.6).

#pragma once

#include "filter_policy/bits/bit_array.h"

namespace ROCKSDB_NAMESPACE::protean {

// Answers rank1 in constant time: one look-up table entry of 32 bits for each
// basic block of 512 bits, then a population count inside the block, which is
// one cache line.
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

// Answers select1: the positions of every 64th set bit are stored, and the
// words after the sample are counted.
class SelectVector {
 public:
  static constexpr uint64_t kSampleRate = 64;

  // The size of a vector of `bits` bits, `ones` of them set. The vector begins
  // with the bits; Complete writes the samples after them.
  static uint64_t Bytes(uint64_t bits, uint64_t ones) {
    return BitArrayBytes(bits) + (Samples(ones) * 4 + 7) / 8 * 8;
  }
  static void Complete(char* vector, uint64_t bits) {
    char* samples = vector + BitArrayBytes(bits);
    uint64_t rank = 0;
    for (uint64_t word = 0; word < BitArrayBytes(bits) / 8; word++) {
      for (uint64_t rest = LoadWord(vector, word); rest != 0;
           rest &= rest - 1) {
        if (rank % kSampleRate == 0) {
          EncodeFixed32(
              samples + 4 * (rank / kSampleRate),
              static_cast<uint32_t>(64 * word + __builtin_ctzll(rest)));
        }
        rank++;
      }
    }
  }

  // Takes a vector of `size` bits, `ones` of them set, off the front of
  // `input`, which must outlive this object. False if the bytes are too few,
  // the samples or `ones` disagree with the bits, or bits past the end are set.
  bool Open(Slice* input, uint64_t size, uint64_t ones) {
    const char* start;
    if (!TakeBytes(input, Bytes(size, ones), &start)) return false;
    words_ = start;
    samples_ = start + BitArrayBytes(size);
    size_ = size;
    uint64_t rank = 0;
    uint64_t next_sample = 0;
    for (uint64_t index = 0; index < BitArrayBytes(size) / 8; index++) {
      const uint64_t word = LoadWord(words_, index);
      const uint64_t count = PopCount(word);
      if (next_sample < rank + count) {
        if (next_sample >= ones) return false;
        const uint64_t pos =
            64 * index +
            SelectInWord(word, static_cast<unsigned>(next_sample - rank));
        if (LoadWord32(samples_, next_sample / kSampleRate) != pos) {
          return false;
        }
        next_sample += kSampleRate;
      }
      rank += count;
    }
    return rank == ones && TailIsZero(words_, size);
  }

  // The position of the set bit that has `rank` set bits before it.
  // REQUIRES: there is one
  uint64_t Select(uint64_t rank) const {
    const uint64_t sample = LoadWord32(samples_, rank / kSampleRate);
    return SelectFrom(words_, sample, rank % kSampleRate);
  }

  // The position of the first set bit after `pos`, or the size.
  uint64_t Next(uint64_t pos) const { return NextOne(words_, size_, pos + 1); }

  bool Get(uint64_t pos) const { return GetBit(words_, pos); }

 private:
  static uint64_t Samples(uint64_t ones) {
    return (ones + kSampleRate - 1) / kSampleRate;
  }

  const char* words_ = nullptr;
  const char* samples_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
