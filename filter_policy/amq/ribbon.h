// SPDX-License-Identifier: Apache-2.0

//  RocksDB's Ribbon filters (util/ribbon_impl.h): they take about 30 % fewer
//  bits than Bloom filters of the same false positive rate, but several times
//  as long to build, and twice as long to query. The data has RocksDB's layout,
//  without its trailer.
//
//  header: small[0] seed, large 128-slot blocks

#pragma once

#include "filter_policy/amq/amq_type.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr AmqKind kRibbonAmq{2};

const AmqType& RibbonAmqType();

}  // namespace ROCKSDB_NAMESPACE::protean
