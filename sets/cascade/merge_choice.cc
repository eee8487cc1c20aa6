// SPDX-License-Identifier: Apache-2.0

#include "sets/cascade/merge_choice.h"

#include <algorithm>
#include <limits>

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

WriterPace ChoosePace(const std::vector<RunState>& runs, bool is_merging) {
  constexpr size_t kArriving = 4;
  if (!is_merging || runs.empty()) return WriterPace::kFree;
  uint64_t total = 0;
  uint64_t smallest = std::numeric_limits<uint64_t>::max();
  for (const RunState& run : runs) {
    total += run.entries;
    smallest = std::min(smallest, run.entries);
  }
  const size_t enough =
      kArriving + 2 * BitsFor(total / std::max<uint64_t>(smallest, 1));
  if (runs.size() <= enough) return WriterPace::kFree;
  return runs.size() <= 2 * enough ? WriterPace::kDelayed : WriterPace::kHalted;
}

}  // namespace ROCKSDB_NAMESPACE::protean
