// SPDX-License-Identifier: Apache-2.0

//  The ranges that applications ask for where keys have a time (time_field.h):
//  windows of the time after the same first fields, which name the entity, and
//  scans of all that an entity has.

#pragma once

#include <optional>
#include <string>

#include "filter_policy/proteus/key_store.h"
#include "filter_policy/proteus/prior/time_field.h"

namespace ROCKSDB_NAMESPACE::protean {

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
