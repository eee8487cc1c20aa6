// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/prior.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "filter_policy/proteus/prior/prior_queries.h"

namespace ROCKSDB_NAMESPACE::protean {

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

// A key in whose place a query may be, and the bits that it shares with the
// nearer of its neighbors.
struct PlaceOfKey {
  uint32_t level;
  size_t index;
};

// A kind of queries for keys of a form.
struct QueryKind {
  KeyForm form;
  QueryMaker make;
  double weight;  // of all its queries
  double parts;   // the factor of their number
  bool in_place;  // whether they are weighed as keys are (AddInPlace)
};

// In text and printed numbers, points after a key are promised too. Then their
// weight says how much worse they may be than the others.
const QueryKind kQueryKinds[] = {
    {KeyForm::kNumber, MakePointAfter, 0.5, 1, false},
    {KeyForm::kNumber, MakeRangeAlike, 6, 2, true},
    {KeyForm::kNumber, MakeRangeSpread, 2, 1, false},
    {KeyForm::kNumber, MakeRangeAfter, 4, 2, false},
    {KeyForm::kRecord, MakePointAfter, 0.05, 1, false},
    {KeyForm::kRecord, MakeRangeAlike, 6, 2, true},
    {KeyForm::kRecord, MakePrefixScan, 2, 1, true},
    {KeyForm::kRecord, MakeFieldScan, 4, 1, false},
    {KeyForm::kRecord, MakeRangeSpread, 0.5, 1, false},
    {KeyForm::kDigits, MakePointAfter, 0.1, kPartsOfPromise, false},
    {KeyForm::kDigits, MakeRangeAlike, 6, 1, true},
    {KeyForm::kDigits, MakePrefixScan, 2, 1, true},
    {KeyForm::kDigits, MakeRangeAfter, 0.5, 1, false},
    {KeyForm::kFields, MakePointAfter, 0.05, 1, false},
    {KeyForm::kFields, MakeRangeAlike, 6, 2, true},
    {KeyForm::kFields, MakePrefixScan, 4, 1, true},
    {KeyForm::kFields, MakeFieldScan, 0.1, 1, false},
    {KeyForm::kText, MakePointAfter, 0.18, kPartsOfPromise, false},
    {KeyForm::kText, MakeSibling, 6, 1, true},
    {KeyForm::kText, MakePrefixScan, 2, 1, true},
    {KeyForm::kText, MakeFieldScan, 0.9, 1, false},
};

// Mixes the kinds of queries (prior_queries.h) by their weights.
class PriorMixture {
 public:
  PriorMixture(const KeyStore& keys, const KeyStatistics& statistics,
               size_t num_samples, bool prefixes_only)
      : source_(keys, statistics, prefixes_only),
        of_kind_(std::min(
            {std::max(keys.size() / kKeysPerQuery, kMinOfKind),
             kMaxOfKindPerKey * keys.size(),
             num_samples < kManySamples ? kMaxOfKind : kMaxBesideSamples})) {}

