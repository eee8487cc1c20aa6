// SPDX-License-Identifier: Apache-2.0

//  The rates of CpfprModel::Average, but for rounding, from what many designs
//  have in common.

#pragma once

#include "filter_policy/proteus/model/query_groups.h"
#include "filter_policy/proteus/model/query_sample.h"

namespace ROCKSDB_NAMESPACE::protean {

// The rates of a design, from the groups for its lengths.
DesignRates RatesOfGroups(const CpfprModel& model, const QueryGroups& groups,
                          const ProteusDesign& design, const PrefixSets& sets);

// The rates of a design of two sets of prefixes. As soon as the rate of all is
// known to be above `most`, a rate between the two is given instead.
DesignRates RatesOfTwoSets(const CpfprModel& model, const QuerySample& sample,
                           const ProteusDesign& design, const PrefixSets& sets,
                           double most);

}  // namespace ROCKSDB_NAMESPACE::protean
