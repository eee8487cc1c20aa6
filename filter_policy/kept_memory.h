// SPDX-License-Identifier: Apache-2.0

//  The memory that Protean keeps for open DBs beside their filters: samples of
//  queries, designs of the last files, and tables of recent false positives.
//
//  If filters are in the block cache, or charged to it, so is this memory
//  (CacheEntryRole::kMisc). It takes an eighth of a cache at most, for all DBs
//  that share it, and in the process kMaxOfProcess. Of a small cache, it takes
//  kMinOfCache, of which no more than an eighth of the cache is charged.
//
//  Some holders can give memory back: those of samples. Each may take what is
//  free. When nothing is, a holder gets its share from those that have more
//  than theirs; all shares in what the other holders leave are equal. The
//  others never take more than three quarters.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "rocksdb/cache.h"
#include "rocksdb/table.h"

namespace ROCKSDB_NAMESPACE::protean {

// The block cache in which memory of DBs with these options counts; nullptr if
// their filters count in none.
std::shared_ptr<Cache> CapOf(const BlockBasedTableOptions& options);

struct KeptMemoryUsage {
  uint64_t bytes = 0;
  uint64_t max_bytes = 0;
};

// One holder's memory, which is given back when this object is destroyed. Not
// thread safe, but different objects may be used by different threads.
class KeptMemory {
 public:
  static constexpr size_t kMaxOfProcess = 256 << 20;
  static constexpr size_t kMinOfCache = 64 << 10;

  // Makes a holder have no more bytes than these. Called in any thread, and
  // must not wait: returns false, without effect, if the holder is in use.
  using Shrink = std::function<bool(size_t most)>;

  // `cap` is as CapOf returns it. `shrink` is empty for a holder that cannot
  // give memory back.
  explicit KeptMemory(const std::shared_ptr<Cache>& cap,
                      Shrink shrink = nullptr);
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  // Takes or gives back memory, so that there are `bytes`. Returns false
  // without effect if there is no room or, unless `wait`, if another thread
  // resizes.
  bool Resize(size_t bytes, bool wait = true);

  // The memory that is left for tables of a fixed size, which take half of all
  // at most. Each leaves as much to the next one.
  size_t RoomForTable() const;

  // The memory that counts in the cap; in the process if this is nullptr.
  static KeptMemoryUsage UsageOf(const Cache* cap);
  // For tests.
  static void SetMaxOfProcess(size_t bytes);

 private:
  struct Account;
  struct All;
  struct Sum;

  Account* account_;
  const Shrink shrink_;
  size_t bytes_ = 0;  // requires the mutex of all
};

}  // namespace ROCKSDB_NAMESPACE::protean
