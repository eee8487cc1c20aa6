// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/micro_lookups.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/stopwatch.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The filters of several sorted runs, and keys that none of them holds.
struct LookUpRuns {
  LookUpRuns(size_t key_bytes, uint64_t num_keys, size_t num_runs,
             const std::shared_ptr<const FilterPolicy>& policy, uint64_t seed) {
    Rng rng(seed);
    const auto make_keys = [&](uint64_t count) {
      std::vector<std::string> keys;
      while (keys.size() < count) {
        // 16 random bytes tell a key from all others.
        const std::string low = BigEndianKey(rng());
        const std::string random = BigEndianKey(rng()) + low;
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

// The order in which filters are asked for two keys. ByKey is RocksDB's order:
// all filters for one key, then all for the next. ByFilter asks each filter for
// both keys before the next filter, so that no two hashes in a row are of the
// same key.
enum class Order { kByKey, kByFilter };

void LookUp(benchmark::State& state, const LookUpRuns& runs, Order order) {
  size_t next = 0;
  size_t matches = 0;
  // RocksDB copies each key before it looks it up.
  std::string keys[2];
  const Stopwatch stopwatch;
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
  const double ns = stopwatch.Nanos();
  benchmark::DoNotOptimize(matches);
  state.counters["ns/op"] = ns / static_cast<double>(2 * state.iterations());
}

// Keeps the runs of the latest benchmark, and makes others when they are
// wanted.
class RunsOnDemand {
 public:
  RunsOnDemand(uint64_t num_keys, uint64_t seed)
      : num_keys_(num_keys), seed_(seed) {}

  const LookUpRuns& Get(uint64_t key_bytes, uint64_t num_runs,
                        const FilterChoice& filter) {
    const auto wanted = std::make_tuple(key_bytes, num_runs, &filter);
    if (runs_ == nullptr || wanted != made_) {
      runs_.reset();
      runs_ = std::make_unique<LookUpRuns>(key_bytes, num_keys_, num_runs,
                                           filter.policy, seed_);
      made_ = wanted;
    }
    return *runs_;
  }

 private:
  const uint64_t num_keys_;
  const uint64_t seed_;
  std::unique_ptr<const LookUpRuns> runs_;
  std::tuple<uint64_t, uint64_t, const FilterChoice*> made_;
};

}  // namespace

void RegisterLookUps(const std::vector<uint64_t>& key_bytes,
                     const std::vector<uint64_t>& runs,
                     const std::vector<FilterChoice>& filters,
                     uint64_t num_keys, uint64_t seed) {
  const auto made = std::make_shared<RunsOnDemand>(num_keys, seed);
  for (const uint64_t bytes : key_bytes) {
    for (const FilterChoice& filter : filters) {
      for (const uint64_t num_runs : runs) {
        for (const Order order : {Order::kByFilter, Order::kByKey}) {
          const std::string name =
              std::string(order == Order::kByKey ? "ByKey" : "ByFilter") +
              "/bytes:" + std::to_string(bytes) +
              "/runs:" + std::to_string(num_runs) + "/" + filter.spec;
          benchmark::RegisterBenchmark(
              name.c_str(), [=, &filter](benchmark::State& state) {
                LookUp(state, made->Get(bytes, num_runs, filter), order);
              });
        }
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
