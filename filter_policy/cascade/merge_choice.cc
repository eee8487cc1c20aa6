// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/cascade/merge_choice.h"

#include <algorithm>

#include "filter_policy/bits/bit_util.h"

namespace ROCKSDB_NAMESPACE::protean {

std::optional<MergeChoice> ChooseMerge(const std::vector<RunState>& runs) {
  for (size_t begin = 0; begin < runs.size(); begin++) {
    if (runs[begin].is_busy) continue;
    uint64_t sum = runs[begin].entries;
    size_t end = begin + 1;
    // A quarter more makes equals of runs that were filled equally, but for
    // chance.
    while (end < runs.size() && !runs[end].is_busy &&
           runs[end].entries <= sum + sum / 4) {
      sum += runs[end++].entries;
    }
    if (end - begin >= 2) return MergeChoice{begin, end};
  }
  return std::nullopt;
}

size_t RunsBeforeDelay(uint64_t largest, uint64_t smallest) {
  constexpr size_t kArriving = 4;
  const uint64_t ratio = largest / std::max<uint64_t>(smallest, 1);
  return kArriving + 2 * BitsFor(ratio);
}

}  // namespace ROCKSDB_NAMESPACE::protean
