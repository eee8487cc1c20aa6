// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/building/file_filter_builder.h"

#include "filter_policy/decimal.h"
#include "filter_policy/filter_properties.h"
#include "rocksdb/env.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// How the filter was designed, for the log; empty if the options prescribe the
// design.
std::string LogLine(const FilterReport& report) {
  if (report.basis.empty()) return "";
  std::string text = report.design + " " + report.basis;
  if (report.price != kUsualPrice) {
    text += ", at " + PriceText(report.price) + " a false positive";
  }
  if (report.predicted_fpr < 0) return text;
  return text + ": predicted false positive rate " +
         DecimalText(report.predicted_fpr, 5) +
         (report.origin == DesignOrigin::kSearched ? ", searched in "
                                                   : ", kept in ") +
         DecimalText(static_cast<double>(report.model_micros) / 1000, 1) +
         " ms";
}

}  // namespace

void FileFilterBuilder::NoteFailure(const char* what, const Status& s) {
  // A budget that is used up is logged once (file_budget.h).
  if (!s.IsMemoryLimit()) {
    Log(InfoLogLevel::WARN_LEVEL, info_log_,
        "Protean: no filter for this %s: %s", what, s.ToString().c_str());
  }
  if (failure_.empty()) {
    failure_ = s.IsMemoryLimit() ? s.getState() : s.ToString();
  }
}

bool FileFilterBuilder::Verify(const Slice& block) const {
  const Status s = FilterBlock(block).status();
  if (!s.ok()) {
    Log(InfoLogLevel::ERROR_LEVEL, info_log_,
        "Protean: a part of a filter goes unused: %s", s.ToString().c_str());
  }
  return s.ok();
}

void FileFilterBuilder::Report(const BlockBuilder& block) {
  FilterReport report = block.Report();
  if (block.header().kind == FilterKind::kAlwaysTrue) {
    report = FilterReport();
    report.design = failure_;
  }
  if (const std::string text = LogLine(report);
      !text.empty() && (!block.header().is_part || report.model_micros > 0)) {
    Log(InfoLogLevel::INFO_LEVEL, info_log_, "Protean: %s", text.c_str());
  }
  is_kept_ = is_kept_ || report.origin == DesignOrigin::kKept;
  report_.Add(block.header().kind, block.header().num_keys, block.size(),
              report);
  if (block.KeepsRange()) {
    report_.AddRange(block.first_key(), block.last_key());
  }
}

void FileFilterBuilder::ReportNoFilter(uint64_t keys, uint64_t bytes) {
  FilterReport none;
  none.design = failure_;
  report_.Replace(FilterKind::kAlwaysTrue, keys, bytes, none);
}

void FileFilterBuilder::PublishReport() {
  if (built_ == nullptr) return;
  built_->properties = report_.Properties();
  if (is_kept_) built_->properties[kKeptDesignProperty] = "1";
  BuildCounts& counts = built_->counts;
  counts.filters = 1;
  counts.keys = report_.keys();
  counts.bytes = report_.bytes();
  counts.model_nanos = uint64_t{1000} * report_.model_micros();
}

}  // namespace ROCKSDB_NAMESPACE::protean
