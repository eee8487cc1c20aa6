// SPDX-License-Identifier: Apache-2.0

//  DesignSearch::SearchPairs: algorithm 1 of the Proteus paper (section 4.3),
//  the search through all pairs (l1, l2) of a trie and a set.

#include <algorithm>
#include <cmath>

#include "filter_policy/proteus/design_search.h"
#include "filter_policy/proteus/shared_shares.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Bins of prefix counts: bin i is for counts in [2^(i-1), 2^i), the last one
// for counts above the limit.
constexpr size_t kBins = 12;
static_assert(kMaxPrefixProbes < 1 << (kBins - 2));

// A weight below that of any query.
constexpr double kNoWeight = 1e-9;

size_t BinOf(uint64_t prefixes) {
  return 64 - static_cast<size_t>(__builtin_clzll(prefixes));
}

}  // namespace

// The lengths ascend; a first length of 0 means no trie.
void DesignSearch::SearchPairs(const std::vector<uint32_t>& first_lengths,
                               const std::vector<uint32_t>& lengths,
                               uint64_t bytes,
                               std::vector<Candidate>* found) const {
  struct Bin {
    double prefixes = 0;
    double queries = 0;
  };
  const ByteAlphabets& alphabets = statistics_.alphabets();
  const size_t step = StepFor(kFirstRoundQueries);
  const size_t num_first = first_lengths.size();
  const size_t num_lengths = lengths.size();
  // For each pair, the queries that test prefixes, with those that test too
  // many in the last bin. A query that is the same for successive first lengths
  // is entered at the first of them, and taken off after the last.
  std::vector<Bin> bins((num_first + 1) * num_lengths * kBins);
  auto count = [&](size_t first, size_t end_first, size_t length, double weight,
                   uint64_t prefixes) {
    if (prefixes == 0) return;
    const size_t number =
        prefixes > kMaxPrefixProbes ? kBins - 1 : BinOf(prefixes);
    const double all = weight * static_cast<double>(prefixes);
    Bin& enter = bins[(first * num_lengths + length) * kBins + number];
    enter.prefixes += all;
    enter.queries += weight;
    Bin& leave = bins[(end_first * num_lengths + length) * kBins + number];
    leave.prefixes -= all;
    leave.queries -= weight;
  };
  SharedShares all_shared;
  SharedShares promised;
  for (size_t q = model_.num_before_points(); q < model_.queries().size();
       q++) {
    const CpfprModel::Query& query = model_.queries()[q];
    all_shared.Add(query.shared(), query.weight);
    promised.Add(query.shared(), query.weight);
  }
  for (size_t q = 0; q < model_.num_before_points(); q += step) {
    const CpfprModel::Query& query = model_.queries()[q];
    const uint32_t shared = query.shared();
    // A query stands for all those up to the next one.
    const double weight = query.weight * static_cast<double>(step);
    all_shared.Add(shared, weight);
    if (query.promised) promised.Add(shared, weight);
    const size_t begin_length =
        std::upper_bound(lengths.begin(), lengths.end(), shared) -
        lengths.begin();
    const size_t end_first =
        std::upper_bound(first_lengths.begin(), first_lengths.end(), shared) -
        first_lengths.begin();
    const size_t end_common =
        std::upper_bound(first_lengths.begin(),
                         first_lengths.begin() + end_first,
                         query.bounds_shared) -
        first_lengths.begin();
    for (size_t j = begin_length; j < num_lengths; j++) {
      if (end_common > 0) {
        count(0, end_common, j, weight, query.CountAll(alphabets, lengths[j]));
      }
      for (size_t i = end_common; i < end_first; i++) {
        count(i, i + 1, j, weight,
              query.CountTested(alphabets, first_lengths[i], lengths[j]));
      }
    }
  }
  all_shared.Sort();
  promised.Sort();
  const double points = model_.points().total() / all_shared.total();

  for (size_t i = 0; i < num_first; i++) {
    if (i > 0) {
      // Adds the queries that were entered at an earlier first length.
      const size_t row = num_lengths * kBins;
      for (size_t k = 0; k < row; k++) {
        bins[i * row + k].prefixes += bins[(i - 1) * row + k].prefixes;
        bins[i * row + k].queries += bins[(i - 1) * row + k].queries;
      }
    }
    const uint32_t first = first_lengths[i];
    KeyStatistics::TrieSize size;
    if (first > 0) size = statistics_.SizeOfTrie(first, bytes);
    if (size.bytes > bytes) continue;
    Candidate candidate;
    candidate.trie_bytes = size.bytes;
    candidate.design.trie_bits = first;
    candidate.design.trie_lead = size.lead;
    if (first > 0) {
      candidate.fpr =
          all_shared.AtLeast(first) + Penalty(promised.AtLeast(first), bytes);
      found->push_back(candidate);
    }
    // Many lengths have as many prefixes as the one before, and equal sets.
    uint64_t planned = 0;
    std::vector<AmqPlan> plans(kinds_.size());
    for (size_t j = 0; j < num_lengths; j++) {
      if (lengths[j] <= first) continue;
      const uint64_t hashes = statistics_.Prefixes(lengths[j]);
      if (hashes != planned) {
        for (size_t k = 0; k < kinds_.size(); k++) {
          plans[k] = PlanAmq(kinds_[k], hashes, bytes - size.bytes);
        }
        planned = hashes;
      }
      candidate.design.prefix_bits = lengths[j];
      // Queries that share all of the prefix with a key are false positives for
      // certain, as are those of the last bin.
      const Bin* counts = &bins[(i * num_lengths + j) * kBins];
      const double certain = all_shared.AtLeast(lengths[j]) +
                             counts[kBins - 1].queries / all_shared.total();
      for (size_t kind = 0; kind < kinds_.size(); kind++) {
        candidate.design.amq = kinds_[kind];
        const AmqPlan& plan = plans[kind];
        if (plan.false_positive_rate > kUselessRate) continue;
        const double log_negative = std::log1p(-plan.false_positive_rate);
        // A promised point tests one prefix.
        const double one = points * (model_.points().AtLeast(first) -
                                     model_.points().AtLeast(lengths[j]));
        double sum = certain + one * plan.false_positive_rate;
        candidate.TestApart(one);
        for (size_t k = 1; k + 1 < kBins; k++) {
          // Rounding leaves a little of sums that should be zero.
          if (counts[k].queries < kNoWeight) continue;
          candidate.prefixes += counts[k].prefixes / all_shared.total();
          candidate.runs += counts[k].queries / all_shared.total();
          sum -=
              counts[k].queries / all_shared.total() *
              std::expm1(counts[k].prefixes / counts[k].queries * log_negative);
        }
        const double reached = promised.AtLeast(first);
        const double shared = promised.AtLeast(lengths[j]);
        candidate.fpr = sum + Penalty(shared + (reached - shared) *
                                                   plan.false_positive_rate,
                                      bytes);
        found->push_back(candidate);
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
