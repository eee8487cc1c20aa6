#include "filter_policy/filter_properties.h"

#include <cinttypes>
#include <cstdio>

#include "filter_policy/decimal.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Fixed width: the size of a file must not depend on the clock.
std::string MicrosText(uint32_t micros) {
  char text[16];
  snprintf(text, sizeof(text), "%010" PRIu32, micros);
  return text;
}

}  // namespace

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
  properties[kModelMicrosProperty] = MicrosText(report.model_micros);
  if (report.predicted_fpr >= 0) {
    properties[kPredictedFprProperty] = DecimalText(report.predicted_fpr, 6);
  }
  return properties;
}

}  // namespace ROCKSDB_NAMESPACE::protean
