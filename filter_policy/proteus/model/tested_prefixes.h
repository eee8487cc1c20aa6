// SPDX-License-Identifier: Apache-2.0

//  The prefixes that a query tests in the second layer, behind a trie or alone
//  (equations 1 and 5 of the Proteus paper), also in a series (design.h). The
//  lengths of a design decide, not the kinds and the sizes of its sets.

#pragma once

#include <cstdint>

#include "filter_policy/proteus/byte_alphabets.h"
#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/key_statistics.h"
#include "filter_policy/proteus/model/located_query.h"

namespace ROCKSDB_NAMESPACE::protean {

// The alphabets that the filter of a design knows: a series has none.
const ByteAlphabets& AlphabetsOf(const ProteusDesign& design,
                                 const KeyStatistics& statistics);

// What a query meets in a design without a first set of prefixes.
struct TestedPrefixes {
  // The lengths of which each tested prefix must be a false positive. If it is
  // 0, the answer is certain: `prefixes` is 0 if nothing passes, or 1.
  uint32_t lengths;
  uint64_t prefixes;
};
TestedPrefixes PrefixesTestedBy(const LocatedQuery& query,
                                const ProteusDesign& design,
                                const ByteAlphabets& alphabets);

// PrefixesTestedBy for all queries that share as many bits with keys, and whose
// bounds share as many, as those of `any`. False if the bounds of each query
// decide.
bool PrefixesTestedByAll(const LocatedQuery& any, const ProteusDesign& design,
                         TestedPrefixes* tested);

// The longest prefixes of a series of which not too many are tested, and how
// many of them. A design of one length tests those of that length.
uint32_t LongestTested(const LocatedQuery& query, const ProteusDesign& design,
                       const ByteAlphabets& alphabets, uint64_t* tested);

}  // namespace ROCKSDB_NAMESPACE::protean
