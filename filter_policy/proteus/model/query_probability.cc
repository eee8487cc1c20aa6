// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/query_probability.h"

#include <cmath>

#include "filter_policy/proteus/model/prefix_counts.h"
#include "filter_policy/proteus/model/tested_prefixes.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kAnyNumber = ~size_t{0};

// The number of lengths that a run of prefixes may have.
size_t MostLengths(const ProteusDesign& design) {
  return design.stride_bits > 0 ? kAnyNumber : 1;
}

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

// Equations 1 and 5.
double ProbabilityOfOneSet(const LocatedQuery& query,
                           const RatedDesign& rated) {
  const TestedPrefixes tested =
      PrefixesTestedBy(query, rated.design, rated.alphabets);
  return rated.second.RateOf(tested.lengths, tested.prefixes);
}

}  // namespace

RatedDesign::RatedDesign(const ProteusDesign& its_design,
                         const PrefixSets& sets,
                         const KeyStatistics& statistics)
    : design(its_design),
      alphabets(AlphabetsOf(its_design, statistics)),
      first_rate(sets.first.false_positive_rate),
      second_rate(sets.second.false_positive_rate),
      second(second_rate, MostLengths(its_design)) {}

double ProbabilityOf(const LocatedQuery& query, const RatedDesign& rated) {
  const ProteusDesign& design = rated.design;
  if (design.first_prefix_bits > 0) return ProbabilityOfTwoSets(query, rated);
  if (design.keys_alone && query.is_point()) return rated.first_rate;
  const double probability = ProbabilityOfOneSet(query, rated);
  return design.key_set && query.is_point() ? rated.first_rate * probability
                                            : probability;
}

double ProbabilityOfTwoSets(const LocatedQuery& query,
                            const RatedDesign& rated) {
  const uint32_t first = rated.design.first_prefix_bits;
  const uint32_t bits = rated.design.prefix_bits;
  if (query.shared() >= bits) return 1;
  const ByteAlphabets& alphabets = rated.alphabets;
  const uint64_t regions = CountAll(query, alphabets, first);
  if (regions == 0) return 0;
  if (regions > kMaxPrefixProbes) return 1;
  // The average number of prefixes tested in the end: the regions, and the
  // prefixes below those that the first set lets through.
  auto tested = static_cast<double>(regions);
  // The probability that one region of `prefixes` prefixes is resolved.
  // `shared` tells whether a key lies in it.
  auto resolve = [&](bool shared, uint64_t prefixes) {
    const double through = shared ? 1 : rated.first_rate;
    tested += through * static_cast<double>(prefixes);
    return 1 - through * rated.second.AnyOf(prefixes);
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
  const uint64_t between = regions - CountEnds(query, alphabets, first);
  if (between > 0) {
    const uint64_t whole = alphabets.CountBelow(first, bits);
    const auto most = static_cast<uint64_t>((kMaxPrefixProbes - tested) /
                                            static_cast<double>(whole));
    all *=
        NoneOf(between, rated.first_rate, 1 - rated.second.AnyOf(whole), most);
  }
  return 1 - all;
}

double ProbabilityOfPoints(const SharedShares& points,
                           const RatedDesign& rated) {
  const ProteusDesign& design = rated.design;
  const double first_rate = rated.first_rate;
  const double rate = rated.second_rate;
  if (design.keys_alone) return first_rate;
  const double certain = points.AtLeast(design.prefix_bits);
  if (design.first_prefix_bits > 0) {
    const double reached = points.AtLeast(design.first_prefix_bits);
    return certain + (reached - certain) * rate +
           (1 - reached) * first_rate * rate;
  }
  const double reached = points.AtLeast(design.trie_bits);
  const double layers =
      design.prefix_bits == 0 ? reached : certain + (reached - certain) * rate;
  return design.key_set ? first_rate * layers : layers;
}

}  // namespace ROCKSDB_NAMESPACE::protean
