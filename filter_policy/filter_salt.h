//  What the hashes of a filter depend on besides the keys, so that nobody who
//  has not read the file can tell which absent keys it lets through. Stored in
//  the filter block: it stays with the file wherever that goes.
//
//  A filter of 2^-b false positives is a promise about queries that know
//  nothing of its hashes. Were these the same everywhere, whoever has the code
//  and knows the keys could build the filter too, look for the absent keys that
//  it lets through, and make each lookup a read (Naor and Yogev, Bloom Filters
//  in Adversarial Environments, 2015).
//
//  The hashes are fast ones, not cryptographic; docs/design.md says what is
//  left to an attacker.

#pragma once

#include <cstdint>
#include <optional>

#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FilterSalt {
  // A number that no other file has.
  uint64_t file = 0;
  // A number that all files have that are written by one process: the hashes
  // of long heads are the same in all of them (prefix_hash.h).
  uint64_t process = 0;

  // All zeros in files of before there were salts.
  bool IsNone() const { return file == 0 && process == 0; }

  // A new one, out of RocksDB's source of randomness; none of its numbers is
  // zero. Thread safe.
  static FilterSalt Draw();

  // Makes Draw return `salt` from now on, or draw again, and returns what it
  // was told before: for tests that are to be the same each time. Thread safe.
  static std::optional<FilterSalt> Fix(const std::optional<FilterSalt>& salt);
};

// RocksDB's Hash64 (XXPH3) has another way for strings of more than 240 bytes,
// in which pairs can be made that have the same hash for one seed in a hundred.
// So with a salt, these are hashed in pieces, each with the hash of those
// before it as its seed.
constexpr size_t kLongestPiece = 240;

uint64_t HashLong(const char* data, size_t size, uint64_t seed);

// The hash of a string in a filter with a salt, or in one without, from a seed
// that the salt is part of.
inline uint64_t HashBytes(const char* data, size_t size, uint64_t seed,
                          bool salted) {
  return salted && size > kLongestPiece ? HashLong(data, size, seed)
                                        : Hash64(data, size, seed);
}

}  // namespace ROCKSDB_NAMESPACE::protean
