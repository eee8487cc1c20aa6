// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/query_sample.h"

#include <algorithm>
#include <numeric>

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

// Puts queries into classes, in the order in which they come.
class Classifier {
 public:
  // `most` is the number of queries that may come.
  explicit Classifier(size_t most) : class_places_(most), query_places_(most) {
    queries_.reserve(most);
    class_of_.reserve(most);
  }

  // Adds a query that counts in a sum.
  void Add(const LocatedQuery& query, uint32_t sum) {
    const uint64_t hash =
        MixWord(MixWord(uint64_t{query.lo_shared} << 32 | query.hi_shared,
                        uint64_t{query.bounds_shared} << 32 | query.bytes),
                sum);
    const uint32_t number = FindClass(query, sum, hash);
    classes_[number].weight += query.weight;
    uint32_t& place =
        query_places_.Find(MixWord(MixWord(hash, query.lo_rest), query.hi_rest),
                           [&](uint32_t other) {
                             return class_of_[other] == number &&
                                    queries_[other].lo_rest == query.lo_rest &&
                                    queries_[other].hi_rest == query.hi_rest;
                           });
    if (place != Places::kNone) {
      queries_[place].weight += query.weight;
      return;
    }
    place = static_cast<uint32_t>(queries_.size());
    queries_.push_back(query);
    class_of_.push_back(number);
  }

  // Moves the classes to a sample, with the queries of each side by side.
  void MoveTo(QuerySample* sample) {
    const std::vector<uint32_t> order = Order();
    std::vector<size_t> sizes(classes_.size());
    for (uint32_t number : class_of_) sizes[number]++;
    size_t place = sample->queries.size();
    for (uint32_t number : order) {
      classes_[number].begin = classes_[number].end = place;
      place += sizes[number];
    }
    sample->queries.resize(place);
    for (size_t i = 0; i < queries_.size(); i++) {
      sample->queries[classes_[class_of_[i]].end++] = queries_[i];
    }
    for (uint32_t number : order) sample->classes.push_back(classes_[number]);
  }

 private:
  // The number of the class of a query, which is new if there is none.
  uint32_t FindClass(const LocatedQuery& query, uint32_t sum, uint64_t hash) {
    uint32_t& number = class_places_.Find(hash, [&](uint32_t other) {
      const LocatedQuery& first = queries_[classes_[other].begin];
      return first.lo_shared == query.lo_shared &&
             first.hi_shared == query.hi_shared &&
             first.bounds_shared == query.bounds_shared &&
             first.bytes == query.bytes && classes_[other].sum == sum;
    });
    if (number == Places::kNone) {
      number = static_cast<uint32_t>(classes_.size());
      QueryClass added;
      added.sum = sum;
      added.begin = queries_.size();
      classes_.push_back(added);
    }
    return number;
  }

  // Classes that most designs do not resolve come first: a sum over the classes
  // is then known early to be large.
  std::vector<uint32_t> Order() const {
    std::vector<uint32_t> order(classes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const LocatedQuery& in_a = queries_[classes_[a].begin];
      const LocatedQuery& in_b = queries_[classes_[b].begin];
      if (in_a.bounds_shared != in_b.bounds_shared) {
        return in_a.bounds_shared < in_b.bounds_shared;
      }
      return in_a.shared() != in_b.shared() ? in_a.shared() > in_b.shared()
                                            : a < b;
    });
    return order;
  }

  Places class_places_;
  Places query_places_;
  // Until they are moved, a class begins with the index of its first query
  // among these.
  std::vector<QueryClass> classes_;
  std::vector<LocatedQuery> queries_;
  std::vector<uint32_t> class_of_;  // the queries
};

// Clears what two bounds share, which does not tell queries apart.
void ClearShared(LocatedQuery* query) {
  const uint64_t behind = ~uint64_t{0} >> query->bounds_shared % 8;
  query->lo_rest &= behind;
  query->hi_rest &= behind;
}

// Adds the classes of every step-th of a model's queries in [begin, end).
void AddClasses(const CpfprModel& model, size_t begin, size_t end,
                bool are_points, QuerySample* sample) {
  if (begin == end) return;
  const size_t step = sample->step;
  // Bounds are looked at behind what they share. With alphabets, all of the
  // byte counts in which they part.
  const bool any_bytes = model.statistics().alphabets().AreAny();
  Classifier classifier((end - begin + step - 1) / step);
  for (size_t i = begin; i < end; i += step) {
    LocatedQuery query = model.queries()[i];
    if (any_bytes && !query.is_point()) ClearShared(&query);
    classifier.Add(
        query, static_cast<uint32_t>(are_points ? kPointsSum : SumOf(query)));
  }
  classifier.MoveTo(sample);
}

}  // namespace

QuerySample MakeQuerySample(const CpfprModel& model, size_t step) {
  const std::vector<LocatedQuery>& all = model.queries();
  QuerySample sample;
  sample.step = step;
  AddClasses(model, 0, model.num_before_points(), /*are_points=*/false,
             &sample);
  sample.num_before_points = sample.classes.size();
  AddClasses(model, model.num_before_points(), all.size(), /*are_points=*/true,
             &sample);
  for (size_t i = 0; i < sample.num_before_points; i++) {
    const QueryClass& alike = sample.classes[i];
    const uint32_t shared = sample.queries[alike.begin].shared();
    sample.shared.Add(shared, alike.weight);
    if (alike.sum == kPromisedSum) {
      sample.promised_shared.Add(shared, alike.weight);
    }
  }
  // All points count, whatever the step.
  for (size_t i = model.num_before_points(); i < all.size(); i++) {
    const double weight = all[i].weight / static_cast<double>(step);
    sample.shared.Add(all[i].shared(), weight);
    sample.promised_shared.Add(all[i].shared(), weight);
  }
  sample.shared.Sort();
  sample.promised_shared.Sort();
  return sample;
}

}  // namespace ROCKSDB_NAMESPACE::protean
