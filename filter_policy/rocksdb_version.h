//  All that depends on RocksDB's version. The rest of the source is the same
//  for every version from 9.10 to 11.x.

#pragma once

#include "rocksdb/version.h"

#define PROTEAN_ROCKSDB_AT_LEAST(major, minor) \
  (ROCKSDB_MAJOR > (major) ||                  \
   (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

// FilterBitsBuilder::CalculateSpace and EstimatedFpRate are pure virtuals since
// 10.9; before, they do not exist.
#if PROTEAN_ROCKSDB_AT_LEAST(10, 9)
#define PROTEAN_OVERRIDE_SINCE_10_9 override
#else
#define PROTEAN_OVERRIDE_SINCE_10_9
#endif
