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
    // A run that is too large does not end the search: together with it, the
    // newer ones may be as large as an older one.
    for (size_t i = begin + 1; i < runs.size() && !runs[i].is_busy; i++) {
      if (runs[i].entries <= sum) end = i + 1;
      sum += runs[i].entries;
    }
    if (end - begin >= 2) return MergeChoice{begin, end};
  }
  return std::nullopt;
}

size_t RunsBeforeDelay(uint64_t total_entries, uint64_t smallest_run) {
  constexpr size_t kArriving = 4;
  const uint64_t ratio = total_entries / std::max<uint64_t>(smallest_run, 1);
  return kArriving + 2 * BitsFor(ratio);
}

}  // namespace ROCKSDB_NAMESPACE::protean
