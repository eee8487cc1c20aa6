//  What the fuzzers do with their input. Each aborts if a filter breaks its
//  promise; sanitizers see the rest.

#pragma once

#include <cstddef>
#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Takes the input as a filter block, with its magic number, version and
// checksum made right, opens it, and asks it all kinds of questions. A damaged
// block may answer anything, but must answer soon and read nothing outside of
// itself.
void FuzzOpen(const uint8_t* data, size_t size);

// Takes the input as a list of keys, builds a SuRF of them with any suffix bits
// and any encoding of its levels, and checks that it misses none of them.
void FuzzBuild(const uint8_t* data, size_t size);

// The same for Proteus, 1PBF and 2PBF: of any design, or of the one that is
// chosen for queries out of the input.
void FuzzDesign(const uint8_t* data, size_t size);

}  // namespace ROCKSDB_NAMESPACE::protean
