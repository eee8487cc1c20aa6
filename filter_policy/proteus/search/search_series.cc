// SPDX-License-Identifier: Apache-2.0

//  DesignSearch::SearchSeries: series of prefixes.

#include <algorithm>

#include "filter_policy/proteus/search/design_search.h"
#include "filter_policy/proteus/search/rough_plan.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Queries that the second round looks at.
constexpr size_t kSeriesQueries = 512;

}  // namespace

// Series of prefixes for keys of different lengths, in whole bytes.
void DesignSearch::SearchSeries(uint64_t bytes, double key_share,
                                std::vector<DesignCandidate>* found) const {
  constexpr uint32_t kStrides[] = {1, 2, 3, 4, 6, 8};
  constexpr size_t kStarts = 16;
  std::vector<DesignCandidate> series;
  // The grid ends at the length of most queries: one long key must not make it
  // coarse.
  std::vector<uint32_t> query_bytes;
  for (const LocatedQuery& query : model_.queries()) {
    query_bytes.push_back(query.bytes);
  }
  const auto most = query_bytes.begin() + query_bytes.size() * 99 / 100;
  std::nth_element(query_bytes.begin(), most, query_bytes.end());
  const uint32_t longest = std::min(*most + 1, statistics_.max_bits() / 8);
  const uint32_t spacing = std::max<uint32_t>(1, longest / 24);
  // What the designs below differ in.
  struct Kind {
    AmqKind kind;
    AmqPlan keys;
  };
  std::vector<Kind> kinds;
  for (AmqKind kind : kinds_) {
    kinds.push_back({kind, AmqPlan()});
    if (key_share == 0) continue;
    kinds.back().keys =
        PlanAmq(kind, statistics_.num_keys(),
                static_cast<uint64_t>(key_share * static_cast<double>(bytes)));
  }
  for (uint32_t stride : kStrides) {
    for (uint32_t first = 1; first < longest; first += spacing) {
      DesignCandidate candidate;
      candidate.design.prefix_bits = 8 * first;
      candidate.design.stride_bits = 8 * stride;
      candidate.design.key_set = key_share > 0;
      candidate.design.first_share = key_share;
      candidate.TestApart(kUsualPrefixes);
      const uint64_t hashes =
          statistics_.PrefixesOfSeries(8 * first, 8 * stride);
      for (const Kind& kind : kinds) {
        if (hashes > FindAmqType(kind.kind)->max_hashes_per_key *
                         statistics_.num_keys()) {
          continue;
        }
        candidate.design.amq = kind.kind;
        const uint64_t set_bytes = bytes - kind.keys.bytes;
        PrefixSets sets;
        sets.first = kind.keys;
        sets.second = RoughPlan(kind.kind, hashes, set_bytes);
        if (sets.second.false_positive_rate > kUselessRate) continue;
        judge_.EvaluateSets(sets, bytes, kGridQueries, &candidate);
        series.push_back(candidate);
      }
    }
  }
  KeepBest(kStarts, price_, &series);
  for (DesignCandidate& candidate : series) {
    judge_.Evaluate(bytes, kSeriesQueries, &candidate);
  }
  found->insert(found->end(), series.begin(), series.end());
}

}  // namespace ROCKSDB_NAMESPACE::protean
