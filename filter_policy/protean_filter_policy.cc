// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/protean_filter_policy.h"

#include <cinttypes>
#include <cstdio>

#include "filter_policy/option_types.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

const std::string& ColumnFamilyOf(const FilterBuildingContext& context) {
  return context.column_family_name.empty() ? kDefaultColumnFamilyName
                                            : context.column_family_name;
}

FilterBitsBuilder* ProteanFilterPolicy::GetBuilderWithContext(
    const FilterBuildingContext& context) const {
  if (context.info_log != nullptr &&
      !has_warned_.exchange(true, std::memory_order_relaxed)) {
    Log(InfoLogLevel::WARN_LEVEL, context.info_log,
        "Protean: the table factory of column family %s is not ProteanTable, "
        "so Get asks the filters, but Seek and Next do not; set "
        "table_factory={id=ProteanTable;...} for them",
        ColumnFamilyOf(context).c_str());
  }
  return NewBuilder(context, Env::Default(), kUsualPrice, /*built=*/nullptr);
}

Status ProteanFilterPolicy::ValidateOptions(
    const DBOptions& db_opts, const ColumnFamilyOptions& cf_opts) const {
  if (const std::shared_ptr<SampleStore> samples = Samples()) {
    const Status s = samples->Validate(db_opts.env);
    if (!s.ok()) return s;
  }
  return FilterPolicy::ValidateOptions(db_opts, cf_opts);
}

Status ProteanFilterPolicy::ConfigureOptions(
    const ConfigOptions& config,
    const std::unordered_map<std::string, std::string>& options,
    std::unordered_map<std::string, std::string>* unused) {
  if (!config.ignore_unknown_options && unused == nullptr) {
    const Status s = CheckOptionNames(*this, config, options);
    if (!s.ok()) return s;
  }
  return FilterPolicy::ConfigureOptions(config, options, unused);
}

std::string ProteanFilterPolicy::DesignOptions() const {
  return ToString(ConfigOptions());
}

FilterBitsBuilder* ProteanFilterPolicy::NewBuilder(
    const FilterBuildingContext& context, Env* env, uint64_t price,
    std::shared_ptr<FinishedFilter> built) const {
  FileBuilders builders = NewFileBuilders(context, env, price);
  return builders.make == nullptr
             ? nullptr
             : new FileFilterBuilder(std::move(builders), context,
                                     std::move(built));
}

std::string HashOfOptions(const ProteanFilterPolicy& policy, uint64_t seed) {
  const std::string options = policy.DesignOptions();
  char text[17];
  snprintf(text, sizeof(text), "%016" PRIx64,
           Hash64(options.data(), options.size(), seed));
  return text;
}

std::string DesignInputsHash(const ProteanFilterPolicy& policy,
                             const std::string& column_family, Env* env,
                             Logger* logger) {
  const std::shared_ptr<SampleStore> store = policy.Samples();
  return HashOfOptions(
      policy, store == nullptr
                  ? 0
                  : store->Queue(column_family, env, logger)->Fingerprint());
}

}  // namespace ROCKSDB_NAMESPACE::protean
