// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/bench_report.h"

#include <cstdarg>
#include <cstdio>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string Format(const char* format, ...)
    __attribute__((format(printf, 1, 2)));

std::string Format(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  return line;
}

std::string Fpr(const QueryResult& result) {
  return result.filter_fpr < 0 ? "-" : Format("%.5f", result.filter_fpr);
}

nlohmann::ordered_json FprJson(const QueryResult& result) {
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
  Json row;
  row["filter"] = filter_.filter;
  row["query"] = QueryKindName(result.kind);
  row["empty_share"] = result.empty_share;
  row["ops_per_sec"] = result.ops_per_sec;
  row["p50_us"] = result.p50_us;
  row["p99_us"] = result.p99_us;
  row["block_reads_per_op"] = result.block_reads_per_op;
  row["filter_fpr"] = FprJson(result);
  row["false_positives_per_op"] = result.false_positives_per_op;
  row["bits_per_key"] = filter_.bits_per_key;
  row["filter_bytes"] = filter_.filter_bytes;
  row["filter_bytes_in_cache"] = filter_.filter_bytes_in_cache;
  row["load_seconds"] = filter_.load_seconds;
  row["wrong_results"] = result.wrong_results;
  wrong_ = wrong_ || result.wrong_results > 0;
  Print(row,
        Format("%-18s %-11s %6s %10s %9s %9s %10s %10s %9s %9s %10s %7s %6s",
               "filter", "query", "empty", "ops/s", "p50 us", "p99 us",
               "blocks/op", "filter fpr", "fp/op", "bits/key", "cached MB",
               "load s", "wrong"),
        Format("%-18s %-11s %5.0f%% %10.0f %9.1f %9.1f %10.4f %10s %9.5f %9.2f "
               "%10.2f %7.1f %6llu",
               filter_.filter.c_str(), QueryKindName(result.kind),
               100 * result.empty_share, result.ops_per_sec, result.p50_us,
               result.p99_us, result.block_reads_per_op, Fpr(result).c_str(),
               result.false_positives_per_op, filter_.bits_per_key,
               static_cast<double>(filter_.filter_bytes_in_cache) / (1 << 20),
               filter_.load_seconds,
               static_cast<unsigned long long>(result.wrong_results)));
}

void BenchReport::Row(const ShiftBatch& batch) {
  const QueryResult& seeks = batch.seeks;
  Json row;
  row["filter"] = filter_.filter;
  row["query"] = QueryKindName(seeks.kind);
  row["batch"] = batch.batch;
  row["transition_ratio"] = batch.transition;
  row["empty_share"] = seeks.empty_share;
  row["ops_per_sec"] = seeks.ops_per_sec;
  row["p50_us"] = seeks.p50_us;
  row["p99_us"] = seeks.p99_us;
  row["block_reads_per_op"] = seeks.block_reads_per_op;
  row["filter_fpr"] = FprJson(seeks);
  row["false_positives_per_op"] = seeks.false_positives_per_op;
  row["bits_per_key"] = batch.bits_per_key;
  row["background_jobs"] = batch.jobs;
  row["seconds"] = batch.seconds;
  row["refreshed_bytes"] = batch.refreshed_bytes;
  row["wrong_results"] = seeks.wrong_results;
  wrong_ = wrong_ || seeks.wrong_results > 0;
  Print(
      row,
      Format("%-18s %6s %10s %10s %9s %9s %10s %10s %9s %9s %12s %6s", "filter",
             "batch", "transition", "ops/s", "p50 us", "p99 us", "blocks/op",
             "filter fpr", "bg jobs", "seconds", "MB refreshed", "wrong"),
      Format("%-18s %6llu %10.3f %10.0f %9.1f %9.1f %10.4f %10s %9llu %9.2f "
             "%12.1f %6llu",
             filter_.filter.c_str(),
             static_cast<unsigned long long>(batch.batch), batch.transition,
             seeks.ops_per_sec, seeks.p50_us, seeks.p99_us,
             seeks.block_reads_per_op, Fpr(seeks).c_str(),
             static_cast<unsigned long long>(batch.jobs), batch.seconds,
             static_cast<double>(batch.refreshed_bytes) / (1 << 20),
             static_cast<unsigned long long>(seeks.wrong_results)));
}

void BenchReport::Row(const CacheRow& cache) {
  const QueryResult& queries = cache.queries;
  const double data_reads_per_op = queries.block_reads_per_op -
                                   queries.filter_reads_per_op -
                                   queries.index_reads_per_op;
  const char* distribution = cache.zipf ? "zipf" : "uniform";
  Json row;
  row["filter"] = filter_.filter;
  row["query"] = QueryKindName(queries.kind);
  row["distribution"] = distribution;
  row["empty_share"] = queries.empty_share;
  row["cache_percent"] = cache.cache_percent;
  row["cache_bytes"] = cache.cache_bytes;
  row["cache_shards"] = cache.cache_shards;
  row["ops_per_sec"] = queries.ops_per_sec;
  row["p50_us"] = queries.p50_us;
  row["p99_us"] = queries.p99_us;
  row["block_reads_per_op"] = queries.block_reads_per_op;
  row["filter_reads_per_op"] = queries.filter_reads_per_op;
  row["index_reads_per_op"] = queries.index_reads_per_op;
  row["data_reads_per_op"] = data_reads_per_op;
  row["bytes_read_per_op"] = queries.bytes_read_per_op;
  row["bits_per_key"] = filter_.bits_per_key;
  row["filter_bytes"] = filter_.filter_bytes;
  row["filter_bytes_in_cache"] = cache.filter_bytes_in_cache;
  row["load_seconds"] = filter_.load_seconds;
  row["wrong_results"] = queries.wrong_results;
  wrong_ = wrong_ || queries.wrong_results > 0;
  Print(row,
        Format("%-24s %-11s %-8s %6s %6s %9s %9s %9s %9s %9s %9s %10s %9s %6s",
               "filter", "query", "drawn", "cache", "shards", "ops/s",
               "blocks/op", "filter", "index", "data", "KB/op", "cached MB",
               "bits/key", "wrong"),
        Format("%-24s %-11s %-8s %5d%% %6u %9.0f %9.4f %9.4f %9.4f %9.4f %9.2f "
               "%10.2f %9.2f %6llu",
               filter_.filter.c_str(), QueryKindName(queries.kind),
               distribution, cache.cache_percent, cache.cache_shards,
               queries.ops_per_sec, queries.block_reads_per_op,
               queries.filter_reads_per_op, queries.index_reads_per_op,
               data_reads_per_op, queries.bytes_read_per_op / 1024,
               static_cast<double>(cache.filter_bytes_in_cache) / (1 << 20),
               filter_.bits_per_key,
               static_cast<unsigned long long>(queries.wrong_results)));
}

void BenchReport::Print(const Json& json, const std::string& header,
                        const std::string& table) {
  if (file_.is_open()) file_ << json.dump() << std::endl;
  if (as_json_) {
    printf("%s\n", json.dump().c_str());
  } else {
    if (!header_printed_) printf("%s\n", header.c_str());
    header_printed_ = true;
    printf("%s\n", table.c_str());
  }
  fflush(stdout);
}

}  // namespace ROCKSDB_NAMESPACE::protean
