// SPDX-License-Identifier: Apache-2.0

//  The bytes of a quotient filter, to be kept.
//
//    offset  size
//         0     4   magic "PRTQ"
//         4     1   format version: 1
//         5     1   bits of a quotient, q
//         6     1   bits of a remainder, r
//         7     1   zero
//         8     4   CRC-32C of all bytes but these four
//        12     4   zero
//        16     8   number of hashes, counting copies
//        24    16   the salt, the number of the file first
//        40     8   number of blocks
//        48         the blocks (quotient_blocks.h)
//                   16 zero bytes, so that queries may read whole words
//
//  All numbers are little endian. Filters of the same hashes and the same shape
//  have the same bytes, however the hashes got there.

#pragma once

#include <memory>
#include <string>

#include "sets/quotient/quotient_multiset.h"

namespace ROCKSDB_NAMESPACE::protean {

// Stores the filter's bytes in `*bytes`. Takes the time of a copy.
void SaveQuotientMultiset(const QuotientMultiset& filter, std::string* bytes);

// Makes a filter of the bytes of a saved one, which are not needed afterwards.
// Looks at all bytes once: no query leaves the blocks, whatever they hold.
// Returns Corruption if the bytes are damaged, NotSupported if their version is
// not known, and MemoryLimit if there is no memory.
Status LoadQuotientMultiset(const Slice& bytes,
                            std::unique_ptr<QuotientMultiset>* filter);

}  // namespace ROCKSDB_NAMESPACE::protean
