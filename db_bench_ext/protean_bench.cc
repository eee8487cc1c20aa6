// SPDX-License-Identifier: Apache-2.0

//  Compares filters in a real RocksDB, with the same data, tree and queries for
//  each of them.

#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "db_bench_ext/bench_db.h"
#include "db_bench_ext/bench_report.h"
#include "db_bench_ext/cache_sizes.h"
#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/open_seek_workload.h"
#include "db_bench_ext/own_flags.h"
#include "db_bench_ext/queue_workload.h"
#include "db_bench_ext/range_workload.h"
#include "db_bench_ext/shift_workload.h"
#include "db_bench_ext/timeseries.h"
#include "db_bench_ext/workload.h"
#include "db_bench_ext/workload_flags.h"
#include "db_bench_ext/write_bench.h"

DEFINE_string(workload, "timeseries",
              "Keys and queries. From the SuRF paper: timeseries; by "
              "--key_type: point, range, mixed, short_range. From the Proteus "
              "paper, by --key_dist, --query_dist and the flags beside them: "
              "ranges, strings. open_seeks: as ranges, without any bound, "
              "before and after the filters have learned from it. cache_sizes: "
              "absent keys, closed and open seeks through small block "
              "caches. queue: reads across deletions, by --deletions. write: "
              "what flushes and compactions cost");
DEFINE_string(
    filters, "none,bloom:14,surf:0:4,surf:4:0,oracle",
    ROCKSDB_NAMESPACE::protean::FiltersHelp(
        "Any of them may end with +prefixN, for a prefix extractor of "
        "N bytes, or with +query_filterN, for RocksDB's SstQueryFilter of "
        "the first N bytes and of the rest; and then with +first_key, for an "
        "index of the blocks' first keys, with +trie_index, for an index that "
        "RocksDB 11.8.1 has, or with +partitioned or +partitioned+decoupled, "
        "for filters and indexes in parts of 4 KB. A last +no_miss_cache "
        "keeps reads in vain from being remembered. Filters to compare"));
DEFINE_uint64(num, 250000, "Records; of 1 KB each in timeseries");
DEFINE_uint64(queries, 10000, "Queries of each kind");
DEFINE_uint64(query_rounds, 1,
              "timeseries: number of times that all queries are drawn and "
              "asked; each is a row");
DEFINE_uint64(repeats, 0,
              "ranges, strings, point, range, mixed, short_range: asks this "
              "many times as many queries, each of them one of the --queries, "
              "by Zipf's law with the exponent .99. 0: each query once");
DEFINE_uint64(sensors, 500, "timeseries: sensors, an event each 0.2 s");
DEFINE_string(empty_percents, "10,25,50,75,90,99",
              "timeseries: shares of closed seeks that find nothing");
DEFINE_string(cache_percents, "1,2,5,10,25,50,100,150",
              "cache_sizes: sizes of the block cache, in percent of 12 bits "
              "for each record");
DEFINE_string(cache_queries, "point,closed_seek,open_seek",
              "cache_sizes: kinds of queries that are asked, and taught");
DEFINE_uint32(files, 7, "cache_sizes: about the number of files, 1 to 1000");
DEFINE_uint64(keys_read, 1, "open_seeks: keys that each seek reads");
DEFINE_string(
    deletions, "queue",
    "queue: what deletes. queue: consumers of queues, which delete "
    "the first item; ttl: entries in the order of time expire; clear: "
    "states are cleared key by key");
DEFINE_uint64(queues, 20,
              "queue: queues; with --deletions=clear, states that are filled "
              "at a time");
DEFINE_uint64(backlog, 5,
              "queue: items that a queue has on average; with --deletions=ttl, "
              "entries that are alive, divided by --queues");
DEFINE_uint64(value_bytes, 512, "All but timeseries: size of a value");
DEFINE_uint32(sorted_runs, 3, "Sorted runs of the tree that is loaded, 1 to 8");
DEFINE_uint32(size_ratio, 2,
              "Size of a sorted run in sizes of the run above it, 2 to 100");
DEFINE_string(tree, "runs",
              "runs: --sorted_runs of --size_ratio; compacted: what RocksDB's "
              "compactions make of records in random order, with LZ4 on level "
              "2 and ZSTD below. Values of timeseries then compress by half");
DEFINE_uint32(rewrites, 0,
              "Number of times each run is rewritten when all are loaded, as "
              "compactions do in the long run");
