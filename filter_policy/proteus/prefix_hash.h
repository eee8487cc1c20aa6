//  Hashes of key prefixes. A prefix of up to 64 bits is one word. Of a longer
//  one, the last 57 to 64 bits are the *window*; the whole bytes before it, the
//  *head*, are hashed apart, so that successive prefixes cost one mixing each.

#pragma once

#include "filter_policy/proteus/key_bits.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

struct PrefixLength {
  explicit PrefixLength(uint32_t prefix_bits)
      : bits(prefix_bits),
        head_bytes(prefix_bits <= 64 ? 0 : BytesForBits(prefix_bits) - 8),
        window_bits(prefix_bits - 8 * head_bytes),
        salt(uint64_t{prefix_bits} * 0x9e3779b97f4a7c15u) {}

  uint32_t bits;
  uint32_t head_bytes;
  uint32_t window_bits;
  uint64_t salt;  // prefixes of different lengths hash differently
};

// The hash of the head of a prefix of `key`.
inline uint64_t HashHead(const Slice& key, const PrefixLength& length) {
  if (length.head_bytes == 0) return length.salt;
  size_t size = std::min<size_t>(key.size(), length.head_bytes);
  while (size > 0 && key[size - 1] == '\0') size--;
  return Hash64(key.data(), size, length.salt);
}

// The hash of a prefix by that of its head and its window, whose bits are the
// highest ones of the word; the others are ignored.
inline uint64_t HashWindow(uint64_t window, uint64_t head_hash,
                           const PrefixLength& length) {
  return MixBits(HighBits(window, length.window_bits), head_hash);
}

inline uint64_t HashPrefix(const Slice& key, const PrefixLength& length) {
  return HashWindow(LoadBits64(key, length.head_bytes), HashHead(key, length),
                    length);
}

}  // namespace ROCKSDB_NAMESPACE::protean
