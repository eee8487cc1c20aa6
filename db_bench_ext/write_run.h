// SPDX-License-Identifier: Apache-2.0

//  Writing with one filter: records in random order, flushes and compactions,
//  and what all of it costs.

#pragma once

#include <cstdint>
#include <string>

#include "db_bench_ext/file_sums.h"
#include "db_bench_ext/key_source.h"
#include "db_bench_ext/query_source.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

struct WriteRunOptions {
  std::string path;    // of the database, which is removed in the end
  std::string filter;  // as in filter_spec.h, perhaps with suffixes
  size_t value_bytes = 100;
  uint64_t bytes = 0;    // of keys and values together
  uint64_t samples = 0;  // queries that the filter may learn from
  KeySource keys;
  QueryOptions queries;  // as which the samples are drawn
  uint64_t seed = 42;
};

struct WriteCost {
  uint64_t records = 0;
  double wall_seconds = 0;
  double stall_seconds = 0;  // of the writing thread, for lack of room
  // Processor time of the whole process, and the parts of it that went to
  // flushes and to compactions.
  double cpu_seconds = 0;
  double flush_cpu_seconds = 0;
  double compaction_cpu_seconds = 0;
  double peak_mb = 0;          // the most memory that the process had at a time
  uint64_t written_bytes = 0;  // by flushes and compactions
  FileSums files;              // when all is compacted
};

// Writes the records into an empty database, waits for flushes and compactions,
// and then compacts all files into one level. Afterwards, reads every record
// back, by an iterator, and some of them by Get and Seek. Corruption if
// anything is missing, wrong, or too many.
Status MeasureWriting(const WriteRunOptions& options, WriteCost* cost);

}  // namespace ROCKSDB_NAMESPACE::protean
