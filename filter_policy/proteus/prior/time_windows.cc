// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/time_windows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filter_policy/proteus/prefix_hash.h"
#include "filter_policy/proteus/prior/key_form.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Time forms ----

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

// Returns true if a number of units since 1970, `per_second` in a second, may
// be a time.
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

// ---- Time field ----

namespace {

using Value = Numeral::Value;

// One key in this number may have no time.
constexpr size_t kOtherKeys = 16;
// Fewer different times than this are a constant, or chance.
constexpr size_t kMinTimes = 2;
constexpr size_t kMinTimesOf4Bytes = 8;
// One in this number of binary times has a byte below the space, at least.
constexpr size_t kControlShare = 8;
// Fields behind this many bytes are not looked for.
constexpr size_t kMaxStart = 256;

using Samples = std::vector<std::string>;

// Returns true if nearly all keys have a time of this form at the anchor, and
// several ones.
bool HaveTime(const Samples& keys, const TimeField& field, bool printed) {
  size_t others = 0;
  size_t with_control = 0;
  std::vector<Value> times;
  for (const std::string& key : keys) {
    size_t start = 0;
    bool has = field.anchor.Find(key, &start);
    if (has) {
      const std::vector<Numeral> forms = FormsAt(key, start, printed);
      has = std::any_of(forms.begin(), forms.end(), [&](const Numeral& form) {
        return form.name() == field.time.name() &&
               form.size() == field.time.size();
      });
    }
    Value value;
    if (has && field.time.Read(key, start, &value)) {
      times.push_back(value);
      const auto begin = key.begin() + static_cast<std::ptrdiff_t>(start);
      with_control += std::any_of(
          begin, begin + static_cast<std::ptrdiff_t>(field.time.size()),
          [](char c) { return static_cast<uint8_t>(c) < ' '; });
    } else if (++others > keys.size() / kOtherKeys) {
      return false;
    }
  }
  size_t least = kMinTimes;
  if (!printed) {
    // Text has no control characters, whatever its encoding.
    if (with_control < times.size() / kControlShare) return false;
    if (field.time.size() == 4) {
      // A letter and zeros, say, do not count up their last byte.
      least = kMinTimesOf4Bytes;
      for (Value& time : times) time %= 256;
    }
  }
  std::sort(times.begin(), times.end());
  const auto different = static_cast<size_t>(
      std::unique(times.begin(), times.end()) - times.begin());
  return different >= least;
}

}  // namespace

std::optional<TimeField> FindTimeField(const KeyStore& keys,
                                       size_t shared_bytes) {
  std::optional<TimeField> best;
  if (keys.size() == 0) return best;
  const Samples samples = SampledKeys(keys);
  const bool printed = ArePrintable(samples);
  const bool one_length = std::all_of(
      samples.begin(), samples.end(),
      [&](const std::string& key) { return key.size() == samples[0].size(); });
  const std::string& first = samples[samples.size() / 2];
  for (size_t start = 0; start < std::min(first.size(), kMaxStart); start++) {
    const std::vector<Numeral> forms = FormsAt(first, start, printed);
    if (forms.empty()) continue;
    std::optional<TimeField> found;
    for (const Numeral& form : forms) {
      for (const Anchor& anchor : AnchorsOf(first, start, one_length)) {
        if (!found && HaveTime(samples, {anchor, form}, printed)) {
          found = TimeField{anchor, form};
        }
      }
    }
    if (!found) continue;
    best = found;
    const size_t end = start + found->time.size();
    if (end > shared_bytes) break;
    start = end - 1;
  }
  return best;
}

// ---- Time windows ----

