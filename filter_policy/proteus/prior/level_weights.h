// SPDX-License-Identifier: Apache-2.0

//  The weights of queries in place of keys.
//
//  What such a query shares with the other keys, its level, decides most. The
//  statistics know this of all keys. So a query stands for all keys that share
//  as much as its own, and for those between that and the next higher level.

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/proteus/key_statistics.h"

namespace ROCKSDB_NAMESPACE::protean {

// The weights of queries of these levels, which have the weight `weight`
// together.
std::vector<float> WeighByLevel(const std::vector<uint32_t>& levels,
                                double weight, const KeyStatistics& statistics);

// All levels of the keys, in ascending order.
std::vector<uint32_t> LevelsOf(const KeyStatistics& statistics);

}  // namespace ROCKSDB_NAMESPACE::protean
