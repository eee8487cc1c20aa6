// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/block_based_file.h"

#include <gtest/gtest.h>

#include <set>

#include "plugin/protean.h"
#include "table/block_based/full_filter_block.h"
#include "table/table_builder.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

// The factory's readers are BlockBasedTables, and unless the filter is
// partitioned, their filter readers are FullFilterBlockReaders: BlockBasedFile
// casts to these classes.
TEST_F(ContractTest, ClassesOfTablesAndFilters) {
  class Factory : public BlockBasedTableFactory {
   public:
    using BlockBasedTableFactory::BlockBasedTableFactory;
    Status NewTableReader(const ReadOptions& ro,
                          const TableReaderOptions& options,
                          std::unique_ptr<RandomAccessFileReader>&& file,
                          uint64_t file_size,
                          std::unique_ptr<TableReader>* reader,
                          bool prefetch) const override {
      const Status s = BlockBasedTableFactory::NewTableReader(
          ro, options, std::move(file), file_size, reader, prefetch);
      const TableReader& opened = **reader;
      EXPECT_CLASS(BlockBasedTable, opened);
      const FilterBlockReader& filter =
          *static_cast<const BlockBasedTable&>(opened).get_rep()->filter;
      EXPECT_CLASS(FullFilterBlockReader, filter);
      return s;
    }
  };
  for (const bool cached : {false, true}) {
    BlockBasedTableOptions table;
    table.filter_policy = NewSurfFilterPolicy({0, 8});
    table.cache_index_and_filter_blocks = cached;
    options_.table_factory = std::make_shared<Factory>(table);
    Open();
    AddFile(db_.get(), 0, {"a"});
    db_.reset();
    ASSERT_OK(DestroyDB(path_, Options()));
  }
}

// All readers of an open DB are told the same session id, which is another one
// each time the DB is opened: see DBSession.
TEST_F(ContractTest, ReadersKnowTheirDB) {
  class Factory : public ProteanTableFactory {
   public:
    explicit Factory(std::multiset<std::string>* ids) : ids_(ids) {}
    Status NewTableReader(const ReadOptions& ro,
                          const TableReaderOptions& options,
                          std::unique_ptr<RandomAccessFileReader>&& file,
                          uint64_t file_size,
                          std::unique_ptr<TableReader>* reader,
                          bool prefetch) const override {
      ids_->insert(options.cur_db_session_id);
      return ProteanTableFactory::NewTableReader(ro, options, std::move(file),
                                                 file_size, reader, prefetch);
    }

   private:
    std::multiset<std::string>* const ids_;
  };
  std::multiset<std::string> ids;
  options_.table_factory = std::make_shared<Factory>(&ids);
  for (int opened = 1; opened <= 2; opened++) {
    Open();
    std::string id;
    ASSERT_OK(db_->GetDbSessionId(id));
    ids.clear();
    AddFile(db_.get(), 0, {"a"});
    ColumnFamilyHandle* other;
    ASSERT_OK(
        db_->CreateColumnFamily(options_, std::to_string(opened), &other));
    ASSERT_OK(db_->Put(WriteOptions(), other, "a", "value"));
    ASSERT_OK(db_->Flush(FlushOptions(), other));
    EXPECT_LE(2u, ids.size());
    EXPECT_EQ(ids.size(), ids.count(id));
    ASSERT_OK(db_->DropColumnFamily(other));
    ASSERT_OK(db_->DestroyColumnFamilyHandle(other));
    db_.reset();
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
