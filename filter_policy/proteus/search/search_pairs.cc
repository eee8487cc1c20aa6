// SPDX-License-Identifier: Apache-2.0

//  DesignSearch::SearchPairs: algorithm 1 of the Proteus paper (section 4.3),
//  the search through all pairs (l1, l2) of a trie and a set.

#include <cmath>

#include "filter_policy/proteus/search/design_search.h"
#include "filter_policy/proteus/search/pair_counts.h"
#include "filter_policy/proteus/search/rough_plan.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The shares of the queries that share at least some number of bits with a key:
// of all, of those that are promised, and of the promised points.
struct Shares {
  double all;
  double promised;
  double points;
};

// The set of the last length. Many lengths have as many prefixes as the one
// before, and equal sets.
struct Planned {
  uint64_t hashes = 0;
  AmqPlan plan;
};

// Adds the queries of a pair's bins to the candidate's false positive rate, and
// to what it tests. `total` is the weight of all queries.
void AddBins(const PairCounts::Bin* bins, double total, double rate_of_set,
             DesignCandidate* candidate) {
  const double log_negative = std::log1p(-rate_of_set);
  for (size_t k = 1; k < PairCounts::kBins; k++) {
    if (WithoutRounding(bins[k].queries) == 0) continue;
    const double share = bins[k].queries / total;
    candidate->prefixes += bins[k].prefixes / total;
    candidate->runs += share;
    candidate->fpr -=
        share * std::expm1(bins[k].prefixes / bins[k].queries * log_negative);
  }
}

}  // namespace

// The lengths ascend; a first length of 0 means no trie.
void DesignSearch::SearchPairs(const std::vector<uint32_t>& first_lengths,
                               const std::vector<uint32_t>& lengths,
                               uint64_t bytes,
                               std::vector<DesignCandidate>* found) const {
  const QuerySample& sample =
      judge_.SampleOf(judge_.StepFor(kFirstRoundQueries));
  const PairCounts counts(sample, statistics_.alphabets(), first_lengths,
                          lengths);
  const double total = sample.shared.total();
  const double points =
      model_.points().total() / static_cast<double>(sample.step) / total;
  const auto shares_of = [&](uint32_t bits) -> Shares {
    return {sample.shared.AtLeast(bits), sample.promised_shared.AtLeast(bits),
            model_.points().AtLeast(bits)};
  };
  std::vector<Shares> shares;
  shares.reserve(lengths.size());
  for (uint32_t bits : lengths) shares.push_back(shares_of(bits));
  // No design that costs more is among the best.
  LeastCosts least(2 * kFinalists);

  for (size_t i = 0; i < first_lengths.size(); i++) {
    const uint32_t first = first_lengths[i];
    KeyStatistics::TrieSize size;
    if (first > 0) size = judge_.SizeOfTrie(first, bytes);
    if (size.bytes > bytes) continue;
    const Shares reached = shares_of(first);
    DesignCandidate candidate;
    candidate.trie_bytes = size.bytes;
    candidate.design.trie_bits = first;
    candidate.design.trie_lead = size.lead;
    if (first > 0) {
      candidate.fpr = reached.all + judge_.Penalty(reached.promised, bytes);
      least.Add(CostOf(candidate, price_));
      found->push_back(candidate);
    }
    std::vector<Planned> planned(kinds_.size());
    for (size_t j = 0; j < lengths.size(); j++) {
      if (lengths[j] <= first) continue;
      // Queries that share all of the prefix with a key are false positives for
      // certain, as are those that test too many.
      const double certain = shares[j].all + counts.TooManyOf(i, j) / total;
      if (certain > least.Most()) continue;
      const uint64_t hashes = statistics_.Prefixes(lengths[j]);
      candidate.design.prefix_bits = lengths[j];
      // A promised point tests one prefix.
      const double one = points * (reached.points - shares[j].points) +
                         counts.SingleOf(i, j) / total;
      for (size_t kind = 0; kind < kinds_.size(); kind++) {
        candidate.design.amq = kinds_[kind];
        if (planned[kind].hashes != hashes) {
          planned[kind] = {hashes,
                           RoughPlan(kinds_[kind], hashes, bytes - size.bytes)};
        }
        const double rate = planned[kind].plan.false_positive_rate;
        if (rate > kUselessRate) continue;
        candidate.fpr = certain + one * rate;
        if (candidate.fpr > least.Most()) continue;
        candidate.TestApart(one);
        AddBins(counts.BinsOf(i, j), total, rate, &candidate);
        const double shared = shares[j].promised;
        candidate.fpr +=
            judge_.Penalty(shared + (reached.promised - shared) * rate, bytes);
        const double cost = CostOf(candidate, price_);
        if (cost > least.Most()) continue;
        least.Add(cost);
        found->push_back(candidate);
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
