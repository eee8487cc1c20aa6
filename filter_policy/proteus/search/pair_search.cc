// SPDX-License-Identifier: Apache-2.0

//  DesignSearch::SearchPairs: algorithm 1 of the Proteus paper (section 4.3),
//  the search through all pairs (l1, l2) of a trie and a set. And
//  DesignSearch::SearchTwoSets: pairs of sets of prefixes.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "filter_policy/proteus/model/prefix_counts.h"
#include "filter_policy/proteus/search/design_judge.h"
#include "filter_policy/proteus/search/design_search.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Rounding leaves a little of sums that should be zero.
double WithoutRounding(double weight) {
  // No query weighs less.
  constexpr double kNoWeight = 1e-9;
  return weight < kNoWeight ? 0 : weight;
}

// The number of lengths of at most `bits` bits.
size_t EndOf(const std::vector<uint32_t>& lengths, uint32_t bits) {
  return static_cast<size_t>(
      std::upper_bound(lengths.begin(), lengths.end(), bits) - lengths.begin());
}

// For all pairs at once: how many prefixes the queries of a sample test.
//
// A query tests prefixes of a pair if it shares at least l1 and less than l2
// bits with a key. Queries that test about as many are together in a bin. Most
// queries are the same to many pairs, so a query is entered where such pairs
// begin and taken off after them; sums over all pairs, at the end, count it at
// each.
class PairCounts {
 public:
  // Bin i is for queries that test a number of prefixes in [2^(i-1), 2^i), past
  // the bits that their bounds share. Two bins have the weights of other
  // queries: those that test one prefix, since their bounds share its bits; and
  // those that would test too many, and are let through.
  static constexpr size_t kBins = 11;
  static_assert(kMaxPrefixProbes < 1 << (kBins - 1));
  static constexpr size_t kSingle = 0;
  static constexpr size_t kTooMany = kBins;
  struct Bin {
    double prefixes = 0;  // that all of its queries test, by weight
    double queries = 0;   // their weight
  };

  // Counts the queries that are no promised points. Both lists of lengths
  // ascend; a first length of 0 is no trie.
  PairCounts(const QuerySample& sample, const ByteAlphabets& alphabets,
             const std::vector<uint32_t>& first_lengths,
             const std::vector<uint32_t>& lengths)
      : num_lengths_(lengths.size()),
        bins_((first_lengths.size() + 1) * row_size()) {
    for (size_t c = 0; c < sample.num_before_points; c++) {
      const QueryClass& alike = sample.classes[c];
      const LocatedQuery& any = sample.queries[alike.begin];
      const size_t begin_length = EndOf(lengths, any.shared());
      const size_t end_single =
          std::max(begin_length, EndOf(lengths, any.bounds_shared));
      const size_t end_first = EndOf(first_lengths, any.shared());
      // While both bounds are below one prefix of the first length, that length
      // does not matter.
      const Rows common = {
          0, std::min(end_first, EndOf(first_lengths, any.bounds_shared))};
      Enter(common, begin_length, kSingle, 0, alike.weight);
      Enter(common, end_single, kSingle, 0, -alike.weight);
      for (size_t q = alike.begin; q < alike.end; q++) {
        const LocatedQuery& query = sample.queries[q];
        if (common.end > 0) {
          CountFrom(common, end_single, query.weight, [&](size_t j) {
            return CountAll(query, alphabets, lengths[j]);
          });
        }
        for (size_t i = common.end; i < end_first; i++) {
          CountFrom({i, i + 1},
                    std::max(end_single, EndOf(lengths, first_lengths[i])),
                    query.weight, [&](size_t j) {
                      return CountTested(query, alphabets, first_lengths[i],
                                         lengths[j]);
                    });
        }
      }
    }
    SumUp(first_lengths.size());
  }

