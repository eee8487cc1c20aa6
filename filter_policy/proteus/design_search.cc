// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/design_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "filter_policy/amq/bloom.h"
#include "util/bloom_impl.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Queries that the two rounds of the searches for two sets and for series, the
// search for key sets, and the two rounds of the last race look at.
constexpr size_t kGridQueries = 128;
constexpr size_t kFewTwoSetQueries = 256;
constexpr size_t kTwoSetQueries = 1024;
constexpr size_t kSeriesQueries = 512;
constexpr size_t kKeySetQueries = 512;
constexpr size_t kRaceQueries = 2048;
constexpr size_t kAllQueries = std::numeric_limits<size_t>::max();
// Shares of the memory that a key set beside a series gets.
constexpr double kSeriesKeyShares[] = {0, 0.5};
constexpr size_t kMaxTrieLengths = 48;
constexpr size_t kMaxPrefixLengths = 96;
// Prefixes that a query of a series or of two sets tests, roughly.
constexpr double kUsualPrefixes = 4;
// What kinds of ranges of the prior that differ in their rates cost.
constexpr double kSpreadCost = 1;
// Deeper tries are not considered.
constexpr uint32_t kMaxTrieBits = 512;

}  // namespace

double DesignSearch::Candidate::Nanos() const {
  const AmqType* type = FindAmqType(design.amq);
  double nanos = design.trie_bits > 0 ? kTrieNanos : 0;
  if (type != nullptr) {
    nanos += runs * type->query_nanos + (prefixes - runs) * type->next_nanos;
  }
  return nanos;
}

double DesignSearch::BloomRate(uint64_t bytes, uint64_t num_keys) {
  const double bits =
      8 * static_cast<double>(bytes) / static_cast<double>(num_keys);
  return BloomMath::CacheLocalFpRate(
      bits, FastLocalBloomImpl::ChooseNumProbes(static_cast<int>(1000 * bits)),
      512);
}

double DesignSearch::PromisedRate(uint64_t bytes) const {
  // The rate of a design is an estimate from a few queries.
  constexpr double kSafety = 0.9;
  const auto [rate, is_new] = known_.promised_rates.try_emplace(bytes);
  if (is_new) {
    rate->second = kSafety * BloomRate(bytes, statistics_.num_keys());
  }
  return rate->second;
}

namespace {

// The logarithms of the rates of Bloom filters, by their bits per hash.
class BloomRates {
 public:
  // More bits than that are not in the table.
  static constexpr double kMaxBits = 40;

  BloomRates() {
    constexpr uint64_t kHashes = 1 << 16;
    for (size_t i = 1; i < logs_.size(); i++) {
      const double bytes = static_cast<double>(i) / kSteps / 8 * kHashes;
      logs_[i] =
          std::log(PlanAmq(kBloomAmq, kHashes, static_cast<uint64_t>(bytes))
                       .false_positive_rate);
    }
  }

  // REQUIRES: bits <= kMaxBits
  double RateFor(double bits) const {
    const double place = bits * kSteps;
    const auto below = static_cast<size_t>(place);
    const double part = place - static_cast<double>(below);
    return std::exp(logs_[below] + part * (logs_[below + 1] - logs_[below]));
  }

 private:
  static constexpr size_t kSteps = 8;  // per bit

  std::array<double, static_cast<size_t>(kMaxBits)* kSteps + 2> logs_ = {};
};

}  // namespace

AmqPlan DesignSearch::RoughPlan(AmqKind kind, uint64_t hashes, uint64_t bytes) {
  static const BloomRates rates;
  AmqPlan plan;
  plan.bytes = bytes / BloomSet::kLineBytes * BloomSet::kLineBytes;
  const double bits =
      8 * static_cast<double>(plan.bytes) / static_cast<double>(hashes);
  if (kind != kBloomAmq || hashes == 0 || plan.bytes == 0 ||
      bits > BloomRates::kMaxBits) {
    return PlanAmq(kind, hashes, bytes);
  }
  plan.kind = kind;
  plan.hashes = hashes;
  plan.false_positive_rate = rates.RateFor(bits);
  return plan;
}

