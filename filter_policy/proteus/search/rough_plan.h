// SPDX-License-Identifier: Apache-2.0

//  Plans of sets for the many designs of a search. To plan a Bloom filter takes
//  thousands of instructions, since its lines differ in how full they are.

#pragma once

#include <cstdint>

#include "filter_policy/amq/amq.h"

namespace ROCKSDB_NAMESPACE::protean {

// PlanAmq, but for the rate of a Bloom filter, which is read off a table, and
// is within 3 % as long as there are at most 24 bits per hash.
AmqPlan RoughPlan(AmqKind kind, uint64_t hashes, uint64_t bytes);

// The rate of RocksDB's Bloom filter of `bytes` bytes.
double BloomRate(uint64_t bytes, uint64_t num_keys);

}  // namespace ROCKSDB_NAMESPACE::protean
