// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/time_windows.h"

#include <algorithm>
#include <cmath>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Windows are shorter than the distance of the keys around them by
// 2^kWindowBits, and by 2^kWindowOrders more than that at most.
constexpr double kWindowBits = 3;
constexpr double kWindowOrders = 14;
// Stands for the last of all that may follow a time.
constexpr char kHighestRest[] = "\xff\xff\xff\xff\xff\xff\xff\xff";

// Counts up the last digit, letter or binary byte of a name. False if there is
// none, or all are the last ones of their kind.
bool CountUpName(std::string* name) {
  for (size_t i = name->size(); i-- > 0;) {
    char* const c = &(*name)[i];
    if (*c == '9') {
      *c = '0';
    } else if (*c == 'z' || *c == 'Z') {
      *c = static_cast<char>(*c - 'z' + 'a');
    } else if (*c == '\xff') {
      *c = '\0';
    } else if (std::isalnum(static_cast<uint8_t>(*c)) != 0 || *c < ' ') {
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
  if (!field) return std::nullopt;
  return TimeWindows(keys, *field);
}

TimeWindows::TimeWindows(const KeyStore& keys, const TimeField& field)
    : keys_(&keys), field_(field) {
  std::optional<std::string> rest;
  Numeral::Value first = ~Numeral::Value{0};
  Numeral::Value last = 0;
  for (size_t i = 0; i < kSampledKeys; i++) {
    const std::string key = keys[SampledKey(keys, i)];
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

// The distance of a key's time from that of the key at `index`; 0 if that is
// another entity's.
Numeral::Value TimeWindows::Distance(const std::string& key, const Time& time,
                                     size_t index) const {
  if (index >= keys_->size()) return 0;
  const std::string other_key = (*keys_)[index];
  const std::optional<Time> other = TimeOf(other_key);
  if (!other || other->start != time.start ||
      other_key.compare(0, time.start, key, 0, time.start) != 0) {
    return 0;
  }
  return std::max(other->value, time.value) -
         std::min(other->value, time.value);
}

bool TimeWindows::Window(size_t index, double order, std::string* lo,
                         std::string* hi) const {
  *lo = (*keys_)[index];
  const std::optional<Time> time = TimeOf(*lo);
  if (!time) return false;
  // index - 1 is above all indexes if there is no key before.
  Numeral::Value room = Distance(*lo, *time, index + 1);
  if (room == 0) room = Distance(*lo, *time, index - 1);
  if (room == 0) room = span_;
  if (room == 0) return false;
  const double longest = std::log2(static_cast<double>(room)) - kWindowBits;
  const double shortest = longest - kWindowOrders;
  const double length = std::exp2(shortest + (longest - shortest) * order);
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
  *prefix = (*keys_)[index];
  size_t start = 0;
  if (!field_.anchor.Find(*prefix, &start)) return false;
  prefix->resize(start);
  return CountUpName(prefix);
}

bool TimeWindows::Later(size_t index, uint64_t more, std::string* key) const {
  *key = (*keys_)[index];
  const std::optional<Time> time = TimeOf(*key);
  if (!time || time->value + more >= field_.time.count()) return false;
  field_.time.Write(time->value + more, time->start, key);
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
