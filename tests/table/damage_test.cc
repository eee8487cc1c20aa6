// SPDX-License-Identifier: Apache-2.0

//  SST files whose filter block is damaged on disk: all reads are still right,
//  and the log reports the damage.

#include "rocksdb/sst_file_reader.h"
#include "tests/sst_damage.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

struct DamageCase {
  bool right_checksum;
  const char* table_options;
};

void PrintTo(const DamageCase& damage, std::ostream* out) {
  *out << (damage.right_checksum ? "right" : "wrong") << " checksum, "
       << damage.table_options;
}

class DamageTest : public ::testing::TestWithParam<DamageCase> {
 protected:
  // Each twin has two files, one in level 0 and one in the last level.
  void Fill() {
    Reopen();
    for (size_t i = 0; i < keys_.size(); i++) {
      if (i % 3 != 0) dbs_.Put(keys_[i], "first value");
    }
    dbs_.Compact();
    for (size_t i = 0; i < keys_.size(); i += 2) {
      if (i % 5 == 0) {
        dbs_.Delete(keys_[i]);
      } else {
        dbs_.Put(keys_[i], "second value");
      }
    }
    dbs_.Flush();
    for (const LiveFileMetaData& file : FilesOf(dbs_.protean())) {
      files_.push_back(PathOf(file));
    }
    ASSERT_EQ(2u, files_.size());
  }
  void DamageFilters(size_t where, bool right_checksum) {
    dbs_.Close();
    for (const std::string& file : files_) {
      ASSERT_NO_FATAL_FAILURE(DamageFilter(file, where, right_checksum));
    }
  }
  // With a new block cache, so that no block from before the damage is in it.
  void Reopen() {
    dbs_.Close();
    Options& options = dbs_.options(TwinDB::kProtean);
    options.table_factory = NewTable(
        "ProteanTable", std::string("filter_policy=surf:0:8;block_cache=8M;") +
                            GetParam().table_options);
    options.statistics = CreateDBStatistics();
    options.info_log = log_;
    log_->Clear();
    dbs_.Open();
  }

  void CompareEverything() {
    WalkOptions walk;
    walk.seeks = 200;
    CompareReads(&dbs_, asked_, /*snapshot=*/-1, {}, walk);
  }
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
    // RocksDB's checksum fails for the whole block.
    if (!GetParam().right_checksum && where > 0 && where < 300) continue;
    SCOPED_TRACE("byte " + std::to_string(where));
    DamageFilters(where, GetParam().right_checksum);
    Reopen();
    CompareEverything();
    for (const std::string& file : files_) {
      EXPECT_LT(0u, Lines(file.substr(file.rfind('/') + 1))) << file;
    }
    EXPECT_EQ(files_.size(), Lines()) << "one line a damaged file";
    if (GetParam().right_checksum) {
      EXPECT_EQ(files_.size(), Mismatches());
    } else {
      // The counts of RocksDB's own filter: each use reads it again.
      EXPECT_GE(Mismatches(), files_.size());
    }
    // Repair the block.
    DamageFilters(where, /*right_checksum=*/true);
    if (HasFailure()) return;
  }
  // Without the filter policy, RocksDB does not look at the filter, and a stock
  // RocksDB can read on. Compaction drops the damaged filter.
  DamageFilters(100, GetParam().right_checksum);
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

// A part that was damaged only while it was read is used again once it is read
// correctly.
TEST(HealedFilterTest, IsUsedAgain) {
  const auto table = NewTable("ProteanTable",
                              "filter_policy=surf:0:8;block_cache=8M;"
                              "cache_index_and_filter_blocks=true");
  TwinDB dbs("damage", Options(), table);
  const auto ticks = CreateDBStatistics();
  dbs.options(TwinDB::kProtean).statistics = ticks;
  dbs.Open();
  for (const char* key : {"a", "c"}) dbs.Put(key, "a value");
  dbs.Flush();
  ASSERT_EQ(1u, dbs.NumFiles());
  const std::string file = PathOf(FilesOf(dbs.protean())[0]);
  for (const bool damaged : {false, true, false}) {
    SCOPED_TRACE(damaged);
    table->GetOptions<BlockBasedTableOptions>()
        ->block_cache->EraseUnRefEntries();
    TwinIterator it(&dbs, ReadOptions(), /*lower=*/false, /*upper=*/true);
    it.SetUpper("c");
    EXPECT_FALSE(it.Seek("b"));
    EXPECT_EQ(damaged ? 0u : 1u,
              ticks->getAndResetTickerCount(NON_LAST_LEVEL_SEEK_FILTERED));
    EXPECT_EQ(damaged ? 1u : 0u,
              ticks->getAndResetTickerCount(BLOCK_CHECKSUM_MISMATCH_COUNT));
    // The second time, flipping repairs it.
    ASSERT_NO_FATAL_FAILURE(ChangeFilter(
        file, /*right_checksum=*/false,
        [](std::string* bytes) { (*bytes)[bytes->size() - 30] ^= 0x15; }));
  }
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
  EXPECT_OK(Env::Default()->DeleteFile(path));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, DamageTest,
    ::testing::Values(DamageCase{false, ""}, DamageCase{true, ""},
                      DamageCase{false, "cache_index_and_filter_blocks=true"},
                      DamageCase{true, "cache_index_and_filter_blocks=true"},
                      DamageCase{
                          true,
                          "cache_index_and_filter_blocks=true;"
                          "pin_l0_filter_and_index_blocks_in_cache=true"}),
    [](const auto& test) {
      return std::string(test.param.right_checksum ? "RightChecksum"
                                                   : "WrongChecksum") +
             std::to_string(test.index);
    });

}  // namespace ROCKSDB_NAMESPACE::protean
