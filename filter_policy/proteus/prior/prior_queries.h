// SPDX-License-Identifier: Apache-2.0

//  The kinds of queries in a prior. Each function makes one query from a key of
//  the file, of that index, and locates it. False if this key gives none.
//
//    alike    in place of the key, which counts as absent
//    behind   a little after the key
//    spread   anywhere between the first and the last key

#pragma once

#include <string>

#include "filter_policy/proteus/prior/prior.h"

namespace ROCKSDB_NAMESPACE::protean {

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
// nearest key, which shares `shared` bits, down to one. For numbers, the
// longest is an eighth of that; for others, longer lengths are more likely.
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
bool MakePointBehind(size_t index, PriorSource* source, LocatedQuery* query);
// A key at a time that is a little later, or with another key's byte in its
// first fields or its time.
// REQUIRES: there are windows
bool MakePointNearTime(size_t index, PriorSource* source, LocatedQuery* query);

// From the key to one that is nearer than its neighbor.
bool MakeRangeAlike(size_t index, PriorSource* source, LocatedQuery* query);
// A short range.
bool MakeRangeBehind(size_t index, PriorSource* source, LocatedQuery* query);
// A range as long as one in place of the key. Not for printed keys.
bool MakeRangeSpread(size_t index, PriorSource* source, LocatedQuery* query);

// From a key to its last byte + 1.
bool MakeSibling(size_t index, PriorSource* source, LocatedQuery* query);
// All keys with a prefix that only this key has.
bool MakePrefixScan(size_t index, PriorSource* source, LocatedQuery* query);

// From the key's time to a later one (time_windows.h).
// REQUIRES: there are windows
bool MakeWindow(size_t index, PriorSource* source, LocatedQuery* query);
// All keys of the next entity.
// REQUIRES: there are windows
bool MakeEntityScan(size_t index, PriorSource* source, LocatedQuery* query);

}  // namespace ROCKSDB_NAMESPACE::protean
