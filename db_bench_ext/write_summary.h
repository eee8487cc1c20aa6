// SPDX-License-Identifier: Apache-2.0

//  The costs of writing in several rounds, as one row of a report.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db_bench_ext/write_run.h"

namespace ROCKSDB_NAMESPACE::protean {

// What writing has cost with one filter: medians of rounds, and ratios to
// another filter in the same round.
struct WriteRow {
  std::string filter;
  bool taught = false;  // whether it had samples of queries
  uint64_t value_bytes = 0;
  uint64_t rounds = 0;
  WriteCost cost;
  std::string base;  // the filter that the ratios are to
  double cpu_ratio = 0;
  double compaction_cpu_ratio = 0;
  // The smallest and the largest of the rounds.
  double min_compaction_cpu_ratio = 0;
  double max_compaction_cpu_ratio = 0;
};

// The medians of the rounds of one filter, and its ratios to the filter whose
// rounds `base` are. Both have the same number of rounds, at least one.
WriteRow SummarizeWriting(const std::vector<WriteCost>& costs,
                          const std::vector<WriteCost>& base);

}  // namespace ROCKSDB_NAMESPACE::protean
