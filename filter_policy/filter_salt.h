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
//  The hashes are fast ones, not cryptographic: a salt keeps those out who
//  cannot see how long queries take, not those who can read the files.

#pragma once

#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FilterSalt {
  // A number that no other file has.
  uint64_t file = 0;
  // A number that all files have that are written by one process: the hashes
  // of long heads are the same in all of them (prefix_hash.h).
  uint64_t process = 0;

  // All zeros in files of before there were salts.
  bool IsNone() const { return file == 0 && process == 0; }

  // A new one, out of the system's source of randomness; none if that fails.
  // Thread safe.
  static FilterSalt Draw();

  // Makes Draw return `salt` from now on, for tests and measurements that are
  // to be the same each time.
  static void Fix(const FilterSalt& salt);
  // Makes Draw draw again.
  static void Unfix();
};

}  // namespace ROCKSDB_NAMESPACE::protean
