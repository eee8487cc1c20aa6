// SPDX-License-Identifier: Apache-2.0

//  The lengths of prefixes that a search tries.

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/proteus/search/design_judge.h"

namespace ROCKSDB_NAMESPACE::protean {

// At most `most` lengths, evenly spread from `first` to `last`.
std::vector<uint32_t> SpreadLengths(uint32_t first, uint32_t last, size_t most);

// The depths of tries that fit into `bytes`, and 0.
std::vector<uint32_t> TrieLengths(const KeyStatistics& statistics,
                                  const DesignJudge& judge, uint64_t bytes);

}  // namespace ROCKSDB_NAMESPACE::protean
