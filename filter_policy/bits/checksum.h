// SPDX-License-Identifier: Apache-2.0

//  The salt of a filter's hashes, against attackers, and the checksum of a
//  filter block, against damage.

#pragma once

#include <cstdint>
#include <optional>

#include "rocksdb/slice.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Filter salt ----

// The salt: what the hashes of a filter depend on besides the keys, so that an
// attacker who has not read the file cannot tell which absent keys the filter
// lets through. The salt is stored in the filter block and so stays with the
// file wherever it goes.
//
// A false positive rate of 2^-b is a promise about queries that do not depend
// on the filter's hashes. If the hashes were the same everywhere, an attacker
// who has the code and knows the keys could build the filter too, look for
// absent keys that it lets through, and make each lookup a read (Naor and
// Yogev, Bloom Filters in Adversarial Environments, 2015).
//
// The hashes are fast, not cryptographic; docs/internals/overview.md says what
// an attacker can still do.

struct FilterSalt {
  // A number of the file's own.
  uint64_t file = 0;
  // A number that all files written by one process share, so that one digest of
  // a key serves all of them (key_digest.h).
  uint64_t process = 0;

  bool operator==(const FilterSalt& other) const {
    return file == other.file && process == other.process;
  }

  // Returns a new salt from RocksDB's source of randomness; neither number is
  // zero. Thread safe.
  static FilterSalt Draw();

  // For tests that must be repeatable: makes Draw return `salt` from now on, or
  // draw random salts again if there is none. Returns the previous setting.
  // Thread safe.
  static std::optional<FilterSalt> Fix(const std::optional<FilterSalt>& salt);
};

// RocksDB's Hash64 (XXPH3) hashes strings of more than 240 bytes by another
// algorithm, for which an attacker can construct pairs of strings that have the
// same hash for one seed in a hundred. Such strings are therefore hashed in
// pieces, each seeded with the hash of the pieces before it.
constexpr size_t kLongestPiece = 240;

uint64_t HashLong(const char* data, size_t size, uint64_t seed);

// The hash of a string in a filter. The salt is part of `seed`.
inline uint64_t HashBytes(const char* data, size_t size, uint64_t seed) {
  return size > kLongestPiece ? HashLong(data, size, seed)
                              : Hash64(data, size, seed);
}

// The CRC-32C of some bytes followed by `bytes`, of which `before` is the
// former's, or 0 if there are none: what RocksDB's crc32c::Extend returns. A
// RocksDB that was compiled for all x86-64 CPUs looks up tables for this, while
// this function uses the CPU's instruction where there is one.
uint32_t ExtendCrc32c(uint32_t before, const Slice& bytes);

}  // namespace ROCKSDB_NAMESPACE::protean
