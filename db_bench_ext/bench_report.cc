// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/bench_report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr double kMB = 1 << 20;

std::string Padded(const std::string& text, int width) {
  const std::string padding(
      std::max<size_t>(static_cast<size_t>(std::abs(width)), text.size()) -
          text.size(),
      ' ');
  return width < 0 ? text + padding : padding + text;
}

nlohmann::ordered_json Fpr(const QueryResult& result) {
  if (result.filter_fpr < 0) return nullptr;
  return result.filter_fpr;
}

}  // namespace

Status BenchReport::Open(const std::string& format,
                         const std::string& json_file) {
  if (format != "table" && format != "json") {
    return Status::InvalidArgument("--report=" + format +
                                   " is unknown; allowed: table, json");
  }
  as_json_ = format == "json";
  if (!json_file.empty()) {
    file_.open(json_file);
    if (!file_) return Status::IOError(json_file, "cannot be written");
  }
  return Status::OK();
}

Status BenchReport::Tree(const std::string& workload, const std::string& shape,
                         uint64_t records, uint64_t cache_bytes) {
  if (!shape_.empty()) {
    return shape == shape_ ? Status::OK()
                           : Status::Aborted("the trees of two filters differ",
                                             shape_ + " and " + shape);
  }
  shape_ = shape;
  if (!as_json_) {
    printf("%s; %llu records, %s, block cache %.1f MB\n", workload.c_str(),
           static_cast<unsigned long long>(records), shape.c_str(),
           static_cast<double>(cache_bytes) / (1 << 20));
  }
  return Status::OK();
}

void BenchReport::Row(const QueryResult& result) {
  Print(
      {{"filter", filter_.filter, "filter", -18},
       {"query", QueryKindName(result.kind), "query", -11},
       {"empty_share", result.empty_share, "empty", 6, 0, 100, "%"},
       {"ops_per_sec", result.ops_per_sec, "ops/s", 10, 0},
       {"p50_us", result.p50_us, "p50 us", 9, 1},
       {"p99_us", result.p99_us, "p99 us", 9, 1},
       {"block_reads_per_op", result.block_reads_per_op, "blocks/op", 10, 4},
       {"filter_fpr", Fpr(result), "filter fpr", 10, 5},
       {"false_positives_per_op", result.false_positives_per_op, "fp/op", 9, 5},
       {"bits_per_key", filter_.files.FilterBitsPerKey(), "bits/key", 9, 2},
       {"filter_bytes", filter_.files.filter_bytes},
       {"tree", shape_},
       {"index_bits_per_key", filter_.files.IndexBitsPerKey(), "index b/k", 9,
        2},
       {"filter_bytes_in_cache", filter_.filter_bytes_in_cache, "cached MB", 10,
        2, 1 / kMB},
       {"load_seconds", filter_.load_seconds, "load s", 7, 1},
       {"wrong_results", result.wrong_results, "wrong", 6}});
  wrong_ = wrong_ || result.wrong_results > 0;
}

void BenchReport::Row(const ShiftBatch& batch) {
  const QueryResult& seeks = batch.seeks;
  Print({{"filter", filter_.filter, "filter", -18},
         {"query", QueryKindName(seeks.kind)},
         {"batch", batch.batch, "batch", 6},
         {"transition_ratio", batch.transition, "transition", 10, 3},
         {"empty_share", seeks.empty_share},
         {"ops_per_sec", seeks.ops_per_sec, "ops/s", 10, 0},
         {"p50_us", seeks.p50_us, "p50 us", 9, 1},
         {"p99_us", seeks.p99_us, "p99 us", 9, 1},
         {"block_reads_per_op", seeks.block_reads_per_op, "blocks/op", 10, 4},
         {"filter_fpr", Fpr(seeks), "filter fpr", 10, 5},
         {"false_positives_per_op", seeks.false_positives_per_op},
         {"bits_per_key", batch.bits_per_key},
         {"background_jobs", batch.jobs, "bg jobs", 9},
         {"seconds", batch.seconds, "seconds", 9, 2},
         {"refreshed_bytes", batch.refreshed_bytes, "MB refreshed", 12, 1,
          1 / kMB},
         {"wrong_results", seeks.wrong_results, "wrong", 6}});
  wrong_ = wrong_ || seeks.wrong_results > 0;
}

