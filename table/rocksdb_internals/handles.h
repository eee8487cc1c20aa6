// SPDX-License-Identifier: Apache-2.0

//  A column family of an open DB, and what it holds at one moment.

#pragma once

#include <cstdint>

#include "memory/arena.h"
#include "rocksdb/c.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"
#include "rocksdb/table.h"
#include "table/internal_iterator.h"

namespace ROCKSDB_NAMESPACE {
struct SuperVersion;
class ColumnFamilyData;
class DBImpl;
}  // namespace ROCKSDB_NAMESPACE

namespace ROCKSDB_NAMESPACE::protean {

// Identifies the column family as FileDescription::family does for the files
// that are opened for it, even if another one, or none, wrote them.
const void* FamilyOf(ColumnFamilyHandle* column_family);

// All memtables and files of a column family in one version of its DB.
class ColumnFamilyVersion {
 public:
  // `db` may be wrapped in StackableDBs. `read_options` must outlive the
  // object.
  ColumnFamilyVersion(DB* db, ColumnFamilyHandle* column_family,
                      const ReadOptions& read_options);

  // The iterator over memtables and files, which sees all sequence numbers.
  InternalIterator* iterator() const { return iterator_.get(); }

  // The number of range deletions in memtables. All of those in immutable
  // memtables count as one.
  // REQUIRES: read_options.ignore_range_deletions. Without it, RocksDB releases
  // the version at once if it cannot read range deletions.
  uint64_t RangeDeletions() const;

  // Returns true if there may be entries of transactions that never commit.
  bool MayHoldUncommitted() const;

 private:
  DBImpl* const db_;
  ColumnFamilyData* const family_;
  SuperVersion* const super_version_;
  Arena arena_;
  const ScopedArenaPtr<InternalIterator> iterator_;  // releases the version
};

// ---- C handles ----

// The objects behind the handles of RocksDB's C API (rocksdb/c.h). The structs
// of the handles are private to db/c.cc: each begins with the object, or with
// a pointer to it. Protean is compiled for one version of RocksDB, so it knows
// these structs as well as it knows RocksDB's other insides.

// NotSupported if there is no C API in the process, as in a program that is
// linked to a static RocksDB and does not use it, or if its handles are not
// those that the functions below look into. For that, RocksDB gets a handle
// that Protean has made up, with a DB of Protean's in it, and that DB must be
// asked; and Protean looks for numbers in options that RocksDB has made. No
// handle of the application is touched. The check is made once, in
// microseconds. Thread safe.
Status CheckHandles();

// All of these need a CheckHandles that has succeeded.
DB* DBOf(rocksdb_t* db);
// The default column family for nullptr.
ColumnFamilyHandle* ColumnFamilyOf(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family);
// The default options for nullptr.
ReadOptions ReadOptionsOf(const rocksdb_readoptions_t* options);
Options* OptionsOf(rocksdb_options_t* options);
BlockBasedTableOptions* TableOptionsOf(
    rocksdb_block_based_table_options_t* options);

}  // namespace ROCKSDB_NAMESPACE::protean
