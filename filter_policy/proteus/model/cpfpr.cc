// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/cpfpr.h"

#include <algorithm>
#include <cmath>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The probability that the first set lets at most `most` of `count` regions
// within a query through, and that the second set resolves all of these: the
// sum of equation 4, up to that term.
double NoneOf(uint64_t count, double rate, double resolved, uint64_t most) {
  if (most >= count) {
    return std::pow(1 - rate + rate * resolved, static_cast<double>(count));
  }
  if (rate >= 1) return 0;
  double term = std::pow(1 - rate, static_cast<double>(count));
  double sum = term;
  for (uint64_t i = 0; i < most; i++) {
    term *= static_cast<double>(count - i) / static_cast<double>(i + 1) * rate /
            (1 - rate) * resolved;
    sum += term;
  }
  return sum;
}

// The rate of one of the layers of a design; 1 if there is none.
double RateOfLayer(const ProteusDesign& design, const LayerPlans& plans,
                   const Layer* layer) {
  return layer == nullptr
             ? 1
             : plans.of[static_cast<size_t>(layer - design.begin())]
                   .false_positive_rate;
}

}  // namespace

RatedDesign::RatedDesign(const ProteusDesign& design, const LayerPlans& plans,
                         const KeyStatistics& statistics)
    : layers(design),
      alphabets(AlphabetsOf(design, statistics)),
      has_keys(design.keys() != nullptr),
      points_ask_keys_alone(design.points_ask_keys_alone()),
      keys_rate(RateOfLayer(design, plans, design.keys())),
      first_rate(RateOfLayer(design, plans, design.outer())),
      second_rate(RateOfLayer(design, plans, design.inner())),
      num_lengths(layers.inner.stride > 0 ? kLengths : 1) {
  double power = 1;
  for (size_t i = 0; i < num_lengths; i++) {
    power *= second_rate;
    all_of[i] = power;
    log_not[i] = std::log1p(-std::min(power, 1 - 1e-16));
  }
}

double RatedDesign::AnyRunOf(uint32_t lengths, uint64_t runs) const {
  const size_t i = std::min<size_t>(lengths, num_lengths) - 1;
  if (runs > kMaxPrefixProbes || all_of[i] >= 1) return 1;
  return runs == 1 ? all_of[i]
                   : -std::expm1(static_cast<double>(runs) * log_not[i]);
}

double RatedDesign::ProbabilityOf(const LocatedQuery& query) const {
  const double rate = query.is_point() ? keys_rate : 1;
  if (query.is_point() && points_ask_keys_alone) return rate;
  return rate *
         (layers.first_bits > 0
              ? ProbabilityOfTwoSets(query)
              : ProbabilityOf(PrefixesTestedBy(query, layers, alphabets)));
}

double RatedDesign::ProbabilityOfTwoSets(const LocatedQuery& query) const {
  const uint32_t first = layers.first_bits;
  const uint32_t bits = layers.inner.bits;
  if (query.shared() >= bits) return 1;
  const uint64_t regions = CountAll(query, alphabets, first);
  if (regions == 0) return 0;
  if (regions > kMaxPrefixProbes) return 1;
  // The average number of prefixes tested in the end: the regions, and the
  // prefixes below those that the first set lets through.
  auto tested = static_cast<double>(regions);
  // The probability that one region of `prefixes` prefixes is resolved.
  // `shared` tells whether a key lies in it.
  auto resolve = [&](bool shared, uint64_t prefixes) {
    const double through = shared ? 1 : first_rate;
    tested += through * static_cast<double>(prefixes);
    return 1 - through * AnyRunOf(1, prefixes);
  };
  if (regions == 1) {
    const double all =
        resolve(query.shared() >= first, CountAll(query, alphabets, bits));
    return tested > kMaxPrefixProbes ? 1 : 1 - all;
  }
  double all = resolve(query.lo_shared >= first,
                       CountLeft(query, alphabets, first, bits)) *
               resolve(query.hi_shared >= first,
                       CountRight(query, alphabets, first, bits));
  // The filter tests no prefixes beyond its limit.
  if (tested > kMaxPrefixProbes) return 1;
  // The first and the last region count if they are possible.
  const uint64_t between = regions - CountLeft(query, alphabets, first, first) -
                           CountRight(query, alphabets, first, first);
  if (between > 0) {
    const uint64_t whole = alphabets.CountBelow(first, bits);
    const auto most = static_cast<uint64_t>((kMaxPrefixProbes - tested) /
                                            static_cast<double>(whole));
    all *= NoneOf(between, first_rate, 1 - AnyRunOf(1, whole), most);
  }
  return 1 - all;
}

double RatedDesign::ProbabilityOfPoints(const SharedShares& points) const {
  if (points_ask_keys_alone) return keys_rate;
  // A point passes a layer whose prefix it shares with a key, or by chance.
  const double reached = points.AtLeast(layers.outer_bits());
  double rate = reached;
  if (layers.inner.bits > 0) {
    const double certain = points.AtLeast(layers.inner.bits);
    rate = certain + (reached - certain) * second_rate;
  }
  if (layers.first_bits > 0) {
    rate += (1 - reached) * first_rate * second_rate;
  }
  return keys_rate * rate;
}

