// SPDX-License-Identifier: Apache-2.0

//  Which of the filters that were tried is the best: the one that saves most
//  for its bits, among those that obey the operator's limits.

#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "tools/filter_replay.h"

namespace ROCKSDB_NAMESPACE::protean {

// The first two results of a replay: the existing filters, and no filters.
constexpr size_t kAsItIs = 0;
constexpr size_t kNoFilters = 1;

// Filters count as equally good if their size and the blocks read differ by
// less than this factor.
constexpr double kAsGood = 1.02;

// What the filters may cost. Infinity is no limit.
struct AdviceLimits {
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  double get_blocks = kNoLimit;     // of a Get of an absent key, on average
  double filter_memory = kNoLimit;  // bytes of all filters
  double build_cpu = kNoLimit;      // seconds, to build all filters
};

// How a result stands to the limit that it exceeds by the largest factor, or
// comes nearest to.
struct LimitUse {
  std::string flag;  // such as "max_get_blocks"
  double needs = 0;
  double allowed = AdviceLimits::kNoLimit;

  double Share() const {
    if (allowed == AdviceLimits::kNoLimit) return 0;
    if (allowed > 0) return needs / allowed;
    return needs > 0 ? AdviceLimits::kNoLimit : 1;
  }
  bool exceeds() const { return Share() > 1; }
  // Such as "needs 0.0200 blocks for a Get of an absent key, but
  // --max_get_blocks=0.0100".
  std::string Text() const;
};
LimitUse TightestLimit(const ReplayResult& result, const AdviceLimits& limits);

// The Gets of absent keys; nullptr if none were replayed, without which their
// limit means nothing.
const ReplayKind* AbsentGets(const ReplayResult& result);

// For each result, the blocks saved by each bit per key that it has beyond the
// next smaller budget of its kind, or beyond no filter if it is the smallest;
// -1 where there is no such number.
std::vector<double> SavedPerBit(const std::vector<ReplayResult>& results);

struct Recommendation {
  // The index of the best result, or of the nearest miss if none of the results
  // obeys the limits.
  size_t result = kNoFilters;
  bool obeys = true;
  // The index that would be best if there were no limits.
  size_t without_limits = kNoFilters;
};

// Starts from no filters; if the limits rule these out, from the result with
// the largest saving per bit. Goes on to the result with the largest saving per
// additional bit, until a bit saves less than `min_saving` percent of the
// blocks read without filters.
Recommendation Recommend(const std::vector<ReplayResult>& results,
                         const AdviceLimits& limits, double min_saving);

}  // namespace ROCKSDB_NAMESPACE::protean
