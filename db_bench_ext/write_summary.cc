// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/write_summary.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The median of what `figure` gives for the rounds.
template <typename Figure>
auto Median(size_t rounds, const Figure& figure) {
  std::vector<decltype(figure(size_t{0}))> figures;
  for (size_t round = 0; round < rounds; round++) {
    figures.push_back(figure(round));
  }
  std::sort(figures.begin(), figures.end());
  return figures[rounds / 2];
}

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

WriteRow SummarizeWriting(const std::vector<WriteCost>& costs,
                          const std::vector<WriteCost>& base) {
  const size_t rounds = costs.size();
  WriteRow row;
  row.rounds = rounds;
  // What the filter itself decides is the same in all rounds, or nearly.
  row.cost = costs[0];
  const auto median = [&costs, rounds](auto member) {
    return Median(rounds, [&](size_t round) { return costs[round].*member; });
  };
  for (double WriteCost::*figure :
       {&WriteCost::wall_seconds, &WriteCost::stall_seconds,
        &WriteCost::cpu_seconds, &WriteCost::flush_cpu_seconds,
        &WriteCost::compaction_cpu_seconds, &WriteCost::peak_mb}) {
    row.cost.*figure = median(figure);
  }
  row.cost.written_bytes = median(&WriteCost::written_bytes);
  row.cpu_ratio = Median(rounds, [&](size_t round) {
    return Ratio(costs[round].cpu_seconds, base[round].cpu_seconds);
  });
  const auto compaction_ratio = [&](size_t round) {
    return Ratio(costs[round].compaction_cpu_seconds,
                 base[round].compaction_cpu_seconds);
  };
  row.compaction_cpu_ratio = Median(rounds, compaction_ratio);
  row.min_compaction_cpu_ratio = row.max_compaction_cpu_ratio =
      compaction_ratio(0);
  for (size_t round = 1; round < rounds; round++) {
    row.min_compaction_cpu_ratio =
        std::min(row.min_compaction_cpu_ratio, compaction_ratio(round));
    row.max_compaction_cpu_ratio =
        std::max(row.max_compaction_cpu_ratio, compaction_ratio(round));
  }
  return row;
}

}  // namespace ROCKSDB_NAMESPACE::protean
