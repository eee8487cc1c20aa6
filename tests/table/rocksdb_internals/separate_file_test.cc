// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "plugin/protean.h"
#include "rocksdb/cache.h"
#include "table/block_based/filter_policy_internal.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

class SeparateFileTest : public ContractTest {
 protected:
  // Writes a file of these keys, and opens it apart from its DB.
  void Make(BlockBasedTableOptions table, const Keys& keys) {
    table.filter_policy = NewSurfFilterPolicy({0, 8});
    table.block_cache = NewLRUCache(1 << 20);
    options_.table_factory = std::make_shared<ProteanTableFactory>(table);
    options_.statistics = CreateDBStatistics();
    Open();
    AddFile(db_.get(), 0, keys);
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    ASSERT_EQ(1u, files.size());
    file_ = files[0].directory + "/" + files[0].relative_filename;
    cached_ = table.block_cache->GetUsage();
    ASSERT_OK(options_.statistics->Reset());
    ASSERT_OK(SeparateFile::Open(options_, file_, &separate_));
    EXPECT_EQ(cached_, table.block_cache->GetUsage());
  }

  std::string file_;
  size_t cached_ = 0;
  std::unique_ptr<SeparateFile> separate_;
};

// SstFileReader hands what it has opened to the table factory, and goes on
// without a table. Neither the DB's block cache nor its statistics notice.
TEST_F(SeparateFileTest, IsReadApartFromItsDB) {
  ASSERT_NO_FATAL_FAILURE(Make({}, {"a", "b"}));
  const BlockBasedFile& file = separate_->file();
  EXPECT_EQ(BlockBasedFile::FilterState::kFull, file.filter_state());
  EXPECT_NE(nullptr, file.GetHeldFilter());
  const ReadOptions read_options;
  // The DB deletes the file, which can still be read.
  ASSERT_OK(db_->Put(WriteOptions(), "b", "newer"));
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  ASSERT_OK(options_.statistics->Reset());
  EXPECT_TRUE(Env::Default()->FileExists(file_).IsNotFound());
  const std::unique_ptr<InternalIterator> it(file.table()->NewIterator(
      read_options, /*prefix_extractor=*/nullptr, /*arena=*/nullptr,
      /*skip_filters=*/false, TableReaderCaller::kSSTFileReader));
  std::string values;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    values += it->value().ToString() + ",";
  }
  EXPECT_OK(it->status());
  EXPECT_EQ("value of a,value of b,", values);
  EXPECT_EQ(0u, options_.statistics->getTickerCount(BLOCK_CACHE_MISS));
  std::unique_ptr<SeparateFile> none;
  const Status s = SeparateFile::Open(options_, file_, &none);
  EXPECT_TRUE(s.IsNotFound() || s.IsPathNotFound()) << s.ToString();
}

}  // namespace ROCKSDB_NAMESPACE::protean
