// SPDX-License-Identifier: Apache-2.0

#include "plugin/search_bounds.h"

#include <memory>

#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

SearchBoundsScope::SearchBoundsScope(const Slice* lower, const Slice* upper)
    : before_(ThreadBounds::Current()) {
  ThreadBounds::SetCurrent(std::make_shared<const ThreadBounds>(lower, upper));
}

SearchBoundsScope::~SearchBoundsScope() { ThreadBounds::SetCurrent(before_); }

}  // namespace ROCKSDB_NAMESPACE::protean
