// SPDX-License-Identifier: Apache-2.0

//  protean samples: merging samples, apart from the command.

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/samples/query_queue.h"

namespace ROCKSDB_NAMESPACE::protean {

// Merges lists of samples, each of which is ordered from oldest to newest.
// Takes queries from each list in turn, the newest first: at most `max` in all,
// or all of them if `max` is 0. Duplicates are taken once, where they come
// first. The result is also ordered from oldest to newest.
std::vector<SampleQuery> MergeSamples(
    std::vector<std::vector<SampleQuery>> lists, uint64_t max);

}  // namespace ROCKSDB_NAMESPACE::protean
