// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/prefix_sets.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The bytes of the first set, out of those of both.
uint64_t BytesOfFirst(const ProteusDesign& design,
                      const KeyStatistics& statistics, uint64_t bytes) {
  if (design.prefix_bits == 0) return bytes;
  if (design.key_rate > 0) {
    return LeastBytes(design.amq, statistics.num_keys(), design.key_rate,
                      bytes);
  }
  return static_cast<uint64_t>(design.first_share * static_cast<double>(bytes));
}

}  // namespace

PrefixSets PlanPrefixSets(const ProteusDesign& design,
                          const KeyStatistics& statistics, uint64_t bytes,
                          SetPlanner plan) {
  PrefixSets sets;
  if (design.key_set || design.first_prefix_bits > 0) {
    sets.first =
        plan(design.amq,
             design.key_set ? statistics.num_keys()
                            : statistics.Prefixes(design.first_prefix_bits),
             BytesOfFirst(design, statistics, bytes));
  }
  if (design.prefix_bits == 0) return sets;
  sets.second =
      plan(design.amq,
           statistics.PrefixesOfSeries(design.prefix_bits, design.stride_bits),
           bytes - sets.first.bytes);
  return sets;
}

PrefixSets FirstUnitOf(const PrefixSets& sets) {
  const auto half = [](const AmqPlan& set) {
    return PlanAmq(set.kind, set.hashes, set.bytes / 2);
  };
  return {half(sets.first), half(sets.second)};
}

PrefixSets SecondUnitOf(const PrefixSets& sets, const PrefixSets& first) {
  const auto rest = [](const AmqPlan& set, const AmqPlan& taken) {
    return PlanAmq(set.kind, set.hashes, set.bytes - taken.bytes);
  };
  return {rest(sets.first, first.first), rest(sets.second, first.second)};
}

uint64_t LeastBytes(AmqKind kind, uint64_t hashes, double rate, uint64_t most) {
  uint64_t low = 0;
  uint64_t high = most;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (PlanAmq(kind, hashes, middle).false_positive_rate <= rate) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

}  // namespace ROCKSDB_NAMESPACE::protean
