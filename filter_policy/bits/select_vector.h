//  A read-only bit vector that answers select1: the positions of every 64th set
//  bit are stored, and the words after the sample are counted (SuRF paper,
//  section 2.6). It suits vectors without long runs of zeros, such as S-LOUDS,
//  where at most 256 zeros follow each other.

#pragma once

#include "filter_policy/bits/bit_buffer.h"

namespace ROCKSDB_NAMESPACE::protean {

class SelectVector {
 public:
  static constexpr uint64_t kSampleRate = 64;

  // Appends `bits` and the positions of their sampled ones to `out`.
  static void Serialize(const BitBuffer& bits, std::string* out) {
    bits.SerializeTo(out);
    uint64_t rank = 0;
    for (uint64_t word = 0; word < bits.words().size(); word++) {
      for (uint64_t rest = bits.words()[word]; rest != 0; rest &= rest - 1) {
        if (rank++ % kSampleRate == 0) {
          PutFixed32(out,
                     static_cast<uint32_t>(64 * word + __builtin_ctzll(rest)));
        }
      }
    }
  }

  // Takes a serialized vector of `size` bits, `ones` of them set, off the front
  // of `input`, which must outlive this object. False if the bytes are too few,
  // the samples or `ones` disagree with the bits, or bits past the end are set.
  bool Open(Slice* input, uint64_t size, uint64_t ones) {
    const uint64_t num_words = (size + 63) / 64;
    const uint64_t num_samples = (ones + kSampleRate - 1) / kSampleRate;
    if (!TakeBytes(input, 8 * num_words, &words_) ||
        !TakeBytes(input, 4 * num_samples, &samples_)) {
      return false;
    }
    size_ = size;
    uint64_t rank = 0;
    uint64_t next_sample = 0;
    for (uint64_t index = 0; index < num_words; index++) {
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
    return rank == ones && (size % 64 == 0 || size == 0 ||
                            LoadWord(words_, size / 64) >> (size % 64) == 0);
  }

  bool Get(uint64_t pos) const {
    return LoadWord(words_, pos / 64) >> (pos % 64) & 1;
  }

  // The position of the set bit that has `rank` set bits before it; there is
  // one.
  uint64_t Select(uint64_t rank) const {
    const uint64_t sample = LoadWord32(samples_, rank / kSampleRate);
    uint64_t left = rank % kSampleRate;
    if (left == 0) return sample;
    uint64_t index = sample / 64;
    uint64_t word = LoadWord(words_, index) & ~LowBits(sample % 64);
    for (;;) {
      const uint64_t count = PopCount(word);
      if (left < count) {
        return 64 * index + SelectInWord(word, static_cast<unsigned>(left));
      }
      left -= count;
      word = LoadWord(words_, ++index);
    }
  }

  // The position of the first set bit after `pos`, or size().
  uint64_t NextOne(uint64_t pos) const {
    if (++pos >= size_) return size_;
    uint64_t index = pos / 64;
    uint64_t word = LoadWord(words_, index) & ~LowBits(pos % 64);
    while (word == 0) {
      if (64 * ++index >= size_) return size_;
      word = LoadWord(words_, index);
    }
    return 64 * index + __builtin_ctzll(word);
  }

  // The position of the first clear bit at or after `pos`, or size().
  uint64_t NextZero(uint64_t pos) const {
    if (pos >= size_) return size_;
    uint64_t index = pos / 64;
    uint64_t word = ~LoadWord(words_, index) & ~LowBits(pos % 64);
    while (word == 0) {
      if (64 * ++index >= size_) return size_;
      word = ~LoadWord(words_, index);
    }
    const uint64_t found = 64 * index + __builtin_ctzll(word);
    return found < size_ ? found : size_;
  }

  // The position of the last clear bit before `pos`, or size().
  uint64_t PrevZero(uint64_t pos) const {
    uint64_t index = pos / 64;
    uint64_t word =
        pos % 64 == 0 ? 0 : ~LoadWord(words_, index) & LowBits(pos % 64);
    while (word == 0) {
      if (index-- == 0) return size_;
      word = ~LoadWord(words_, index);
    }
    return 64 * index + 63 - __builtin_clzll(word);
  }

  uint64_t size() const { return size_; }

 private:
  const char* words_ = nullptr;
  const char* samples_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
