// SPDX-License-Identifier: Apache-2.0

//  The options of filter policies, as RocksDB reads, writes and changes them:
//  numbers with an allowed range, and choices. What is not allowed is refused
//  with a message that names the option, the value, and what is allowed.
//
//  A choice may be written with or without the k of its name in code, in any
//  case.

#pragma once

#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "rocksdb/customizable.h"
#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/utilities/options_type.h"
#include "util/atomic.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Decimal ----

// Decimal fractions in text that programs read. The separator is always a
// point. strtod and printf would take it from the process's locale, which a JVM
// sets.

// `number` rounded to `digits` digits after the point, such as "12.50" for two.
std::string DecimalText(double number, int digits);

// Parses decimal digits with at most one point among them: at least one digit,
// no sign, no space, no exponent. Returns false for any other text, and leaves
// `*number` alone.
bool ParseDecimal(const std::string& text, double* number);

// ---- Option types ----

// An option that DB::SetOptions may change while other threads read it.
template <class T>
class MutableOption : public RelaxedAtomic<T> {
 public:
  MutableOption(T value) : RelaxedAtomic<T>(value) {}
  MutableOption(const MutableOption& other) : MutableOption(other.get()) {}
  MutableOption& operator=(const MutableOption& other) {
    this->StoreRelaxed(other.get());
    return *this;
  }

  T get() const { return this->LoadRelaxed(); }
  operator T() const { return get(); }
};

// Parses digits, perhaps with one of the units K, M, G and T behind them, in
// either case. Returns false for any other text, of which RocksDB's parser
// would read a part, and for numbers that need more than 64 bits.
bool ParseWholeNumber(const std::string& text, uint64_t* number);

// Parses true, false, 1 or 0. Returns false for any other text.
bool ParseBoolean(const std::string& text, bool* value);

// The edit distance of Levenshtein.
size_t EditDistance(const std::string& a, const std::string& b);

// A number from min to max, or 0 as well if `or_zero`: a whole one, or a
// decimal fraction. `owner` is the object that the option belongs to, such as
// "protean.SuRF".
template <class T>
struct NumberRange {
  using Value = T;

  const char* owner;
  const char* option;
  T min;
  T max;
  const char* examples = "";  // of decimal fractions, such as "12 or 10.5"
  bool or_zero = false;

  // InvalidArgument for a number outside of the range.
  Status Check(T value) const;
  // InvalidArgument if `text` says no number, or one outside of the range.
  Status Parse(const std::string& text, T* value) const;
  static std::string Text(T value);

 private:
  Status Refuse(const std::string& text) const;
};
using WholeNumberRange = NumberRange<uint64_t>;
using DecimalRange = NumberRange<double>;

// One of a few words, by its position.
struct Choices {
  using Value = size_t;

  const char* owner;
  const char* option;
  // Such as kAuto. Called each time: kinds of sets may be registered later.
  std::vector<std::string> (*names)();

  std::string Text(size_t position) const;
  Status Check(size_t position) const;
  Status Parse(const std::string& text, size_t* position) const;
};

// An option of the type T that parse(config, name, text, &option) reads, and
// text(option) writes. Two are equal if their texts are.
template <class T, class Parse, class Text>
OptionTypeInfo TextOption(size_t offset, OptionTypeFlags flags,
                          const Parse& parse, const Text& text_of) {
  OptionTypeInfo info(static_cast<int>(offset), OptionType::kUnknown,
                      OptionVerificationType::kNormal, flags);
  info.SetParseFunc([parse](const ConfigOptions& config,
                            const std::string& name, const std::string& text,
                            void* option) {
    return parse(config, name, text, static_cast<T*>(option));
  });
  info.SetSerializeFunc([text_of](const ConfigOptions& /*config*/,
                                  const std::string& /*name*/,
                                  const void* option, std::string* text) {
    *text = text_of(*static_cast<const T*>(option));
    return Status::OK();
  });
  info.SetEqualsFunc([text_of](const ConfigOptions& /*config*/,
                               const std::string& /*name*/, const void* a,
                               const void* b, std::string* /*mismatch*/) {
    return text_of(*static_cast<const T*>(a)) ==
           text_of(*static_cast<const T*>(b));
  });
  return info;
}

// Describes an option that is a member of `Options`: a number, or a
// MutableOption. `allowed` is a range, or choices.
template <class Options, class Stored, class Allowed>
OptionTypeInfo Described(Stored Options::*member, const Allowed& allowed) {
  using Value = typename Allowed::Value;
  const Options defaults;
  const auto offset = reinterpret_cast<const char*>(&(defaults.*member)) -
                      reinterpret_cast<const char*>(&defaults);
  return TextOption<Stored>(
      static_cast<size_t>(offset),
      std::is_arithmetic_v<Stored> ? OptionTypeFlags::kNone
                                   : OptionTypeFlags::kMutable,
      [allowed](const ConfigOptions& /*config*/, const std::string& /*name*/,
                const std::string& text, Stored* option) {
        Value value = 0;
        const Status s = allowed.Parse(text, &value);
        if (s.ok()) *option = static_cast<Stored>(value);
        return s;
      },
      [allowed](const Stored& option) { return allowed.Text(Value{option}); });
}

// InvalidArgument if `given` has a name that is no option of `object`; the
// message has the nearest one.
Status CheckOptionNames(
    const Customizable& object, const ConfigOptions& config,
    const std::unordered_map<std::string, std::string>& given);

}  // namespace ROCKSDB_NAMESPACE::protean
