// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/design_memory.h"

#include <algorithm>
#include <cmath>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

bool AreWithin(double factor, double a, double b) {
  return a <= factor * b && b <= factor * a;
}

double Doublings(const DesignSituation& a, const DesignSituation& b) {
  return std::abs(std::log2(static_cast<double>(a.num_keys) /
                            static_cast<double>(b.num_keys)));
}

// Twice as many keys share a bit more with each other if they are numbers, and
// a few if they are text.
bool ShareAlike(const DesignSituation& a, const DesignSituation& b) {
  constexpr double kSameBits = 2;
  constexpr double kBitsPerDoubling = 2;
  constexpr double kShareOfLength = 1.0 / 16;
  for (size_t i = 0; i < a.shared_by_share.size(); i++) {
    const double in_a = a.shared_by_share[i];
    const double in_b = b.shared_by_share[i];
    if (std::abs(in_a - in_b) > kSameBits + kBitsPerDoubling * Doublings(a, b) +
                                    kShareOfLength * std::max(in_a, in_b)) {
      return false;
    }
  }
  return true;
}

// Returns true if a search has found nothing better than what was kept.
bool IsNoBetter(const DesignRates& searched, const DesignRates& kept) {
  constexpr double kMaxRateRatio = 0.9;
  constexpr double kMinGain = 0.0005;
  return searched.all >= kMaxRateRatio * kept.all - kMinGain;
}

// How far two situations that are alike lie apart.
double Distance(const DesignSituation& a, const DesignSituation& b) {
  return Doublings(a, b) + a.shape.Distance(b.shape) +
         std::abs(a.bits_per_key / b.bits_per_key - 1);
}

}  // namespace

SampleShape::SampleShape(const CpfprModel& model) {
  // Bins are fine among the first 64 bits.
  const auto bin = [](Shares* shares, uint32_t bits) -> float& {
    if (bits == kAllBits) return shares->back();
    return (*shares)[bits < 64 ? bits / 4
                               : 16 + std::min<size_t>((bits - 64) / 32, 16)];
  };
  const float share = 1 / static_cast<float>(model.num_samples());
  for (size_t i = 0; i < model.num_samples(); i++) {
    const LocatedQuery& query = model.queries()[i];
    bin(&by_bounds, query.bounds_shared) += share;
    bin(&by_keys, query.shared()) += share;
  }
}

double SampleShape::Distance(const SampleShape& other) const {
  const auto distance = [](const Shares& a, const Shares& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); i++) sum += std::abs(a[i] - b[i]);
    return sum;
  };
  return std::max(distance(by_bounds, other.by_bounds),
                  distance(by_keys, other.by_keys));
}

bool AreAlike(const DesignSituation& a, const DesignSituation& b) {
  // Twice as many keys need prefixes that are a bit longer, or more.
  if (a.prefixes_only != b.prefixes_only || a.demand.price != b.demand.price ||
      a.key_size != b.key_size ||
      !AreWithin(1.3, static_cast<double>(a.num_keys),
                 static_cast<double>(b.num_keys)) ||
      !AreWithin(1.05, a.bits_per_key, b.bits_per_key) ||
      !AreWithin(2, static_cast<double>(a.num_samples),
                 static_cast<double>(b.num_samples)) ||
      !AreWithin(2, a.demand.queries_per_key, b.demand.queries_per_key) ||
      !ShareAlike(a, b)) {
    return false;
  }
  if (a.num_samples == 0) return true;
  // Fewer samples cannot tell whether a design suits.
  constexpr uint64_t kMinLookedAt = 256;
  if (std::min(a.num_looked_at, b.num_looked_at) < kMinLookedAt) return false;
  // Two samples of the same distribution are about 4 / sqrt(n) apart, if n is
  // the size of the smaller one and there are some 20 bins.
  constexpr double kSameShape = 0.15;
  const auto size =
      static_cast<double>(std::min(a.num_looked_at, b.num_looked_at));
  return a.shape.Distance(b.shape) <= kSameShape + 4 / std::sqrt(size);
}

double ChanceOf(double rate, const CpfprModel& model) {
  constexpr double kMaxChance = 0.0015;
  double weights = 0;
  double squares = 0;
  for (const LocatedQuery& query : model.queries()) {
    weights += query.weight;
    squares += query.weight * query.weight;
  }
  if (weights == 0) return 0;
  const double p = std::clamp(rate, 0.0, 1.0);
  const double error = std::sqrt(p * (1 - p) * squares) / weights;
  return model.num_samples() == 0 ? error : std::min(error, kMaxChance);
}

