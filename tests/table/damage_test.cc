// SPDX-License-Identifier: Apache-2.0

//  SST files whose filter block is damaged on disk: all reads are still right,
//  and the log reports the damage.

#include "rocksdb/sst_file_reader.h"
#include "tests/sst_damage.h"
#include "tests/table/twin_db.h"

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
  const Keys keys_ = KeyFamilies(2000, 99)[0].keys;

  // Each twin has two files, one in level 0 and one in the last level.
  void Fill(TwinDB* dbs) {
    dbs->Open();
    for (size_t i = 0; i < keys_.size(); i++) {
      if (i % 3 != 0) dbs->Put(keys_[i], "first value");
    }
    dbs->Compact();
    for (size_t i = 0; i < keys_.size(); i += 2) {
      if (i % 5 == 0) {
        dbs->Delete(keys_[i]);
      } else {
        dbs->Put(keys_[i], "second value");
      }
    }
    dbs->Flush();
  }

  Keys SstFiles(TwinDB* dbs) {
    Keys paths;
    for (const LiveFileMetaData& file : FilesOf(dbs->protean())) {
      paths.push_back(PathOf(file));
    }
    return paths;
  }
  static void DamageFilters(const Keys& files, size_t where,
                            bool right_checksum = GetParam().right_checksum) {
    for (const std::string& file : files) {
      ASSERT_NO_FATAL_FAILURE(DamageFilter(file, where, right_checksum));
    }
  }

  // A new block cache, so that no block from before the damage is in it.
  std::shared_ptr<TableFactory> NewProteanTable() const {
    return NewTable("ProteanTable",
                    std::string("filter_policy=surf:0:8;block_cache=8M;") +
                        GetParam().table_options);
  }

  void CompareEverything(TwinDB* dbs) {
    Keys gets = keys_;
    for (size_t i = 0; i < keys_.size(); i += 9) {
      for (const std::string& key : Around(keys_[i])) gets.push_back(key);
    }
    CompareGets(dbs, gets);
    CompareMultiGets(dbs, gets);
    EXPECT_GT(CompareScans(dbs), keys_.size() / 2);
    TwinIterator it(dbs, ReadOptions(), /*lower=*/false, /*upper=*/true);
    for (size_t i = 0; i + 3 < keys_.size(); i += 2) {
      it.SetUpper(keys_[i + 3]);
      for (bool valid = it.Seek(keys_[i] + '\0'); valid;) valid = it.Next();
      it.SetUpper(keys_[i] + '\x01');
      it.Seek(keys_[i] + '\0');
    }
    it.SetUpper(keys_[1]);
    it.SeekToFirst();
  }
};

TEST_P(DamageTest, EverythingIsStillRead) {
  const auto logger = std::make_shared<RecordingLogger>();
  TwinDB dbs("damage", Options(), NewProteanTable());
  dbs.options(TwinDB::kProtean).info_log = logger;
  dbs.options(TwinDB::kProtean).statistics = CreateDBStatistics();
  Fill(&dbs);
  const Keys files = SstFiles(&dbs);
  ASSERT_EQ(2u, files.size());
  CompareEverything(&dbs);
  EXPECT_TRUE(logger->Lines({"ProteanTable: "}).empty());

  // Headers, keys, payload, from open to open.
  for (size_t where : {0, 5, 6, 9, 13, 17, 40, 300}) {
    SCOPED_TRACE("byte " + std::to_string(where));
    dbs.Close();
    DamageFilters(files, where);
    const size_t lines_before = logger->Lines({"ProteanTable: "}).size();
    const auto fresh = CreateDBStatistics();
    dbs.options(TwinDB::kProtean).statistics = fresh;
    dbs.options(TwinDB::kProtean).table_factory = NewProteanTable();
    dbs.Open();
    CompareEverything(&dbs);
    for (const std::string& file : files) {
      const std::string name = file.substr(file.rfind('/') + 1);
      EXPECT_FALSE(logger->Lines({"ProteanTable: ", name}).empty()) << name;
    }
    EXPECT_EQ(lines_before + files.size(),
              logger->Lines({"ProteanTable: "}).size())
        << "one line a damaged file";
    const uint64_t mismatches =
        fresh->getTickerCount(BLOCK_CHECKSUM_MISMATCH_COUNT);
    if (GetParam().right_checksum) {
      EXPECT_EQ(files.size(), mismatches);
    } else {
      // The counts of RocksDB's own filter: each use reads it again.
      EXPECT_GE(mismatches, files.size());
    }
    // Repair the block.
    dbs.Close();
    DamageFilters(files, where, /*right_checksum=*/true);
    if (HasFailure()) return;
  }
}

// Without the filter policy, RocksDB does not look at the filter, and a stock
// RocksDB can read on. Compaction drops the damaged filter.
TEST_P(DamageTest, CompactionMakesNewFilters) {
  TwinDB dbs("damage", Options(), NewProteanTable());
  Fill(&dbs);
  const Keys files = SstFiles(&dbs);
  dbs.Close();
  DamageFilters(files, 100);
  dbs.options(TwinDB::kProtean).table_factory = NewTable("BlockBasedTable", "");
  dbs.Open();
  CompareEverything(&dbs);
  dbs.Close();
  dbs.options(TwinDB::kProtean).table_factory = NewProteanTable();
  dbs.Open();
  dbs.Compact();
  dbs.Close();
  const auto logger = std::make_shared<RecordingLogger>();
  dbs.options(TwinDB::kProtean).info_log = logger;
  dbs.options(TwinDB::kProtean).statistics = CreateDBStatistics();
  dbs.Open();
  CompareEverything(&dbs);
  EXPECT_TRUE(logger->Lines({"ProteanTable: "}).empty());
  EXPECT_EQ(0u, dbs.options(TwinDB::kProtean)
                    .statistics->getTickerCount(BLOCK_CHECKSUM_MISMATCH_COUNT));
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
