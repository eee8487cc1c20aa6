//  Micro-benchmarks of filters in memory: each operation on its own, on every
//  family of keys and any number of threads; or, with --key_bytes, what a
//  lookup in several sorted runs gains from hashing its key once; or, with
//  --costs, the constants of the design search.

#include <benchmark/benchmark.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/query_costs.h"
#include "db_bench_ext/workload.h"
#include "filter_policy/surf/surf_policy.h"

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

constexpr int kBatch = 32;
// Of each kind; so many that neither the branch predictor nor the caches can
// learn them.
constexpr size_t kQueries = 1 << 18;
constexpr size_t kFewKeys = 100;
constexpr size_t kManyKeys = 10000;

// The keys of a family and what is asked of their filters.
struct KeySet {
  std::vector<std::string> keys;
  std::vector<Query> absent;
  std::vector<Query> present;
  std::vector<Query> empty_ranges;
  std::vector<Query> positive_ranges;
  // Ranges of kFewKeys and kManyKeys keys; none if there are too few keys.
  std::vector<Query> few_keys;
  std::vector<Query> many_keys;
  // The absent keys as MultiGet hands them over.
  std::vector<Slice> slices;
  std::vector<Slice*> batches;
};

// Ranges from one stored key to another that hold `size` of them.
std::vector<Query> RangesOf(const std::vector<std::string>& keys, size_t size) {
  std::vector<Query> ranges;
  if (keys.size() < size) return ranges;
  std::mt19937_64 rng(FLAGS_seed);
  std::uniform_int_distribution<size_t> starts(0, keys.size() - size);
  for (size_t i = 0; i < kQueries; i++) {
    const size_t start = starts(rng);
    ranges.push_back({keys[start], keys[start + size - 1]});
  }
  return ranges;
}

// Draws kQueries queries that find nothing and as many others.
void MakeBoth(WorkloadKind kind, const std::vector<std::string>& keys,
              DataSet* data, std::vector<Query>* empty,
              std::vector<Query>* positive) {
  // A quarter of the queries or more is of either sort.
  std::tie(*empty, *positive) =
      SplitByTruth(keys, data->MakeQueries(kind, 4 * kQueries));
  for (std::vector<Query>* queries : {empty, positive}) {
    queries->resize(std::min(queries->size(), kQueries));
    queries->shrink_to_fit();
  }
}

std::unique_ptr<KeySet> MakeKeySet(KeyType type, uint64_t num_keys) {
  auto set = std::make_unique<KeySet>();
  DataSet data(type, num_keys, FLAGS_seed);
  set->keys = data.StoredKeys();
  MakeBoth(WorkloadKind::kPoint, set->keys, &data, &set->absent, &set->present);
  MakeBoth(WorkloadKind::kRange, set->keys, &data, &set->empty_ranges,
           &set->positive_ranges);
  set->few_keys = RangesOf(set->keys, kFewKeys);
  set->many_keys = RangesOf(set->keys, kManyKeys);
  for (const Query& query : set->absent) set->slices.emplace_back(query.lo);
  for (Slice& slice : set->slices) set->batches.push_back(&slice);
  return set;
}

// Goes round the queries, each thread from a place of its own.
class Cursor {
 public:
  Cursor(size_t size, const benchmark::State& state)
      : size_(size),
        next_(size * static_cast<size_t>(state.thread_index()) /
              static_cast<size_t>(state.threads())) {}

  size_t Next() {
    const size_t current = next_++;
    if (next_ == size_) next_ = 0;
    return current;
  }

 private:
  const size_t size_;
  size_t next_;
};

// Times `body`, which does that many operations on the filter of `set`.
template <typename Body>
void Measure(benchmark::State& state, const KeySet& set,
             const MemoryFilter& filter, size_t ops_per_iteration,
             const Body& body) {
  using benchmark::Counter;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) body();
  const std::chrono::duration<double, std::nano> ns =
      std::chrono::steady_clock::now() - start;
  const int64_t ops =
      state.iterations() * static_cast<int64_t>(ops_per_iteration);
  state.SetItemsProcessed(ops);
  // As one thread sees it.
  state.counters["ns/op"] =
      Counter(ns.count() / static_cast<double>(ops), Counter::kAvgThreads);
  state.counters["bits_per_key"] =
      Counter(8.0 * static_cast<double>(filter.contents().size()) /
                  static_cast<double>(set.keys.size()),
              Counter::kAvgThreads);
}

enum class Expect { kAnything, kMatches };

