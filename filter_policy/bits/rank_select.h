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
    char* const table = vector + BitArrayBytes(bits);
    VisitBlocks(vector, bits, [table](uint64_t block, uint64_t ones) {
      EncodeFixed32(table + 4 * block, static_cast<uint32_t>(ones));
      return true;
    });
  }

  // Opens the vector of `size` bits, `ones` of them set, at `words`, which must
  // outlive this object. False if the table or `ones` disagree with the bits,
  // or bits past the end are set.
  bool Open(const char* words, uint64_t size, uint64_t ones) {
    words_ = words;
    table_ = words + BitArrayBytes(size);
    size_ = size;
    ones_ = ones;
    const uint64_t found =
        VisitBlocks(words, size, [this](uint64_t block, uint64_t before) {
          return LoadWord32(table_, block) == before;
        });
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
  // Calls visit(block, ones before it) for each block. Returns the number of
  // ones, or a larger one than any if `visit` has returned false.
  template <typename Visit>
  static uint64_t VisitBlocks(const char* words, uint64_t bits,
                              const Visit& visit) {
    constexpr uint64_t kBlockWords = kBlockBits / 64;
    uint64_t ones = 0;
    for (uint64_t word = 0; word < BitArrayBytes(bits) / 8; word++) {
      if (word % kBlockWords == 0 && !visit(word / kBlockWords, ones)) {
        return ~uint64_t{0};
      }
      ones += PopCount(LoadWord(words, word));
    }
    return ones;
  }
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
    char* const samples = vector + BitArrayBytes(bits);
    VisitSamples(vector, bits, [samples](uint64_t sample, uint64_t pos) {
      EncodeFixed32(samples + 4 * sample, static_cast<uint32_t>(pos));
      return true;
    });
  }

  // Does what RankVector::Open does.
  bool Open(const char* words, uint64_t size, uint64_t ones) {
    words_ = words;
    samples_ = words + BitArrayBytes(size);
    size_ = size;
    const uint64_t found =
        VisitSamples(words, size, [&](uint64_t sample, uint64_t pos) {
          return sample < Samples(ones) && LoadWord32(samples_, sample) == pos;
        });
    return found == ones && TailIsZero(words_, size);
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
  // Calls visit(sample, position) for each set bit that is a sample. Returns
  // what VisitBlocks does.
  template <typename Visit>
  static uint64_t VisitSamples(const char* words, uint64_t bits,
                               const Visit& visit) {
    uint64_t rank = 0;
    uint64_t sample = 0;
    for (uint64_t index = 0; index < BitArrayBytes(bits) / 8; index++) {
      const uint64_t word = LoadWord(words, index);
      const uint64_t end = rank + PopCount(word);
      if (sample * kSampleRate < end) {
        const auto in_word = static_cast<unsigned>(sample * kSampleRate - rank);
        if (!visit(sample, 64 * index + SelectInWord(word, in_word))) {
          return ~uint64_t{0};
        }
        sample++;
      }
      rank = end;
    }
    return rank;
  }
  static uint64_t Samples(uint64_t ones) {
    return (ones + kSampleRate - 1) / kSampleRate;
  }

  const char* words_ = nullptr;
  const char* samples_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
