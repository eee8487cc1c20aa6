// SPDX-License-Identifier: Apache-2.0

//  Merging and resizing quotient filters without the hashes: fingerprints are
//  read in order from some filters and appended to another one. A filter of
//  another size splits the same fingerprints elsewhere, so that bits move
//  between quotient and remainder ("Don't Thrash: How to Cache Your Hash on
//  Flash", section 2).

#pragma once

#include <memory>
#include <vector>

#include "sets/quotient/quotient_multiset.h"

namespace ROCKSDB_NAMESPACE::protean {

// Makes a filter of all hashes of some filters, counting copies: the smallest
// one that can hold them and is not smaller than any of these. The false
// positive rates add up, as the fingerprints keep their bits. Returns
// InvalidArgument if the filters differ in fingerprint bits or salts, if there
// is none, or if fingerprints have too few bits for the number of hashes;
// MemoryLimit without memory. Takes one pass over the filters.
Status MergeQuotientMultisets(
    const std::vector<const QuotientMultiset*>& filters,
    std::unique_ptr<QuotientMultiset>* merged);

// Makes a filter of the hashes of `filter` whose quotients have `quotient_bits`
// bits: one more doubles the number of slots, one less halves it. Returns
// NoSpace if they are too few for the hashes, InvalidArgument if no filter can
// have the shape, MemoryLimit without memory.
Status ResizeQuotientMultiset(const QuotientMultiset& filter,
                              unsigned quotient_bits,
                              std::unique_ptr<QuotientMultiset>* resized);

}  // namespace ROCKSDB_NAMESPACE::protean
