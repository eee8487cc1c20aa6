// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/protean_filter_policy.h"

#include "filter_policy/filter_bits_builder.h"
#include "rocksdb/db.h"

namespace ROCKSDB_NAMESPACE::protean {

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
  return FilterPolicy::ValidateOptions(db_opts, cf_opts);
}

FilterBitsBuilder* RangeFilterPolicy::NewBuilder(
    const FilterBuildingContext& context, Env* env,
    std::shared_ptr<UserCollectedProperties> properties) const {
  return NewFilterBitsBuilder(kind(), NewRangeFilterBuilders(context, env),
                              context, std::move(properties))
      .release();
}

}  // namespace ROCKSDB_NAMESPACE::protean
