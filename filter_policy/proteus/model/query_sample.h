// SPDX-License-Identifier: Apache-2.0

//  Every k-th query of a model, with equal ones together.
//
//  Queries that share as many bits with keys, and whose bounds share as many,
//  are a class. While a design has no longer prefixes than the bounds share, it
//  tests one prefix of each of them, and the class counts as one query.

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/proteus/model/cpfpr.h"

namespace ROCKSDB_NAMESPACE::protean {

struct QueryClass {
  double weight = 0;
  uint32_t sum = 0;  // the index of the sum in which the queries count
  // The indexes of its queries among those of the sample.
  size_t begin = 0;
  size_t end = 0;
};

struct QuerySample {
  size_t step = 1;
  // Equal queries are one of their joint weight.
  std::vector<LocatedQuery> queries;
  std::vector<QueryClass> classes;
  // The number of classes before those of promised points, which only a series
  // looks at.
  size_t num_before_points = 0;
  // What the queries share with keys, all promised points included, and what
  // the promised queries share.
  SharedShares shared;
  SharedShares promised_shared;
};

// Every `step`-th query of a model.
QuerySample MakeQuerySample(const CpfprModel& model, size_t step);

// The queries of a sample that all designs of the same lengths test alike,
// whatever the kinds and the sizes of their sets: one pass over the queries
// serves many designs. (The paper batches queries that test as many prefixes:
// section 4.3, "Calculate Configuration FPRs".) A group has what decides the
// probability of its queries besides the rates of the sets.
struct QueryGroup {
  uint32_t lengths;  // as in TestedPrefixes
  uint32_t tested;
  uint32_t sum;  // as in QueryClass
  bool is_point;
  double weight;
};

// The groups of a sample of this model for the lengths of a design.
// REQUIRES: the design has no first set of prefixes
std::vector<QueryGroup> MakeQueryGroups(const CpfprModel& model,
                                        const QuerySample& sample,
                                        const ProteusDesign& design);

// The rates of a design, those of CpfprModel::Average but for rounding, from
// the groups for its lengths in a sample of every `step`-th query.
DesignRates RatesOfGroups(const CpfprModel& model,
                          const std::vector<QueryGroup>& groups, size_t step,
                          const ProteusDesign& design, const LayerPlans& plans);

// The rates of a design of two sets of prefixes. As soon as the rate of all is
// known to be above `most`, a rate between the two is given instead.
DesignRates RatesOfTwoSets(const CpfprModel& model, const QuerySample& sample,
                           const ProteusDesign& design, const LayerPlans& plans,
                           double most);

}  // namespace ROCKSDB_NAMESPACE::protean
