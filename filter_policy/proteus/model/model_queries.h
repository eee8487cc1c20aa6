// SPDX-License-Identifier: Apache-2.0

//  The queries that a design is judged by: the samples that the file would be
//  asked, and the prior (prior.h).

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/proteus/model/located_query.h"
#include "filter_policy/proteus/model/located_samples.h"
#include "filter_policy/proteus/model/shared_shares.h"

namespace ROCKSDB_NAMESPACE::protean {

struct ModelQueries {
  // The samples, then the prior, whose promised points come last.
  std::vector<LocatedQuery> all;
  size_t num_samples = 0;
  // The number of queries before the promised points, and what these share with
  // keys.
  size_t num_before_points = 0;
  SharedShares points;
  // The number of samples that find nothing because they lie beyond the keys.
  uint32_t outside = 0;
};

ModelQueries OrderQueries(LocatedSamples samples,
                          const std::vector<LocatedQuery>& prior);

// The queries that are no points.
ModelQueries RangesAmong(const ModelQueries& queries);

}  // namespace ROCKSDB_NAMESPACE::protean
