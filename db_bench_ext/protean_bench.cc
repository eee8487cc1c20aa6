//  Filters in a real RocksDB: the same data, tree and queries for each of them.

#include <gflags/gflags.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "db_bench_ext/bench_db.h"
#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/timeseries.h"

DEFINE_string(workload, "timeseries", "timeseries");
DEFINE_string(filters, "none,bloom:14,surf:0:4,surf:4:0,oracle",
              "Filters to compare, comma separated: none, bloom:BITS_PER_KEY, "
              "ribbon:BITS_PER_KEY, surf:HASH_BITS:REAL_BITS, oracle");
DEFINE_uint64(num, 250000, "Records of 1 KB");
DEFINE_uint64(queries, 10000, "Queries of each kind");
DEFINE_uint64(sensors, 500, "timeseries: sensors, an event each 0.2 s");
DEFINE_string(empty_percents, "10,25,50,75,90,99",
              "timeseries: shares of closed seeks that find nothing");
DEFINE_string(db, "", "Folder for the databases; empty: a temporary one");
DEFINE_uint64(seed, 42, "Seed of data and queries");
DEFINE_uint64(cache_mb, 0,
              "Block cache; 0: indexes, filters and a sixteenth of the data");
DEFINE_bool(direct_reads, false, "Read past the operating system's cache");
DEFINE_uint32(read_latency_us, 0, "Delay each read of a file by so much");
DEFINE_string(report, "table", "table, or json: one object a line");
DEFINE_string(json_file, "", "Write the json report to this file as well");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Json = nlohmann::ordered_json;

// One line on a terminal, overwritten as work goes on; nothing elsewhere.
class ProgressLine {
 public:
  void Show(const std::string& what, double done) {
    if (!terminal_) return;
    const int percent = static_cast<int>(100 * done);
    if (what == what_ && percent == percent_) return;
    what_ = what;
    percent_ = percent;
    fprintf(stderr, "\r%-50s %3d %%", what.c_str(), percent);
  }
  void Clear() {
    if (terminal_) fprintf(stderr, "\r%-60s\r", "");
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  std::string what_;
  int percent_ = -1;
};

// What holds for all rows of one filter.
struct FilterFigures {
  std::string filter;
  double bits_per_key = 0;
  uint64_t filter_bytes_in_cache = 0;
  double load_seconds = 0;
};

class Report {
 public:
  Status Open() {
    if (FLAGS_report != "table" && FLAGS_report != "json") {
      return Status::InvalidArgument("--report=" + FLAGS_report +
                                     " is unknown; allowed: table, json");
    }
    if (!FLAGS_json_file.empty()) {
      file_.open(FLAGS_json_file);
      if (!file_) return Status::IOError(FLAGS_json_file, "cannot be written");
    }
    return Status::OK();
  }

  // Called with the tree of each filter. All must be the same, or the rows
  // could not be compared.
  Status Tree(const std::string& shape, uint64_t records,
              uint64_t cache_bytes) {
    if (!shape_.empty()) {
      return shape == shape_
                 ? Status::OK()
                 : Status::Aborted("the trees of two filters differ",
                                   shape_ + " and " + shape);
    }
    shape_ = shape;
    if (FLAGS_report == "table") {
      printf("%llu records, %s, block cache %.1f MB\n",
             static_cast<unsigned long long>(records), shape.c_str(),
             static_cast<double>(cache_bytes) / (1 << 20));
      Header();
    }
    return Status::OK();
  }

  void Row(const FilterFigures& filter, const TimeseriesResult& result) {
    const bool asked = result.filter_fpr >= 0;
    Json row;
    row["filter"] = filter.filter;
    row["query"] = QueryKindName(result.kind);
    row["empty_share"] = result.empty_share;
    row["ops_per_sec"] = result.ops_per_sec;
    row["p50_us"] = result.p50_us;
    row["p99_us"] = result.p99_us;
    row["block_reads_per_op"] = result.block_reads_per_op;
    row["filter_fpr"] = asked ? Json(result.filter_fpr) : Json(nullptr);
    row["bits_per_key"] = filter.bits_per_key;
    row["filter_bytes_in_cache"] = filter.filter_bytes_in_cache;
    row["load_seconds"] = filter.load_seconds;
    row["wrong_results"] = result.wrong_results;
    if (file_.is_open()) file_ << row.dump() << std::endl;
    wrong_ = wrong_ || result.wrong_results > 0;
    if (FLAGS_report == "json") {
      printf("%s\n", row.dump().c_str());
    } else {
      char fpr[16] = "-";
      if (asked) snprintf(fpr, sizeof(fpr), "%.5f", result.filter_fpr);
      printf(
          "%-10s %-11s %5.0f%% %10.0f %9.1f %9.1f %10.4f %10s %9.2f %10.2f "
          "%7.1f %6llu\n",
          filter.filter.c_str(), QueryKindName(result.kind),
          100 * result.empty_share, result.ops_per_sec, result.p50_us,
          result.p99_us, result.block_reads_per_op, fpr, filter.bits_per_key,
          static_cast<double>(filter.filter_bytes_in_cache) / (1 << 20),
          filter.load_seconds,
          static_cast<unsigned long long>(result.wrong_results));
    }
    fflush(stdout);
  }

  bool wrong() const { return wrong_; }

