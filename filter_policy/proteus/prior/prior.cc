// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/prior.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "filter_policy/proteus/prior/prior_queries.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Level weights ----

std::vector<float> WeighByLevel(const std::vector<uint32_t>& levels,
                                double weight,
                                const KeyStatistics& statistics) {
  std::map<uint32_t, size_t, std::greater<uint32_t>> counts;
  for (uint32_t level : levels) counts[level]++;
  std::map<uint32_t, double> shares;
  double above = 0;
  double all = 0;
  for (const auto& [level, count] : counts) {
    const bool lowest = level == counts.rbegin()->first;
    const auto from_here =
        static_cast<double>(statistics.KeysSharing(lowest ? 0 : level));
    // Keys that only differ in zeros at their ends are not counted.
    const double keys = std::max(from_here - above, 1.0);
    shares[level] = keys / static_cast<double>(count);
    above = std::max(above, from_here);
    all += keys;
  }
  std::vector<float> weights;
  weights.reserve(levels.size());
  for (uint32_t level : levels) {
    weights.push_back(static_cast<float>(weight * shares[level] / all));
  }
  return weights;
}

std::vector<uint32_t> LevelsOf(const KeyStatistics& statistics) {
  std::vector<uint32_t> levels;
  for (uint32_t bits = 0; bits <= statistics.max_bits(); bits++) {
    if (statistics.KeysSharing(bits) != statistics.KeysSharing(bits + 1)) {
      levels.push_back(bits);
    }
  }
  return levels;
}

// ---- Prior ----

namespace {

// The number of queries of each kind. It is lower for a file of few keys, whose
// design must not take longer than all else.
constexpr size_t kMaxOfKind = 256;
constexpr size_t kMinOfKind = 64;
// A handful of keys gives no more different ones than this number for each.
constexpr size_t kMaxOfKindPerKey = 2;
constexpr size_t kKeysPerQuery = 32;
// The prior has little weight beside many samples, and need not be exact.
constexpr size_t kManySamples = 1000;
constexpr size_t kMaxBesideSamples = 32;
// The factor for queries with a promise, since that is a low rate.
constexpr double kPartsOfPromise = 4;
// The usual number of queries of a kind.
size_t QueriesOfKind(size_t num_keys, size_t num_samples) {
  return std::min(
      {std::max(num_keys / kKeysPerQuery, kMinOfKind),
       kMaxOfKindPerKey * num_keys,
       num_samples < kManySamples ? kMaxOfKind : kMaxBesideSamples});
}

// A key in whose place a query may be, and the bits that it shares with the
// nearer of its neighbors.
struct PlaceOfKey {
  uint32_t level;
  size_t index;
};

// Keys from all of `count` parts of the file, those first that share most.
std::vector<PlaceOfKey> FindPlaces(size_t count, PriorSource* source) {
  std::vector<PlaceOfKey> places;
  for (size_t i = 0; i < count; i++) {
    const size_t index = source->random.IndexIn(i, count, source->keys.size());
    places.push_back({SharedWithNeighbors(source->keys, index), index});
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const PlaceOfKey& a, const PlaceOfKey& b) {
                     return a.level > b.level;
                   });
  return places;
}

// A point that shares `shared` bits with the nearest key, and has this length.
LocatedQuery PointThatShares(uint32_t shared, size_t bytes) {
  LocatedQuery query = {};
  query.lo_shared = shared;
  query.hi_shared = shared;
  query.bounds_shared = kAllBits;
  query.bytes = static_cast<uint32_t>(bytes);
  return query;
}

// Mixes the kinds of queries (prior_queries.h) by their weights.
class PriorMixture {
 public:
  PriorMixture(const KeyStore& keys, const KeyStatistics& statistics,
               size_t num_samples, bool prefixes_only)
      : source_(keys, statistics, prefixes_only),
        of_kind_(QueriesOfKind(keys.size(), num_samples)) {}

  std::vector<LocatedQuery> Make() {
    AddPointsAlike(2);
    AddPointsAfter();
    AddRanges();
    for (LocatedQuery& query : queries_) {
      // Sums of weights of 24 bits are exact, in any order.
      query.weight = static_cast<float>(
          query.weight * static_cast<float>(kPriorSamples / all_));
    }
    return std::move(queries_);
  }

 private:
  // The number of queries of a kind that has this factor.
  size_t CountOf(double parts) const {
    return static_cast<size_t>(
        std::ceil(parts * static_cast<double>(of_kind_)));
  }

  // Adds the query that a key gives, if it gives one.
  bool AddQuery(QueryMaker make, size_t index) {
    LocatedQuery query;
    if (!make(index, &source_, &query)) return false;
    queries_.push_back(query);
    return true;
  }

  // Makes the queries of a kind, which have this weight together, even where
  // not all can be made.
  void AddKind(QueryMaker make, double weight, double parts = 1) {
    const size_t begin = queries_.size();
    const size_t count = CountOf(parts);
    for (size_t i = 0; i < count; i++) {
      AddQuery(make, source_.random.IndexIn(i, count, source_.keys.size()));
    }
    const size_t made = queries_.size() - begin;
    if (made == 0) return;
    all_ += weight;
    for (size_t i = begin; i < queries_.size(); i++) {
      queries_[i].weight =
          static_cast<float>(weight / static_cast<double>(made));
    }
  }

