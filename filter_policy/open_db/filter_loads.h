// SPDX-License-Identifier: Apache-2.0

//  Filter blocks that were read for a file: whole filters, or parts of
//  partitioned ones. A block that is in memory already, in the block cache or
//  elsewhere, is not counted again: where counts keep rising, filters do not
//  stay in memory.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FilterLoads {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
  uint64_t failed = 0;  // blocks that could not be read, or are damaged

  FilterLoads& operator+=(const FilterLoads& other) {
    blocks += other.blocks;
    bytes += other.bytes;
    failed += other.failed;
    return *this;
  }
  bool IsZero() const { return blocks == 0 && failed == 0; }
};

// Thread safe.
class SharedFilterLoads {
 public:
  void Add(size_t bytes) {
    blocks_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void AddFailed() { failed_.fetch_add(1, std::memory_order_relaxed); }
  FilterLoads Load() const {
    return {blocks_.load(std::memory_order_relaxed),
            bytes_.load(std::memory_order_relaxed),
            failed_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<uint64_t> blocks_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> failed_{0};
};

}  // namespace ROCKSDB_NAMESPACE::protean
