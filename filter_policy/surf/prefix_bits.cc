// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/surf/prefix_bits.h"

#include <cmath>
#include <map>

namespace ROCKSDB_NAMESPACE::protean {

PrefixBitDrafts::PrefixBitDrafts(uint32_t bits) : prefix_bits_(bits) {
  // For each reach, how many bits some step has there.
  std::map<uint32_t, uint32_t> needed;
  for (uint32_t step : kPrefixSteps) {
    std::map<uint32_t, uint32_t> of_step;
    for (uint32_t j = 1; j <= bits; j++) of_step[PrefixReach(j, step)]++;
    for (const auto& [reach, times] : of_step) {
      needed[reach] = std::max(needed[reach], times);
    }
  }
  for (const auto& [reach, times] : needed) {
    for (uint32_t i = 0; i < times; i++) {
      reaches_[count_++] = static_cast<uint8_t>(reach);
    }
  }
}

uint64_t PrefixBitDrafts::MaskOf(uint32_t step) const {
  uint64_t mask = 0;
  uint32_t i = 0;
  for (uint32_t j = 1; j <= prefix_bits_; j++, i++) {
    while (reaches_[i] != PrefixReach(j, step)) i++;
    mask |= uint64_t{1} << i;
  }
  return mask;
}

void PrefixStepChooser::AddQuery(const KeyNeighborhood& key) {
  // The nearer neighbor, and what is stored of it without the key.
  const bool next_is_nearer = key.next >= key.previous;
  const size_t shared = next_is_nearer ? key.next : key.previous;
  const size_t depth =
      1 + (next_is_nearer ? std::max(key.previous, key.behind_next)
                          : std::max(key.next, key.before_previous));
  if (shared < depth) return;
  const size_t same = shared - depth;
  const size_t whole = key.key_size - depth;
  // In turn, the part of the key ends in each fourth of the bytes.
  const size_t part =
      same + ((whole - same) * (2 * (queries_ % 4) + 1) + 7) / 8;
  queries_++;
  for (size_t i = 0; i < std::size(kPrefixSteps); i++) {
    const uint32_t step = kPrefixSteps[i];
    const auto bits_within = [&](size_t bytes) {
      return static_cast<int>(PrefixBitsWithin(bytes, bits_, step));
    };
    const int wasted = bits_within(same);
    passed_[i] += std::ldexp(1, wasted - static_cast<int>(bits_)) +
                  std::ldexp(1, wasted - bits_within(whole)) +
                  std::ldexp(1, wasted - bits_within(part));
  }
}

uint32_t PrefixStepChooser::Step() const {
  if (queries_ == 0) return kUsualPrefixStep;
  const auto best = std::min_element(passed_.begin(), passed_.end());
  return kPrefixSteps[best - passed_.begin()];
}

}  // namespace ROCKSDB_NAMESPACE::protean
