// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/time_windows.h"

#include <algorithm>
#include <cmath>

#include "filter_policy/proteus/prior/sampled_keys.h"

namespace ROCKSDB_NAMESPACE::protean {

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
  for (size_t i = 0; i < NumSampledKeys(keys); i++) {
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
    const std::string other_key = (*keys_)[neighbor];
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
  *lo = (*keys_)[index];
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
