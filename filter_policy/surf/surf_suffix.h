// SPDX-License-Identifier: Apache-2.0

//  The suffix bits that SuRF stores with each leaf to tell apart keys that
//  share the stored prefix (SuRF paper, sections 3.2 to 3.4).
//
//    value of a leaf = real << hash_bits | hash
//      real   the real_bits bits of the key after the prefix
//      hash   the lowest hash_bits bits of the key's hash, which depends on the
//             salt
//
//  A key that ends before its real bits do is padded with zeros. That keeps the
//  order: if the padded bits of two keys with the same prefix differ, the keys
//  compare as the bits do. If the bits are equal, nothing is known.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "filter_policy/filter_salt.h"
#include "rocksdb/slice.h"
#include "util/coding_lean.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

struct SurfSuffix {
  static constexpr uint32_t kMaxHashBits = 32;
  static constexpr uint32_t kMaxRealBits = 32;

  uint32_t hash_bits = 0;
  uint32_t real_bits = 0;

  uint32_t bits() const { return hash_bits + real_bits; }

  // The trie with these suffixes in words, such as "trie, 8 real bits".
  std::string Describe() const {
    std::string text = "trie";
    if (hash_bits > 0) text += ", " + std::to_string(hash_bits) + " hash bits";
    if (real_bits > 0) text += ", " + std::to_string(real_bits) + " real bits";
    return text;
  }

  // The real bits of a key whose first `depth` bytes are in the trie;
  // depth <= key.size().
  uint64_t Real(const Slice& key, size_t depth) const {
    if (real_bits == 0 || depth == key.size()) return 0;
    // The next 8 bytes, the first one highest.
    uint64_t bytes = 0;
    if (key.size() >= 8) {
      const size_t start = std::min(depth, key.size() - 8);
      bytes = EndianSwapValue(DecodeFixed64(key.data() + start))
              << (8 * (depth - start));
    } else {
      for (size_t i = depth; i < depth + 8; i++) {
        bytes = bytes << 8 |
                (i < key.size() ? static_cast<uint8_t>(key[i]) : uint64_t{0});
      }
    }
    return bytes >> (64 - real_bits);
  }

  // Whether the real bits hold all of `key` after its first `depth` bytes, and
  // no shorter key has the same real bits. Then a key with the same prefix and
  // the same real bits is `key` or above.
  bool RealIsWhole(const Slice& key, size_t depth) const {
    return depth == key.size() ||
           (8 * (key.size() - depth) <= real_bits && key[key.size() - 1] != 0);
  }

  // Appends the real bits to the prefix that they follow, without the zeros at
  // their end. The key is not below the result.
  void AppendReal(uint64_t real, std::string* prefix) const {
    if (real_bits == 0) return;
    for (uint64_t left = real << (64 - real_bits); left != 0; left <<= 8) {
      prefix->push_back(static_cast<char>(left >> 56));
    }
  }

  uint64_t Hash(const Slice& key, const FilterSalt& salt) const {
    return hash_bits == 0
               ? 0
               : HashBytes(key.data(), key.size(), salt.file, !salt.IsNone()) &
                     ((uint64_t{1} << hash_bits) - 1);
  }

  uint64_t Value(const Slice& key, size_t depth, const FilterSalt& salt) const {
    if (bits() == 0) return 0;
    return Real(key, depth) << hash_bits | Hash(key, salt);
  }

  uint64_t RealOfValue(uint64_t value) const { return value >> hash_bits; }
};

}  // namespace ROCKSDB_NAMESPACE::protean
