//  A growing sequence of bits, used while a filter is built.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filter_policy/bits/bit_util.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

class BitBuffer {
 public:
  void Append(bool bit) {
    if (size_ % 64 == 0) words_.push_back(0);
    words_.back() |= static_cast<uint64_t>(bit) << (size_ % 64);
    size_++;
  }

  // Appends the lowest `count` bits of `bits`, lowest first; count <= 64, and
  // the bits above them must be zero.
  void Append(uint64_t bits, unsigned count) {
    if (count == 0) return;
    const unsigned used = size_ % 64;
    if (used == 0) {
      words_.push_back(bits);
    } else {
      words_.back() |= bits << used;
      if (used + count > 64) words_.push_back(bits >> (64 - used));
    }
    size_ += count;
  }

  void Append(const BitBuffer& other) {
    for (uint64_t pos = 0; pos < other.size_; pos += 64) {
      const uint64_t left = other.size_ - pos;
      Append(other.words_[pos / 64],
             left < 64 ? static_cast<unsigned>(left) : 64);
    }
  }

  bool Get(uint64_t pos) const { return words_[pos / 64] >> (pos % 64) & 1; }
  uint64_t size() const { return size_; }
  const std::vector<uint64_t>& words() const { return words_; }
  size_t MemoryUsage() const { return words_.capacity() * sizeof(uint64_t); }

  // Appends the words, little endian, to `out`.
  void SerializeTo(std::string* out) const {
    for (uint64_t word : words_) PutFixed64(out, word);
  }

 private:
  std::vector<uint64_t> words_;
  uint64_t size_ = 0;
};

// The number of bytes that SerializeTo writes for so many bits.
inline uint64_t SerializedBitsSize(uint64_t bits) {
  return (bits + 63) / 64 * 8;
}

// Takes `size` bytes off the front of `input` into `*part`; false if there are
// fewer.
inline bool TakeBytes(Slice* input, uint64_t size, const char** part) {
  if (input->size() < size) return false;
  *part = input->data();
  input->remove_prefix(size);
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
