// SPDX-License-Identifier: Apache-2.0

//  The prefixes of keys in bits, cut one by one.

#pragma once

#include <string>
#include <vector>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/proteus/prefix_hash.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

// The first `bits` bits of a key that goes on with zeros, in whole bytes.
inline std::string PrefixOf(std::string key, uint32_t bits) {
  key.resize(BytesForBits(bits));
  if (bits % 8 != 0) {
    key.back() = static_cast<char>(static_cast<uint8_t>(key.back()) &
                                   0xff << (8 - bits % 8));
  }
  return key;
}

// The distinct prefixes of the keys that have `shortest_key` bytes, in order.
inline std::vector<std::string> PrefixesOf(const std::vector<std::string>& keys,
                                           uint32_t bits,
                                           size_t shortest_key = 0) {
  std::vector<std::string> prefixes;
  for (const std::string& key : keys) {
    if (key.size() >= shortest_key) prefixes.push_back(PrefixOf(key, bits));
  }
  SortUnique(&prefixes);
  return prefixes;
}

}  // namespace ROCKSDB_NAMESPACE::protean
