// SPDX-License-Identifier: Apache-2.0

//  Counts of reads and of statistics, and what repeated queries cost
//  (filter_policy/open_db/miss_cache.h). That their answers are right, with new
//  files in between: differential_test.

#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// A DB with ProteanTable and the keys 1000, 2000, ... in big endian. A filter
// with 16 real bits is exact for them.
class ReadsTest : public NumberedDBTest {
 protected:
  static constexpr uint64_t kKeys = 20000;

  ReadsTest() {
    options_.target_file_size_base = 32 << 10;
    SetPolicy("surf:0:16");
  }

  // Each third key goes to the last level, the level before it, and level 0.
  void FillLevels() {
    OpenNew();
    for (const auto& [level, first] : {std::pair{3, 1}, {2, 2}, {0, 3}}) {
      WriteNumbers(first, kKeys, 3, level);
    }
    ASSERT_GE(NumFiles(), 8u);
    ASSERT_OK(options_.statistics->Reset());
    get_perf_context()->Reset();
  }
  // Gets every `step`-th key, and a string behind it. Returns how often filters
  // knew that a file does not have it.
  uint64_t FilteredGets(uint64_t step) {
    EXPECT_OK(options_.statistics->Reset());
    for (uint64_t i = 1; i < kKeys; i += step) {
      EXPECT_FALSE(Has(Gap(i, 500)));
      EXPECT_TRUE(Has(Key(i)));
    }
    return Ticks(BLOOM_FILTER_USEFUL);
  }
};

// With filters in the block cache: filter_parts_db_test.
TEST_F(ReadsTest, EmptyClosedSeeksUseNoBlock) {
  FillLevels();
  for (uint64_t i = 1; i < kKeys; i++) {
    ASSERT_EQ("", FirstIn(Gap(i), Gap(i, 700)));
  }
  EXPECT_EQ("", FirstIn(Gap(kKeys), "\xff"));
  EXPECT_EQ("", FirstIn(BigEndian(1), Key(1)));
  // SeekToFirst.
  for (uint64_t hi : {uint64_t{0}, kGap / 2, kGap}) {
    EXPECT_EQ("", FirstIn("", BigEndian(hi)));
  }
  EXPECT_EQ(0u, BlocksUsed());
  EXPECT_GT(Ticks(LAST_LEVEL_SEEK_FILTERED), kKeys / 2);
  EXPECT_GT(Ticks(NON_LAST_LEVEL_SEEK_FILTERED), kKeys);
  for (Tickers ticker :
       {LAST_LEVEL_SEEK_FILTER_MATCH, NON_LAST_LEVEL_SEEK_FILTER_MATCH,
        LAST_LEVEL_SEEK_DATA, NON_LAST_LEVEL_SEEK_DATA}) {
    EXPECT_EQ(0u, Ticks(ticker)) << ticker;
  }
  EXPECT_EQ(Key(1), FirstIn("", Gap(1)));
  EXPECT_GT(BlocksUsed(), 0u);
}

TEST_F(ReadsTest, SeeksThatFindKeysAreCounted) {
  FillLevels();
  for (uint64_t i = 1; i < kKeys; i++) {
    ASSERT_EQ(Key(i), FirstIn(Key(i), Gap(i)));
  }
  // A third of the keys is in the last level, the others above it.
  for (const auto& [ticker, expected] :
       {std::pair<Tickers, uint64_t>{LAST_LEVEL_SEEK_FILTER_MATCH, kKeys / 3},
        {NON_LAST_LEVEL_SEEK_FILTER_MATCH, kKeys * 2 / 3},
        {LAST_LEVEL_SEEK_DATA_USEFUL_FILTER_MATCH, kKeys / 3},
        {NON_LAST_LEVEL_SEEK_DATA_USEFUL_FILTER_MATCH, kKeys * 2 / 3}}) {
    EXPECT_NEAR(expected, Ticks(ticker), 3) << ticker;
  }
  EXPECT_EQ(0u, Ticks(LAST_LEVEL_SEEK_DATA_USEFUL_NO_FILTER));
  EXPECT_EQ(0u, Ticks(NON_LAST_LEVEL_SEEK_DATA_USEFUL_NO_FILTER));
}