// Asks `ask` each of the queries in turn. A filter that misses a key is not
// worth its time.
template <typename Ask>
void AskAll(benchmark::State& state, const KeySet& set,
            const MemoryFilter& filter, const std::vector<Query>& queries,
            Expect expect, const Ask& ask) {
  if (queries.empty()) {
    state.SkipWithError("these keys have no such queries");
    return;
  }
  Cursor cursor(queries.size(), state);
  int64_t matches = 0;
  Measure(state, set, filter, 1,
          [&] { matches += ask(queries[cursor.Next()]); });
  benchmark::DoNotOptimize(matches);
  if (expect == Expect::kMatches && matches != state.iterations()) {
    state.SkipWithError("the filter misses keys");
  }
}

void AskPoints(benchmark::State& state, const KeySet& set,
               const MemoryFilter& filter, const std::vector<Query>& queries,
               Expect expect) {
  FilterBitsReader* const reader = filter.reader();
  AskAll(state, set, filter, queries, expect,
         [reader](const Query& query) { return reader->MayMatch(query.lo); });
}

void AskRanges(benchmark::State& state, const KeySet& set,
               const MemoryFilter& filter, const std::vector<Query>& queries,
               Expect expect) {
  const FilterBlock* const block = filter.block();
  AskAll(state, set, filter, queries, expect, [block](const Query& query) {
    return block->RangeMayMatch(query.lo, query.hi, /*hi_inclusive=*/true);
  });
}

void PointAbsent(benchmark::State& state, const KeySet& set,
                 const MemoryFilter& filter) {
  AskPoints(state, set, filter, set.absent, Expect::kAnything);
}

void PointPresent(benchmark::State& state, const KeySet& set,
                  const MemoryFilter& filter) {
  AskPoints(state, set, filter, set.present, Expect::kMatches);
}

void Range(benchmark::State& state, const KeySet& set,
           const MemoryFilter& filter) {
  AskRanges(state, set, filter, set.empty_ranges, Expect::kAnything);
}

void RangePositive(benchmark::State& state, const KeySet& set,
                   const MemoryFilter& filter) {
  AskRanges(state, set, filter, set.positive_ranges, Expect::kMatches);
}

void MultiGet(benchmark::State& state, const KeySet& set,
              const MemoryFilter& filter) {
  // MayMatch takes the keys by pointers that it may write through.
  std::vector<Slice*> keys = set.batches;
  Cursor cursor(keys.size() / kBatch, state);
  bool may_match[kBatch];
  Measure(state, set, filter, kBatch, [&] {
    filter.reader()->MayMatch(kBatch, &keys[cursor.Next() * kBatch], may_match);
    benchmark::DoNotOptimize(may_match);
  });
}

void Seek(benchmark::State& state, const KeySet& set,
          const MemoryFilter& filter) {
  Surf::Iterator it(filter.surf());
  AskAll(state, set, filter, set.absent, Expect::kAnything,
         [&it](const Query& query) {
           const bool ambiguous = it.Seek(query.lo);
           return ambiguous || it.Valid();
         });
}

void CountKeys(benchmark::State& state, const KeySet& set,
               const MemoryFilter& filter, const std::vector<Query>& ranges) {
  const Surf* const surf = filter.surf();
  AskAll(state, set, filter, ranges, Expect::kAnything,
         [surf](const Query& range) {
           return static_cast<int64_t>(surf->Count(range.lo, range.hi).count);
         });
}

void Count100(benchmark::State& state, const KeySet& set,
              const MemoryFilter& filter) {
  CountKeys(state, set, filter, set.few_keys);
}

void Count10k(benchmark::State& state, const KeySet& set,
              const MemoryFilter& filter) {
  CountKeys(state, set, filter, set.many_keys);
}

void Build(benchmark::State& state, const KeySet& set,
           const MemoryFilter& filter) {
  Measure(state, set, filter, set.keys.size(), [&] {
    std::unique_ptr<const char[]> owner;
    const Slice contents = BuildFilter(filter.policy(), set.keys, &owner);
    benchmark::DoNotOptimize(contents.data());
  });
}

void Open(benchmark::State& state, const KeySet& set,
          const MemoryFilter& filter) {
  Measure(state, set, filter, 1, [&] {
    const std::unique_ptr<FilterBitsReader> reader(
        filter.policy().GetFilterBitsReader(filter.contents()));
    benchmark::DoNotOptimize(reader.get());
  });
}

