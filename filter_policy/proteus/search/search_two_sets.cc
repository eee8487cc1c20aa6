// SPDX-License-Identifier: Apache-2.0

//  DesignSearch::SearchTwoSets: pairs of sets of prefixes.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "filter_policy/proteus/search/design_search.h"
#include "filter_policy/proteus/search/lengths.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Queries that the two rounds of steps look at.
constexpr size_t kFewTwoSetQueries = 256;
constexpr size_t kTwoSetQueries = 1024;

// Lengths that are spread evenly, and those where queries part from the keys.
std::vector<uint32_t> GridOfLengths(const CpfprModel& model) {
  constexpr size_t kGrid = 16;
  constexpr size_t kQuantiles = 5;
  const KeyStatistics& statistics = model.statistics();
  const uint32_t max_bits = statistics.max_bits();
  std::vector<uint32_t> lengths = SpreadLengths(1, max_bits, kGrid);
  std::vector<uint32_t> shared;
  for (const LocatedQuery& query : model.queries()) {
    shared.push_back(query.shared());
  }
  std::sort(shared.begin(), shared.end());
  for (size_t i = 0; i < kQuantiles; i++) {
    const uint32_t bits = shared[shared.size() * i / kQuantiles];
    if (bits < max_bits) lengths.push_back(bits + 1);
    // Digits and letters end with their byte.
    if (statistics.longest_key() > 8 && 8 * (bits / 8 + 1) <= max_bits) {
      lengths.push_back(8 * (bits / 8 + 1));
    }
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

// The longest step in lengths.
int FarthestStep(const KeyStatistics& statistics) {
  // Digits and letters take whole bytes.
  if (statistics.longest_key() > 8) return 16;
  return std::max<int>(1, statistics.max_bits() / 32);
}

// Steps from designs of two sets to better neighbors, in lengths and in how the
// memory is shared.
class TwoSetsClimb {
 public:
  // Designs of `bytes` bytes are judged by `num_queries` queries.
  TwoSetsClimb(const DesignJudge& judge, uint64_t bytes, size_t num_queries,
               uint32_t max_bits)
      : judge_(judge),
        bytes_(bytes),
        num_queries_(num_queries),
        max_bits_(max_bits) {}

  // Goes on to better neighbors as long as there are any.
  void Climb(int farthest_step, DesignCandidate* best) {
    Evaluate(best, std::numeric_limits<double>::infinity());
    for (int distance = farthest_step; distance > 0; distance /= 2) {
      for (bool better = true; better;) {
        better = false;
        for (const Step& step : kSteps) {
          DesignCandidate next = *best;
          if (!Move(step, distance, &next.design)) continue;
          Evaluate(&next, best->fpr);
          if (next.fpr < best->fpr) {
            *best = next;
            better = true;
          }
        }
      }
    }
  }

 private:
  static constexpr double kShareStep = 0.1;
  static constexpr double kMinShare = 0.15;
  struct Step {
    int first;
    int second;
    double share;
  };
  static constexpr Step kSteps[] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0},
                                    {0, 1, 0},  {1, 1, 0}, {-1, -1, 0},
                                    {0, 0, 1},  {0, 0, -1}};

  // False if there is no such design.
  bool Move(const Step& step, int distance, ProteusDesign* design) const {
    const int64_t first =
        int64_t{design->first_prefix_bits} + int64_t{step.first} * distance;
    const int64_t second =
        int64_t{design->prefix_bits} + int64_t{step.second} * distance;
    const double share = design->first_share + kShareStep * step.share;
    if (first < 1 || second <= first || second > max_bits_ ||
        share < kMinShare || share > 1 - kMinShare) {
      return false;
    }
    design->first_prefix_bits = static_cast<uint32_t>(first);
    design->prefix_bits = static_cast<uint32_t>(second);
    design->first_share = share;
    return true;
  }

  void Evaluate(DesignCandidate* candidate, double most) {
    const ProteusDesign& design = candidate->design;
    const auto [rate, is_new] = known_.try_emplace(
        {int64_t{static_cast<uint8_t>(design.amq)}, design.first_prefix_bits,
         design.prefix_bits, std::lround(design.first_share / kShareStep)});
    // A design that is not good enough has a lower rate here, which may have to
    // be found again.
    if (is_new || (rate->second < 0 && -rate->second <= most)) {
      const bool is_exact =
          judge_.Evaluate(bytes_, num_queries_, candidate, most);
      rate->second = is_exact ? candidate->fpr : -candidate->fpr;
    }
    candidate->fpr = std::abs(rate->second);
  }

  const DesignJudge& judge_;
  const uint64_t bytes_;
  const size_t num_queries_;
  const uint32_t max_bits_;
  // Searches from several starts meet, and turn back to where they were: the
  // rates by the kind, the lengths and the share. Those that are not exact are
  // negative.
  std::map<std::array<int64_t, 4>, double> known_;
};

// Drops designs whose rates cannot be expected to be below `most` on more
// queries.
void DropHopeless(double most, std::vector<DesignCandidate>* found) {
  const auto is_hopeless = [&](const DesignCandidate& candidate) {
    const double rate = std::min(candidate.fpr, 1.0);
    const double error = std::sqrt(rate * (1 - rate) / kFewTwoSetQueries);
    return candidate.fpr - 2 * error > most;
  };
  found->erase(std::remove_if(found->begin(), found->end(), is_hopeless),
               found->end());
}

}  // namespace

// Pairs of lengths on a grid, then steps from the best ones to better
// neighbours: first on few queries, and from those that may still become the
// best on more of them.
void DesignSearch::SearchTwoSets(uint64_t bytes,
                                 std::vector<DesignCandidate>* found) const {
  constexpr size_t kStarts = 3;
  const std::vector<uint32_t> lengths = GridOfLengths(model_);
  std::vector<DesignCandidate> grid;
  const SharedShares& shares =
      judge_.SampleOf(judge_.StepFor(kGridQueries)).shared;
  for (AmqKind kind : kinds_) {
    // Designs of one kind differ in their rates alone.
    LeastCosts least(2 * kStarts);
    for (size_t j = lengths.size(); j-- > 0;) {
      const double certain = shares.AtLeast(lengths[j]);
      if (certain > least.Most()) break;
      for (size_t i = 0; i < j; i++) {
        DesignCandidate candidate;
        candidate.design.amq = kind;
        candidate.design.first_share = 0.5;
        candidate.design.first_prefix_bits = lengths[i];
        candidate.design.prefix_bits = lengths[j];
        candidate.TestApart(kUsualPrefixes);
        if (!judge_.Evaluate(bytes, kGridQueries, &candidate, least.Most()))
          continue;
        least.Add(candidate.fpr);
        grid.push_back(candidate);
      }
    }
  }
  KeepBest(kStarts, price_, &grid);

  const uint32_t max_bits = statistics_.max_bits();
  const int farthest = FarthestStep(statistics_);
  TwoSetsClimb rough(judge_, bytes, kFewTwoSetQueries, max_bits);
  for (DesignCandidate& best : grid) rough.Climb(farthest, &best);
  KeepBest(kStarts, price_, &grid);
  // Penalties make it more than one where nothing else keeps the promise.
  double least = std::numeric_limits<double>::infinity();
  for (const DesignCandidate& other : *found) {
    least = std::min(least, other.fpr);
  }
  DropHopeless(least + MaxRateForTime(price_), &grid);
  TwoSetsClimb fine(judge_, bytes, kTwoSetQueries, max_bits);
  for (DesignCandidate& best : grid) {
    fine.Climb(std::min(farthest, 4), &best);
    found->push_back(best);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
