// SPDX-License-Identifier: Apache-2.0

//  The demand for a filter: how many queries it will be asked, and what each of
//  its false positives costs. A filter that lets fewer queries through often
//  takes longer to build. That pays if the file lives long enough to be asked.
//
//  The time to build counts for each key, and so do queries: those that find
//  nothing in a file, over its whole life, for each of its keys. A level of n
//  keys, into which b keys are written each second, keeps a key for n / b
//  seconds. Of the q queries that it is asked each second, a key has q / n. So
//  a key is asked q / b times in its life, however large the level is. All
//  levels are asked about as often, and b differs between them by their write
//  amplification alone. So one number serves a column family, and it can be
//  measured: files that were asked, by keys that filters were built for.
//
//  Where that is wanted (queries_per_key=0), a family that is only written to
//  gets filters that are built fast, and one that is read gets those that let
//  the fewest queries through. A file of the last level may live long, whatever
//  has been asked so far, so it counts with kFewQueriesInLastLevel at least.
//  After a bulk load, RefreshFilters makes filters as for a family that is
//  read.

#pragma once

#include <algorithm>
#include <cstdint>

#include "filter_policy/false_positive_price.h"

namespace ROCKSDB_NAMESPACE::protean {

// Limits of the number of queries for each key. With the highest one, the time
// to build hardly counts: it is taken where nothing is measured.
inline constexpr double kManyQueriesPerKey = 1000;
inline constexpr double kFewQueriesPerKey = 0.002;
inline constexpr double kFewQueriesInLastLevel = 0.01;

struct FilterDemand {
  // The price of a false positive, in nanoseconds (false_positive_price.h).
  uint64_t price = kUsualPrice;
  double queries_per_key = kManyQueriesPerKey;
  bool is_measured = false;

  // Returns true if queries were found to be so few that building counts.
  bool WasFoundLow() const { return is_measured && queries_per_key < 1; }
  // The cost of building for this time per key, in false positives per query.
  double CostOfBuilding(double nanos_per_key) const {
    return nanos_per_key / (queries_per_key * static_cast<double>(price));
  }
  // The part of false positives that may be added to save time, in queries and
  // in building.
  double MaxRateForTime() const {
    // No design takes longer for a key.
    constexpr double kMaxNanosPerKey = 2000;
    return protean::MaxRateForTime(price) + CostOfBuilding(kMaxNanosPerKey);
  }
};

// Queries and keys of a column family, which tell how often keys of its new
// files will be asked for. Not thread safe.
class DemandCounts {
 public:
  // Returns the queries for each key, after all `queries` that were ever
  // counted and all keys so far. Then adds `keys` for which a filter is built.
  double QueriesPerKey(uint64_t queries, uint64_t keys);

 private:
  // The first files count as if this number of keys had been written before,
  // and three queries asked for each hundred of them.
  static constexpr double kFirstKeys = 16 << 10;
  static constexpr double kFirstQueriesPerKey = 0.03;
  // After this number of keys, what was counted until then counts half.
  static constexpr double kRecentKeys = 16 << 20;

  double keys_ = 0;
  double forgotten_queries_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
