// SPDX-License-Identifier: Apache-2.0

//  How many prefixes of some bits a query has: |Q_l| of the paper, and |L| and
//  |R|, its parts below the two prefixes at the ends of the query.
//
//      prefixes of `first` bits   |   of lo   |  ...  |   of hi   |
//      the query                         [---------------]
//      prefixes of `bits` bits           |-L--|       |-R|
//
//  Only possible prefixes count (byte_alphabets.h). Counts above
//  kMaxPrefixProbes may be too low, but are above it too: a query that would
//  test more than that is a false positive.

#pragma once

#include <array>
#include <cstdint>

#include "filter_policy/amq/amq.h"
#include "filter_policy/proteus/byte_alphabets.h"
#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/key_store.h"
#include "filter_policy/proteus/model/located_queries.h"

namespace ROCKSDB_NAMESPACE::protean {

// More prefixes than any query may test.
constexpr uint64_t kManyPrefixes = kMaxPrefixProbes + 1;

// The prefixes from the lower to the upper bound.
uint64_t CountAll(const LocatedQuery& query, const ByteAlphabets& alphabets,
                  uint32_t bits);
// The prefixes that are tested if the first layer knows which prefixes of
// `first` bits keys have: I2 * |L| + I3 * |R| of equation 5.
uint64_t CountTested(const LocatedQuery& query, const ByteAlphabets& alphabets,
                     uint32_t first, uint32_t bits);

// The prefixes below the first of the prefixes of `first` bits, |L|, and below
// the last one, |R|.
// REQUIRES: the bounds lie below different ones
uint64_t CountLeft(const LocatedQuery& query, const ByteAlphabets& alphabets,
                   uint32_t first, uint32_t bits);
uint64_t CountRight(const LocatedQuery& query, const ByteAlphabets& alphabets,
                    uint32_t first, uint32_t bits);

// A plan for each layer; that of a trie is none. A filter of a given size is
// shared: the trie takes what it needs, a set with a share gets that, and the
// other one has the rest. The number of prefixes in a set and its bytes tell
// its false positive rate, the p of the paper's equations.
struct LayerPlans {
  std::array<AmqPlan, ProteusDesign::kMaxLayers> of;

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const AmqPlan& plan : of) sum += plan.bytes;
    return sum;
  }
};

// Plans the sets of a design in a filter of `bytes` bytes, of which its trie,
// and what else is not for sets, takes `trie_bytes`.
LayerPlans PlanLayers(const ProteusDesign& design,
                      const KeyStatistics& statistics, uint64_t bytes,
                      uint64_t trie_bytes);

// The sets of a part in one of its two units. In the first one, each set has
// half of its bytes; in the second one, the rest.
LayerPlans UnitOf(const LayerPlans& both, bool second);

// The lengths of the layers of prefixes; 0 for none.
struct PrefixLayers {
  explicit PrefixLayers(const ProteusDesign& design)
      : trie_bits(design.trie_bits()),
        first_bits(design.first_prefix_bits()),
        inner(design.inner() == nullptr ? Layer() : *design.inner()) {}

  uint32_t outer_bits() const { return trie_bits + first_bits; }

  uint32_t trie_bits;
  uint32_t first_bits;  // of an outer set
  Layer inner;
};

// The alphabets that the filter of a design knows: a series has none.
const ByteAlphabets& AlphabetsOf(const ProteusDesign& design,
                                 const KeyStatistics& statistics);

// The longest prefixes of a series of which not too many are tested, and how
// many of them. A set of one length tests those of that length.
uint32_t LongestTested(const LocatedQuery& query, const PrefixLayers& layers,
                       const ByteAlphabets& alphabets, uint64_t* tested);

// The prefixes that a query tests in the inner set, after a trie or alone
// (equations 1 and 5 of the Proteus paper), also in a series (design.h). The
// lengths of the layers decide, not the kinds and the sizes of the sets.
struct TestedPrefixes {
  // The lengths of which each tested prefix must be a false positive. If it is
  // 0, the answer is certain: `prefixes` is 0 if nothing passes, or 1.
  uint32_t lengths;
  uint64_t prefixes;
};
TestedPrefixes PrefixesTestedBy(const LocatedQuery& query,
                                const PrefixLayers& layers,
                                const ByteAlphabets& alphabets);

// PrefixesTestedBy for all queries that share as many bits with keys, and whose
// bounds share as many, as those of `any`. False if the bounds of each query
// decide.
bool PrefixesTestedByAll(const LocatedQuery& any, const PrefixLayers& layers,
                         TestedPrefixes* tested);

}  // namespace ROCKSDB_NAMESPACE::protean
