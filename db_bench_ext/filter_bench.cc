//  Filters in memory: size, false positive rate and speed, against the truth.

#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "db_bench_ext/design_policy.h"
#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/seed_samples.h"
#include "db_bench_ext/workload.h"
#include "db_bench_ext/workload_flags.h"

DEFINE_string(filter, "bloom:10,surf:0:0,surf:8:0,surf:0:8",
              ROCKSDB_NAMESPACE::protean::FiltersHelp(
                  "The flag may be repeated. Filters to compare"));
DEFINE_string(designs, "",
              "After the filters, all designs of a space: 1pbf, 2pbf or "
              "proteus, then :BITS_PER_KEY, then perhaps :bloom or :ribbon");
DEFINE_string(key_type, "u64",
              "u64 (8 bytes, big endian) or text; generated also: dense, "
              "timeseries, url, domain. Not for the workloads ranges and "
              "strings.");
DEFINE_string(
    query_file, "",
    "Queries, closed ranges: a 64-bit count and pairs lo, hi for u64; "
    "lines of a key or of lo<TAB>hi for text. Empty: generated.");
DEFINE_string(sample_file, "",
              "Sample queries in the form of --query_file. Empty: --samples of "
              "them are generated along with the queries.");
DEFINE_string(workload, "point",
              "What to generate. After the SuRF paper: point, range, mixed, "
              "short_range. After the Proteus paper: ranges, strings, as "
              "--key_dist, --query_dist and the flags beside them say.");
DEFINE_uint64(num, 1000000, "Keys to generate");
DEFINE_uint64(queries, 1000000,
              "Queries to generate; ranges, strings: so many that find "
              "nothing, and a tenth as many that do");
DEFINE_uint64(seed, 42, "Seed of all that is generated");
DEFINE_string(report, "table", "table, or json: one object a line");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Json = nlohmann::ordered_json;

double Nanoseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now() - since)
      .count();
}

// Average time of a query in ns, and how many answered "may match".
std::pair<double, uint64_t> Time(const MemoryFilter& filter,
                                 const std::vector<Query>& queries) {
  uint64_t matches = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const Query& query : queries) matches += filter.MayMatch(query);
  const double ns = Nanoseconds(start);
  return {queries.empty() ? 0 : ns / static_cast<double>(queries.size()),
          matches};
}

Json Measure(const std::string& spec, const MemoryFilter& filter,
             const Workload& workload, const std::vector<Query>& empty,
             const std::vector<Query>& positive) {
  const auto [empty_ns, false_positives] = Time(filter, empty);
  const auto [positive_ns, true_positives] = Time(filter, positive);
  uint64_t false_negatives = positive.size() - true_positives;
  for (const std::string& key : workload.keys) {
    false_negatives += !filter.MayMatch({key, key});
  }
  const auto keys = static_cast<double>(workload.keys.size());
  Json row;
  row["filter"] = spec;
  row["keys"] = workload.keys.size();
  row["bits_per_key"] =
      8.0 * static_cast<double>(filter.contents().size()) / keys;
  row["fpr"] = empty.empty() ? 0
                             : static_cast<double>(false_positives) /
                                   static_cast<double>(empty.size());
  row["false_negatives"] = false_negatives;
  row["query_ns"] = empty_ns;
  row["positive_query_ns"] = positive_ns;
  row["build_ns_per_key"] = filter.build_ns() / keys;
  const FilterReport report = filter.Report();
  row["model_ms"] = static_cast<double>(report.model_micros) / 1000;
  row["predicted_fpr"] =
      report.predicted_fpr < 0 ? Json(nullptr) : Json(report.predicted_fpr);
  row["design"] = report.design;
  row["empty_queries"] = empty.size();
  row["positive_queries"] = positive.size();
  return row;
}

// Filters get a column as wide as that.
void Print(const Json& row, int width) {
  if (FLAGS_report == "json") {
    printf("%s\n", row.dump().c_str());
  } else {
    printf(
        "%-*s %9.2f  %9.6f %9llu %9.1f %9.1f %9.1f  %s\n", width,
        row["filter"].get<std::string>().c_str(),
        row["bits_per_key"].get<double>(), row["fpr"].get<double>(),
        static_cast<unsigned long long>(row["false_negatives"].get<uint64_t>()),
        row["query_ns"].get<double>(), row["positive_query_ns"].get<double>(),
        row["build_ns_per_key"].get<double>(),
        row["design"].get<std::string>().c_str());
  }
  fflush(stdout);
}

Status CheckFlags(KeyType* key_type) {
  if (FLAGS_report != "table" && FLAGS_report != "json") {
    return Status::InvalidArgument("--report=" + FLAGS_report +
                                   " is unknown; allowed: table, json");
  }
  const Status s = ParseKeyType(FLAGS_key_type, key_type);
  const bool has_file_format = IsFlagWorkload(FLAGS_workload) ||
                               *key_type == KeyType::kU64 ||
                               *key_type == KeyType::kText;
  const bool reads_file = !FLAGS_key_file.empty() ||
                          !FLAGS_query_file.empty() ||
                          !FLAGS_sample_file.empty();
  if (s.ok() && reads_file && !has_file_format) {
    return Status::InvalidArgument("--key_type=" + FLAGS_key_type +
                                   " is only generated; allowed with "
                                   "--key_file, --query_file and "
                                   "--sample_file: u64, text");
  }
  return s;
}

