// SPDX-License-Identifier: Apache-2.0

//  Designs with a set of whole keys: one that points ask first
//  (DesignSearch::SearchKeySets), or alone (DesignSearch::ChooseBesideKeys).

#include <algorithm>
#include <limits>

#include "filter_policy/proteus/search/design_search.h"
#include "filter_policy/proteus/search/rough_plan.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Queries that SearchKeySets looks at.
constexpr size_t kKeySetQueries = 512;

}  // namespace

// Gives the designs found so far a set of whole keys, in a part of the memory
// of their sets, and tries such a set alone.
void DesignSearch::SearchKeySets(uint64_t bytes,
                                 std::vector<DesignCandidate>* found) const {
  constexpr double kShares[] = {0.2, 0.25, 0.3, 0.34, 0.37,
                                0.4, 0.45, 0.5, 0.6};
  std::vector<DesignCandidate> with_key_set = *found;
  for (AmqKind kind : kinds_) {
    DesignCandidate keys_only;
    keys_only.design.amq = kind;
    keys_only.TestApart(1);
    with_key_set.push_back(keys_only);
  }
  for (DesignCandidate& candidate : with_key_set) {
    ProteusDesign& design = candidate.design;
    if (design.first_prefix_bits > 0) continue;
    design.key_set = true;
    for (double share : kShares) {
      design.first_share = share;
      const PrefixSets sets = PlanPrefixSets(
          design, statistics_, bytes - candidate.trie_bytes, RoughPlan);
      if (sets.first.false_positive_rate > kUselessRate) continue;
      judge_.EvaluateSets(sets, bytes, kKeySetQueries, &candidate);
      found->push_back(candidate);
    }
  }
}

namespace {

// The most bytes that the set of whole keys that points ask alone may take in a
// filter of `bytes` bytes.
uint64_t MostForKeys(uint64_t bytes) { return bytes - bytes / 4; }

// The false positive rate of a set of all keys in `bytes` bytes.
double RateOfKeys(AmqKind kind, uint64_t bytes,
                  const KeyStatistics& statistics) {
  return PlanAmq(kind, statistics.num_keys(), bytes).false_positive_rate;
}

}  // namespace

DesignCandidate DesignSearch::BesideKeys(const DesignSearch& ranges,
                                         DesignSpace space, uint64_t key_bytes,
                                         uint64_t bytes) const {
  DesignCandidate candidate;
  ProteusDesign& design = candidate.design;
  design = ranges.Choose(space, bytes - key_bytes);
  design.amq = ranges.kinds_.front();
  design.key_set = true;
  design.keys_alone = true;
  design.key_rate = RateOfKeys(design.amq, key_bytes, statistics_);
  if (design.trie_bits > 0) {
    candidate.trie_bytes = judge_.SizeOfTrie(design.trie_bits, bytes).bytes;
  }
  candidate.TestApart(design.prefix_bits > 0 ? kUsualPrefixes : 1);
  judge_.Evaluate(bytes, kAllQueries, &candidate);
  CountTests(bytes, &candidate);
  return candidate;
}

// Points and ranges have nothing in common but the memory, so the layers for
// ranges are chosen by themselves. Where there are samples, the layers that
// suit the first share show which one is better.
ProteusDesign DesignSearch::ChooseBesideKeys(DesignSpace space,
                                             uint64_t bytes) const {
  constexpr double kOfPromise[] = {0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.2};
  const CpfprModel ranges = model_.Ranges();
  std::vector<DesignCandidate> found;
  for (AmqKind kind : kinds_) {
    DesignSearch search(ranges, statistics_, {kind}, price_);
    search.key_sets_ = false;
    search.two_sets_ = false;
    search.tries_ = tries_;
    const uint64_t promised =
        LeastBytes(kind, statistics_.num_keys(),
                   judge_.PromisedRate(promising_), MostForKeys(bytes));
    found.push_back(BesideKeys(search, space, promised, bytes));
    if (model_.num_samples() == 0) continue;
    const DesignCandidate first = found.back();
    DesignCandidate best = first;
    uint64_t best_bytes = promised;
    for (double of_promise : kOfPromise) {
      const auto key_bytes =
          static_cast<uint64_t>(of_promise * static_cast<double>(promised));
      if (key_bytes > MostForKeys(bytes) ||
          first.trie_bytes + key_bytes > bytes) {
        continue;
      }
      DesignCandidate next = first;
      next.design.key_rate =
          RateOfKeys(next.design.amq, key_bytes, statistics_);
      judge_.Evaluate(bytes, kRaceQueries, &next);
      if (next.fpr >= best.fpr) continue;
      best = next;
      best_bytes = key_bytes;
    }
    if (best_bytes != promised) {
      found.push_back(BesideKeys(search, space, best_bytes, bytes));
    }
  }
  double most = std::numeric_limits<double>::infinity();
  if (price_ < kUsualPrice) {
    for (const DesignCandidate& candidate : found) {
      most = std::min(most, candidate.fpr + MaxRateForTime(price_));
    }
  }
  const DesignCandidate* best = nullptr;
  for (const DesignCandidate& candidate : found) {
    if (candidate.fpr <= most &&
        (best == nullptr ||
         CostOf(candidate, price_) < CostOf(*best, price_))) {
      best = &candidate;
    }
  }
  return best->design;
}

}  // namespace ROCKSDB_NAMESPACE::protean