 private:
  void Header() {
    printf("%-10s %-11s %6s %10s %9s %9s %10s %10s %9s %10s %7s %6s\n",
           "filter", "query", "empty", "ops/s", "p50 us", "p99 us", "blocks/op",
           "filter fpr", "bits/key", "cached MB", "load s", "wrong");
  }

  std::ofstream file_;
  std::string shape_;
  bool wrong_ = false;
};

// Indexes, filters and about a sixteenth of the data.
uint64_t CacheBytes(const Timeseries& workload) {
  if (FLAGS_cache_mb > 0) return FLAGS_cache_mb << 20;
  constexpr uint64_t kFilterBitsPerKey = 24;
  constexpr uint64_t kIndexBytesPerBlock = 40;
  const uint64_t records = workload.options().records;
  return workload.data_bytes() / 16 + records * kFilterBitsPerKey / 8 +
         workload.data_bytes() / 4096 * kIndexBytesPerBlock;
}

Status RunFilter(const std::string& filter, const std::string& path,
                 const Timeseries& workload, Report* report,
                 ProgressLine* line) {
  BenchDbOptions options;
  options.path = path;
  options.filter = filter;
  options.cache_bytes = CacheBytes(workload);
  options.direct_reads = FLAGS_direct_reads;
  options.read_latency_us = FLAGS_read_latency_us;
  std::unique_ptr<BenchDb> db;
  Status s = BenchDb::Create(options, &db);
  if (!s.ok()) return s;

  FilterFigures figures;
  figures.filter = filter;
  const auto start = std::chrono::steady_clock::now();
  s = workload.Load(
      db.get(), [&](double done) { line->Show(filter + ": loading", done); });
  figures.load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (s.ok()) {
    s = report->Tree(db->TreeShape(), workload.num_records(),
                     options.cache_bytes);
  }
  if (s.ok()) s = db->FilterBitsPerKey(&figures.bits_per_key);
  line->Show(filter + ": warming the cache", 0);
  if (s.ok()) s = db->Reopen();
  if (s.ok()) s = workload.WarmUp(db.get());
  if (!s.ok()) return s;
  figures.filter_bytes_in_cache = db->FilterBytesInCache();

  std::vector<std::pair<QueryKind, int>> kinds = {{QueryKind::kPoint, 100},
                                                  {QueryKind::kOpenSeek, 0}};
  for (int percent : workload.options().empty_percents) {
    kinds.emplace_back(QueryKind::kClosedSeek, percent);
  }
  for (const auto& [kind, percent] : kinds) {
    TimeseriesResult result;
    const std::string what = filter + ": " + QueryKindName(kind);
    s = workload.Run(
        db.get(), kind, percent, [&](double done) { line->Show(what, done); },
        &result);
    if (!s.ok()) return s;
    line->Clear();
    report->Row(figures, result);
  }
  return s;
}

Status ParsePercents(std::vector<int>* percents) {
  percents->clear();
  for (const std::string& part : SplitList(FLAGS_empty_percents)) {
    char* end = nullptr;
    const long percent = strtol(part.c_str(), &end, 10);
    if (*end != '\0' || percent < 1 || percent > 99) {
      return Status::InvalidArgument("--empty_percents: " + part +
                                     " is not a whole number from 1 to 99");
    }
    percents->push_back(static_cast<int>(percent));
  }
  return Status::OK();
}

Status Run(Report* report) {
  if (FLAGS_workload != "timeseries") {
    return Status::InvalidArgument("--workload=" + FLAGS_workload +
                                   " is unknown; allowed: timeseries");
  }
  TimeseriesOptions options;
  options.records = FLAGS_num;
  options.sensors = FLAGS_sensors;
  options.queries = FLAGS_queries;
  options.seed = FLAGS_seed;
  if (FLAGS_num < 100 || FLAGS_sensors < 1 || FLAGS_queries < 1) {
    return Status::InvalidArgument(
        "--num must be at least 100, --sensors and --queries at least 1");
  }
  Status s = ParsePercents(&options.empty_percents);
  const std::vector<std::string> filters = SplitList(FLAGS_filters);
  for (const std::string& filter : filters) {
    std::shared_ptr<const FilterPolicy> policy;
    if (s.ok()) s = MakeFilterPolicy(filter, &policy);
  }
  if (s.ok()) s = report->Open();
  if (!s.ok()) return s;

  std::string folder = FLAGS_db;
  if (folder.empty()) {
    s = Env::Default()->GetTestDirectory(&folder);
    if (!s.ok()) return s;
    folder += "/protean_bench";
  }
  s = Env::Default()->CreateDirIfMissing(folder);
  if (!s.ok()) return s;

  const Timeseries workload(options);
  ProgressLine line;
  for (const std::string& filter : filters) {
    s = RunFilter(filter, folder + "/db", workload, report, &line);
    line.Clear();
    if (!s.ok()) return s;
  }
  return s;
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  gflags::SetUsageMessage(
      "compares filters in a real RocksDB; exits with 2 if any answer was "
      "wrong");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  ROCKSDB_NAMESPACE::protean::Report report;
  const auto s = ROCKSDB_NAMESPACE::protean::Run(&report);
  if (!s.ok()) {
    fprintf(stderr, "protean_bench: %s\n", s.ToString().c_str());
    return 1;
  }
  return report.wrong() ? 2 : 0;
}
