// SPDX-License-Identifier: Apache-2.0

//  What the handles of RocksDB's C API hold.

#include <cstdlib>
#include <string>

#include "rocksdb/slice.h"
#include "table/rocksdb_internals/handles.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class CHandlesTest : public ::testing::Test {
 protected:
  CHandlesTest() {
    EXPECT_OK(CheckHandles());
    rocksdb_options_set_create_if_missing(options_, 1);
    rocksdb_destroy_db(options_, path_.c_str(), &error_);
  }
  ~CHandlesTest() override {
    rocksdb_destroy_db(options_, path_.c_str(), &error_);
    rocksdb_options_destroy(options_);
    EXPECT_EQ(nullptr, error_);
    free(error_);
  }

  const std::string path_ = test::PerThreadDBPath("c_handles");
  rocksdb_options_t* const options_ = rocksdb_options_create();
  char* error_ = nullptr;
};

}  // namespace

TEST_F(CHandlesTest, DatabasesAndColumnFamilies) {
  rocksdb_t* const db = rocksdb_open(options_, path_.c_str(), &error_);
  ASSERT_NE(nullptr, db) << error_;
  rocksdb_column_family_handle_t* const family =
      rocksdb_create_column_family(db, options_, "another", &error_);
  ASSERT_NE(nullptr, family) << error_;
  EXPECT_EQ(path_, DBOf(db)->GetName());
  EXPECT_EQ(DBOf(db)->DefaultColumnFamily(), ColumnFamilyOf(db, nullptr));
  EXPECT_EQ("another", ColumnFamilyOf(db, family)->GetName());
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
}

// The handle of the DB inside a TransactionDB is a struct like all others.
TEST_F(CHandlesTest, TransactionDatabases) {
  rocksdb_transactiondb_options_t* const transactions =
      rocksdb_transactiondb_options_create();
  rocksdb_transactiondb_t* const db = rocksdb_transactiondb_open(
      options_, transactions, path_.c_str(), &error_);
  ASSERT_NE(nullptr, db) << error_;
  rocksdb_t* const base = rocksdb_transactiondb_get_base_db(db);
  EXPECT_EQ(path_, DBOf(base)->GetName());
  rocksdb_transactiondb_close_base_db(base);
  rocksdb_transactiondb_close(db);
  rocksdb_transactiondb_options_destroy(transactions);
}

TEST_F(CHandlesTest, OptionsAreThoseOfTheHandle) {
  rocksdb_readoptions_t* const read = rocksdb_readoptions_create();
  rocksdb_readoptions_set_fill_cache(read, 0);
  rocksdb_readoptions_set_iterate_upper_bound(read, "bound", 5);
  rocksdb_readoptions_set_deadline(read, 12345);
  EXPECT_FALSE(ReadOptionsOf(read).fill_cache);
  EXPECT_EQ("bound", ReadOptionsOf(read).iterate_upper_bound->ToString());
  EXPECT_EQ(12345, ReadOptionsOf(read).deadline.count());
  EXPECT_TRUE(ReadOptionsOf(nullptr).fill_cache);
  rocksdb_readoptions_destroy(read);

  rocksdb_options_set_num_levels(options_, 5);
  EXPECT_EQ(5, OptionsOf(options_)->num_levels);
  OptionsOf(options_)->write_buffer_size = 54321;
  EXPECT_EQ(54321u, rocksdb_options_get_write_buffer_size(options_));

  rocksdb_block_based_table_options_t* const table =
      rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_whole_key_filtering(table, 0);
  EXPECT_FALSE(TableOptionsOf(table)->whole_key_filtering);
  rocksdb_block_based_options_destroy(table);
}

}  // namespace ROCKSDB_NAMESPACE::protean
