// SPDX-License-Identifier: Apache-2.0

//  SST files whose filter block is damaged on disk, under a right checksum.
//  (Wrong checksums, and filters that are read correctly later:
//  read_faults_test.)

#include "rocksdb/sst_file_reader.h"
#include "tests/sst_damage.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

class DamageTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Each twin has two files, one in level 0 and one in the last level.
  void Fill() {
    Reopen();
    for (size_t i = 0; i < keys_.size(); i++) {
      if (i % 3 != 0) dbs_.Put(keys_[i], "first value");
    }
    dbs_.Compact();
    for (size_t i = 0; i < keys_.size(); i += 2) {
      i % 5 == 0 ? dbs_.Delete(keys_[i]) : dbs_.Put(keys_[i], "second value");
    }
    dbs_.Flush();
    for (const LiveFileMetaData& file : FilesOf(dbs_.protean())) {
      files_.push_back(PathOf(file));
    }
    ASSERT_EQ(2u, files_.size());
  }
  // Twice, this repairs them.
  void DamageFilters(size_t where) {
    dbs_.Close();
    for (const std::string& file : files_) {
      ASSERT_NO_FATAL_FAILURE(
          DamageFilter(file, where, /*right_checksum=*/true));
    }
  }
  // With a new block cache, so that no block from before the damage is in it.
  void Reopen() {
    dbs_.Close();
    Options& options = dbs_.options(TwinDB::kProtean);
    options.table_factory = NewTable(
        "ProteanTable",
        std::string("filter_policy=surf:0:8;block_cache=8M;") + GetParam());
    options.statistics = CreateDBStatistics();
    options.info_log = log_;
    log_->Clear();
    dbs_.Open();
  }

  void CompareEverything() { CompareReads(&dbs_, asked_); }
  size_t Lines(const std::string& file = "") const {
    return log_->Lines({"ProteanTable: ", file}).size();
  }
  uint64_t Mismatches() {
    return dbs_.options(TwinDB::kProtean)
        .statistics->getTickerCount(BLOCK_CHECKSUM_MISMATCH_COUNT);
  }

  const Keys keys_ = KeyFamilies(2000, 99)[0].keys;
  const Keys asked_ = WithNeighbours(keys_);
  const std::shared_ptr<RecordingLogger> log_ =
      std::make_shared<RecordingLogger>();
  TwinDB dbs_{"damage", Options(), nullptr};
  Keys files_;  // of Protean's twin
};

TEST_P(DamageTest, EverythingIsStillRead) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  CompareEverything();
  EXPECT_EQ(0u, Lines());
  // Headers, keys, payload, from open to open.
  for (size_t where : {0, 5, 6, 9, 13, 17, 40, 300}) {
    SCOPED_TRACE("byte " + std::to_string(where));
    DamageFilters(where);
    Reopen();
    CompareEverything();
    for (const std::string& file : files_) {
      EXPECT_LT(0u, Lines(file.substr(file.rfind('/') + 1))) << file;
    }
    EXPECT_EQ(files_.size(), Lines()) << "one line a damaged file";
    EXPECT_EQ(files_.size(), Mismatches());
    DamageFilters(where);
    if (HasFailure()) return;
  }
  // Without the filter policy, RocksDB does not look at the filter, and a stock
  // RocksDB can read on. Compaction drops the damaged filter.
  DamageFilters(100);
  dbs_.options(TwinDB::kProtean).table_factory =
      NewTable("BlockBasedTable", "");
  dbs_.Open();
  CompareEverything();
  Reopen();
  dbs_.Compact();
  Reopen();
  CompareEverything();
  EXPECT_EQ(0u, Lines());
  EXPECT_EQ(0u, Mismatches());
}

// RocksDB reads such a file if there is nothing to compare with its properties;
// later versions refuse it. Protean does the same.
TEST(NoPropertiesTest, IsReadWhereRocksDBReadsIt) {
  const std::string path = test::PerThreadDBPath("no_properties.sst");
  for (const std::string policy : {"surf:0:8", "proteus:12"}) {
    SCOPED_TRACE(policy);
    Options options;
    options.table_factory = NewTable(
        "ProteanTable", "format_version=2;filter_policy=" + policy + ";");
    WriteSstFile(options, path, {"a", "c"});
    ASSERT_NO_FATAL_FAILURE(HideProperties(path));
    const Status stock = SstFileReader(Options()).Open(path);
    SstFileReader reader(options);
    const Status opened = reader.Open(path);
    ASSERT_EQ(stock.code(), opened.code()) << opened.ToString();
    if (!opened.ok()) continue;
    const std::unique_ptr<Iterator> it(reader.NewIterator(ReadOptions()));
    it->Seek("b");
    ASSERT_TRUE(it->Valid()) << it->status().ToString();
    EXPECT_EQ("c", it->key());
    EXPECT_OK(it->status());
  }
}

INSTANTIATE_TEST_SUITE_P(
    TableOptions, DamageTest,
    ::testing::Values("", "cache_index_and_filter_blocks=true",
                      "cache_index_and_filter_blocks=true;"
                      "pin_l0_filter_and_index_blocks_in_cache=true"));

}  // namespace ROCKSDB_NAMESPACE::protean
