// SPDX-License-Identifier: Apache-2.0

//  The options and the result of RefreshFilters (refresh_filters.h), declared
//  once: names, texts, limits.

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <variant>

#include "filter_policy/option_types.h"
#include "filter_policy/samples/query_file.h"
#include "plugin/facts.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/convenience.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Options ----

using Options = RefreshOptions;
using Levels = std::vector<int>;
using Bound = std::optional<std::string>;

// The values of options as texts. The functions Parse return false for texts
// that are none.

bool Parse(const std::string& text, Levels* levels) {
  constexpr size_t kMaxDigits = 3;
  levels->clear();
  for (const std::string& level : StringSplit(text, ',')) {
    if (level.empty() || level.size() > kMaxDigits ||
        level.find_first_not_of("0123456789") != std::string::npos) {
      return false;
    }
    levels->push_back(std::stoi(level));
  }
  return text.empty() || text.back() != ',';
}
bool Parse(const std::string& text, bool* flag) {
  return ParseBoolean(text, flag);
}
bool Parse(const std::string& text, Bound* key) {
  key->reset();
  return text.empty() || ParseKey(text, &key->emplace());
}
bool Parse(const std::string& text, double* number) {
  return ParseDecimal(text, number);
}
template <typename Whole>
bool Parse(const std::string& text, Whole* number) {
  uint64_t parsed = 0;
  const bool is_one = ParseWholeNumber(text, &parsed);
  *number = static_cast<Whole>(parsed);
  return is_one && *number == parsed;
}

struct RefreshOption {
  const char* name;
  const char* allowed;
  std::variant<bool Options::*, Levels Options::*, Bound Options::*,
               uint32_t Options::*, uint64_t Options::*, double Options::*>
      member;
  // The limits of a number, which a long double holds exactly.
  long double min = 0;
  long double max = std::numeric_limits<uint64_t>::max();
  int digits = 6;  // that are printed of a fraction
};

constexpr char kFlags[] = "true or false";
constexpr char kKeys[] =
    "keys as text, or 0x and pairs of hexadecimal digits; nothing for none";

const RefreshOption kOptions[] = {
    {"dry_run", kFlags, &Options::dry_run},
    {"levels", "numbers of levels, such as 0,1,6; nothing for all levels",
     &Options::levels},
    {"start", kKeys, &Options::start},
    {"limit", kKeys, &Options::limit},
    {"max_parallel_rewrites", "whole numbers from 1 to 1024",
     &Options::max_parallel_rewrites, 1, Options::kMaxParallelRewrites},
    {"all_files", kFlags, &Options::all_files},
    {"max_bytes", "whole numbers, such as 1000, 64K, 20M or 2G",
     &Options::max_bytes},
    // RocksDB's rate limiter takes no more.
    {"bytes_per_second",
     "whole numbers, such as 1000, 64K, 20M or 2G; 0 for no limit",
     &Options::bytes_per_second, 0, std::numeric_limits<int64_t>::max()},
    {"min_gain", "numbers from 0 to 1", &Options::min_gain, 0, 1},
    {"payback_seconds", "numbers from 0 to a century's 3153600000",
     &Options::payback_seconds, 0, Options::kMaxPaybackSeconds, 3},
};

bool IsAllowed(const RefreshOption& option, const Options& options) {
  return std::visit(
      [&](auto member) {
        const auto& value = options.*member;
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Levels>) {
          return std::all_of(value.begin(), value.end(),
                             [](int level) { return level >= 0; });
        } else if constexpr (std::is_arithmetic_v<Value>) {
          return value >= option.min && value <= option.max;
        } else {
          return true;
        }
      },
      option.member);
}

std::string Print(const RefreshOption& option, const Options& options) {
  return std::visit(
      [&](auto member) -> std::string {
        const auto& value = options.*member;
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, bool>) {
          return value ? "true" : "false";
        } else if constexpr (std::is_same_v<Value, Levels>) {
          return LevelsText(value);
        } else if constexpr (std::is_same_v<Value, Bound>) {
          return value ? "0x" + Slice(*value).ToString(/*hex=*/true) : "";
        } else if constexpr (std::is_same_v<Value, double>) {
          return DecimalText(value, option.digits);
        } else {
          return std::to_string(value);
        }
      },
      option.member);
}