// The workloads ranges and strings. `name` describes what is generated.
Status GenerateByFlags(Workload* workload, std::string* name) {
  KeySource source;
  Status s = KeySourceFromFlags(FLAGS_workload, &source);
  QueryOptions options;
  if (s.ok()) s = QueryOptionsFromFlags(GivenQueryFlags(), source, &options);
  Rng key_rng(FLAGS_seed);
  if (s.ok()) s = DrawKeys(source, FLAGS_num, &key_rng, &workload->keys);
  if (!s.ok() || workload->keys.empty()) return s;
  const QuerySource queries(options, source, workload->keys);
  Rng sample_rng(FLAGS_seed + 1);
  s = queries.DrawEmpty(FLAGS_samples, &sample_rng, &workload->samples);
  Rng query_rng(FLAGS_seed + 2);
  if (s.ok()) {
    s = queries.DrawEmpty(FLAGS_queries, &query_rng, &workload->queries);
  }
  for (uint64_t i = 0; i < FLAGS_queries / 10; i++) {
    workload->queries.push_back(queries.DrawPositive(&query_rng));
  }
  *name = FLAGS_workload + ": " + DescribeKeys(source) + ", " +
          (FLAGS_query_file.empty() ? DescribeQueries(options, source)
                                    : "queries of " + FLAGS_query_file);
  return s;
}

// The workloads of keys of a --key_type.
Status GenerateByKeyType(KeyType key_type, Workload* workload,
                         std::string* name) {
  const bool text = key_type == KeyType::kText;
  Status s;
  if (FLAGS_key_file.empty() || FLAGS_query_file.empty()) {
    s = Generate(FLAGS_workload, key_type, FLAGS_num, FLAGS_queries,
                 FLAGS_samples, FLAGS_seed, workload);
  }
  if (s.ok() && !FLAGS_key_file.empty()) {
    workload->keys.clear();
    s = ReadKeys(FLAGS_key_file, text, &workload->keys);
  }
  *name = FLAGS_query_file.empty() ? FLAGS_workload + ": " : "";
  *name += FLAGS_key_type + " keys";
  return s;
}

Status LoadWorkload(Workload* workload, std::string* name) {
  KeyType key_type = KeyType::kU64;
  const bool by_flags = IsFlagWorkload(FLAGS_workload);
  Status s = CheckFlags(&key_type);
  if (!s.ok()) return s;
  s = by_flags ? GenerateByFlags(workload, name)
               : GenerateByKeyType(key_type, workload, name);
  const bool text =
      by_flags ? FLAGS_workload == "strings" : key_type == KeyType::kText;
  if (s.ok() && !FLAGS_query_file.empty()) {
    workload->queries.clear();
    workload->samples.clear();
    s = ReadQueries(FLAGS_query_file, text, &workload->queries);
  }
  if (s.ok() && !FLAGS_sample_file.empty()) {
    workload->samples.clear();
    s = ReadQueries(FLAGS_sample_file, text, &workload->samples);
  }
  if (s.ok() && workload->keys.empty()) {
    s = Status::InvalidArgument("there are no keys");
  }
  return s;
}

int Run(const std::string& filters) {
  Workload workload;
  std::string name;
  const Status s = LoadWorkload(&workload, &name);
  if (!s.ok()) {
    fprintf(stderr, "filter_bench: %s\n", s.ToString().c_str());
    return 1;
  }
  std::vector<std::string> specs = SplitList(filters);
  if (!FLAGS_designs.empty()) {
    const Status known = DesignsOf(FLAGS_designs, workload.keys, &specs);
    if (!known.ok()) {
      fprintf(stderr, "filter_bench: %s\n", known.ToString().c_str());
      return 1;
    }
  }
  size_t width = 14;
  for (const std::string& spec : specs) width = std::max(width, spec.size());
  const auto [empty, positive] = SplitByTruth(workload.keys, workload.queries);
  if (FLAGS_report == "table") {
    printf("%s; %zu keys, %zu empty and %zu other queries, %zu samples\n",
           name.c_str(), workload.keys.size(), empty.size(), positive.size(),
           workload.samples.size());
    printf("%-*s %9s  %9s %9s %9s %9s %9s  %s\n", static_cast<int>(width),
           "filter", "bits/key", "fpr", "false neg", "ns/empty", "ns/other",
           "build/key", "design");
  }
  bool wrong = false;
  for (const std::string& spec : specs) {
    std::shared_ptr<const FilterPolicy> policy;
    Status made = MakeFilterPolicy(spec, &policy);
    if (made.ok() && policy == nullptr) {
      made = Status::InvalidArgument("filter none cannot be measured here");
    }
    if (!made.ok()) {
      fprintf(stderr, "filter_bench: %s\n", made.ToString().c_str());
      return 1;
    }
    SeedSamples(policy.get(), workload.samples);
    const MemoryFilter filter(policy, workload.keys);
    const Json row = Measure(spec, filter, workload, empty, positive);
    Print(row, static_cast<int>(width));
    wrong = wrong || row["false_negatives"] != 0;
  }
  return wrong ? 2 : 0;
}

// gflags keeps the last of a repeated flag: this joins all values of --filter.
std::string CollectFilters(int argc, char** argv) {
  std::string all;
  for (int i = 1; i < argc; i++) {
    std::string arg = argv[i];
    arg.erase(0, arg.find_first_not_of('-'));
    if (arg.rfind("filter=", 0) == 0) {
      all += arg.substr(7) + ",";
    } else if (arg == "filter" && i + 1 < argc) {
      all += std::string(argv[i + 1]) + ",";
    }
  }
  return all.empty() ? FLAGS_filter : all;
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  gflags::SetUsageMessage(
      "compares filters in memory on keys and queries from files or generated "
      "after the papers; exits with 2 if a filter missed a key");
  const std::string filters =
      ROCKSDB_NAMESPACE::protean::CollectFilters(argc, argv);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  return ROCKSDB_NAMESPACE::protean::Run(filters);
}