// A file whose bounds are far wider than its keys, because of range tombstones,
// sends a filtered seek on to the next file, which must not be read either.
TEST_F(ReadsTest, EmptyRangeAcrossFiles) {
  Open();
  for (const auto& [key, begin, end] :
       {std::tuple{"a", "b", "f"}, {"z", "g", "k"}}) {
    const std::string name = path_ + "/ingested";
    SstFileWriter writer(EnvOptions(), options_);
    ASSERT_OK(writer.Open(name));
    ASSERT_OK(writer.Put(key, "value"));
    ASSERT_OK(writer.DeleteRange(begin, end));
    ASSERT_OK(writer.Finish());
    IngestExternalFileOptions move;
    move.move_files = true;
    ASSERT_OK(db_->IngestExternalFile({name}, move));
  }
  ASSERT_EQ(2u, NumFiles());
  EXPECT_EQ("a", FirstIn("a", "j"));
  EXPECT_EQ("z", FirstIn("c", "zz"));
  get_perf_context()->Reset();
  EXPECT_EQ("", FirstIn("c", "j"));
  EXPECT_EQ("", FirstIn("c", "h"));
  EXPECT_EQ(0u, BlocksUsed());
}

// The filter block stores too little of keys longer than 64 bytes to know that
// the file goes on behind the range: the next file must be asked, too.
TEST_F(ReadsTest, EmptyRangeAmongLongKeys) {
  const std::string prefix(100, 'p');
  Open();
  for (uint64_t i = 1; i <= kKeys; i++) Put(prefix + Key(i));
  Flush();
  CompactLevel0Into(2);
  ASSERT_GE(NumFiles(), 4u);
  get_perf_context()->Reset();
  for (uint64_t i = 1; i < kKeys; i += 3) {
    ASSERT_EQ("", FirstIn(prefix + Gap(i), prefix + Gap(i, 700)));
  }
  EXPECT_EQ(0u, BlocksUsed());
  for (uint64_t i = 1; i < kKeys; i += 3) {
    const std::string next = prefix + Key(i + 1);
    ASSERT_EQ(next, FirstIn(prefix + Gap(i), next + '\0'));
  }
}

// ---- Open seeks ----

// Only the run of the nearest key is read. One block too many is read where
// that key is the first one of the next block.
TEST_F(ReadsTest, OpenSeeksReadOneRun) {
  for (const char* policy : {"surf:0:16", "surf:0:8"}) {
    SCOPED_TRACE(policy);
    SetPolicy(policy);
    FillLevels();
    for (uint64_t i = 1; i < kKeys; i++) {
      ASSERT_EQ(Key(i + 1), FirstFrom(Gap(i, 7)));
    }
    EXPECT_LE(BlocksUsed(), kKeys + kKeys / 20);
    EXPECT_EQ("", FirstFrom(Gap(kKeys)));
  }
}

// A scan reads each block once, as if there were no filters.
TEST_F(ReadsTest, ScansReadEachBlockOnce) {
  FillLevels();
  uint64_t blocks[2];
  for (bool filtered : {false, true}) {
    ReadOptions read_options;
    read_options.max_skippable_internal_keys = filtered ? 0 : 1000000;
    get_perf_context()->Reset();
    const std::unique_ptr<Iterator> it(db_->NewIterator(read_options));
    uint64_t keys = 0;
    for (it->Seek(BigEndian(1)); it->Valid(); it->Next()) keys++;
    EXPECT_EQ(kKeys, keys);
    blocks[filtered] = BlocksUsed();
  }
  EXPECT_EQ(blocks[false], blocks[true]);
}

