// SPDX-License-Identifier: Apache-2.0

//  Opens a DB that follows another one, whatever the version of RocksDB.

#pragma once

#include <memory>
#include <utility>

#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

// DB::OpenAsSecondary, with any of its lists of arguments.
template <typename... Arguments>
Status OpenSecondary(std::unique_ptr<DB>* db, Arguments&&... arguments) {
  return OpenInto(db, [&](auto* into) {
    return DB::OpenAsSecondary(std::forward<Arguments>(arguments)..., into);
  });
}

}  // namespace ROCKSDB_NAMESPACE::protean
