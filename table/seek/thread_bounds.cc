// SPDX-License-Identifier: Apache-2.0

#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

const std::shared_ptr<const ThreadBounds>& RoundBounds::Take(
    const Slice* target, bool backwards) {
  static const auto& none = *new std::shared_ptr<const ThreadBounds>;
  const std::shared_ptr<const ThreadBounds>& current = ThreadBounds::Current();
  const bool changed = !ThreadBounds::AreEqual(bounds_.get(), current.get());
  if (target != nullptr) {
    if (changed) is_outside_ = false;
    bounds_ = current;
    if (current != nullptr && current->IsOutside(*target, backwards)) {
      is_outside_ = true;
    }
  } else if (changed) {
    // Equal bounds that are set later belong to another search.
    bounds_.reset();
    return none;
  }
  return is_outside_ ? none : current;
}

}  // namespace ROCKSDB_NAMESPACE::protean