// Runs whose next key is far away are not read for the first results of a scan.
TEST_F(ReadsTest, RunsAreReadWhenTheSearchGetsThere) {
  Open();
  for (int run = 0; run < 10; run++) {
    for (uint64_t i = 0; i < 100; i++) Put(BigEndian(1000000 * run + i));
    // All files span the same range, so that their bounds do not decide.
    Put(BigEndian(5), "first");
    Put(BigEndian(~uint64_t{0}), "last");
    Flush();
  }
  get_perf_context()->Reset();
  const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  it->Seek(BigEndian(3000010));
  for (uint64_t i = 10; i < 60; i++, it->Next()) {
    ASSERT_TRUE(it->Valid());
    ASSERT_EQ(BigEndian(3000000 + i), it->key().ToString());
  }
  EXPECT_LE(BlocksUsed(), 2u);
  // Forward and back, over runs that wait.
  it->Prev();
  ASSERT_EQ(BigEndian(3000059), it->key().ToString());
}

// ---- Backwards, and with other keys and filters ----

TEST_F(ReadsTest, EmptySeeksBackwardsUseNoBlock) {
  FillLevels();
  for (uint64_t i = 1; i < kKeys; i++) {
    ASSERT_EQ("", LastIn(Gap(i), Gap(i, 700)));
  }
  EXPECT_EQ("", LastIn(BigEndian(7), BigEndian(kGap - 1)));
  EXPECT_EQ("", LastIn(Gap(kKeys), ""));
  EXPECT_LE(BlocksUsed(), MostSampledSeeks(3 * kKeys));
  EXPECT_GT(Ticks(LAST_LEVEL_SEEK_FILTERED), kKeys / 2);

  // The next key is in one of three runs; the walk ends at the lower bound.
  get_perf_context()->Reset();
  for (uint64_t i = 2; i < kKeys; i++) {
    ReadOptions options;
    const std::string lower = BigEndian(kGap * i - 1);
    const Slice lower_bound = lower;
    options.iterate_lower_bound = &lower_bound;
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    it->SeekForPrev(Gap(i, 7));
    ASSERT_TRUE(it->Valid());
    ASSERT_EQ(Key(i), it->key().ToString());
    it->Prev();
    ASSERT_FALSE(it->Valid());
  }
  EXPECT_LE(BlocksUsed(), kKeys + kKeys / 10);
}

TEST_F(ReadsTest, EmptySeeksWithTimestamps) {
  options_.comparator = BytewiseComparatorWithU64Ts();
  Open();
  std::string buffer;
  const Slice timestamp = EncodeU64Ts(7, &buffer);
  for (uint64_t i = 1; i <= 1000; i++) {
    ASSERT_OK(db_->Put(WriteOptions(), Key(i), timestamp, "value"));
  }
  Flush();
  ReadOptions options;
  options.timestamp = &timestamp;
  get_perf_context()->Reset();
  for (uint64_t i = 1; i < 1000; i++) {
    ASSERT_EQ("", FirstIn(Gap(i), Gap(i, 700), options));
  }
  EXPECT_EQ(0u, BlocksUsed());
}

// The old filters keep filtering Gets until compaction makes range filters.
TEST_F(ReadsTest, FiltersOfRocksDB) {
  for (const char* policy :
       {"filter_policy=bloomfilter:14", "filter_policy=ribbonfilter:14",
        "filter_policy=bloomfilter:14;partition_filters=true;"
        "index_type=kTwoLevelIndexSearch;cache_index_and_filter_blocks=true"}) {
    SCOPED_TRACE(policy);
    SetTable(policy, "BlockBasedTable");
    FillLevels();
    for (const char* table : {"filter_policy=surf:0:16",
                              "filter_policy=surf:0:16;"
                              "cache_index_and_filter_blocks=true"}) {
      SetTable(table);
      Open();
      EXPECT_GE(FilteredGets(/*step=*/5), kKeys / 5 * 29 / 10);
    }
    ASSERT_OK(db_->VerifyChecksum());
    Compact();
    get_perf_context()->Reset();
    ASSERT_EQ("", FirstIn(Gap(1), Gap(1, 700)));
    EXPECT_EQ(0u, get_perf_context()->block_read_count -
                      get_perf_context()->filter_block_read_count -
                      get_perf_context()->index_block_read_count);
  }
}

