// SPDX-License-Identifier: Apache-2.0

//  Measures filters in memory: size, false positives and speed, and checks
//  their answers against the truth.

#include <gflags/gflags.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>

#include "db_bench_ext/design_policy.h"
#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/own_flags.h"
#include "db_bench_ext/peer_filter.h"
#include "db_bench_ext/process_memory.h"
#include "db_bench_ext/seed_samples.h"
#include "db_bench_ext/stopwatch.h"
#include "db_bench_ext/workload.h"
#include "db_bench_ext/workload_flags.h"

DEFINE_string(filter, "bloom:10,surf:0:0,surf:8:0,surf:0:8",
              ROCKSDB_NAMESPACE::protean::FiltersHelp(
                  "The flag may be repeated. Filters to compare"));
DEFINE_string(peer, "",
              "A command that builds and asks a filter of its own, which is "
              "peer:BITS_PER_KEY in --filter; docs/benchmarks.md describes its "
              "arguments and output");
DEFINE_string(designs, "",
              "After the filters, all designs of a space: 1pbf, 2pbf or "
              "proteus, then :BITS_PER_KEY, then perhaps :bloom or :ribbon");
DEFINE_string(
    query_file, "",
    "Queries, closed ranges: a 64-bit count and pairs lo, hi for u64; "
    "lines of a key or of lo<TAB>hi for text. Empty: generated.");
DEFINE_bool(open_ends, false,
            "The ranges of --query_file and --sample_file exclude their hi, as "
            "iterate_upper_bound does");
DEFINE_string(sample_file, "",
              "Sample queries in the form of --query_file. Empty: --samples "
              "queries are generated along with the others");
DEFINE_string(workload, "point",
              "Keys and queries. From the SuRF paper, by --key_type: point, "
              "range, mixed, short_range, prefix. From the Proteus paper, by "
              "--key_dist, --query_dist and the flags beside them: ranges, "
              "strings");
DEFINE_uint64(num, 1000000, "Keys to generate");
DEFINE_uint64(queries, 1000000,
              "Queries to generate; ranges, strings: the number of queries "
              "that find nothing, and a tenth as many that do are added");
DEFINE_uint64(seed, 42, "Seed of keys and queries");
DEFINE_string(report, "table", "table, or json: one object a line");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Json = nlohmann::ordered_json;

// Asks the filter, as a peer does.
PeerAnswers Ask(const MemoryFilter& filter, const std::vector<Query>& queries) {
  PeerAnswers answers;
  const CpuStopwatch stopwatch;
  for (const Query& query : queries) answers.matches += filter.MayMatch(query);
  answers.ns = 1e9 * stopwatch.Seconds();
  return answers;
}

// The queries of a workload, and its keys as points.
struct QueryLists {
  std::vector<Query> empty;
  std::vector<Query> positive;
  std::vector<Query> keys;
};

Json RowOf(const std::string& spec, const PeerResult& result,
           const QueryLists& lists) {
  const auto average = [](double sum, const std::vector<Query>& queries) {
    return queries.empty() ? 0 : sum / static_cast<double>(queries.size());
  };
  const auto& [empty, positive, keys] = lists;
  const auto& answers = result.answers;
  Json row;
  row["filter"] = spec;
  row["keys"] = keys.size();
  row["bits_per_key"] = average(8.0 * static_cast<double>(result.bytes), keys);
  row["fpr"] = average(static_cast<double>(answers[0].matches), empty);
  row["false_negatives"] =
      positive.size() - answers[1].matches + keys.size() - answers[2].matches;
  row["query_ns"] = average(answers[0].ns, empty);
  row["positive_query_ns"] = average(answers[1].ns, positive);
  row["build_ns_per_key"] = average(result.build_ns, keys);
  return row;
}

// Builds and asks a filter of ours, or the peer's.
Status Measure(const std::string& spec, const Workload& workload,
               const QueryLists& lists, Json* row) {
  PeerResult result;
  FilterReport report;
  Json build_mib;
  if (!FLAGS_peer.empty() && spec.rfind("peer:", 0) == 0) {
    const Status s =
        RunPeer(FLAGS_peer, spec.substr(5), workload.keys, workload.samples,
                {&lists.empty, &lists.positive, &lists.keys}, &result);
    if (!s.ok()) return s;
  } else {
    std::shared_ptr<const FilterPolicy> policy;
    const Status s = MakeFilterPolicy(spec, &policy);
    if (!s.ok()) return s;
    if (policy == nullptr) {
      return Status::InvalidArgument("filter none cannot be measured here");
    }
    SeedSamples(policy.get(), workload.samples);
    malloc_trim(0);
    ResetPeakMemory();
    const double memory = ProcessMiB("VmRSS:");
    const MemoryFilter filter(policy, workload.keys);
    build_mib = ProcessMiB("VmHWM:") - memory;
    result.bytes = filter.contents().size();
    result.build_ns = filter.build_ns();
    for (const auto* queries : {&lists.empty, &lists.positive, &lists.keys}) {
      result.answers.push_back(Ask(filter, *queries));
    }
    report = filter.report();
  }
  *row = RowOf(spec, result, lists);
  (*row)["build_mib"] = build_mib;
  (*row)["model_ms"] = static_cast<double>(report.model_micros) / 1000;
  (*row)["predicted_fpr"] =
      report.predicted_fpr < 0 ? Json(nullptr) : Json(report.predicted_fpr);
  (*row)["design"] = report.design;
  (*row)["empty_queries"] = lists.empty.size();
  (*row)["positive_queries"] = lists.positive.size();
  return Status::OK();
}

