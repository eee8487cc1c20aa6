// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/filter_properties.h"

#include <algorithm>
#include <limits>

#include "filter_policy/option_types.h"

namespace ROCKSDB_NAMESPACE::protean {

UserCollectedProperties MakeFilterProperties(const char* kind,
                                             double bits_per_key,
                                             const FilterReport& report) {
  UserCollectedProperties properties;
  properties[kKindProperty] = kind;
  properties[kBitsPerKeyProperty] = DecimalText(bits_per_key, 2);
  if (!report.design.empty()) properties[kDesignProperty] = report.design;
  if (report.basis.empty()) return properties;
  properties[kBasisProperty] = report.basis;
  properties[kSamplesProperty] = std::to_string(report.samples);
  // Fixed width: the size of a file must not depend on the clock.
  const std::string micros = std::to_string(report.model_micros);
  properties[kModelMicrosProperty] =
      std::string(10 - micros.size(), '0') + micros;
  if (report.predicted_fpr >= 0) {
    properties[kPredictedFprProperty] = DecimalText(report.predicted_fpr, 6);
  }
  if (report.demand.price != kUsualPrice) {
    properties[kPriceProperty] = PriceText(report.demand.price);
  }
  if (report.demand.WasFoundLow()) {
    properties[kQueriesPerKeyProperty] =
        DecimalText(report.demand.queries_per_key, 3);
  }
  return properties;
}

std::string PropertyText(const UserCollectedProperties& properties,
                         const char* name) {
  const auto property = properties.find(name);
  return property == properties.end() ? "" : property->second;
}

double PropertyNumber(const UserCollectedProperties& properties,
                      const char* name, double otherwise) {
  ParseDecimal(PropertyText(properties, name), &otherwise);
  return otherwise;
}

FilterReport ReportOf(const UserCollectedProperties& properties) {
  FilterReport report;
  report.design = PropertyText(properties, kDesignProperty);
  report.basis = PropertyText(properties, kBasisProperty);
  // 0 if there is no such property.
  const auto count = [&properties](const char* name) {
    constexpr double kMost = std::numeric_limits<uint32_t>::max();
    return static_cast<uint32_t>(
        std::min(PropertyNumber(properties, name, 0), kMost));
  };
  report.samples = count(kSamplesProperty);
  report.model_micros = count(kModelMicrosProperty);
  report.predicted_fpr = PredictedFprOf(properties);
  return report;
}

uint64_t PriceOf(const UserCollectedProperties& properties) {
  uint64_t price = kUsualPrice;
  ParsePrice(PropertyText(properties, kPriceProperty), &price);
  return price;
}

double PredictedFprOf(const UserCollectedProperties& properties) {
  return properties.count(kKindProperty) == 0
             ? -1
             : PropertyNumber(properties, kPredictedFprProperty, -1);
}

void AddKeyRange(const Slice& smallest, const Slice& largest,
                 UserCollectedProperties* properties) {
  for (const auto& [name, key] : {std::make_pair(kSmallestProperty, smallest),
                                  {kLargestProperty, largest}}) {
    (*properties)[name] =
        Slice(key.data(), std::min(key.size(), kMaxRangeBytes))
            .ToString(/*hex=*/true);
  }
}

void GetKeyRange(const UserCollectedProperties& properties,
                 std::string* smallest, std::string* largest) {
  std::string range[2];
  if (Slice(PropertyText(properties, kSmallestProperty)).DecodeHex(&range[0]) &&
      Slice(PropertyText(properties, kLargestProperty)).DecodeHex(&range[1])) {
    *smallest = std::move(range[0]);
    *largest = std::move(range[1]);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
