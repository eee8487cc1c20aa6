// SPDX-License-Identifier: Apache-2.0

//  Facts that are read by their names: from them come JSON, the text for
//  people, the metrics of Prometheus, and what C, Java and Rust read.
//
//  The name of a fact is the name of a member, behind the names of the structs
//  that it is in, such as "total.bounded_seeks.negatives". Units are part of
//  names: _bytes, _micros, _seconds.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// std::monostate for what is unknown: null in JSON, no sample in Prometheus.
using FactValue =
    std::variant<std::monostate, bool, uint64_t, double, std::string>;

// A truth value, a number, or a text. A negative number is unknown.
template <typename T>
FactValue ValueOf(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    if (static_cast<double>(value) < 0) return FactValue();
  }
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<uint64_t>(value);
  } else {
    return FactValue(std::move(value));
  }
}

// The facts about one object at one moment, and lists of others that belong to
// it, such as the files of a column family.
class Record {
 public:
  template <typename T>
  void Add(std::string name, T value) {
    values_.emplace_back(std::move(name), ValueOf(std::move(value)));
  }
  void AddList(std::string name, std::vector<Record> records) {
    lists_.emplace_back(std::move(name), std::move(records));
  }

  const std::vector<std::pair<std::string, FactValue>>& values() const {
    return values_;
  }
  // nullptr if there is no fact of this name.
  const FactValue* Find(const std::string& name) const;
  // Empty if there is no list of this name.
  const std::vector<Record>& List(const std::string& name) const;

  // One JSON object. A point in a name leads into an object. Each byte that is
  // not UTF-8 is replaced by U+FFFD.
  std::string ToJson() const;

 private:
  void AppendJson(std::string* json) const;

  std::vector<std::pair<std::string, FactValue>> values_;
  std::vector<std::pair<std::string, std::vector<Record>>> lists_;
};

// A value as JSON, and for Prometheus and people: decimal fractions with a
// point, truth values as 1 and 0, texts as they are.
std::string JsonOf(const FactValue& value);
std::string TextOf(const FactValue& value);
// A number, or 1 or 0 for a truth value. No value if it is none of these.
std::optional<double> NumberOf(const FactValue& value);

// What there is to read by name. Each is what the object's ToJson() shows.
struct CountResult;
struct FilterStatistics;
struct FilterSums;
struct RefreshProgress;
struct RefreshResult;
Record RecordOf(const FilterStatistics& statistics);
Record RecordOf(const FilterSums& sums);
Record RecordOf(const RefreshProgress& progress);
Record RecordOf(const RefreshResult& result);
Record RecordOf(const CountResult& count);

// ---- Text ----

// Text for formats that want UTF-8: JSON and that of Prometheus. Names of
// column families and files may be any bytes.

// Replaces each byte that is not part of a UTF-8 character by the replacement
// character.
std::string Utf8Text(const std::string& text);

// The contents of a JSON string, escaped. RocksDB's JSONWriter takes strings as
// they are.
std::string JsonText(const std::string& text);

// Numbers of levels as text, such as 0,1,6.
inline std::string LevelsText(const std::vector<int>& levels) {
  std::string text;
  for (const int level : levels) {
    text += (text.empty() ? "" : ",") + std::to_string(level);
  }
  return text;
}

}  // namespace ROCKSDB_NAMESPACE::protean
