// SPDX-License-Identifier: Apache-2.0

//  The shape of a quotient filter: how many bits a fingerprint has, and which
//  of them say where it is stored ("Don't Thrash: How to Cache Your Hash on
//  Flash", section 2).

#pragma once

#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// A fingerprint is the highest p = q + r bits of a hash. The quotient, its
// highest q bits, is the number of its canonical slot; the remainder, its
// lowest r bits, is what a slot stores.
struct QuotientShape {
  // Limits of q and r. Offsets have 32 bits, and remainders are read with one
  // load of 64 bits at any bit of a byte.
  static constexpr unsigned kMaxQuotientBits = 32;
  static constexpr unsigned kMaxRemainderBits = 56;

  unsigned quotient_bits = 0;   // q
  unsigned remainder_bits = 0;  // r

  // Returns true if a filter can have the shape.
  bool IsValid() const {
    return quotient_bits >= 1 && quotient_bits <= kMaxQuotientBits &&
           remainder_bits >= 1 && remainder_bits <= kMaxRemainderBits &&
           fingerprint_bits() <= 64;
  }

  unsigned fingerprint_bits() const { return quotient_bits + remainder_bits; }
  uint64_t num_quotients() const { return uint64_t{1} << quotient_bits; }
  // The number of fingerprints that fill the slots to 95 %. More would make
  // clusters long: the slots that an insertion moves grow with 1 / (1 - load)^2
  // (Knuth, The Art of Computer Programming, volume 3, section 6.4).
  uint64_t capacity() const {
    const uint64_t full = num_quotients();
    return full - (full + 19) / 20;
  }

  uint64_t Fingerprint(uint64_t hash) const {
    return hash >> (64 - fingerprint_bits());
  }
  uint64_t Quotient(uint64_t fingerprint) const {
    return fingerprint >> remainder_bits;
  }
  uint64_t Remainder(uint64_t fingerprint) const {
    return fingerprint & ((uint64_t{1} << remainder_bits) - 1);
  }
  uint64_t Join(uint64_t quotient, uint64_t remainder) const {
    return quotient << remainder_bits | remainder;
  }

  bool operator==(const QuotientShape& other) const {
    return quotient_bits == other.quotient_bits &&
           remainder_bits == other.remainder_bits;
  }
  bool operator!=(const QuotientShape& other) const {
    return !(*this == other);
  }
};

}  // namespace ROCKSDB_NAMESPACE::protean
