// SPDX-License-Identifier: Apache-2.0

#include "plugin/filter_properties.h"

#include <cstdlib>

#include "filter_policy/filter_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// 0 if there is no such property.
uint64_t PropertyCount(const UserCollectedProperties& properties,
                       const char* name) {
  return strtoull(PropertyText(properties, name).c_str(), nullptr, 10);
}

}  // namespace

bool GetFilterProperties(const TableProperties& properties,
                         FilterProperties* filter) {
  const UserCollectedProperties& all = properties.user_collected_properties;
  if (all.count(kKindProperty) == 0) return false;
  *filter = FilterProperties();
  filter->kind = PropertyText(all, kKindProperty);
  filter->design = PropertyText(all, kDesignProperty);
  filter->basis = PropertyText(all, kBasisProperty);
  filter->bits_per_key = PropertyNumber(all, kBitsPerKeyProperty, 0);
  filter->predicted_fpr = PredictedFprOf(all);
  filter->samples = PropertyCount(all, kSamplesProperty);
  filter->model_micros = PropertyCount(all, kModelMicrosProperty);
  return true;
}

Status GetFilterProperties(DB* db, ColumnFamilyHandle* column_family,
                           std::map<std::string, FilterProperties>* files) {
  files->clear();
  TablePropertiesCollection tables;
  const Status s = db->GetPropertiesOfAllTables(column_family, &tables);
  if (!s.ok()) return s;
  for (const auto& [path, properties] : tables) {
    FilterProperties filter;
    if (GetFilterProperties(*properties, &filter)) {
      (*files)[path] = std::move(filter);
    }
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
