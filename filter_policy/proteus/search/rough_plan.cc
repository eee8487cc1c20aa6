// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/search/rough_plan.h"

#include <array>
#include <cmath>

#include "filter_policy/amq/bloom.h"
#include "util/bloom_impl.h"

namespace ROCKSDB_NAMESPACE::protean {

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

AmqPlan RoughPlan(AmqKind kind, uint64_t hashes, uint64_t bytes) {
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

double BloomRate(uint64_t bytes, uint64_t num_keys) {
  const double bits =
      8 * static_cast<double>(bytes) / static_cast<double>(num_keys);
  return BloomMath::CacheLocalFpRate(
      bits, FastLocalBloomImpl::ChooseNumProbes(static_cast<int>(1000 * bits)),
      512);
}

}  // namespace ROCKSDB_NAMESPACE::protean