  // The bins at the indexes of a first length and of a length.
  const Bin* BinsOf(size_t first, size_t length) const {
    return &bins_[first * row_size() + length * kAllBins];
  }
  double WeightOf(size_t first, size_t length, size_t bin) const {
    return WithoutRounding(BinsOf(first, length)[bin].queries);
  }

 private:
  static constexpr size_t kAllBins = kBins + 1;
  // Indexes of successive first lengths.
  struct Rows {
    size_t begin;
    size_t end;
  };

  size_t row_size() const { return num_lengths_ * kAllBins; }

  // Enters queries in a bin at a length, if it is one of the lengths.
  void Enter(Rows rows, size_t length, size_t bin, double prefixes,
             double weight) {
    if (length == num_lengths_) return;
    Bin* const column = &bins_[length * kAllBins + bin];
    Bin& enter = column[rows.begin * row_size()];
    enter.prefixes += prefixes;
    enter.queries += weight;
    Bin& leave = column[rows.end * row_size()];
    leave.prefixes -= prefixes;
    leave.queries -= weight;
  }

  // Counts the prefixes of a query, number_of(j) at the length of index j, from
  // the length of index `begin` on. Longer prefixes are at least as many.
  template <typename NumberOf>
  void CountFrom(Rows rows, size_t begin, double weight,
                 const NumberOf& number_of) {
    for (size_t j = begin; j < num_lengths_; j++) {
      const uint64_t prefixes = number_of(j);
      if (prefixes > kMaxPrefixProbes) {
        return Enter(rows, j, kTooMany, 0, weight);
      }
      if (prefixes == 0) continue;
      Enter(rows, j, BitsFor(prefixes), weight * static_cast<double>(prefixes),
            weight);
    }
  }

  // Adds to each first length what was entered at those before it and, in the
  // two bins of weights, to each length what was entered at the shorter ones.
  void SumUp(size_t num_first) {
    for (size_t k = row_size(); k < num_first * row_size(); k++) {
      bins_[k].prefixes += bins_[k - row_size()].prefixes;
      bins_[k].queries += bins_[k - row_size()].queries;
    }
    for (size_t cell = 0; cell < num_first * num_lengths_; cell++) {
      if (cell % num_lengths_ == 0) continue;
      for (size_t bin : {kSingle, kTooMany}) {
        const size_t k = cell * kAllBins + bin;
        bins_[k].queries += bins_[k - kAllBins].queries;
      }
    }
  }

  const size_t num_lengths_;
  // A row for each first length, and one more, where the queries of the last
  // ones are taken off.
  std::vector<Bin> bins_;
};

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
  double build_nanos = 0;
};

// Adds the queries of a pair's bins to the candidate's false positive rate, and
// to what it tests. `total` is the weight of all queries.
void AddBins(const PairCounts::Bin* bins, double total, double rate_of_set,
             DesignCandidate* candidate) {
  const double log_negative = std::log1p(-rate_of_set);
  for (size_t k = 1; k < PairCounts::kBins; k++) {
    if (WithoutRounding(bins[k].queries) == 0) continue;
    const double share = bins[k].queries / total;
    candidate->tests.prefixes += bins[k].prefixes / total;
    candidate->tests.runs += share;
    candidate->fpr -=
        share * std::expm1(bins[k].prefixes / bins[k].queries * log_negative);
  }
}

// Lengths that are spread evenly, and those where queries part from the keys.
std::vector<uint32_t> GridOfLengths(const CpfprModel& model) {
  constexpr size_t kGrid = 16;
  constexpr size_t kQuantiles = 5;
  const KeyStatistics& statistics = model.statistics();
  const uint32_t max_bits = statistics.max_bits();
  const std::vector<uint32_t> spread = SpreadLengths(1, max_bits, kGrid);
  std::set<uint32_t> lengths(spread.begin(), spread.end());
  std::vector<uint32_t> shared;
  for (const LocatedQuery& query : model.queries()) {
    shared.push_back(query.shared());
  }
  std::sort(shared.begin(), shared.end());
  for (size_t i = 0; i < kQuantiles; i++) {
    const uint32_t bits = shared[shared.size() * i / kQuantiles];
    if (bits < max_bits) lengths.insert(bits + 1);
    // Digits and letters end with their byte.
    if (statistics.longest_key() > 8 && 8 * (bits / 8 + 1) <= max_bits) {
      lengths.insert(8 * (bits / 8 + 1));
    }
  }
  return {lengths.begin(), lengths.end()};
}

