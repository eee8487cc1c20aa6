// SPDX-License-Identifier: Apache-2.0

//  Filters that were built for new files, and the time that it took once their
//  keys were known.

#pragma once

#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

struct BuildCounts {
  uint64_t filters = 0;
  uint64_t keys = 0;
  uint64_t bytes = 0;
  uint64_t nanos = 0;  // from the last key on, or the last key of each part
  uint64_t model_nanos = 0;  // the part of that time that models took

  BuildCounts& operator+=(const BuildCounts& other) {
    filters += other.filters;
    keys += other.keys;
    bytes += other.bytes;
    nanos += other.nanos;
    model_nanos += other.model_nanos;
    return *this;
  }
};

}  // namespace ROCKSDB_NAMESPACE::protean
