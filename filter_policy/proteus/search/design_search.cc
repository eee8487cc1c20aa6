// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/search/design_search.h"

#include <algorithm>
#include <limits>

namespace ROCKSDB_NAMESPACE::protean {

ProteusDesign DesignSearch::Choose(DesignSpace space, uint64_t bytes,
                                   bool allow_tries) const {
  if (promising_ > 0) return ChooseBesideKeys(space, bytes, allow_tries);
  std::vector<DesignCandidate> found;
  // A set of whole keys, as in a plain Bloom filter, however long the keys are.
  const auto add_whole_keys = [&] {
    const size_t size = std::max<size_t>(statistics_.longest_key(), 1);
    AddOfEachKind(Layer::Prefixes(static_cast<uint32_t>(8 * size)),
                  /*key_share=*/0, /*tests=*/1, bytes, kAllQueries, &found);
  };
  if (model_.queries().empty()) {
    // There is nothing to go by: all bits of the keys are the same, say.
    add_whole_keys();
    return found.front().design;
  }
  const std::vector<uint32_t> tries =
      space == DesignSpace::kProteus && allow_tries ? judge_.TrieLengths(bytes)
                                                    : std::vector<uint32_t>{0};
  const uint32_t max_bits = statistics_.max_bits();
  constexpr size_t kMaxPrefixLengths = 96;
  const std::vector<uint32_t> lengths =
      SpreadLengths(1, max_bits, kMaxPrefixLengths);
  const bool has_key_sets = space == DesignSpace::kProteus && allow_key_sets_;
  std::vector<DesignCandidate> broken;
  SearchPairs(tries, lengths, bytes, &found, has_key_sets ? &broken : nullptr);
  // A set of whole keys may keep what these break.
  AddKeySets(broken, {0.15, 0.3, 0.6}, bytes, &found);
  KeepBest(kFinalists, demand_, &found);
  if (lengths.size() < max_bits && !found.empty()) {
    // The second round takes all lengths around the best one.
    const uint32_t spacing =
        max_bits / static_cast<uint32_t>(lengths.size()) + 1;
    const uint32_t best = found.front().design.prefix_bits();
    if (best > 0) {
      SearchPairs(
          tries,
          SpreadLengths(best > spacing ? best - spacing : 1,
                        std::min(best + spacing, max_bits), 2 * spacing + 1),
          bytes, &found);
    }
  }
  if (space == DesignSpace::kProteus &&
      statistics_.longest_key() != statistics_.shortest_key()) {
    SearchSeries(bytes, /*key_share=*/0, &found);
    if (allow_key_sets_) SearchSeries(bytes, /*key_share=*/0.5, &found);
  }
  if (statistics_.longest_key() > max_bits / 8) add_whole_keys();
  // Proteus may also be 2PBF if nothing else is good.
  constexpr double kGood = 0.002;
  if (space == DesignSpace::kTwoPrefixFilters ||
      (space == DesignSpace::kProteus && allow_two_sets_ &&
       LeastRate(found) > kGood)) {
    SearchTwoSets(bytes, &found);
  }
  KeepBest(kFinalists, demand_, &found);
  if (has_key_sets) {
    // The designs found so far get a set of whole keys, in a part of the memory
    // of their sets; and such a set is tried alone.
    std::vector<DesignCandidate> with_keys = found;
    for (AmqKind kind : kinds_) {
      with_keys.emplace_back().design.amq = kind;
      with_keys.back().TestApart(1);
    }
    AddKeySets(with_keys,
               {0.1, 0.15, 0.2, 0.25, 0.3, 0.34, 0.37, 0.4, 0.45, 0.5, 0.6},
               bytes, &found);
    KeepBest(kFinalists, demand_, &found);
  }

  Race(bytes, &found);
  KeepBest(kFinalists, demand_, &found);
  // The bytes may be too few for anything.
  if (found.empty()) return ProteusDesign();
  return BestWithin(found, demand_.MaxRateForTime(), demand_).design;
}

void DesignSearch::AddOfEachKind(const Layer& layer, double key_share,
                                 double tests, uint64_t bytes,
                                 size_t num_queries,
                                 std::vector<DesignCandidate>* found) const {
  for (AmqKind kind : kinds_) {
    DesignCandidate& candidate = found->emplace_back();
    candidate.design = {{layer}, kind};
    if (key_share > 0) candidate.design.AddKeys(key_share);
    candidate.TestApart(tests);
    judge_.Evaluate(bytes, num_queries, &candidate);
  }
}

// All queries decide between the candidates that some of them do not tell
// apart; the others are dropped.
void DesignSearch::Race(uint64_t bytes,
                        std::vector<DesignCandidate>* found) const {
  for (DesignCandidate& candidate : *found) {
    judge_.Evaluate(bytes, kRaceQueries, &candidate);
  }
  const double best = LeastRate(*found);
  const double most =
      best + demand_.MaxRateForTime() + TwoStandardErrors(best, kRaceQueries);
  found->erase(
      std::remove_if(found->begin(), found->end(),
                     [&](const DesignCandidate& c) { return c.fpr > most; }),
      found->end());
  for (DesignCandidate& candidate : *found) {
    judge_.Evaluate(bytes, kAllQueries, &candidate);
    CountTests(bytes, &candidate);
  }
}

void DesignSearch::AddKeySets(const std::vector<DesignCandidate>& designs,
                              const std::vector<double>& shares, uint64_t bytes,
                              std::vector<DesignCandidate>* found) const {
  for (DesignCandidate candidate : designs) {
    ProteusDesign& design = candidate.design;
    if (design.first_prefix_bits() > 0) continue;
    if (design.keys() == nullptr) design.AddKeys(0);
    for (double share : shares) {
      design[0].share = share *
                        static_cast<double>(bytes - candidate.trie_bytes) /
                        static_cast<double>(bytes);
      constexpr size_t kKeySetQueries = 512;
      judge_.Evaluate(bytes, kKeySetQueries, &candidate);
      found->push_back(candidate);
    }
  }
}

DesignCandidate DesignSearch::BesideKeys(const DesignSearch& ranges,
                                         DesignSpace space, uint64_t key_bytes,
                                         uint64_t bytes,
                                         bool allow_tries) const {
  DesignCandidate candidate;
  ProteusDesign& design = candidate.design;
  design = ranges.Choose(space, bytes - key_bytes, allow_tries);
  design.amq = ranges.kinds_.front();
  design.AddKeys(static_cast<double>(key_bytes) / static_cast<double>(bytes));
  design.LeaveToRanges();
  if (design.trie_bits() > 0) {
    candidate.trie_bytes = judge_.SizeOfTrie(design.trie_bits(), bytes).bytes;
  }
  candidate.TestApart(design.prefix_bits() > 0 ? kUsualPrefixes : 1);
  judge_.Evaluate(bytes, kAllQueries, &candidate);
  CountTests(bytes, &candidate);
  return candidate;
}

// Points and ranges have nothing in common but the memory, so the layers for
// ranges are chosen by themselves. Where there are samples, the layers that
// suit the first share show which one is better.
ProteusDesign DesignSearch::ChooseBesideKeys(DesignSpace space, uint64_t bytes,
                                             bool allow_tries) const {
  constexpr double kOfPromise[] = {0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.2};
  // The most that the set of whole keys may take.
  const uint64_t most_for_keys = bytes - bytes / 4;
  const double promised_rate = judge_.PromisedRate(promising_);
  const CpfprModel ranges = model_.Ranges();
  std::vector<DesignCandidate> found;
  for (AmqKind kind : kinds_) {
    DesignSearch search(ranges, {kind}, demand_);
    search.allow_key_sets_ = false;
    search.allow_two_sets_ = false;
    const uint64_t promised =
        FirstWhere(0, most_for_keys, [&](uint64_t key_bytes) {
          return PlanAmq(kind, statistics_.num_keys(), key_bytes)
                     .false_positive_rate <= promised_rate;
        });
    found.push_back(BesideKeys(search, space, promised, bytes, allow_tries));
    if (model_.num_samples() == 0) continue;
    const DesignCandidate first = found.back();
    DesignCandidate best = first;
    uint64_t best_bytes = promised;
    for (double of_promise : kOfPromise) {
      const auto key_bytes =
          static_cast<uint64_t>(of_promise * static_cast<double>(promised));
      if (key_bytes > most_for_keys || first.trie_bytes + key_bytes > bytes) {
        continue;
      }
      DesignCandidate next = first;
      next.design[0].share =
          static_cast<double>(key_bytes) / static_cast<double>(bytes);
      judge_.Evaluate(bytes, kRaceQueries, &next);
      if (next.fpr >= best.fpr) continue;
      best = next;
      best_bytes = key_bytes;
    }
    if (best_bytes != promised) {
      found.push_back(
          BesideKeys(search, space, best_bytes, bytes, allow_tries));
    }
  }
  return BestWithin(found,
                    demand_.price < kUsualPrice
                        ? demand_.MaxRateForTime()
                        : std::numeric_limits<double>::infinity(),
                    demand_)
      .design;
}

// Series of prefixes for keys of different lengths, in whole bytes.
void DesignSearch::SearchSeries(uint64_t bytes, double key_share,
                                std::vector<DesignCandidate>* found) const {
  constexpr uint32_t kStrides[] = {1, 2, 3, 4, 6, 8};
  constexpr size_t kSeriesStarts = 16;
  std::vector<DesignCandidate> series;
  // The grid ends at the length of most queries: one long key must not make it
  // coarse.
  std::vector<uint32_t> query_bytes;
  for (const LocatedQuery& query : model_.queries()) {
    query_bytes.push_back(query.bytes);
  }
  const auto most = query_bytes.begin() + query_bytes.size() * 99 / 100;
  std::nth_element(query_bytes.begin(), most, query_bytes.end());
  const uint32_t longest = std::min(*most + 1, statistics_.max_bits() / 8);
  const uint32_t spacing = std::max<uint32_t>(1, longest / 24);
  for (uint32_t stride : kStrides) {
    for (uint32_t first = 1; first < longest; first += spacing) {
      AddOfEachKind(Layer::Series(8 * first, 8 * stride), key_share,
                    kUsualPrefixes, bytes, kGridQueries, &series);
    }
  }
  KeepBest(kSeriesStarts, demand_, &series);
  // Queries that the second round looks at.
  constexpr size_t kSeriesQueries = 512;
  for (DesignCandidate& candidate : series) {
    judge_.Evaluate(bytes, kSeriesQueries, &candidate);
  }
  found->insert(found->end(), series.begin(), series.end());
}

}  // namespace ROCKSDB_NAMESPACE::protean