// Moves a design of two sets to a neighbor, in lengths or in how the memory is
// shared. False if there is none.
constexpr double kShareStep = 0.1;
struct Step {
  int first;
  int second;
  double share;
};
bool Move(const Step& step, int distance, uint32_t max_bits,
          ProteusDesign* design) {
  constexpr double kMinShare = 0.15;
  Layer& outer = (*design)[0];
  Layer& inner = (*design)[1];
  const int64_t first = int64_t{outer.bits} + int64_t{step.first} * distance;
  const int64_t second = int64_t{inner.bits} + int64_t{step.second} * distance;
  const double share = outer.share + kShareStep * step.share;
  if (first < 1 || second <= first || second > max_bits || share < kMinShare ||
      share > 1 - kMinShare) {
    return false;
  }
  outer.bits = static_cast<uint32_t>(first);
  inner.bits = static_cast<uint32_t>(second);
  outer.share = share;
  return true;
}

}  // namespace

// The lengths ascend; a first length of 0 means no trie.
void DesignSearch::SearchPairs(const std::vector<uint32_t>& first_lengths,
                               const std::vector<uint32_t>& lengths,
                               uint64_t bytes,
                               std::vector<DesignCandidate>* found,
                               std::vector<DesignCandidate>* broken) const {
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
    if (first > 0) {
      candidate.design.Add(Layer::Trie(first, size.lead));
      candidate.build_nanos = kTrieBuildNanos;
      candidate.fpr = reached.all + judge_.Penalty(reached.promised, bytes);
      least.Add(CostOf(candidate, demand_));
      found->push_back(candidate);
    }
    DesignCandidate best_broken;
    candidate.design.Add(Layer());
    Layer& second = *(candidate.design.end() - 1);
    const double nanos_of_trie = candidate.build_nanos;
    std::vector<Planned> planned(kinds_.size());
    for (size_t j = 0; j < lengths.size(); j++) {
      if (lengths[j] <= first) continue;
      // Queries that share all of the prefix with a key are false positives for
      // certain, as are those that test too many.
      const double certain =
          shares[j].all + counts.WeightOf(i, j, PairCounts::kTooMany) / total;
      if (certain > least.Most()) continue;
      const uint64_t hashes = statistics_.Prefixes(lengths[j]);
      second.bits = lengths[j];
      // A promised point tests one prefix.
      const double one = points * (reached.points - shares[j].points) +
                         counts.WeightOf(i, j, PairCounts::kSingle) / total;
      for (size_t kind = 0; kind < kinds_.size(); kind++) {
        candidate.design.amq = kinds_[kind];
        if (planned[kind].hashes != hashes) {
          planned[kind] = {hashes,
                           PlanAmq(kinds_[kind], hashes, bytes - size.bytes),
                           judge_.BuildNanosOfSet(kinds_[kind], hashes)};
        }
        const double rate = planned[kind].plan.false_positive_rate;
        if (rate > kUselessRate) continue;
        candidate.build_nanos = nanos_of_trie + planned[kind].build_nanos;
        candidate.fpr = certain + one * rate;
        if (candidate.fpr > least.Most()) continue;
        candidate.TestApart(one);
        AddBins(counts.BinsOf(i, j), total, rate, &candidate);
        const double shared = shares[j].promised;
        const double penalty =
            judge_.Penalty(shared + (reached.promised - shared) * rate, bytes);
        if (penalty > 0 && candidate.fpr < best_broken.fpr) {
          best_broken = candidate;
        }
        candidate.fpr += penalty;
        const double cost = CostOf(candidate, demand_);
        if (cost > least.Most()) continue;
        least.Add(cost);
        found->push_back(candidate);
      }
    }
    if (broken != nullptr && best_broken.fpr < 1) {
      broken->push_back(best_broken);
    }
  }
}

