// SPDX-License-Identifier: Apache-2.0

//  The kinds of queries in a prior (prior.h).

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

// The number of bits that a key shares with the nearer of its neighbors.
uint32_t SharedWithNeighbors(const KeyStore& keys, size_t index);

// Makes a query from a key of the file, of that index, and locates it. False if
// this key gives none.
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
