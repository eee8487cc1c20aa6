// SPDX-License-Identifier: Apache-2.0

//  Hashes of key prefixes. A prefix of up to 64 bits is one word. The last 57
//  to 64 bits of a longer one are the *window*. The whole bytes before it, the
//  *head*, have a digest of their own (key_digest.h), so that successive
//  prefixes cost one mixing each.
//
//  The digest of the head depends on the process' part of the salt, and the
//  window is mixed with the file's. A window whose factor is zero would hide
//  its head; with a salt, an attacker cannot know which window that is.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "filter_policy/amq/amq_type.h"
#include "filter_policy/bits/bit_util.h"
#include "filter_policy/bits/key_digest.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Key bits ----

// Keys as strings of bits, which go on with zeros after their last byte
// (Proteus paper, section 7.1): the key space has one length, and "a" is the
// same key as "a\0". A prefix of l bits is the first l bits of a key.
//
// Ranges are closed here. The end of a range that excludes its upper bound is
// the bits before those of the bound, which go on with ones.

// The number of bits that two equal keys share.
constexpr uint32_t kAllBits = std::numeric_limits<uint32_t>::max();

inline uint32_t BytesForBits(uint32_t bits) { return (bits + 7) / 8; }

// The 64 bits that start with byte `byte`, the first one in the highest bit.
inline uint64_t LoadBits64(const char* data, size_t size, size_t byte) {
  return byte >= size ? 0 : LoadBigEndian(data + byte, size - byte);
}
inline uint64_t LoadBits64(const Slice& key, size_t byte) {
  return LoadBits64(key.data(), key.size(), byte);
}

// The number of bits that two keys share.
inline uint32_t SharedBits(const Slice& a, const Slice& b) {
  const size_t longer = std::max(a.size(), b.size());
  for (size_t byte = 0; byte < longer; byte += 8) {
    const uint64_t difference = LoadBits64(a, byte) ^ LoadBits64(b, byte);
    if (difference != 0) {
      return static_cast<uint32_t>(8 * byte) +
             static_cast<uint32_t>(__builtin_clzll(difference));
    }
  }
  return kAllBits;
}

// The highest `bits` bits of a word; the others cleared. bits <= 64
inline uint64_t HighBits(uint64_t word, uint32_t bits) {
  return bits == 0 ? 0 : word & ~uint64_t{0} << (64 - bits);
}

// Copies the first `size` bytes of a key.
inline void CopyPadded(const Slice& key, char* out, size_t size) {
  const size_t copied = std::min(key.size(), size);
  memcpy(out, key.data(), copied);
  memset(out + copied, 0, size - copied);
}

// Replaces all bits after the first `bits` of `size` bytes by those of `fill`,
// which are all the same.
inline void FillAfter(char* bytes, size_t size, uint32_t bits, uint8_t fill) {
  size_t byte = bits / 8;
  if (byte < size && bits % 8 != 0) {
    const unsigned behind = 0xff >> bits % 8;
    bytes[byte] = static_cast<char>(
        (static_cast<uint8_t>(bytes[byte]) & ~behind) | (fill & behind));
    byte++;
  }
  if (byte < size) memset(bytes + byte, fill, size - byte);
}

// A key without the zeros at its end.
inline Slice WithoutZeros(const Slice& key) {
  size_t size = key.size();
  while (size > 0 && key[size - 1] == '\0') size--;
  return Slice(key.data(), size);
}
// The size of the longer bound of a range, without zeros at its end: a bound
// right behind a key often ends with one, and each multiplies by 256 the
// prefixes that a query tests.
inline size_t LongestWithoutZeros(const Slice& lo, const Slice& hi) {
  return std::max(WithoutZeros(lo).size(), WithoutZeros(hi).size());
}

// Moves a prefix of `bits` bits, given by its bytes, on to the next one, or by
// as many as `steps`, which are below 2^16. False if there is none; then it
// starts again with zeros.
inline bool Increment(char* prefix, uint32_t bits, unsigned steps = 1) {
  unsigned carry = bits % 8 == 0 ? steps : steps << (8 - bits % 8);
  for (size_t i = BytesForBits(bits); i-- > 0 && carry != 0;) {
    carry += static_cast<uint8_t>(prefix[i]);
    prefix[i] = static_cast<char>(carry);
    carry >>= 8;
  }
  return carry == 0;
}

// Returns true if a range [lo, hi) ends before the bits of `hi`. If `hi` ends
// with zeros, a shorter key of the same bits lies before it, unless all keys
// are long enough: they have at least `shortest_key` bytes.
inline bool EndsBefore(const Slice& hi, size_t shortest_key) {
  return !hi.empty() &&
         (hi.size() <= shortest_key || hi[hi.size() - 1] != '\0');
}

// ---- Prefix hash ----

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
        process(salt.process),
        mark(prefix_bits * 0x9e3779b97f4a7c15u),
        no_head(HeadFactor(salt.process + mark)),
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
  uint64_t process;         // of the salt
  // Added to the digest of a head: prefixes of different lengths hash
  // differently.
  uint64_t mark;
  uint64_t no_head;      // factor of a head of no bytes
  uint64_t window_mask;  // turns a window into its factor
  uint64_t hashed_mask;  // the bits of the window that are hashed
};

// The factor of the head of a prefix of `key`, without the zeros at its end.
// `digest` is DigestOf or DigestOnce.
template <typename Digest>
inline uint64_t HeadOf(const Slice& key, const PrefixLength& length,
                       const Digest& digest) {
  if (length.head_bytes == 0) return length.no_head;
  if (length.head_bytes <= 8) {
    const uint64_t head = HighBits(LoadBits64(key, 0), 8 * length.head_bytes);
    return HeadFactor(DigestOfWord(head, length.process) + length.mark);
  }
  const size_t size =
      WithoutZeros(
          Slice(key.data(), std::min<size_t>(key.size(), length.head_bytes)))
          .size();
  return HeadFactor(digest(key, size, length.process) + length.mark);
}
inline uint64_t HashHead(const Slice& key, const PrefixLength& length) {
  return HeadOf(key, length, DigestOf);
}
// HashHead for queries.
inline uint64_t HashHeadOnce(const Slice& key, const PrefixLength& length) {
  return HeadOf(key, length, DigestOnce);
}

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

// The hash of a prefix, for queries.
inline uint64_t HashPrefix(const Slice& key, const PrefixLength& length) {
  return HashWindow(LoadBits64(key, length.head_bytes),
                    HashHeadOnce(key, length), length);
}

}  // namespace ROCKSDB_NAMESPACE::protean
