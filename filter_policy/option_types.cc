// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/option_types.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iomanip>
#include <locale>
#include <numeric>
#include <set>
#include <sstream>
#include <unordered_set>

namespace ROCKSDB_NAMESPACE::protean {

// ---- Decimal ----

std::string DecimalText(double number, int digits) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::fixed << std::setprecision(digits) << number;
  return text.str();
}

bool ParseDecimal(const std::string& text, double* number) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto digits = std::count_if(text.begin(), text.end(), is_digit);
  const auto points = std::count(text.begin(), text.end(), '.');
  if (digits == 0 || points > 1 ||
      static_cast<size_t>(digits + points) != text.size()) {
    return false;
  }
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  double parsed;
  if (!(stream >> parsed)) return false;  // too large
  *number = parsed;
  return true;
}

// ---- Option types ----

namespace {

constexpr int kDigits = 6;  // after the point, as RocksDB writes numbers

Status Refuse(const std::string& owner, const std::string& option,
              const std::string& text, const std::string& allowed) {
  return Status::InvalidArgument(owner + ": " + option + "=" + text +
                                 " is not allowed; allowed: " + allowed);
}

Status Refuse(const WholeNumberRange& range, const std::string& text) {
  return Refuse(range.owner, range.option, text,
                std::string(range.or_zero ? "0, or " : "") +
                    "whole numbers from " + std::to_string(range.min) + " to " +
                    std::to_string(range.max));
}

Status Refuse(const DecimalRange& range, const std::string& text) {
  return Refuse(range.owner, range.option, text,
                "numbers from " + DecimalText(range.min, 0) + " to " +
                    DecimalText(range.max, 0) + ", such as " + range.examples);
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(tolower(c));
  return text;
}

// Describes an option that is stored as a `Stored`, which holds a `T`.
// `allowed` is a range, or choices.
template <class Stored, class T, class Allowed>
OptionTypeInfo Described(int offset, OptionType type, OptionTypeFlags flags,
                         const Allowed& allowed) {
  OptionTypeInfo info(offset, type, OptionVerificationType::kNormal, flags);
  info.SetParseFunc([allowed](const ConfigOptions& /*config*/,
                              const std::string& /*name*/,
                              const std::string& text, void* addr) {
    typename Allowed::Value value = 0;
    const Status s = allowed.Parse(text, &value);
    if (s.ok()) *static_cast<Stored*>(addr) = static_cast<T>(value);
    return s;
  });
  info.SetSerializeFunc([allowed](const ConfigOptions& /*config*/,
                                  const std::string& /*name*/, const void* addr,
                                  std::string* text) {
    *text = allowed.Text(T{*static_cast<const Stored*>(addr)});
    return Status::OK();
  });
  info.SetEqualsFunc([](const ConfigOptions& /*config*/,
                        const std::string& /*name*/, const void* a,
                        const void* b, std::string* /*mismatch*/) {
    return *static_cast<const Stored*>(a) == *static_cast<const Stored*>(b);
  });
  return info;
}

// Choices that are asked for each time.
struct LateChoices {
  using Value = size_t;

  const char* owner;
  Choices (*choices)(const char* owner);

  Status Parse(const std::string& text, size_t* position) const {
    return choices(owner).Parse(text, position);
  }
  std::string Text(size_t position) const {
    return choices(owner).NameOf(position);
  }
};

}  // namespace

bool ParseBoolean(const std::string& text, bool* value) {
  return OptionTypeInfo(0, OptionType::kBoolean)
      .Parse(ConfigOptions(), "", text, value)
      .ok();
}

bool ParseWholeNumber(const std::string& text, uint64_t* number) {
  uint64_t units = 0;
  const char* const end = text.data() + text.size();
  const auto [digits_end, error] = std::from_chars(text.data(), end, units);
  const std::string unit = Lower(std::string(digits_end, end));
  const size_t power = unit.empty() ? 0 : std::string("kmgt").find(unit) + 1;
  if (error != std::errc() || unit.size() > 1 ||
      (!unit.empty() && power == 0)) {
    return false;
  }
  *number = units << (10 * power);
  return *number >> (10 * power) == units;
}

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); i++) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); j++) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

