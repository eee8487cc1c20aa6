// SPDX-License-Identifier: Apache-2.0

//  The sets of hashes that Proteus is made of, of all kinds side by side: false
//  positives, and the time of building and of queries, without keys.

#pragma once

#include <cstdint>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Prints the head of a table, and its lines for sets of that many hashes. Times
// are processor times, the least of several rounds in which the kinds take
// turns.
void PrintStaticSetsHead();
Status PrintStaticSets(uint64_t num_hashes, double bits_per_hash);

}  // namespace ROCKSDB_NAMESPACE::protean
