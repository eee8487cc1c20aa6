// SPDX-License-Identifier: Apache-2.0

#include "plugin/family_metrics.h"

#include "plugin/filter_statistics_numbers.h"

namespace ROCKSDB_NAMESPACE::protean {

void FamilyMetrics::ForEachFamily(const FamilyVisitor& visit) const {
  for (const FilterStatistics& family : families_) {
    visit({{"db", family.db}, {"column_family", family.column_family}}, family);
  }
}

void FamilyMetrics::ForEachLevel(const LevelVisitor& visit) const {
  ForEachFamily([&](const PrometheusLabels& labels,
                    const FilterStatistics& family) {
    for (const LevelFilterStatistics& level : family.levels) {
      visit(JoinLabels(labels, {{"level", StatisticsLevelText(level.level)}}),
            level.sums);
    }
  });
}

void FamilyMetrics::ForEachKindOfSeeks(const SeeksVisitor& visit) const {
  ForEachLevel([&](const PrometheusLabels& labels, const FilterSums& sums) {
    visit(JoinLabels(labels, {{"seek", "closed"}}), sums.closed);
    visit(JoinLabels(labels, {{"seek", "open"}}), sums.open);
  });
}

}  // namespace ROCKSDB_NAMESPACE::protean
