// SPDX-License-Identifier: Apache-2.0

//  Repairs a damaged filter block so that it opens, if few changes suffice: the
//  changes of a mutation stay, and what contradicts them is adapted. Counts in
//  headers of payloads are taken as true, bits are set and cleared until they
//  agree with the counts, and all redundant data (sizes, sums, rank and select
//  tables, the index, levels, checksums) is computed again.

#pragma once

#include <string>

#include "tests/fuzz/block_layout.h"
#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

// Repairs the magic, the version, and all checksums.
void RepairChecksums(std::string* block);

// Repairs the sums in a directory: its size, and the numbers of keys and parts.
// What else it says remains, true or not, but the block gets the size that it
// says, if that is not much more.
void RepairSums(SplitBlock* block);

// Repairs the directory and the payloads, and stores the block. False if a
// payload still contradicts itself; all else is right then. `random` chooses
// the bits to change.
bool RepairBlock(const SplitBlock& damaged, Dice* random, std::string* block);

}  // namespace ROCKSDB_NAMESPACE::protean