  std::vector<LocatedQuery> Make() {
    AddPointsAlike(2);
    for (const QueryKind& kind : kQueryKinds) {
      if (kind.form == source_.form) AddKind(kind);
    }
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

  // Adds queries of keys all over the file.
  void AddSpread(QueryMaker make, double parts) {
    const size_t count = CountOf(parts);
    for (size_t i = 0; i < count; i++) {
      AddQuery(make, source_.random.IndexIn(i, count, source_.keys.size()));
    }
  }

  // Adds the queries of a kind, which have its weight together, even where not
  // all can be made.
  void AddKind(const QueryKind& kind) {
    const size_t begin = queries_.size();
    if (kind.in_place) {
      AddInPlace(kind);
    } else {
      AddSpread(kind.make, kind.parts);
      WeighEqually(begin, kind.weight);
    }
    // Ranges are a kind of their own if they weigh enough. Windows and scans of
    // fields are not to be alike: one entity and its times need prefixes of
    // different lengths.
    constexpr double kMinWeight = 1;
    if (kind.weight < kMinWeight || kind.make == MakePointAfter ||
        source_.form == KeyForm::kFields || source_.form == KeyForm::kRecord) {
      return;
    }
    kind_++;
    for (size_t i = begin; i < queries_.size(); i++) queries_[i].kind = kind_;
  }

  // Adds queries in place of keys. Few keys are so close to others that a query
  // there is hard to resolve, but these decide between designs of low rates. So
  // every fourth query is in place of one of the closest keys of a larger
  // number, and has less weight.
  void AddInPlace(const QueryKind& kind) {
    constexpr size_t kMoreKeys = 8;
    // Keys from all parts of the file, those first that share most.
    if (places_.empty()) {
      const size_t parts = kMoreKeys * of_kind_;
      for (size_t i = 0; i < parts; i++) {
        const size_t index =
            source_.random.IndexIn(i, parts, source_.keys.size());
        places_.push_back({SharedWithNeighbors(source_.keys, index), index});
      }
      std::stable_sort(places_.begin(), places_.end(),
                       [](const PlaceOfKey& a, const PlaceOfKey& b) {
                         return a.level > b.level;
                       });
    }
    const size_t count = CountOf(kind.parts);
    const size_t closest = count / 4;
    const size_t step = (places_.size() - closest) / (count - closest);
    std::vector<uint32_t> levels;
    for (size_t i = 0; i < places_.size(); i += i < closest ? 1 : step) {
      if (AddQuery(kind.make, places_[i].index)) {
        levels.push_back(places_[i].level);
      }
    }
    WeighByLevel(levels, kind.weight);
  }

  // Gives the queries from that of index `begin` on this weight together.
  void WeighEqually(size_t begin, double weight) {
    const size_t made = queries_.size() - begin;
    if (made == 0) return;
    all_ += weight;
    for (size_t i = begin; i < queries_.size(); i++) {
      queries_[i].weight =
          static_cast<float>(weight / static_cast<double>(made));
    }
  }

  // Gives the last queries this weight together. What such a query shares with
  // the other keys, its level, decides most. The statistics know this of all
  // keys. So a query stands for all keys that share as much as its own, and for
  // those between that and the next higher level.
  void WeighByLevel(const std::vector<uint32_t>& levels, double weight) {
    if (levels.empty()) return;
    std::map<uint32_t, size_t, std::greater<uint32_t>> counts;
    for (uint32_t level : levels) counts[level]++;
    std::map<uint32_t, double> shares;
    double above = 0;
    double all = 0;
    for (const auto& [level, count] : counts) {
      const bool lowest = level == counts.rbegin()->first;
      const auto from_here = static_cast<double>(
          source_.statistics.KeysSharing(lowest ? 0 : level));
      // Keys that only differ in zeros at their ends are not counted.
      const double keys = std::max(from_here - above, 1.0);
      shares[level] = keys / static_cast<double>(count);
      above = std::max(above, from_here);
      all += keys;
    }
    size_t index = queries_.size() - levels.size();
    for (uint32_t level : levels) {
      queries_[index++].weight =
          static_cast<float>(weight * shares[level] / all);
    }
    all_ += weight;
  }

  // Points like the keys. One query stands for all keys of a level if nothing
  // else of a point counts.
  void AddPointsAlike(double weight) {
    const KeyStatistics& statistics = source_.statistics;
    std::vector<uint32_t> levels;
    if (source_.prefixes_only) {
      AddSpread(MakePointAlike, kPartsOfPromise);
      WeighEqually(0, weight);
    } else if (statistics.shortest_key() != statistics.longest_key()) {
      // The length of a key counts, too.
      AddSpread(MakePointAlike, kPartsOfPromise);
      for (const LocatedQuery& query : queries_) {
        levels.push_back(query.shared());
      }
    } else {
      for (uint32_t bits = 0; bits <= statistics.max_bits(); bits++) {
        if (statistics.KeysSharing(bits) == statistics.KeysSharing(bits + 1)) {
          continue;
        }
        levels.push_back(bits);
        LocatedQuery point = {};
        point.lo_shared = point.hi_shared = bits;
        point.bounds_shared = kAllBits;
        point.bytes = static_cast<uint32_t>(statistics.longest_key());
        point.promised = true;
        queries_.push_back(point);
      }
    }
    WeighByLevel(levels, weight);
  }

  PriorSource source_;
  const size_t of_kind_;  // the usual number of queries of a kind
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
