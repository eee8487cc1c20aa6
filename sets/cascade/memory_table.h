// SPDX-License-Identifier: Apache-2.0

//  The part of a cascade filter that takes inserts: quotient filters in memory.
//
//  The space of fingerprints is divided into equal stripes, each with a
//  quotient filter of its own, so that several threads can work on different
//  ones. Quotient filters store a bit more than the fingerprint: 0 for a
//  tombstone, 1 for an insertion. So the two are neighbours, and a tombstone
//  comes first, as in an Entry.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "sets/cascade/entry_stream.h"
#include "sets/quotient/quotient_multiset.h"

namespace ROCKSDB_NAMESPACE::protean {

// No function may run at the same time as Insert or Delete of the same stripe.
class MemoryTable {
 public:
  static constexpr unsigned kStripeBits = 4;
  static constexpr unsigned kStripes = 1 << kStripeBits;

  // Makes an empty table of at most `bytes` bytes, or of the least bytes that a
  // table can have, for fingerprints of `fingerprint_bits` bits. Returns
  // MemoryLimit if there is no memory.
  static Status Create(unsigned fingerprint_bits, uint64_t bytes,
                       std::unique_ptr<MemoryTable>* table);

  // The bytes of the table that Create makes.
  static uint64_t BytesOf(unsigned fingerprint_bits, uint64_t bytes);

  static unsigned StripeOf(uint64_t fingerprint, unsigned fingerprint_bits) {
    return static_cast<unsigned>(fingerprint >>
                                 (fingerprint_bits - kStripeBits));
  }

  // Adds a copy of a fingerprint, or takes one away, if need be by a tombstone
  // for older parts. False if the stripe is full; nothing has changed then.
  bool Insert(uint64_t fingerprint);
  bool Delete(uint64_t fingerprint);

  // What the table says of a fingerprint.
  Entry Find(uint64_t fingerprint) const;

  // The number of fingerprints, counting copies, and tombstones. All stripes
  // are looked at.
  uint64_t entries() const;

  size_t MemoryUsage() const;

  // The table must outlive the stream, and must not change meanwhile.
  std::unique_ptr<EntryStream> NewStream() const;

 private:
  class Stream;

  struct Stripe {
    std::unique_ptr<QuotientMultiset> filter;
    // For hashes with many copies, the number of those that are not in the
    // filter, whose runs must stay short.
    std::unordered_map<uint64_t, uint32_t> more;

    bool Add(uint64_t hash);
    // False if there is no copy.
    bool TakeAway(uint64_t hash);
    uint32_t Count(uint64_t hash) const;
  };

  explicit MemoryTable(unsigned fingerprint_bits)
      : stripe_shift_(fingerprint_bits - kStripeBits) {}

  // The hashes by which the stripe's filter knows an insertion and a tombstone.
  uint64_t InsertHash(uint64_t fingerprint) const;
  uint64_t TombstoneHash(uint64_t fingerprint) const;
  const Stripe& StripeFor(uint64_t fingerprint) const {
    return stripes_[fingerprint >> stripe_shift_];
  }
  Stripe& StripeFor(uint64_t fingerprint) {
    return stripes_[fingerprint >> stripe_shift_];
  }

  const unsigned stripe_shift_;
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
