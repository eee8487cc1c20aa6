// SPDX-License-Identifier: Apache-2.0

#include "plugin/redesign/filter_comparison.h"

#include <cmath>
#include <cstdint>

namespace ROCKSDB_NAMESPACE::protean {

double FilterComparison::Gain() const {
  // If the filters were equally good, each query that only one of them denies
  // would be denied by either with equal probability: this is two standard
  // deviations of chance.
  const auto differing =
      static_cast<double>(denied_by_new.size() + denied_by_old.size());
  const bool by_chance = MoreDenied() < 2 * std::sqrt(differing);
  return by_chance ? 0 : old_fpr - new_fpr;
}

FilterComparison CompareFilters(
    const AskedFilter& old_filter, const AskedFilter& new_filter,
    const std::vector<const SampleQuery*>& queries) {
  FilterComparison comparison;
  uint64_t old_positives = 0;
  for (const SampleQuery* query : queries) {
    const bool by_old = old_filter.MayMatch(*query);
    const bool by_new = new_filter.MayMatch(*query);
    if (by_old) old_positives++;
    if (by_old && !by_new) comparison.denied_by_new.push_back(query);
    if (by_new && !by_old) comparison.denied_by_old.push_back(query);
  }
  const auto all = static_cast<double>(queries.size());
  comparison.old_fpr = static_cast<double>(old_positives) / all;
  comparison.new_fpr = comparison.old_fpr - comparison.MoreDenied() / all;
  return comparison;
}

}  // namespace ROCKSDB_NAMESPACE::protean
