// SPDX-License-Identifier: Apache-2.0

//  What the keys of a file look like, which decides what the prior asks. All
//  functions are pure, and look at kMaxSampledKeys keys.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "filter_policy/proteus/key_store.h"
#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// The limit of the number of keys that tell what all keys of a file look like,
// and are spread evenly over it.
constexpr size_t kMaxSampledKeys = 64;

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }
inline bool IsSeparator(char c) {
  return IsPrintable(c) && !IsDigit(c) && !(c >= 'a' && c <= 'z') &&
         !(c >= 'A' && c <= 'Z');
}

// The first of kUsualAlphabets that has all of `characters`, or else all bytes
// from the lowest to the highest of them. `characters` may not be empty.
std::string AlphabetOf(std::string_view characters);

enum class KeyForm {
  kNumber,  // keys of one length, up to 8 bytes
  kRecord,  // longer keys of one length, or numbers with fields: a time and a
            // sensor, a tenant and a time
  kDigits,  // printed keys of one length: a number
  kFields,  // longer ones, and text whose keys part in long numbers
  kText,    // other keys of different lengths
};

// `has_fields` tells whether binary keys have fields.
KeyForm KeyFormOf(const KeyStore& keys, const KeyStatistics& statistics,
                  bool has_fields);

// Where the fields of binary keys of one length end, in bits: numbers do not
// fill their fields, so the first bits after a border tell no keys apart.
std::vector<uint32_t> FieldEndsOf(const KeyStatistics& statistics);

inline bool IsPrinted(KeyForm form) {
  return form == KeyForm::kDigits || form == KeyForm::kText ||
         form == KeyForm::kFields;
}

// The alphabets of the places of keys of one length. Where the sampled keys
// have the same character, and no digit, it is alone.
std::vector<std::string> CharactersOf(const KeyStore& keys);

}  // namespace ROCKSDB_NAMESPACE::protean