void BenchReport::Row(const CacheRow& cache) {
  const QueryResult& queries = cache.queries;
  const double data_reads_per_op = queries.block_reads_per_op -
                                   queries.filter_reads_per_op -
                                   queries.index_reads_per_op;
  Print({{"filter", filter_.filter, "filter", -24},
         {"query", QueryKindName(queries.kind), "query", -11},
         {"distribution", cache.zipf ? "zipf" : "uniform", "drawn", -8},
         {"empty_share", queries.empty_share},
         {"cache_percent", cache.cache_percent, "cache", 6, 0, 1, "%"},
         {"cache_bytes", cache.cache_bytes},
         {"cache_shards", cache.cache_shards, "shards", 6},
         {"ops_per_sec", queries.ops_per_sec, "ops/s", 9, 0},
         {"p50_us", queries.p50_us},
         {"p99_us", queries.p99_us},
         {"block_reads_per_op", queries.block_reads_per_op, "blocks/op", 9, 4},
         {"filter_reads_per_op", queries.filter_reads_per_op, "filter", 9, 4},
         {"index_reads_per_op", queries.index_reads_per_op, "index", 9, 4},
         {"data_reads_per_op", data_reads_per_op, "data", 9, 4},
         {"bytes_read_per_op", queries.bytes_read_per_op, "KB/op", 9, 2,
          1.0 / 1024},
         {"bits_per_key", filter_.files.FilterBitsPerKey(), "bits/key", 9, 2},
         {"filter_bytes", filter_.files.filter_bytes},
         {"filter_bytes_in_cache", cache.filter_bytes_in_cache, "cached MB", 10,
          2, 1 / kMB},
         {"load_seconds", filter_.load_seconds},
         {"wrong_results", queries.wrong_results, "wrong", 6}});
  wrong_ = wrong_ || queries.wrong_results > 0;
}

void BenchReport::Row(const QueueRow& queue) {
  const QueryResult& reads = queue.reads;
  Print(
      {{"filter", filter_.filter, "filter", -14},
       {"query", queue.read, "query", -6},
       {"tree", queue.compacted ? "compacted" : "loaded", "tree", -9},
       {"ops_per_sec", reads.ops_per_sec, "ops/s", 8, 0},
       {"p50_us", reads.p50_us, "p50 us", 9, 1},
       {"p99_us", reads.p99_us, "p99 us", 9, 1},
       {"time_ratio", queue.time_ratio, "time ratio", 10, 2},
       {"block_reads_per_op", reads.block_reads_per_op, "blocks/op", 9, 4},
       {"data_blocks_per_op", reads.data_blocks_per_op, "used/op", 8, 2},
       {"keys_skipped_per_op", reads.keys_skipped_per_op, "skipped/op", 10, 1},
       {"deletions_skipped_per_op", reads.deletions_skipped_per_op,
        "deletions/op", 12, 1},
       {"deletions", queue.deletions, "deletions", 9},
       {"bits_per_key", queue.bits_per_key, "bits/key", 8, 2},
       {"wrong_results", reads.wrong_results, "wrong", 6}});
  wrong_ = wrong_ || reads.wrong_results > 0;
}

void BenchReport::Row(const WriteRow& row) {
  const WriteCost& cost = row.cost;
  Print(
      {{"filter", row.filter, "filter", -16},
       {"samples", row.taught ? "with" : "without", "samples", -7},
       {"value_bytes", row.value_bytes, "value", 6, 0, 1, " B"},
       {"records", cost.records, "records", 8},
       {"cpu_seconds", cost.cpu_seconds, "cpu s", 6, 2},
       {"flush_cpu_seconds", cost.flush_cpu_seconds, "flush", 6, 2},
       {"compaction_cpu_seconds", cost.compaction_cpu_seconds, "compact", 7, 2},
       {"base", row.base},
       {"cpu_ratio", row.cpu_ratio, "cpu/base", 8, 3},
       {"compaction_cpu_ratio", row.compaction_cpu_ratio, "compact/base", 12,
        3},
       {"min_compaction_cpu_ratio", row.min_compaction_cpu_ratio, "min", 5, 3},
       {"max_compaction_cpu_ratio", row.max_compaction_cpu_ratio, "max", 5, 3},
       {"wall_seconds", cost.wall_seconds, "wall s", 7, 2},
       {"stall_seconds", cost.stall_seconds, "stall s", 7, 2},
       {"peak_mb", cost.peak_mb, "peak MB", 7, 1},
       {"written_bytes", cost.written_bytes, "written MB", 10, 1, 1 / kMB},
       {"file_bytes", cost.files.file_bytes, "files MB", 8, 1, 1 / kMB},
       {"bits_per_key", cost.files.FilterBitsPerKey(), "bits/key", 8, 2},
       {"filter_bytes", cost.files.filter_bytes},
       {"rounds", row.rounds}});
}

std::string BenchReport::Figure::Text() const {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  char text[64];
  snprintf(text, sizeof(text), "%.*f%s", digits, scale * value.get<double>(),
           unit);
  return text;
}

void BenchReport::Print(const std::vector<Figure>& row) {
  Json json;
  std::string titles;
  std::string texts;
  for (const Figure& figure : row) {
    json[figure.field] = figure.value;
    if (figure.title == nullptr) continue;
    const char* const separator = texts.empty() ? "" : " ";
    titles += separator + Padded(figure.title, figure.width);
    texts += separator + Padded(figure.Text(), figure.width);
  }
  if (file_.is_open()) file_ << json.dump() << std::endl;
  if (as_json_) {
    printf("%s\n", json.dump().c_str());
  } else {
    if (!header_printed_) printf("%s\n", titles.c_str());
    header_printed_ = true;
    printf("%s\n", texts.c_str());
  }
  fflush(stdout);
}

}  // namespace ROCKSDB_NAMESPACE::protean
