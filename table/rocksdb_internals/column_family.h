// SPDX-License-Identifier: Apache-2.0

//  A column family of an open DB, and what it holds at one moment.

#pragma once

#include <cstdint>

#include "rocksdb/db.h"
#include "table/internal_iterator.h"

namespace ROCKSDB_NAMESPACE {
struct SuperVersion;
class ColumnFamilyData;
class DBImpl;
}  // namespace ROCKSDB_NAMESPACE

namespace ROCKSDB_NAMESPACE::protean {

// Identifies the column family as BlockBasedFile::family() does for its files.
const void* FamilyOf(ColumnFamilyHandle* column_family);

// All memtables and files of a column family in one version of its DB.
class ColumnFamilyVersion {
 public:
  // `db` may be wrapped in StackableDBs. NewIterator must be called exactly
  // once, because the version is released with its iterator.
  ColumnFamilyVersion(DB* db, ColumnFamilyHandle* column_family);

  // Returns an iterator over memtables and files, which sees all sequence
  // numbers. All other functions are called while it lives. `read_options` must
  // outlive it.
  InternalIterator* NewIterator(const ReadOptions& read_options, Arena* arena);

  // The number of range deletions in memtables. All of those in immutable
  // memtables count as one.
  uint64_t RangeDeletions() const;

  // Whether there may be entries of transactions that never commit.
  bool MayHoldUncommitted() const;

 private:
  DBImpl* const db_;
  ColumnFamilyData* const family_;
  SuperVersion* const super_version_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
