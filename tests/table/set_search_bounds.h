// SPDX-License-Identifier: Apache-2.0

//  The bounds of a thread, set and cleared at any time, where tests need no
//  scope.

#pragma once

#include <memory>

#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

inline void SetSearchBounds(const Slice* lower, const Slice* upper) {
  ThreadBounds::SetCurrent(std::make_shared<const ThreadBounds>(lower, upper));
}
inline void ClearSearchBounds() { ThreadBounds::SetCurrent(nullptr); }

}  // namespace ROCKSDB_NAMESPACE::protean
