// SPDX-License-Identifier: Apache-2.0

//  Steps from a key to a later one, in the units that keys of its form count
//  in: binary numbers of 8 bytes, or printed digits.

#pragma once

#include <string>

#include "filter_policy/proteus/prior/prior_source.h"

namespace ROCKSDB_NAMESPACE::protean {

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

}  // namespace ROCKSDB_NAMESPACE::protean
