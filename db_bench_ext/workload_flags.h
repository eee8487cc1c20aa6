// SPDX-License-Identifier: Apache-2.0

//  Workloads by command line flags, which are the same in all programs.

#pragma once

#include <gflags/gflags.h>

#include <string>

#include "db_bench_ext/key_source.h"
#include "db_bench_ext/query_source.h"
#include "db_bench_ext/workload.h"
#include "rocksdb/status.h"

DECLARE_string(key_type);
DECLARE_string(key_file);
DECLARE_string(query_dist);
DECLARE_string(rmax);
DECLARE_uint64(samples);

namespace ROCKSDB_NAMESPACE::protean {

// A whole number such as 1024 or 2^10, into `value`. InvalidArgument naming the
// flag if the text is no such number.
Status ParseAmount(const std::string& flag, const std::string& text,
                   uint64_t* value);

// The keys of `workload` if its keys and queries have distributions; open_seeks
// has those of ranges.
Status KeySourceFromFlags(const std::string& workload, KeySource* source);

// The flags that --shift changes from one query distribution to another.
struct QueryFlags {
  std::string query_dist;
  std::string rmax;
  std::string corr_degree;
};
QueryFlags GivenQueryFlags();

// The queries on such keys.
Status QueryOptionsFromFlags(const QueryFlags& flags, const KeySource& source,
                             QueryOptions* options);

// Descriptions such as "25-byte uniform keys", "correlated queries up to 1024
// behind a key, offsets 2 to 32".
std::string DescribeKeys(const KeySource& source);
std::string DescribeQueries(const QueryOptions& options,
                            const KeySource& source);

// A workload's keys and queries in words; `queries` is empty where the
// workload's name says it all.
struct WorkloadText {
  std::string keys;
  std::string queries;
};

// Generates a workload of the families kDataSet and kDistributions.
Status GenerateFromFlags(const NamedWorkload& named, const WorkloadSize& size,
                         Workload* workload, WorkloadText* text);

}  // namespace ROCKSDB_NAMESPACE::protean
