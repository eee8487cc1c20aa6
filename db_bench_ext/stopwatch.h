// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>

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

}  // namespace ROCKSDB_NAMESPACE::protean
