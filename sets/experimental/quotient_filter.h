// SPDX-License-Identifier: Apache-2.0

//  A set of keys in memory that answers "definitely not in it" or "perhaps", as
//  a Bloom filter does, and that can also delete, count copies, grow, shrink,
//  merge with others and list what it holds, without the keys.
//
//  The filter is the quotient filter of Bender, Farach-Colton, Johnson,
//  Kuszmaul et al., "Don't Thrash: How to Cache Your Hash on Flash" (HotStorage
//  2011): a sorted array of fingerprints, p bits of each key's hash, in a form
//  that takes p - log2(slots) + 2.5 bits a slot. An operation touches two or
//  three adjacent cache lines. docs/internals/quotient.md has the design.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// How a filter is made.
struct QuotientFilterOptions {
  // The keys that must fit, counting copies; at least 1. The filter gets
  // 2^q slots, of which it fills 95 %.
  uint64_t capacity = 1 << 20;

  // Bits of a remainder, 1 to 56, and at most 64 with the q bits of the slots'
  // number. A full filter finds an absent key with a probability of at most
  // 2^-remainder_bits. Each bit takes a bit a slot.
  uint32_t remainder_bits = 9;

  // What the hashes depend on besides the keys. Filters that are to be merged
  // have the same one. Choose it at random where others choose the keys.
  uint64_t seed = 0;
};

// Const functions may run in several threads at the same time, but not while
// another function runs.
//
// A filter holds a multiset: a key that is inserted twice must be deleted
// twice. Each copy takes a slot, and operations on a key take time in
// proportion to its copies.
class QuotientFilter {
 public:
  // Makes an empty filter. Returns InvalidArgument if an option is out of
  // bounds, and MemoryLimit if there is no memory.
  static Status Create(const QuotientFilterOptions& options,
                       std::unique_ptr<QuotientFilter>* filter);

  // Makes the filter that Save wrote. `bytes` is not needed afterwards. Returns
  // Corruption if the bytes are damaged, NotSupported if another version wrote
  // them, MemoryLimit if there is no memory.
  static Status Load(const Slice& bytes,
                     std::unique_ptr<QuotientFilter>* filter);

  // Makes a filter of all keys of some filters, counting copies: the smallest
  // one that can hold them and is not smaller than any of these. Their false
  // positives add up. Takes one pass over each. Returns InvalidArgument if
  // there is none, if they differ in seed or fingerprint_bits(), or if
  // fingerprints are too short for all keys; MemoryLimit if there is no
  // memory.
  static Status Merge(const std::vector<const QuotientFilter*>& filters,
                      std::unique_ptr<QuotientFilter>* merged);

  // Makes a filter of the same keys for `capacity` keys. Fingerprints keep
  // their length: twice the keys have twice the false positives. Takes one
  // pass. Returns NoSpace if the keys do not fit, InvalidArgument if
  // fingerprints are too short for the slots or too long for them, and
  // MemoryLimit if there is no memory.
  virtual Status Resize(uint64_t capacity,
                        std::unique_ptr<QuotientFilter>* resized) const = 0;

  QuotientFilter() = default;
  QuotientFilter(const QuotientFilter&) = delete;
  QuotientFilter& operator=(const QuotientFilter&) = delete;
  virtual ~QuotientFilter() = default;

  // Adds a key, once more if it is there. False if the filter is full, or if
  // there is no memory for a cluster of many copies; nothing is added then.
  virtual bool Insert(const Slice& key) = 0;

  // Takes away one copy of a key. False if there is none. Only delete what was
  // inserted: another key may have the same fingerprint.
  virtual bool Delete(const Slice& key) = 0;

  // False says that the key is certainly not in the filter.
  virtual bool MayContain(const Slice& key) const = 0;

  // How often the key is in the filter, at most; 0 is certain.
  virtual uint64_t Count(const Slice& key) const = 0;

  // Insert and MayContain for `num_keys` keys, whose slots are loaded at the
  // same time: several times as fast in filters that are larger than the CPU's
  // caches. InsertEach returns the number of keys that were added: all, or
  // those before the first one for which there was no room. MayContainEach
  // stores an answer for each key.
  virtual size_t InsertEach(const Slice* keys, size_t num_keys) = 0;
  virtual void MayContainEach(const Slice* keys, size_t num_keys,
                              bool* may_contain) const = 0;

  // Calls `visit` for each fingerprint in order, with the number of its copies.
  // A fingerprint is the highest fingerprint_bits() bits of a key's hash.
  // `visit` must not change the filter.
  virtual void ForEach(
      const std::function<void(uint64_t fingerprint, uint64_t copies)>& visit)
      const = 0;

  // Stores the filter's bytes, the same for the same keys and size however they
  // got there. Takes the time of a copy.
  virtual void Save(std::string* bytes) const = 0;

  // The number of keys, counting copies, and how many there may be.
  virtual uint64_t size() const = 0;
  virtual uint64_t capacity() const = 0;
  virtual uint32_t fingerprint_bits() const = 0;
  // The bytes in memory.
  virtual size_t MemoryUsage() const = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
