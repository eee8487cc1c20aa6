// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/key_form.h"

#include <algorithm>
#include <cstdint>

namespace ROCKSDB_NAMESPACE::protean {

// ---- Sampled keys ----

std::vector<std::string> SampledKeys(const KeyStore& keys) {
  std::vector<std::string> sampled;
  const size_t count = std::min(keys.size(), kMaxSampledKeys);
  for (size_t i = 0; i < count; i++) {
    const size_t index =
        count == keys.size() ? i : i * (keys.size() - 1) / (count - 1);
    sampled.push_back(keys[index].ToString());
  }
  return sampled;
}

// ---- Characters ----

bool ArePrintable(const std::vector<std::string>& keys) {
  return std::all_of(keys.begin(), keys.end(), [](const std::string& key) {
    return std::all_of(key.begin(), key.end(), IsPrintable);
  });
}

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

// ---- Numeral ----

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

// ---- Anchor ----

bool Anchor::Find(const Slice& key, size_t* start) const {
  switch (from) {
    case From::kBegin:
      *start = distance;
      return distance < key.size();
    case From::kEnd:
      *start = key.size() - distance;
      return distance > 0 && distance <= key.size();
    case From::kSeparator:
      break;
  }
  size_t left = distance;
  for (size_t i = 0; i < key.size(); i++) {
    if (key[i] == separator && --left == 0) {
      *start = i + 1;
      return true;
    }
  }
  return false;
}

std::vector<Anchor> AnchorsOf(const std::string& key, size_t start,
                              bool one_length) {
  std::vector<Anchor> anchors = {{Anchor::From::kBegin, start}};
  if (one_length) return anchors;
  anchors.push_back({Anchor::From::kEnd, key.size() - start});
  if (start > 0 && IsSeparator(key[start - 1])) {
    const char separator = key[start - 1];
    const auto before = static_cast<size_t>(
        std::count(key.begin(), key.begin() + start, separator));
    anchors.push_back({Anchor::From::kSeparator, before, separator});
  }
  return anchors;
}

// ---- Key form ----

KeyForm KeyFormOf(const KeyStore& keys, const KeyStatistics& statistics) {
  if (statistics.shortest_key() != statistics.longest_key()) {
    return KeyForm::kText;
  }
  if (ArePrintable(SampledKeys(keys))) return KeyForm::kDigits;
  return statistics.longest_key() <= 8 ? KeyForm::kNumber : KeyForm::kRecord;
}

std::vector<std::string> CharactersOf(const KeyStore& keys) {
  std::vector<std::string> seen(keys[0].size());
  for (const std::string& key : SampledKeys(keys)) {
    for (size_t j = 0; j < key.size(); j++) seen[j].push_back(key[j]);
  }
  std::vector<std::string> alphabets;
  for (const std::string& characters : seen) {
    alphabets.push_back(AlphabetOf(characters));
  }
  return alphabets;
}

}  // namespace ROCKSDB_NAMESPACE::protean
