// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/time_forms.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "filter_policy/proteus/key_bits.h"
#include "filter_policy/proteus/prior/characters.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// No form is as long.
constexpr size_t kMaxForm = 64;

using Value = Numeral::Value;
using Places = std::vector<Numeral::Place>;

// The years that a time may lie in, in seconds since 1970: 2001 to 2048. Text
// that is not ASCII looks like later ones.
constexpr uint64_t kFirstSecond = 1'000'000'000;
constexpr uint64_t kLastSecond = 2'490'000'000;

Places DigitPlaces(size_t at, size_t width, std::string_view alphabet) {
  Places places;
  for (size_t i = 0; i < width; i++) {
    places.push_back({at + i, 1, alphabet, 0,
                      alphabet.empty() ? 256 : uint64_t{alphabet.size()}});
  }
  return places;
}

// The digits at the beginning of `text`.
size_t CountDigits(std::string_view text, std::string_view alphabet) {
  return std::min(text.find_first_not_of(alphabet), text.size());
}

// Whether a number of units since 1970, `per_second` in a second, may be a
// time.
bool MayBeTime(Value value, uint64_t per_second) {
  return value >= Value{kFirstSecond} * per_second &&
         value < Value{kLastSecond} * per_second;
}

// Dates and times. In a pattern, letters stand for the digits of a part, and .
// for any one character that is no digit.
void FindCalendar(std::string_view text, std::vector<Numeral>* found) {
  static constexpr std::string_view kPatterns[] = {"YYYY.MM.DD.hh.mm.ss",
                                                   "YYYYMMDD.hhmmss",
                                                   "YYYYMMDDhhmmss",
                                                   "YYYY.MM.DD.hh.mm",
                                                   "YYYY.MM.DD.hh",
                                                   "YYYY.MM.DD",
                                                   "YYYYMMDD"};
  static constexpr struct {
    char letter;
    uint64_t least;
    uint64_t count;
  } kParts[] = {{'Y', 1970, 130}, {'M', 1, 12}, {'D', 1, 31},
                {'h', 0, 24},     {'m', 0, 60}, {'s', 0, 61}};
  constexpr size_t kMaxFraction = 9;
  for (std::string_view pattern : kPatterns) {
    if (text.size() < pattern.size()) continue;
    Places places;
    bool matches = true;
    for (size_t i = 0; i < pattern.size() && matches;) {
      const size_t width = pattern.find_first_not_of(pattern[i], i) - i;
      const size_t end = std::min(i + width, pattern.size());
      if (pattern[i] == '.') {
        matches = !IsDigit(text[i]);
      } else {
        for (const auto& part : kParts) {
          if (part.letter != pattern[i]) continue;
          places.push_back({i, end - i, kDecimal, part.least, part.count});
        }
      }
      i = end;
    }
    size_t size = pattern.size();
    if (matches && pattern.back() == 's') {
      const bool has_point =
          size < text.size() && (text[size] == '.' || text[size] == ',');
      const size_t begin = size + (has_point ? 1 : 0);
      const size_t digits = CountDigits(text.substr(begin), kDecimal);
      if (digits > 0 && digits <= kMaxFraction) {
        const Places fraction = DigitPlaces(begin, digits, kDecimal);
        places.insert(places.end(), fraction.begin(), fraction.end());
        size = begin + digits;
      }
    }
    Value value;
    const Numeral time("date", size, std::move(places));
    if (!matches || (size < text.size() && IsDigit(text[size])) ||
        !time.Read(Slice(text.data(), text.size()), 0, &value)) {
      continue;
    }
    found->push_back(time);
    return;
  }
}

