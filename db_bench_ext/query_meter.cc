// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/query_meter.h"

#include <algorithm>

#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"

namespace ROCKSDB_NAMESPACE::protean {

const char* QueryKindName(QueryKind kind) {
  switch (kind) {
    case QueryKind::kPoint:
      return "point";
    case QueryKind::kOpenSeek:
      return "open_seek";
    case QueryKind::kClosedSeek:
      return "closed_seek";
    case QueryKind::kCount:
      return "count";
    case QueryKind::kTaughtOpenSeek:
      return "taught_open_seek";
  }
  return "";
}

QueryMeter::QueryMeter(const BenchDb* db, QueryKind kind)
    : db_(db),
      kind_(kind),
      passed_before_(Passed()),
      held_back_before_(HeldBack()) {
  SetPerfLevel(PerfLevel::kEnableCount);
  get_perf_context()->Reset();
}

QueryMeter::~QueryMeter() { SetPerfLevel(PerfLevel::kDisable); }

uint64_t QueryMeter::Passed() const {
  return kind_ == QueryKind::kPoint
             ? db_->Ticker(BLOOM_FILTER_FULL_POSITIVE)
             : db_->Ticker(LAST_LEVEL_SEEK_FILTER_MATCH) +
                   db_->Ticker(NON_LAST_LEVEL_SEEK_FILTER_MATCH);
}

uint64_t QueryMeter::HeldBack() const {
  return kind_ == QueryKind::kPoint
             ? db_->Ticker(BLOOM_FILTER_USEFUL)
             : db_->Ticker(LAST_LEVEL_SEEK_FILTERED) +
                   db_->Ticker(NON_LAST_LEVEL_SEEK_FILTERED);
}

QueryResult QueryMeter::Finish(uint64_t files_with_answer) const {
  QueryResult result;
  result.kind = kind_;
  result.wrong_results = wrong_results_;
  const auto ops = static_cast<double>(latencies_.num());
  if (ops > 0) {
    result.ops_per_sec = ops / total_ns_ * 1e9;
    result.p50_us = latencies_.Percentile(50) / 1000;
    result.p99_us = latencies_.Percentile(99) / 1000;
    const PerfContext& perf = *get_perf_context();
    const auto per_op = [ops](uint64_t count) {
      return static_cast<double>(count) / ops;
    };
    result.block_reads_per_op = per_op(perf.block_read_count);
    result.filter_reads_per_op = per_op(perf.filter_block_read_count);
    result.index_reads_per_op = per_op(perf.index_block_read_count);
    result.bytes_read_per_op = per_op(perf.block_read_byte);
    result.data_blocks_per_op = per_op(
        perf.block_read_count - perf.filter_block_read_count -
        perf.index_block_read_count + perf.block_cache_hit_count -
        perf.block_cache_filter_hit_count - perf.block_cache_index_hit_count);
    result.keys_skipped_per_op = per_op(perf.internal_key_skipped_count);
    result.deletions_skipped_per_op =
        per_op(perf.internal_delete_skipped_count);
  }
  const uint64_t passed = Passed() - passed_before_;
  const uint64_t held_back = HeldBack() - held_back_before_;
  if (passed + held_back > 0) {
    const auto false_positives =
        static_cast<double>(passed - std::min(passed, files_with_answer));
    const double asked = false_positives + static_cast<double>(held_back);
    result.filter_fpr = asked > 0 ? false_positives / asked : 0;
    if (ops > 0) result.false_positives_per_op = false_positives / ops;
  }
  return result;
}

}  // namespace ROCKSDB_NAMESPACE::protean
