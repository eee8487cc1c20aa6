// SPDX-License-Identifier: Apache-2.0

//  DesignSearch::SearchPairs: algorithm 1 of the Proteus paper (section 4.3),
//  the search through all pairs (l1, l2) of a trie and a set.

#include <algorithm>
#include <cmath>

#include "filter_policy/proteus/model/prefix_counts.h"
#include "filter_policy/proteus/search/design_search.h"
#include "filter_policy/proteus/search/rough_plan.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Bins of prefix counts: bin i is for counts in [2^(i-1), 2^i).
constexpr size_t kBins = 11;
static_assert(kMaxPrefixProbes < 1 << (kBins - 1));

// Rounding leaves a little of sums that should be zero.
double WithoutRounding(double weight) {
  // No query weighs less.
  constexpr double kNoWeight = 1e-9;
  return weight < kNoWeight ? 0 : weight;
}

size_t BinOf(uint64_t prefixes) {
  return 64 - static_cast<size_t>(__builtin_clzll(prefixes));
}

}  // namespace

// The lengths ascend; a first length of 0 means no trie.
void DesignSearch::SearchPairs(const std::vector<uint32_t>& first_lengths,
                               const std::vector<uint32_t>& lengths,
                               uint64_t bytes,
                               std::vector<DesignCandidate>* found) const {
  struct Bin {
    double prefixes = 0;
    double queries = 0;
  };
  const ByteAlphabets& alphabets = statistics_.alphabets();
  const QuerySample& sample =
      judge_.SampleOf(judge_.StepFor(kFirstRoundQueries));
  const size_t num_first = first_lengths.size();
  const size_t num_lengths = lengths.size();
  const auto end_of = [](const std::vector<uint32_t>& some, uint32_t bits) {
    return static_cast<size_t>(
        std::upper_bound(some.begin(), some.end(), bits) - some.begin());
  };
  // For each pair, the queries that test prefixes, with those that test too
  // many in the last bin. A query that is the same for successive first lengths
  // is entered at the first of them, and taken off after the last.
  std::vector<Bin> bins((num_first + 1) * num_lengths * kBins);
  auto count = [&](size_t first, size_t end_first, size_t length, double weight,
                   uint64_t prefixes) {
    if (prefixes == 0) return;
    const size_t number = BinOf(prefixes);
    const double all = weight * static_cast<double>(prefixes);
    Bin& enter = bins[(first * num_lengths + length) * kBins + number];
    enter.prefixes += all;
    enter.queries += weight;
    Bin& leave = bins[(end_first * num_lengths + length) * kBins + number];
    leave.prefixes -= all;
    leave.queries -= weight;
  };
  // Queries that test one prefix, or too many, at successive lengths, too. They
  // are taken off after the last of these as well.
  const size_t row_size = num_lengths + 1;
  std::vector<double> single((num_first + 1) * row_size);
  std::vector<double> too_many((num_first + 1) * row_size);
  const auto enter = [&](size_t first, size_t end_first, size_t length,
                         size_t end_length, double weight,
                         std::vector<double>* where) {
    (*where)[first * row_size + length] += weight;
    (*where)[first * row_size + end_length] -= weight;
    (*where)[end_first * row_size + length] -= weight;
    (*where)[end_first * row_size + end_length] += weight;
  };
  for (size_t c = 0; c < sample.num_before_points; c++) {
    const QueryClass& alike = sample.classes[c];
    const LocatedQuery& any = sample.queries[alike.begin];
    const size_t begin_length = end_of(lengths, any.shared());
    const size_t end_single =
        std::max(begin_length, end_of(lengths, any.bounds_shared));
    const size_t end_first = end_of(first_lengths, any.shared());
    const size_t end_common =
        std::min(end_first, end_of(first_lengths, any.bounds_shared));
    enter(0, end_common, begin_length, end_single, alike.weight, &single);
    // Longer prefixes are at least as many.
    const auto count_from = [&](size_t first, size_t past_first, size_t begin,
                                const auto& number_of, double weight) {
      for (size_t j = begin; j < num_lengths; j++) {
        const uint64_t prefixes = number_of(lengths[j]);
        if (prefixes > kMaxPrefixProbes) {
          enter(first, past_first, j, num_lengths, weight, &too_many);
          return;
        }
        count(first, past_first, j, weight, prefixes);
      }
    };
    for (size_t q = alike.begin; q < alike.end; q++) {
      const LocatedQuery& query = sample.queries[q];
      if (end_common > 0) {
        count_from(
            0, end_common, end_single,
            [&](uint32_t bits) { return CountAll(query, alphabets, bits); },
            query.weight);
      }
      for (size_t i = end_common; i < end_first; i++) {
        count_from(
            i, i + 1, std::max(end_single, end_of(lengths, first_lengths[i])),
            [&](uint32_t bits) {
              return CountTested(query, alphabets, first_lengths[i], bits);
            },
            query.weight);
      }
    }
  }
  const double total = sample.shared.total();
  const double points =
      model_.points().total() / static_cast<double>(sample.step) / total;
  // What shares at least the bits of each length.
  struct Shares {
    double all;
    double promised;
    double points;
  };
  const auto shares_of = [&](uint32_t bits) -> Shares {
    return {sample.shared.AtLeast(bits), sample.promised_shared.AtLeast(bits),
            model_.points().AtLeast(bits)};
  };
  std::vector<Shares> shares;
  shares.reserve(num_lengths);
  for (uint32_t bits : lengths) shares.push_back(shares_of(bits));
  // No design that costs more is among the best.
  LeastCosts least(2 * kFinalists);

  for (size_t i = 0; i < num_first; i++) {
    if (i > 0) {
      // Adds the queries that were entered at an earlier first length.
      const size_t row = num_lengths * kBins;
      for (size_t k = 0; k < row; k++) {
        bins[i * row + k].prefixes += bins[(i - 1) * row + k].prefixes;
        bins[i * row + k].queries += bins[(i - 1) * row + k].queries;
      }
      for (size_t j = 0; j < row_size; j++) {
        single[i * row_size + j] += single[(i - 1) * row_size + j];
        too_many[i * row_size + j] += too_many[(i - 1) * row_size + j];
      }
    }
    const Shares reached = shares_of(first_lengths[i]);
    const uint32_t first = first_lengths[i];
    KeyStatistics::TrieSize size;
    if (first > 0) size = judge_.SizeOfTrie(first, bytes);
    if (size.bytes > bytes) continue;
    DesignCandidate candidate;
    candidate.trie_bytes = size.bytes;
    candidate.design.trie_bits = first;
    candidate.design.trie_lead = size.lead;
    if (first > 0) {
      candidate.fpr = reached.all + judge_.Penalty(reached.promised, bytes);
      least.Add(CostOf(candidate, price_));
      found->push_back(candidate);
    }
    // Many lengths have as many prefixes as the one before, and equal sets.
    struct Planned {
      uint64_t hashes = 0;
      AmqPlan plan;
    };
    std::vector<Planned> planned(kinds_.size());
    double sum_single = 0;
    double sum_too_many = 0;
    for (size_t j = 0; j < num_lengths; j++) {
      sum_single += single[i * row_size + j];
      sum_too_many += too_many[i * row_size + j];
      if (lengths[j] <= first) continue;
      const double now_single = WithoutRounding(sum_single);
      const double now_too_many = WithoutRounding(sum_too_many);
      // Queries that share all of the prefix with a key are false positives for
      // certain, as are those that test too many.
      const double certain = shares[j].all + now_too_many / total;
      if (certain > least.Most()) continue;
      const uint64_t hashes = statistics_.Prefixes(lengths[j]);
      candidate.design.prefix_bits = lengths[j];
      const Bin* counts = &bins[(i * num_lengths + j) * kBins];
      // A promised point tests one prefix.
      const double one =
          points * (reached.points - shares[j].points) + now_single / total;
      for (size_t kind = 0; kind < kinds_.size(); kind++) {
        candidate.design.amq = kinds_[kind];
        if (planned[kind].hashes != hashes) {
          planned[kind] = {hashes,
                           RoughPlan(kinds_[kind], hashes, bytes - size.bytes)};
        }
        const AmqPlan& plan = planned[kind].plan;
        if (plan.false_positive_rate > kUselessRate) continue;
        double sum = certain + one * plan.false_positive_rate;
        if (sum > least.Most()) continue;
        const double log_negative = std::log1p(-plan.false_positive_rate);
        candidate.TestApart(one);
        for (size_t k = 1; k < kBins; k++) {
          if (WithoutRounding(counts[k].queries) == 0) continue;
          const double share = counts[k].queries / total;
          candidate.prefixes += counts[k].prefixes / total;
          candidate.runs += share;
          sum -= share * std::expm1(counts[k].prefixes / counts[k].queries *
                                    log_negative);
        }
        const double shared = shares[j].promised;
        candidate.fpr =
            sum + judge_.Penalty(shared + (reached.promised - shared) *
                                              plan.false_positive_rate,
                                 bytes);
        const double cost = CostOf(candidate, price_);
        if (cost > least.Most()) continue;
        least.Add(cost);
        found->push_back(candidate);
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
