// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/building/building_charge.h"

#include "rocksdb/env.h"

namespace ROCKSDB_NAMESPACE::protean {

BuildingCharge::BuildingCharge(const BlockBasedTableOptions& options,
                               Logger* info_log)
    : info_log_(info_log) {
  const auto charge = options.cache_usage_options.options_overrides.find(
      CacheEntryRole::kFilterConstruction);
  if (options.block_cache != nullptr &&
      charge != options.cache_usage_options.options_overrides.end() &&
      charge->second.charged == CacheEntryRoleOptions::Decision::kEnabled) {
    reservation_ = std::make_unique<
        CacheReservationManagerImpl<CacheEntryRole::kFilterConstruction>>(
        options.block_cache);
  }
}

void BuildingCharge::Set(size_t bytes) {
  if (reservation_ == nullptr) return;
  const Status s = reservation_->UpdateCacheReservation(bytes);
  if (s.ok() || failure_logged_) return;
  failure_logged_ = true;
  Log(InfoLogLevel::WARN_LEVEL, info_log_,
      "Protean: the block cache has no room for the memory that building this "
      "file's filter takes: %s",
      s.ToString().c_str());
}

}  // namespace ROCKSDB_NAMESPACE::protean
