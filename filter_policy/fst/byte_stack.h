// SPDX-License-Identifier: Apache-2.0

//  Bytes for FstBuilder. Numbers and short runs of bytes are copied in pieces
//  of constant size, hence without branches: a copy may extend past their end,
//  and is overwritten there by what follows.

#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "filter_policy/bits/bit_util.h"

namespace ROCKSDB_NAMESPACE::protean {

// A growing sequence of bytes.
class ByteStack {
 public:
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  const char* data() const { return bytes_.get(); }

  // Whether `bytes` more bytes fit without growing.
  bool HasRoomFor(size_t bytes) const {
    return size_ + bytes + kSlack <= capacity_;
  }
  // Makes room for `bytes` more bytes, and for `least` bytes in all.
  void Reserve(size_t bytes, size_t least) {
    if (!HasRoomFor(bytes)) Grow(std::max(size_ + bytes + kSlack, least));
  }

  // Appends the lowest `bytes` bytes of `number`, lowest first; bytes <= 8.
  void PushNumber(uint64_t number, size_t bytes) {
    if (!HasRoomFor(bytes)) Grow(2 * capacity_ + 4 * kSlack);
    EncodeFixed64(&bytes_[size_], number);
    size_ += bytes;
  }

  // Appends the bytes of `other` from `begin` on. REQUIRES: room for them
  void PushTop(const ByteStack& other, size_t begin) {
    const size_t size = other.size_ - begin;
    if (size == 0) return;
    memcpy(&bytes_[size_], &other.bytes_[begin], kPiece);
    if (size > kPiece) memcpy(&bytes_[size_], &other.bytes_[begin], size);
    size_ += size;
  }

  // Appends `size` bytes. REQUIRES: room for them
  void PushBytes(const char* bytes, size_t size) {
    if (size == 0) return;
    memcpy(&bytes_[size_], bytes, size);
    size_ += size;
  }

  // Drops all but the first `size` bytes.
  void Truncate(size_t size) { size_ = size; }

 private:
  static constexpr size_t kPiece = 64;
  // Room past the end that is always kept.
  static constexpr size_t kSlack = kPiece + 8;

  [[gnu::noinline]] void Grow(size_t capacity) {
    std::unique_ptr<char[]> grown(new char[capacity]);
    if (size_ > 0) memcpy(grown.get(), bytes_.get(), size_);
    bytes_ = std::move(grown);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
