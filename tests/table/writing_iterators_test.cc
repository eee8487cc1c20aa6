// SPDX-License-Identifier: Apache-2.0

//  Iterators that write (min_tombstones_for_range_conversion), under bounds of
//  the thread: these would hide keys from them. In a program of its own, since
//  bounds are ignored in the process from then on.

#include <gtest/gtest.h>

#include "rocksdb/convenience.h"
#include "tests/table/set_search_bounds.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kOption[] = "min_tombstones_for_range_conversion";

class WritingIteratorsTest : public testing::TestWithParam<bool> {};

}  // namespace

TEST_P(WritingIteratorsTest, DeleteNothing) {
  const bool by_set_options = GetParam();
  const std::string path = test::PerThreadDBPath("writing_iterators_test");
  Options options;
  options.create_if_missing = true;
  options.table_factory = NewTable("ProteanTable", "filter_policy=surf:0:8");
  ASSERT_OK(DestroyDB(path, options));
  ConfigOptions config;
  config.input_strings_escaped = true;
  Options converting;
  const Status s = GetOptionsFromString(
      config, options, std::string(kOption) + "=2", &converting);
  if (!s.ok()) GTEST_SKIP() << "this RocksDB has no such option";

  std::unique_ptr<DB> db;
  ASSERT_OK(OpenDB(&db, by_set_options ? options : converting, path));
  if (by_set_options) {
    ASSERT_OK(db->SetOptions({{kOption, "2"}}));
  }
  for (const char* key : {"a", "m1", "m3", "m5", "m7", "m9"}) {
    ASSERT_OK(db->Put(WriteOptions(), key, "value"));
  }
  ASSERT_OK(db->Flush(FlushOptions()));
  for (const char* key : {"m1", "m3", "m7", "m9"}) {
    ASSERT_OK(db->Delete(WriteOptions(), key));
  }
  const Slice lower("b");
  const Slice upper("c");
  SetSearchBounds(&lower, &upper);
  std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  it->Seek("b");
  EXPECT_TRUE(!it->Valid() || it->key().compare("c") >= 0);
  ClearSearchBounds();
  it.reset();
  std::string value;
  EXPECT_OK(db->Get(ReadOptions(), "m5", &value));
  EXPECT_FALSE(ThreadBounds::AreUsed());
  // A process says it once.
  static bool first = true;
  std::string log;
  ASSERT_OK(ReadFileToString(Env::Default(), path + "/LOG", &log));
  EXPECT_EQ(first,
            log.find("ignores the bounds of threads") != std::string::npos);
  first = false;
  db.reset();
  ASSERT_OK(DestroyDB(path, options));
}

// The first of them decides for the process.
INSTANTIATE_TEST_SUITE_P(All, WritingIteratorsTest,
                         testing::Values(true, false));

}  // namespace ROCKSDB_NAMESPACE::protean
