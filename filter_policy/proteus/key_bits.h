// SPDX-License-Identifier: Apache-2.0

//  Keys as strings of bits, which go on with zeros after their last byte
//  (Proteus paper, section 7.1): the key space has one length, and "a" is the
//  same key as "a\0". A prefix of l bits is the first l bits of a key.
//
//  Ranges are closed here. The end of a range that excludes its upper bound is
//  the bits before those of the bound, which go on with ones.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "filter_policy/bits/bit_util.h"
#include "rocksdb/slice.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

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

// The 64 bits from bit `bit` on.
inline uint64_t BitWindow(const Slice& key, uint32_t bit) {
  const uint64_t head = LoadBits64(key, bit / 8);
  const unsigned shift = bit % 8;
  return shift == 0
             ? head
             : head << shift | LoadBits64(key, bit / 8 + 8) >> (64 - shift);
}

// The number of bits that two keys share, if it is known that they share `from`
// bytes.
inline uint32_t SharedBits(const Slice& a, const Slice& b, size_t from = 0) {
  const size_t longer = std::max(a.size(), b.size());
  for (size_t byte = from; byte < longer; byte += 8) {
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

// Clears all bits after the first `bits` of `size` bytes.
inline void ClearBehind(char* bytes, size_t size, uint32_t bits) {
  size_t byte = bits / 8;
  if (byte < size && bits % 8 != 0) {
    bytes[byte] = static_cast<char>(static_cast<uint8_t>(bytes[byte]) &
                                    (0xff << (8 - bits % 8)));
    byte++;
  }
  if (byte < size) memset(bytes + byte, 0, size - byte);
}

// Sets all bits after the first `bits` of `size` bytes.
inline void SetBehind(char* bytes, size_t size, uint32_t bits) {
  size_t byte = bits / 8;
  if (byte < size && bits % 8 != 0) {
    bytes[byte] =
        static_cast<char>(static_cast<uint8_t>(bytes[byte]) | 0xff >> bits % 8);
    byte++;
  }
  if (byte < size) memset(bytes + byte, 0xff, size - byte);
}

// A key without the zeros at its end.
inline Slice WithoutZeros(const Slice& key) {
  size_t size = key.size();
  while (size > 0 && key[size - 1] == '\0') size--;
  return Slice(key.data(), size);
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

// Whether a range [lo, hi) ends before the bits of `hi`. If `hi` ends with
// zeros, a shorter key of the same bits lies before it, unless all keys are
// long enough: they have at least `shortest_key` bytes.
inline bool EndsBefore(const Slice& hi, size_t shortest_key) {
  return !hi.empty() &&
         (hi.size() <= shortest_key || hi[hi.size() - 1] != '\0');
}

// Mixes two words into a hash. If one is zero, so is the hash.
inline uint64_t MixBits(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  const uint64_t folded =
      static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  return (folded ^ folded >> 32) * 0xbf58476d1ce4e5b9u;
}

}  // namespace ROCKSDB_NAMESPACE::protean
