// SPDX-License-Identifier: Apache-2.0

//  A number as it is written in a key: its form, read and written.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

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

}  // namespace ROCKSDB_NAMESPACE::protean
