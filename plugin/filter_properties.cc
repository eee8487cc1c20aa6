#include "plugin/filter_properties.h"

#include <algorithm>
#include <cstdlib>

#include "filter_policy/decimal.h"
#include "filter_policy/filter_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string TextOf(const UserCollectedProperties& properties,
                   const char* name) {
  const auto property = properties.find(name);
  return property == properties.end() ? "" : property->second;
}

// `*number` stays as it is if there is no such property.
void ReadNumber(const UserCollectedProperties& properties, const char* name,
                double* number) {
  const std::string text = TextOf(properties, name);
  // Earlier versions wrote the decimal separator of the process's locale.
  std::string decimal = text;
  std::replace(decimal.begin(), decimal.end(), ',', '.');
  ParseDecimal(decimal, number);
}
void ReadNumber(const UserCollectedProperties& properties, const char* name,
                uint64_t* number) {
  const std::string text = TextOf(properties, name);
  if (!text.empty()) *number = strtoull(text.c_str(), nullptr, 10);
}

}  // namespace

bool GetFilterProperties(const TableProperties& properties,
                         FilterProperties* filter) {
  const UserCollectedProperties& all = properties.user_collected_properties;
  if (all.count(kKindProperty) == 0) return false;
  *filter = FilterProperties();
  filter->kind = TextOf(all, kKindProperty);
  filter->design = TextOf(all, kDesignProperty);
  filter->basis = TextOf(all, kBasisProperty);
  ReadNumber(all, kBitsPerKeyProperty, &filter->bits_per_key);
  ReadNumber(all, kPredictedFprProperty, &filter->predicted_fpr);
  ReadNumber(all, kSamplesProperty, &filter->samples);
  ReadNumber(all, kModelMicrosProperty, &filter->model_micros);
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
