// SPDX-License-Identifier: Apache-2.0

//  The false positive rates of a design: averages of the probabilities of
//  queries, by weight.
//
//  Besides the rate of all queries, two things count. The promised queries have
//  a rate of their own, and so has each kind of range (located_query.h). So
//  probabilities are summed up apart, and the sums are then put together. The
//  promised points come last: unless the design is a series, what they share
//  with keys says all of them, and none of them is looked at.

#pragma once

#include <array>
#include <cstddef>

#include "filter_policy/proteus/model/located_query.h"
#include "filter_policy/proteus/model/query_probability.h"
#include "filter_policy/proteus/model/shared_shares.h"

namespace ROCKSDB_NAMESPACE::protean {

struct DesignRates {
  double all = 0;
  double promised = 0;  // of the promised queries
  // The standard deviation of the kinds' rates, by weight.
  double spread = 0;
};

// The weighted rates of some queries.
struct RateSum {
  double rates = 0;
  double weights = 0;

  void Add(const RateSum& other) {
    rates += other.rates;
    weights += other.weights;
  }
  double Mean() const { return weights > 0 ? rates / weights : 0; }
};

// The sums of the kinds, of which 0 stands for all other queries, of the
// promised queries, and of the promised points of a series.
constexpr size_t kPromisedSum = LocatedQuery::kMaxKinds + 1;
constexpr size_t kPointsSum = kPromisedSum + 1;
constexpr size_t kNumSums = kPointsSum + 1;
using RateSums = std::array<RateSum, kNumSums>;

// The index of the sum in which a query counts if it is no promised point.
inline size_t SumOf(const LocatedQuery& query) {
  return query.promised ? kPromisedSum : query.kind;
}

// The rates of all queries. `points` are the promised ones, of which every
// `step`-th one counts in its sum if the design is a series.
DesignRates RatesFrom(RateSums sums, const SharedShares& points, size_t step,
                      const RatedDesign& rated);

}  // namespace ROCKSDB_NAMESPACE::protean
