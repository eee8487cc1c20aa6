// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/query_sample.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "filter_policy/proteus/model/prefix_counts.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Finds the numbers of things by all that tells them apart.
class Places {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // `most` is the number of things that there may be.
  explicit Places(size_t most)
      : shift_(64 - BitsFor(2 * most + 1)),
        numbers_(size_t{1} << (64 - shift_), kNone) {}

  // The place of the number of the thing for which `is_it(number)` is true, or
  // kNone where it is to be.
  template <typename IsIt>
  uint32_t& Find(uint64_t hash, const IsIt& is_it) {
    size_t place = hash * 0x9e3779b97f4a7c15u >> shift_;
    while (numbers_[place] != kNone && !is_it(numbers_[place])) {
      place = (place + 1) & (numbers_.size() - 1);
    }
    return numbers_[place];
  }

 private:
  const uint32_t shift_;
  std::vector<uint32_t> numbers_;
};

uint64_t MixWord(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdu;
  return hash ^ hash >> 32;
}

}  // namespace

QuerySample MakeQuerySample(const CpfprModel& model, size_t step) {
  const std::vector<LocatedQuery>& all = model.queries();
  const size_t points = model.num_before_points();
  const size_t most = all.size() / step + 2;
  Places class_places(most);
  Places query_places(most);
  // Both are in the order in which they come. A class begins with the index of
  // its first query among these.
  std::vector<QueryClass> classes;
  std::vector<LocatedQuery> queries;
  std::vector<uint32_t> class_of;  // the queries
  queries.reserve(most);
  class_of.reserve(most);
  // Bounds are looked at behind what they share, which does not tell queries
  // apart. With alphabets, all of the byte counts in which they part.
  const bool any_bytes = model.statistics().alphabets().AreAny();
  // The steps begin anew with the promised points.
  for (size_t i = 0; i < all.size();
       i = i < points ? std::min(i + step, points) : i + step) {
    LocatedQuery query = all[i];
    if (any_bytes && !query.is_point()) {
      const uint64_t behind = ~uint64_t{0} >> query.bounds_shared % 8;
      query.lo_rest &= behind;
      query.hi_rest &= behind;
    }
    const auto sum =
        static_cast<uint32_t>(i < points ? SumOf(query) : kPointsSum);
    const uint64_t hash =
        MixWord(MixWord(uint64_t{query.lo_shared} << 32 | query.hi_shared,
                        uint64_t{query.bounds_shared} << 32 | query.bytes),
                sum);
    uint32_t& number = class_places.Find(hash, [&](uint32_t other) {
      const LocatedQuery& first = queries[classes[other].begin];
      return first.lo_shared == query.lo_shared &&
             first.hi_shared == query.hi_shared &&
             first.bounds_shared == query.bounds_shared &&
             first.bytes == query.bytes && classes[other].sum == sum;
    });
    if (number == Places::kNone) {
      number = static_cast<uint32_t>(classes.size());
      classes.push_back({0, sum, queries.size(), 0});
    }
    classes[number].weight += query.weight;
    uint32_t& place =
        query_places.Find(MixWord(MixWord(hash, query.lo_rest), query.hi_rest),
                          [&](uint32_t other) {
                            return class_of[other] == number &&
                                   queries[other].lo_rest == query.lo_rest &&
                                   queries[other].hi_rest == query.hi_rest;
                          });
    if (place != Places::kNone) {
      queries[place].weight += query.weight;
      continue;
    }
    place = static_cast<uint32_t>(queries.size());
    queries.push_back(query);
    class_of.push_back(number);
  }

  // Classes that most designs do not resolve come first: a sum over the classes
  // is then known early to be large.
  std::vector<uint32_t> order(classes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto rank = [&](uint32_t number) {
    const LocatedQuery& any = queries[classes[number].begin];
    return std::make_tuple(classes[number].sum == kPointsSum, any.bounds_shared,
                           ~any.shared(), number);
  };
  std::sort(order.begin(), order.end(),
            [&rank](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
  std::vector<size_t> sizes(classes.size());
  for (uint32_t number : class_of) sizes[number]++;
  size_t place = 0;
  for (uint32_t number : order) {
    classes[number].begin = classes[number].end = place;
    place += sizes[number];
  }
  QuerySample sample;
  sample.step = step;
  sample.queries.resize(place);
  for (size_t i = 0; i < queries.size(); i++) {
    sample.queries[classes[class_of[i]].end++] = queries[i];
  }
  for (uint32_t number : order) {
    const QueryClass& alike = sample.classes.emplace_back(classes[number]);
    if (alike.sum == kPointsSum) continue;
    sample.num_before_points++;
    const uint32_t shared = sample.queries[alike.begin].shared();
    sample.shared.Add(shared, alike.weight);
    if (alike.sum == kPromisedSum) {
      sample.promised_shared.Add(shared, alike.weight);
    }
  }
  // All points count, whatever the step.
  for (size_t i = points; i < all.size(); i++) {
    const double weight = all[i].weight / static_cast<double>(step);
    sample.shared.Add(all[i].shared(), weight);
    sample.promised_shared.Add(all[i].shared(), weight);
  }
  sample.shared.Sort();
  sample.promised_shared.Sort();
  return sample;
}

std::vector<QueryGroup> MakeQueryGroups(const CpfprModel& model,
                                        const QuerySample& sample,
                                        const ProteusDesign& design) {
  std::vector<QueryGroup> groups;
  const size_t end =
      design.stride() > 0 ? sample.classes.size() : sample.num_before_points;
  const ByteAlphabets& alphabets = AlphabetsOf(design, model.statistics());
  const PrefixLayers layers(design);
  // The indexes of the groups that test one prefix or none, which most queries
  // do, by all that tells them apart; and those of the others.
  constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t usual[RatedDesign::kLengths + 1][2][kNumSums][2];
  memset(usual, 0xff, sizeof(usual));
  std::unordered_map<uint64_t, size_t> others;
  // Adds queries that test alike: one of them, and the weight of all.
  const auto add = [&](const LocatedQuery& query, const TestedPrefixes& tested,
                       uint32_t sum, double weight) {
    const QueryGroup group = {
        std::min(tested.lengths, uint32_t{RatedDesign::kLengths}),
        static_cast<uint32_t>(std::min(tested.prefixes, kManyPrefixes)), sum,
        query.is_point(), 0};
    const size_t point = group.is_point ? 1 : 0;
    size_t index = groups.size();
    if (group.tested <= 1) {
      uint32_t& known = usual[group.lengths][group.tested][sum][point];
      if (known == kNone) known = static_cast<uint32_t>(index);
      index = known;
    } else {
      const uint64_t key =
          uint64_t{group.tested} << 32 | group.lengths << 8 | sum << 1 | point;
      index = others.try_emplace(key, index).first->second;
    }
    if (index == groups.size()) groups.push_back(group);
    groups[index].weight += weight;
  };
  for (size_t i = 0; i < end; i++) {
    const QueryClass& alike = sample.classes[i];
    const LocatedQuery& any = sample.queries[alike.begin];
    TestedPrefixes tested = {};
    if (PrefixesTestedByAll(any, layers, &tested)) {
      add(any, tested, alike.sum, alike.weight);
      continue;
    }
    for (size_t j = alike.begin; j < alike.end; j++) {
      const LocatedQuery& query = sample.queries[j];
      add(query, PrefixesTestedBy(query, layers, alphabets), alike.sum,
          query.weight);
    }
  }
  return groups;
}

DesignRates RatesOfGroups(const CpfprModel& model,
                          const std::vector<QueryGroup>& groups, size_t step,
                          const ProteusDesign& design,
                          const LayerPlans& plans) {
  const RatedDesign rated(design, plans, model.statistics());
  RateSums sums;
  for (const QueryGroup& group : groups) {
    double probability =
        rated.ProbabilityOf(TestedPrefixes{group.lengths, group.tested});
    if (group.is_point) {
      probability =
          rated.keys_rate * (rated.points_ask_keys_alone ? 1 : probability);
    }
    sums[group.sum].Add({group.weight * probability, group.weight});
  }
  return RatesFrom(sums, model.points(), step, rated);
}

DesignRates RatesOfTwoSets(const CpfprModel& model, const QuerySample& sample,
                           const ProteusDesign& design, const LayerPlans& plans,
                           double most) {
  const RatedDesign rated(design, plans, model.statistics());
  const uint32_t bits = rated.layers.inner.bits;
  const double total = sample.shared.total();
  const double most_weight = most * total;
  RateSums sums;
  double found = 0;
  for (size_t i = 0; i < sample.num_before_points; i++) {
    const QueryClass& alike = sample.classes[i];
    const LocatedQuery& any = sample.queries[alike.begin];
    double rates = 0;  // of its queries, by weight
    if (any.shared() >= bits) {
      rates = alike.weight;
    } else if (bits <= any.bounds_shared) {
      // One prefix of each length is tested.
      rates = alike.weight * rated.second_rate;
      if (any.shared() < rated.layers.first_bits) rates *= rated.first_rate;
    } else {
      for (size_t q = alike.begin; q < alike.end; q++) {
        const LocatedQuery& query = sample.queries[q];
        rates += query.weight * rated.ProbabilityOfTwoSets(query);
      }
    }
    sums[alike.sum].Add({rates, alike.weight});
    found += rates;
    if (found > most_weight) return {found / total, 0, 0};
  }
  return RatesFrom(sums, model.points(), sample.step, rated);
}

}  // namespace ROCKSDB_NAMESPACE::protean
