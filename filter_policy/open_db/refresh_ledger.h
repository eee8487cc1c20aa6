// SPDX-License-Identifier: Apache-2.0

//  What refreshing filters (plugin/refresh_filters.h) has done since a DB was
//  opened. RefreshFilters enters it here, and the statistics read it.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// The refreshes of a column family.
struct RefreshCounts {
  uint64_t runs = 0;      // that have ended
  uint64_t failures = 0;  // the part of them that ended with an error
  int64_t last_end = 0;   // seconds since 1970; 0 before the first end
  // These include the refreshes that are running.
  uint64_t files_rewritten = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_rewritten = 0;
  // The number of refreshes that are running, and how far the one that began
  // last is: the bytes of all files, and of the files whose outcome is known.
  uint64_t running = 0;
  std::chrono::steady_clock::time_point began;
  uint64_t bytes = 0;
  uint64_t bytes_decided = 0;
};

// Thread safe.
class RefreshLedger {
 public:
  // A column family is identified as in FileDescription::family.
  RefreshCounts Of(const void* family) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto counts = families_.find(family);
    return counts == families_.end() ? RefreshCounts() : counts->second;
  }
  void Enter(const void* family,
             const std::function<void(RefreshCounts*)>& change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change(&families_[family]);
  }

 private:
  mutable std::mutex mutex_;
  std::map<const void*, RefreshCounts> families_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
