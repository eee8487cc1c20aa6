// SPDX-License-Identifier: Apache-2.0

//  Hashes of key prefixes. A prefix of up to 64 bits is one word. The last 57
//  to 64 bits of a longer one are the *window*. The whole bytes before it, the
//  *head*, are hashed apart, so that successive prefixes cost one mixing each.
//
//  The hashes depend on the salt of the filter: the process' part goes into the
//  hash of the head, and the file's into the window. A window whose factor is
//  zero would hide its head; with a salt, an attacker cannot know which window
//  that is.

#pragma once

#include "filter_policy/amq/amq_type.h"
#include "filter_policy/filter_salt.h"
#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/key_bits.h"

namespace ROCKSDB_NAMESPACE::protean {

// The factors that MixBits is given for a window, and for the hash of a head.
inline uint64_t WindowFactor(uint64_t window, const FilterSalt& salt) {
  return window ^ (salt.file ^ 0x9e3779b97f4a7c15u);
}
inline uint64_t HeadFactor(uint64_t head_hash) {
  return head_hash ^ 0xd1b54a32d192ed03u;
}

// The prefixes of one length, and how they are hashed: each by itself, or as
// *neighbours* (amq_type.h), where the set can tell at once whether it contains
// any of several that follow each other. The hash of a neighbour is that of its
// group, the prefix without its last bits, which replace the hash's last ones.
struct PrefixLength {
  PrefixLength(uint32_t prefix_bits, const FilterSalt& salt,
               bool as_neighbours = false)
      : bits(prefix_bits),
        head_bytes(prefix_bits <= 64 ? 0 : BytesForBits(prefix_bits) - 8),
        window_bits(prefix_bits - 8 * head_bytes),
        window_unused((64 - window_bits) % 64),
        neighbour_mask(as_neighbours && prefix_bits >= kNeighbourBits
                           ? LowBits(kNeighbourBits)
                           : 0),
        seed(prefix_bits * 0x9e3779b97f4a7c15u + salt.process),
        no_head(HeadFactor(seed)),
        window_mask(WindowFactor(0, salt)),
        hashed_mask(HighBits(~uint64_t{0}, window_bits) &
                    ~(neighbour_mask << window_unused)) {}

  // The number of prefixes in one group from that at the beginning of `window`
  // on.
  uint64_t LeftInGroup(uint64_t window) const {
    return neighbour_mask - (window >> window_unused & neighbour_mask) + 1;
  }

  uint32_t bits;
  uint32_t head_bytes;
  uint32_t window_bits;
  uint32_t window_unused;   // bits of a word behind the window
  uint64_t neighbour_mask;  // the last bits of a neighbour; else 0
  // The seed of a head's hash: prefixes of different lengths hash differently.
  uint64_t seed;
  uint64_t no_head;      // factor of a head of no bytes
  uint64_t window_mask;  // turns a window into its factor
  uint64_t hashed_mask;  // the bits of the window that are hashed
};

// The head of a prefix of `key`, without the zeros at its end.
inline Slice HeadOf(const Slice& key, const PrefixLength& length) {
  return WithoutZeros(
      Slice(key.data(), std::min<size_t>(key.size(), length.head_bytes)));
}

// The factor of the head of a prefix of `key`.
inline uint64_t HashHead(const Slice& key, const PrefixLength& length) {
  if (length.head_bytes == 0) return length.no_head;
  const Slice head = HeadOf(key, length);
  return HeadFactor(HashBytes(head.data(), head.size(), length.seed));
}

// HashBytes(head.data(), head.size(), seed). The hash of a long head is not
// computed again if this thread's last call had the same head: a lookup
// asks one filter of each sorted run for the same key.
uint64_t HashHeadOnce(const Slice& head, uint64_t seed);
// Hash64 takes much longer from this length on.
constexpr size_t kMinSharedHead = 241;
// Limit of a shared head, which bounds the memory that each thread needs.
constexpr size_t kMaxSharedHead = 1024;

// The hash of a prefix from the factor of its head and from its window. The
// bits of the window are the highest ones of the word; the others are ignored.
inline uint64_t HashWindow(uint64_t window, uint64_t head,
                           const PrefixLength& length) {
  const uint64_t hash =
      MixBits((window & length.hashed_mask) ^ length.window_mask, head);
  return (hash & ~length.neighbour_mask) |
         (window >> length.window_unused & length.neighbour_mask);
}

// The hash of a prefix of up to 64 bits, which are the highest ones of the
// word. The other bits are ignored.
inline uint64_t HashWord(uint64_t word, const PrefixLength& length) {
  return HashWindow(word, length.no_head, length);
}

// The hash of a prefix.
inline uint64_t HashPrefix(const Slice& key, const PrefixLength& length) {
  return HashWindow(LoadBits64(key, length.head_bytes), HashHead(key, length),
                    length);
}

// HashPrefix for a prefix of whole bytes that the key has, from the factor of
// its head.
inline uint64_t HashOwnBytes(const Slice& key, uint64_t head,
                             const PrefixLength& length) {
  return HashWindow(length.head_bytes == 0
                        ? LoadBits64(key, 0)
                        : LoadBigEndian(key.data() + length.head_bytes, 8),
                    head, length);
}

// HashPrefix for point lookups.
inline uint64_t HashPrefixOnce(const Slice& key, const PrefixLength& length) {
  if (length.head_bytes < kMinSharedHead) return HashPrefix(key, length);
  const uint64_t head_hash = HashHeadOnce(HeadOf(key, length), length.seed);
  return HashWindow(LoadBits64(key, length.head_bytes), HeadFactor(head_hash),
                    length);
}

// The hash of a whole key, whose first kMaxPrefixBits bits count. Unlike those
// of prefixes, the hashes of "a" and "a\0" differ.
inline uint64_t HashKey(const Slice& key, const FilterSalt& salt) {
  const uint64_t seed = 0xa0761d6478bd642fu + salt.process;
  const size_t size = std::min<size_t>(key.size(), kMaxPrefixBits / 8);
  return size <= 8 ? MixBits(WindowFactor(LoadBits64(key, 0), salt),
                             HeadFactor(seed + size))
                   : HashBytes(key.data(), size, seed ^ salt.file);
}

}  // namespace ROCKSDB_NAMESPACE::protean
