// SPDX-License-Identifier: Apache-2.0

//  The queries of a sample that all designs of the same lengths test alike,
//  whatever the kinds and the sizes of their sets: one pass over the queries
//  serves many designs.
//
//  The paper batches queries that test as many prefixes (section 4.3,
//  "Calculate Configuration FPRs").

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/proteus/model/query_sample.h"

namespace ROCKSDB_NAMESPACE::protean {

// What decides the probability of the queries of a group besides the rates of
// the sets.
struct QueryGroup {
  uint32_t lengths;  // as in TestedPrefixes
  uint32_t tested;
  uint32_t sum;  // as in QueryClass
  bool is_point;
  double weight;
};

struct QueryGroups {
  size_t step = 1;
  std::vector<QueryGroup> groups;
};

// The groups of a sample of this model for the lengths of a design.
// REQUIRES: the design has no first set of prefixes
QueryGroups MakeQueryGroups(const CpfprModel& model, const QuerySample& sample,
                            const ProteusDesign& design);

}  // namespace ROCKSDB_NAMESPACE::protean