DEFINE_string(shift, "none",
              "ranges, strings: how queries change while new records are "
              "written: gradual, from --query_dist at the beginning to "
              "--query_dist_end at the end; immediate, half way; none: they "
              "do not change, and nothing is written");
DEFINE_string(query_dist_end, "", "--shift: as --query_dist");
DEFINE_string(rmax_end, "", "--shift: as --rmax");
DEFINE_string(corr_degree_end, "", "--shift: as --corr_degree");
DEFINE_bool(refresh, false,
            "--shift: rewrite the files with old filters after each batch");
DEFINE_uint64(batches, 12, "--shift: number of parts that are reported");
DEFINE_int64(puts, -1,
             "--shift: new records, spread evenly over the queries; -1: twice "
             "--num, as in the paper");
DEFINE_string(db, "", "Folder for the databases; empty: a temporary one");
DEFINE_uint64(seed, 42, "Seed of data and queries");
DEFINE_uint64(cache_mb, 0,
              "Block cache; 0: indexes, filters and a sixteenth of the data");
DEFINE_bool(direct_reads, false, "Read past the operating system's cache");
DEFINE_uint32(read_latency_us, 0, "Delay added to each read of a file");
DEFINE_string(report, "table", "table, or json: one object a line");
DEFINE_string(json_file, "", "Write the json report to this file as well");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

SortedRuns RunsFromFlags() {
  SortedRuns runs;
  runs.count = FLAGS_sorted_runs;
  runs.size_ratio = FLAGS_size_ratio;
  return runs;
}

// A block cache for indexes, filters and about a sixteenth of the data.
uint64_t CacheBytes(const DbWorkload& workload) {
  if (FLAGS_cache_mb > 0) return FLAGS_cache_mb << 20;
  constexpr uint64_t kFilterBitsPerKey = 24;
  constexpr uint64_t kIndexBytesPerBlock = 40;
  const uint64_t records =
      workload.loaded_records() + workload.written_records();
  const uint64_t data_bytes = records * workload.record_bytes();
  return data_bytes / 16 + records * kFilterBitsPerKey / 8 +
         data_bytes / 4096 * kIndexBytesPerBlock;
}

Status RunFilter(const std::string& filter, const std::string& path,
                 const DbWorkload& workload, BenchReport* report,
                 ProgressLine* line) {
  BenchDbOptions options;
  options.path = path;
  options.filter = filter;
  options.cache_bytes = CacheBytes(workload);
  options.direct_reads = FLAGS_direct_reads;
  options.read_latency_us = FLAGS_read_latency_us;
  options.compacted = FLAGS_tree == "compacted";
  options.runs = RunsFromFlags();
  options.rewrites = FLAGS_rewrites;
  options.loaded_bytes = workload.loaded_records() * workload.record_bytes();
  options.written_bytes = workload.written_records() * workload.record_bytes();
  workload.Adjust(&options);
  std::unique_ptr<BenchDb> db;
  Status s = BenchDb::Create(options, &db);
  if (!s.ok()) return s;

  FilterFigures figures;
  figures.filter = filter;
  line->SetTitle(filter);
  const auto start = std::chrono::steady_clock::now();
  s = workload.Load(db.get(),
                    [&](double done) { line->Show("loading", done); });
  figures.load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  line->Clear();
  if (s.ok()) {
    s = report->Tree(workload.Describe(), db->TreeShape(),
                     workload.loaded_records(), options.cache_bytes);
  }
  if (s.ok()) s = SumFiles(db->db(), &figures.files);
  if (s.ok() && db->layout().has_trie_index()) {
    s = AddTrieIndexes(db->db(), &figures.files);
  }
  line->Show("warming the cache", 0);
  if (s.ok()) s = db->Reopen();
  if (s.ok()) s = workload.WarmUp(db.get());
  if (!s.ok()) return s;
  figures.filter_bytes_in_cache = db->FilterBytesInCache();
  report->StartFilter(figures);
  return workload.Run(db.get(), report, line);
}

Status ParsePercents(const std::string& flag, const std::string& list, int max,
                     std::vector<int>* percents) {
  percents->clear();
  for (const std::string& part : SplitList(list)) {
    char* end = nullptr;
    const long percent = strtol(part.c_str(), &end, 10);
    if (*end != '\0' || percent < 1 || percent > max) {
      return Status::InvalidArgument(flag + ": " + part +
                                     " is not a whole number from 1 to " +
                                     std::to_string(max));
    }
    percents->push_back(static_cast<int>(percent));
  }
  return Status::OK();
}

