// SPDX-License-Identifier: Apache-2.0

//  The fields of a file's keys, as far as ranges depend on them: which
//  characters stand at a place of a key, and where a time stands in it.
//
//  Composite keys have fields, such as user:004711|2026-01-01T12:34:56.789Z.
//  Ranges over them are mostly windows: the first fields are given, and the
//  time goes from one value to another. So a window is made by counting up the
//  time, in the digits in which it is written. A time is found by its form:
//
//    2026-01-01T12:34:56.789   with any separators or none, at any precision
//    1767270896789             seconds to nanoseconds since 1970, as decimal or
//                              hexadecimal digits, or as binary numbers of 32,
//                              48 or 64 bits, big endian; those of 64 bits
//                              may count down, for the newest key to be first
//    UUIDs                     of the versions 1, 6 and 7 (RFC 9562), printed
//                              with or without hyphens, or binary
//    ULIDs                     printed
//
//  A time stands at the same distance from the beginning or the end of all
//  keys, or after a separator which precedes it in all of them. A few of the
//  keys may be others.
//
//  All functions are pure. They look at kSampledKeys keys at most.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter_policy/proteus/key_store.h"

namespace ROCKSDB_NAMESPACE::protean {

// The number of keys that tell what all keys look like.
constexpr size_t kSampledKeys = 64;
// The index of one of these keys; keys.size() > 0, number < kSampledKeys.
inline size_t SampledKey(const KeyStore& keys, size_t number) {
  return number * (keys.size() - 1) / (kSampledKeys - 1);
}

// The smallest alphabet, in ascending order, that has all of `characters`:
// decimal digits, hexadecimal ones, letters of one case, base32 (Crockford's or
// RFC 4648's), base64, or else all bytes from the lowest to the highest of
// `characters`, which may not be empty.
std::string AlphabetOf(std::string_view characters);

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

// Where something starts in each key.
struct Anchor {
  enum class From { kBegin, kEnd, kSeparator } from;
  size_t distance;  // from the beginning or the end; of kSeparator: how many of
                    // `separator` precede it
  char separator = 0;

  // False if the key has no such place.
  bool Find(const Slice& key, size_t* start) const;
};

// The time in the keys of a file.
struct TimeField {
  Anchor anchor;
  Numeral time;
};

// Finds a time. Where keys have several, takes the first one with which a key
// has more than the `shared_bytes` bytes that it shares with its neighbor, else
// the last one.
std::optional<TimeField> FindTimeField(const KeyStore& keys,
                                       size_t shared_bytes);

}  // namespace ROCKSDB_NAMESPACE::protean