namespace {

// Windows are shorter than the distance of the keys around them by
// 2^kWindowBits, and by 2^kWindowOrders more than that at most. Most are nearer
// to the shortest: the longer a window, the fewer are empty.
constexpr double kWindowBits = 1;
constexpr double kWindowOrders = 13;
constexpr double kLongerAreFewer = 0.45;
// Stands for the last of all that may follow a time.
constexpr char kHighestRest[] = "\xff\xff\xff\xff\xff\xff\xff\xff";

// Counts up the last digit, letter or binary byte of a name. False if there is
// none, or all are the last ones of their kind.
bool CountUpName(std::string* name) {
  for (size_t i = name->size(); i-- > 0;) {
    char* const c = &(*name)[i];
    // A char is signed on some CPUs only.
    const auto byte = static_cast<uint8_t>(*c);
    if (*c == '9') {
      *c = '0';
    } else if (*c == 'z' || *c == 'Z') {
      *c = static_cast<char>(*c - 'z' + 'a');
    } else if (*c == '\xff') {
      *c = '\0';
    } else if (std::isalnum(byte) != 0 || byte < ' ' || byte >= 0x80) {
      (*c)++;
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<TimeWindows> TimeWindows::Find(const KeyStore& keys,
                                             size_t shared_bytes) {
  const std::optional<TimeField> field = FindTimeField(keys, shared_bytes);
  // A key that is a number and nothing else has no fields.
  const bool is_number = field && field->anchor.from == Anchor::From::kBegin &&
                         field->anchor.distance == 0 &&
                         field->time.size() == keys[0].size();
  if (!field || is_number) return std::nullopt;
  return TimeWindows(keys, *field);
}

TimeWindows::TimeWindows(const KeyStore& keys, const TimeField& field)
    : keys_(&keys), field_(field) {
  std::optional<std::string> rest;
  Numeral::Value first = ~Numeral::Value{0};
  Numeral::Value last = 0;
  for (const std::string& key : SampledKeys(keys)) {
    const std::optional<Time> time = TimeOf(key);
    if (!time) continue;
    first = std::min(first, time->value);
    last = std::max(last, time->value);
    const std::string here = key.substr(time->start + field_.time.size());
    if (!rest) rest = here;
    same_rest_ = same_rest_ && here == *rest;
  }
  if (rest) span_ = last - first;
}

std::optional<TimeWindows::Time> TimeWindows::TimeOf(
    const std::string& key) const {
  Time time = {};
  if (!field_.anchor.Find(key, &time.start) ||
      !field_.time.Read(key, time.start, &time.value)) {
    return std::nullopt;
  }
  return time;
}

bool TimeWindows::EndOfTime(const std::string& key, size_t* end) const {
  const std::optional<Time> time = TimeOf(key);
  if (time) *end = time->start + field_.time.size();
  return time.has_value();
}

// The average distance of the times of an entity's keys around a key, or the
// span of all times if the entity has no other key there.
double TimeWindows::Spacing(size_t index, const std::string& key,
                            const Time& time) const {
  constexpr size_t kNeighbors = 4;
  Numeral::Value first = time.value;
  Numeral::Value last = time.value;
  size_t others = 0;
  // False if the key is another entity's.
  const auto visit = [&](size_t neighbor) {
    const std::string other_key = (*keys_)[neighbor].ToString();
    const std::optional<Time> other = TimeOf(other_key);
    if (!other || other->start != time.start ||
        other_key.compare(0, time.start, key, 0, time.start) != 0) {
      return false;
    }
    first = std::min(first, other->value);
    last = std::max(last, other->value);
    others++;
    return true;
  };
  for (size_t i = 1; i <= kNeighbors && i <= index; i++) {
    if (!visit(index - i)) break;
  }
  for (size_t i = 1; i <= kNeighbors && index + i < keys_->size(); i++) {
    if (!visit(index + i)) break;
  }
  return others == 0
             ? static_cast<double>(span_)
             : static_cast<double>(last - first) / static_cast<double>(others);
}

bool TimeWindows::Window(size_t index, double order, std::string* lo,
                         std::string* hi) const {
  *lo = (*keys_)[index].ToString();
  const std::optional<Time> time = TimeOf(*lo);
  if (!time) return false;
  const double spacing = Spacing(index, *lo, *time);
  if (spacing == 0) return false;
  const double length =
      std::exp2(std::log2(spacing) - kWindowBits -
                kWindowOrders * std::pow(order, kLongerAreFewer));
  const Numeral::Value end = time->value + static_cast<Numeral::Value>(length);
  if (end >= field_.time.count()) return false;
  *hi = *lo;
  field_.time.Write(end, time->start, hi);
  if (!same_rest_) {
    // The window has all that may follow its times.
    lo->resize(time->start + field_.time.size());
    hi->resize(lo->size());
    *hi += kHighestRest;
  }
  return true;
}

bool TimeWindows::NextEntity(size_t index, std::string* prefix) const {
  *prefix = (*keys_)[index].ToString();
  size_t start = 0;
  if (!field_.anchor.Find(*prefix, &start)) return false;
  prefix->resize(start);
  return CountUpName(prefix);
}

bool TimeWindows::Later(size_t index, uint64_t more, std::string* key) const {
  *key = (*keys_)[index].ToString();
  const std::optional<Time> time = TimeOf(*key);
  if (!time || time->value + more >= field_.time.count()) return false;
  field_.time.Write(time->value + more, time->start, key);
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
