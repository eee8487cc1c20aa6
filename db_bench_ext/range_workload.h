// SPDX-License-Identifier: Apache-2.0

//  Closed seeks that find nothing, on any workload that filter_bench has, too
//  (Proteus paper, sections 6.3 and 7.2, for ranges and strings).

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/db_workload.h"
#include "db_bench_ext/keyed_records.h"
#include "db_bench_ext/query_source.h"
#include "db_bench_ext/workload.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RangeWorkloadOptions {
  std::string description;
  WorkloadSize size;
  size_t value_bytes = 512;
  SortedRuns runs;
  // If not 0, this many times as many queries are asked as are drawn, by Zipf's
  // law.
  uint64_t repeats = 0;
};

class RangeWorkload : public DbWorkload {
 public:
  RangeWorkload(const RangeWorkloadOptions& options, Workload workload);

  std::string Describe() const override { return options_.description; }
  uint64_t record_bytes() const override { return records_.record_bytes(); }
  uint64_t loaded_records() const override { return records_.keys().size(); }
  Status Load(BenchDb* db, const BenchDb::Progress& progress) const override {
    return records_.Load(db, samples_, progress);
  }
  Status WarmUp(BenchDb* db) const override { return records_.WarmUp(db); }
  // Reports one row, of the queries that find nothing. The answers to the
  // others are checked in addition, but not measured.
  Status Run(BenchDb* db, BenchReport* report,
             ProgressLine* line) const override;

 private:
  const RangeWorkloadOptions options_;
  const KeyedRecords records_;
  const std::vector<Query> samples_;
  std::vector<Query> empty_;
  std::vector<Query> positive_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
