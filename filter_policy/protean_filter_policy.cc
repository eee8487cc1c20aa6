// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/protean_filter_policy.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <unordered_set>

#include "filter_policy/option_types.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Writes a line to each log once, as far as the last logs tell.
class LogOnce {
 public:
  void Warn(Logger* log, const std::string& line) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (std::count(std::begin(logs_), std::end(logs_), log) > 0) return;
      logs_[next_++ % kLogs] = log;
    }
    Log(InfoLogLevel::WARN_LEVEL, log, "%s", line.c_str());
  }

 private:
  static constexpr size_t kLogs = 16;
  std::mutex mutex_;
  Logger* logs_[kLogs] = {};
  size_t next_ = 0;
};

std::string HashText(const ProteanFilterPolicy& policy, uint64_t samples) {
  const std::string options = policy.DesignOptions();
  char text[17];
  snprintf(text, sizeof(text), "%016" PRIx64,
           Hash64(options.data(), options.size(), samples));
  return text;
}

// RocksDB validates options when a column family is opened and whenever
// SetOptions changes one: each line is logged once for a log.
void WarnOfHalf(const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) {
  Logger* const log = db_opts.info_log.get();
  const TableFactory* const table = cf_opts.table_factory.get();
  if (log == nullptr || table == nullptr) return;
  if (!table->IsInstanceOf("ProteanTable")) {
    static LogOnce once;
    once.Warn(log, std::string("Protean: the table factory is ") +
                       table->Name() +
                       ", so Get asks the filters, but Seek and Next do not; "
                       "set table_factory={id=ProteanTable;...} for them");
  }
  if (cf_opts.optimize_filters_for_hits) {
    static LogOnce once;
    once.Warn(log,
              "Protean: optimize_filters_for_hits=true leaves the files of the "
              "last level without filters, so seeks read all of them; set it "
              "to false unless nearly all reads find something");
  }
}

}  // namespace

const std::string& ColumnFamilyOf(const FilterBuildingContext& context) {
  return context.column_family_name.empty() ? kDefaultColumnFamilyName
                                            : context.column_family_name;
}

Status ProteanFilterPolicy::ValidateOptions(
    const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) const {
  if (const std::shared_ptr<SampleStore> samples = Samples()) {
    const Status s = samples->Validate(db_opts.env);
    if (!s.ok()) return s;
  }
  WarnOfHalf(db_opts, cf_opts);
  return FilterPolicy::ValidateOptions(db_opts, cf_opts);
}

Status ProteanFilterPolicy::ConfigureOptions(
    const ConfigOptions& config,
    const std::unordered_map<std::string, std::string>& options,
    std::unordered_map<std::string, std::string>* unused) {
  if (!config.ignore_unknown_options && unused == nullptr) {
    std::unordered_set<std::string> names;
    Status s = GetOptionNames(config, &names);
    if (s.ok()) {
      std::vector<std::string> sorted(names.begin(), names.end());
      std::sort(sorted.begin(), sorted.end());
      s = CheckOptionNames(Name(), options, sorted);
    }
    if (!s.ok()) return s;
  }
  return FilterPolicy::ConfigureOptions(config, options, unused);
}

std::string ProteanFilterPolicy::DesignOptions() const {
  return ToString(ConfigOptions());
}

FilterBitsBuilder* RangeFilterPolicy::NewBuilder(
    const FilterBuildingContext& context, Env* env, uint64_t price,
    std::shared_ptr<FinishedFilter> built) const {
  return new FileFilterBuilder(kind(), NewFileBuilders(context, env, price),
                               context, std::move(built));
}

std::string HashOfOptions(const ProteanFilterPolicy& policy) {
  return HashText(policy, /*samples=*/0);
}

std::string PurposeOf(const ProteanFilterPolicy& policy,
                      const std::string& column_family, Env* env,
                      Logger* logger) {
  const std::shared_ptr<SampleStore> store = policy.Samples();
  return HashText(
      policy, store == nullptr
                  ? 0
                  : store->Queue(column_family, env, logger)->Fingerprint());
}

}  // namespace ROCKSDB_NAMESPACE::protean