PrefixTests RatedDesign::TestsOf(const LocatedQuery& query) const {
  PrefixTests tests;
  // Adds tests of prefixes that follow each other, which are made with this
  // probability.
  const auto add = [&tests](double probability, uint64_t prefixes) {
    // Sets keep that many neighbors together (internals/proteus.md).
    constexpr double kNeighbors = 64;
    const auto tested =
        static_cast<double>(std::min(prefixes, kMaxPrefixProbes));
    tests.prefixes += probability * tested;
    tests.runs += probability * std::ceil(tested / kNeighbors);
  };
  const uint32_t first = layers.first_bits;
  const uint32_t bits = layers.inner.bits;
  if (first > 0) {
    const auto through = [&](uint32_t shared) {
      return shared >= first ? 1 : first_rate;
    };
    const uint64_t regions = CountAll(query, alphabets, first);
    add(1, regions);
    if (regions <= 1) {
      add(through(query.shared()), CountAll(query, alphabets, bits));
    } else {
      add(through(query.lo_shared), CountLeft(query, alphabets, first, bits));
      add(through(query.hi_shared), CountRight(query, alphabets, first, bits));
    }
    return tests;
  }
  double asked = 1;
  if (has_keys && query.is_point()) {
    add(1, 1);
    if (points_ask_keys_alone) return tests;
    asked = keys_rate;
  }
  if (bits == 0 || query.shared() < layers.trie_bits) return tests;
  uint64_t tested = 0;
  LongestTested(query, layers, alphabets, &tested);
  add(asked, tested);
  return tests;
}

DesignRates RatesFrom(RateSums sums, const SharedShares& points, size_t step,
                      const RatedDesign& rated) {
  if (points.total() > 0) {
    // Each query stands for `step` of them.
    RateSum sum;
    sum.weights = points.total() / static_cast<double>(step);
    sum.rates = sum.weights * (rated.layers.inner.stride > 0
                                   ? sums[kPointsSum].Mean()
                                   : rated.ProbabilityOfPoints(points));
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

CpfprModel::CpfprModel(const KeyStore& keys, const KeyStatistics& statistics,
                       const std::vector<SampleQuery>& samples,
                       const std::vector<LocatedQuery>& prior,
                       bool prefixes_only, double sample_weight)
    : statistics_(statistics),
      queries_(LocateSamples(keys, statistics, samples, prefixes_only,
                             sample_weight)),
      num_samples_(queries_.size()) {
  queries_.insert(queries_.end(), prior.begin(), prior.end());
  const auto points = std::stable_partition(
      queries_.begin(), queries_.end(),
      [](const LocatedQuery& q) { return !q.promised || !q.is_point(); });
  num_before_points_ = static_cast<size_t>(points - queries_.begin());
  for (auto query = points; query != queries_.end(); ++query) {
    points_.Add(query->shared(), query->weight);
  }
  points_.Sort();
}

CpfprModel CpfprModel::Ranges() const {
  const auto is_point = [](const LocatedQuery& q) { return q.is_point(); };
  CpfprModel ranges = *this;
  std::vector<LocatedQuery>& all = ranges.queries_;
  ranges.num_samples_ -= static_cast<size_t>(std::count_if(
      all.begin(), all.begin() + static_cast<ptrdiff_t>(num_samples_),
      is_point));
  all.erase(std::remove_if(all.begin(), all.end(), is_point), all.end());
  ranges.num_before_points_ = all.size();
  ranges.points_ = SharedShares();
  return ranges;
}

DesignRates CpfprModel::Average(const ProteusDesign& design,
                                const LayerPlans& plans, size_t step) const {
  const RatedDesign rated(design, plans, statistics_);
  RateSums sums;
  const auto add = [&](const LocatedQuery& query, RateSum* sum) {
    sum->Add({query.weight * rated.ProbabilityOf(query), query.weight});
  };
  for (size_t i = 0; i < num_before_points_; i += step) {
    add(queries_[i], &sums[SumOf(queries_[i])]);
  }
  if (design.stride() > 0) {
    for (size_t i = num_before_points_; i < queries_.size(); i += step) {
      add(queries_[i], &sums[kPointsSum]);
    }
  }
  return RatesFrom(sums, points_, step, rated);
}

PrefixTests CpfprModel::CountTests(const ProteusDesign& design,
                                   const LayerPlans& plans, size_t step) const {
  const RatedDesign rated(design, plans, statistics_);
  PrefixTests sum;
  double weights = 0;
  for (size_t i = 0; i < queries_.size(); i += step) {
    const LocatedQuery& query = queries_[i];
    const PrefixTests tests = rated.TestsOf(query);
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
