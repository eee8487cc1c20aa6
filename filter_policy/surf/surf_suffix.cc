// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/surf/surf_suffix.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

PrefixBitDrafts::PrefixBitDrafts(uint32_t bits)
    : prefix_bits_(bits), second_count_(bits / 2) {
  for (uint32_t step : PrefixSteps(bits)) {
    for (uint32_t j = 1; j <= bits; j++) {
      reaches_ |= uint64_t{1} << (PrefixReach(j, step) - 1);
    }
  }
  first_count_ = static_cast<uint32_t>(PopCount(reaches_));
}

uint64_t PrefixBitDrafts::Of(const Slice& key, size_t depth,
                             const FilterSalt& salt) const {
  PrefixHasher hasher(key, depth, salt);
  const uint64_t all_first = reaches_;
  const uint64_t all_second = LowBits(second_count_);
  const uint64_t inside = hasher.rest() < kMaxPrefixReach
                              ? LowBits(static_cast<unsigned>(hasher.rest()))
                              : ~uint64_t{0};
  uint64_t first = 0;
  uint64_t second = 0;
  for (uint64_t left = all_first & inside; left != 0; left &= left - 1) {
    const auto index = static_cast<unsigned>(__builtin_ctzll(left));
    const uint64_t hash = hasher.UpTo(index + 1);
    first |= hash >> 63 << index;
    second |= (hash >> 62 & 1) << index;
  }
  if ((all_first & ~inside) != 0) {
    const uint64_t whole = hasher.Whole();
    first |= whole & ~inside;
    second |= whole >> 32 & ~inside;
  }
  return ExtractBits(first, all_first) | (second & all_second) << first_count_;
}

PrefixBitDrafts::Places PrefixBitDrafts::PlacesOf(uint32_t step) const {
  Places places = {};
  uint32_t last = 0;
  for (uint32_t j = 1; j <= prefix_bits_; j++) {
    const uint32_t reach = PrefixReach(j, step);
    const uint64_t before = reaches_ & LowBits(reach - 1);
    const uint32_t place = reach == last
                               ? first_count_ + reach - 1
                               : static_cast<uint32_t>(PopCount(before));
    places[j - 1] = static_cast<uint8_t>(place);
    last = reach;
  }
  return places;
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
  const std::array<uint32_t, kNumPrefixSteps> steps = PrefixSteps(bits_);
  for (size_t i = 0; i < steps.size(); i++) {
    const uint32_t step = steps[i];
    const uint32_t wasted = PrefixBitsWithin(same, bits_, step);
    // In units of 2^-16.
    const auto passed = [&](uint32_t bits) {
      return uint64_t{1} << (16 + wasted - bits);
    };
    passed_[i] += passed(bits_) + passed(PrefixBitsWithin(whole, bits_, step)) +
                  passed(PrefixBitsWithin(part, bits_, step));
  }
}

uint32_t PrefixStepChooser::Step() const {
  if (queries_ == 0) return kUsualPrefixStep;
  const auto fewest = std::min_element(passed_.begin(), passed_.end());
  return PrefixSteps(bits_)[fewest - passed_.begin()];
}

}  // namespace ROCKSDB_NAMESPACE::protean