Status ParseQueryKinds(const std::string& list, std::vector<QueryKind>* kinds) {
  kinds->clear();
  for (const std::string& name : SplitList(list)) {
    const size_t before = kinds->size();
    for (QueryKind kind :
         {QueryKind::kPoint, QueryKind::kClosedSeek, QueryKind::kOpenSeek}) {
      if (name == QueryKindName(kind)) kinds->push_back(kind);
    }
    if (kinds->size() > before) continue;
    return Status::InvalidArgument(
        "--cache_queries: " + name +
        " is not one of point, closed_seek and open_seek");
  }
  return kinds->empty()
             ? Status::InvalidArgument("--cache_queries names no kind")
             : Status::OK();
}

Status MakeTimeseries(std::unique_ptr<DbWorkload>* workload) {
  TimeseriesOptions options;
  options.records = FLAGS_num;
  options.sensors = FLAGS_sensors;
  options.queries = FLAGS_queries;
  options.samples = FLAGS_samples;
  options.compacted = FLAGS_tree == "compacted";
  options.rounds = FLAGS_query_rounds;
  options.runs = RunsFromFlags();
  options.seed = FLAGS_seed;
  if (FLAGS_num < 100 || FLAGS_sensors < 1 || FLAGS_queries < 1 ||
      FLAGS_query_rounds < 1) {
    return Status::InvalidArgument(
        "--num must be at least 100, --sensors, --queries and --query_rounds "
        "at least 1");
  }
  const Status s = ParsePercents("--empty_percents", FLAGS_empty_percents, 99,
                                 &options.empty_percents);
  if (s.ok()) *workload = std::make_unique<Timeseries>(options);
  return s;
}

Status MakeShift(const RangeWorkloadOptions& ranges, const KeySource& source,
                 const QueryOptions& query_options,
                 std::unique_ptr<DbWorkload>* workload) {
  if (FLAGS_shift != "gradual" && FLAGS_shift != "immediate") {
    return Status::InvalidArgument("--shift=" + FLAGS_shift +
                                   " is unknown; allowed: none, gradual, "
                                   "immediate");
  }
  if (FLAGS_batches < 1 || FLAGS_batches > FLAGS_queries) {
    return Status::InvalidArgument("--batches must be from 1 to --queries");
  }
  ShiftOptions options;
  options.ranges = ranges;
  options.first_query_options = query_options;
  options.gradual = FLAGS_shift == "gradual";
  options.batches = FLAGS_batches;
  options.refresh = FLAGS_refresh;
  options.puts =
      FLAGS_puts < 0 ? 2 * FLAGS_num : static_cast<uint64_t>(FLAGS_puts);
  QueryFlags end = GivenQueryFlags();
  if (!FLAGS_query_dist_end.empty()) end.query_dist = FLAGS_query_dist_end;
  if (!FLAGS_rmax_end.empty()) end.rmax = FLAGS_rmax_end;
  if (!FLAGS_corr_degree_end.empty()) end.corr_degree = FLAGS_corr_degree_end;
  Status s = QueryOptionsFromFlags(end, source, &options.last_query_options);
  if (!s.ok()) return s;
  options.ranges.description +=
      (options.gradual ? "; gradually to " : "; half way to ") +
      DescribeQueries(options.last_query_options, source) + "; " +
      std::to_string(options.puts) + " puts";
  return ShiftWorkload::Create(options, source, workload);
}

Status MakeCacheSizes(const RangeWorkloadOptions& ranges,
                      const KeySource& source,
                      const QueryOptions& query_options,
                      std::unique_ptr<DbWorkload>* workload) {
  CacheSizesOptions options;
  options.ranges = ranges;
  options.files = FLAGS_files;
  if (FLAGS_files < 1 || FLAGS_files > 1000) {
    return Status::InvalidArgument("--files must be from 1 to 1000");
  }
  Status s = ParsePercents("--cache_percents", FLAGS_cache_percents, 10000,
                           &options.percents);
  if (s.ok() && options.percents.empty()) {
    s = Status::InvalidArgument("--cache_percents names no size");
  }
  if (s.ok()) s = ParseQueryKinds(FLAGS_cache_queries, &options.kinds);
  return s.ok() ? CacheSizes::Create(options, source, query_options, workload)
                : s;
}

