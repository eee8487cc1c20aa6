// SPDX-License-Identifier: Apache-2.0

//  A mutex for one writer or many readers, in which neither starve. With
//  std::shared_mutex on Linux, a writer waits as long as readers overlap, and a
//  few threads that read all the time always do.

#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace ROCKSDB_NAMESPACE::protean {

// Used by std::unique_lock and std::shared_lock.
class FairSharedMutex {
 public:
  void lock() {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard<std::mutex> turn(turn_);
    mutex_.lock();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  void unlock() { mutex_.unlock(); }

  // While a writer waits, readers wait for their turn behind it.
  void lock_shared() {
    if (waiting_.load(std::memory_order_relaxed) > 0) {
      const std::lock_guard<std::mutex> turn(turn_);
      mutex_.lock_shared();
    } else {
      mutex_.lock_shared();
    }
  }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
  std::mutex turn_;
  std::atomic<int> waiting_{0};
};

}  // namespace ROCKSDB_NAMESPACE::protean
