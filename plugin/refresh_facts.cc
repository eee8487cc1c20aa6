// SPDX-License-Identifier: Apache-2.0

//  The options and the result of RefreshFilters (refresh_filters.h), declared
//  once: names, texts, limits.

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "filter_policy/option_types.h"
#include "filter_policy/samples/query_file.h"
#include "plugin/facts.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/convenience.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Options ----

struct RefreshOption {
  const char* name;
  const char* allowed;
  // Returns whether the text is one of the option's.
  bool (*parse)(const std::string& text, RefreshOptions* options);
  std::string (*print)(const RefreshOptions& options);
  bool (*is_allowed)(const RefreshOptions& options);
};

// Appends the level that is given by one to three digits. Returns false for any
// other text.
bool AddLevel(const std::string& text, std::vector<int>* levels) {
  constexpr size_t kMaxDigits = 3;
  if (text.empty() || text.size() > kMaxDigits ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  levels->push_back(std::stoi(text));
  return true;
}

bool ParseLevels(const std::string& text, std::vector<int>* levels) {
  levels->clear();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (!AddLevel(text.substr(begin, end - begin), levels)) return false;
    begin = end + 1;
  }
  return text.empty() || text.back() != ',';
}

constexpr char kKeys[] =
    "keys as text, or 0x and pairs of hexadecimal digits; nothing for none";

bool ParseBound(const std::string& text, std::optional<std::string>* key) {
  key->reset();
  return text.empty() || ParseKey(text, &key->emplace());
}

std::string KeyText(const std::optional<std::string>& key) {
  return key ? "0x" + Slice(*key).ToString(/*hex=*/true) : "";
}

std::string FlagText(bool flag) { return flag ? "true" : "false"; }

using Options = RefreshOptions;

bool IsAlwaysAllowed(const Options& /*options*/) { return true; }

const RefreshOption kOptions[] = {
    {"dry_run", "true or false",
     [](const std::string& text, Options* options) {
       return ParseBoolean(text, &options->dry_run);
     },
     [](const Options& options) { return FlagText(options.dry_run); },
     IsAlwaysAllowed},
    {"levels", "numbers of levels, such as 0,1,6; nothing for all levels",
     [](const std::string& text, Options* options) {
       return ParseLevels(text, &options->levels);
     },
     [](const Options& options) { return LevelsText(options.levels); },
     [](const Options& options) {
       return std::all_of(options.levels.begin(), options.levels.end(),
                          [](int level) { return level >= 0; });
     }},
    {"start", kKeys,
     [](const std::string& text, Options* options) {
       return ParseBound(text, &options->start);
     },
     [](const Options& options) { return KeyText(options.start); },
     IsAlwaysAllowed},
    {"limit", kKeys,
     [](const std::string& text, Options* options) {
       return ParseBound(text, &options->limit);
     },
     [](const Options& options) { return KeyText(options.limit); },
     IsAlwaysAllowed},
    {"max_parallel_rewrites", "whole numbers from 1 to 1024",
     [](const std::string& text, Options* options) {
       uint64_t number = 0;
       const bool parsed = ParseWholeNumber(text, &number);
       options->max_parallel_rewrites = static_cast<uint32_t>(
           std::min<uint64_t>(number, Options::kMaxParallelRewrites + 1));
       return parsed;
     },
     [](const Options& options) {
       return std::to_string(options.max_parallel_rewrites);
     },
     [](const Options& options) {
       return options.max_parallel_rewrites >= 1 &&
              options.max_parallel_rewrites <= Options::kMaxParallelRewrites;
     }},
    {"all_files", "true or false",
     [](const std::string& text, Options* options) {
       return ParseBoolean(text, &options->all_files);
     },
     [](const Options& options) { return FlagText(options.all_files); },
     IsAlwaysAllowed},
    {"max_bytes", "whole numbers, such as 1000, 64K, 20M or 2G",
     [](const std::string& text, Options* options) {
       return ParseWholeNumber(text, &options->max_bytes);
     },
     [](const Options& options) { return std::to_string(options.max_bytes); },
     IsAlwaysAllowed},
    {"bytes_per_second",
     "whole numbers, such as 1000, 64K, 20M or 2G; 0 for no limit",
     [](const std::string& text, Options* options) {
       return ParseWholeNumber(text, &options->bytes_per_second);
     },
     [](const Options& options) {
       return std::to_string(options.bytes_per_second);
     },
     [](const Options& options) {
       // More than RocksDB's rate limiter takes.
       return options.bytes_per_second <=
              static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
     }},
    {"min_gain", "numbers from 0 to 1",
     [](const std::string& text, Options* options) {
       return ParseDecimal(text, &options->min_gain);
     },
     [](const Options& options) { return DecimalText(options.min_gain, 6); },
     [](const Options& options) {
       return options.min_gain >= 0 && options.min_gain <= 1;
     }},
    {"payback_seconds", "numbers from 0 to a century's 3153600000",
     [](const std::string& text, Options* options) {
       return ParseDecimal(text, &options->payback_seconds);
     },
     [](const Options& options) {
       return DecimalText(options.payback_seconds, 3);
     },
     [](const Options& options) {
       return options.payback_seconds >= 0 &&
              options.payback_seconds <= Options::kMaxPaybackSeconds;
     }},
};

