//  The keys of a file, kept until its filter is designed; of very long ones,
//  the first kMaxKeyBytes. Keys of one length take no more than their bytes,
//  others 4 bytes more.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filter_policy/proteus/design.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

class KeyStore {
 public:
  static constexpr size_t kMaxKeyBytes = kMostPrefixBits / 8;

  void Append(Slice key) {
    if (key.size() > kMaxKeyBytes) key = Slice(key.data(), kMaxKeyBytes);
    if (size_ % kChunkKeys == 0) AddChunk(key.size());
    Chunk& chunk = chunks_.back();
    if (key.size() != chunk.key_size || !chunk.ends.empty()) {
      AppendEnd(&chunk, key.size());
    }
    if (key.size() > chunk.bytes.capacity() - chunk.bytes.size()) {
      Grow(&chunk.bytes, key.size());
    }
    chunk.bytes.append(key.data(), key.size());
    size_++;
  }

  size_t size() const { return size_; }

  Slice operator[](size_t index) const {
    return At(chunks_[index / kChunkKeys], index % kChunkKeys);
  }

  // Calls visit(key) for all keys in order.
  template <typename Visitor>
  void ForEach(Visitor&& visit) const {
    size_t left = size_;
    for (const Chunk& chunk : chunks_) {
      const size_t keys = left < kChunkKeys ? left : kChunkKeys;
      for (size_t i = 0; i < keys; i++) visit(At(chunk, i));
      left -= keys;
    }
  }

  size_t MemoryUsage() const { return full_bytes_ + OpenBytes(); }

  void Clear() {
    chunks_.clear();
    chunks_.shrink_to_fit();
    size_ = full_bytes_ = 0;
  }

 private:
  // A chunk has less than 4 GB.
  static constexpr size_t kChunkKeys = 4096;

  struct Chunk {
    std::string bytes;
    size_t key_size = 0;         // of all keys, if there are no ends
    std::vector<uint32_t> ends;  // else where each key ends in `bytes`

    size_t MemoryUsage() const {
      return sizeof(Chunk) + bytes.capacity() + 4 * ends.capacity();
    }
  };

  static Slice At(const Chunk& chunk, size_t index) {
    if (chunk.ends.empty()) {
      return Slice(chunk.bytes.data() + index * chunk.key_size, chunk.key_size);
    }
    const uint32_t begin = index == 0 ? 0 : chunk.ends[index - 1];
    return Slice(chunk.bytes.data() + begin, chunk.ends[index] - begin);
  }

  size_t OpenBytes() const {
    return chunks_.empty() ? 0 : chunks_.back().MemoryUsage();
  }
  [[gnu::noinline]] void AddChunk(size_t key_size) {
    full_bytes_ += OpenBytes();
    const size_t expected = chunks_.empty() ? 0 : chunks_.back().bytes.size();
    chunks_.emplace_back();
    chunks_.back().key_size = key_size;
    // As much as the chunk before, and a little for longer keys.
    chunks_.back().bytes.reserve(expected + expected / 16);
  }
  // In smaller steps than a string would by itself.
  [[gnu::noinline]] static void Grow(std::string* bytes, size_t size) {
    bytes->reserve(bytes->size() + bytes->size() / 8 + size);
  }
  [[gnu::noinline]] void AppendEnd(Chunk* chunk, size_t size) {
    if (chunk->ends.empty()) {
      chunk->ends.reserve(kChunkKeys);
      for (size_t i = 1; i <= size_ % kChunkKeys; i++) {
        chunk->ends.push_back(static_cast<uint32_t>(i * chunk->key_size));
      }
    }
    chunk->ends.push_back(static_cast<uint32_t>(chunk->bytes.size() + size));
  }

  std::vector<Chunk> chunks_;
  size_t size_ = 0;
  size_t full_bytes_ = 0;  // of all chunks but the last
};

}  // namespace ROCKSDB_NAMESPACE::protean
