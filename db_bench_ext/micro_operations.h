// SPDX-License-Identifier: Apache-2.0

//  Micro-benchmarks of each operation of a filter in memory: asking for points,
//  ranges, batches, seeking, counting, building and opening, on every kind of
//  keys and any number of threads.

#pragma once

#include "db_bench_ext/micro_choices.h"

namespace ROCKSDB_NAMESPACE::protean {

// Registers OPERATION/KEY_TYPE/NUM/FILTER, in an order in which each set of
// keys and each filter is made only once. The keys and filters must outlive the
// benchmarks.
void RegisterOperations(const std::vector<KeyChoice>& keys,
                        const std::vector<FilterChoice>& filters,
                        const std::vector<uint64_t>& threads, uint64_t seed);

}  // namespace ROCKSDB_NAMESPACE::protean
