//  What depends on RocksDB's version. Protean is built and tested with 9.10;
//  what is known to differ in later versions belongs here.

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
