// SPDX-License-Identifier: Apache-2.0

//  The sets of prefixes of a design, and how many bytes each of them gets.
//
//  A filter of a given size is shared: the trie takes what it needs, and the
//  sets have the rest. Of two sets, the first has its share, or as much as a
//  given false positive rate takes; the second has what is left. The number of
//  prefixes in a set and its bytes tell its false positive rate, the p of the
//  paper's equations.

#pragma once

#include <cstdint>

#include "filter_policy/amq/amq.h"
#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/key_statistics.h"

namespace ROCKSDB_NAMESPACE::protean {

struct PrefixSets {
  AmqPlan first;
  AmqPlan second;
};

// Plans a set: PlanAmq (filter_policy/amq/amq.h), or what replaces it.
using SetPlanner = AmqPlan (*)(AmqKind kind, uint64_t hashes, uint64_t bytes);

// Plans the sets of a design in `bytes` bytes.
PrefixSets PlanPrefixSets(const ProteusDesign& design,
                          const KeyStatistics& statistics, uint64_t bytes,
                          SetPlanner plan = PlanAmq);

// The share of sets in the first unit of a part: half of the bytes of each. The
// second unit has the rest.
PrefixSets FirstUnitOf(const PrefixSets& sets);
PrefixSets SecondUnitOf(const PrefixSets& sets, const PrefixSets& first);

// The least number of bytes with which a set of `hashes` hashes has a false
// positive rate of at most `rate`, or `most` if there is none below.
uint64_t LeastBytes(AmqKind kind, uint64_t hashes, double rate, uint64_t most);

}  // namespace ROCKSDB_NAMESPACE::protean
