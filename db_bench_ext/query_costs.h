// SPDX-License-Identifier: Apache-2.0

//  Measures the constants by which the design search weighs time: what a query
//  of a Proteus filter costs in its trie, and for each prefix that it tests in
//  a set of each kind.

#pragma once

#include <cstdint>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Prints the constants as they are written in the code, each with its value
// there at present. Filters of `num_keys` random 64-bit keys; takes some
// seconds.
Status PrintQueryCosts(uint64_t num_keys, uint64_t seed);

}  // namespace ROCKSDB_NAMESPACE::protean
