// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/numeral.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

Numeral::Value Numeral::count() const {
  Value count = 1;
  for (const Place& place : places_) count *= place.count;
  return count;
}

bool Numeral::Read(const Slice& key, size_t start, Value* value) const {
  if (start > key.size() || key.size() - start < size_) return false;
  *value = 0;
  for (const Place& place : places_) {
    uint64_t part = 0;
    for (size_t i = 0; i < place.width; i++) {
      const char c = key[start + place.at + i];
      const size_t digit = place.alphabet.empty() ? static_cast<uint8_t>(c)
                                                  : place.alphabet.find(c);
      if (digit == std::string_view::npos) return false;
      part = part * std::max<size_t>(place.alphabet.size(), 1) + digit;
    }
    // Unsigned numbers below the least part wrap around.
    if (part - place.least >= place.count) return false;
    *value = *value * place.count + (part - place.least);
  }
  return true;
}

void Numeral::Write(Value value, size_t start, std::string* key) const {
  for (size_t p = places_.size(); p-- > 0;) {
    const Place& place = places_[p];
    auto part = static_cast<uint64_t>(value % place.count) + place.least;
    value /= place.count;
    for (size_t i = place.width; i-- > 0;) {
      char* const c = &(*key)[start + place.at + i];
      if (place.alphabet.empty()) {
        *c = static_cast<char>(part);
      } else {
        *c = place.alphabet[part % place.alphabet.size()];
        part /= place.alphabet.size();
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
