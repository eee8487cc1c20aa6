// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/model/model_queries.h"

#include <algorithm>
#include <utility>

namespace ROCKSDB_NAMESPACE::protean {

ModelQueries OrderQueries(LocatedSamples samples,
                          const std::vector<LocatedQuery>& prior) {
  ModelQueries queries;
  std::vector<LocatedQuery>& all = queries.all;
  all = std::move(samples.queries);
  queries.num_samples = all.size();
  queries.outside = samples.outside;
  all.insert(all.end(), prior.begin(), prior.end());
  const auto points = std::stable_partition(
      all.begin(), all.end(),
      [](const LocatedQuery& q) { return !q.promised || !q.is_point(); });
  queries.num_before_points = static_cast<size_t>(points - all.begin());
  for (auto query = points; query != all.end(); ++query) {
    queries.points.Add(query->shared(), query->weight);
  }
  queries.points.Sort();
  return queries;
}

ModelQueries RangesAmong(const ModelQueries& queries) {
  const auto is_point = [](const LocatedQuery& query) {
    return query.is_point();
  };
  ModelQueries ranges;
  ranges.all = queries.all;
  ranges.outside = queries.outside;
  std::vector<LocatedQuery>& all = ranges.all;
  const auto end_samples =
      all.begin() + static_cast<ptrdiff_t>(queries.num_samples);
  const auto points = std::count_if(all.begin(), end_samples, is_point);
  ranges.num_samples = queries.num_samples - static_cast<size_t>(points);
  all.erase(std::remove_if(all.begin(), all.end(), is_point), all.end());
  ranges.num_before_points = all.size();
  return ranges;
}

}  // namespace ROCKSDB_NAMESPACE::protean
