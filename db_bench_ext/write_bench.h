// SPDX-License-Identifier: Apache-2.0

//  The workload write of protean_bench: what it costs to write with each
//  filter. Each run is a process of its own. In each round every filter has its
//  turn, so that what else the machine does hits all filters alike.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/bench_report.h"
#include "db_bench_ext/progress_line.h"
#include "db_bench_ext/write_run.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

struct WriteBenchOptions {
  std::vector<std::string> filters;
  std::vector<size_t> value_sizes;
  uint64_t rounds = 1;
  // What all runs share. Filters that learn are measured twice: without samples
  // and, if there are any, with them.
  WriteRunOptions run;
};

// Reads the flags of the workload, which are those of db_bench_ext/
// write_bench.cc and the keys and queries of ranges or strings.
// InvalidArgument if they contradict each other.
Status WriteBenchOptionsFromFlags(WriteBenchOptions* options);

// Measures all filters, then reports a row for each. This process must not have
// started any thread.
Status RunWriteBench(const WriteBenchOptions& options, BenchReport* report,
                     ProgressLine* line);

}  // namespace ROCKSDB_NAMESPACE::protean
