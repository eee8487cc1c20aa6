// SPDX-License-Identifier: Apache-2.0

//  The keys that tell what all keys of a file look like.

#pragma once

#include <cstddef>

#include "filter_policy/proteus/key_store.h"

namespace ROCKSDB_NAMESPACE::protean {

// The number of these keys, which are spread evenly over the file.
constexpr size_t kSampledKeys = 64;
// The index of one of these keys; keys.size() > 0, number < kSampledKeys.
inline size_t SampledKey(const KeyStore& keys, size_t number) {
  return number * (keys.size() - 1) / (kSampledKeys - 1);
}

}  // namespace ROCKSDB_NAMESPACE::protean
