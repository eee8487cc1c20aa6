//  Ribbon filters, RocksDB's own (util/ribbon_impl.h): about 30 % fewer bits
//  than Bloom filters for the same false positive rate, several times as long
//  to build, twice to query. The data is as RocksDB lays it out, without its
//  trailer.
//
//  header: small[0] seed, large 128-slot blocks

#pragma once

#include "filter_policy/amq/amq_type.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr AmqKind kRibbonAmq{2};

const AmqType& RibbonAmqType();

}  // namespace ROCKSDB_NAMESPACE::protean
