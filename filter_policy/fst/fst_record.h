// SPDX-License-Identifier: Apache-2.0

//  A node as FstBuilder records it.

#pragma once

#include <cstdint>

#include "rocksdb/slice.h"
#include "util/coding_lean.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FstRecord {
  // An edge is its label, perhaps with one of these flags.
  static constexpr uint16_t kLeadsToNode = 0x100;
  static constexpr uint16_t kTerminator = 0x200;
  static constexpr size_t kEdgeBytes = 2;

  const char* edges;  // kEdgeBytes each; the terminator is first
  uint32_t num_edges;
  const char* values;
  uint32_t leaves;  // edges to leaves, and the terminator
  // For each leaf of a trie of digits, the digit that follows in the code of
  // the byte, or 0.
  const uint8_t* next_digits;
  bool has_terminator;
  Slice run;

  uint16_t edge(uint32_t i) const {
    return DecodeFixed16(edges + kEdgeBytes * i);
  }
  uint32_t labels() const { return num_edges - (has_terminator ? 1 : 0); }
  uint32_t children() const { return num_edges - leaves; }
};

}  // namespace ROCKSDB_NAMESPACE::protean