// Range filters need the bytewise order, but Get does not.
TEST_F(ReadsTest, GetsInReverseOrder) {
  for (const char* policy : {"surf:0:16", "proteus:14", "prefixbloom:14"}) {
    SCOPED_TRACE(policy);
    options_.comparator = ReverseBytewiseComparator();
    SetPolicy(policy);
    OpenNew();
    for (uint64_t i = 1; i <= kKeys; i++) Put(Key(i));
    const std::array<Slice, 3> ends = {Slice(""), Slice("\0", 1), "\xff"};
    for (const Slice& key : ends) Put(key);
    Flush();
    for (const Slice& key : ends) ASSERT_TRUE(Has(key));
    EXPECT_GE(FilteredGets(/*step=*/1), kKeys * 97 / 100);
    EXPECT_EQ(kKeys + 3, AllRecords(db_.get()).size());
  }
}

// ---- What opening costs ----

// Opening a file looks up the same number of blocks as with the plain table, if
// the filter has one part.
TEST_F(ReadsTest, OpeningLooksUpNoMore) {
  for (const char* more :
       {"cache_index_and_filter_blocks=true",
        "cache_index_and_filter_blocks=true;metadata_cache_options="
        "{unpartitioned_pinning=kAll}",
        ""}) {
    SCOPED_TRACE(more);
    std::map<std::string, std::vector<uint64_t>> ticks;
    for (const char* table : {"BlockBasedTable", "ProteanTable"}) {
      options_.table_factory =
          NewTable(table, std::string("filter_policy=surf:0:16;"
                                      "metadata_block_size=1M;") +
                              more);
      FillLevels();
      db_.reset();
      ASSERT_OK(options_.statistics->Reset());
      Open();
      for (const Tickers ticker :
           {BLOCK_CACHE_FILTER_HIT, BLOCK_CACHE_FILTER_MISS,
            BLOCK_CACHE_FILTER_ADD, BLOCK_CACHE_MISS, BLOCK_CACHE_HIT}) {
        ticks[table].push_back(Ticks(ticker));
      }
    }
    EXPECT_EQ(ticks["BlockBasedTable"], ticks["ProteanTable"]);
  }
}

// Readers that are charged cost the same if a file's filter is RocksDB's own.
TEST_F(ReadsTest, OpenFilesAreChargedOnce) {
  SetTable("filter_policy=bloomfilter:14", "BlockBasedTable");
  FillLevels();
  size_t charged[2];
  for (const bool protean : {false, true}) {
    BlockBasedTableOptions table;
    table.block_cache = NewLRUCache(64 << 20, /*num_shard_bits=*/0);
    table.cache_usage_options.options_overrides.insert(
        {CacheEntryRole::kBlockBasedTableReader,
         {/*charged=*/CacheEntryRoleOptions::Decision::kEnabled}});
    if (protean) {
      UsePolicy(NewSurfFilterPolicy({0, 16}), table);
    } else {
      table.filter_policy.reset(NewBloomFilterPolicy(14));
      options_.table_factory.reset(NewBlockBasedTableFactory(table));
    }
    Open();
    charged[protean] = table.block_cache->GetPinnedUsage();
  }
  // Charges are made in pieces of 256 KiB, and the sizes of their cache handles
  // depend on malloc.
  EXPECT_NEAR(charged[false], charged[true], 1 << 10);
}

// ---- Queries that are repeated ----

class MissCacheDBTest : public testing::TestWithParam<const char*> {
 protected:
  // Small filters let much through. Three runs, the deeper ones of many files.
  void Fill(const std::string& more = "") {
    dbs_.options(TwinDB::kProtean).table_factory =
        NewTable("ProteanTable", GetParam() + more);
    dbs_.OpenAnew();
    for (const int level : {3, 2, 0}) {
      for (int i = 0; i < 2000; i++) {
        dbs_.Put(KeyOf(random_.Uniform(1 << 20)), "value");
      }
      dbs_.Flush();
      if (level > 0) dbs_.CompactLevel0Into(level, 8 << 10);
    }
  }
  static std::string KeyOf(uint64_t number) { return Digits(number, 8); }
  // The i-th of 500 numbers, nearly all of which are no keys.
  static uint64_t Target(int i) { return i * 977 % (1 << 20); }
  void GetTargets() {
    Keys keys;
    for (int i = 0; i < 500; i++) keys.push_back(KeyOf(Target(i)));
    CompareGets(&dbs_, keys);
  }

