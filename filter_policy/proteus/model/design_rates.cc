// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/design_rates.h"

#include <cmath>

namespace ROCKSDB_NAMESPACE::protean {

DesignRates RatesFrom(RateSums sums, const SharedShares& points, size_t step,
                      const RatedDesign& rated) {
  if (points.total() > 0) {
    // Each query stands for `step` of them.
    RateSum sum;
    sum.weights = points.total() / static_cast<double>(step);
    sum.rates = sum.weights * (rated.design.stride_bits > 0
                                   ? sums[kPointsSum].Mean()
                                   : ProbabilityOfPoints(points, rated));
    sums[kPromisedSum].Add(sum);
  }
  RateSum of_kinds;
  for (size_t kind = 1; kind <= LocatedQuery::kMaxKinds; kind++) {
    of_kinds.Add(sums[kind]);
  }
  double squares = 0;
  for (size_t kind = 1; kind <= LocatedQuery::kMaxKinds; kind++) {
    const double difference = sums[kind].Mean() - of_kinds.Mean();
    squares += sums[kind].weights * difference * difference;
  }
  RateSum all = of_kinds;
  all.Add(sums[0]);
  all.Add(sums[kPromisedSum]);
  return {all.Mean(), sums[kPromisedSum].Mean(),
          of_kinds.weights > 0 ? std::sqrt(squares / of_kinds.weights) : 0};
}

}  // namespace ROCKSDB_NAMESPACE::protean
