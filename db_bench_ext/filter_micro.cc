// SPDX-License-Identifier: Apache-2.0

//  Micro-benchmarks of filters in memory. One of three is run: each operation
//  on its own (micro_operations.h); with --key_bytes, lookups in several sorted
//  runs (micro_lookups.h); with --costs, the constants of the design search
//  (query_costs.h).

#include <benchmark/benchmark.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/micro_lookups.h"
#include "db_bench_ext/micro_operations.h"
#include "db_bench_ext/own_flags.h"
#include "db_bench_ext/query_costs.h"

DEFINE_string(filters, "bloom:10,surf:0:0,surf:0:8,surf:8:0",
              ROCKSDB_NAMESPACE::protean::FiltersHelp("Filters to measure"));
DEFINE_string(key_types, "u64,text,dense,timeseries,url,domain",
              "Families of keys to generate, comma separated");
DEFINE_string(num, "1000000", "Numbers of keys, comma separated");
DEFINE_string(threads, "1", "Numbers of threads, comma separated");
DEFINE_string(key_bytes, "",
              "Lengths of keys, comma separated: measures instead of all else "
              "a lookup of an absent key of that length in the filters of "
              "several sorted runs");
DEFINE_string(runs, "1,2,3,5,7", "Numbers of sorted runs, comma separated");
DEFINE_bool(costs, false,
            "Measure instead of all else what a query costs in each part of a "
            "Proteus filter, and print the constants that the design search "
            "weighs time by");
DEFINE_uint64(seed, 42, "Seed of all that is generated");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kProgram[] = "filter_micro";
constexpr char kPurpose[] =
    "Measures each operation of filters in memory. Names are "
    "OPERATION/KEY_TYPE/NUM/FILTER, for --benchmark_filter.";

Status ParseNumbers(const std::string& flag, const std::string& list,
                    std::vector<uint64_t>* numbers) {
  constexpr uint64_t kLargest = 1'000'000'000;
  for (const std::string& part : SplitList(list)) {
    char* end = nullptr;
    const uint64_t number = strtoull(part.c_str(), &end, 10);
    if (*end != '\0' || number < 1 || number > kLargest) {
      return Status::InvalidArgument(flag + ": " + part +
                                     " is not a whole number from 1 to " +
                                     std::to_string(kLargest));
    }
    numbers->push_back(number);
  }
  return Status::OK();
}

Status ParseKeys(std::vector<KeyChoice>* keys) {
  std::vector<uint64_t> nums;
  Status s = ParseNumbers("--num", FLAGS_num, &nums);
  for (const std::string& name : SplitList(FLAGS_key_types)) {
    KeyType type = KeyType::kU64;
    if (s.ok()) s = ParseKeyType(name, &type);
    for (const uint64_t num : nums) keys->push_back({name, type, num});
  }
  return s;
}

Status ParseFilters(std::vector<FilterChoice>* filters) {
  for (const std::string& spec : SplitList(FLAGS_filters)) {
    FilterChoice filter{spec, nullptr};
    const Status s = MakeFilterPolicy(spec, &filter.policy);
    if (!s.ok()) return s;
    if (filter.policy == nullptr) {
      return Status::InvalidArgument("filter none cannot be measured here");
    }
    filters->push_back(std::move(filter));
  }
  return Status::OK();
}

Status Run() {
  std::vector<uint64_t> threads;
  std::vector<uint64_t> key_bytes;
  std::vector<uint64_t> runs;
  std::vector<KeyChoice> keys;
  std::vector<FilterChoice> filters;
  Status s = ParseNumbers("--threads", FLAGS_threads, &threads);
  if (s.ok()) s = ParseNumbers("--key_bytes", FLAGS_key_bytes, &key_bytes);
  if (s.ok()) s = ParseNumbers("--runs", FLAGS_runs, &runs);
  if (s.ok()) s = ParseKeys(&keys);
  if (s.ok()) s = ParseFilters(&filters);
  if (!s.ok()) return s;
  const uint64_t num_keys = keys.front().num;
  if (FLAGS_costs) return PrintQueryCosts(num_keys, FLAGS_seed);
  if (key_bytes.empty()) {
    RegisterOperations(keys, filters, threads, FLAGS_seed);
  } else {
    RegisterLookUps(key_bytes, runs, filters, num_keys, FLAGS_seed);
  }
  benchmark::RunSpecifiedBenchmarks();
  return s;
}

void PrintHelp() {
  PrintOwnHelp(kProgram, kPurpose);
  benchmark::PrintDefaultHelp();
}

// The library removes its own flags from the arguments. A shorter time than its
// default lets all benchmarks end within two minutes.
void InitializeLibrary(int* argc, char** argv) {
  std::string min_time = "--benchmark_min_time=0.15";
  std::vector<char*> args = {argv[0], min_time.data()};
  args.insert(args.end(), argv + 1, argv + *argc);
  *argc = static_cast<int>(args.size());
  benchmark::Initialize(argc, args.data(), PrintHelp);
  std::copy(args.begin(), args.begin() + *argc, argv);
}

}  // namespace

int RunFilterMicro(int argc, char** argv) {
  InitializeLibrary(&argc, argv);
  ParseOwnFlags(kProgram, kPurpose, &argc, &argv);
  const Status s = Run();
  if (!s.ok()) fprintf(stderr, "%s: %s\n", kProgram, s.ToString().c_str());
  return s.ok() ? 0 : 1;
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunFilterMicro(argc, argv);
}
