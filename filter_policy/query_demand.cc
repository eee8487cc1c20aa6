// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/query_demand.h"

namespace ROCKSDB_NAMESPACE::protean {

double DemandCounts::QueriesPerKey(uint64_t queries, uint64_t keys) {
  const double recent =
      std::max(0.0, static_cast<double>(queries) - forgotten_queries_);
  const double per_key =
      (recent + kFirstQueriesPerKey * kFirstKeys) / (keys_ + kFirstKeys);
  keys_ += static_cast<double>(keys);
  if (keys_ > kRecentKeys) {
    keys_ /= 2;
    forgotten_queries_ += recent / 2;
  }
  return std::clamp(per_key, kFewQueriesPerKey, kManyQueriesPerKey);
}

}  // namespace ROCKSDB_NAMESPACE::protean
