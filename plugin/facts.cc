// SPDX-License-Identifier: Apache-2.0

#include "plugin/facts.h"

#include <algorithm>
#include <cstdio>

#include "filter_policy/option_types.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Utf8 text ----

std::string Utf8Text(const std::string& text) {
  constexpr char kReplacement[] = "\xef\xbf\xbd";
  // The size of the character at `i` in bytes, or 0 if there is none.
  const auto size_at = [&text](size_t i) -> size_t {
    const auto byte = [&](size_t at) {
      return at < text.size() ? static_cast<uint8_t>(text[at]) : 0;
    };
    const unsigned first = byte(i);
    if (first < 0x80) return 1;
    const size_t size = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
    for (size_t j = 1; j < size; j++) {
      if (byte(i + j) >> 6 != 2) return 0;
    }
    // Rules out overlong forms, surrogates, and numbers beyond the last
    // character.
    const unsigned second = byte(i + 1);
    const bool wrong =
        (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
    return wrong ? 0 : size;
  };
  std::string valid;
  for (size_t i = 0; i < text.size();) {
    const size_t size = size_at(i);
    if (size == 0) {
      valid += kReplacement;
      i++;
    } else {
      valid.append(text, i, size);
      i += size;
    }
  }
  return valid;
}

std::string JsonText(const std::string& text) {
  std::string escaped;
  for (const char c : Utf8Text(text)) {
    if (static_cast<uint8_t>(c) < 0x20) {
      char code[8];
      snprintf(code, sizeof(code), "\\u%04x", c);
      escaped += code;
    } else {
      if (c == '"' || c == '\\') escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

// ---- Facts ----

namespace {

// Enough for any rate.
constexpr int kDigits = 6;

std::string Quoted(const std::string& text) {
  return '"' + JsonText(text) + '"';
}

void BeginMember(const std::string& name, std::string* json) {
  if (json->back() != '{') *json += ", ";
  *json += Quoted(name) + ": ";
}

}  // namespace

std::string TextOf(const FactValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "1" : "0";
  if (const auto* count = std::get_if<uint64_t>(&value)) {
    return std::to_string(*count);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return DecimalText(*number, kDigits);
  }
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "-" : *text;
}

std::optional<double> NumberOf(const FactValue& value) {
  if (const auto* count = std::get_if<uint64_t>(&value)) {
    return static_cast<double>(*count);
  }
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? std::nullopt : std::optional<double>(*number);
}

std::string JsonOf(const FactValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return "null";
  if (const auto* text = std::get_if<std::string>(&value)) {
    return Quoted(*text);
  }
  if (const auto* flag = std::get_if<bool>(&value)) {
    return *flag ? "true" : "false";
  }
  return TextOf(value);
}

const FactValue* Record::Find(const std::string& name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) return &value;
  }
  return nullptr;
}

const std::vector<Record>& Record::List(const std::string& name) const {
  static const auto& none = *new std::vector<Record>;
  for (const auto& [known, records] : lists_) {
    if (known == name) return records;
  }
  return none;
}

void Record::AppendJson(std::string* json) const {
  *json += '{';
  std::vector<std::string> open;  // the objects that the last value is in
  for (const auto& [name, value] : values_) {
    std::vector<std::string> objects = StringSplit(name, '.');
    const std::string member = objects.back();
    objects.pop_back();
    const auto shared = static_cast<size_t>(
        std::mismatch(open.begin(), open.end(), objects.begin(), objects.end())
            .first -
        open.begin());
    json->append(open.size() - shared, '}');
    for (size_t i = shared; i < objects.size(); i++) {
      BeginMember(objects[i], json);
      *json += '{';
    }
    BeginMember(member, json);
    *json += JsonOf(value);
    open = std::move(objects);
  }
  json->append(open.size(), '}');
  for (const auto& [name, records] : lists_) {
    BeginMember(name, json);
    *json += '[';
    for (const Record& record : records) {
      if (json->back() != '[') *json += ", ";
      record.AppendJson(json);
    }
    *json += ']';
  }
  *json += '}';
}

std::string Record::ToJson() const {
  std::string json;
  AppendJson(&json);
  return json;
}

}  // namespace ROCKSDB_NAMESPACE::protean
