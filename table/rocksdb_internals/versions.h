// SPDX-License-Identifier: Apache-2.0

//  All that depends on the version of RocksDB: from 9.10 on; tested
//  with 9.10.0, 10.4.2 and 11.8.1.

#pragma once

#include <memory>
#include <utility>

#include "rocksdb/db.h"
#include "rocksdb/version.h"

#define PROTEAN_ROCKSDB_AT_LEAST(major, minor) \
  (ROCKSDB_MAJOR > (major) ||                  \
   (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

// As a string, such as "9.10.0".
#define PROTEAN_STRING(text) #text
#define PROTEAN_STRING_OF(macro) PROTEAN_STRING(macro)
#define PROTEAN_ROCKSDB_VERSION    \
  PROTEAN_STRING_OF(ROCKSDB_MAJOR) \
  "." PROTEAN_STRING_OF(ROCKSDB_MINOR) "." PROTEAN_STRING_OF(ROCKSDB_PATCH)

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

// The same for instances that only read.
template <typename... Arguments>
Status OpenReadOnly(std::unique_ptr<DB>* db, Arguments&&... arguments) {
#if PROTEAN_ROCKSDB_AT_LEAST(11, 0)
  return DB::OpenForReadOnly(std::forward<Arguments>(arguments)..., db);
#else
  DB* opened = nullptr;
  const Status s =
      DB::OpenForReadOnly(std::forward<Arguments>(arguments)..., &opened);
  db->reset(opened);
  return s;
#endif
}
template <typename... Arguments>
Status OpenSecondary(std::unique_ptr<DB>* db, Arguments&&... arguments) {
#if PROTEAN_ROCKSDB_AT_LEAST(11, 0)
  return DB::OpenAsSecondary(std::forward<Arguments>(arguments)..., db);
#else
  DB* opened = nullptr;
  const Status s =
      DB::OpenAsSecondary(std::forward<Arguments>(arguments)..., &opened);
  db->reset(opened);
  return s;
#endif
}

// Whether iterators write: with min_tombstones_for_range_conversion, which
// RocksDB has since 11, one that passes by deletions without a key between them
// writes a range deletion in their place. It must see all keys, then. `options`
// are ColumnFamilyOptions or MutableCFOptions; the 0 behind them picks the
// first of the two functions where it compiles.
template <typename CfOptions>
auto IteratorsWrite(const CfOptions& options, int)
    -> decltype(options.min_tombstones_for_range_conversion > 0) {
  return options.min_tombstones_for_range_conversion > 0;
}
template <typename CfOptions>
bool IteratorsWrite(const CfOptions& /*options*/, long) {
  return false;
}

}  // namespace ROCKSDB_NAMESPACE::protean