// The workloads that draw their keys and queries by themselves: open_seeks,
// cache_sizes, --shift.
Status MakeFromSources(RangeWorkloadOptions options,
                       std::unique_ptr<DbWorkload>* workload) {
  KeySource source;
  QueryOptions query_options;
  Status s = KeySourceFromFlags(FLAGS_workload, &source);
  if (s.ok()) {
    s = QueryOptionsFromFlags(GivenQueryFlags(), source, &query_options);
  }
  if (!s.ok()) return s;
  const bool cache_sizes = FLAGS_workload == "cache_sizes";
  if (cache_sizes && FLAGS_rmax.empty()) {
    // Among uniform keys, 99 % of such ranges are empty.
    query_options.rmax =
        std::max(query_options.rmin, ~uint64_t{0} / FLAGS_num / 50);
  }
  options.description = FLAGS_workload + ": " + DescribeKeys(source) + ", " +
                        DescribeQueries(query_options, source);
  if (cache_sizes) {
    return MakeCacheSizes(options, source, query_options, workload);
  }
  return FLAGS_workload == "open_seeks"
             ? OpenSeekWorkload::Create(options, source, query_options,
                                        FLAGS_keys_read, workload)
             : MakeShift(options, source, query_options, workload);
}

Status MakeQueue(std::unique_ptr<DbWorkload>* workload) {
  QueueOptions options;
  const std::pair<const char*, Deletions> names[] = {
      {"queue", Deletions::kQueue},
      {"ttl", Deletions::kTtl},
      {"clear", Deletions::kClear}};
  const auto* const named = std::find_if(
      std::begin(names), std::end(names),
      [](const auto& name) { return name.first == FLAGS_deletions; });
  if (named == std::end(names)) {
    return Status::InvalidArgument("--deletions=" + FLAGS_deletions +
                                   " is unknown; allowed: queue, ttl, clear");
  }
  constexpr uint64_t kMaxQueues = 100000;
  if (FLAGS_num < 100 || FLAGS_queries < 1 || FLAGS_queues < 1 ||
      FLAGS_queues > kMaxQueues || FLAGS_backlog < 1 ||
      FLAGS_backlog > FLAGS_num) {
    return Status::InvalidArgument(
        "--num must be at least 100, --queries at least 1, --queues from 1 to "
        "100000, --backlog from 1 to --num");
  }
  options.deletions = named->second;
  options.items = FLAGS_num;
  options.queues = FLAGS_queues;
  options.backlog = FLAGS_backlog;
  options.queries = FLAGS_queries;
  options.samples = FLAGS_samples;
  options.value_bytes = FLAGS_value_bytes;
  options.runs = RunsFromFlags();
  options.seed = FLAGS_seed;
  return QueueWorkload::Create(options, workload);
}

Status MakeRanges(const NamedWorkload& named,
                  std::unique_ptr<DbWorkload>* workload) {
  if (FLAGS_num < 100 || FLAGS_queries < 1) {
    return Status::InvalidArgument(
        "--num must be at least 100, --queries at least 1");
  }
  if (FLAGS_keys_read < 1) {
    return Status::InvalidArgument("--keys_read must be at least 1");
  }
  if (named.family == WorkloadFamily::kDataSet && !FLAGS_key_file.empty()) {
    return Status::InvalidArgument(
        "--key_file is for the workloads ranges, strings, open_seeks and "
        "cache_sizes");
  }
  RangeWorkloadOptions options;
  options.size = {FLAGS_num, FLAGS_queries, FLAGS_samples, FLAGS_seed};
  options.value_bytes = FLAGS_value_bytes;
  options.runs = RunsFromFlags();
  const bool shifts =
      FLAGS_shift != "none" && named.family == WorkloadFamily::kDistributions;
  if (shifts || named.family == WorkloadFamily::kEngine) {
    return MakeFromSources(options, workload);
  }
  Workload generated;
  WorkloadText text;
  const Status s = GenerateFromFlags(named, options.size, &generated, &text);
  if (!s.ok()) return s;
  options.repeats = FLAGS_repeats;
  options.description = FLAGS_workload + ": " + text.keys +
                        (text.queries.empty() ? "" : ", " + text.queries);
  if (FLAGS_repeats > 0) {
    options.description +=
        ", " + std::to_string(FLAGS_repeats) + " times as many, by Zipf's law";
  }
  *workload = std::make_unique<RangeWorkload>(options, std::move(generated));
  return s;
}

