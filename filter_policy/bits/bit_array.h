// SPDX-License-Identifier: Apache-2.0

//  Operations on bits that are stored in little-endian words: bit i is bit
//  i mod 64 of word i / 64. The functions that read may load the word after
//  the last bit.

#pragma once

#include "filter_policy/bits/bit_util.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// The bytes that `bits` bits take, in whole words.
inline uint64_t BitArrayBytes(uint64_t bits) { return (bits + 63) / 64 * 8; }

// Takes `size` bytes off the front of `input`, and stores where they begin in
// `*part`. False if there are fewer.
inline bool TakeBytes(Slice* input, uint64_t size, const char** part) {
  if (input->size() < size) return false;
  *part = input->data();
  input->remove_prefix(size);
  return true;
}

inline bool GetBit(const char* words, uint64_t pos) {
  return static_cast<uint8_t>(words[pos / 8]) >> (pos % 8) & 1;
}

// The `width` bits from `pos` on; width <= 57.
inline uint64_t GetBits(const char* words, uint64_t pos, unsigned width) {
  return DecodeFixed64(words + pos / 8) >> (pos % 8) & LowBits(width);
}

// The number of set bits in [begin, end).
inline uint64_t CountOnes(const char* words, uint64_t begin, uint64_t end) {
  uint64_t index = begin / 64;
  uint64_t word = LoadWord(words, index) & ~LowBits(begin % 64);
  uint64_t count = 0;
  for (; index < end / 64; word = LoadWord(words, ++index)) {
    count += PopCount(word);
  }
  return count + PopCount(word & LowBits(end % 64));
}

// The position of the set bit at or after `begin` that has `rank` set bits
// between `begin` and itself; there is one.
inline uint64_t SelectFrom(const char* words, uint64_t begin, uint64_t rank) {
  uint64_t index = begin / 64;
  uint64_t word = LoadWord(words, index) & ~LowBits(begin % 64);
  for (;;) {
    const uint64_t count = PopCount(word);
    if (rank < count) {
      return 64 * index + SelectInWord(word, static_cast<unsigned>(rank));
    }
    rank -= count;
    word = LoadWord(words, ++index);
  }
}

// The word, or its complement to search for clear bits as for set ones.
template <bool kSet>
uint64_t LoadWordFor(const char* words, uint64_t index) {
  return kSet ? LoadWord(words, index) : ~LoadWord(words, index);
}

// The position of the first bit with that value at or after `pos`, or `size`.
template <bool kSet>
uint64_t NextBit(const char* words, uint64_t size, uint64_t pos) {
  if (pos >= size) return size;
  uint64_t index = pos / 64;
  uint64_t word = LoadWordFor<kSet>(words, index) & ~LowBits(pos % 64);
  while (word == 0) {
    if (64 * ++index >= size) return size;
    word = LoadWordFor<kSet>(words, index);
  }
  const uint64_t found = 64 * index + __builtin_ctzll(word);
  return found < size ? found : size;
}

// The position of the last bit with that value before `pos` and at or after
// `begin`, or `pos` if there is none.
template <bool kSet>
uint64_t PrevBit(const char* words, uint64_t begin, uint64_t pos) {
  if (pos <= begin) return pos;
  uint64_t index = (pos - 1) / 64;
  uint64_t word = LoadWordFor<kSet>(words, index);
  if (pos % 64 != 0) word &= LowBits(pos % 64);
  while (word == 0) {
    if (64 * index <= begin) return pos;
    word = LoadWordFor<kSet>(words, --index);
  }
  const uint64_t found = 64 * index + 63 - __builtin_clzll(word);
  return found >= begin ? found : pos;
}

// Returns true if the bits of the last word that lie after `size` are zero.
inline bool TailIsZero(const char* words, uint64_t size) {
  return size % 64 == 0 || LoadWord(words, size / 64) >> (size % 64) == 0;
}

// The functions below change an array that is being built and holds the word.

inline void StoreWord(char* words, uint64_t index, uint64_t word) {
  EncodeFixed64(words + 8 * index, word);
}
inline void SetBit(char* words, uint64_t pos) {
  StoreWord(words, pos / 64,
            LoadWord(words, pos / 64) | uint64_t{1} << (pos % 64));
}
inline void ClearBit(char* words, uint64_t pos) {
  StoreWord(words, pos / 64,
            LoadWord(words, pos / 64) & ~(uint64_t{1} << (pos % 64)));
}
// Writes successive numbers into bits that are zero, and leaves all other bits
// as they are.
class BitWriter {
 public:
  BitWriter(char* words, uint64_t pos)
      : words_(words), index_(pos / 64), used_(pos % 64) {}
  ~BitWriter() { Flush(); }
  BitWriter(const BitWriter&) = delete;
  BitWriter& operator=(const BitWriter&) = delete;

  // Writes the lowest `width` bits of `value`, above which it is zero;
  // width <= 64.
  void Write(uint64_t value, unsigned width) {
    word_ |= value << used_;
    used_ += width;
    if (used_ >= 64) {
      const unsigned written = 64 - (used_ - width);
      used_ -= 64;
      Flush();
      index_++;
      word_ = written < 64 ? value >> written : 0;
    }
  }

