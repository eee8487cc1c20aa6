// SPDX-License-Identifier: Apache-2.0

//  A structure-aware mutator for inputs that hold a filter block.
//
//  The input of the targets that open blocks:
//
//    2 bytes   number of bytes of queries
//              queries: strings (FuzzInput::String)
//              the block, up to the end
//
//  So the block ends where the input does, and a sanitizer sees every read
//  beyond it.

#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

struct BlockInput {
  std::string queries;
  std::string block;

  static BlockInput Parse(const Slice& input);
  std::string Join() const;
};

// What is mostly damaged, and repaired afterwards.
enum class BlockCare {
  kPayload,   // nearly every block has a right directory, most open, and none
              // changes its kind
  kEnvelope,  // directories, too: half of the blocks have a wrong checksum, and
              // most others tell lies
};

// The functions of a FuzzTarget.
std::string MutateBlockInput(const Slice& input, size_t max_size,
                             BlockCare care, Dice* random,
                             GenericMutator generic);
std::string CrossBlockInputs(const Slice& a, const Slice& b, size_t max_size,
                             Dice* random);

}  // namespace ROCKSDB_NAMESPACE::protean