// `width` is that of the column of filters.
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

// Whether --key_file, --query_file and --sample_file hold text.
Status CheckFlags(const NamedWorkload& named, bool* text) {
  if (FLAGS_report != "table" && FLAGS_report != "json") {
    return Status::InvalidArgument("--report=" + FLAGS_report +
                                   " is unknown; allowed: table, json");
  }
  KeyType key_type = KeyType::kU64;
  const Status s = ParseKeyType(FLAGS_key_type, &key_type);
  const bool has_distributions = named.family == WorkloadFamily::kDistributions;
  const bool has_file_format = has_distributions || key_type == KeyType::kU64 ||
                               key_type == KeyType::kText;
  const bool reads_file = !FLAGS_key_file.empty() ||
                          !FLAGS_query_file.empty() ||
                          !FLAGS_sample_file.empty();
  if (s.ok() && reads_file && !has_file_format) {
    return Status::InvalidArgument("--key_type=" + FLAGS_key_type +
                                   " is only generated; allowed with "
                                   "--key_file, --query_file and "
                                   "--sample_file: u64, text");
  }
  *text = has_distributions ? FLAGS_workload == "strings"
                            : key_type == KeyType::kText;
  return s;
}

std::string Title(const NamedWorkload& named, const WorkloadText& text) {
  if (FLAGS_query_file.empty()) {
    return FLAGS_workload + ": " + text.keys +
           (text.queries.empty() ? "" : ", " + text.queries);
  }
  return named.family == WorkloadFamily::kDataSet
             ? text.keys
             : FLAGS_workload + ": " + text.keys + ", queries of " +
                   FLAGS_query_file;
}

// `title` describes the workload.
Status LoadWorkload(Workload* workload, std::string* title) {
  const NamedWorkload* named = nullptr;
  bool text = false;
  Status s = FindWorkload(FLAGS_workload, /*engine=*/false, &named);
  if (s.ok()) s = CheckFlags(*named, &text);
  if (!s.ok()) return s;
  // The keys of a file take the place of a data set's. In the other workloads,
  // they are the source of keys.
  const bool replaces_keys =
      named->family == WorkloadFamily::kDataSet && !FLAGS_key_file.empty();
  WorkloadText words = {FLAGS_key_type + " keys", ""};
  if (!replaces_keys || FLAGS_query_file.empty()) {
    s = GenerateFromFlags(*named,
                          {FLAGS_num, FLAGS_queries, FLAGS_samples, FLAGS_seed},
                          workload, &words);
  }
  if (s.ok() && replaces_keys) {
    workload->keys.clear();
    s = ReadKeys(FLAGS_key_file, text, &workload->keys);
  }
  if (s.ok() && !FLAGS_query_file.empty()) {
    workload->queries.clear();
    workload->samples.clear();
    s = ReadQueries(FLAGS_query_file, text, !FLAGS_open_ends,
                    &workload->queries);
  }
  if (s.ok() && !FLAGS_sample_file.empty()) {
    workload->samples.clear();
    s = ReadQueries(FLAGS_sample_file, text, !FLAGS_open_ends,
                    &workload->samples);
  }
  if (s.ok() && workload->keys.empty()) {
    s = Status::InvalidArgument("there are no keys");
  }
  *title = Title(*named, words);
  return s;
}

int Run(const std::string& filters) {
  Workload workload;
  std::string title;
  const Status s = LoadWorkload(&workload, &title);
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
  QueryLists lists;
  std::tie(lists.empty, lists.positive) =
      SplitByTruth(workload.keys, workload.queries);
  for (const std::string& key : workload.keys) lists.keys.push_back({key, key});
  if (FLAGS_report == "table") {
    printf("%s; %zu keys, %zu empty and %zu other queries, %zu samples\n",
           title.c_str(), workload.keys.size(), lists.empty.size(),
           lists.positive.size(), workload.samples.size());
    printf("%-*s %9s  %9s %9s %9s %9s %9s  %s\n", static_cast<int>(width),
           "filter", "bits/key", "fpr", "false neg", "ns/empty", "ns/other",
           "build/key", "design");
  }
  bool wrong = false;
  for (const std::string& spec : specs) {
    Json row;
    const Status measured = Measure(spec, workload, lists, &row);
    if (!measured.ok()) {
      fprintf(stderr, "filter_bench: %s\n", measured.ToString().c_str());
      return 1;
    }
    Print(row, static_cast<int>(width));
    wrong = wrong || row["false_negatives"] != 0;
  }
  return wrong ? 2 : 0;
}

// All values of --filter, joined: gflags keeps only the last value of a
// repeated flag.
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

int RunFilterBench(int argc, char** argv) {
  const std::string filters = CollectFilters(argc, argv);
  ParseOwnFlags(
      "filter_bench",
      "Compares filters in memory on keys and queries from files or generated "
      "after the papers. Exits with 2 if a filter missed a key.",
      &argc, &argv);
  return Run(filters);
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunFilterBench(argc, argv);
}
