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
  const auto points =
      static_cast<size_t>(std::count(text.begin(), text.end(), '.'));
  if (text.find_first_not_of("0123456789.") != std::string::npos ||
      points > 1 || points == text.size()) {
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

Status Refuse(const std::string& owner, const std::string& option,
              const std::string& text, const std::string& allowed) {
  return Status::InvalidArgument(owner + ": " + option + "=" + text +
                                 " is not allowed; allowed: " + allowed);
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(tolower(c));
  return text;
}

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

template <class T>
std::string NumberRange<T>::Text(T value) {
  if constexpr (std::is_integral_v<T>) return std::to_string(value);
  // RocksDB writes six digits.
  return DecimalText(static_cast<double>(value), /*digits=*/6);
}

template <class T>
Status NumberRange<T>::Refuse(const std::string& text) const {
  std::string allowed;
  if constexpr (std::is_integral_v<T>) {
    allowed = std::string(or_zero ? "0, or " : "") + "whole numbers from " +
              Text(min) + " to " + Text(max);
  } else {
    allowed = std::string(or_zero ? "0, or " : "") + "numbers from " +
              DecimalText(min, min < 1 ? 3 : 0) + " to " + DecimalText(max, 0) +
              ", such as " + examples;
  }
  return protean::Refuse(owner, option, text, allowed);
}

template <class T>
Status NumberRange<T>::Check(T value) const {
  const bool allowed =
      (value >= min && value <= max) || (or_zero && value == 0);
  return allowed ? Status::OK() : Refuse(Text(value));
}

template <class T>
Status NumberRange<T>::Parse(const std::string& text, T* value) const {
  T number = 0;
  bool is_number;
  if constexpr (std::is_integral_v<T>) {
    is_number = ParseWholeNumber(text, &number);
  } else {
    is_number = ParseDecimal(text, &number);
  }
  if (!is_number || !Check(number).ok()) return Refuse(text);
  *value = number;
  return Status::OK();
}

template struct NumberRange<uint64_t>;
template struct NumberRange<double>;

std::string Choices::Text(size_t position) const {
  const std::vector<std::string> all = names();
  return position < all.size() ? all[position] : "?";
}

Status Choices::Check(size_t position) const {
  size_t any;
  return position < names().size() ? Status::OK()
                                   : Parse(std::to_string(position), &any);
}

Status Choices::Parse(const std::string& text, size_t* position) const {
  const std::vector<std::string> all = names();
  std::string allowed;
  for (size_t i = 0; i < all.size(); i++) {
    const std::string name = Lower(all[i]);
    if (Lower(text) == name || Lower(text) == name.substr(1)) {
      *position = i;
      return Status::OK();
    }
    allowed += (i == 0 ? "" : ", ") + all[i];
  }
  return Refuse(owner, option, text, allowed);
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
