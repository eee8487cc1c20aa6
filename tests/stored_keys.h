// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "filter_policy/proteus/key_store.h"

namespace ROCKSDB_NAMESPACE::protean {

inline KeyStore Stored(const std::vector<std::string>& keys) {
  KeyStore store;
  for (const std::string& key : keys) store.Append(key);
  return store;
}

}  // namespace ROCKSDB_NAMESPACE::protean
