// SPDX-License-Identifier: Apache-2.0

//  The first and the last of ascending keys, and how the next key compares with
//  the last one. Every key of a file passes here, so nothing is done twice: the
//  comparison that puts a key in order also tells what the keys share.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "filter_policy/bits/bit_util.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// How two keys compare.
struct KeyComparison {
  // Negative, zero or positive as the first key is below, equal to or above the
  // second one in bytewise order.
  int order = 1;
  // True if the keys have different bytes at some place; false if one of them
  // begins with the other.
  bool differ = false;
  // The number of bits with which both keys begin. If no bytes differ, 8 for
  // each byte of the shorter key.
  size_t shared_bits = 0;
};

// Not thread safe.
class AscendingKeys {
 public:
  uint64_t count() const { return count_; }
  Slice first() const { return first_.slice(); }
  Slice last() const { return last_.slice(); }
  size_t MemoryUsage() const { return first_.capacity() + last_.capacity(); }

  // Compares a key with the last one. Any key is above none.
  KeyComparison Compare(const Slice& key) const {
    return count_ == 0 ? KeyComparison() : Compare(key, last_.slice());
  }
  void Take(const Slice& key) {
    if (count_++ == 0) TakeFirst(key);
    last_.Assign(key);
  }
  void Clear() { count_ = 0; }

 private:
  [[gnu::noinline]] void TakeFirst(const Slice& key) { first_.Assign(key); }

  static KeyComparison Compare(const Slice& a, const Slice& b) {
    const size_t shorter = std::min(a.size(), b.size());
    for (size_t i = 0; i + 8 <= shorter; i += 8) {
      const uint64_t word_a = LoadBigEndian(a.data() + i, 8);
      const uint64_t word_b = LoadBigEndian(b.data() + i, 8);
      if (word_a != word_b) {
        return {
            word_a < word_b ? -1 : 1, true,
            8 * i + static_cast<unsigned>(__builtin_clzll(word_a ^ word_b))};
      }
    }
    return CompareBytes(a, b, shorter / 8 * 8);
  }
  // Compare, if it is known that the keys share `begin` bytes.
  [[gnu::noinline]] static KeyComparison CompareBytes(const Slice& a,
                                                      const Slice& b,
                                                      size_t begin) {
    const size_t shorter = std::min(a.size(), b.size());
    const size_t i = SharedBytes(a.data(), b.data(), shorter, begin);
    if (i == shorter) {
      const int order = a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
      return {order, false, 8 * i};
    }
    const auto byte_a = static_cast<uint8_t>(a[i]);
    const auto byte_b = static_cast<uint8_t>(b[i]);
    return {byte_a < byte_b ? -1 : 1, true,
            8 * i + 8 - BitsFor(static_cast<uint8_t>(byte_a ^ byte_b))};
  }

  // A copy of a key. A std::string would do, but the call that each assignment
  // takes costs as much as all else that is done with a short key.
  class KeyCopy {
   public:
    Slice slice() const { return Slice(bytes_.get(), size_); }
    size_t capacity() const { return capacity_; }
    void Assign(const Slice& key) {
      if (key.size() > capacity_) Grow(key.size());
      size_ = key.size();
      if (size_ >= 8 && size_ <= 16) {
        CopyTwoWords(key.data(), size_, bytes_.get());
      } else if (size_ > 0) {
        memcpy(bytes_.get(), key.data(), size_);
      }
    }

   private:
    [[gnu::noinline]] void Grow(size_t size) {
      capacity_ = std::max(2 * capacity_, size);
      bytes_.reset(new char[capacity_]);
    }

    size_t size_ = 0;
    size_t capacity_ = 16;
    std::unique_ptr<char[]> bytes_{new char[capacity_]};
  };

  KeyCopy first_;
  KeyCopy last_;
  uint64_t count_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
