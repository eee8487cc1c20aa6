// SPDX-License-Identifier: Apache-2.0

//  What plugin/refresh_filters.h declares. How the files are chosen is in
//  redesign.cc and refresh_run.cc.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <variant>

#include "filter_policy/option_types.h"
#include "filter_policy/samples/query_file.h"
#include "plugin/facts.h"
#include "plugin/refresh_filters.h"
#include "plugin/refresh_run.h"
#include "plugin/request_server.h"
#include "rocksdb/convenience.h"
#include "table/protean_table_factory.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Options ----

using Options = RefreshOptions;
using Levels = std::vector<int>;
using Bound = std::optional<std::string>;

// Reads the value of an option from a text. False for texts that are none.
template <typename Value>
bool Parse(const std::string& text, Value* value) {
  if constexpr (std::is_same_v<Value, Levels>) {
    constexpr size_t kMaxDigits = 3;
    value->clear();
    for (const std::string& level : StringSplit(text, ',')) {
      if (level.empty() || level.size() > kMaxDigits ||
          level.find_first_not_of("0123456789") != std::string::npos) {
        return false;
      }
      value->push_back(std::stoi(level));
    }
    return text.empty() || text.back() != ',';
  } else if constexpr (std::is_same_v<Value, Bound>) {
    value->reset();
    return text.empty() || ParseKey(text, &value->emplace());
  } else if constexpr (std::is_same_v<Value, bool>) {
    return ParseBoolean(text, value);
  } else if constexpr (std::is_same_v<Value, double>) {
    return ParseDecimal(text, value);
  } else {
    uint64_t parsed = 0;
    const bool is_one = ParseWholeNumber(text, &parsed);
    *value = static_cast<Value>(parsed);
    return is_one && *value == parsed;
  }
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

// ---- Refreshing ----

const char* ToString(RefreshOutcome outcome) {
  // In the order of the outcomes.
  constexpr const char* kNames[] = {"rewritten",       "would be rewritten",
                                    "not asked",       "too little gain",
                                    "unfiltered",      "limit reached",
                                    "being compacted", "gone",
                                    "damaged",         "failed",
                                    "not reached",     "has RocksDB's filter",
                                    "not selected"};
  const auto i = static_cast<size_t>(outcome);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

Status RefreshFilters(DB* db, ColumnFamilyHandle* column_family,
                      const RefreshOptions& options, RefreshResult* result) {
  *result = RefreshResult();
  const Status valid = options.Validate();
  if (!valid.ok()) return valid;
  RefreshRun run(db, column_family, options, result);
  Status s = RequireProteanTable(
      "RefreshFilters", "the column family " + column_family->GetName(),
      run.family_options.table_factory.get());
  if (s.ok()) {
    s = OwnPolicyOf(run.family_options) != nullptr ? RedesignFilters(&run)
                                                   : ReplaceFilters(&run);
  }
  run.failed = !s.ok() && !s.IsIncomplete();
  return s;
}

// Refreshes in one thread: after each period, and when a request asks.
class FilterRefresher::Thread {
 public:
  // A limit long enough for everyone, and far from where nanoseconds overflow.
  static constexpr uint64_t kMaxSeconds = uint64_t{100} * 365 * 24 * 60 * 60;

  Thread(DB* db, ColumnFamilyHandle* column_family,
         const RefreshOptions& options, uint64_t period_seconds, Report report,
         const std::string& socket)
      : db_(db),
        served_{column_family, options,
                [this](const RefreshOptions& asked, const Report& ended) {
                  return Begin(asked, ended);
                }},
        report_(std::move(report)),
        period_(std::clamp<uint64_t>(period_seconds, 1, kMaxSeconds)),
        socket_status_(socket.empty() ? Status::OK()
                                      : Serve(db, socket, &served_, &server_)),
        thread_([this] { Loop(); }) {}

  ~Thread() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
    if (server_ != nullptr) EndServing(&served_, &server_);
  }

  Status socket_status() const { return socket_status_; }

 private:
  // A refresh that was asked for.
  struct Asked {
    RefreshOptions options;
    Report ended;
  };

  bool Begin(const RefreshOptions& options, const Report& ended) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (refreshing_ || asked_.has_value() || ending_) return false;
      asked_.emplace(Asked{options, ended});
    }
    wake_.notify_all();
    return true;
  }

  void Loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ending_ || asked_.has_value()) {
      wake_.wait_for(lock, std::chrono::seconds(period_),
                     [this] { return ending_ || asked_.has_value(); });
      if (ending_ && !asked_.has_value()) return;
      const Asked now = asked_.value_or(Asked{served_.options, nullptr});
      asked_.reset();
      refreshing_ = true;
      lock.unlock();
      Refresh(now);
      lock.lock();
      refreshing_ = false;
    }
  }

  void Refresh(const Asked& asked) {
    RefreshOptions options = asked.options;
    options.progress = [this, &asked](const RefreshProgress& progress) {
      return !ending_ &&
             (!asked.options.progress || asked.options.progress(progress)) &&
             (!asked.ended || !served_.options.progress ||
              served_.options.progress(progress));
    };
    RefreshResult result;
    const Status s =
        RefreshFilters(db_, served_.column_family, options, &result);
    if (asked.ended) asked.ended(s, result);
    if (report_) report_(s, result);
  }

  DB* const db_;
  const ServedFamily served_;
  const Report report_;
  const uint64_t period_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> ending_{false};
  bool refreshing_ = false;
  std::optional<Asked> asked_;
  std::shared_ptr<RequestServer> server_;  // nullptr for none
  const Status socket_status_;
  std::thread thread_;  // last, so that all else is there when it begins
};

FilterRefresher::FilterRefresher(DB* db, ColumnFamilyHandle* column_family,
                                 const RefreshOptions& options,
                                 uint64_t period_seconds, Report report,
                                 const std::string& socket)
    : thread_(std::make_unique<Thread>(db, column_family, options,
                                       period_seconds, std::move(report),
                                       socket)) {}

FilterRefresher::~FilterRefresher() = default;

Status FilterRefresher::socket_status() const {
  return thread_->socket_status();
}

}  // namespace ROCKSDB_NAMESPACE::protean
