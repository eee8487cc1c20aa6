// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/time_field.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "filter_policy/proteus/prior/characters.h"
#include "filter_policy/proteus/prior/sampled_keys.h"
#include "filter_policy/proteus/prior/time_forms.h"

namespace ROCKSDB_NAMESPACE::protean {

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

// Whether nearly all keys have a time of this form at the anchor, and several
// ones.
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
  Samples samples;
  bool printed = true;
  bool one_length = true;
  for (size_t i = 0; i < NumSampledKeys(keys); i++) {
    samples.push_back(keys[SampledKey(keys, i)]);
    const std::string& key = samples.back();
    printed = printed && std::all_of(key.begin(), key.end(), IsPrintable);
    one_length = one_length && key.size() == samples[0].size();
  }
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

}  // namespace ROCKSDB_NAMESPACE::protean