  MissCacheStatistics Misses() {
    return StatisticsOf(dbs_.protean()).miss_cache;
  }
  // The files that filters have let through in vain.
  uint64_t InVain() {
    const FilterSums total = StatisticsOf(dbs_.protean()).total;
    return total.bounded_seeks.false_positives +
           total.unbounded_seeks.false_positives + total.gets.false_positives;
  }
  // Runs `ask` a number of times, and returns what was read in vain each time.
  std::vector<uint64_t> Repeat(int times, const std::function<void()>& ask) {
    std::vector<uint64_t> in_vain;
    for (int i = 0; i < times; i++) {
      const uint64_t before = InVain();
      ask();
      in_vain.push_back(InVain() - before);
    }
    return in_vain;
  }

  Random random_{301};
  TwinDB dbs_{"miss_cache", UnthrottledFiles(), nullptr,
              NewTable("BlockBasedTable", "block_size=512")};
};

TEST_P(MissCacheDBTest, ReadsInVainArePaidOnce) {
  Fill();
  const auto gets = Repeat(3, [this] { GetTargets(); });
  EXPECT_GT(gets[0], 20u);
  EXPECT_LE(gets[1] + gets[2], gets[0] / 50);
  // What reads have found out, the functions that do not read know, too.
  uint64_t wrong = 0;
  for (int i = 0; i < 500; i++) {
    const std::string key = KeyOf(Target(i));
    wrong += !Has(dbs_.protean(), key) && KeyMayExist(dbs_.protean(), key);
  }
  EXPECT_LE(wrong, 10u);
  const auto bounded = Repeat(3, [this] {
    TwinIterator it(&dbs_, ReadOptions(), /*lower=*/false, /*upper=*/true);
    for (int i = 0; i < 500; i++) {
      it.SetUpper(KeyOf(Target(i) + 8));
      it.Seek(KeyOf(Target(i)));
    }
  });
  EXPECT_GT(bounded[0], 20u);
  EXPECT_LE(bounded[1] + bounded[2], bounded[0] / 50);
  EXPECT_GT(Misses().hits, 2 * bounded[1]);
}

TEST_P(MissCacheDBTest, UnboundedSeeksGoOnBehindGaps) {
  Fill();
  const auto unbounded = Repeat(3, [this] {
    TwinIterator it(&dbs_, ReadOptions(), /*lower=*/false, /*upper=*/false);
    for (int i = 0; i < 500; i++) {
      if (it.Seek(KeyOf(Target(i))) && i % 3 == 0) it.Next();
    }
  });
  EXPECT_GT(unbounded[0], 20u);
  EXPECT_LE(unbounded[2], unbounded[0] / 3);
}

TEST_P(MissCacheDBTest, HasTheSizeOfAnOption) {
  for (const uint64_t bytes : {0, 4096}) {
    Fill(";miss_cache_size=" + std::to_string(bytes));
    const auto gets = Repeat(2, [this] { GetTargets(); });
    if (bytes == 0) {
      EXPECT_GT(gets[0], 20u);
      EXPECT_EQ(gets[0], gets[1]);
    }
    EXPECT_EQ(bytes, Misses().bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Policies, MissCacheDBTest,
    testing::Values(
        "block_size=512;filter_policy=proteus:4",
        "block_size=512;filter_policy=surf:2:0",
        "block_size=512;filter_policy=proteus:4;metadata_block_size=256;"
        "cache_index_and_filter_blocks=true"));

}  // namespace ROCKSDB_NAMESPACE::protean
