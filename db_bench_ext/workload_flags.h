//  The workloads ranges and strings by command line flags, the same for all
//  programs.

#pragma once

#include <gflags/gflags.h>

#include <string>

#include "db_bench_ext/key_source.h"
#include "db_bench_ext/query_source.h"
#include "rocksdb/status.h"

DECLARE_string(key_file);
DECLARE_string(query_dist);
DECLARE_string(rmax);
DECLARE_uint64(samples);

namespace ROCKSDB_NAMESPACE::protean {

// Whether these are the keys and queries that the flags here describe.
inline bool IsFlagWorkload(const std::string& workload) {
  return workload == "ranges" || workload == "strings";
}

// A whole number such as 1024 or 2^10, into `value`. InvalidArgument naming the
// flag if it is none.
Status ParseAmount(const std::string& flag, const std::string& text,
                   uint64_t* value);

// The keys. `workload` is ranges or strings.
Status KeySourceFromFlags(const std::string& workload, KeySource* source);

// What changes from one query distribution to another; as the flags of the same
// names.
struct QueryFlags {
  std::string query_dist;
  std::string rmax;
  std::string corr_degree;
};
QueryFlags GivenQueryFlags();

// The queries on such keys.
Status QueryOptionsFromFlags(const QueryFlags& flags, const KeySource& source,
                             QueryOptions* options);

// Such as "25-byte uniform keys", "correlated queries up to 1024 after a key,
// offsets 2 to 32".
std::string DescribeKeys(const KeySource& source);
std::string DescribeQueries(const QueryOptions& options,
                            const KeySource& source);

}  // namespace ROCKSDB_NAMESPACE::protean
