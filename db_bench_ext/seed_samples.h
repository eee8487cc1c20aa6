// SPDX-License-Identifier: Apache-2.0

//  Sample queries for filters that design themselves. The benchmarks give them
//  to a policy before it builds any filter.

#pragma once

#include <vector>

#include "db_bench_ext/query_source.h"
#include "rocksdb/filter_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

// Adds the queries to the policy's queue for the default column family, if it
// has one.
void SeedSamples(const FilterPolicy* policy, const std::vector<Query>& samples);

}  // namespace ROCKSDB_NAMESPACE::protean