// Pairs of lengths on a grid, then steps to better neighbors from those of the
// best ones that may still become the best of all.
void DesignSearch::SearchTwoSets(uint64_t bytes,
                                 std::vector<DesignCandidate>* found) const {
  constexpr size_t kTwoSetStarts = 3;
  const std::vector<uint32_t> lengths = GridOfLengths(model_);
  std::vector<DesignCandidate> grid;
  const SharedShares& shares =
      judge_.SampleOf(judge_.StepFor(kGridQueries)).shared;
  for (AmqKind kind : kinds_) {
    // Designs of one kind differ in their rates alone.
    LeastCosts least(2 * kTwoSetStarts);
    for (size_t j = lengths.size(); j-- > 0;) {
      const double certain = shares.AtLeast(lengths[j]);
      if (certain > least.Most()) break;
      for (size_t i = 0; i < j; i++) {
        DesignCandidate candidate;
        candidate.design = {{Layer::Prefixes(lengths[i], /*share=*/0.5),
                             Layer::Prefixes(lengths[j])},
                            kind};
        candidate.TestApart(kUsualPrefixes);
        if (!judge_.Evaluate(bytes, kGridQueries, &candidate, least.Most()))
          continue;
        least.Add(candidate.fpr);
        grid.push_back(candidate);
      }
    }
  }
  KeepBest(kTwoSetStarts, demand_, &grid);

  const double least = LeastRate(*found);
  // Searches from several starts meet, and turn back to where they were: the
  // rates by the kind, the lengths and the share. Those that are not exact are
  // negative.
  std::map<std::array<int64_t, 4>, double> known;
  const auto evaluate = [&](double most, DesignCandidate* candidate) {
    // Queries that the steps look at.
    constexpr size_t kTwoSetQueries = 1024;
    const ProteusDesign& design = candidate->design;
    const auto [rate, is_new] = known.try_emplace(
        {int64_t{static_cast<uint8_t>(design.amq)}, design[0].bits,
         design[1].bits, std::lround(design[0].share / kShareStep)});
    // A design that is not good enough has a lower rate here, which may have to
    // be found again.
    if (is_new || (rate->second < 0 && -rate->second <= most)) {
      const bool is_exact =
          judge_.Evaluate(bytes, kTwoSetQueries, candidate, most);
      rate->second = is_exact ? candidate->fpr : -candidate->fpr;
    }
    candidate->fpr = std::abs(rate->second);
  };
  // Digits and letters take whole bytes.
  const int farthest_step = statistics_.longest_key() > 8
                                ? 16
                                : std::max<int>(1, statistics_.max_bits() / 32);
  for (DesignCandidate& best : grid) {
    // Rates on so few queries may be too high by two standard errors.
    if (best.fpr - TwoStandardErrors(best.fpr, kGridQueries) >
        least + demand_.MaxRateForTime()) {
      continue;
    }
    evaluate(std::numeric_limits<double>::infinity(), &best);
    // Goes on to better neighbors as long as there are any.
    for (int distance = farthest_step; distance > 0;) {
      const double before = best.fpr;
      for (const Step& step : {Step{-1, 0, 0},
                               {1, 0, 0},
                               {0, -1, 0},
                               {0, 1, 0},
                               {1, 1, 0},
                               {-1, -1, 0},
                               {0, 0, 1},
                               {0, 0, -1}}) {
        DesignCandidate next = best;
        if (!Move(step, distance, statistics_.max_bits(), &next.design)) {
          continue;
        }
        evaluate(best.fpr, &next);
        if (next.fpr < best.fpr) best = next;
      }
      if (best.fpr >= before) distance /= 2;
    }
    found->push_back(best);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
