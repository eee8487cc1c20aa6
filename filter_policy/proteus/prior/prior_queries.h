// SPDX-License-Identifier: Apache-2.0

//  The kinds of queries in a prior. Each function makes one query from a key of
//  the file, of that index, and locates it. False if this key gives none.
//
//    alike    in place of the key, which counts as absent
//    behind   a little after the key
//    spread   anywhere between the first and the last key

#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "filter_policy/proteus/model/located_queries.h"
#include "filter_policy/proteus/prior/key_form.h"
#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Prior random ----

// The random numbers of a prior, which are the same ones for equal keys.

class PriorRandom {
 public:
  explicit PriorRandom(uint64_t seed) : random_(seed) {}

  // Any 64 bits.
  uint64_t Word() { return random_(); }
  // A number in [0, bound); bound > 0.
  uint64_t Uniform(uint64_t bound) { return random_() % bound; }
  // A number in [0, 1).
  double Fraction() {
    return static_cast<double>(random_() >> 11) / (uint64_t{1} << 53);
  }
  // An index in a part of [0, size), of `parts` equal ones; size > 0.
  size_t IndexIn(size_t part, size_t parts, size_t size) {
    const double place = (static_cast<double>(part) + Fraction()) /
                         static_cast<double>(parts) * static_cast<double>(size);
    return std::min(static_cast<size_t>(place), size - 1);
  }

 private:
  // The standard defines the numbers of this generator.
  std::mt19937_64 random_;
};

// ---- Prior source ----

// What the queries of a prior are made from: the keys of a file, what they
// look like, and random numbers.

struct PriorSource {
  // REQUIRES: there are keys. These and their statistics must outlive the
  // source.
  PriorSource(const KeyStore& its_keys, const KeyStatistics& its_statistics,
              bool asks_prefixes_only);

  const KeyStore& keys;
  const KeyStatistics& statistics;
  // Whether a point query asks for all keys that start with its key.
  const bool prefixes_only;
  // Where fields of binary keys end, in bits.
  const std::vector<uint32_t> field_ends;
  const KeyForm form;
  // For printed keys of one length, the characters at each place.
  const std::vector<std::string> alphabets;
  PriorRandom random;
};

// The functions below locate a query among the keys. They return false if it is
// not empty, if no string of bits lies in it, or if its bounds are inverted: a
// character that the sampled keys do not have may break the order.

// A query in place of a key of the file, which counts as absent.
bool LocateInPlaceOf(size_t index, const Slice& lo, const Slice& hi,
                     bool hi_inclusive, const PriorSource& source,
                     LocatedQuery* query);
// A query wherever it lies among the keys. False if it lies beyond them: the
// file is not asked for it.
bool LocateAnywhere(const Slice& lo, const Slice& hi, bool hi_inclusive,
                    const PriorSource& source, LocatedQuery* query);

// ---- Key steps ----

// Steps from a key to a later one, in the units that keys of its form count
// in: binary numbers of 8 bytes, or printed digits.

inline uint32_t BitsOf(const Slice& key) {
  return static_cast<uint32_t>(8 * key.size());
}

// The number of bits that a key shares with the nearer of its neighbors.
uint32_t SharedWithNeighbors(const KeyStore& keys, size_t index);

// The last bit of the number of 8 bytes in which a key of `bits` bits differs
// from others that share `shared` bits with it.
uint32_t LastBitOfNumber(uint32_t shared, uint32_t bits);

// Chooses the highest bit of the length of a range: from the distance to the
// nearest key, which shares `shared` bits, down to one, all of them equally
// likely. For numbers, the longest is an eighth of that.
uint32_t ChooseLengthBit(uint32_t shared, uint32_t bits, PriorSource* source);

// The functions below return false if there is no such key.

// Adds a random number to a key. The highest bit of the number is bit `bit` of
// the key.
bool Advance(uint32_t bit, PriorRandom* random, std::string* key);

// Counts up the character at `place` by one or two, with carries to the
// characters before it, and takes the characters after it from another key.
// REQUIRES: the keys are digits
bool CountUp(size_t place, PriorSource* source, std::string* key);

// Moves a key of the file, of that index, to one a little after it: up to 2^11,
// or up to three digits.
bool Follow(size_t index, PriorSource* source, std::string* key);

// The distance of keys that are a little after each other is below
// 2^kStepBits.
constexpr uint32_t kStepBits = 11;

// ---- Prior queries ----

using QueryMaker = bool (*)(size_t index, PriorSource* source,
                            LocatedQuery* query);

// The key itself.
bool MakePointAlike(size_t index, PriorSource* source, LocatedQuery* query);
// A key a little after it, or one with a byte of another key; in text, also one
// with a byte more or less. In printed keys, such points are promised too.
bool MakePointAfter(size_t index, PriorSource* source, LocatedQuery* query);
// A window: from the key to one that is nearer than its neighbor. All orders of
// magnitude are equally likely, whatever stands after the place that counts.
bool MakeRangeAlike(size_t index, PriorSource* source, LocatedQuery* query);
// A short range.
bool MakeRangeAfter(size_t index, PriorSource* source, LocatedQuery* query);
// A range as long as one in place of the key. Not for printed keys.
bool MakeRangeSpread(size_t index, PriorSource* source, LocatedQuery* query);

// From a key to its last byte + 1.
bool MakeSibling(size_t index, PriorSource* source, LocatedQuery* query);
// All keys with a prefix that only this key has.
bool MakePrefixScan(size_t index, PriorSource* source, LocatedQuery* query);
// All keys with the first fields of this key. All of these count as absent.
// Fields end with a separator, or as FieldEndsOf finds them. False if many keys
// have these fields.
bool MakeFieldScan(size_t index, PriorSource* source, LocatedQuery* query);

}  // namespace ROCKSDB_NAMESPACE::protean
