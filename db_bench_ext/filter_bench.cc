//  Filters in memory: size, false positive rate and speed, against the truth.

#include <gflags/gflags.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/workload.h"

DEFINE_string(filter, "bloom:10,surf:0:0,surf:8:0,surf:0:8",
              "Filters to compare, comma separated: bloom:BITS_PER_KEY, "
              "ribbon:BITS_PER_KEY, surf:HASH_BITS:REAL_BITS, oracle. The flag "
              "may be repeated.");
DEFINE_string(key_type, "u64",
              "u64 (8 bytes, big endian) or text; generated also: dense, "
              "timeseries, url, domain");
DEFINE_string(
    key_file, "",
    "Keys: SOSD format for u64 (a 64-bit count, then the keys, little "
    "endian), one a line for text. Empty: generated.");
DEFINE_string(
    query_file, "",
    "Queries, closed ranges: a 64-bit count and pairs lo, hi for u64; "
    "lines of a key or of lo<TAB>hi for text. Empty: generated.");
DEFINE_string(sample_file, "",
              "Sample queries for filters that design themselves, in the form "
              "of --query_file. SuRF needs none.");
DEFINE_string(workload, "point",
              "What to generate: point, range, mixed, short_range");
DEFINE_uint64(num, 1000000, "Keys to generate");
DEFINE_uint64(queries, 1000000, "Queries to generate");
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

std::string Design(const MemoryFilter& filter) {
  return filter.surf() == nullptr ? "" : filter.surf()->fst().Describe();
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
  row["model_ms"] = 0;
  row["predicted_fpr"] = nullptr;
  row["design"] = Design(filter);
  row["empty_queries"] = empty.size();
  row["positive_queries"] = positive.size();
  return row;
}

void Print(const Json& row) {
  if (FLAGS_report == "json") {
    printf("%s\n", row.dump().c_str());
  } else {
    printf(
        "%-14s %9.2f  %9.6f %9llu %9.1f %9.1f %9.1f  %s\n",
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
  const bool has_file_format =
      *key_type == KeyType::kU64 || *key_type == KeyType::kText;
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

Status LoadWorkload(Workload* workload) {
  KeyType key_type = KeyType::kU64;
  Status s = CheckFlags(&key_type);
  if (!s.ok()) return s;
  const bool text = key_type == KeyType::kText;
  if (FLAGS_key_file.empty() || FLAGS_query_file.empty()) {
    s = Generate(FLAGS_workload, key_type, FLAGS_num, FLAGS_queries, FLAGS_seed,
                 workload);
  }
  if (s.ok() && !FLAGS_key_file.empty()) {
    workload->keys.clear();
    s = ReadKeys(FLAGS_key_file, text, &workload->keys);
  }
  if (s.ok() && !FLAGS_query_file.empty()) {
    workload->queries.clear();
    s = ReadQueries(FLAGS_query_file, text, &workload->queries);
  }
  if (s.ok() && !FLAGS_sample_file.empty()) {
    std::vector<Query> samples;
    s = ReadQueries(FLAGS_sample_file, text, &samples);
  }
  if (s.ok() && workload->keys.empty()) {
    s = Status::InvalidArgument("there are no keys");
  }
  return s;
}

int Run(const std::string& filters) {
  Workload workload;
  const Status s = LoadWorkload(&workload);
  if (!s.ok()) {
    fprintf(stderr, "filter_bench: %s\n", s.ToString().c_str());
    return 1;
  }
  const auto [empty, positive] = SplitByTruth(workload.keys, workload.queries);
  if (FLAGS_report == "table") {
    printf("%zu keys, %zu empty and %zu other queries\n", workload.keys.size(),
           empty.size(), positive.size());
    printf("%-14s %9s  %9s %9s %9s %9s %9s  %s\n", "filter", "bits/key", "fpr",
           "false neg", "ns/empty", "ns/other", "build/key", "design");
  }
  bool wrong = false;
  for (const std::string& spec : SplitList(filters)) {
    std::shared_ptr<const FilterPolicy> policy;
    Status made = MakeFilterPolicy(spec, &policy);
    if (made.ok() && policy == nullptr) {
      made = Status::InvalidArgument("filter none cannot be measured here");
    }
    if (!made.ok()) {
      fprintf(stderr, "filter_bench: %s\n", made.ToString().c_str());
      return 1;
    }
    const MemoryFilter filter(policy, workload.keys);
    const Json row = Measure(spec, filter, workload, empty, positive);
    Print(row);
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
