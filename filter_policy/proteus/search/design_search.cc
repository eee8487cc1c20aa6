// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/search/design_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "filter_policy/proteus/search/lengths.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Shares of the memory that a key set beside a series gets.
constexpr double kSeriesKeyShares[] = {0, 0.5};
constexpr size_t kMaxPrefixLengths = 96;

}  // namespace

ProteusDesign DesignSearch::Choose(DesignSpace space, uint64_t bytes) const {
  if (promising_ > 0) return ChooseBesideKeys(space, bytes);
  std::vector<DesignCandidate> found;
  if (model_.queries().empty()) {
    // There is nothing to go by: all bits of the keys are the same, say.
    AddWholeKeys(bytes, &found);
    return found.front().design;
  }
  const std::vector<uint32_t> tries =
      space == DesignSpace::kProteus && tries_
          ? TrieLengths(statistics_, judge_, bytes)
          : std::vector<uint32_t>{0};
  const uint32_t max_bits = statistics_.max_bits();
  const std::vector<uint32_t> lengths =
      SpreadLengths(1, max_bits, kMaxPrefixLengths);
  SearchPairs(tries, lengths, bytes, &found);
  KeepBest(kFinalists, price_, &found);
  if (lengths.size() < max_bits && !found.empty()) {
    // The second round takes all lengths around the best one.
    const uint32_t spacing =
        max_bits / static_cast<uint32_t>(lengths.size()) + 1;
    const uint32_t best = found.front().design.prefix_bits;
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
    for (double key_share : kSeriesKeyShares) {
      if (key_share == 0 || key_sets_) {
        SearchSeries(bytes, key_share, &found);
      }
    }
  }
  if (statistics_.longest_key() > max_bits / 8) AddWholeKeys(bytes, &found);
  // Proteus may also be 2PBF if nothing else is good.
  constexpr double kGood = 0.002;
  double least = 1;
  for (const DesignCandidate& candidate : found) {
    least = std::min(least, candidate.fpr);
  }
  if (space == DesignSpace::kTwoPrefixFilters ||
      (space == DesignSpace::kProteus && two_sets_ && least > kGood)) {
    SearchTwoSets(bytes, &found);
  }
  KeepBest(kFinalists, price_, &found);
  if (space == DesignSpace::kProteus && key_sets_) {
    SearchKeySets(bytes, &found);
    KeepBest(kFinalists, price_, &found);
  }

  Race(bytes, &found);
  KeepBest(kFinalists, price_, &found);
  // The bytes may be too few for anything.
  if (found.empty()) return ProteusDesign();
  const double most = found.front().fpr + MaxRateForTime(price_);
  const DesignCandidate* best = &found.front();
  for (const DesignCandidate& candidate : found) {
    if (candidate.fpr <= most &&
        CostOf(candidate, price_) < CostOf(*best, price_)) {
      best = &candidate;
    }
  }
  return best->design;
}

// A set of whole keys, as in a plain Bloom filter, however long the keys are.
void DesignSearch::AddWholeKeys(uint64_t bytes,
                                std::vector<DesignCandidate>* found) const {
  for (AmqKind kind : kinds_) {
    DesignCandidate candidate;
    candidate.design.amq = kind;
    candidate.design.prefix_bits = static_cast<uint32_t>(
        8 * std::max<size_t>(statistics_.longest_key(), 1));
    candidate.TestApart(1);
    judge_.Evaluate(bytes, kAllQueries, &candidate);
    found->push_back(candidate);
  }
}

// All queries decide between the candidates that some of them do not tell
// apart; the others are dropped.
void DesignSearch::Race(uint64_t bytes,
                        std::vector<DesignCandidate>* found) const {
  // Penalties make it more than one where nothing keeps the promise.
  double best = std::numeric_limits<double>::infinity();
  for (DesignCandidate& candidate : *found) {
    judge_.Evaluate(bytes, kRaceQueries, &candidate);
    best = std::min(best, candidate.fpr);
  }
  // Twice the standard error of a rate.
  const double rate = std::min(best, 1.0);
  const double error =
      2 * std::sqrt(rate * (1 - rate) / static_cast<double>(kRaceQueries));
  const double most = best + MaxRateForTime(price_) + error;
  found->erase(
      std::remove_if(found->begin(), found->end(),
                     [&](const DesignCandidate& c) { return c.fpr > most; }),
      found->end());
  for (DesignCandidate& candidate : *found) {
    judge_.Evaluate(bytes, kAllQueries, &candidate);
    CountTests(bytes, &candidate);
  }
}

void DesignSearch::AddSecondLayer(uint64_t set_bytes,
                                  ProteusDesign* design) const {
  constexpr uint32_t kNearest = 64;
  const ProteusDesign alone = *design;
  DesignCandidate candidate;
  candidate.design = alone;
  judge_.Evaluate(set_bytes, kFirstRoundQueries, &candidate);
  double best = candidate.fpr;
  const uint32_t last =
      std::min(alone.trie_bits + kNearest, statistics_.max_bits());
  for (uint32_t bits = alone.trie_bits + 1; bits <= last; bits++) {
    candidate.design.prefix_bits = bits;
    for (AmqKind kind : kinds_) {
      candidate.design.amq = kind;
      const PrefixSets sets =
          PlanPrefixSets(candidate.design, statistics_, set_bytes);
      if (sets.second.false_positive_rate > kUselessRate) continue;
      judge_.EvaluateSets(sets, set_bytes, kFirstRoundQueries, &candidate);
      if (candidate.fpr < best) {
        best = candidate.fpr;
        *design = candidate.design;
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
