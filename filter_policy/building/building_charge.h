// SPDX-License-Identifier: Apache-2.0

//  Charges the block cache for the memory that building a filter takes, if its
//  options say so. Memory that the cache has no room for is used all the same,
//  as by RocksDB's Bloom filters.

#pragma once

#include <memory>

#include "cache/cache_reservation_manager.h"
#include "rocksdb/table.h"

namespace ROCKSDB_NAMESPACE::protean {

class BuildingCharge {
 public:
  BuildingCharge(const BlockBasedTableOptions& options, Logger* info_log);

  void Set(size_t bytes);

 private:
  Logger* const info_log_;
  std::unique_ptr<CacheReservationManager> reservation_;
  bool failure_logged_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
