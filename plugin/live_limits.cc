// SPDX-License-Identifier: Apache-2.0

#include "plugin/live_limits.h"

#include <algorithm>
#include <string>
#include <vector>

#include "plugin/level_list.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// No levels stand for all of them, so an empty intersection is refused.
Status LimitLevels(const std::vector<int>& own, const std::vector<int>& asked,
                   std::vector<int>* limited) {
  if (own.empty() || asked.empty()) {
    *limited = own.empty() ? asked : own;
    return Status::OK();
  }
  limited->clear();
  for (const int level : asked) {
    if (std::find(own.begin(), own.end(), level) != own.end()) {
      limited->push_back(level);
    }
  }
  return limited->empty()
             ? Status::InvalidArgument(
                   "levels " + LevelsText(asked) +
                   " cannot be refreshed; the application allows levels " +
                   LevelsText(own))
             : Status::OK();
}

// The one of two bounds that comes later in the order, or earlier.
std::optional<std::string> Later(const std::optional<std::string>& a,
                                 const std::optional<std::string>& b,
                                 const Comparator& order) {
  if (!a || !b) return a ? a : b;
  return order.CompareWithoutTimestamp(*a, false, *b, false) >= 0 ? a : b;
}
std::optional<std::string> Earlier(const std::optional<std::string>& a,
                                   const std::optional<std::string>& b,
                                   const Comparator& order) {
  if (!a || !b) return a ? a : b;
  return order.CompareWithoutTimestamp(*a, false, *b, false) <= 0 ? a : b;
}

}  // namespace

Status LimitRefresh(const RefreshOptions& own, const RefreshOptions& asked,
                    const Comparator& order, RefreshOptions* limited) {
  *limited = own;
  limited->progress = nullptr;
  limited->dry_run = own.dry_run || asked.dry_run;
  limited->all_files = own.all_files || asked.all_files;
  limited->max_bytes = std::min(own.max_bytes, asked.max_bytes);
  if (own.bytes_per_second == 0) {
    limited->bytes_per_second = asked.bytes_per_second;
  } else if (asked.bytes_per_second > 0) {
    limited->bytes_per_second =
        std::min(own.bytes_per_second, asked.bytes_per_second);
  }
  limited->min_gain = std::max(own.min_gain, asked.min_gain);
  limited->start = Later(own.start, asked.start, order);
  limited->limit = Earlier(own.limit, asked.limit, order);
  if (limited->start && limited->limit &&
      order.CompareWithoutTimestamp(*limited->start, false, *limited->limit,
                                    false) >= 0) {
    return Status::InvalidArgument(
        "the range has no keys, or none that the application allows");
  }
  return LimitLevels(own.levels, asked.levels, &limited->levels);
}

}  // namespace ROCKSDB_NAMESPACE::protean