Status WholeNumberRange::Check(uint64_t value) const {
  const bool allowed =
      (value >= min && value <= max) || (or_zero && value == 0);
  return allowed ? Status::OK() : Refuse(*this, std::to_string(value));
}

Status WholeNumberRange::Parse(const std::string& text, uint64_t* value) const {
  uint64_t number = 0;
  if (!ParseWholeNumber(text, &number) || !Check(number).ok()) {
    return Refuse(*this, text);
  }
  *value = number;
  return Status::OK();
}

std::string DecimalRange::Text(double value) const {
  return DecimalText(value, kDigits);
}

Status DecimalRange::Check(double value) const {
  const bool allowed =
      (value >= min && value <= max) || (or_zero && value == 0);
  return allowed ? Status::OK() : Refuse(*this, Text(value));
}

Status DecimalRange::Parse(const std::string& text, double* value) const {
  double number;
  if (!ParseDecimal(text, &number) || !Check(number).ok()) {
    return Refuse(*this, text);
  }
  *value = number;
  return Status::OK();
}

Status Choices::Check(size_t position) const {
  size_t any;
  return position < names.size() ? Status::OK()
                                 : Parse(std::to_string(position), &any);
}

Status Choices::Parse(const std::string& text, size_t* position) const {
  std::string allowed;
  for (size_t i = 0; i < names.size(); i++) {
    const std::string name = Lower(names[i]);
    if (Lower(text) == name || Lower(text) == name.substr(1)) {
      *position = i;
      return Status::OK();
    }
    allowed += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  return Refuse(owner, option, text, allowed);
}

OptionTypeInfo MutableUInt32(int offset, const WholeNumberRange& range) {
  return Described<MutableOption<uint32_t>, uint32_t>(
      offset, OptionType::kUInt32T, OptionTypeFlags::kMutable, range);
}

OptionTypeInfo MutableUInt64(int offset, const WholeNumberRange& range) {
  return Described<MutableOption<uint64_t>, uint64_t>(
      offset, OptionType::kUInt64T, OptionTypeFlags::kMutable, range);
}

OptionTypeInfo UInt32Option(int offset, const WholeNumberRange& range) {
  return Described<uint32_t, uint32_t>(offset, OptionType::kUInt32T,
                                       OptionTypeFlags::kNone, range);
}

OptionTypeInfo MutableDouble(int offset, const DecimalRange& range) {
  return Described<MutableOption<double>, double>(
      offset, OptionType::kDouble, OptionTypeFlags::kMutable, range);
}

OptionTypeInfo MutableChoice(int offset, const char* owner,
                             Choices (*choices)(const char* owner)) {
  return Described<MutableOption<uint32_t>, uint32_t>(
      offset, OptionType::kEnum, OptionTypeFlags::kMutable,
      LateChoices{owner, choices});
}

Status CheckOptionNames(
    const Customizable& object, const ConfigOptions& config,
    const std::unordered_map<std::string, std::string>& given) {
  std::unordered_set<std::string> names;
  const Status s = object.GetOptionNames(config, &names);
  if (!s.ok()) return s;
  for (const auto& [name, value] : given) {
    if (name == OptionTypeInfo::kIdPropName() || names.count(name) > 0) {
      continue;
    }
    std::string list;
    std::string nearest;  // empty if more than half of the letters differ
    size_t least = name.size() / 2 + 1;
    for (const std::string& known : std::set(names.begin(), names.end())) {
      list += (list.empty() ? "" : ", ") + known;
      const size_t distance = EditDistance(name, known);
      if (distance < least) {
        least = distance;
        nearest = known;
      }
    }
    return Status::InvalidArgument(
        std::string(object.Name()) + ": there is no option " + name +
        (nearest.empty() ? "" : "; did you mean " + nearest + "?") +
        "; allowed: " + list);
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