// A compacted tree is made of what a workload loads, and has no runs to choose.
Status CheckTree() {
  if (FLAGS_tree != "runs" && FLAGS_tree != "compacted") {
    return Status::InvalidArgument("--tree=" + FLAGS_tree +
                                   " is unknown; allowed: runs, compacted");
  }
  const bool chooses_runs = FLAGS_sorted_runs != SortedRuns().count ||
                            FLAGS_size_ratio != SortedRuns().size_ratio;
  if (FLAGS_tree == "compacted" &&
      (chooses_runs || FLAGS_shift != "none" || FLAGS_workload == "queue" ||
       FLAGS_workload == "write")) {
    return Status::InvalidArgument(
        "--tree=compacted goes with neither --sorted_runs, --size_ratio, "
        "--shift, --workload=queue nor --workload=write");
  }
  return Status::OK();
}

Status MakeWorkload(std::unique_ptr<DbWorkload>* workload) {
  if (FLAGS_sorted_runs < 1 || FLAGS_sorted_runs > SortedRuns::kMax ||
      FLAGS_size_ratio < 2 || FLAGS_size_ratio > 100) {
    return Status::InvalidArgument(
        "--sorted_runs must be from 1 to 8, --size_ratio from 2 to 100");
  }
  const NamedWorkload* named = nullptr;
  const Status s = FindWorkload(FLAGS_workload, /*engine=*/true, &named);
  if (!s.ok()) return s;
  if (FLAGS_workload == "queue") return MakeQueue(workload);
  return FLAGS_workload == "timeseries" ? MakeTimeseries(workload)
                                        : MakeRanges(*named, workload);
}

// The folder of the databases: --db, or a temporary one, which is deleted in
// the end. The databases in it are deleted by their own.
class BenchFolder {
 public:
  BenchFolder() = default;
  ~BenchFolder() {
    if (temporary_.empty()) return;
    // Fails, as it should, if another process has something there.
    Env::Default()->DeleteDir(path_).PermitUncheckedError();
    // RocksDB makes the folder unless the user names one.
    if (getenv("TEST_TMPDIR") != nullptr) return;
    Env::Default()->DeleteDir(temporary_).PermitUncheckedError();
  }

  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;

  Status Create() {
    path_ = FLAGS_db;
    if (path_.empty()) {
      const Status s = Env::Default()->GetTestDirectory(&temporary_);
      if (!s.ok()) return s;
      path_ = temporary_ + "/protean_bench";
    }
    return Env::Default()->CreateDirIfMissing(path_);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string temporary_;  // the folder that path_ is in; empty with --db
};

Status Write(const std::vector<std::string>& filters, BenchReport* report) {
  WriteBenchOptions options;
  options.filters = filters;
  options.run.seed = FLAGS_seed;
  BenchFolder folder;
  Status s = WriteBenchOptionsFromFlags(&options);
  if (s.ok()) s = folder.Create();
  if (!s.ok()) return s;
  options.run.path = folder.path() + "/db";
  ProgressLine line;
  s = RunWriteBench(options, report, &line);
  line.Clear();
  return s;
}

Status Run(BenchReport* report) {
  Status s = report->Open(FLAGS_report, FLAGS_json_file);
  const std::vector<std::string> filters = SplitList(FLAGS_filters);
  for (const std::string& filter : filters) {
    std::shared_ptr<const FilterPolicy> policy;
    std::string spec = filter;
    TableLayout layout;
    if (s.ok()) s = TakeTableLayout(&spec, &layout);
    if (s.ok()) s = MakeFilterPolicy(spec, &policy);
  }
  if (s.ok()) s = CheckTree();
  if (s.ok() && FLAGS_workload == "write") return Write(filters, report);
  std::unique_ptr<DbWorkload> workload;
  if (s.ok()) s = MakeWorkload(&workload);
  if (!s.ok()) return s;

  BenchFolder folder;
  s = folder.Create();
  if (!s.ok()) return s;

  const std::string path = folder.path() + "/db";
  s = BenchDb::RemoveCompacted(path);
  ProgressLine line;
  for (const std::string& filter : filters) {
    if (s.ok()) s = RunFilter(filter, path, *workload, report, &line);
    line.Clear();
  }
  BenchDb::RemoveCompacted(path).PermitUncheckedError();
  return s;
}

}  // namespace

int RunProteanBench(int argc, char** argv) {
  ParseOwnFlags("protean_bench",
                "Compares filters in a real RocksDB. Exits with 2 if any "
                "answer was wrong.",
                &argc, &argv);
  BenchReport report;
  const Status s = Run(&report);
  if (!s.ok()) {
    fprintf(stderr, "protean_bench: %s\n", s.ToString().c_str());
    return 1;
  }
  return report.wrong() ? 2 : 0;
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunProteanBench(argc, argv);
}
