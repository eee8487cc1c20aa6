// SPDX-License-Identifier: Apache-2.0

//  Micro-benchmarks of a lookup of an absent key in the filters of several
//  sorted runs: they show what hashing the key only once gains.

#pragma once

#include "db_bench_ext/micro_choices.h"

namespace ROCKSDB_NAMESPACE::protean {

// Registers ORDER/bytes:N/runs:N/FILTER. `key_bytes` and `runs` are lengths of
// keys and numbers of sorted runs, of `num_keys` keys each. The filters must
// outlive the benchmarks.
void RegisterLookUps(const std::vector<uint64_t>& key_bytes,
                     const std::vector<uint64_t>& runs,
                     const std::vector<FilterChoice>& filters,
                     uint64_t num_keys, uint64_t seed);

}  // namespace ROCKSDB_NAMESPACE::protean
