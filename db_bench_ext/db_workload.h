// SPDX-License-Identifier: Apache-2.0

//  A workload of protean_bench: records in a database, and queries.

#pragma once

#include <cstdint>
#include <string>

#include "db_bench_ext/bench_db.h"
#include "db_bench_ext/bench_report.h"
#include "db_bench_ext/progress_line.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

class DbWorkload {
 public:
  virtual ~DbWorkload() = default;

  // Describes data and queries in words.
  virtual std::string Describe() const = 0;

  virtual uint64_t record_bytes() const = 0;
  // Records that Load writes, and those that Run writes in addition.
  virtual uint64_t loaded_records() const = 0;
  virtual uint64_t written_records() const { return 0; }

  // Changes what the workload needs in the options of its databases.
  virtual void Adjust(BenchDbOptions* /*options*/) const {}

  // Fills an empty database.
  virtual Status Load(BenchDb* db, const BenchDb::Progress& progress) const = 0;

  // Reads stored records until the block cache is full.
  virtual Status WarmUp(BenchDb* db) const = 0;

  // Runs the queries, checks every answer, and reports the rows.
  virtual Status Run(BenchDb* db, BenchReport* report,
                     ProgressLine* line) const = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