KeyStatistics::TrieSize DesignSearch::SizeOfTrie(uint32_t bits,
                                                 uint64_t bytes) const {
  const auto [size, is_new] = known_.tries.try_emplace({bits, bytes});
  if (is_new) size->second = statistics_.SizeOfTrie(bits, bytes);
  return size->second;
}

// A broken promise weighs more than all else that the prior may gain. Where
// there are samples, it weighs as little as the prior.
double DesignSearch::Penalty(double promised_rate, uint64_t bytes) const {
  constexpr double kFactor = 50;
  if (promises_ == 0) return 0;
  return promises_ * kFactor *
         std::max(promised_rate - PromisedRate(bytes), 0.0);
}

bool DesignSearch::Evaluate(uint64_t bytes, size_t num_queries,
                            Candidate* candidate, double most) const {
  return EvaluateSets(
      PlanPrefixSets(candidate->design, statistics_,
                     bytes - candidate->trie_bytes,
                     num_queries < kRaceQueries ? RoughPlan : PlanAmq),
      bytes, num_queries, candidate, most);
}

bool DesignSearch::EvaluateSets(const PrefixSets& sets, uint64_t bytes,
                                size_t num_queries, Candidate* candidate,
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

const QuerySample& DesignSearch::SampleOf(size_t step) const {
  const auto [found, is_new] = known_.samples.try_emplace(step);
  if (is_new) found->second = MakeQuerySample(model_, step);
  return found->second;
}

void DesignSearch::CountTests(uint64_t bytes, Candidate* candidate) const {
  if (price_ >= kUsualPrice) return;
  const PrefixTests tests =
      model_.CountTests(candidate->design,
                        PlanPrefixSets(candidate->design, statistics_,
                                       bytes - candidate->trie_bytes),
                        StepFor(kRaceQueries));
  candidate->prefixes = tests.prefixes;
  candidate->runs = tests.runs;
}

const QueryGroups& DesignSearch::GroupsOf(const ProteusDesign& design,
                                          size_t step) const {
  const auto [found, is_new] = known_.groups.try_emplace(
      {step, design.trie_bits, design.prefix_bits, design.stride_bits});
  if (is_new) found->second = MakeQueryGroups(model_, SampleOf(step), design);
  return found->second;
}

// The depths of tries that fit into `bytes`, and 0.
std::vector<uint32_t> DesignSearch::TrieLengths(uint64_t bytes) const {
  // The size grows with the depth.
  uint32_t low = 0;
  uint32_t high = std::min(statistics_.max_bits(), kMaxTrieBits);
  while (low < high) {
    const uint32_t middle = (low + high + 1) / 2;
    if (SizeOfTrie(middle, bytes).bytes <= bytes) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  std::vector<uint32_t> lengths = {0};
  const std::vector<uint32_t> depths = PrefixLengths(1, low, kMaxTrieLengths);
  lengths.insert(lengths.end(), depths.begin(), depths.end());
  return lengths;
}

// At most `most` lengths, evenly spread from `first` to `last`.
std::vector<uint32_t> DesignSearch::PrefixLengths(uint32_t first, uint32_t last,
                                                  size_t most) const {
  std::vector<uint32_t> lengths;
  if (first > last) return lengths;
  const uint32_t range = last - first;
  const size_t count = std::min<size_t>(most, range + 1);
  for (size_t i = 0; i < count; i++) {
    lengths.push_back(
        last -
        static_cast<uint32_t>(
            count == 1 ? 0 : uint64_t{range} * (count - 1 - i) / (count - 1)));
  }
  return lengths;
}

namespace {

// Among equal candidates, one with longer prefixes is better: it resolves more
// of the queries that are like none of the samples.
template <typename Candidate>
bool IsLonger(const Candidate& a, const Candidate& b) {
  if (a.design.prefix_bits != b.design.prefix_bits) {
    return a.design.prefix_bits > b.design.prefix_bits;
  }
  return a.design.first_bits() > b.design.first_bits();
}

}  // namespace

void DesignSearch::KeepBest(size_t most,
                            std::vector<Candidate>* candidates) const {
  auto keep = [&](size_t first, const auto& key) {
    const auto begin = candidates->begin() + first;
    const auto end =
        begin + std::min(most, static_cast<size_t>(candidates->end() - begin));
    std::partial_sort(begin, end, candidates->end(),
                      [&key](const Candidate& a, const Candidate& b) {
                        return key(a) != key(b) ? key(a) < key(b)
                                                : IsLonger(a, b);
                      });
    return static_cast<size_t>(end - candidates->begin());
  };
  size_t kept = keep(0, [](const Candidate& c) { return c.fpr; });
  kept = keep(kept, [this](const Candidate& c) { return CostOf(c); });
  candidates->resize(kept);
}

// A set of whole keys, as in a plain Bloom filter, however long the keys are.
void DesignSearch::AddWholeKeys(uint64_t bytes,
                                std::vector<Candidate>* found) const {
  for (AmqKind kind : kinds_) {
    Candidate candidate;
    candidate.design.amq = kind;
    candidate.design.prefix_bits = static_cast<uint32_t>(
        8 * std::max<size_t>(statistics_.longest_key(), 1));
    candidate.TestApart(1);
    Evaluate(bytes, kAllQueries, &candidate);
    found->push_back(candidate);
  }
}

// Series of prefixes for keys of different lengths, in whole bytes.
void DesignSearch::SearchSeries(uint64_t bytes, double key_share,
                                std::vector<Candidate>* found) const {
  constexpr uint32_t kStrides[] = {1, 2, 3, 4, 6, 8};
  constexpr size_t kStarts = 16;
  std::vector<Candidate> series;
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
  // What the designs below differ in.
  struct Kind {
    AmqKind kind;
    AmqPlan keys;
  };
  std::vector<Kind> kinds;
  for (AmqKind kind : kinds_) {
    kinds.push_back({kind, AmqPlan()});
    if (key_share == 0) continue;
    kinds.back().keys =
        PlanAmq(kind, statistics_.num_keys(),
                static_cast<uint64_t>(key_share * static_cast<double>(bytes)));
  }
  for (uint32_t stride : kStrides) {
    for (uint32_t first = 1; first < longest; first += spacing) {
      Candidate candidate;
      candidate.design.prefix_bits = 8 * first;
      candidate.design.stride_bits = 8 * stride;
      candidate.design.key_set = key_share > 0;
      candidate.design.first_share = key_share;
      candidate.TestApart(kUsualPrefixes);
      const uint64_t hashes =
          statistics_.PrefixesOfSeries(8 * first, 8 * stride);
      for (const Kind& kind : kinds) {
        if (hashes > FindAmqType(kind.kind)->max_hashes_per_key *
                         statistics_.num_keys()) {
          continue;
        }
        candidate.design.amq = kind.kind;
        const uint64_t set_bytes = bytes - kind.keys.bytes;
        PrefixSets sets;
        sets.first = kind.keys;
        sets.second = RoughPlan(kind.kind, hashes, set_bytes);
        if (sets.second.false_positive_rate > kUselessRate) continue;
        EvaluateSets(sets, bytes, kGridQueries, &candidate);
        series.push_back(candidate);
      }
    }
  }
  KeepBest(kStarts, &series);
  for (Candidate& candidate : series) {
    Evaluate(bytes, kSeriesQueries, &candidate);
  }
  found->insert(found->end(), series.begin(), series.end());
}

// Pairs of lengths on a grid, then steps from the best ones to better
// neighbours, in lengths and in how the memory is shared: first on few queries,
// and from the best design on more of them.
void DesignSearch::SearchTwoSets(uint64_t bytes,
                                 std::vector<Candidate>* found) const {
  constexpr size_t kGrid = 16;
  constexpr size_t kStarts = 3;
  constexpr double kShareStep = 0.1;
  constexpr double kMinShare = 0.15;
  const uint32_t max_bits = statistics_.max_bits();

  // Lengths are spread evenly, and lie where queries part from the keys.
  std::vector<uint32_t> lengths = PrefixLengths(1, max_bits, kGrid);
  std::vector<uint32_t> shared;
  for (const LocatedQuery& query : model_.queries()) {
    shared.push_back(query.shared());
  }
  std::sort(shared.begin(), shared.end());
  constexpr size_t kQuantiles = 5;
  for (size_t i = 0; i < kQuantiles; i++) {
    const uint32_t bits = shared[shared.size() * i / kQuantiles];
    if (bits < max_bits) lengths.push_back(bits + 1);
    // Digits and letters end with their byte.
    if (statistics_.longest_key() > 8 && 8 * (bits / 8 + 1) <= max_bits) {
      lengths.push_back(8 * (bits / 8 + 1));
    }
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());

  std::vector<Candidate> grid;
  const SharedShares& shares = SampleOf(StepFor(kGridQueries)).shared;
  for (AmqKind kind : kinds_) {
    // Designs of one kind differ in their rates alone.
    LeastCosts least(2 * kStarts);
    for (size_t j = lengths.size(); j-- > 0;) {
      const double certain = shares.AtLeast(lengths[j]);
      if (certain > least.Most()) break;
      for (size_t i = 0; i < j; i++) {
        Candidate candidate;
        candidate.design.amq = kind;
        candidate.design.first_share = 0.5;
        candidate.design.first_prefix_bits = lengths[i];
        candidate.design.prefix_bits = lengths[j];
        candidate.TestApart(kUsualPrefixes);
        if (!Evaluate(bytes, kGridQueries, &candidate, least.Most())) continue;
        least.Add(candidate.fpr);
        grid.push_back(candidate);
      }
    }
  }
  KeepBest(kStarts, &grid);

  // Searches from several starts meet, and turn back to where they were: the
  // rates by the kind, the lengths and the share.
  using KnownRates = std::map<std::array<int64_t, 4>, double>;
  struct Step {
    int first;
    int second;
    double share;
  };
  constexpr Step kSteps[] = {{-1, 0, 0}, {1, 0, 0},   {0, -1, 0}, {0, 1, 0},
                             {1, 1, 0},  {-1, -1, 0}, {0, 0, 1},  {0, 0, -1}};
  // Digits and letters take whole bytes.
  const int farthest = statistics_.longest_key() > 8
                           ? 16
                           : std::max<int>(1, max_bits / kGrid / 2);
  // Goes on to better neighbors as long as there are any.
  const auto climb = [&](size_t num_queries, int farthest_step,
                         KnownRates* known, Candidate* best) {
    const auto evaluate = [&](Candidate* candidate, double most) {
      const ProteusDesign& design = candidate->design;
      const auto [rate, is_new] = known->try_emplace(
          {int64_t{static_cast<uint8_t>(design.amq)}, design.first_prefix_bits,
           design.prefix_bits, std::lround(design.first_share / kShareStep)});
      // A design that is not good enough has a lower rate here, which may have
      // to be found again.
      if (is_new || (rate->second < 0 && -rate->second <= most)) {
        const bool is_exact = Evaluate(bytes, num_queries, candidate, most);
        rate->second = is_exact ? candidate->fpr : -candidate->fpr;
      }
      candidate->fpr = std::abs(rate->second);
    };
    evaluate(best, std::numeric_limits<double>::infinity());
    for (int distance = farthest_step; distance > 0; distance /= 2) {
      for (bool better = true; better;) {
        better = false;
        for (const Step& step : kSteps) {
          const int64_t first = int64_t{best->design.first_prefix_bits} +
                                int64_t{step.first} * distance;
          const int64_t second = int64_t{best->design.prefix_bits} +
                                 int64_t{step.second} * distance;
          const double share =
              best->design.first_share + kShareStep * step.share;
          if (first < 1 || second <= first || second > max_bits ||
              share < kMinShare || share > 1 - kMinShare) {
            continue;
          }
          Candidate next = *best;
          next.design.first_prefix_bits = static_cast<uint32_t>(first);
          next.design.prefix_bits = static_cast<uint32_t>(second);
          next.design.first_share = share;
          evaluate(&next, best->fpr);
          if (next.fpr < best->fpr) {
            *best = next;
            better = true;
          }
        }
      }
    }
  };
  KnownRates known;
  for (Candidate& best : grid)
    climb(kFewTwoSetQueries, farthest, &known, &best);
  KeepBest(kStarts, &grid);
  KnownRates known_better;
  for (Candidate& best : grid) {
    climb(kTwoSetQueries, std::min(farthest, 4), &known_better, &best);
    found->push_back(best);
  }
}

// Gives the designs found so far a set of whole keys, in a part of the memory
// of their sets, and tries such a set alone.
void DesignSearch::SearchKeySets(uint64_t bytes,
                                 std::vector<Candidate>* found) const {
  constexpr double kShares[] = {0.2, 0.25, 0.3, 0.34, 0.37,
                                0.4, 0.45, 0.5, 0.6};
  std::vector<Candidate> with_key_set = *found;
  for (AmqKind kind : kinds_) {
    Candidate keys_only;
    keys_only.design.amq = kind;
    keys_only.TestApart(1);
    with_key_set.push_back(keys_only);
  }
  for (Candidate& candidate : with_key_set) {
    ProteusDesign& design = candidate.design;
    if (design.first_prefix_bits > 0) continue;
    design.key_set = true;
    for (double share : kShares) {
      design.first_share = share;
      const PrefixSets sets = PlanPrefixSets(
          design, statistics_, bytes - candidate.trie_bytes, RoughPlan);
      if (sets.first.false_positive_rate > kUselessRate) continue;
      EvaluateSets(sets, bytes, kKeySetQueries, &candidate);
      found->push_back(candidate);
    }
  }
}

uint64_t DesignSearch::KeySetBytes(AmqKind kind, uint64_t bytes) const {
  return LeastBytes(kind, statistics_.num_keys(), PromisedRate(promising_),
                    MostForKeys(bytes));
}

void DesignSearch::SizeKeySet(uint64_t key_bytes, ProteusDesign* design) const {
  design->key_rate = PlanAmq(design->amq, statistics_.num_keys(), key_bytes)
                         .false_positive_rate;
}

DesignSearch::Candidate DesignSearch::BesideKeys(const DesignSearch& ranges,
                                                 DesignSpace space,
                                                 uint64_t key_bytes,
                                                 uint64_t bytes) const {
  Candidate candidate;
  ProteusDesign& design = candidate.design;
  design = ranges.Choose(space, bytes - key_bytes);
  design.amq = ranges.kinds_.front();
  design.key_set = true;
  design.keys_alone = true;
  SizeKeySet(key_bytes, &design);
  if (design.trie_bits > 0) {
    candidate.trie_bytes = SizeOfTrie(design.trie_bits, bytes).bytes;
  }
  candidate.TestApart(design.prefix_bits > 0 ? kUsualPrefixes : 1);
  Evaluate(bytes, kAllQueries, &candidate);
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
  std::vector<Candidate> found;
  for (AmqKind kind : kinds_) {
    DesignSearch search(ranges, statistics_, {kind}, price_);
    search.key_sets_ = false;
    search.two_sets_ = false;
    search.tries_ = tries_;
    const uint64_t promised = KeySetBytes(kind, bytes);
    found.push_back(BesideKeys(search, space, promised, bytes));
    if (model_.num_samples() == 0) continue;
    const Candidate first = found.back();
    Candidate best = first;
    uint64_t best_bytes = promised;
    for (double of_promise : kOfPromise) {
      const auto key_bytes =
          static_cast<uint64_t>(of_promise * static_cast<double>(promised));
      if (key_bytes > MostForKeys(bytes) ||
          first.trie_bytes + key_bytes > bytes) {
        continue;
      }
      Candidate next = first;
      SizeKeySet(key_bytes, &next.design);
      Evaluate(bytes, kRaceQueries, &next);
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
    for (const Candidate& candidate : found) {
      most = std::min(most, candidate.fpr + MaxRateForTime(price_));
    }
  }
  const Candidate* best = nullptr;
  for (const Candidate& candidate : found) {
    if (candidate.fpr <= most &&
        (best == nullptr || CostOf(candidate) < CostOf(*best))) {
      best = &candidate;
    }
  }
  return best->design;
}

// All queries decide between the candidates that some of them do not tell
// apart; the others are dropped.
void DesignSearch::Race(uint64_t bytes, std::vector<Candidate>* found) const {
  // Penalties make it more than one where nothing keeps the promise.
  double best = std::numeric_limits<double>::infinity();
  for (Candidate& candidate : *found) {
    Evaluate(bytes, kRaceQueries, &candidate);
    best = std::min(best, candidate.fpr);
  }
  // Twice the standard error of a rate.
  const double rate = std::min(best, 1.0);
  const double error =
      2 * std::sqrt(rate * (1 - rate) / static_cast<double>(kRaceQueries));
  const double most = best + MaxRateForTime(price_) + error;
  found->erase(std::remove_if(found->begin(), found->end(),
                              [&](const Candidate& c) { return c.fpr > most; }),
               found->end());
  for (Candidate& candidate : *found) {
    Evaluate(bytes, kAllQueries, &candidate);
    CountTests(bytes, &candidate);
  }
}

ProteusDesign DesignSearch::Choose(DesignSpace space, uint64_t bytes) const {
  if (promising_ > 0) return ChooseBesideKeys(space, bytes);
  std::vector<Candidate> found;
  if (model_.queries().empty()) {
    // There is nothing to go by: all bits of the keys are the same, say.
    AddWholeKeys(bytes, &found);
    return found.front().design;
  }
  const std::vector<uint32_t> tries = space == DesignSpace::kProteus && tries_
                                          ? TrieLengths(bytes)
                                          : std::vector<uint32_t>{0};
  const uint32_t max_bits = statistics_.max_bits();
  const std::vector<uint32_t> lengths =
      PrefixLengths(1, max_bits, kMaxPrefixLengths);
  SearchPairs(tries, lengths, bytes, &found);
  KeepBest(kFinalists, &found);
  if (lengths.size() < max_bits && !found.empty()) {
    // The second round takes all lengths around the best one.
    const uint32_t spacing =
        max_bits / static_cast<uint32_t>(lengths.size()) + 1;
    const uint32_t best = found.front().design.prefix_bits;
    if (best > 0) {
      SearchPairs(
          tries,
          PrefixLengths(best > spacing ? best - spacing : 1,
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
  for (const Candidate& candidate : found) {
    least = std::min(least, candidate.fpr);
  }
  if (space == DesignSpace::kTwoPrefixFilters ||
      (space == DesignSpace::kProteus && two_sets_ && least > kGood)) {
    SearchTwoSets(bytes, &found);
  }
  KeepBest(kFinalists, &found);
  if (space == DesignSpace::kProteus && key_sets_) {
    SearchKeySets(bytes, &found);
    KeepBest(kFinalists, &found);
  }

  Race(bytes, &found);
  KeepBest(kFinalists, &found);
  // The bytes may be too few for anything.
  if (found.empty()) return ProteusDesign();
  const double most = found.front().fpr + MaxRateForTime(price_);
  const Candidate* best = &found.front();
  for (const Candidate& candidate : found) {
    if (candidate.fpr <= most && CostOf(candidate) < CostOf(*best)) {
      best = &candidate;
    }
  }
  return best->design;
}

void DesignSearch::AddSecondLayer(uint64_t set_bytes,
                                  ProteusDesign* design) const {
  constexpr uint32_t kNearest = 64;
  const ProteusDesign alone = *design;
  Candidate candidate;
  candidate.design = alone;
  Evaluate(set_bytes, kFirstRoundQueries, &candidate);
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
      EvaluateSets(sets, set_bytes, kFirstRoundQueries, &candidate);
      if (candidate.fpr < best) {
        best = candidate.fpr;
        *design = candidate.design;
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
