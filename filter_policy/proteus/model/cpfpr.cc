// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/cpfpr.h"

#include "filter_policy/proteus/model/tested_prefixes.h"

namespace ROCKSDB_NAMESPACE::protean {

DesignRates CpfprModel::Average(const ProteusDesign& design,
                                const PrefixSets& sets, size_t step) const {
  const RatedDesign rated(design, sets, statistics_);
  RateSums sums;
  const auto add = [&](const LocatedQuery& query, RateSum* sum) {
    sum->rates += query.weight * ProbabilityOf(query, rated);
    sum->weights += query.weight;
  };
  const std::vector<LocatedQuery>& all = queries_.all;
  for (size_t i = 0; i < queries_.num_before_points; i += step) {
    add(all[i], &sums[SumOf(all[i])]);
  }
  if (design.stride_bits > 0) {
    for (size_t i = queries_.num_before_points; i < all.size(); i += step) {
      add(all[i], &sums[kPointsSum]);
    }
  }
  return RatesFrom(sums, queries_.points, step, rated);
}

PrefixTests CpfprModel::CountTests(const ProteusDesign& design,
                                   const PrefixSets& sets, size_t step) const {
  const ByteAlphabets& alphabets = AlphabetsOf(design, statistics_);
  PrefixTests sum;
  double weights = 0;
  for (size_t i = 0; i < queries_.all.size(); i += step) {
    const LocatedQuery& query = queries_.all[i];
    const PrefixTests tests =
        TestsOf(query, design, alphabets, sets.first.false_positive_rate);
    sum.prefixes += query.weight * tests.prefixes;
    sum.runs += query.weight * tests.runs;
    weights += query.weight;
  }
  if (weights > 0) {
    sum.prefixes /= weights;
    sum.runs /= weights;
  }
  return sum;
}

}  // namespace ROCKSDB_NAMESPACE::protean
