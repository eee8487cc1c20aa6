// SPDX-License-Identifier: Apache-2.0

//  What a query asks of the sets of a design, which is most of the time that it
//  takes.

#pragma once

#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/model/located_query.h"

namespace ROCKSDB_NAMESPACE::protean {

// Tests of prefixes, and the runs of them: the first prefix of a run takes
// longer than those that follow it.
struct PrefixTests {
  double prefixes = 0;
  double runs = 0;
};

// The average tests of a query, if all prefixes are tested. `alphabets` are
// those that the filter knows, and `first_rate` is the rate of the first set.
PrefixTests TestsOf(const LocatedQuery& query, const ProteusDesign& design,
                    const ByteAlphabets& alphabets, double first_rate);

}  // namespace ROCKSDB_NAMESPACE::protean
