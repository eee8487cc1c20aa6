// SPDX-License-Identifier: Apache-2.0

//  The Ribbon filters of before (ribbon.h has those of today), which do not
//  know neighbours. They can still be read, not built.
//
//  A filter of the first kind is RocksDB's (util/ribbon_impl.h): its data has
//  RocksDB's layout, without the trailer.
//
//  header: small[0] seed, large 128-slot blocks
//
//  A filter of the second kind is in shards: the highest bits of a hash choose
//  its shard, and each shard is a filter of the first kind.
//
//  header: small[0] is the logarithm of the number of shards
//  data:   for each shard, in 8 bytes: the end of its solution, in segments of
//          16 bytes from the first solution on (4 bytes), its seed (1 byte),
//          its number of 128-slot blocks (3 bytes); then the solutions

#pragma once

#include "filter_policy/amq/amq_type.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr AmqKind kFormerRibbonAmq{2};
constexpr AmqKind kShardedRibbonAmq{3};

const AmqType& FormerRibbonAmqType();
const AmqType& ShardedRibbonAmqType();

}  // namespace ROCKSDB_NAMESPACE::protean
