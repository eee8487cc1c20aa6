// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <set>

#include "memory/arena.h"
#include "table/rocksdb_internals/handles.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

// The address of the options identifies the column family, for its handles and
// for the readers of its files: see BlockBasedFile::family().
TEST_F(ContractTest, FilesAndHandlesNameTheSameColumnFamily) {
  class Factory : public ProteanTableFactory {
   public:
    explicit Factory(std::set<const void*>* families) : families_(families) {}
    Status NewTableReader(const ReadOptions& ro,
                          const TableReaderOptions& options,
                          std::unique_ptr<RandomAccessFileReader>&& file,
                          uint64_t file_size,
                          std::unique_ptr<TableReader>* reader,
                          bool prefetch) const override {
      std::unique_ptr<BlockBasedFile> opened;
      const Status s = BlockBasedFile::Open(*this, ro, options, std::move(file),
                                            file_size, prefetch, &opened);
      if (!s.ok()) return s;
      families_->insert(opened->family());
      reader->reset(new ProteanTableReader(std::move(opened), FilterUse::kNone,
                                           /*policy=*/nullptr, "",
                                           /*log_period_seconds=*/0,
                                           std::make_shared<FilterSwitch>()));
      return s;
    }

   private:
    std::set<const void*>* const families_;
  };
  std::set<const void*> families;
  options_.table_factory = std::make_shared<Factory>(&families);
  Open();
  AddFile(db_.get(), 0, {"a"});
  EXPECT_EQ(std::set<const void*>({FamilyOf(db_->DefaultColumnFamily())}),
            families);
  ColumnFamilyHandle* other;
  ASSERT_OK(db_->CreateColumnFamily(options_, "other", &other));
  families.clear();
  ASSERT_OK(db_->Put(WriteOptions(), other, "a", "value"));
  ASSERT_OK(db_->Flush(FlushOptions(), other));
  EXPECT_EQ(std::set<const void*>({FamilyOf(other)}), families);
  EXPECT_NE(FamilyOf(db_->DefaultColumnFamily()), FamilyOf(other));
  ASSERT_OK(db_->DestroyColumnFamilyHandle(other));
}

// The iterator over a version sees all entries of its memtables and files,
// whatever is flushed or compacted meanwhile.
TEST_F(ContractTest, AVersionStaysAsItWas) {
  Open();
  AddFile(db_.get(), 0, {"a", "b"});
  ASSERT_OK(db_->Put(WriteOptions(), "b", "newer"));
  ASSERT_OK(db_->Delete(WriteOptions(), "c"));
  ASSERT_OK(
      db_->DeleteRange(WriteOptions(), db_->DefaultColumnFamily(), "x", "z"));
  ColumnFamilyVersion version(db_.get(), db_->DefaultColumnFamily());
  const ReadOptions read_options;
  Arena arena;
  ScopedArenaPtr<InternalIterator> it(
      version.NewIterator(read_options, &arena));
  ASSERT_OK(db_->Flush(FlushOptions()));
  AddFile(db_.get(), 0, {"d"});
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  std::string entries;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    entries += it->user_key().ToString();
    if (ExtractValueType(it->key()) == kTypeDeletion) entries += "-";
  }
  EXPECT_OK(it->status());
  EXPECT_EQ("abbc-", entries);
  EXPECT_EQ(1u, version.RangeDeletions());
  EXPECT_FALSE(version.MayHoldUncommitted());
}

}  // namespace ROCKSDB_NAMESPACE::protean
