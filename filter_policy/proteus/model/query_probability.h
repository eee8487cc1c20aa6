// SPDX-License-Identifier: Apache-2.0

//  The probability that a design takes an empty query for one that is not: the
//  equations of the Proteus paper (section 3).
//
//    1PBF     equation 1
//    2PBF     equation 4. The binomial sum in it is the expansion of
//             (1 - p1 + p1 * (1 - p2)^k)^n, which is used instead, unless the
//             regions that may need the second set could pass the limit
//    Proteus  equation 5
//
//  A query that would test more than kMaxPrefixProbes prefixes is a false
//  positive.

#pragma once

#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/key_statistics.h"
#include "filter_policy/proteus/model/located_query.h"
#include "filter_policy/proteus/model/prefix_sets.h"
#include "filter_policy/proteus/model/run_rates.h"
#include "filter_policy/proteus/model/shared_shares.h"

namespace ROCKSDB_NAMESPACE::protean {

// A design whose sets have known rates. What it is made of must outlive it.
struct RatedDesign {
  RatedDesign(const ProteusDesign& its_design, const PrefixSets& sets,
              const KeyStatistics& statistics);

  const ProteusDesign& design;
  const ByteAlphabets& alphabets;  // that its filter knows
  const double first_rate;         // p1
  const double second_rate;        // p2, or p
  const RunRates second;           // what p2 makes of several prefixes
};

double ProbabilityOf(const LocatedQuery& query, const RatedDesign& rated);

// Equation 4.
// REQUIRES: the design has two sets of prefixes
double ProbabilityOfTwoSets(const LocatedQuery& query,
                            const RatedDesign& rated);

// The average over point queries, from what they share with keys.
// REQUIRES: the design is no series
double ProbabilityOfPoints(const SharedShares& points,
                           const RatedDesign& rated);

}  // namespace ROCKSDB_NAMESPACE::protean
