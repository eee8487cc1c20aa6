//  What depends on RocksDB's version. Protean is built and tested with 9.10;
//  what is known to differ in later versions belongs here.

#pragma once

#include <memory>
#include <utility>

#include "rocksdb/db.h"
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

namespace ROCKSDB_NAMESPACE::protean {

// DB::Open with any of its lists of arguments, the last of which fills a
// unique_ptr since 11.0, and a plain pointer before.
template <typename... Arguments>
Status OpenDB(std::unique_ptr<DB>* db, Arguments&&... arguments) {
#if PROTEAN_ROCKSDB_AT_LEAST(11, 0)
  return DB::Open(std::forward<Arguments>(arguments)..., db);
#else
  DB* opened = nullptr;
  const Status s = DB::Open(std::forward<Arguments>(arguments)..., &opened);
  db->reset(opened);
  return s;
#endif
}

}  // namespace ROCKSDB_NAMESPACE::protean
