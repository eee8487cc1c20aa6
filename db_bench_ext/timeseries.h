//  The time-series workload (SuRF paper, section 6): sensors that record
//  events, keys of a 64-bit timestamp in ns and a 64-bit sensor number, values
//  of 1 KB.

#pragma once

#include <string>
#include <vector>

#include "db_bench_ext/bench_db.h"

namespace ROCKSDB_NAMESPACE::protean {

struct TimeseriesOptions {
  uint64_t records = 250000;
  // The paper has 2000 sensors for 100 million records.
  uint64_t sensors = 500;
  uint64_t queries = 10000;  // for each kind of query
  std::vector<int> empty_percents = {10, 25, 50, 75, 90, 99};
  uint64_t seed = 42;
};

enum class QueryKind { kPoint, kOpenSeek, kClosedSeek };
const char* QueryKindName(QueryKind kind);

// What one kind of query did under one filter.
struct TimeseriesResult {
  QueryKind kind = QueryKind::kPoint;
  double empty_share = 0;  // asked for
  double ops_per_sec = 0;
  double p50_us = 0;
  double p99_us = 0;
  double block_reads_per_op = 0;
  // Of the files that held nothing for a query and whose filter was asked, the
  // share of which the filter said "may match"; negative if none was asked.
  double filter_fpr = -1;
  uint64_t wrong_results = 0;
};

class Timeseries {
 public:
  explicit Timeseries(const TimeseriesOptions& options);

  uint64_t num_records() const { return records_.size(); }
  uint64_t data_bytes() const { return records_.size() * (16 + kValueSize); }

  // Fills an empty database: three sorted runs, each over the whole time, on
  // levels 3, 2 and 1, each half as large as the one below it.
  Status Load(BenchDb* db, const BenchDb::Progress& progress) const;

  // Reads stored records until the block cache is full.
  Status WarmUp(BenchDb* db) const;

  // Runs one kind of query and checks every answer. `empty_percent` is for
  // closed seeks: the share of them that find nothing.
  Status Run(BenchDb* db, QueryKind kind, int empty_percent,
             const BenchDb::Progress& progress, TimeseriesResult* result) const;

  const TimeseriesOptions& options() const { return options_; }

 private:
  static constexpr size_t kValueSize = 1024;
  static constexpr double kMeanGapNs = 0.2e9;  // between events of one sensor

  struct Record {
    uint64_t time;
    uint64_t sensor;
    int run;
  };

  struct Query {
    uint64_t time;
    uint64_t sensor;  // point queries
    uint64_t end;     // closed seeks: first time past the range
  };

  std::vector<Query> MakeQueries(QueryKind kind, int empty_percent) const;
  // Index of the first record at or after the time.
  size_t FirstAtOrAfter(uint64_t time) const;
  // Number of runs with a record that answers the query.
  uint64_t RunsWithAnswer(QueryKind kind, const Query& query) const;
  bool RunQuery(DB* db, QueryKind kind, const Query& query) const;
  void FillValue(const Record& record, std::string* value) const;
  static std::string Key(uint64_t time, uint64_t sensor);

  const TimeseriesOptions options_;
  std::vector<BenchRun> runs_;
  std::vector<Record> records_;  // by key
  std::string random_bytes_;     // what values are cut from
};

}  // namespace ROCKSDB_NAMESPACE::protean