 private:
  void Flush() {
    if (word_ != 0) StoreWord(words_, index_, LoadWord(words_, index_) | word_);
  }

  char* const words_;
  uint64_t index_;
  unsigned used_;
  uint64_t word_ = 0;
};

// A read-only array of small numbers, each of the same number of bits.
class PackedArray {
 public:
  static uint64_t Bytes(uint64_t size, unsigned bits) {
    return BitArrayBytes(size * bits);
  }

  PackedArray() = default;
  // Numbers of `bits` bits each, written with BitWriter at `words`, which must
  // outlive this object. bits <= 64.
  PackedArray(const char* words, unsigned bits) : words_(words), bits_(bits) {}

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

// ---- Rank and select ----

// A read-only bit vector, followed by a table that makes rank1 or select1 fast
// (SuRF paper, section 2.6). `Vector` is the class derived from this one. Its
// function Entries(bits, ones) returns the number of the table's entries, and
// VisitEntries(words, bits, visit) calls visit(index, entry) for each of them.
// VisitEntries returns the number of ones, or kRefused if `visit` has returned
// false.
template <class Vector>
class TabledBits {
 public:
  // The size of a vector of `bits` bits, `ones` of them set. The vector begins
  // with the bits; Complete writes the table after them.
  static uint64_t Bytes(uint64_t bits, uint64_t ones) {
    return BitArrayBytes(bits) + (Vector::Entries(bits, ones) * 4 + 7) / 8 * 8;
  }
  static void Complete(char* vector, uint64_t bits) {
    char* const table = vector + BitArrayBytes(bits);
    Vector::VisitEntries(vector, bits, [table](uint64_t i, uint64_t entry) {
      EncodeFixed32(table + 4 * i, static_cast<uint32_t>(entry));
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
    const uint64_t entries = Vector::Entries(size, ones);
    const uint64_t found = Vector::VisitEntries(
        words, size, [this, entries](uint64_t i, uint64_t entry) {
          return i < entries && EntryAt(i) == entry;
        });
    return found == ones && TailIsZero(words_, size);
  }

  bool Get(uint64_t pos) const { return GetBit(words_, pos); }

 protected:
  uint64_t EntryAt(uint64_t i) const { return DecodeFixed32(table_ + 4 * i); }

  // More ones than any vector has.
  static constexpr uint64_t kRefused = ~uint64_t{0};

  const char* words_ = nullptr;
  const char* table_ = nullptr;
  uint64_t size_ = 0;
  uint64_t ones_ = 0;
};

// Answers rank1 in constant time: one look-up table entry of 32 bits for each
// basic block of 512 bits, then a population count inside the block, which is
// one cache line.
class RankVector : public TabledBits<RankVector> {
 public:
  // The number of set bits in [0, pos); pos may be the size.
  uint64_t Rank(uint64_t pos) const {
    if (pos == size_) return ones_;
    const uint64_t block = pos / kBlockBits;
    return EntryAt(block) + CountOnes(words_, block * kBlockBits, pos);
  }

  static uint64_t Entries(uint64_t bits, uint64_t /*ones*/) {
    return (bits + kBlockBits - 1) / kBlockBits;
  }
  template <typename Visit>
  static uint64_t VisitEntries(const char* words, uint64_t bits,
                               const Visit& visit) {
    constexpr uint64_t kBlockWords = kBlockBits / 64;
    uint64_t ones = 0;
    for (uint64_t word = 0; word < BitArrayBytes(bits) / 8; word++) {
      if (word % kBlockWords == 0 && !visit(word / kBlockWords, ones)) {
        return kRefused;
      }
      ones += PopCount(LoadWord(words, word));
    }
    return ones;
  }

 private:
  static constexpr uint64_t kBlockBits = 512;
};

// Answers select1: the positions of every 64th set bit are stored, and the
// words after the sample are counted.
class SelectVector : public TabledBits<SelectVector> {
 public:
  // The position of the set bit that has `rank` set bits before it.
  // REQUIRES: there is one
  uint64_t Select(uint64_t rank) const {
    return SelectFrom(words_, EntryAt(rank / kSampleRate), rank % kSampleRate);
  }

  // The position of the first set bit after `pos`, or the size.
  uint64_t Next(uint64_t pos) const {
    return NextBit<true>(words_, size_, pos + 1);
  }

  static uint64_t Entries(uint64_t /*bits*/, uint64_t ones) {
    return (ones + kSampleRate - 1) / kSampleRate;
  }
  template <typename Visit>
  static uint64_t VisitEntries(const char* words, uint64_t bits,
                               const Visit& visit) {
    uint64_t rank = 0;
    uint64_t sample = 0;
    for (uint64_t index = 0; index < BitArrayBytes(bits) / 8; index++) {
      const uint64_t word = LoadWord(words, index);
      const uint64_t end = rank + PopCount(word);
      if (sample * kSampleRate < end) {
        const auto in_word = static_cast<unsigned>(sample * kSampleRate - rank);
        if (!visit(sample, 64 * index + SelectInWord(word, in_word))) {
          return kRefused;
        }
        sample++;
      }
      rank = end;
    }
    return rank;
  }

 private:
  static constexpr uint64_t kSampleRate = 64;
};

}  // namespace ROCKSDB_NAMESPACE::protean
