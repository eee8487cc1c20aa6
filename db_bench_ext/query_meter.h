// SPDX-License-Identifier: Apache-2.0

//  Measures the queries of one kind on one database: time, block reads, and the
//  filters' answers.

#pragma once

#include "db_bench_ext/bench_db.h"
#include "db_bench_ext/stopwatch.h"
#include "monitoring/histogram.h"

namespace ROCKSDB_NAMESPACE::protean {

enum class QueryKind {
  kPoint,
  kOpenSeek,
  kClosedSeek,
  kCount,
  kTaughtOpenSeek,  // under filters that have learned from such seeks
};
const char* QueryKindName(QueryKind kind);

// The results of one kind of query under one filter.
struct QueryResult {
  QueryKind kind = QueryKind::kPoint;
  double empty_share = 0;  // the share that was asked for
  double ops_per_sec = 0;
  double p50_us = 0;
  double p99_us = 0;
  double block_reads_per_op = 0;
  // Reads of filters and of indexes, their top levels included.
  double filter_reads_per_op = 0;
  double index_reads_per_op = 0;
  double bytes_read_per_op = 0;
  // Data blocks that were read from files or found in the block cache.
  double data_blocks_per_op = 0;
  // Versions of keys that an iterator stepped over, and the deletions among
  // them.
  double keys_skipped_per_op = 0;
  double deletions_skipped_per_op = 0;
  // False positive rate: files whose filter said "may match" although they held
  // nothing for the query, among all files that held nothing and whose filter
  // was asked; negative if none was asked.
  double filter_fpr = -1;
  // Number of such false positives per query.
  double false_positives_per_op = 0;
  uint64_t wrong_results = 0;
};

// Counts the calling thread's work during the meter's lifetime.
class QueryMeter {
 public:
  QueryMeter(const BenchDb* db, QueryKind kind);
  ~QueryMeter();
  QueryMeter(const QueryMeter&) = delete;
  QueryMeter& operator=(const QueryMeter&) = delete;

  // Runs and times a query. `run` returns whether its answer was right.
  template <typename Run>
  void Time(const Run& run) {
    const Stopwatch stopwatch;
    const bool right = run();
    const double ns = stopwatch.Nanos();
    if (!right) wrong_results_++;
    latencies_.Add(static_cast<uint64_t>(ns));
    total_ns_ += ns;
  }

  // `files_with_answer` is the number of files that held an answer, over all
  // queries; their filters were right to say "may match".
  QueryResult Finish(uint64_t files_with_answer) const;

 private:
  // Files whose filter said "may match", and files that a filter ruled out.
  uint64_t Passed() const;
  uint64_t HeldBack() const;

  const BenchDb* const db_;
  const QueryKind kind_;
  const uint64_t passed_before_;
  const uint64_t held_back_before_;
  HistogramImpl latencies_;
  double total_ns_ = 0;
  uint64_t wrong_results_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
