//  Micro-benchmarks of each operation of a filter in memory: asking for points,
//  ranges, batches, seeking, counting, building and opening, on every kind of
//  keys and any number of threads.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "db_bench_ext/micro_choices.h"

namespace ROCKSDB_NAMESPACE::protean {

class Subject;

class OperationBenchmarks {
 public:
  OperationBenchmarks(std::vector<KeyChoice> keys,
                      std::vector<FilterChoice> filters,
                      std::vector<uint64_t> threads, uint64_t seed);
  ~OperationBenchmarks();

  // Registers OPERATION/KEY_TYPE/NUM/FILTER, in an order in which each set of
  // keys and each filter is made only once. Registered benchmarks refer to this
  // object.
  void Register();

 private:
  struct Operation;
  static const Operation kOperations[];

  void Register(const KeyChoice& keys, const FilterChoice& filter,
                const Operation& operation);

  const std::vector<KeyChoice> keys_;
  const std::vector<FilterChoice> filters_;
  const std::vector<uint64_t> threads_;
  const std::unique_ptr<Subject> subject_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