Status Refuse(const RefreshOption& option, const std::string& text) {
  return Status::InvalidArgument(std::string("RefreshOptions: ") + option.name +
                                 "=" + text +
                                 " is not allowed; allowed: " + option.allowed);
}

Record RecordOf(const RefreshedFile& file) {
  Record record;
  record.Add("name", file.name);
  record.Add("level", file.level);
  record.Add("bytes", file.bytes);
  record.Add("entries", file.entries);
  record.Add("outcome", std::string(ToString(file.outcome)));
  record.Add("status", file.status.ok() ? "" : file.status.ToString());
  record.Add("queries", file.queries);
  record.Add("old_design", file.old_design);
  record.Add("new_design", file.new_design);
  record.Add("old_fpr", file.old_fpr);
  record.Add("new_fpr", file.new_fpr);
  record.Add("asked_per_second", file.asked_per_second);
  record.Add("saved_reads_per_second", file.saved_reads_per_second);
  return record;
}

}  // namespace

Status RefreshOptions::Set(const std::string& name, const std::string& value) {
  std::string names;
  for (const RefreshOption& option : kOptions) {
    names += (names.empty() ? "" : ", ") + std::string(option.name);
    if (option.name != name) continue;
    RefreshOptions changed = *this;
    const bool is_parsed = std::visit(
        [&](auto member) { return protean::Parse(value, &(changed.*member)); },
        option.member);
    if (!is_parsed || !IsAllowed(option, changed)) return Refuse(option, value);
    *this = std::move(changed);
    return Status::OK();
  }
  return Status::InvalidArgument("RefreshOptions: " + name +
                                 " is not allowed; allowed: " + names);
}

Status RefreshOptions::Parse(const std::string& text) {
  std::unordered_map<std::string, std::string> values;
  Status s = StringToMap(text, &values);
  RefreshOptions changed = *this;
  for (const auto& [name, value] : values) {
    if (s.ok()) s = changed.Set(name, value);
  }
  if (s.ok()) *this = std::move(changed);
  return s;
}

std::string RefreshOptions::ToString() const {
  std::string text;
  for (const RefreshOption& option : kOptions) {
    text += (text.empty() ? "" : ";") + std::string(option.name) + "=" +
            Print(option, *this);
  }
  return text;
}

Status RefreshOptions::Validate() const {
  for (const RefreshOption& option : kOptions) {
    if (!IsAllowed(option, *this)) {
      return Refuse(option, Print(option, *this));
    }
  }
  return Status::OK();
}

// ---- Results ----

Record RecordOf(const RefreshProgress& progress) {
  Record record;
  record.Add("files", progress.files);
  record.Add("files_decided", progress.files_decided);
  record.Add("bytes", progress.bytes);
  record.Add("bytes_decided", progress.bytes_decided);
  record.Add("bytes_read", progress.bytes_read);
  record.Add("bytes_rewritten", progress.bytes_rewritten);
  return record;
}

Record RecordOf(const RefreshResult& result) {
  Record record;
  record.Add("samples", result.samples);
  record.Add("rate_known", result.rate_known);
  record.Add("bytes_read", result.bytes_read);
  record.Add("files_rewritten", result.files_rewritten);
  record.Add("bytes_rewritten", result.bytes_rewritten);
  record.Add("saved_reads_per_second", result.saved_reads_per_second);
  std::vector<Record> files;
  for (const RefreshedFile& file : result.files) {
    files.push_back(RecordOf(file));
  }
  record.AddList("files", std::move(files));
  return record;
}

std::string RefreshResult::ToJson() const { return RecordOf(*this).ToJson(); }

}  // namespace ROCKSDB_NAMESPACE::protean
