//  Micro-benchmarks of a lookup of an absent key in the filters of several
//  sorted runs: they show what hashing the key only once gains.

#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "db_bench_ext/micro_choices.h"

namespace ROCKSDB_NAMESPACE::protean {

struct LookUpRuns;

class LookUpBenchmarks {
 public:
  // `key_bytes` and `runs` are lengths of keys and numbers of sorted runs;
  // `num_keys` is the number of keys of a run.
  LookUpBenchmarks(std::vector<uint64_t> key_bytes, std::vector<uint64_t> runs,
                   std::vector<FilterChoice> filters, uint64_t num_keys,
                   uint64_t seed);
  ~LookUpBenchmarks();

  // Registers ORDER/bytes:N/runs:N/FILTER. Registered benchmarks refer to this
  // object.
  void Register();

 private:
  // Makes the runs again only if other ones are wanted than the last time.
  const LookUpRuns& RunsOf(uint64_t key_bytes, uint64_t num_runs,
                           const FilterChoice& filter);

  const std::vector<uint64_t> key_bytes_;
  const std::vector<uint64_t> runs_;
  const std::vector<FilterChoice> filters_;
  const uint64_t num_keys_;
  const uint64_t seed_;
  std::unique_ptr<const LookUpRuns> last_runs_;
  std::tuple<uint64_t, uint64_t, const FilterChoice*> last_wanted_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
