// SPDX-License-Identifier: Apache-2.0

#include "plugin/redesign/redesign_rules.h"

#include <algorithm>

#include "filter_policy/false_positive_price.h"
#include "filter_policy/filter_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

bool HasPriceOfNow(const ProteanFilterPolicy& policy, uint64_t known,
                   const UserCollectedProperties& properties) {
  // Filters without a model have no price.
  if (PropertyText(properties, kBasisProperty).empty()) return true;
  // The file's own price stays while nothing is known of its level's.
  const uint64_t of_file = PriceOf(properties);
  return of_file == policy.PriceFor(known == 0 ? of_file : known);
}

double MinGainOf(double min_gain, const ProteanFilterPolicy& policy,
                 uint64_t known, const UserCollectedProperties& properties) {
  if (known == 0) return min_gain;
  const uint64_t now = std::min(policy.PriceFor(known), kUsualPrice);
  return PriceOf(properties) < now ? std::min(min_gain, MaxRateForTime(now))
                                   : min_gain;
}

namespace {

// Small filters are less exact: their sizes are rounded, and they have headers.
double RoundedBits(uint64_t entries) {
  constexpr double kRoundedBits = 1024;  // of the filter
  return kRoundedBits / std::max<double>(1, static_cast<double>(entries));
}

// A filter that has this many bits per key more than now is too large.
constexpr double kMoreBits = 1;

}  // namespace

bool HasSizeOfNow(double bits, double bits_now, uint64_t entries,
                  bool shrinks) {
  // Where fewer bits than these are missing, more of them hardly pay.
  constexpr double kSameBits = 0.5;
  const double more = bits - bits_now;
  const double rounded = RoundedBits(entries);
  return -more < kSameBits + rounded &&
         (!shrinks || more < kMoreBits + rounded);
}

bool HoldsTooMuch(double bits, double bits_now, uint64_t entries) {
  // A file is not rewritten for the differences that growth always leaves.
  constexpr double kMuch = 1.25;
  return bits > kMuch * bits_now + kMoreBits + RoundedBits(entries);
}

double BlocksOfRewrite(uint64_t bytes, uint64_t block_size) {
  return 2 * static_cast<double>(bytes) /
         static_cast<double>(std::max<uint64_t>(block_size, 1));
}

}  // namespace ROCKSDB_NAMESPACE::protean
