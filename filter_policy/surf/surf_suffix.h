// SPDX-License-Identifier: Apache-2.0

//  The suffix bits that SuRF stores with each leaf to tell apart keys that
//  share the stored prefix (SuRF paper, sections 3.2 to 3.4).
//
//    value of a leaf = (real << prefix_bits | prefix) << hash_bits | hash
//      real    the real_bits bits of the key after the prefix, in a trie of
//              bytes
//      prefix  the prefix_bits bits of hashes of longer prefixes
//              (prefix_bits.h)
//      hash    the lowest hash_bits bits of the key's hash
//
//  Hashes depend on the salt.
//
//  In a trie of digits (key_code.h), the stored prefix may end within a byte,
//  and prefix bits say nothing of the rest of it. If there are prefix bits, the
//  real bits are the digit that follows in the code of that byte, or 0 if all
//  of its digits are stored. They order keys as real bits do.
//
//  A key that ends before its real bits do is padded with zeros. That keeps the
//  order: if the padded bits of two keys with the same prefix differ, the keys
//  compare as the bits do. If the bits are equal, nothing is known.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/filter_salt.h"
#include "filter_policy/surf/prefix_bits.h"
#include "rocksdb/slice.h"
#include "util/coding_lean.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

struct SurfSuffix {
  static constexpr uint32_t kMaxHashBits = 32;
  static constexpr uint32_t kMaxRealBits = 32;
  static constexpr uint32_t kMaxPrefixBits = 16;
  static constexpr uint32_t kMaxBits = 64;

  uint32_t hash_bits = 0;
  uint32_t real_bits = 0;
  uint32_t prefix_bits = 0;
  // The step of the prefix bits (prefix_bits.h).
  uint32_t prefix_step = kUsualPrefixStep;

  uint32_t bits() const { return hash_bits + real_bits + prefix_bits; }
  bool HasHashes() const { return hash_bits + prefix_bits > 0; }

  // The trie with these suffixes in words, such as "trie, 8 real bits".
  std::string Describe() const {
    std::string text = "trie";
    if (hash_bits > 0) text += ", " + std::to_string(hash_bits) + " hash bits";
    if (real_bits > 0) text += ", " + std::to_string(real_bits) + " real bits";
    if (prefix_bits > 0) {
      text += ", " + std::to_string(prefix_bits) + " prefix bits over " +
              std::to_string(prefix_step / 2) +
              (prefix_step % 2 == 0 ? "" : ".5") +
              (prefix_step == 2 ? " byte each" : " bytes each");
    }
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
    return hash_bits == 0 ? 0
                          : HashBytes(key.data(), key.size(), salt.file) &
                                ((uint64_t{1} << hash_bits) - 1);
  }

  // The value as far as it does not depend on the step: real << hash_bits |
  // hash.
  uint64_t WithoutPrefix(const Slice& key, uint64_t real,
                         const FilterSalt& salt) const {
    return real << hash_bits | Hash(key, salt);
  }
  uint64_t WithPrefix(uint64_t without, uint64_t prefix) const {
    const uint64_t hash_mask = (uint64_t{1} << hash_bits) - 1;
    return ((without >> hash_bits) << prefix_bits | prefix) << hash_bits |
           (without & hash_mask);
  }

  // The value of a key with these real bits, whose first `depth` bytes are in
  // the trie.
  uint64_t Value(const Slice& key, size_t depth, uint64_t real,
                 const FilterSalt& salt) const {
    const uint64_t without = WithoutPrefix(key, real, salt);
    return prefix_bits == 0
               ? without
               : WithPrefix(without, PrefixBitsOf(key, depth, salt, prefix_bits,
                                                  prefix_step));
  }

  uint64_t RealOfValue(uint64_t value) const {
    return real_bits == 0 ? 0 : value >> (prefix_bits + hash_bits);
  }

  // Whether the prefix bits in `value`, which belong to a leaf whose prefix is
  // the first `depth` bytes of `string`, may be those of a key that starts with
  // the first `known` bytes of `string`.
  bool MayStartWith(uint64_t value, const Slice& string, size_t depth,
                    size_t known, const FilterSalt& salt) const {
    const uint32_t count =
        PrefixBitsWithin(known - depth, prefix_bits, prefix_step);
    return count == 0 || SamePrefixBits(value, string, depth, count, salt);
  }

  // Whether they may be those of `string` itself.
  bool MayBe(uint64_t value, const Slice& string, size_t depth,
             const FilterSalt& salt) const {
    return prefix_bits == 0 ||
           SamePrefixBits(value, string, depth, prefix_bits, salt);
  }

 private:
  bool SamePrefixBits(uint64_t value, const Slice& string, size_t depth,
                      uint32_t count, const FilterSalt& salt) const {
    const uint64_t wanted =
        PrefixBitsOf(string, depth, salt, count, prefix_step);
    return ((value >> hash_bits ^ wanted) & LowBits(count)) == 0;
  }
};

}  // namespace ROCKSDB_NAMESPACE::protean
