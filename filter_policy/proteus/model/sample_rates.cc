// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/sample_rates.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The rates of the queries of a class, by weight, in a design of two sets.
double RatesOfClass(const QuerySample& sample, const QueryClass& alike,
                    const RatedDesign& rated) {
  const LocatedQuery& any = sample.queries[alike.begin];
  const uint32_t bits = rated.design.prefix_bits;
  if (any.shared() >= bits) return alike.weight;
  double rates = 0;
  if (bits <= any.bounds_shared) {
    // One prefix of each length is tested.
    rates = alike.weight * rated.second_rate;
    if (any.shared() < rated.design.first_prefix_bits) {
      rates *= rated.first_rate;
    }
    return rates;
  }
  for (size_t i = alike.begin; i < alike.end; i++) {
    const LocatedQuery& query = sample.queries[i];
    rates += query.weight * ProbabilityOfTwoSets(query, rated);
  }
  return rates;
}

}  // namespace

DesignRates RatesOfGroups(const CpfprModel& model, const QueryGroups& groups,
                          const ProteusDesign& design, const PrefixSets& sets) {
  const RatedDesign rated(design, sets, model.statistics());
  RateSums sums;
  for (const QueryGroup& group : groups.groups) {
    double probability = rated.second.RateOf(group.lengths, group.tested);
    if (group.is_point && design.keys_alone) {
      probability = rated.first_rate;
    } else if (group.is_point && design.key_set) {
      probability *= rated.first_rate;
    }
    sums[group.sum].rates += group.weight * probability;
    sums[group.sum].weights += group.weight;
  }
  return RatesFrom(sums, model.points(), groups.step, rated);
}

DesignRates RatesOfTwoSets(const CpfprModel& model, const QuerySample& sample,
                           const ProteusDesign& design, const PrefixSets& sets,
                           double most) {
  const RatedDesign rated(design, sets, model.statistics());
  const double total = sample.shared.total();
  const double most_weight = most * total;
  RateSums sums;
  double found = 0;
  for (size_t i = 0; i < sample.num_before_points; i++) {
    const QueryClass& alike = sample.classes[i];
    const double rates = RatesOfClass(sample, alike, rated);
    sums[alike.sum].rates += rates;
    sums[alike.sum].weights += alike.weight;
    found += rates;
    if (found > most_weight) return {found / total, 0, 0};
  }
  return RatesFrom(sums, model.points(), sample.step, rated);
}

}  // namespace ROCKSDB_NAMESPACE::protean
