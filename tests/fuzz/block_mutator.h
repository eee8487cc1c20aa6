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
//
//  The engine changes a piece of the block (block_layout.h), and what
//  contradicts the change is mostly repaired afterwards.

#pragma once

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

struct BlockInput {
  std::string queries;
  std::string block;

  static BlockInput Parse(const Slice& input);
  std::string Join() const;
};

// Repairs the magic, the version, and all checksums.
void RepairChecksums(std::string* block);

// What is mostly damaged, and repaired afterwards.
enum class BlockCare {
  kPayload,   // nearly every block has a right directory, and most open
  kEnvelope,  // directories, too: many blocks have a wrong checksum, or tell
              // lies
};

std::string MutateBlockInput(const Slice& input, size_t max_size,
                             BlockCare care, Dice* random,
                             GenericMutator generic);

}  // namespace ROCKSDB_NAMESPACE::protean
