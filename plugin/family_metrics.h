// SPDX-License-Identifier: Apache-2.0

//  Metrics of the filters of some column families, in the text format of
//  Prometheus.

#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/filter_statistics.h"
#include "plugin/prometheus_text.h"

namespace ROCKSDB_NAMESPACE::protean {

// The samples of a metric stand together, so each metric goes through all
// column families before the next one begins.
class FamilyMetrics {
 public:
  using FamilyVisitor =
      std::function<void(const PrometheusLabels&, const FilterStatistics&)>;
  using LevelVisitor =
      std::function<void(const PrometheusLabels&, const FilterSums&)>;
  using SeeksVisitor =
      std::function<void(const PrometheusLabels&, const FilterSeeks&)>;

  // The statistics must outlive this object.
  explicit FamilyMetrics(const std::vector<FilterStatistics>& families)
      : families_(families) {}

  // Begins the metric protean_filter_NAME, which goes on until the next one
  // begins.
  PrometheusMetric Begin(const char* name, const char* type, const char* help) {
    return {std::string("filter_") + name, type, help, &text_};
  }

  // Adds a metric with a sample for each column family: what `value` returns
  // for its FilterStatistics, a number or its text.
  template <typename Value>
  void AddOfFamilies(const char* name, const char* type, const char* help,
                     const Value& value) {
    PrometheusMetric metric = Begin(name, type, help);
    ForEachFamily(
        [&](const PrometheusLabels& labels, const FilterStatistics& family) {
          metric.Add(labels, value(family));
        });
  }
  // Adds a metric with a sample for each level of each column family: what
  // `value` returns for its FilterSums, a number or its text.
  template <typename Value>
  void AddOfLevels(const char* name, const char* type, const char* help,
                   const Value& value) {
    PrometheusMetric metric = Begin(name, type, help);
    ForEachLevel([&](const PrometheusLabels& labels, const FilterSums& sums) {
      metric.Add(labels, value(sums));
    });
  }

  // Calls `visit` with the labels and the numbers of each column family.
  void ForEachFamily(const FamilyVisitor& visit) const;
  // Calls `visit` with those of each level of each column family.
  void ForEachLevel(const LevelVisitor& visit) const;
  // Calls `visit` with those of the closed and the open seeks of each level.
  void ForEachKindOfSeeks(const SeeksVisitor& visit) const;

  const std::vector<FilterStatistics>& families() const { return families_; }
  // Returns the text of all metrics. Nothing may be added afterwards.
  std::string Finish() { return std::move(text_); }

 private:
  const std::vector<FilterStatistics>& families_;
  std::string text_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
