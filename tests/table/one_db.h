// SPDX-License-Identifier: Apache-2.0

//  A DB of numbers whose block reads are counted, and whose options a test
//  changes between openings.

#pragma once

#include <memory>
#include <string>

#include "rocksdb/perf_context.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

class OneDBTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kGap = 1000;

  explicit OneDBTest(const std::string& name)
      : path_(test::PerThreadDBPath(name)) {
    SetPerfLevel(kEnableCount);
    options_ = UnthrottledFiles();
    options_.create_if_missing = true;
    EXPECT_OK(DestroyDB(path_, options_));
  }
  ~OneDBTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, options_));
    SetPerfLevel(kDisable);
  }

  void SetTable(const std::string& table,
                const std::string& id = "ProteanTable") {
    options_.table_factory = NewTable(id, table);
  }
  void Open() {
    db_.reset();
    ASSERT_OK(OpenDB(&db_, options_, path_));
  }
  // The i-th key, which is kGap behind the one before.
  static std::string Key(uint64_t i) { return BigEndian(kGap * i); }

  const std::string path_;
  Options options_;
  std::unique_ptr<DB> db_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
