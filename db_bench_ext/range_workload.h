//  The workloads ranges and strings (Proteus paper, sections 6.3 and 7.2):
//  closed seeks that find nothing.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/db_workload.h"
#include "db_bench_ext/keyed_records.h"
#include "db_bench_ext/query_source.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RangeWorkloadOptions {
  std::string description;
  uint64_t records = 0;
  uint64_t queries = 0;
  uint64_t samples = 0;
  size_t value_bytes = 512;
  SortedRuns runs;
  QueryOptions query_options;
  uint64_t seed = 42;
};

class RangeWorkload : public DbWorkload {
 public:
  // InvalidArgument if the keys or the queries cannot be drawn.
  static Status Create(const RangeWorkloadOptions& options,
                       const KeySource& source,
                       std::unique_ptr<DbWorkload>* workload);

  std::string Describe() const override { return options_.description; }
  uint64_t record_bytes() const override { return records_.record_bytes(); }
  uint64_t loaded_records() const override { return records_.keys().size(); }
  Status Load(BenchDb* db, const BenchDb::Progress& progress) const override {
    return records_.Load(db, samples_, progress);
  }
  Status WarmUp(BenchDb* db) const override { return records_.WarmUp(db); }
  // A row of the empty queries; a tenth as many that find something are checked
  // in addition, but not measured.
  Status Run(BenchDb* db, BenchReport* report,
             ProgressLine* line) const override;

 private:
  RangeWorkload(const RangeWorkloadOptions& options, const KeySource& source,
                std::vector<std::string> keys)
      : options_(options),
        records_(source, std::move(keys), options.value_bytes, options.runs,
                 options.seed) {}
  Status DrawQueries();

  const RangeWorkloadOptions options_;
  const KeyedRecords records_;
  std::vector<Query> samples_;
  std::vector<Query> empty_;
  std::vector<Query> positive_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
