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

}  // namespace ROCKSDB_NAMESPACE::protean
