// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/query_costs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "db_bench_ext/design_policy.h"
#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/stopwatch.h"
#include "filter_policy/amq/amq.h"
#include "filter_policy/proteus/prefix_hash.h"
#include "filter_policy/proteus/search/design_search.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kQueries = 1 << 18;
constexpr int kRepetitions = 7;
// Random keys share far fewer bits with a query than kSetBits, so a query tests
// all of its prefixes and finds none. Tries of kTrieBits resolve most queries.
constexpr unsigned kSetBits = 48;
constexpr unsigned kTrieBits = 24;
constexpr unsigned kPrefixes = 65;

class Costs {
 public:
  Costs(uint64_t num_keys, uint64_t seed) : random_(seed) {
    for (uint64_t i = 0; i < num_keys; i++)
      keys_.push_back(BigEndianKey(random_()));
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  }

  // The time of a query over `prefixes` prefixes, in nanoseconds.
  Status Measure(const std::string& design, unsigned prefixes, double* nanos) {
    const auto policy = DesignPolicy::Create(design);
    if (policy == nullptr) return Status::InvalidArgument(design);
    const MemoryFilter filter(policy, keys_);
    std::vector<Query> queries;
    for (size_t i = 0; i < kQueries; i++) {
      constexpr unsigned kRest = 64 - kSetBits;
      const uint64_t end = (uint64_t{1} << kSetBits) - prefixes;
      const uint64_t lo = random_() % end << kRest;
      queries.push_back({BigEndianKey(lo),
                         BigEndianKey(lo + (uint64_t{prefixes - 1} << kRest))});
    }
    uint64_t matches = 0;
    *nanos = LeastNanos(kQueries, [&] {
      for (const Query& query : queries) {
        matches += filter.block()->RangeMayMatch(query.lo, query.hi,
                                                 /*hi_inclusive=*/true);
      }
    });
    // A filter that resolves no query has not done the work to be measured.
    return matches < kRepetitions * kQueries
               ? Status::OK()
               : Status::Incomplete(design + " resolves no query");
  }

  // The time to build a filter, for each key.
  double BuildNanos(const std::string& design) {
    const auto policy = DesignPolicy::Create(design);
    return LeastNanos(keys_.size(),
                      [&] { const MemoryFilter filter(policy, keys_); });
  }
  // The time to build a set of 14 bits a key, for each key, hashing included.
  double BuildNanosOfSet(const AmqType& type) {
    const AmqPlan plan =
        PlanAmq(type.kind, keys_.size(), 14 * keys_.size() / 8);
    std::string header(Amq::kHeaderSize, '\0');
    return LeastNanos(keys_.size(), [&] {
      std::string data(plan.bytes, '\0');
      AmqBuilder set(plan, /*in_second_unit=*/false, header.data(),
                     data.data());
      for (const std::string& key : keys_) {
        set.Add(HashKey(key, LoadBits64(key, 0), FilterSalt()));
      }
      set.Finish();
    });
  }

 private:
  // The time of one of `count` operations, which `run` does: the least of
  // several runs, since every disturbance adds to the time.
  template <typename Run>
  static double LeastNanos(size_t count, const Run& run) {
    double nanos = INFINITY;
    for (int i = 0; i < kRepetitions; i++) {
      const Stopwatch stopwatch;
      run();
      nanos = std::min(nanos, stopwatch.Nanos());
    }
    return nanos / static_cast<double>(count);
  }

  std::mt19937_64 random_;
  std::vector<std::string> keys_;
};

}  // namespace

Status PrintQueryCosts(uint64_t num_keys, uint64_t seed) {
  Costs costs(num_keys, seed);
  const std::string head = "design:14:";
  double trie = 0;
  Status s = costs.Measure(head + "trie" + std::to_string(kTrieBits),
                           /*prefixes=*/1, &trie);
  if (!s.ok()) return s;
  printf("What a query costs, in nanoseconds, in filters of %llu keys:\n\n",
         static_cast<unsigned long long>(num_keys));
  printf(
      "  kTrieNanos = %.0f;    // proteus/search/design_judge.h; %.0f at "
      "present\n",
      trie, kTrieNanos);
  printf("  kTrieBuildNanos = %.0f;  // %.0f at present\n",
         costs.BuildNanos(head + "trie" + std::to_string(kTrieBits)) -
             costs.BuildNanos(head + "bloom" + std::to_string(kSetBits)) +
             costs.BuildNanosOfSet(BloomAmqType()),
         kTrieBuildNanos);
  // What a query costs without its set is what a Bloom set's would cost if its
  // first prefix took as long as the others.
  double without_set = 0;
  for (const AmqType* type : AmqTypes()) {
    const std::string design = head + type->name + std::to_string(kSetBits);
    double one = 0;
    double several = 0;
    s = costs.Measure(design, 1, &one);
    if (s.ok()) s = costs.Measure(design, kPrefixes, &several);
    if (!s.ok()) return s;
    const double next = (several - one) / (kPrefixes - 1);
    if (type == &BloomAmqType()) without_set = one - next;
    printf(
        "  /*query_nanos=*/%.0f, /*next_nanos=*/%.1f, /*build_nanos=*/%.0f,  "
        "// amq/%s.cc; %.0f, %.1f and %.0f at present\n",
        std::max(1.0, one - without_set), next, costs.BuildNanosOfSet(*type),
        type->name, type->query_nanos, type->next_nanos, type->build_nanos);
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
