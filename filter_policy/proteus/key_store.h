// SPDX-License-Identifier: Apache-2.0

//  The keys of a file, kept until its filter is designed. Only the first
//  kMaxKeyBytes of very long keys are kept. Keys of one length take no more
//  than their bytes, others 4 bytes more.
//
//  RocksDB limits the size of a file on disk, where similar long keys take a
//  few bytes each. They must not take a multiple of that here, so chunks of
//  such keys are front coded, like RocksDB's data blocks: a key is stored as
//  the length of what it shares with the previous key, and the rest.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/proteus/design.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

class KeyStore {
 public:
  static constexpr size_t kMaxKeyBytes = kMaxPrefixBits / 8;

  void Append(Slice key) {
    if (key.size() > kMaxKeyBytes) key = Slice(key.data(), kMaxKeyBytes);
    if (size_ % kChunkKeys == 0) AddChunk(key.size());
    Chunk& chunk = chunks_.back();
    if (key.size() != chunk.key_size || !chunk.ends.empty()) {
      AppendEnd(&chunk, key.size());
    }
    chunk.bytes.Append(key);
    size_++;
  }

  size_t size() const { return size_; }

  std::string operator[](size_t index) const {
    std::string decoded;
    const Slice key = Get(index, &decoded);
    if (decoded.empty()) decoded.assign(key.data(), key.size());
    return decoded;
  }
  // A key without a copy of it, unless its chunk is coded: then `decoded` has
  // the copy.
  Slice Get(size_t index, std::string* decoded) const {
    const Chunk& chunk = chunks_[index / kChunkKeys];
    const size_t place = index % kChunkKeys;
    if (!chunk.coded) return At(chunk, place);
    *decoded = Decode(chunk, place);
    return *decoded;
  }

  // Compares a key, given by its index, with another one, as Slice::compare.
  int Compare(size_t index, const Slice& key) const {
    const Chunk& chunk = chunks_[index / kChunkKeys];
    const size_t place = index % kChunkKeys;
    return chunk.coded ? Slice(Decode(chunk, place)).compare(key)
                       : At(chunk, place).compare(key);
  }

  // The index in [begin, end) of the first key that is not below `target`, or
  // `end`. The keys ascend.
  size_t LowerBound(const Slice& target, size_t begin, size_t end) const;

  // Calls visit(key) for all keys in order, or visit(key, known_shared): the
  // key is known to share this number of bytes with the key of the call before;
  // it may share more. A key stays valid until the call for the next one ends.
  template <typename Visitor>
  void ForEach(Visitor&& visit) const {
    ForEach(0, size_, std::forward<Visitor>(visit));
  }
  // ForEach for the keys of the indexes in [begin, end).
  template <typename Visitor>
  void ForEach(size_t begin, size_t end, Visitor&& visit) const {
    // The last key of a chunk stays valid beside the first one of the next.
    Plain decoded[2];
    while (begin < end) {
      const size_t c = begin / kChunkKeys;
      const Chunk& chunk = chunks_[c];
      const size_t first = begin - c * kChunkKeys;
      const size_t stop = std::min(kChunkKeys, end - c * kChunkKeys);
      const char* bytes = chunk.bytes.data();
      const uint32_t* ends = chunk.ends.empty() ? nullptr : chunk.ends.data();
      const uint32_t* known_shared = kNoneShared;
      if (chunk.coded) {
        Plain& plain = decoded[c % 2];
        DecodeAll(chunk, &plain);
        bytes = plain.bytes.data();
        ends = plain.ends.data();
        // The key before the first one has not been visited.
        plain.shared[first] = 0;
        known_shared = plain.shared.data();
      }
      // One loop for chunks of all kinds, into which the visitor is compiled.
      const char* key = bytes;
      if (first > 0) {
        key += ends == nullptr ? first * chunk.key_size : ends[first - 1];
      }
      for (size_t i = first; i < stop; i++) {
        const char* const next =
            ends == nullptr ? key + chunk.key_size : bytes + ends[i];
        const Slice slice(key, static_cast<size_t>(next - key));
        if constexpr (std::is_invocable_v<Visitor, const Slice&, size_t>) {
          visit(slice, known_shared[i]);
        } else {
          visit(slice);
        }
        key = next;
      }
      begin = c * kChunkKeys + stop;
    }
  }

