// SPDX-License-Identifier: Apache-2.0

//  What one part of a cascade filter says of a fingerprint.
//
//  A part covers a stretch of time: the fingerprints that were inserted and
//  deleted while it was the one that took them. A deletion in it may concern an
//  insertion in an older part, which cannot be changed, and becomes a tombstone
//  (Don't Thrash, section 2: "deletions can be handled with tombstones"). All
//  that happened to a fingerprint in one stretch of time has the same effect as
//  some deletions followed by some insertions, and so has what happened in two
//  neighbouring stretches. An Entry is these two numbers.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

struct Entry {
  uint64_t fingerprint = 0;
  // How many of the copies that older parts hold are gone. More than there are
  // do no harm: a copy that does not exist cannot be deleted.
  uint32_t deletes = 0;
  // How many copies came after those deletions.
  uint32_t inserts = 0;

  // Returns true if the entry leaves everything as it is.
  bool IsNothing() const { return deletes == 0 && inserts == 0; }
};

inline bool operator==(const Entry& a, const Entry& b) {
  return a.fingerprint == b.fingerprint && a.deletes == b.deletes &&
         a.inserts == b.inserts;
}

// Adds up to the largest number, which stands for all numbers from there on. A
// filter with that many copies of a fingerprint keeps it for good.
inline uint32_t AddUpTo(uint32_t a, uint32_t b) {
  const uint64_t sum = uint64_t{a} + b;
  return static_cast<uint32_t>(
      std::min<uint64_t>(sum, std::numeric_limits<uint32_t>::max()));
}

// Takes `gone` copies from `copies`, and stores in `*rest` those that were not
// there to be taken. Copies that can no longer be counted stay.
inline uint32_t TakeFrom(uint32_t copies, uint32_t gone, uint32_t* rest) {
  if (copies == std::numeric_limits<uint32_t>::max()) {
    *rest = 0;
    return copies;
  }
  const uint32_t taken = std::min(copies, gone);
  *rest = gone - taken;
  return copies - taken;
}

// The effect of `older` and then `newer`, which are of the same fingerprint.
inline Entry Combine(const Entry& older, const Entry& newer) {
  uint32_t rest;
  const uint32_t kept = TakeFrom(older.inserts, newer.deletes, &rest);
  return {older.fingerprint, AddUpTo(older.deletes, rest),
          AddUpTo(kept, newer.inserts)};
}

}  // namespace ROCKSDB_NAMESPACE::protean
