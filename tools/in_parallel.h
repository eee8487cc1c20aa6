// SPDX-License-Identifier: Apache-2.0

//  Work in as many threads as the machine has cores.

#pragma once

#include <cstddef>
#include <functional>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Calls `work` with each number below `count`, several at a time, and returns
// when all calls have returned.
void InParallel(size_t count, const std::function<void(size_t)>& work);

}  // namespace ROCKSDB_NAMESPACE::protean
