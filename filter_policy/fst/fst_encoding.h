//  Chooses how the levels of a Fast Succinct Trie are encoded.

#pragma once

#include <vector>

#include "filter_policy/fst/fst_section.h"

namespace ROCKSDB_NAMESPACE::protean {

// What a level holds.
struct FstLevelCounts {
  uint32_t nodes = 0;
  uint32_t edges = 0;
  uint32_t children = 0;
  uint32_t terminators = 0;
  uint32_t runs = 0;
  uint32_t run_codes = 0;
};

// What may be used. By default everything; less is for comparison, and for
// tests: whatever is used, the trie answers the same.
struct FstOptions {
  // The paper's R, section 2.4: for the sake of speed, LOUDS-Dense at the top
  // may make the trie larger by one part in R than the smallest encoding would.
  uint64_t size_ratio = 64;

  bool reduce_alphabet = true;  // else every code has 8 bits
  bool dense = true;
  bool quotient = true;
  bool list_exceptions = true;  // else HasChild is always bits
  bool runs = true;             // else all runs are nodes with one edge each

  // If not empty, the remainder bits of each level, the last one for all levels
  // below; cut off at the bits of a code.
  std::vector<unsigned> forced;
};

// Partitions the levels, root first, into sections of least size, but with
// LOUDS-Dense as far down as the size ratio allows. There are at most
// FstHeader::kMaxSections, unless more are forced. Everything in the headers is
// set but how the children are encoded.
std::vector<FstSectionHeader> ChooseEncoding(
    const std::vector<FstLevelCounts>& levels, unsigned code_bits,
    const FstOptions& options);

// The bytes that the sections of that encoding take, headers included; the size
// of HasChild is a guess.
uint64_t EstimateSections(const std::vector<FstLevelCounts>& levels,
                          unsigned code_bits, const FstOptions& options);

}  // namespace ROCKSDB_NAMESPACE::protean
