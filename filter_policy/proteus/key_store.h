// SPDX-License-Identifier: Apache-2.0

//  The keys of a file, kept until its filter is designed. Only the first
//  kMaxKeyBytes of very long keys are kept. Keys of one length take a byte more
//  than they have, others 5 bytes more. The one byte tells what a key shares
//  with the key before it, for the passes that count or hash prefixes.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/fst/fst_section.h"
#include "filter_policy/proteus/byte_alphabets.h"
#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/prefix_hash.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

class KeyStore {
 public:
  static constexpr size_t kMaxKeyBytes = kMaxPrefixBits / 8;

  // Appends a key, which shares `shared` bits with the last one, if that is
  // known.
  void Append(const Slice& key, size_t shared = kUnknownBits) {
    const size_t place = size_ % kChunkKeys;
    if (place == 0 || !chunks_.back().AppendAlike(key)) {
      return AppendOther(key, shared);
    }
    chunks_.back().SetShared(place, shared);
    size_++;
  }

  size_t size() const { return size_; }

  // A key, which stays valid until keys are appended.
  Slice operator[](size_t index) const {
    return chunks_[index / kChunkKeys].keys().At(index % kChunkKeys);
  }

  // The index in [begin, end) of the first key that is not below `target`, or
  // `end`. The keys ascend.
  size_t LowerBound(const Slice& target, size_t begin, size_t end) const {
    return FirstWhere(begin, end, [&](size_t index) {
      return (*this)[index].compare(target) >= 0;
    });
  }

