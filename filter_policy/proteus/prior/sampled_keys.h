// SPDX-License-Identifier: Apache-2.0

//  The keys that tell what all keys of a file look like.

#pragma once

#include <algorithm>
#include <cstddef>

#include "filter_policy/proteus/key_store.h"

namespace ROCKSDB_NAMESPACE::protean {

// The limit of the number of these keys, which are spread evenly over the file.
constexpr size_t kMaxSampledKeys = 64;

inline size_t NumSampledKeys(const KeyStore& keys) {
  return std::min(keys.size(), kMaxSampledKeys);
}
// The index of one of these keys; number < NumSampledKeys(keys).
inline size_t SampledKey(const KeyStore& keys, size_t number) {
  return keys.size() <= kMaxSampledKeys
             ? number
             : number * (keys.size() - 1) / (kMaxSampledKeys - 1);
}

}  // namespace ROCKSDB_NAMESPACE::protean
