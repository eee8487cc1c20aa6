//  What depends on RocksDB's version, so that one source compiles against 9.10
//  and all later versions. Protean is tested with 9.10.

#pragma once

#include <memory>
#include <utility>

#include "rocksdb/db.h"
#include "rocksdb/version.h"

#define PROTEAN_ROCKSDB_AT_LEAST(major, minor) \
  (ROCKSDB_MAJOR > (major) ||                  \
   (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

// PROTEAN_SINCE_10_8(text) is `text` since RocksDB 10.8 and nothing before.

// InternalIterator::Prepare announces the ranges that a MultiScan will read.
// (So it does since 10.6, and from 10.1 on with another type, but nobody need
// implement it.)
#if PROTEAN_ROCKSDB_AT_LEAST(10, 7)
#define PROTEAN_HAS_MULTI_SCAN 1
#else
#define PROTEAN_HAS_MULTI_SCAN 0
#endif

// TableReader::VerifyChecksum has a third parameter.
#if PROTEAN_ROCKSDB_AT_LEAST(10, 8)
#define PROTEAN_SINCE_10_8(...) __VA_ARGS__
#else
#define PROTEAN_SINCE_10_8(...)
#endif

// FilterBitsBuilder has the pure virtuals CalculateSpace and EstimatedFpRate.
#if PROTEAN_ROCKSDB_AT_LEAST(10, 9)
#define PROTEAN_SINCE_10_9(...) __VA_ARGS__
#else
#define PROTEAN_SINCE_10_9(...)
#endif

// TableReader::DumpTable has a second parameter.
#if PROTEAN_ROCKSDB_AT_LEAST(10, 10)
#define PROTEAN_SINCE_10_10(...) __VA_ARGS__
#else
#define PROTEAN_SINCE_10_10(...)
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
