#include "filter_policy/filter_properties.h"

#include <cstdio>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string ToText(const char* format, double number) {
  char text[32];
  snprintf(text, sizeof(text), format, number);
  return text;
}

}  // namespace

UserCollectedProperties MakeFilterProperties(const char* kind,
                                             double bits_per_key,
                                             const FilterReport& report) {
  UserCollectedProperties properties;
  properties[kKindProperty] = kind;
  properties[kBitsPerKeyProperty] = ToText("%.2f", bits_per_key);
  if (!report.design.empty()) properties[kDesignProperty] = report.design;
  if (report.basis.empty()) return properties;
  properties[kBasisProperty] = report.basis;
  properties[kSamplesProperty] = std::to_string(report.samples);
  // Always as long: the size of a file does not depend on the clock.
  properties[kModelMicrosProperty] = ToText("%010.0f", report.model_micros);
  if (report.predicted_fpr >= 0) {
    properties[kPredictedFprProperty] = ToText("%.6f", report.predicted_fpr);
  }
  return properties;
}

}  // namespace ROCKSDB_NAMESPACE::protean
