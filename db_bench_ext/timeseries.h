// SPDX-License-Identifier: Apache-2.0

//  The workload timeseries (SuRF paper, section 6): sensors that record events,
//  with keys of a 64-bit timestamp in ns and a 64-bit sensor number, and values
//  of 1 KB.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/db_workload.h"
#include "db_bench_ext/query_meter.h"
#include "db_bench_ext/query_source.h"
#include "db_bench_ext/values.h"

namespace ROCKSDB_NAMESPACE::protean {

struct TimeseriesOptions {
  uint64_t records = 250000;
  // The paper has 2000 sensors for 100 million records.
  uint64_t sensors = 500;
  uint64_t queries = 10000;  // for each kind of query; a tenth of it for counts
  uint64_t samples = 20000;  // of point queries and closed seeks together
  std::vector<int> empty_percents = {10, 25, 50, 75, 90, 99};
  SortedRuns runs;
  // The tree is BenchDbOptions::compacted, and half of each value is zero. The
  // run of a record is then not known, and neither is the filters' rate.
  bool compacted = false;
  uint64_t rounds = 1;  // of all queries, with another seed each
  uint64_t seed = 42;
};

class Timeseries : public DbWorkload {
 public:
  explicit Timeseries(const TimeseriesOptions& options);

  std::string Describe() const override;
  uint64_t record_bytes() const override { return 16 + values_.size(); }
  uint64_t loaded_records() const override { return records_.size(); }
  Status Load(BenchDb* db, const BenchDb::Progress& progress) const override;
  Status WarmUp(BenchDb* db) const override;
  // Runs point queries of absent keys and of stored ones, open seeks, closed
  // seeks with each share of empty ones, and counts of kCounted records on
  // average.
  Status Run(BenchDb* db, BenchReport* report,
             ProgressLine* line) const override;

 private:
  static constexpr size_t kValueSize = 1024;
  static constexpr double kCounted = 1000;
  static constexpr double kMaxCountError = .05;  // of estimates
  // A scan of kCounted records takes as long as kSeeksPerCount seeks.
  static constexpr uint64_t kSeeksPerCount = 10;
  static constexpr double kMeanGapNs = 0.2e9;  // between events of one sensor

  struct Record {
    uint64_t time;
    uint64_t sensor;
  };

  struct Query {
    uint64_t time;
    uint64_t sensor;  // point queries
    uint64_t end;     // closed seeks and counts: first time past the range
    bool stored;      // point queries: whether it is the key of a record
  };

  std::vector<std::pair<QueryKind, int>> Kinds() const;
  std::vector<Query> MakeQueries(QueryKind kind, int empty_percent,
                                 uint64_t num_queries, uint64_t seed) const;
  // Queries that are drawn as the measured ones are and find nothing.
  std::vector<protean::Query> MakeSamples() const;
  // Runs one kind of query, drawn from `seed`. For point queries and closed
  // seeks, `empty_percent` is the share that finds nothing.
  QueryResult RunKind(BenchDb* db, QueryKind kind, int empty_percent,
                      uint64_t seed, ProgressLine* line) const;
  // Index of the first record at or after the time.
  size_t FirstAtOrAfter(uint64_t time) const;
  // Number of sorted runs with a record that answers the query.
  uint64_t RunsWithAnswer(QueryKind kind, const Query& query) const;
  bool RunQuery(BenchDb* db, QueryKind kind, const Query& query) const;
  BenchDb::RecordSource Source() const;
  static std::string Key(uint64_t time, uint64_t sensor);

  std::vector<Record> MakeRecords();

  const TimeseriesOptions options_;
  Rng rng_;                      // draws the data
  std::vector<Record> records_;  // sorted by key
  std::vector<uint8_t> runs_;    // the sorted run of each record
  const Values values_;
  std::vector<protean::Query> samples_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
