// SPDX-License-Identifier: Apache-2.0

//  Ribbon filters of many hashes, in shards: the highest bits of a hash choose
//  its shard, and each shard is a Ribbon filter of its own (ribbon.h).
//
//  Solving one large system of equations misses the cache with every hash, and
//  takes three times the memory of the hashes. Shards of some 100,000 hashes
//  are solved one after the other within the cache and the same memory. They
//  also take fewer slots, because the slots that a hash needs grow with the
//  logarithm of the number of hashes (Dillinger and Walzer, "Ribbon filter",
//  2021).
//
//  A planned Ribbon filter gets this form when it is built, if it has enough
//  hashes. It is no kind for a design to choose.
//
//  header: small[0] is the logarithm of the number of shards
//  data:   for each shard, in 8 bytes: the end of its solution, in segments of
//          16 bytes from the first solution on (4 bytes), its seed (1 byte),
//          its number of 128-slot blocks (3 bytes); then the solutions

#pragma once

#include "filter_policy/amq/amq_type.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr AmqKind kShardedRibbonAmq{3};

// Plans as AmqType::plan does, if the hashes are worth several shards. The kind
// of the plan is kNone for fewer hashes.
AmqPlan PlanRibbonShards(uint64_t hashes, uint64_t bytes);

// The form. Its `plan` is PlanRibbonShards.
const AmqType& ShardedRibbonAmqType();

}  // namespace ROCKSDB_NAMESPACE::protean
