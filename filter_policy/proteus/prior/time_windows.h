// SPDX-License-Identifier: Apache-2.0

//  The ranges that applications ask for where keys have a time:
//  windows of the time after the same first fields, which name the entity, and
//  scans of all that an entity has.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "filter_policy/proteus/key_store.h"
#include "filter_policy/proteus/prior/key_form.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Time forms ----

// The forms in which keys have times:
//
//   2026-01-01T12:34:56.789   with any separators or none, at any precision
//   1767270896789             seconds to nanoseconds since 1970, as decimal or
//                             hexadecimal digits, or as binary numbers of 32,
//                             48 or 64 bits, big endian; those of 64 bits
//                             may count down, for the newest key to be first
//   UUIDs                     of the versions 1, 6 and 7 (RFC 9562), printed
//                             with or without hyphens, or binary
//   ULIDs                     printed

// The forms of the times that start at byte `start` of a key. If `printed`, all
// characters of all keys are printable.
std::vector<Numeral> FormsAt(const std::string& key, size_t start,
                             bool printed);

// ---- Time field ----

// The field of a file's keys that has a time.
//
// Composite keys have fields, such as user:004711|2026-01-01T12:34:56.789Z.
// Ranges over them are mostly windows: the first fields are given, and the
// time goes from one value to another. So a window is made by counting up the
// time, in the digits in which it is written. A time is found by its
// form.
//
// A time stands at the same distance from the beginning or the end of all
// keys, or after a separator which precedes it in all of them. A few of the
// keys may be others.
//
// All functions are pure. They look at kMaxSampledKeys keys
// (key_form.h) at most.

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

// ---- Time windows ----

class TimeWindows {
 public:
  // None if the keys have no time, or are times and nothing else: these are
  // numbers. `keys` must outlive the result; FindTimeField explains
  // `shared_bytes`.
  static std::optional<TimeWindows> Find(const KeyStore& keys,
                                         size_t shared_bytes);

  // The functions below return false if the key at `index` has no time, or
  // nothing follows it.

  // A window [lo, hi] that begins with the key's time. Its length is a half to
  // 2^-14 of the average distance of the keys around it, the longest if `order`
  // is 0, the shortest if it is 1.
  bool Window(size_t index, double order, std::string* lo,
              std::string* hi) const;

  // The beginning of all keys of the next entity, by its name.
  bool NextEntity(size_t index, std::string* prefix) const;

  // The key at a time that is later by `more`.
  bool Later(size_t index, uint64_t more, std::string* key) const;

  // The number of bytes of a key up to the end of its time.
  bool EndOfTime(const std::string& key, size_t* end) const;

 private:
  struct Time {
    size_t start;
    Numeral::Value value;
  };

  TimeWindows(const KeyStore& keys, const TimeField& field);

  std::optional<Time> TimeOf(const std::string& key) const;
  double Spacing(size_t index, const std::string& key, const Time& time) const;

  const KeyStore* keys_;
  TimeField field_;
  Numeral::Value span_ = 0;  // of the sampled keys' times
  bool same_rest_ = true;    // whether the same bytes follow them in all keys
};

}  // namespace ROCKSDB_NAMESPACE::protean
