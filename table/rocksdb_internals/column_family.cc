// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/column_family.h"

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include "db/range_del_aggregator.h"
#include "util/cast_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// RocksDB returns the options as a pointer or as a reference.
[[maybe_unused]] const void* AddressOf(const ImmutableOptions& options) {
  return &options;
}
[[maybe_unused]] const void* AddressOf(const ImmutableOptions* options) {
  return options;
}

}  // namespace

const void* FamilyOf(ColumnFamilyHandle* column_family) {
  return AddressOf(static_cast_with_check<ColumnFamilyHandleImpl>(column_family)
                       ->cfd()
                       ->ioptions());
}

ColumnFamilyVersion::ColumnFamilyVersion(DB* db,
                                         ColumnFamilyHandle* column_family)
    : db_(static_cast_with_check<DBImpl>(db->GetRootDB())),
      family_(
          static_cast_with_check<ColumnFamilyHandleImpl>(column_family)->cfd()),
      super_version_(family_->GetReferencedSuperVersion(db_)) {}

InternalIterator* ColumnFamilyVersion::NewIterator(
    const ReadOptions& read_options, Arena* arena) {
  return db_->NewInternalIterator(read_options, family_, super_version_, arena,
                                  kMaxSequenceNumber,
                                  /*allow_unprepared_value=*/true);
}

uint64_t ColumnFamilyVersion::RangeDeletions() const {
  ReadRangeDelAggregator ranges(&family_->internal_comparator(),
                                kMaxSequenceNumber);
  super_version_->imm
      ->AddRangeTombstoneIterators(ReadOptions(), /*arena=*/nullptr, &ranges)
      .PermitUncheckedError();
  return super_version_->mem->NumRangeDeletion() + (ranges.IsEmpty() ? 0 : 1);
}

bool ColumnFamilyVersion::MayHoldUncommitted() const {
  return db_->seq_per_batch();
}

}  // namespace ROCKSDB_NAMESPACE::protean
