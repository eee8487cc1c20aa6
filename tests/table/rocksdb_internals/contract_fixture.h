// SPDX-License-Identifier: Apache-2.0

//  A DB whose files are read through iterators of the test (spy_table.h), for
//  the tests of what Protean relies on in RocksDB without RocksDB promising it.
//  There is one for each behavior whose change would otherwise go unnoticed. If
//  one of them fails after an upgrade of RocksDB, its comment says what to look
//  at.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"
#include "tests/table/spy_table.h"
#include "tests/table/twin_db.h"

// Without RTTI, as RocksDB is often compiled, a class cannot be told.
#if defined(__cpp_rtti)
#define EXPECT_CLASS(expected, object) \
  EXPECT_TRUE(typeid(object) == typeid(expected))
#else
#define EXPECT_CLASS(expected, object) (void)(object)
#endif

namespace ROCKSDB_NAMESPACE::protean {

class ContractTest : public ::testing::Test {
 protected:
  ContractTest() : path_(test::PerThreadDBPath("rocksdb_contract")) {
    options_ = UnthrottledFiles();
    options_.create_if_missing = true;
    Clean();
  }
  ~ContractTest() override {
    db_.reset();
    Clean();
  }
  void Clean() {
    for (const char* name : {"", "_copy", "_log"}) {
      EXPECT_OK(DestroyDB(path_ + name, Options()));
    }
  }

  void SetTable(MakeIterator make, const BlockBasedTableOptions& table = {}) {
    options_.table_factory =
        std::make_shared<SpyTableFactory>(table, std::move(make));
  }
  void Open() { ASSERT_OK(OpenDB(&db_, options_, path_)); }

  // Writes a file with these keys to a level that has none of them.
  static void AddFile(DB* db, int level, const Keys& keys) {
    for (const std::string& key : keys) {
      ASSERT_OK(db->Put(WriteOptions(), key, "value of " + key));
    }
    ASSERT_OK(db->Flush(FlushOptions()));
    if (level > 0) {
      ASSERT_OK(CompactLevel0(db, level, kFileSize));
    }
  }

  const std::string path_;
  Options options_;
  std::unique_ptr<DB> db_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
