// SPDX-License-Identifier: Apache-2.0

//  Keys as big-endian numbers of their own length, so that bytes order as
//  numbers do. Sums and differences saturate: no range wraps around the end of
//  the key space.

#pragma once

#include <cstdint>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// The number as a key of 8 bytes.
inline std::string BigEndianKey(uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; i--, number >>= 8) {
    bytes[i] = static_cast<char>(number & 0xff);
  }
  return bytes;
}

// The number in the first 8 bytes of a key, which has at least that many.
inline uint64_t LeadingNumber(const std::string& key) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8; i++) {
    number = number << 8 | static_cast<uint8_t>(key[i]);
  }
  return number;
}

// key + more, or the largest number of that length.
inline std::string KeyPlus(std::string key, uint64_t more) {
  const size_t size = key.size();
  for (size_t i = size; i-- > 0 && more > 0;) {
    const uint64_t low = (more & 0xff) + static_cast<uint8_t>(key[i]);
    key[i] = static_cast<char>(low & 0xff);
    more = (more >> 8) + (low >> 8);
  }
  return more > 0 ? std::string(size, '\xff') : key;
}

// key - less, or 0.
inline std::string KeyMinus(std::string key, uint64_t less) {
  const size_t size = key.size();
  for (size_t i = size; i-- > 0 && less > 0;) {
    const uint64_t low = less & 0xff;
    const auto byte = static_cast<uint8_t>(key[i]);
    key[i] = static_cast<char>((byte - low) & 0xff);
    less = (less >> 8) + (byte < low ? 1 : 0);
  }
  return less > 0 ? std::string(size, '\0') : key;
}

}  // namespace ROCKSDB_NAMESPACE::protean
