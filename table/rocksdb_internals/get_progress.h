// SPDX-License-Identifier: Apache-2.0

//  How far RocksDB is with the look-up of a key in one file after the other.

#pragma once

#include <cstddef>

#include "table/get_context.h"

namespace ROCKSDB_NAMESPACE::protean {

// The number of operands of a merge that have been found. REQUIRES: the state
// of `get` is kMerge
size_t MergeOperandsOf(const GetContext& get);

// A number that changes when a file tells something of the key: a value, a
// deletion, an operand of a merge.
inline size_t ProgressOf(const GetContext& get) {
  const GetContext::GetState state = get.State();
  if (state == GetContext::kNotFound) return 0;
  // The other states end the look-up.
  return 1 + (state == GetContext::kMerge ? MergeOperandsOf(get) : 0);
}

}  // namespace ROCKSDB_NAMESPACE::protean
