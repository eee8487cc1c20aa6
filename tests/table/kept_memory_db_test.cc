// SPDX-License-Identifier: Apache-2.0

//  Many DBs in one process, whose filters are in one small block cache: what
//  they keep beside filters stays within its share of that, whatever they do,
//  and is given back when they are closed (filter_policy/kept_memory.h).

#include "filter_policy/kept_memory.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr int kDBs = 24;
constexpr size_t kCache = 2 << 20;

std::string KeyOf(int db, int i) {
  return "key of db " + Digits(db, 2) + " and " + Digits(17 * i, 8);
}

class KeptMemoryDBTest : public testing::Test {
 protected:
  static constexpr int kKeys = 300;

  KeptMemoryDBTest() {
    for (int i = 0; i < kDBs; i++) {
      dbs_.push_back(std::make_unique<OwnDB>(UnthrottledFiles(),
                                             "db" + std::to_string(i)));
      BlockBasedTableOptions table;
      table.block_cache = cache_;
      table.cache_index_and_filter_blocks = true;
      table.block_size = 512;
      Options from_text;
      EXPECT_OK(AddOptions(ProteanTableText("{id=protean.Proteus;bits_per_key="
                                            "4;sample_every=1}"),
                           &from_text));
      table.filter_policy =
          from_text.table_factory->GetOptions<BlockBasedTableOptions>()
              ->filter_policy;
      dbs_.back()->options_.table_factory = NewProteanTableFactory(table);
    }
  }
  void Fill(int db) {
    dbs_[db]->Open();
    for (int run = 0; run < 2; run++) {
      Keys keys;
      for (int i = run; i < kKeys; i += 2) keys.push_back(KeyOf(db, i));
      dbs_[db]->WriteFile(keys);
    }
  }
  // Asks for all keys, and for ranges without any, each several times.
  void Read(int db) {
    DB* const opened = dbs_[db]->db_.get();
    for (int i = 0; i < kKeys; i++) {
      ASSERT_TRUE(Has(opened, KeyOf(db, i)));
      for (int times = 0; times < 3; times++) {
        ASSERT_EQ("", FirstIn(opened, KeyOf(db, i) + "+", KeyOf(db, i) + "9"));
      }
    }
    ExpectWithinLimits();
  }
  void ExpectWithinLimits() {
    const KeptMemoryUsage usage = KeptMemory::UsageOf(cache_.get());
    ASSERT_EQ(kCache / 8, usage.max_bytes);
    ASSERT_LE(usage.bytes, usage.max_bytes);
  }

  const std::shared_ptr<Cache> cache_ = NewLRUCache(kCache);
  std::vector<std::unique_ptr<OwnDB>> dbs_;
};

}  // namespace

TEST_F(KeptMemoryDBTest, ManyDBsShareOneCap) {
  uint64_t held_alone = 0;
  for (int db = 0; db < kDBs; db++) {
    Fill(db);
    Read(db);
    const FilterStatistics statistics = StatisticsOf(dbs_[db]->db_.get());
    EXPECT_EQ(kCache / 8, statistics.kept_memory.max_bytes);
    EXPECT_EQ(KeptMemory::UsageOf(cache_.get()).bytes,
              statistics.kept_memory.bytes);
    EXPECT_GT(statistics.samples.held, 15u);
    if (db == 0) held_alone = statistics.samples.held;
  }
  EXPECT_GT(KeptMemory::UsageOf(cache_.get()).bytes, kCache / 16);
  EXPECT_LT(StatisticsOf(dbs_[0]->db_.get()).samples.held, held_alone / 2);
  // All answers are right while files are rewritten and designs are kept.
  for (int db = 0; db < kDBs; db++) {
    dbs_[db]->Compact();
    Read(db);
  }
  // A DB that is closed leaves its share to others.
  const uint64_t all = KeptMemory::UsageOf(cache_.get()).bytes;
  for (int db = 1; db < kDBs; db++) dbs_[db]->Close();
  EXPECT_LT(KeptMemory::UsageOf(cache_.get()).bytes, all / 2);
  Read(0);
  EXPECT_GT(StatisticsOf(dbs_[0]->db_.get()).samples.held, held_alone / 2);
  dbs_[0]->Close();
  EXPECT_EQ(0u, KeptMemory::UsageOf(cache_.get()).bytes);
  // And it is there again when the DB is opened.
  dbs_[3]->Open();
  EXPECT_GT(StatisticsOf(dbs_[3]->db_.get()).samples.held, 15u);
  Read(3);
}

}  // namespace ROCKSDB_NAMESPACE::protean
