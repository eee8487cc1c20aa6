// SPDX-License-Identifier: Apache-2.0

//  What the keys of a file look like, which decides what the prior asks. All
//  functions are pure, and look at kMaxSampledKeys keys.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filter_policy/proteus/key_store.h"
#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Sampled keys ----

// The keys that tell what all keys of a file look like.

// The limit of the number of these keys, which are spread evenly over the file.
constexpr size_t kMaxSampledKeys = 64;

std::vector<std::string> SampledKeys(const KeyStore& keys);

// ---- Characters ----

// The characters of printed keys, and the alphabets of digits and letters that
// parts of keys are written in.

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
inline bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }
// Returns true if all characters of all these keys are printable.
bool ArePrintable(const std::vector<std::string>& keys);
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

// ---- Numeral ----

// A number as it is written in a key: its form, read and written.

// A number that is written in a key, in one form.
class Numeral {
 public:
  using Value = unsigned __int128;

  // A digit, or the digits of a part, such as the minutes.
  struct Place {
    size_t at;                  // from where the numeral starts
    size_t width;               // bytes
    std::string_view alphabet;  // the digits; empty for binary ones
    uint64_t least;             // value of the part that counts as 0
    uint64_t count;             // the number of its values
  };

  Numeral(std::string_view name, size_t size, std::vector<Place> places)
      : name_(name), size_(size), places_(std::move(places)) {}

  // The form of the number, such as "UUID 7".
  std::string_view name() const { return name_; }
  // The bytes from the first place to the last one's end.
  size_t size() const { return size_; }
  // The number of values.
  Value count() const;

  // Reads the number that starts at byte `start`. False if none is there.
  bool Read(const Slice& key, size_t start, Value* value) const;
  // Writes a number, less than count(), over the one that starts there.
  void Write(Value value, size_t start, std::string* key) const;

 private:
  std::string_view name_;
  size_t size_;
  std::vector<Place> places_;
};

// ---- Anchor ----

// Where a field starts in the keys of a file.

// Where a field starts in each key.
struct Anchor {
  enum class From { kBegin, kEnd, kSeparator } from;
  size_t distance;  // from the beginning or the end; of kSeparator: how many of
                    // `separator` precede it
  char separator = 0;

  // False if the key has no such place.
  bool Find(const Slice& key, size_t* start) const;
};

// The anchors of byte `start` of a key, the likeliest one first. If
// `one_length`, all keys have the same length.
std::vector<Anchor> AnchorsOf(const std::string& key, size_t start,
                              bool one_length);

// ---- Key form ----

enum class KeyForm {
  kNumber,  // keys of one length, up to 8 bytes
  kRecord,  // longer keys of one length: a time and a sensor, say
  kDigits,  // printed keys of one length: a number or a time
  kText,    // keys of different lengths
};

KeyForm KeyFormOf(const KeyStore& keys, const KeyStatistics& statistics);

inline bool IsPrinted(KeyForm form) {
  return form == KeyForm::kDigits || form == KeyForm::kText;
}

// The characters that keys of one length have at each place.
std::vector<std::string> CharactersOf(const KeyStore& keys);

}  // namespace ROCKSDB_NAMESPACE::protean
