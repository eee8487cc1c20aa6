// SPDX-License-Identifier: Apache-2.0

//  The speed at which keys are read.

#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "tools/progress.h"

namespace ROCKSDB_NAMESPACE::protean {

// Counts the keys of all threads, and shows their number and the speed since
// the object was made. Thread safe.
class KeyMeter {
 public:
  explicit KeyMeter(Progress* progress) : progress_(*progress) {}

  // Adds keys that were read, and shows the new sum if that is due.
  void Count(uint64_t keys);

 private:
  const std::chrono::steady_clock::time_point begin_ =
      std::chrono::steady_clock::now();
  std::mutex mutex_;
  Progress& progress_;
  uint64_t keys_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