// The filters of several sorted runs, and keys that none of them holds.
struct SortedRuns {
  SortedRuns(size_t key_bytes, uint64_t num_keys, size_t num_runs,
             const std::shared_ptr<const FilterPolicy>& policy) {
    Rng rng(FLAGS_seed);
    const auto make_keys = [&](uint64_t count) {
      std::vector<std::string> keys;
      while (keys.size() < count) {
        // 16 random bytes tell it from all others.
        const std::string random = BigEndianKey(rng()) + BigEndianKey(rng());
        std::string key = random.substr(0, key_bytes);
        while (key.size() < key_bytes) key += static_cast<char>(key.size());
        keys.push_back(std::move(key));
      }
      std::sort(keys.begin(), keys.end());
      return keys;
    };
    while (filters.size() < num_runs) {
      filters.push_back(
          std::make_unique<MemoryFilter>(policy, make_keys(num_keys)));
    }
    absent = make_keys(kAbsentKeys);
    std::shuffle(absent.begin(), absent.end(), rng);
  }

  static constexpr size_t kAbsentKeys = 1 << 12;  // an even number

  std::vector<std::unique_ptr<MemoryFilter>> filters;
  std::vector<std::string> absent;
};

// Asks the filters for two keys. ByKey is how RocksDB does it: all filters for
// one key, then all for the next. ByFilter asks each filter for both before the
// next one, so that each hash is of another key than the one before.
enum class Order { kByKey, kByFilter };

void LookUp(benchmark::State& state, const SortedRuns& runs, Order order) {
  size_t next = 0;
  size_t matches = 0;
  // RocksDB copies each key before it looks it up.
  std::string keys[2];
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    for (std::string& key : keys) key = runs.absent[next++];
    next %= runs.absent.size();
    if (order == Order::kByKey) {
      for (const std::string& key : keys) {
        for (const auto& filter : runs.filters) {
          matches += filter->reader()->MayMatch(key);
        }
      }
    } else {
      for (const auto& filter : runs.filters) {
        for (const std::string& key : keys) {
          matches += filter->reader()->MayMatch(key);
        }
      }
    }
  }
  const std::chrono::duration<double, std::nano> ns =
      std::chrono::steady_clock::now() - start;
  benchmark::DoNotOptimize(matches);
  state.counters["ns/op"] =
      ns.count() / static_cast<double>(2 * state.iterations());
}

struct Operation {
  const char* name;
  void (*run)(benchmark::State& state, const KeySet& set,
              const MemoryFilter& filter);
  bool surf_only = false;
  uint64_t min_keys = 0;
};

constexpr Operation kOperations[] = {
    {"PointAbsent", PointAbsent},
    {"PointPresent", PointPresent},
    {"Range", Range, true},
    {"RangePositive", RangePositive, true},
    {"MultiGet", MultiGet},
    {"Seek", Seek, true},
    {"Count100", Count100, true, kFewKeys},
    {"Count10k", Count10k, true, kManyKeys},
    {"Build", Build},
    {"Open", Open},
};

struct FilterChoice {
  std::string spec;
  std::shared_ptr<const FilterPolicy> policy;

  bool IsSurf() const {
    return policy != nullptr &&
           policy->IsInstanceOf(SurfFilterPolicy::kClassName());
  }
};

struct KeyChoice {
  std::string name;
  KeyType type;
  uint64_t num;
};

// The keys and the filter of the benchmark that runs. They are made when it
// starts and go when one starts that needs others.
class Subject {
 public:
  // The choices must live as long as the subject. Called by all threads of a
  // benchmark before any of them measures.
  void Prepare(const KeyChoice* keys, const FilterChoice* filter) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (keys != key_choice_ || filter != filter_choice_) filter_.reset();
    if (keys != key_choice_) {
      set_.reset();
      set_ = MakeKeySet(keys->type, keys->num);
      key_choice_ = keys;
    }
    if (filter_ == nullptr) {
      filter_ = std::make_unique<MemoryFilter>(filter->policy, set_->keys);
      filter_choice_ = filter;
    }
  }

  const KeySet& set() const { return *set_; }
  const MemoryFilter& filter() const { return *filter_; }

 private:
  std::mutex mutex_;
  const KeyChoice* key_choice_ = nullptr;
  const FilterChoice* filter_choice_ = nullptr;
  std::unique_ptr<const KeySet> set_;
  std::unique_ptr<const MemoryFilter> filter_;
};

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

class FilterMicro {
 public:
  Status ParseFlags() {
    Status s = ParseNumbers("--threads", FLAGS_threads, &threads_);
    if (s.ok()) s = ParseNumbers("--key_bytes", FLAGS_key_bytes, &key_bytes_);
    if (s.ok()) s = ParseNumbers("--runs", FLAGS_runs, &runs_);
    if (s.ok()) s = ParseKeys();
    if (s.ok()) s = ParseFilters();
    return s;
  }

  // The first of the numbers of keys.
  uint64_t num_keys() const { return keys_.front().num; }

