// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/building/file_report.h"

#include <algorithm>

#include "filter_policy/filter_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

void FileReport::Add(FilterKind kind, uint64_t keys, uint64_t bytes,
                     const FilterReport& report) {
  keys_ += keys;
  bytes_ += bytes;
  model_micros_ += report.model_micros;
  if (report.predicted_fpr >= 0) {
    predicted_ += report.predicted_fpr * static_cast<double>(keys);
    predicted_keys_ += keys;
  }
  for (Design& design : designs_) {
    if (design.report.design != report.design || design.kind != kind) continue;
    design.keys += keys;
    return;
  }
  designs_.push_back({report, kind, keys});
}

void FileReport::Replace(FilterKind kind, uint64_t keys, uint64_t bytes,
                         const FilterReport& report) {
  *this = FileReport();
  Add(kind, keys, bytes, report);
}

UserCollectedProperties FileReport::Properties() const {
  const auto most = std::max_element(
      designs_.begin(), designs_.end(),
      [](const Design& a, const Design& b) { return a.keys < b.keys; });
  FilterReport report = most->report;
  report.model_micros = model_micros_;
  if (predicted_keys_ > 0) {
    report.predicted_fpr = predicted_ / static_cast<double>(predicted_keys_);
  }
  if (designs_.size() > 1) {
    report.design += " and " + std::to_string(designs_.size() - 1) + " more";
  }
  return MakeFilterProperties(
      FindFilterType(most->kind)->name,
      8.0 * static_cast<double>(bytes_) /
          static_cast<double>(std::max<uint64_t>(keys_, 1)),
      report);
}

}  // namespace ROCKSDB_NAMESPACE::protean
