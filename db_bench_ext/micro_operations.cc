// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/micro_operations.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <string>
#include <tuple>

#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/stopwatch.h"
#include "db_bench_ext/workload.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr int kBatch = 32;
// The number of queries of each kind: neither the branch predictor nor the
// caches can learn as many.
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
std::vector<Query> RangesOf(const std::vector<std::string>& keys, size_t size,
                            uint64_t seed) {
  std::vector<Query> ranges;
  if (keys.size() < size) return ranges;
  std::mt19937_64 rng(seed);
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

std::unique_ptr<KeySet> MakeKeySet(KeyType type, uint64_t num_keys,
                                   uint64_t seed) {
  auto set = std::make_unique<KeySet>();
  DataSet data(type, num_keys, seed);
  set->keys = data.StoredKeys();
  MakeBoth(WorkloadKind::kPoint, set->keys, &data, &set->absent, &set->present);
  MakeBoth(WorkloadKind::kRange, set->keys, &data, &set->empty_ranges,
           &set->positive_ranges);
  set->few_keys = RangesOf(set->keys, kFewKeys, seed);
  set->many_keys = RangesOf(set->keys, kManyKeys, seed);
  for (const Query& query : set->absent) set->slices.emplace_back(query.lo);
  for (Slice& slice : set->slices) set->batches.push_back(&slice);
  return set;
}

// Goes around the queries, each thread from a place of its own.
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

// Times `body`, which does `ops_per_iteration` operations on the filter of
// `set`.
template <typename Body>
void Measure(benchmark::State& state, const KeySet& set,
             const MemoryFilter& filter, size_t ops_per_iteration,
             const Body& body) {
  using benchmark::Counter;
  const Stopwatch stopwatch;
  for (auto _ : state) body();
  const double ns = stopwatch.Nanos();
  const int64_t ops =
      state.iterations() * static_cast<int64_t>(ops_per_iteration);
  state.SetItemsProcessed(ops);
  // The time as one thread sees it.
  state.counters["ns/op"] =
      Counter(ns / static_cast<double>(ops), Counter::kAvgThreads);
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
               const MemoryFilter& filter, const std::vector<Query>& ranges,
               Expect expect) {
  const Surf* const surf = filter.surf();
  AskAll(state, set, filter, ranges, expect, [surf](const Query& range) {
    return static_cast<int64_t>(surf->Count(range.lo, range.hi).count);
  });
}

// Asks the queries of one kind.
template <auto kAsk, auto kQueriesOf, Expect kExpect = Expect::kAnything>
void Ask(benchmark::State& state, const KeySet& set,
         const MemoryFilter& filter) {
  kAsk(state, set, filter, set.*kQueriesOf, kExpect);
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

struct Operation {
  const char* name;
  void (*run)(benchmark::State& state, const KeySet& set,
              const MemoryFilter& filter);
  bool surf_only = false;
  uint64_t min_keys = 0;
};

constexpr Operation kOperations[] = {
    {"PointAbsent", Ask<AskPoints, &KeySet::absent>},
    {"PointPresent", Ask<AskPoints, &KeySet::present, Expect::kMatches>},
    {"Range", Ask<AskRanges, &KeySet::empty_ranges>, true},
    {"RangePositive",
     Ask<AskRanges, &KeySet::positive_ranges, Expect::kMatches>, true},
    {"MultiGet", MultiGet},
    {"Seek", Seek, true},
    {"Count100", Ask<CountKeys, &KeySet::few_keys>, true, kFewKeys},
    {"Count10k", Ask<CountKeys, &KeySet::many_keys>, true, kManyKeys},
    {"Build", Build},
    {"Open", Open},
};

// The keys and the filter of the running benchmark. They are made when it
// starts, and dropped when a benchmark starts that needs others.
class Subject {
 public:
  explicit Subject(uint64_t seed) : seed_(seed) {}

  // The choices must live as long as the subject. Called by all threads of a
  // benchmark before any of them measures.
  void Prepare(const KeyChoice* keys, const FilterChoice* filter) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (keys != key_choice_ || filter != filter_choice_) filter_.reset();
    if (keys != key_choice_) {
      set_.reset();
      set_ = MakeKeySet(keys->type, keys->num, seed_);
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
  const uint64_t seed_;
  std::mutex mutex_;
  const KeyChoice* key_choice_ = nullptr;
  const FilterChoice* filter_choice_ = nullptr;
  std::unique_ptr<const KeySet> set_;
  std::unique_ptr<const MemoryFilter> filter_;
};

void Register(const KeyChoice& keys, const FilterChoice& filter,
              const Operation& operation, const std::vector<uint64_t>& threads,
              const std::shared_ptr<Subject>& subject) {
  const std::string name = std::string(operation.name) + "/" + keys.name + "/" +
                           std::to_string(keys.num) + "/" + filter.spec;
  auto* const registered = benchmark::RegisterBenchmark(
      name.c_str(),
      [subject, &keys, &filter, run = operation.run](benchmark::State& state) {
        subject->Prepare(&keys, &filter);
        run(state, subject->set(), subject->filter());
      });
  registered->UseRealTime();
  for (const uint64_t count : threads) {
    registered->Threads(static_cast<int>(count));
  }
}

}  // namespace

void RegisterOperations(const std::vector<KeyChoice>& keys,
                        const std::vector<FilterChoice>& filters,
                        const std::vector<uint64_t>& threads, uint64_t seed) {
  const auto subject = std::make_shared<Subject>(seed);
  for (const KeyChoice& choice : keys) {
    for (const FilterChoice& filter : filters) {
      for (const Operation& operation : kOperations) {
        if ((operation.surf_only && !filter.IsSurf()) ||
            choice.num < operation.min_keys) {
          continue;
        }
        Register(choice, filter, operation, threads, subject);
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
