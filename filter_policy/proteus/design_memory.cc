// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/design_memory.h"

#include <algorithm>
#include <cmath>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

bool AreWithin(double factor, double a, double b) {
  return a <= factor * b && b <= factor * a;
}

}  // namespace

size_t SampleShape::BinOf(uint32_t bits) {
  if (bits == kAllBits) return kBins - 1;
  return bits < 64 ? bits / 4 : 16 + std::min<size_t>((bits - 64) / 32, 16);
}

SampleShape::SampleShape(const CpfprModel& model) {
  const double share = 1 / static_cast<double>(model.num_samples());
  for (size_t i = 0; i < model.num_samples(); i++) {
    const CpfprModel::Query& query = model.queries()[i];
    by_bounds_[BinOf(query.bounds_shared)] += share;
    by_keys_[BinOf(query.shared())] += share;
  }
}

double SampleShape::Distance(const SampleShape& other) const {
  const auto distance = [](const Shares& a, const Shares& b) {
    double sum = 0;
    for (size_t i = 0; i < kBins; i++) sum += std::abs(a[i] - b[i]);
    return sum;
  };
  return std::max(distance(by_bounds_, other.by_bounds_),
                  distance(by_keys_, other.by_keys_));
}

bool AreAlike(const DesignSituation& a, const DesignSituation& b) {
  if (a.prefixes_only != b.prefixes_only ||
      !AreWithin(4, static_cast<double>(a.num_keys),
                 static_cast<double>(b.num_keys)) ||
      !AreWithin(1.1, a.bits_per_key, b.bits_per_key) ||
      !AreWithin(2, static_cast<double>(a.num_samples),
                 static_cast<double>(b.num_samples))) {
    return false;
  }
  if (a.num_samples == 0) return true;
  // Two samples of the same distribution are about 4 / sqrt(n) apart, if n is
  // the size of the smaller one and there are some 20 bins.
  constexpr double kSame = 0.15;
  const auto size =
      static_cast<double>(std::min(a.num_looked_at, b.num_looked_at));
  return a.shape.Distance(b.shape) <= kSame + 4 / std::sqrt(size);
}

bool IsAsGood(const CpfprModel::Rates& now, const CpfprModel::Rates& kept) {
  constexpr double kFactor = 1.1;
  constexpr double kMore = 0.0005;
  return now.all <= kFactor * kept.all + kMore &&
         now.promised <= kFactor * kept.promised + kMore;
}

std::optional<KeptDesign> DesignMemory::Recall() {
  return ++uses_ < kMaxUses ? kept_ : std::nullopt;
}

void DesignMemory::Keep(const KeptDesign& design) {
  kept_ = design;
  uses_ = 0;
}

}  // namespace ROCKSDB_NAMESPACE::protean
