// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/handles.h"

#include <cstdlib>
#include <string>

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include "db/range_del_aggregator.h"
#include "rocksdb/utilities/stackable_db.h"
#include "util/cast_util.h"

#pragma weak rocksdb_property_value_cf
#pragma weak rocksdb_readoptions_create
#pragma weak rocksdb_readoptions_destroy
#pragma weak rocksdb_readoptions_set_readahead_size
#pragma weak rocksdb_options_create
#pragma weak rocksdb_options_destroy
#pragma weak rocksdb_options_set_write_buffer_size
#pragma weak rocksdb_block_based_options_create
#pragma weak rocksdb_block_based_options_destroy
#pragma weak rocksdb_block_based_options_set_block_size

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
                                         ColumnFamilyHandle* column_family,
                                         const ReadOptions& read_options)
    : db_(static_cast_with_check<DBImpl>(db->GetRootDB())),
      family_(
          static_cast_with_check<ColumnFamilyHandleImpl>(column_family)->cfd()),
      super_version_(family_->GetReferencedSuperVersion(db_)),
      iterator_(db_->NewInternalIterator(read_options, family_, super_version_,
                                         &arena_, kMaxSequenceNumber,
                                         /*allow_unprepared_value=*/true)) {}

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

// ---- C handles ----

namespace {

// The object with which a handle begins.
template <typename Object, typename Handle>
Object* In(Handle* handle) {
  return reinterpret_cast<Object*>(handle);
}

// A DB that only notes which column family it is asked about.
class AskedDB : public StackableDB {
 public:
  AskedDB() : StackableDB(static_cast<DB*>(nullptr)) {}

  using DB::GetProperty;
  bool GetProperty(ColumnFamilyHandle* column_family, const Slice& /*property*/,
                   std::string* /*value*/) override {
    asked_about = column_family;
    return false;
  }

  ColumnFamilyHandle* asked_about = nullptr;
};

bool HandlesHoldPointers() {
  AskedDB db;
  // RocksDB does not look into this column family. Both handles are longer than
  // those of RocksDB.
  alignas(void*) char made_up[1];
  auto* const family = reinterpret_cast<ColumnFamilyHandle*>(made_up);
  DB* db_handle[4] = {&db, &db, &db, &db};
  ColumnFamilyHandle* family_handle[4] = {family, nullptr, nullptr, nullptr};
  free(rocksdb_property_value_cf(
      reinterpret_cast<rocksdb_t*>(db_handle),
      reinterpret_cast<rocksdb_column_family_handle_t*>(family_handle),
      "protean"));
  return db.asked_about == family;
}

// Returns true if a number that RocksDB sets in its options is where Protean
// looks.
bool OptionsAreInHandles() {
  constexpr size_t kNumber = 0x50726f;
  rocksdb_readoptions_t* const read = rocksdb_readoptions_create();
  rocksdb_readoptions_set_readahead_size(read, kNumber);
  rocksdb_options_t* const options = rocksdb_options_create();
  rocksdb_options_set_write_buffer_size(options, kNumber);
  rocksdb_block_based_table_options_t* const table =
      rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_block_size(table, kNumber);
  const bool found = In<ReadOptions>(read)->readahead_size == kNumber &&
                     In<Options>(options)->write_buffer_size == kNumber &&
                     In<BlockBasedTableOptions>(table)->block_size == kNumber;
  rocksdb_readoptions_destroy(read);
  rocksdb_options_destroy(options);
  rocksdb_block_based_options_destroy(table);
  return found;
}

Status Check() {
  // All functions are in one file of RocksDB, so all or none are linked.
  if (rocksdb_property_value_cf == nullptr) {
    return Status::NotSupported("there is no C API of RocksDB in this program");
  }
  if (HandlesHoldPointers() && OptionsAreInHandles()) return Status::OK();
  return Status::NotSupported(
      "the handles of RocksDB's C API are not those of its version");
}

}  // namespace

Status CheckHandles() {
  static const auto* const checked = new Status(Check());
  return *checked;
}

DB* DBOf(rocksdb_t* db) { return *In<DB*>(db); }

ColumnFamilyHandle* ColumnFamilyOf(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family) {
  return column_family == nullptr ? DBOf(db)->DefaultColumnFamily()
                                  : *In<ColumnFamilyHandle*>(column_family);
}

ReadOptions ReadOptionsOf(const rocksdb_readoptions_t* options) {
  return options == nullptr ? ReadOptions() : *In<const ReadOptions>(options);
}

Options* OptionsOf(rocksdb_options_t* options) { return In<Options>(options); }

BlockBasedTableOptions* TableOptionsOf(
    rocksdb_block_based_table_options_t* options) {
  return In<BlockBasedTableOptions>(options);
}

}  // namespace ROCKSDB_NAMESPACE::protean
