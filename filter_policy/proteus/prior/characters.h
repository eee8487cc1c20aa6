// SPDX-License-Identifier: Apache-2.0

//  The characters of printed keys, and the alphabets of digits and letters that
//  parts of keys are written in.

#pragma once

#include <string>
#include <string_view>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
inline bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }
inline bool IsSeparator(char c) {
  return IsPrintable(c) && !IsDigit(c) && !IsLetter(c);
}

inline constexpr std::string_view kDecimal = "0123456789";
inline constexpr std::string_view kLowerHex = "0123456789abcdef";
inline constexpr std::string_view kUpperHex = "0123456789ABCDEF";
inline constexpr std::string_view kCrockford =
    "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
inline constexpr std::string_view kLowerCrockford =
    "0123456789abcdefghjkmnpqrstvwxyz";

// The smallest alphabet, in ascending order, that has all of `characters`:
// decimal digits, hexadecimal ones, letters of one case, base32 (Crockford's or
// RFC 4648's), base64, or else all bytes from the lowest to the highest of
// `characters`, which may not be empty.
std::string AlphabetOf(std::string_view characters);

}  // namespace ROCKSDB_NAMESPACE::protean
