// SPDX-License-Identifier: Apache-2.0

//  What the crate calls: makes sure that the RocksDB in the program is the one
//  that Protean has been compiled for, and registers Protean.

#include <cstdio>
#include <exception>

#include "plugin/build_info.h"
#include "plugin/checked_registration.h"

// Whether Protean has been registered. If not, `reason` says why, in up to
// `size` bytes with the 0 at the end. Must not be called twice.
extern "C" bool protean_rocksdb_register(char* reason, size_t size) noexcept {
  using namespace ROCKSDB_NAMESPACE::protean;
  try {
    const ROCKSDB_NAMESPACE::Status s = RegisterChecked(/*is_ready=*/true);
    if (s.ok()) return true;
    snprintf(reason, size, "%s: %s", GetBuildInfo().ToString().c_str(),
             s.getState() == nullptr ? s.ToString().c_str() : s.getState());
  } catch (const std::exception& e) {
    snprintf(reason, size, "%s", e.what());
  }
  return false;
}
