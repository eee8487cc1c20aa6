// SPDX-License-Identifier: Apache-2.0

//  Chooses how the levels of a Fast Succinct Trie are encoded.

#pragma once

#include <vector>

#include "filter_policy/fst/fst_section.h"

namespace ROCKSDB_NAMESPACE::protean {

// The encodings and devices that may be used: by default, all of them. Other
// choices are for comparison and for tests. The answers of a trie do not depend
// on them.
struct FstOptions {
  // The paper's R, section 2.4: to be faster, LOUDS-Dense at the top may make
  // the trie larger by one part in R than the smallest encoding.
  uint64_t size_ratio = 64;

  bool reduce_alphabet = true;  // else every code has 8 bits
  bool dense = true;
  bool quotient = true;
  bool list_exceptions = true;  // else HasChild is always bits
  bool runs = true;             // else all runs are nodes with one edge each
  // Whether the trie is one of digits (key_code.h). It never is if the alphabet
  // is not reduced, since a code has no columns but those of bytes that occur.
  enum Digits {
    kNever,
    kIfSmaller,  // for text, where that is clearly smaller
    kIfPossible,
  };
  Digits digits = kIfSmaller;
  // Log2 of the nodes that share an entry of the index in LOUDS-Dense.
  uint8_t dense_group_shift = 0;

  // If not empty, the remainder bits of each level. The last number counts for
  // all levels below too. Numbers above the bits of a code mean the latter.
  std::vector<unsigned> forced;
};

// Partitions the levels, root first, into sections of the smallest size, but
// with LOUDS-Dense as far down as the size ratio allows. There are at most
// FstHeader::kMaxSections, unless more are forced. The headers are complete,
// but for the encoding of the children.
std::vector<FstSectionHeader> ChooseEncoding(
    const std::vector<FstLevelCounts>& levels, unsigned code_bits,
    const FstOptions& options);

// The bytes that the sections of the chosen encoding take, headers included.
// The size of HasChild is a guess.
uint64_t EstimateSections(const std::vector<FstLevelCounts>& levels,
                          unsigned code_bits, const FstOptions& options);

}  // namespace ROCKSDB_NAMESPACE::protean