bool MatchesPrediction(const DesignRates& now, const DesignRates& promised,
                       double chance, double bloom_rate) {
  constexpr double kMaxRateRatio = 1.1;
  constexpr double kMinRateRatio = 0.6;
  constexpr double kMaxRateExcess = 0.0005;
  const double more = kMaxRateExcess + chance;
  const double most_promised =
      promised.promised <= bloom_rate
          ? bloom_rate
          : kMaxRateRatio * promised.promised + kMaxRateExcess;
  return now.all <= kMaxRateRatio * promised.all + more &&
         now.all >= kMinRateRatio * promised.all - more &&
         now.promised <= most_promised;
}

std::vector<KeptDesign> DesignMemory::Recall(
    const DesignSituation& situation) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::pair<double, const Entry*>> alike;
  for (const Entry& entry : entries_) {
    if (AreAlike(entry.kept.situation, situation)) {
      alike.emplace_back(Distance(entry.kept.situation, situation), &entry);
    }
  }
  std::sort(alike.begin(), alike.end());
  std::vector<KeptDesign> designs;
  if (alike.empty() || alike[0].second->IsDue()) return designs;
  for (const auto& [distance, entry] : alike) {
    if (designs.size() < kMaxTried) designs.push_back(entry->kept);
  }
  return designs;
}

void DesignMemory::CountUse(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.kept.number != number) continue;
    entry.uses++;
    entry.last_use = ++time_;
  }
}

void DesignMemory::Keep(const KeptDesign& design) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry* nearest = nullptr;
  double least = 0;
  for (Entry& entry : entries_) {
    if (!AreAlike(entry.kept.situation, design.situation)) continue;
    const double distance = Distance(entry.kept.situation, design.situation);
    if (nearest != nullptr && distance >= least) continue;
    nearest = &entry;
    least = distance;
  }
  uint32_t most = kMinUses;
  if (nearest != nullptr && nearest->IsDue()) {
    if (IsNoBetter(design.rates, nearest->kept.rates)) {
      most = std::min(2 * nearest->most, kMaxUses);
    }
    nearest->uses = 0;
  }
  if (nearest == nullptr ||
      !MatchesPrediction(design.rates, nearest->kept.rates, /*chance=*/0,
                         design.rates.promised)) {
    if (entries_.size() == kMaxDesigns ||
        !memory_.Resize((entries_.size() + 1) * sizeof(Entry))) {
      if (entries_.empty()) return;
      entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                      [](const Entry& a, const Entry& b) {
                                        return a.last_use < b.last_use;
                                      }));
    }
    nearest = &entries_.emplace_back();
  }
  nearest->kept = design;
  nearest->kept.number = nearest->last_use = ++time_;
  nearest->uses = 0;
  nearest->most = most;
}

std::vector<KeptDesign> DesignMemory::Designs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<KeptDesign> designs;
  for (const Entry& entry : entries_) designs.push_back(entry.kept);
  return designs;
}

std::shared_ptr<DesignMemory> DesignMemories::Of(
    const void* info_log, const std::string& column_family,
    const std::shared_ptr<Cache>& cap, bool* is_shared) {
  const std::lock_guard<std::mutex> lock(mutex_);
  *is_shared = searching_anew_ == 0;
  if (!*is_shared) return std::make_shared<DesignMemory>(cap);
  const auto key = std::make_pair(info_log, column_family);
  if (trees_.size() == kMaxTrees && trees_.count(key) == 0) {
    trees_.erase(std::min_element(
        trees_.begin(), trees_.end(), [](const auto& a, const auto& b) {
          return a.second.last_use < b.second.last_use;
        }));
  }
  Tree& tree = trees_[key];
  if (tree.memory == nullptr) {
    tree.memory = std::make_shared<DesignMemory>(cap);
  }
  tree.last_use = ++time_;
  return tree.memory;
}

void DesignMemories::Forget(const std::string& column_family) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto tree = trees_.begin(); tree != trees_.end();) {
    tree = tree->first.second == column_family ? trees_.erase(tree)
                                               : std::next(tree);
  }
}

std::shared_ptr<void> DesignMemories::SearchAnew(
    const std::shared_ptr<DesignMemories>& memories) {
  {
    const std::lock_guard<std::mutex> lock(memories->mutex_);
    memories->searching_anew_++;
  }
  return std::shared_ptr<void>(nullptr, [memories](void*) {
    const std::lock_guard<std::mutex> lock(memories->mutex_);
    // What was kept is older than what has been found meanwhile.
    memories->trees_.clear();
    memories->searching_anew_--;
  });
}

}  // namespace ROCKSDB_NAMESPACE::protean