  // Calls visit(key) in order for the keys of the indexes in [begin, end), or
  // visit(key, shared): the number of bits that the key shares with the key of
  // the call before (prefix_hash.h), and 0 in the first call.
  template <typename Visitor>
  void ForEach(size_t begin, size_t end, Visitor&& visit) const {
    Slice last;
    for (size_t at = begin; at < end;) {
      const size_t c = at / kChunkKeys;
      const size_t first = c * kChunkKeys;
      const size_t stop = std::min(first + kChunkKeys, end);
      const ChunkKeys keys = chunks_[c].keys();
      for (; at < stop; at++) {
        const Slice key = keys.At(at - first);
        if constexpr (std::is_invocable_v<Visitor, const Slice&, uint32_t>) {
          const uint32_t bits = keys.shared[at - first];
          visit(key, at == begin        ? 0
                     : bits < kManyBits ? bits
                                        : SharedBits(last, key));
          last = key;
        } else {
          visit(key);
        }
      }
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
  class Bytes : public KeyBytes {
   public:
    // Appends a key of 8 to 16 bytes if there is room.
    bool AppendShort(const Slice& key) {
      const size_t size = key.size();
      if (size < 8 || size > 16 || size > capacity_ - size_) return false;
      CopyTwoWords(key.data(), size, bytes_.get() + size_);
      size_ += size;
      return true;
    }
    // Grows in smaller steps than a string would.
    void Append(const Slice& key) {
      const size_t size = key.size();
      if (size > capacity_ - size_) Grow(size_ + size_ / 8 + size);
      if (size > 0) memcpy(bytes_.get() + size_, key.data(), size);
      size_ += size;
    }
  };

  // Stands for this number of shared bits or more, and for an unknown number.
  static constexpr uint8_t kManyBits = 255;

  // The keys of a chunk.
  struct ChunkKeys {
    const char* bytes;
    const uint32_t* ends;  // nullptr if all keys have key_size bytes
    size_t key_size;
    const uint8_t* shared;

    Slice At(size_t i) const {
      if (ends == nullptr) return Slice(bytes + i * key_size, key_size);
      const uint32_t begin = i == 0 ? 0 : ends[i - 1];
      return Slice(bytes + begin, ends[i] - begin);
    }
  };

  struct Chunk {
    Bytes bytes;
    // The bits that each key shares with the key before it, or kManyBits.
    std::unique_ptr<uint8_t[]> shared;
    size_t key_size = 0;         // length of every key, if there are no ends
    std::vector<uint32_t> ends;  // else where each key ends in `bytes`

    ChunkKeys keys() const {
      return {bytes.data(), ends.empty() ? nullptr : ends.data(), key_size,
              shared.get()};
    }
    // Appends a short key that is as long as all others.
    bool AppendAlike(const Slice& key) {
      return key.size() == key_size && ends.empty() && bytes.AppendShort(key);
    }
    void SetShared(size_t place, size_t bits) {
      shared[place] = static_cast<uint8_t>(std::min<size_t>(bits, kManyBits));
    }

    size_t MemoryUsage() const {
      return sizeof(Chunk) + bytes.capacity() + kChunkKeys +
             4 * ends.capacity();
    }
  };

  size_t OpenBytes() const {
    return chunks_.empty() ? 0 : chunks_.back().MemoryUsage();
  }
  // Appends any key. Out of line, so that Append needs no registers for it.
  void AppendOther(Slice key, size_t shared);

  std::vector<Chunk> chunks_;
  size_t size_ = 0;
  size_t full_bytes_ = 0;  // memory of all chunks but the last
};

// The facts of a file's keys that the model needs (Proteus paper, section 4.3,
// "Count Key Prefixes" and "Calculate Trie Memory"). One pass over the keys
// finds them: what a key shares with the previous one tells from which length
// on it has a prefix of its own.
class KeyStatistics {
 public:
  // Longer prefixes are not counted: each key is taken to have its own.
  static constexpr uint32_t kMaxBits = 8 * 512;

  explicit KeyStatistics(const KeyStore& keys)
      : KeyStatistics(keys, 0, keys.size()) {}
  // Takes the keys of the indexes in [begin, end) only.
  KeyStatistics(const KeyStore& keys, size_t begin, size_t end);

  uint64_t num_keys() const { return num_keys_; }
  size_t shortest_key() const { return shortest_key_; }  // bytes
  size_t longest_key() const { return longest_key_; }
  // The alphabets of the places of printed keys, as a part of the keys shows
  // them: others may have other bytes. Any bytes if keys are not printed.
  const ByteAlphabets& alphabets() const { return alphabets_; }
  // Bits of the longest key, from 64 to kMaxBits.
  uint32_t max_bits() const { return max_bits_; }

  // |K_l|: the number of distinct prefixes of `bits` bits. Shorter keys go on
  // with zeros.
  uint64_t Prefixes(uint32_t bits) const {
    return bits <= max_bits_ ? prefixes_[bits] : distinct_;
  }
  // The number of distinct prefixes of `bits` bits of keys that are at least as
  // long.
  uint64_t PrefixesOfLongKeys(uint32_t bits) const {
    return bits > max_bits_ ? 0 : long_prefixes_[bits];
  }
  // The number of keys that share at least `bits` bits with another one.
  uint64_t KeysSharing(uint32_t bits) const {
    return distinct_ - unique_[std::min<size_t>(bits, unique_.size() - 1)];
  }
  // The bits that a key shares with the nearer of its neighbors: the most that
  // a tenth of the keys, a half, and nine tenths share at least.
  std::array<uint32_t, 3> SharedByShare() const;
  // The number of bits that a key shares with the next one, roughly: the
  // smallest length at which there are half as many prefixes as keys.
  uint32_t NeighbourBits() const;
  // The number of prefixes that a series (design.h) holds.
  uint64_t PrefixesOfSeries(uint32_t first_bits, uint32_t stride_bits) const;

  // The levels of a trie of all prefixes of `bits` bits, which have `lead`
  // zeros in front of them (Layer::lead). If several keys share
  // such a prefix, the trie may be smaller.
  std::vector<FstLevelCounts> TrieLevels(uint32_t bits, uint32_t lead) const;
  // The size of the trie in bytes, roughly, with the best lead: the one that
  // makes the trie smallest, or faster and not much larger, in at most
  // `max_bytes`.
  struct TrieSize {
    uint64_t bytes = 0;
    uint32_t lead = 0;
  };
  TrieSize SizeOfTrie(uint32_t bits, uint64_t max_bytes) const;

 private:
  uint64_t num_keys_;
  size_t shortest_key_ = 0;
  size_t longest_key_ = 0;
  uint32_t max_bits_ = 0;
  unsigned code_bits_ = 8;
  ByteAlphabets alphabets_;
  uint64_t distinct_ = 0;  // number of keys, as strings of bits
  std::vector<uint64_t> prefixes_;
  std::vector<uint64_t> long_prefixes_;
  // For each number of bits, the number of keys that share less with all
  // others.
  std::vector<uint64_t> unique_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
