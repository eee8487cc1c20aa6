// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <ctime>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// The time since the stopwatch was made.
class Stopwatch {
 public:
  double Seconds() const { return Nanos() / 1e9; }
  double Nanos() const {
    return std::chrono::duration<double, std::nano>(Clock::now() - start_)
        .count();
  }

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point start_ = Clock::now();
};

// The processor time of the process since the stopwatch was made, whatever else
// runs on the machine.
class CpuStopwatch {
 public:
  double Seconds() const {
    return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC;
  }

 private:
  const std::clock_t start_ = std::clock();
};

}  // namespace ROCKSDB_NAMESPACE::protean