  // Adds queries in place of keys. Few keys are so close to others that a query
  // there is hard to resolve, but these decide between designs of low rates. So
  // every fourth query is in place of one of the closest keys of a larger
  // number, and has less weight.
  void AddInPlace(QueryMaker make, double weight, double parts) {
    constexpr size_t kMoreKeys = 8;
    if (places_.empty()) places_ = FindPlaces(kMoreKeys * of_kind_, &source_);
    const size_t count = CountOf(parts);
    const size_t closest = count / 4;
    const size_t step = (places_.size() - closest) / (count - closest);
    std::vector<uint32_t> levels;
    for (size_t i = 0; i < places_.size(); i += i < closest ? 1 : step) {
      if (AddQuery(make, places_[i].index)) levels.push_back(places_[i].level);
    }
    if (!levels.empty()) SetWeights(levels, weight);
  }

  // Weighs the last queries, whose levels these are.
  void SetWeights(const std::vector<uint32_t>& levels, double weight) {
    const std::vector<float> weights =
        WeighByLevel(levels, weight, source_.statistics);
    const size_t begin = queries_.size() - weights.size();
    for (size_t i = 0; i < weights.size(); i++) {
      queries_[begin + i].weight = weights[i];
    }
    all_ += weight;
  }

  // Points like the keys. One query stands for all keys of a level if nothing
  // else of a point counts.
  void AddPointsAlike(double weight) {
    if (source_.prefixes_only) {
      AddKind(MakePointAlike, weight, kPartsOfPromise);
      return;
    }
    std::vector<uint32_t> levels;
    if (source_.statistics.shortest_key() != source_.statistics.longest_key()) {
      // The length of a key counts, too.
      const auto count = static_cast<size_t>(kPartsOfPromise) * of_kind_;
      for (size_t i = 0; i < count; i++) {
        if (AddQuery(MakePointAlike,
                     source_.random.IndexIn(i, count, source_.keys.size()))) {
          levels.push_back(queries_.back().shared());
        }
      }
    } else {
      levels = LevelsOf(source_.statistics);
      for (uint32_t bits : levels) {
        queries_.push_back(
            PointThatShares(bits, source_.statistics.longest_key()));
        queries_.back().promised = true;
      }
    }
    if (!levels.empty()) SetWeights(levels, weight);
  }

  // In text and printed numbers, points after a key are promised too. Then
  // their weight says how much worse they may be than the others.
  void AddPointsAfter() {
    switch (source_.form) {
      case KeyForm::kNumber:
        AddKind(MakePointAfter, 0.5);
        break;
      case KeyForm::kRecord:
      case KeyForm::kFields:
        AddKind(MakePointAfter, 0.05);
        break;
      case KeyForm::kDigits:
        AddKind(MakePointAfter, 0.1, kPartsOfPromise);
        break;
      case KeyForm::kText:
        AddKind(MakePointAfter, 0.18, kPartsOfPromise);
        break;
    }
  }

  // Marks the queries from that of index `begin` on as a kind of their own if
  // they weigh enough. Windows and scans of fields are not to be alike: one
  // entity and its times need prefixes of different lengths.
  void MarkKind(size_t begin, double weight) {
    constexpr double kMinWeight = 1;
    const bool has_fields =
        source_.form == KeyForm::kFields || source_.form == KeyForm::kRecord;
    if (weight < kMinWeight || has_fields) return;
    kind_++;
    for (size_t i = begin; i < queries_.size(); i++) queries_[i].kind = kind_;
  }

  void AddRanges() {
    const auto alike = [&](QueryMaker make, double weight, double parts) {
      const size_t begin = queries_.size();
      AddInPlace(make, weight, parts);
      MarkKind(begin, weight);
    };
    const auto other = [&](QueryMaker make, double weight, double parts) {
      const size_t begin = queries_.size();
      AddKind(make, weight, parts);
      MarkKind(begin, weight);
    };
    switch (source_.form) {
      case KeyForm::kNumber:
        alike(MakeRangeAlike, 6, 2);
        other(MakeRangeSpread, 2, 1);
        other(MakeRangeAfter, 4, 2);
        break;
      case KeyForm::kRecord:
        alike(MakeRangeAlike, 6, 2);
        alike(MakePrefixScan, 2, 1);
        other(MakeFieldScan, 4, 1);
        other(MakeRangeSpread, 0.5, 1);
        break;
      case KeyForm::kDigits:
        alike(MakeRangeAlike, 6, 1);
        alike(MakePrefixScan, 2, 1);
        other(MakeRangeAfter, 0.5, 1);
        break;
      case KeyForm::kFields:
        alike(MakeRangeAlike, 6, 2);
        alike(MakePrefixScan, 4, 1);
        other(MakeFieldScan, 0.1, 1);
        break;
      case KeyForm::kText:
        alike(MakeSibling, 6, 1);
        alike(MakePrefixScan, 2, 1);
        other(MakeFieldScan, 0.9, 1);
        break;
    }
  }

  PriorSource source_;
  const size_t of_kind_;
  std::vector<LocatedQuery> queries_;
  std::vector<PlaceOfKey> places_;
  double all_ = 0;    // the weight of all kinds so far
  uint8_t kind_ = 0;  // the last one that was marked
};

}  // namespace

std::vector<LocatedQuery> MakePrior(const KeyStore& keys,
                                    const KeyStatistics& statistics,
                                    size_t num_samples, bool prefixes_only) {
  if (keys.size() == 0) return {};
  return PriorMixture(keys, statistics, num_samples, prefixes_only).Make();
}

void FilePrior::MakeFor(size_t num_samples) {
  const bool many_samples = num_samples >= kManySamples;
  if (many_samples_ == many_samples) return;
  many_samples_ = many_samples;
  queries_ = MakePrior(keys_, statistics_, num_samples, prefixes_only_);
}

}  // namespace ROCKSDB_NAMESPACE::protean
