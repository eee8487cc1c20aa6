// SPDX-License-Identifier: Apache-2.0

//  How the bytes of a key become a hash, in two steps:
//
//    digest = digest(head of the key, number of the process)
//    hash   = mix(digest, rest of the key, number of the file)
//
//  The head is all but the last 8 bytes of a key, or of a prefix of it
//  (prefix_hash.h). Only the first step takes longer for longer keys, and it is
//  the same in all filters that one process has written. So a lookup computes
//  it once, whatever the number of sorted runs, parts, units and sets that it
//  asks (Zhu et al., Reducing Bloom Filter CPU Overhead in LSM-Trees, 2021).
//
//  The salt (checksum.h) still keeps attackers out: without the number of the
//  process, an attacker cannot tell which keys have the same digest. Keys with
//  different digests or rests are mixed anew in each file, so that what one
//  filter lets through is nothing to another one. Two keys with the same rest
//  whose digests collide have the same hash in all files of the process. That
//  happens to one pair in 2^64. An attacker who has read a file, and so knows
//  the number, can search for such pairs, and those stay together until another
//  process has rewritten the files.

#pragma once

#include <algorithm>
#include <cstdint>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/bits/checksum.h"
#include "rocksdb/slice.h"
#include "util/coding_lean.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Mixing ----

// The product of two words in one word. If one of them is zero, so is the
// product.
inline uint64_t FoldedProduct(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Mixes two words into a hash. If one is zero, so is the hash.
inline uint64_t MixBits(uint64_t a, uint64_t b) {
  const uint64_t folded = FoldedProduct(a, b);
  return (folded ^ folded >> 32) * 0xbf58476d1ce4e5b9u;
}

// The factors that MixBits is given for the last 8 bytes, the window, and for
// the digest of what precedes them.
inline uint64_t WindowFactor(uint64_t window, const FilterSalt& salt) {
  return window ^ (salt.file ^ 0x9e3779b97f4a7c15u);
}
inline uint64_t HeadFactor(uint64_t digest) {
  return digest ^ 0xd1b54a32d192ed03u;
}

// ---- Digests ----

// The digest of a head of up to 8 bytes. No two words have the same.
inline uint64_t DigestOfWord(uint64_t head, uint64_t process) {
  const uint64_t mixed = (head ^ process) * 0xd6e8feb86659fd93u;
  return mixed ^ mixed >> 32;
}

// Shorter heads are hashed in each filter. From about this length on, it pays
// over four sorted runs: a Get of an absent key of 128 bytes, whose head has
// 120, takes 7,561 instructions, and 7,588 if nothing is remembered; of 104
// bytes, 7,512 and 7,472 (with a limit of 96). Over one run, 128 bytes take
// 3,560 and 3,543. (callgrind)
constexpr size_t kMinRemembered = 112;
// Longer heads are not remembered, which bounds the memory of a thread.
constexpr size_t kMaxRemembered = 1024;

// The digest of a longer head, the first `size` bytes of a key. Heads of up
// to kLongestPiece bytes are hashed in the way of XXPH3, but without calls.
inline uint64_t DigestOf(const Slice& key, size_t size, uint64_t process) {
  const char* data = key.data();
  if (size > kLongestPiece) return HashLong(data, size, process);
  if (size <= 8) return DigestOfWord(LoadBigEndian(data, size), process);
  uint64_t a = process + 0xc3ebd33483acc5eau;
  uint64_t b = 0xeb6313faffa081c5u - process;
  // Pieces that overlap, and their size, which no byte can make up for since it
  // is no part of a factor.
  uint64_t sum = size * 0x94d049bb133111ebu;
  const uint64_t last = DecodeFixed64(data + size - 8) ^ b;
  if (size <= 16) return sum + FoldedProduct(DecodeFixed64(data) ^ a, last);
  sum += FoldedProduct(DecodeFixed64(data + size - 16) ^ a, last);
  for (; size > 16; data += 16, size -= 16) {
    a += 0x9e3779b97f4a7c15u;
    b -= 0xbf58476d1ce4e5b9u;
    sum += FoldedProduct(DecodeFixed64(data) ^ a, DecodeFixed64(data + 8) ^ b);
  }
  return sum;
}

// DigestOf for queries. This thread's last key is remembered, with digests of
// its heads: a lookup asks a filter of each sorted run for the same key.
uint64_t RecallDigest(const Slice& key, size_t size, uint64_t process);

inline uint64_t DigestOnce(const Slice& key, size_t size, uint64_t process) {
  return size < kMinRemembered ? DigestOf(key, size, process)
                               : RecallDigest(key, size, process);
}

// For tests and benchmarks.
struct DigestMemory {
  // The number of digests of kMinRemembered to kMaxRemembered bytes that
  // queries of this thread have computed. Modulo 2^32.
  static uint32_t Computed();
  // Has all threads remember digests, as they do at first, or hash each time,
  // which is not counted.
  static void SwitchOn(bool on);
};

// ---- Whole keys ----

// Filters know no more bytes of a key.
constexpr size_t kMaxHashedBytes = 64 << 10;

// The hash of a key, whose first 8 bytes are `first`, or what there is of them.
// `digest` is DigestOf or DigestOnce. The head of a key of less than 16 bytes
// overlaps the rest.
template <typename Digest>
inline uint64_t HashKeyWith(const Slice& key, uint64_t first,
                            const FilterSalt& salt, const Digest& digest) {
  uint64_t size = key.size();
  uint64_t head = salt.process;
  uint64_t window = first;
  if (size > 8) {
    size = std::min(size, kMaxHashedBytes);
    window = LoadBigEndian(key.data() + size - 8, 8);
    head = size <= 16 ? DigestOfWord(first, salt.process)
                      : digest(key, size - 8, salt.process);
  }
  return MixBits(WindowFactor(window, salt),
                 HeadFactor(head + 0xa0761d6478bd642fu + size));
}

// The hash of a key, whose first 8 bytes are `first`. Those of "a" and "a\0"
// differ.
inline uint64_t HashKey(const Slice& key, uint64_t first,
                        const FilterSalt& salt) {
  return HashKeyWith(key, first, salt, DigestOf);
}
// HashKey for queries.
inline uint64_t HashKeyOnce(const Slice& key, uint64_t first,
                            const FilterSalt& salt) {
  return HashKeyWith(key, first, salt, DigestOnce);
}

}  // namespace ROCKSDB_NAMESPACE::protean