// Units in a second, and the digits of such times of our years.
constexpr struct {
  const char* decimal_name;
  const char* hex_name;
  const char* binary_name;
  uint64_t per_second;
  size_t decimal_digits;
  size_t hex_digits;
} kUnits[] = {
    {"decimal s", "hex s", "binary s", 1, 10, 8},
    {"decimal ms", "hex ms", "binary ms", 1000, 13, 11},
    {"decimal us", "hex us", "binary us", 1'000'000, 16, 13},
    {"decimal ns", "hex ns", "binary ns", 1'000'000'000, 19, 15},
};

// Decimal and hexadecimal digits, which may begin with zeros.
void FindEpoch(std::string_view text, std::vector<Numeral>* found) {
  for (std::string_view alphabet : {kDecimal, kLowerHex, kUpperHex}) {
    const size_t digits = CountDigits(text, alphabet);
    if (digits > 20) continue;
    const Numeral number("", digits, DigitPlaces(0, digits, alphabet));
    Value value;
    if (!number.Read(Slice(text.data(), text.size()), 0, &value)) continue;
    const bool decimal = alphabet == kDecimal;
    for (const auto& unit : kUnits) {
      if (digits < (decimal ? unit.decimal_digits : unit.hex_digits) ||
          !MayBeTime(value, unit.per_second)) {
        continue;
      }
      found->emplace_back(decimal ? unit.decimal_name : unit.hex_name, digits,
                          DigitPlaces(0, digits, alphabet));
    }
  }
}

// UUIDs and ULIDs. In a pattern, t stands for a digit of the time, r for any
// digit, v for the variant; other characters stand for themselves.
struct IdPattern {
  const char* name;
  std::string_view pattern;
  uint64_t per_second;  // 0: counts from another year on
};
constexpr IdPattern kUuids[] = {
    {"UUID 7", "tttttttt-tttt-7rrr-vrrr-rrrrrrrrrrrr", 1000},
    {"UUID 7", "tttttttttttt7rrrvrrrrrrrrrrrrrrr", 1000},
    {"UUID 6", "tttttttt-tttt-6ttt-vrrr-rrrrrrrrrrrr", 0},
    {"UUID 6", "tttttttttttt6tttvrrrrrrrrrrrrrrr", 0},
    // The low bits of the time come first, and then higher ones.
    {"UUID 1", "tttttttt-rrrr-1rrr-vrrr-rrrrrrrrrrrr", 0},
    {"UUID 1", "ttttttttrrrr1rrrvrrrrrrrrrrrrrrr", 0},
};
constexpr IdPattern kUlids[] = {
    {"ULID", "ttttttttttrrrrrrrrrrrrrrrr", 1000},
};

void FindId(std::string_view text, const IdPattern& id,
            std::string_view alphabet, std::vector<Numeral>* found) {
  const std::string_view pattern = id.pattern;
  if (text.size() < pattern.size()) return;
  // The id ends there.
  if (text.size() > pattern.size() &&
      alphabet.find(text[pattern.size()]) != std::string_view::npos) {
    return;
  }
  Places places;
  for (size_t i = 0; i < pattern.size(); i++) {
    const char kind = pattern[i];
    const size_t digit = alphabet.find(text[i]);
    const bool fits = kind == 't' || kind == 'r'
                          ? digit != std::string_view::npos
                      : kind == 'v' ? digit >= 8 && digit < 12
                                    : text[i] == kind;
    if (!fits) return;
    if (kind == 't') {
      places.push_back({i, 1, alphabet, 0, uint64_t{alphabet.size()}});
    }
  }
  const size_t size = places.back().at + 1;
  const Numeral time(id.name, size, std::move(places));
  Value value;
  if (time.Read(Slice(text.data(), text.size()), 0, &value) &&
      (id.per_second == 0 || MayBeTime(value, id.per_second))) {
    found->push_back(time);
  }
}

void FindIds(std::string_view text, std::vector<Numeral>* found) {
  for (const IdPattern& id : kUuids) {
    FindId(text, id, kLowerHex, found);
    FindId(text, id, kUpperHex, found);
  }
  for (const IdPattern& id : kUlids) {
    FindId(text, id, kCrockford, found);
    FindId(text, id, kLowerCrockford, found);
  }
}

// Binary numbers, and UUIDs of 16 bytes.
void FindBinary(std::string_view text, std::vector<Numeral>* found) {
  const auto add = [&](std::string_view name, size_t bytes) {
    found->emplace_back(name, bytes, DigitPlaces(0, bytes, {}));
  };
  if (text.size() >= 16 && (text[8] & 0xc0) == 0x80) {
    const int version = static_cast<uint8_t>(text[6]) >> 4;
    if (version == 7) add("UUID 7", 6);
    if (version == 6) add("UUID 6", 6);
    if (version == 1) add("UUID 1", 4);
  }
  for (size_t bytes : {8, 6, 4}) {
    // A longer one begins with zeros, or with bytes that are not printable.
    if (text.size() < bytes || (bytes > 4 && IsPrintable(text[0]))) continue;
    const uint64_t number =
        LoadBits64(text.data(), text.size(), 0) >> (64 - 8 * bytes);
    // A number of 64 bits that counts down is 2^64 - 1 - t or 2^63 - 1 - t.
    constexpr uint64_t kLargest = ~uint64_t{0};
    for (const auto& unit : kUnits) {
      if (MayBeTime(number, unit.per_second) ||
          (bytes == 8 && (MayBeTime(kLargest - number, unit.per_second) ||
                          MayBeTime(kLargest / 2 - number, unit.per_second)))) {
        add(unit.binary_name, bytes);
      }
    }
  }
}

}  // namespace

std::vector<Numeral> FormsAt(const std::string& key, size_t start,
                             bool printed) {
  std::vector<Numeral> found;
  const std::string_view text = std::string_view(key).substr(start, kMaxForm);
  if (!printed) {
    FindBinary(text, &found);
    return found;
  }
  // Digits in the middle of others are no number of their own.
  if (start > 0 && IsDigit(key[start - 1]) && IsDigit(key[start])) return found;
  FindIds(text, &found);
  FindCalendar(text, &found);
  FindEpoch(text, &found);
  return found;
}

}  // namespace ROCKSDB_NAMESPACE::protean
