// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/characters.h"

#include <algorithm>
#include <cstdint>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Smaller ones first, of those that may hold the same characters.
constexpr std::string_view kAlphabets[] = {
    kDecimal,
    kLowerHex,
    kUpperHex,
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "abcdefghijklmnopqrstuvwxyz",
    kCrockford,
    kLowerCrockford,
    "234567ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "234567abcdefghijklmnopqrstuvwxyz",
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "0123456789abcdefghijklmnopqrstuvwxyz",
    "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz",
    "+/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
};

}  // namespace

std::string AlphabetOf(std::string_view characters) {
  for (std::string_view alphabet : kAlphabets) {
    if (characters.find_first_not_of(alphabet) == std::string_view::npos) {
      return std::string(alphabet);
    }
  }
  const auto unsigned_less = [](char a, char b) {
    return static_cast<uint8_t>(a) < static_cast<uint8_t>(b);
  };
  const auto [first, last] =
      std::minmax_element(characters.begin(), characters.end(), unsigned_less);
  std::string all;
  for (int c = static_cast<uint8_t>(*first); c <= static_cast<uint8_t>(*last);
       c++) {
    all.push_back(static_cast<char>(c));
  }
  return all;
}

}  // namespace ROCKSDB_NAMESPACE::protean
