// SPDX-License-Identifier: Apache-2.0

//  How far the reading of files is, and its speed.

#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "tools/progress.h"

namespace ROCKSDB_NAMESPACE::protean {

// Counts the keys and bytes of all threads, and shows how much of `total_bytes`
// is done, the time left, and the speed since the object was made. Thread safe.
class KeyMeter {
 public:
  KeyMeter(uint64_t total_bytes, Progress* progress)
      : total_bytes_(total_bytes), progress_(*progress) {}

  // Adds what was read, and shows the new sum if that is due.
  void Count(uint64_t keys, uint64_t bytes);

 private:
  const std::chrono::steady_clock::time_point begin_ =
      std::chrono::steady_clock::now();
  const uint64_t total_bytes_;
  std::mutex mutex_;
  Progress& progress_;
  uint64_t keys_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
