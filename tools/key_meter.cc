// SPDX-License-Identifier: Apache-2.0

#include "tools/key_meter.h"

#include <cinttypes>

#include "tools/eta.h"
#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

void KeyMeter::Count(uint64_t keys, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  keys_ += keys;
  bytes_ += bytes;
  if (!progress_.IsDue()) return;
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - begin_;
  progress_.Show(PrintedProgress(bytes_, total_bytes_, elapsed.count()) +
                 Format("; %" PRIu64 " keys, %.1f M/s", keys_,
                        static_cast<double>(keys_) / 1e6 / elapsed.count()));
}

}  // namespace ROCKSDB_NAMESPACE::protean
