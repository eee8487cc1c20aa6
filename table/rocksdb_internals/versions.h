// SPDX-License-Identifier: Apache-2.0

//  All that depends on the version of RocksDB. Versions from 9.10 on are
//  supported; 9.10.0, 10.4.2 and 11.8.1 are tested.
//
//  The folder of this file is the one place that touches what RocksDB does not
//  promise: its versions, the insides of a block-based table, of its iterator
//  and of its DB, and all casts to RocksDB's own classes. To move Protean to
//  another RocksDB, read this folder and tests/table/rocksdb_internals/, which
//  has a test for each behavior whose change would otherwise go unnoticed.
//
//  Besides, Protean extends classes that RocksDB is made to be extended by: the
//  table factory, the table reader, the internal iterator, and the filter
//  policy with its builder and reader of filter bits.

#pragma once

#include <memory>
#include <type_traits>

#include "rocksdb/db.h"
#include "rocksdb/version.h"

#define PROTEAN_ROCKSDB_AT_LEAST(major, minor) \
  (ROCKSDB_MAJOR > (major) ||                  \
   (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

// RocksDB's version as a string, such as "9.10.0".
#define PROTEAN_STRING(text) #text
#define PROTEAN_STRING_OF(macro) PROTEAN_STRING(macro)
#define PROTEAN_ROCKSDB_VERSION    \
  PROTEAN_STRING_OF(ROCKSDB_MAJOR) \
  "." PROTEAN_STRING_OF(ROCKSDB_MINOR) "." PROTEAN_STRING_OF(ROCKSDB_PATCH)

// Block-based tables read ahead the ranges of a MultiScan, which
// InternalIterator::Prepare announces to them.
#define PROTEAN_HAS_MULTI_SCAN PROTEAN_ROCKSDB_AT_LEAST(10, 5)

// Iterators over levels take samples of what seeks come to.
#define PROTEAN_SAMPLES_SEEKS PROTEAN_ROCKSDB_AT_LEAST(11, 2)

// A table builder estimates the size of what follows the data blocks, so that
// compactions can cut files before they exceed their target.
#define PROTEAN_HAS_TAIL_ESTIMATES PROTEAN_ROCKSDB_AT_LEAST(10, 9)

// PROTEAN_SINCE_10_8(text) is `text` since RocksDB 10.8 and nothing before:
// TableReader::VerifyChecksum has a third parameter.
#if PROTEAN_ROCKSDB_AT_LEAST(10, 8)
#define PROTEAN_SINCE_10_8(...) __VA_ARGS__
#else
#define PROTEAN_SINCE_10_8(...)
#endif

// Since RocksDB 10.10, TableReader::DumpTable has a second parameter.
#if PROTEAN_ROCKSDB_AT_LEAST(10, 10)
#define PROTEAN_SINCE_10_10(...) __VA_ARGS__
#else
#define PROTEAN_SINCE_10_10(...)
#endif

namespace ROCKSDB_NAMESPACE::protean {

// Finds out whether the RocksDB in this process is the one that Protean was
// compiled for, for a shared library that is bound when the program starts
// (plugin/shared/binding.cc), and in which RocksDB may have been compiled in
// another way: compares the sizes of objects, has RocksDB parse options and
// compares where they end up. Takes less than a millisecond. Returns an error
// that says what is different. REQUIRES: the versions have been compared
Status CheckInsides();

// Calls `open` with what DB's functions fill with an open DB: a unique_ptr
// since 11.0, and a plain pointer before.
template <typename Open>
Status OpenInto(std::unique_ptr<DB>* db, const Open& open) {
#if PROTEAN_ROCKSDB_AT_LEAST(11, 0)
  return open(db);
#else
  DB* opened = nullptr;
  const Status s = open(&opened);
  db->reset(opened);
  return s;
#endif
}

// DB::Open and DB::OpenForReadOnly, with any of their lists of arguments.
template <typename... Arguments>
Status OpenDB(std::unique_ptr<DB>* db, const Arguments&... arguments) {
  return OpenInto(db, [&](auto* into) { return DB::Open(arguments..., into); });
}
template <typename... Arguments>
Status OpenReadOnly(std::unique_ptr<DB>* db, const Arguments&... arguments) {
  return OpenInto(
      db, [&](auto* into) { return DB::OpenForReadOnly(arguments..., into); });
}

// Returns what `read`, a generic lambda, reads from options, or false if it
// does not compile for them, since they have no such member in this version.
template <typename Options, typename Read>
bool ReadIfThere(const Options& options, const Read& read) {
  if constexpr (std::is_invocable_v<Read, const Options&>) {
    return read(options);
  } else {
    return false;
  }
}

// Whether iterators write: with min_tombstones_for_range_conversion, which
// RocksDB has since 11, an iterator that passes by deletions without a key
// between them writes a range deletion in their place. Such an iterator must
// see all keys. `options` are ColumnFamilyOptions or MutableCFOptions.
template <typename CfOptions>
bool IteratorsWrite(const CfOptions& options) {
  return ReadIfThere(
      options,
      [](const auto& o) -> decltype(o.min_tombstones_for_range_conversion > 0) {
        return o.min_tombstones_for_range_conversion > 0;
      });
}

// ---- Private members ----

// Explicit instantiation may name private members: data, functions and
// enumerators. A struct that stands for one declares a friend, which the
// instantiation defines:
//
//   struct Size {
//     friend auto MemberOf(Size);
//   };
//   template struct Lend<Size, &Table::size_>;
//
// Then `table.*MemberOf(Size())` is the private member.
template <typename Name, auto kMember>
struct Lend {
  friend auto MemberOf(Name /*name*/) { return kMember; }
};

}  // namespace ROCKSDB_NAMESPACE::protean