  size_t MemoryUsage() const { return full_bytes_ + OpenBytes(); }

  void Clear() {
    chunks_.clear();
    chunks_.shrink_to_fit();
    size_ = full_bytes_ = 0;
  }

 private:
  // The bytes of a chunk stay below 4 GB.
  static constexpr size_t kChunkKeys = 1024;
  // A front coded chunk stores the first key of each group of this size whole.
  static constexpr size_t kGroupKeys = 8;
  static_assert(kChunkKeys % kGroupKeys == 0, "chunks are full when coded");

  // A std::string would do, but the calls that appending takes cost as much as
  // all else that is done with a short key.
  class Bytes {
   public:
    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }
    const char* data() const { return bytes_.get(); }

    void Reserve(size_t capacity) {
      std::unique_ptr<char[]> grown(new char[capacity]);
      if (size_ > 0) memcpy(grown.get(), bytes_.get(), size_);
      bytes_ = std::move(grown);
      capacity_ = capacity;
    }
    // Makes room for `size` bytes, and returns where they are to be written.
    char* Add(size_t size) {
      if (size > capacity_ - size_) Grow(size);
      char* const added = bytes_.get() + size_;
      size_ += size;
      return added;
    }
    void Append(const Slice& key) {
      char* const to = Add(key.size());
      if (key.size() >= 8 && key.size() <= 16) {
        // Two words, which may overlap.
        const uint64_t head = DecodeFixed64(key.data());
        const uint64_t tail = DecodeFixed64(key.data() + key.size() - 8);
        EncodeFixed64(to, head);
        EncodeFixed64(to + key.size() - 8, tail);
      } else if (key.size() > 0) {
        memcpy(to, key.data(), key.size());
      }
    }

   private:
    // Grows in smaller steps than a string would.
    [[gnu::noinline]] void Grow(size_t size) {
      Reserve(size_ + size_ / 8 + size);
    }

    std::unique_ptr<char[]> bytes_;
    size_t size_ = 0;
    size_t capacity_ = 0;
  };

  struct Chunk {
    Bytes bytes;
    size_t key_size = 0;         // length of every key, if there are no ends
    std::vector<uint32_t> ends;  // else where each key ends in `bytes`
    // Whether the keys are front coded, each after two varints: the length of
    // what it shares with the previous key, and the length of the rest. Then
    // `ends` tells where each group ends, and key_size the bytes of all keys.
    bool coded = false;

    size_t MemoryUsage() const {
      return sizeof(Chunk) + bytes.capacity() + 4 * ends.capacity();
    }
  };

  // The keys of a front coded chunk.
  struct Plain {
    std::string bytes;             // has room for more
    std::vector<uint32_t> ends;    // where each key ends in `bytes`
    std::vector<uint32_t> shared;  // bytes that are stored as shared
  };
  // What is known of the keys of other chunks.
  static constexpr uint32_t kNoneShared[kChunkKeys] = {};

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
  // Front codes a full chunk if that is worth it.
  static void Encode(Chunk* chunk);
  static std::string Decode(const Chunk& chunk, size_t index);
  // Decodes all keys. The memory of `plain` is reused.
  static void DecodeAll(const Chunk& chunk, Plain* plain);

  // Begins a chunk whose first key has `key_size` bytes.
  void AddChunk(size_t key_size);
  void AppendEnd(Chunk* chunk, size_t size) {
    if (chunk->ends.empty()) BeginEnds(chunk);
    chunk->ends.push_back(static_cast<uint32_t>(chunk->bytes.size() + size));
  }
  [[gnu::noinline]] void BeginEnds(Chunk* chunk) {
    chunk->ends.reserve(kChunkKeys);
    for (size_t i = 1; i <= size_ % kChunkKeys; i++) {
      chunk->ends.push_back(static_cast<uint32_t>(i * chunk->key_size));
    }
  }

  std::vector<Chunk> chunks_;
  size_t size_ = 0;
  size_t full_bytes_ = 0;  // memory of all chunks but the last
};

}  // namespace ROCKSDB_NAMESPACE::protean
