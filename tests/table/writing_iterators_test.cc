// SPDX-License-Identifier: Apache-2.0

//  Iterators that write (min_tombstones_for_range_conversion), under bounds of
//  the thread: these would hide keys from them. In a program of its own, since
//  bounds are ignored in the process from then on.

#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kOption[] = "min_tombstones_for_range_conversion";

class WritingIteratorsTest : public OwnDBTest,
                             public testing::WithParamInterface<bool> {};

}  // namespace

TEST_P(WritingIteratorsTest, DeleteNothing) {
  const bool by_set_options = GetParam();
  SetPolicy("surf:0:8");
  Options converting = options_;
  const Status s = AddOptions(std::string(kOption) + "=2", &converting);
  if (!s.ok()) GTEST_SKIP() << "this RocksDB has no such option";
  if (!by_set_options) options_ = converting;
  Open();
  if (by_set_options) {
    ASSERT_OK(db_->SetOptions({{kOption, "2"}}));
  }
  WriteFile({"a", "m1", "m3", "m5", "m7", "m9"});
  for (const char* key : {"m1", "m3", "m7", "m9"}) Delete(key);
  const Slice lower("b");
  const Slice upper("c");
  SetSearchBounds(&lower, &upper);
  std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  it->Seek("b");
  EXPECT_TRUE(!it->Valid() || it->key().compare("c") >= 0);
  ClearSearchBounds();
  it.reset();
  EXPECT_TRUE(Has("m5"));
  EXPECT_FALSE(ThreadBounds::AreUsed());
  // A process says it once.
  static bool first = true;
  EXPECT_EQ(first ? 1u : 0u,
            log_->Lines({"ignores the bounds of threads"}).size());
  first = false;
}

// The first of them decides for the process.
INSTANTIATE_TEST_SUITE_P(All, WritingIteratorsTest,
                         testing::Values(true, false));

}  // namespace ROCKSDB_NAMESPACE::protean
