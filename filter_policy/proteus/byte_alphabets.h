// SPDX-License-Identifier: Apache-2.0

//  Which bytes keys have at each place, so that a range does not count others
//  (docs/internals/proteus.md, "Alphabets"). A filter of printed keys stores an
//  alphabet for each place that ranges count through, and only asks for prefixes
//  whose bytes all belong to theirs: the *possible* prefixes.
//
//  An alphabet is stored in a byte, its code (docs/internals/file_format.md).
//  Codes that are not known stand for any byte. All functions are pure.

#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

#include "filter_policy/proteus/prefix_hash.h"

namespace ROCKSDB_NAMESPACE::protean {

// The alphabets that printed keys are usually written in, each in ascending
// order: decimal and hexadecimal digits, letters of one case, base32
// (Crockford's and RFC 4648's), digits and letters, base62 and base64. An
// alphabet comes before all that contain it.
inline constexpr std::string_view kUsualAlphabets[] = {
    "0123456789",
    "0123456789abcdef",
    "0123456789ABCDEF",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "abcdefghijklmnopqrstuvwxyz",
    "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    "0123456789abcdefghjkmnpqrstvwxyz",
    "234567ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "234567abcdefghijklmnopqrstuvwxyz",
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "0123456789abcdefghijklmnopqrstuvwxyz",
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz",
    "+/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
};

// The bytes seen at a place.
using BytesSeen = std::bitset<256>;

// The code of the smallest alphabet that has all of these bytes.
char AlphabetCodeOf(const BytesSeen& seen);

// Ranges that count through more places have too many prefixes to be tested.
constexpr size_t kMaxAlphabets = 8;

class ByteAlphabets {
 public:
  // Count() may give this number for all counts from it on.
  static constexpr uint64_t kMany = 1 << 10;

  // Any bytes at all places.
  ByteAlphabets() = default;
  // The codes of the places from byte `begin` of the keys on. All others may
  // have any bytes.
  ByteAlphabets(size_t begin, std::string codes);

  // Returns true if all places may have any bytes.
  bool AreAny() const { return codes_.empty(); }

  const std::string& codes() const { return codes_; }
  // The alphabets of the places in [begin, end) only.
  ByteAlphabets Within(size_t begin, size_t end) const;

  // The number of possible prefixes of `bits` bits from that of one key to that
  // of another one, which is not below it. The keys are equal before byte
  // `from`, and given from there on.
  uint64_t Count(const char* lo, const char* hi, size_t from,
                 uint32_t bits) const;

  // The number of possible prefixes of `longer` bits below a possible one of
  // `bits` bits: the average over all of these, rounded up. From kMany on, it
  // may be kMany.
  uint64_t CountBelow(uint32_t bits, uint32_t longer) const;

  // Moves a prefix, followed by zeros up to the end of its last byte, to the
  // first possible one that is not below it. False if there is none.
  bool MoveToPossible(char* prefix, uint32_t bits) const;

 private:
  char CodeOf(size_t place) const {
    return place < begin_ || place - begin_ >= codes_.size()
               ? '\0'
               : codes_[place - begin_];
  }
  void FillSmallest(char* prefix, size_t from, uint32_t bits) const;

  size_t begin_ = 0;
  std::string codes_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
