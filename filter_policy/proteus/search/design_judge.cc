// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/search/design_judge.h"

#include <cmath>

#include "filter_policy/proteus/prior/prior.h"
#include "util/bloom_impl.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Among equal candidates, one with longer prefixes is better: it resolves more
// of the queries that are like none of the samples.
bool IsLonger(const DesignCandidate& a, const DesignCandidate& b) {
  const uint32_t bits = a.design.prefix_bits();
  const uint32_t other = b.design.prefix_bits();
  return bits != other ? bits > other
                       : a.design.outer_bits() > b.design.outer_bits();
}

}  // namespace

double DesignCandidate::Nanos() const {
  const AmqType* type = FindAmqType(design.amq);
  double nanos = design.trie_bits() > 0 ? kTrieNanos : 0;
  if (type != nullptr) {
    nanos += tests.runs * type->query_nanos +
             (tests.prefixes - tests.runs) * type->next_nanos;
  }
  return nanos;
}

void KeepBest(size_t most, const FilterDemand& demand,
              std::vector<DesignCandidate>* candidates) {
  candidates->erase(std::remove_if(candidates->begin(), candidates->end(),
                                   [](const DesignCandidate& c) {
                                     return std::isinf(c.fpr);
                                   }),
                    candidates->end());
  const auto keep = [&](size_t first, const auto& key) {
    const auto begin = candidates->begin() + first;
    const auto end =
        begin + std::min(most, static_cast<size_t>(candidates->end() - begin));
    std::partial_sort(
        begin, end, candidates->end(),
        [&key](const DesignCandidate& a, const DesignCandidate& b) {
          return key(a) != key(b) ? key(a) < key(b) : IsLonger(a, b);
        });
    return static_cast<size_t>(end - candidates->begin());
  };
  size_t kept = keep(0, [](const DesignCandidate& c) { return c.fpr; });
  kept =
      keep(kept, [&](const DesignCandidate& c) { return CostOf(c, demand); });
  candidates->resize(kept);
}

double LeastRate(const std::vector<DesignCandidate>& candidates) {
  double least = std::numeric_limits<double>::infinity();
  for (const DesignCandidate& c : candidates) least = std::min(least, c.fpr);
  return least;
}

const DesignCandidate& BestWithin(
    const std::vector<DesignCandidate>& candidates, double more,
    const FilterDemand& demand) {
  const double least = LeastRate(candidates);
  const DesignCandidate* best = nullptr;
  for (const DesignCandidate& c : candidates) {
    if (c.fpr <= least + more &&
        (best == nullptr || CostOf(c, demand) < CostOf(*best, demand))) {
      best = &c;
    }
  }
  return *best;
}

double BloomRate(uint64_t bytes, uint64_t num_keys) {
  const double bits =
      8 * static_cast<double>(bytes) / static_cast<double>(num_keys);
  return BloomMath::CacheLocalFpRate(
      bits, FastLocalBloomImpl::ChooseNumProbes(static_cast<int>(1000 * bits)),
      512);
}

DesignJudge::DesignJudge(const CpfprModel& model)
    : model_(model), statistics_(model.statistics()) {
  double weights = 0;
  double promised = 0;
  for (const LocatedQuery& query : model.queries()) {
    weights += query.weight;
    if (query.promised) promised = kPriorSamples;
  }
  if (weights > 0) promises_ = promised / weights;
}

