//  Hashes of key prefixes. A prefix of up to 64 bits is one word. Of a longer
//  one, the last 57 to 64 bits are the *window*; the whole bytes before it, the
//  *head*, are hashed apart, so that successive prefixes cost one mixing each.

#pragma once

#include "filter_policy/proteus/design.h"
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

// The head of a prefix of `key`, without the zeros at its end.
inline Slice HeadOf(const Slice& key, const PrefixLength& length) {
  size_t size = std::min<size_t>(key.size(), length.head_bytes);
  while (size > 0 && key[size - 1] == '\0') size--;
  return Slice(key.data(), size);
}

// The hash of the head of a prefix of `key`.
inline uint64_t HashHead(const Slice& key, const PrefixLength& length) {
  if (length.head_bytes == 0) return length.salt;
  const Slice head = HeadOf(key, length);
  return Hash64(head.data(), head.size(), length.salt);
}

// Hash64(head.data(), head.size(), salt), for heads that are worth it not
// computed again but taken over from this thread's last call. A lookup asks one
// filter of each sorted run for the same key.
uint64_t HashHeadOnce(const Slice& head, uint64_t salt);
// Hash64 takes much longer from here on.
constexpr size_t kLeastSharedHead = 241;
// Bounds the memory that each thread needs.
constexpr size_t kMostSharedHead = 1024;

// The hash of a prefix by that of its head and its window, whose bits are the
// highest ones of the word; the others are ignored.
inline uint64_t HashWindow(uint64_t window, uint64_t head_hash,
                           const PrefixLength& length) {
  return MixBits(HighBits(window, length.window_bits), head_hash);
}

// The hash of a prefix.
inline uint64_t HashPrefix(const Slice& key, const PrefixLength& length) {
  return HashWindow(LoadBits64(key, length.head_bytes), HashHead(key, length),
                    length);
}

// The same, for point lookups.
inline uint64_t HashPrefixOnce(const Slice& key, const PrefixLength& length) {
  if (length.head_bytes < kLeastSharedHead) return HashPrefix(key, length);
  return HashWindow(LoadBits64(key, length.head_bytes),
                    HashHeadOnce(HeadOf(key, length), length.salt), length);
}

// The hash of a whole key, of which kMostPrefixBits count. Unlike a prefix, it
// goes on with nothing after its end: "a" and "a\0" differ.
inline uint64_t HashKey(const Slice& key) {
  constexpr uint64_t kSalt = 0xa0761d6478bd642fu;
  const size_t size = std::min<size_t>(key.size(), kMostPrefixBits / 8);
  return size <= 8 ? MixBits(LoadBits64(key, 0), kSalt + size)
                   : Hash64(key.data(), size, kSalt);
}

}  // namespace ROCKSDB_NAMESPACE::protean
