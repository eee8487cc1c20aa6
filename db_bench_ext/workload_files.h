//  Files of keys and of queries, in the form that SOSD's data sets have.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/query_source.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Reads keys: SOSD format (a 64-bit count, then that many 64-bit numbers,
// little endian) or, if `text`, one key a line. Sorts them and drops
// duplicates.
Status ReadKeys(const std::string& file, bool text,
                std::vector<std::string>* keys);

// Reads queries: a 64-bit count and that many pairs lo, hi, or, if `text`, a
// line each, of one key or lo<TAB>hi. InvalidArgument names the first query
// whose hi is below its lo.
Status ReadQueries(const std::string& file, bool text,
                   std::vector<Query>* queries);

}  // namespace ROCKSDB_NAMESPACE::protean
