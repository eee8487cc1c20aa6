// SPDX-License-Identifier: Apache-2.0

//  Builds Ribbon sets (ribbon.h).

#pragma once

#include <cstdint>
#include <memory>

#include "filter_policy/amq/amq_type.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr AmqKind kRibbonAmq{6};
// The largest logarithm of the number of shards.
constexpr unsigned kMaxRibbonLog = 24;

// What AmqType calls these: the plan of a set, its builder, and the memory that
// the builder takes.
AmqPlan PlanRibbon(uint64_t hashes, uint64_t bytes);
std::unique_ptr<AmqSetBuilder> NewRibbonBuilder(const AmqPlan& plan,
                                                char* data);
size_t RibbonBuilderBytes(const AmqPlan& plan);

}  // namespace ROCKSDB_NAMESPACE::protean
