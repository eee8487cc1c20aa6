//  Makes a damaged filter block one that opens, if that can be done with little
//  change: what a mutation has changed stays, what contradicts it follows.
//  Counts in headers are taken for true, bits are set and cleared until they
//  agree with them, and all that is redundant (rank and select tables, the
//  index, levels, the checksum) is made anew.

#pragma once

#include <string>

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

// The magic, a version that is known, and the checksum.
void RepairEnvelope(std::string* block);

// All of it. False if the payload still contradicts itself; the envelope is
// right in any case. `random` says which bits are changed.
bool RepairBlock(std::string* block, FuzzRandom* random);

}  // namespace ROCKSDB_NAMESPACE::protean
