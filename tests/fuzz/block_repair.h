// SPDX-License-Identifier: Apache-2.0

//  Repairs a damaged filter block so that it opens, if few changes suffice: the
//  changes of a mutation stay, and what contradicts them is adapted. Counts in
//  headers are taken as true, bits are set and cleared until they agree with
//  the counts, and all redundant data (rank and select tables, the index,
//  levels, the checksum) is computed again.

#pragma once

#include <string>

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

// Repairs the magic, the version and the checksum.
void RepairEnvelope(std::string* block);

// Repairs envelope and payload. False if the payload still contradicts itself;
// the envelope is right in any case. `random` chooses the bits to change.
bool RepairBlock(std::string* block, FuzzRandom* random);

}  // namespace ROCKSDB_NAMESPACE::protean