  // In the order in which keys and filters are made but once.
  void Register() {
    if (!key_bytes_.empty()) {
      RegisterLookUps();
      return;
    }
    for (const KeyChoice& keys : keys_) {
      for (const FilterChoice& filter : filters_) {
        for (const Operation& operation : kOperations) {
          if ((operation.surf_only && !filter.IsSurf()) ||
              keys.num < operation.min_keys) {
            continue;
          }
          Register(keys, filter, operation);
        }
      }
    }
  }

 private:
  Status ParseKeys() {
    std::vector<uint64_t> nums;
    Status s = ParseNumbers("--num", FLAGS_num, &nums);
    for (const std::string& name : SplitList(FLAGS_key_types)) {
      KeyType type = KeyType::kU64;
      if (s.ok()) s = ParseKeyType(name, &type);
      for (const uint64_t num : nums) keys_.push_back({name, type, num});
    }
    return s;
  }

  Status ParseFilters() {
    for (const std::string& spec : SplitList(FLAGS_filters)) {
      FilterChoice filter{spec, nullptr};
      const Status s = MakeFilterPolicy(spec, &filter.policy);
      if (!s.ok()) return s;
      if (filter.policy == nullptr) {
        return Status::InvalidArgument("filter none cannot be measured here");
      }
      filters_.push_back(std::move(filter));
    }
    return Status::OK();
  }

  void Register(const KeyChoice& keys, const FilterChoice& filter,
                const Operation& operation) {
    const std::string name = std::string(operation.name) + "/" + keys.name +
                             "/" + std::to_string(keys.num) + "/" + filter.spec;
    auto* const registered = benchmark::RegisterBenchmark(
        name.c_str(),
        [this, &keys, &filter, run = operation.run](benchmark::State& state) {
          subject_.Prepare(&keys, &filter);
          run(state, subject_.set(), subject_.filter());
        });
    registered->UseRealTime();
    for (const uint64_t threads : threads_) {
      registered->Threads(static_cast<int>(threads));
    }
  }

  // Made anew only if others are wanted than the last time.
  const SortedRuns& RunsOf(uint64_t key_bytes, uint64_t num_runs,
                           const FilterChoice& filter) {
    const auto wanted = std::make_tuple(key_bytes, num_runs, &filter);
    if (sorted_runs_ == nullptr || wanted != last_wanted_) {
      sorted_runs_.reset();
      sorted_runs_ = std::make_unique<SortedRuns>(key_bytes, keys_.front().num,
                                                  num_runs, filter.policy);
      last_wanted_ = wanted;
    }
    return *sorted_runs_;
  }

  void RegisterLookUps() {
    for (const uint64_t bytes : key_bytes_) {
      for (const FilterChoice& filter : filters_) {
        for (const uint64_t runs : runs_) {
          for (const Order order : {Order::kByFilter, Order::kByKey}) {
            const std::string name =
                std::string(order == Order::kByKey ? "ByKey" : "ByFilter") +
                "/bytes:" + std::to_string(bytes) +
                "/runs:" + std::to_string(runs) + "/" + filter.spec;
            benchmark::RegisterBenchmark(
                name.c_str(),
                [this, bytes, runs, order, &filter](benchmark::State& state) {
                  LookUp(state, RunsOf(bytes, runs, filter), order);
                });
          }
        }
      }
    }
  }

  std::vector<uint64_t> threads_;
  std::vector<uint64_t> key_bytes_;
  std::vector<uint64_t> runs_;
  std::unique_ptr<const SortedRuns> sorted_runs_;
  std::tuple<uint64_t, uint64_t, const FilterChoice*> last_wanted_;
  std::vector<KeyChoice> keys_;
  std::vector<FilterChoice> filters_;
  Subject subject_;
};

void PrintHelp() {
  gflags::ShowUsageWithFlagsRestrict("filter_micro", "filter_micro");
  benchmark::PrintDefaultHelp();
}

// The library takes its flags out of the arguments; ours are left. A shorter
// time than its default lets all benchmarks end within two minutes.
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
  gflags::SetUsageMessage(
      "measures each operation of filters in memory; names are "
      "OPERATION/KEY_TYPE/NUM/FILTER, for --benchmark_filter");
  InitializeLibrary(&argc, argv);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  FilterMicro micro;
  Status s = micro.ParseFlags();
  if (s.ok() && FLAGS_costs) {
    s = PrintQueryCosts(micro.num_keys(), FLAGS_seed);
    if (s.ok()) return 0;
  }
  if (!s.ok()) {
    fprintf(stderr, "filter_micro: %s\n", s.ToString().c_str());
    return 1;
  }
  micro.Register();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunFilterMicro(argc, argv);
}
