// SPDX-License-Identifier: Apache-2.0

//  The workload open_seeks: an application that never gives a bound. It seeks,
//  reads a few keys and stops, as a join or a window does. The seeks are
//  measured twice: under the filters that were built before the first query,
//  and under filters that have learned from these seeks, after all files have
//  been rewritten.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/db_workload.h"
#include "db_bench_ext/keyed_records.h"
#include "db_bench_ext/range_workload.h"

namespace ROCKSDB_NAMESPACE::protean {

class OpenSeekWorkload : public DbWorkload {
 public:
  // Seeks to the left ends of the queries, and reads `keys_read` keys
  // (positive). InvalidArgument if keys or queries cannot be drawn.
  static Status Create(const RangeWorkloadOptions& options,
                       const KeySource& source,
                       const QueryOptions& query_options, uint64_t keys_read,
                       std::unique_ptr<DbWorkload>* workload);

  std::string Describe() const override { return options_.description; }
  uint64_t record_bytes() const override { return records_.record_bytes(); }
  uint64_t loaded_records() const override { return records_.keys().size(); }
  Status Load(BenchDb* db, const BenchDb::Progress& progress) const override {
    return records_.Load(db, /*samples=*/{}, progress);
  }
  Status WarmUp(BenchDb* db) const override { return records_.WarmUp(db); }
  Status Run(BenchDb* db, BenchReport* report,
             ProgressLine* line) const override;

 private:
  OpenSeekWorkload(const RangeWorkloadOptions& options, const KeySource& source,
                   std::vector<std::string> keys, uint64_t keys_read)
      : options_(options),
        keys_read_(keys_read),
        records_(source, std::move(keys), options.value_bytes, options.runs,
                 options.size.seed) {}

  bool SeekIsRight(BenchDb* db, const std::string& target) const;
  QueryResult Measure(BenchDb* db, QueryKind kind,
                      const std::vector<Query>& queries,
                      ProgressLine* line) const;

  const RangeWorkloadOptions options_;
  const uint64_t keys_read_;
  const KeyedRecords records_;
  std::vector<Query> untaught_;
  std::vector<Query> taught_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
