// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/run_rates.h"

#include <algorithm>
#include <cmath>

#include "filter_policy/proteus/design.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The probability that at least one of `count` events of this probability
// happens; `log_not` is std::log1p(-rate).
double AnyEventOf(double rate, double log_not, uint64_t count) {
  if (count > kMaxPrefixProbes || rate >= 1) return 1;
  return count == 1 ? rate : -std::expm1(static_cast<double>(count) * log_not);
}

}  // namespace

RunRates::RunRates(double rate, size_t most)
    : num_lengths_(std::min(most, kLengths)) {
  double power = 1;
  for (size_t i = 0; i < num_lengths_; i++) {
    power *= rate;
    all_of_[i] = power;
    log_not_[i] = kNotKnown;
  }
}

double RunRates::AnyRunOf(uint32_t lengths, uint64_t runs) const {
  const size_t i = std::min<size_t>(lengths, num_lengths_) - 1;
  // Most queries test one prefix.
  if (runs > 1 && log_not_[i] == kNotKnown) {
    log_not_[i] = std::log1p(-std::min(all_of_[i], 1 - 1e-16));
  }
  return AnyEventOf(all_of_[i], log_not_[i], runs);
}

}  // namespace ROCKSDB_NAMESPACE::protean
