// SPDX-License-Identifier: Apache-2.0

//  The checksum of filter blocks.

#pragma once

#include <cstdint>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// The CRC-32C of some bytes followed by `bytes`, of which `before` is the
// former's, or 0 if there are none: what RocksDB's crc32c::Extend returns. A
// RocksDB that was compiled for all x86-64 CPUs looks up tables for this, while
// this function uses the CPU's instruction where there is one.
uint32_t ExtendCrc32c(uint32_t before, const Slice& bytes);

}  // namespace ROCKSDB_NAMESPACE::protean
