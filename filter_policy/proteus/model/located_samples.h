// SPDX-License-Identifier: Apache-2.0

//  The sample queries, located among the keys of a file (Proteus paper, section
//  4.3, "Count Query Prefixes"): sorted by their lower bounds, each is searched
//  from where the one before it was found.

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/proteus/model/located_query.h"
#include "filter_policy/samples/query_queue.h"

namespace ROCKSDB_NAMESPACE::protean {

struct LocatedSamples {
  // The samples for which the file would be asked and which find nothing in it.
  std::vector<LocatedQuery> queries;
  // The number of samples that find nothing because they lie beyond the keys.
  uint32_t outside = 0;
};

// Locates samples among `keys`, which ascend and whose statistics are given. If
// `prefixes_only`, a point query asks for all keys that start with its key.
// Each sample has this weight.
LocatedSamples LocateSamples(const KeyStore& keys,
                             const KeyStatistics& statistics,
                             const std::vector<SampleQuery>& samples,
                             bool prefixes_only, double weight);

}  // namespace ROCKSDB_NAMESPACE::protean
