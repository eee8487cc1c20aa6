// SPDX-License-Identifier: Apache-2.0

//  The options of filter policies, as RocksDB reads, writes and changes them:
//  numbers with an allowed range, and choices. What is not allowed is refused
//  with a message that names the option, the value, and what is allowed.
//
//  Numbers are read by RocksDB's own parser, so 20K and 2G are numbers. A
//  choice may be written with or without the k of its name in code, in any
//  case.

#pragma once

#include <atomic>
#include <string>
#include <unordered_map>
#include <vector>

#include "rocksdb/customizable.h"
#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/utilities/options_type.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Decimal ----

// Decimal fractions in text that programs read: options, table properties,
// logs, JSON. The separator is always a point. strtod and printf would take it
// from the process's locale (LC_NUMERIC), which a JVM sets to the user's.

// `number` rounded to `digits` digits after the point, such as "12.50" for two.
std::string DecimalText(double number, int digits);

// Parses decimal digits with at most one point among them: at least one digit,
// no sign, no space, no exponent. Returns false for any other text, and leaves
// `*number` alone.
bool ParseDecimal(const std::string& text, double* number);

// ---- Option types ----

// An option that DB::SetOptions may change while other threads read it.
template <class T>
class MutableOption {
 public:
  MutableOption(T value) : value_(value) {}
  MutableOption(const MutableOption& other) : value_(other.get()) {}
  MutableOption& operator=(const MutableOption& other) {
    value_.store(other.get(), std::memory_order_relaxed);
    return *this;
  }

  T get() const { return value_.load(std::memory_order_relaxed); }
  operator T() const { return get(); }

 private:
  std::atomic<T> value_;
};

// Parses digits, perhaps with one of the units K, M, G and T behind them, which
// are powers of 1,024, in either case. Returns false for any other text, of
// which RocksDB's parser would read a part, and for numbers that need more than
// 64 bits.
bool ParseWholeNumber(const std::string& text, uint64_t* number);

// Parses true, false, 1 or 0, as RocksDB's options have it. Returns false for
// any other text.
bool ParseBoolean(const std::string& text, bool* value);

// The number of letters to add, take away or replace to get from `a` to `b`
// (Levenshtein).
size_t EditDistance(const std::string& a, const std::string& b);

// A whole number from min to max, or 0 as well if `or_zero`. `owner` is the
// object that the option belongs to, such as "protean.SuRF".
struct WholeNumberRange {
  using Value = uint64_t;

  const char* owner;
  const char* option;
  uint64_t min;
  uint64_t max;
  bool or_zero = false;

  // InvalidArgument for a number outside of the range.
  Status Check(uint64_t value) const;
  // Stores the number that `text` says. InvalidArgument if it says none, or one
  // outside of the range.
  Status Parse(const std::string& text, uint64_t* value) const;
  std::string Text(uint64_t value) const { return std::to_string(value); }
};

// A decimal fraction from min to max, or 0 as well if `or_zero`.
struct DecimalRange {
  using Value = double;

  const char* owner;
  const char* option;
  double min;
  double max;
  const char* examples;  // such as "12 or 10.5"
  bool or_zero = false;

  Status Check(double value) const;
  Status Parse(const std::string& text, double* value) const;
  std::string Text(double value) const;
};

// One of a few words, by its position.
struct Choices {
  const char* owner;
  const char* option;
  std::vector<std::string> names;  // such as kAuto

  std::string NameOf(size_t position) const {
    return position < names.size() ? names[position] : "?";
  }
  Status Check(size_t position) const;
  Status Parse(const std::string& text, size_t* position) const;
};

// The option of a range or of choices, stored at `offset` as a MutableOption.
OptionTypeInfo MutableUInt32(int offset, const WholeNumberRange& range);
OptionTypeInfo MutableUInt64(int offset, const WholeNumberRange& range);
OptionTypeInfo MutableDouble(int offset, const DecimalRange& range);
// `choices` is called each time: kinds of sets may be registered later.
OptionTypeInfo MutableChoice(int offset, const char* owner,
                             Choices (*choices)(const char* owner));
// An option that is set before the policy is used, stored as a uint32_t.
OptionTypeInfo UInt32Option(int offset, const WholeNumberRange& range);

// InvalidArgument if `given` has a name that is no option of `object`; the
// message has the nearest one.
Status CheckOptionNames(
    const Customizable& object, const ConfigOptions& config,
    const std::unordered_map<std::string, std::string>& given);

}  // namespace ROCKSDB_NAMESPACE::protean
