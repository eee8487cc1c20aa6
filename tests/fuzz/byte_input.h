// SPDX-License-Identifier: Apache-2.0

//  Inputs that are plain bytes: they are changed by the engine alone, since the
//  target itself makes right what would otherwise be refused, such as
//  checksums.

#pragma once

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

// The functions of a FuzzTarget.
size_t MutateBytes(uint8_t* data, size_t size, size_t max_size,
                   FuzzRandom* random, GenericMutator generic);
// The beginning of one input and the end of another.
size_t CrossBytes(const Slice& a, const Slice& b, uint8_t* out, size_t max_size,
                  FuzzRandom* random);

}  // namespace ROCKSDB_NAMESPACE::protean
