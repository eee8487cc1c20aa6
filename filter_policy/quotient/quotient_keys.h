// SPDX-License-Identifier: Apache-2.0

//  The hashes of byte strings in a quotient filter. The filter itself knows
//  nothing but hashes.

#pragma once

#include "filter_policy/filter_salt.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// The hash of a key in filters that have the salt. Filters that are merged must
// have the same one.
inline uint64_t QuotientHash(const Slice& key, const FilterSalt& salt) {
  return HashBytes(key.data(), key.size(), 0x8ebc6af09c88c6e3u ^ salt.file);
}

}  // namespace ROCKSDB_NAMESPACE::protean
