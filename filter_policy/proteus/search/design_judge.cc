// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/search/design_judge.h"

#include "filter_policy/proteus/prior/prior.h"
#include "filter_policy/proteus/search/rough_plan.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// What kinds of ranges of the prior that differ in their rates cost.
constexpr double kSpreadCost = 1;

}  // namespace

DesignJudge::DesignJudge(const CpfprModel& model,
                         const KeyStatistics& statistics)
    : model_(model), statistics_(statistics) {
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
  return EvaluateSets(
      PlanPrefixSets(candidate->design, statistics_,
                     bytes - candidate->trie_bytes,
                     num_queries < kRaceQueries ? RoughPlan : PlanAmq),
      bytes, num_queries, candidate, most);
}

bool DesignJudge::EvaluateSets(const PrefixSets& sets, uint64_t bytes,
                               size_t num_queries, DesignCandidate* candidate,
                               double most) const {
  const ProteusDesign& design = candidate->design;
  const size_t step = StepFor(num_queries);
  const DesignRates rates =
      design.first_prefix_bits > 0
          ? RatesOfTwoSets(model_, SampleOf(step), design, sets, most)
          : RatesOfGroups(model_, GroupsOf(design, step), design, sets);
  candidate->fpr = rates.all + Penalty(rates.promised, bytes) +
                   promises_ * kSpreadCost * rates.spread;
  return rates.all <= most;
}

void DesignJudge::CountTests(uint64_t bytes, DesignCandidate* candidate) const {
  const PrefixTests tests =
      model_.CountTests(candidate->design,
                        PlanPrefixSets(candidate->design, statistics_,
                                       bytes - candidate->trie_bytes),
                        StepFor(kRaceQueries));
  candidate->prefixes = tests.prefixes;
  candidate->runs = tests.runs;
}

double DesignJudge::PromisedRate(uint64_t bytes) const {
  // The rate of a design is an estimate from a few queries.
  constexpr double kSafety = 0.9;
  const auto [rate, is_new] = known_.promised_rates.try_emplace(bytes);
  if (is_new) {
    rate->second = kSafety * BloomRate(bytes, statistics_.num_keys());
  }
  return rate->second;
}

// A broken promise weighs more than all else that the prior may gain. Where
// there are samples, it weighs as little as the prior.
double DesignJudge::Penalty(double promised_rate, uint64_t bytes) const {
  constexpr double kFactor = 50;
  if (promises_ == 0) return 0;
  return promises_ * kFactor *
         std::max(promised_rate - PromisedRate(bytes), 0.0);
}

KeyStatistics::TrieSize DesignJudge::SizeOfTrie(uint32_t bits,
                                                uint64_t bytes) const {
  const auto [size, is_new] = known_.tries.try_emplace({bits, bytes});
  if (is_new) size->second = statistics_.SizeOfTrie(bits, bytes);
  return size->second;
}

const QuerySample& DesignJudge::SampleOf(size_t step) const {
  const auto [found, is_new] = known_.samples.try_emplace(step);
  if (is_new) found->second = MakeQuerySample(model_, step);
  return found->second;
}

const QueryGroups& DesignJudge::GroupsOf(const ProteusDesign& design,
                                         size_t step) const {
  const auto [found, is_new] = known_.groups.try_emplace(
      {step, design.trie_bits, design.prefix_bits, design.stride_bits});
  if (is_new) found->second = MakeQueryGroups(model_, SampleOf(step), design);
  return found->second;
}

}  // namespace ROCKSDB_NAMESPACE::protean