Status Refuse(const RefreshOption& option, const std::string& text) {
  return Status::InvalidArgument(std::string("RefreshOptions: ") + option.name +
                                 "=" + text +
                                 " is not allowed; allowed: " + option.allowed);
}

Status ParseOption(const RefreshOption& option, const std::string& text,
                   RefreshOptions* options) {
  RefreshOptions changed = *options;
  if (!option.parse(text, &changed) || !option.is_allowed(changed)) {
    return Refuse(option, text);
  }
  *options = std::move(changed);
  return Status::OK();
}

// ---- Results ----

constexpr FactType kGauge = FactType::kGauge;
constexpr FactType kText = FactType::kText;

const Facts<RefreshProgress>& ProgressFacts() {
  using Of = RefreshProgress;
  static const auto& facts = *new Facts<Of>{
      {"files", kGauge, "Files of the column family.",
       [](const Of& of) { return uint64_t{of.files}; }},
      {"files_decided", kGauge, "Files whose outcome is known.",
       [](const Of& of) { return uint64_t{of.files_decided}; }},
      {"bytes", kGauge, "Bytes of all files.",
       [](const Of& of) { return of.bytes; }},
      {"bytes_decided", kGauge, "Bytes of the files whose outcome is known.",
       [](const Of& of) { return of.bytes_decided; }},
      {"bytes_read", kGauge, "Bytes read from files to learn their keys.",
       [](const Of& of) { return of.bytes_read; }},
      {"bytes_rewritten", kGauge, "Bytes of the files that were rewritten.",
       [](const Of& of) { return of.bytes_rewritten; }},
  };
  return facts;
}

const Facts<RefreshedFile>& FileFacts() {
  using Of = RefreshedFile;
  static const auto& facts = *new Facts<Of>{
      {"name", kText, "The file.", [](const Of& of) { return of.name; }},
      {"level", kGauge, "Its level.",
       [](const Of& of) { return static_cast<uint64_t>(of.level); }},
      {"bytes", kGauge, "Its size.", [](const Of& of) { return of.bytes; }},
      {"entries", kGauge, "Its entries.",
       [](const Of& of) { return of.entries; }},
      {"outcome", kText, "What became of it.",
       [](const Of& of) { return std::string(ToString(of.outcome)); }},
      {"status", kText, "Why it was not read or not rewritten.",
       [](const Of& of) {
         return of.status.ok() ? std::string() : of.status.ToString();
       }},
      {"queries", kGauge, "Sample queries that its filter decides.",
       [](const Of& of) { return of.queries; }},
      {"old_design", kText, "The design of its filter.",
       [](const Of& of) { return of.old_design; }},
      {"new_design", kText, "The design of a new filter.",
       [](const Of& of) { return of.new_design; }},
      {"old_fpr", kGauge, "The false positive rate of its filter.",
       [](const Of& of) { return KnownRate(of.old_fpr); }},
      {"new_fpr", kGauge, "The false positive rate of a new filter.",
       [](const Of& of) { return KnownRate(of.new_fpr); }},
      {"asked_per_second", kGauge, "Queries that its filter should deny.",
       [](const Of& of) { return KnownRate(of.asked_per_second); }},
      {"saved_reads_per_second", kGauge,
       "Reads of a block that a new filter saves.",
       [](const Of& of) { return KnownRate(of.saved_reads_per_second); }},
  };
  return facts;
}

const Facts<RefreshResult>& ResultFacts() {
  using Of = RefreshResult;
  static const auto& facts = *new Facts<Of>{
      {"samples", kGauge, "Sample queries.",
       [](const Of& of) { return of.samples; }},
      {"rate_known", kGauge, "Whether rates per second are known.",
       [](const Of& of) { return of.rate_known; }},
      {"bytes_read", kGauge, "Bytes read from files to learn their keys.",
       [](const Of& of) { return of.bytes_read; }},
      {"files_rewritten", kGauge, "Files that were rewritten, or would be.",
       [](const Of& of) { return of.files_rewritten; }},
      {"bytes_rewritten", kGauge, "Bytes of these files.",
       [](const Of& of) { return of.bytes_rewritten; }},
      {"saved_reads_per_second", kGauge,
       "Reads of a block that new filters of these files save.",
       [](const Of& of) { return KnownRate(of.saved_reads_per_second); }},
  };
  return facts;
}

}  // namespace

Status RefreshOptions::Set(const std::string& name, const std::string& value) {
  for (const RefreshOption& option : kOptions) {
    if (option.name == name) return ParseOption(option, value, this);
  }
  std::string names;
  for (const RefreshOption& option : kOptions) {
    names += (names.empty() ? "" : ", ") + std::string(option.name);
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
            option.print(*this);
  }
  return text;
}

Status RefreshOptions::Validate() const {
  for (const RefreshOption& option : kOptions) {
    if (!option.is_allowed(*this)) return Refuse(option, option.print(*this));
  }
  return Status::OK();
}

Record RecordOf(const RefreshProgress& progress) {
  return {ProgressFacts(), progress};
}

Record RecordOf(const RefreshResult& result) {
  Record record(ResultFacts(), result);
  std::vector<Record> files;
  for (const RefreshedFile& file : result.files) {
    files.emplace_back(FileFacts(), file);
  }
  record.AddList("files", std::move(files));
  return record;
}

std::string RefreshResult::ToJson() const { return RecordOf(*this).ToJson(); }

}  // namespace ROCKSDB_NAMESPACE::protean