bool DesignJudge::Evaluate(uint64_t bytes, size_t num_queries,
                           DesignCandidate* candidate, double most) const {
  const ProteusDesign& design = candidate->design;
  const LayerPlans plans = Plan(*candidate, bytes);
  candidate->fpr = std::numeric_limits<double>::infinity();
  double build_nanos = design.trie_bits() > 0 ? kTrieBuildNanos : 0;
  for (size_t i = 0; i < design.size(); i++) {
    const AmqPlan& plan = plans.of[i];
    if (!design[i].is_set()) continue;
    if (plan.false_positive_rate > kUselessRate ||
        plan.hashes > FindAmqType(design.amq)->max_hashes_per_key *
                          statistics_.num_keys()) {
      return true;
    }
    build_nanos += BuildNanosOfSet(design.amq, plan.hashes);
  }
  candidate->build_nanos = build_nanos;
  const size_t step = StepFor(num_queries);
  const DesignRates rates =
      design.first_prefix_bits() > 0
          ? RatesOfTwoSets(model_, SampleOf(step), design, plans, most)
          : RatesOfGroups(model_, GroupsOf(design, step), step, design, plans);
  // What kinds of ranges of the prior that differ in their rates cost.
  constexpr double kSpreadCost = 1;
  candidate->fpr = rates.all + Penalty(rates.promised, bytes) +
                   promises_ * kSpreadCost * rates.spread;
  return rates.all <= most;
}

void DesignJudge::CountTests(uint64_t bytes, DesignCandidate* candidate) const {
  candidate->tests = model_.CountTests(
      candidate->design, Plan(*candidate, bytes), StepFor(kRaceQueries));
}

double DesignJudge::PromisedRate(uint64_t bytes) const {
  // The rate of a design is an estimate from a few queries.
  constexpr double kPromiseSafety = 0.9;
  const auto [rate, is_new] = promised_rates_.try_emplace(bytes);
  if (is_new) {
    rate->second = kPromiseSafety * BloomRate(bytes, statistics_.num_keys());
  }
  return rate->second;
}

// A broken promise weighs more than all else that the prior may gain. Where
// there are samples, it weighs as little as the prior.
double DesignJudge::Penalty(double promised_rate, uint64_t bytes) const {
  constexpr double kBrokenPromiseCost = 50;
  if (promises_ == 0) return 0;
  return promises_ * kBrokenPromiseCost *
         std::max(promised_rate - PromisedRate(bytes), 0.0);
}

KeyStatistics::TrieSize DesignJudge::SizeOfTrie(uint32_t bits,
                                                uint64_t bytes) const {
  const auto [size, is_new] = tries_.try_emplace({bits, bytes});
  if (is_new) size->second = statistics_.SizeOfTrie(bits, bytes);
  return size->second;
}

const QuerySample& DesignJudge::SampleOf(size_t step) const {
  const auto [found, is_new] = samples_.try_emplace(step);
  if (is_new) found->second = MakeQuerySample(model_, step);
  return found->second;
}

const std::vector<QueryGroup>& DesignJudge::GroupsOf(
    const ProteusDesign& design, size_t step) const {
  const auto [found, is_new] = groups_.try_emplace(
      {step, design.trie_bits(), design.prefix_bits(), design.stride()});
  if (is_new) found->second = MakeQueryGroups(model_, SampleOf(step), design);
  return found->second;
}

std::vector<uint32_t> SpreadLengths(uint32_t first, uint32_t last,
                                    size_t most) {
  std::vector<uint32_t> lengths;
  if (first > last) return lengths;
  const uint32_t range = last - first;
  const size_t count = std::min<size_t>(most, range + 1);
  const size_t steps = std::max<size_t>(1, count - 1);
  for (size_t left = count; left-- > 0;) {
    lengths.push_back(last -
                      static_cast<uint32_t>(uint64_t{range} * left / steps));
  }
  return lengths;
}

std::vector<uint32_t> DesignJudge::TrieLengths(uint64_t bytes) const {
  constexpr size_t kMaxTrieLengths = 48;
  // Deeper tries are not considered.
  constexpr uint32_t kMaxTrieBits = 512;
  const uint32_t most = std::min(statistics_.max_bits(), kMaxTrieBits);
  // The size grows with the depth.
  const uint64_t too_deep = FirstWhere(0, most, [&](uint64_t less) {
    return SizeOfTrie(most - static_cast<uint32_t>(less), bytes).bytes <= bytes;
  });
  std::vector<uint32_t> lengths =
      SpreadLengths(1, most - static_cast<uint32_t>(too_deep), kMaxTrieLengths);
  lengths.insert(lengths.begin(), 0);
  return lengths;
}

}  // namespace ROCKSDB_NAMESPACE::protean
