// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <new>
#include <utility>

#include "memory/arena.h"

namespace ROCKSDB_NAMESPACE::protean {

// Makes an iterator as TableReader::NewIterator does: in `arena`, whose owner
// destroys it, or on the heap if that is nullptr.
template <typename Iterator, typename... Arguments>
Iterator* NewIn(Arena* arena, Arguments&&... arguments) {
  if (arena == nullptr) {
    return new Iterator(std::forward<Arguments>(arguments)...);
  }
  return new (arena->AllocateAligned(sizeof(Iterator)))
      Iterator(std::forward<Arguments>(arguments)...);
}

}  // namespace ROCKSDB_NAMESPACE::protean
