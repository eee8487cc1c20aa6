// SPDX-License-Identifier: Apache-2.0

//  ApproximateCount against the keys. (Counts that fail: read_faults_test.)

#include <thread>

#include "filter_policy/filter_block.h"
#include "plugin/approximate_count.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/utilities/transaction_db.h"
#include "tests/dice.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class CountTest : public OwnDBTest {
 protected:
  CountTest() : OwnDBTest(ManySmallFiles(7)) {}

  void OpenNew(const std::string& table) {
    SetTable(table);
    OwnDB::OpenNew();
  }
  // Three levels, L0 and the memtable, over which `keys` are distributed.
  void Fill(const Keys& keys) {
    for (size_t run = 0; run < 5; run++) {
      for (size_t i = run; i < keys.size(); i += 5) Put(keys[i], "v" + keys[i]);
      if (run == 4) return;
      Flush();
      if (run < 3) CompactLevel0Into(3 - static_cast<int>(run));
    }
  }
  Keys FillNumbers(uint64_t count) {
    Keys keys = MakeKeys(count, BigEndian);
    Fill(keys);
    return keys;
  }
  static Keys RandomKeys(int count, const std::string& tail = "") {
    Keys keys;
    Lcg lcg(5);
    for (int i = 0; i < count; i++) keys.push_back(lcg.Bytes(8) + tail);
    return keys;
  }

  Status Count(const ReadOptions& read_options, const RangePtr& range,
               CountResult* result) {
    return ApproximateCount(&*db_, read_options, db_->DefaultColumnFamily(),
                            range, result);
  }
  CountResult Count(const RangePtr& range) {
    CountResult result;
    EXPECT_OK(Count(ReadOptions(), range, &result));
    return result;
  }
  CountResult Count(const std::string& lo, const std::string& hi) {
    return Count(Between(lo, hi));
  }
};

}  // namespace

TEST_F(CountTest, DistinctKeys) {
  for (const std::string table :
       {"filter_policy=surf:0:0",
        "filter_policy=surf:4:5;cache_index_and_filter_blocks=true;"
        "metadata_block_size=80",
        "filter_policy=surf:0:4;partition_filters=true;metadata_block_size=64;"
        "index_type=kTwoLevelIndexSearch",
        "filter_policy=proteus:12", "filter_policy=bloomfilter:10",
        "no_block_cache=true"}) {
    SCOPED_TRACE(table);
    Random rnd(301);
    for (const KeyFamily& family : KeyFamilies(600, 17)) {
      SCOPED_TRACE(family.name);
      OpenNew("block_size=300;" + table);
      EXPECT_EQ(0u, Count(RangePtr()).count) << "an empty DB";
      Fill(family.keys);
      const Keys bounds = AroundEach(family.keys);
      for (int i = 0; i < 300; i++) {
        std::string lo = AnyOf(bounds, &rnd);
        std::string hi = AnyOf(bounds, &rnd);
        if (hi < lo) std::swap(lo, hi);
        const Slice start = lo;
        const Slice limit = hi;
        for (const int open : {0, 1, 2, 3}) {
          const RangePtr range((open & 1) != 0 ? nullptr : &start,
                               (open & 2) != 0 ? nullptr : &limit);
          const CountResult result = Count(range);
          ASSERT_EQ(KeysIn(family.keys, range.start == nullptr ? "" : lo,
                           range.limit == nullptr ? family.keys.back() : hi,
                           /*hi_inclusive=*/range.limit == nullptr),
                    result.count)
              << Hex(lo) << " to " << Hex(hi) << ", open ends " << open;
          EXPECT_EQ(0u, result.deletions);
          EXPECT_LE(result.files_scanned, result.files);
          EXPECT_LE(result.sorted_runs, 4u);
        }
      }
      const CountResult nothing = Count("\xff\xff\xff", "");
      EXPECT_EQ(0u, nothing.count);
      EXPECT_TRUE(nothing.IsExact());
    }
  }
}

TEST_F(CountTest, ReadsTwoBlocksARun) {
  OpenNew("filter_policy=surf:0:4;block_size=256");
  Keys keys = RandomKeys(20000);
  Fill(keys);
  std::sort(keys.begin(), keys.end());
  Random rnd(7);
  uint64_t blocks = 0;
  constexpr int kCounts = 500;
  for (int i = 0; i < kCounts; i++) {
    std::string lo = AnyOf(keys, &rnd);
    std::string hi = AnyOf(keys, &rnd);
    if (hi < lo) std::swap(lo, hi);
    const uint64_t before = BlocksUsed();
    const CountResult result = Count(lo, hi);
    blocks += BlocksUsed() - before;
    EXPECT_EQ(0u, result.files_scanned);
    EXPECT_EQ(4u, result.sorted_runs);
    EXPECT_EQ(KeysIn(keys, lo, hi, /*hi_inclusive=*/false), result.count);
  }
  // If a bound lies between the keys of two blocks, both blocks are read.
  EXPECT_LE(blocks, 2u * 4 * kCounts);
}

// An open end needs no read, and the largest key may go on after the bytes that
// are stored of it.
TEST_F(CountTest, OpenEndsReadNothing) {
  for (const std::string& tail :
       {std::string(), std::string(80, 'z'), std::string(80, '\xff')}) {
    SCOPED_TRACE(tail);
    OpenNew("filter_policy=surf:0:4;block_size=256");
    Keys keys = RandomKeys(4000, tail);
    keys.push_back("\xff\xff\xff\xff\xff\xff\xff\xff" + tail);
    Fill(keys);
    Flush();
    get_perf_context()->Reset();
    const CountResult all = Count(RangePtr());
    const uint64_t blocks = BlocksRead();
    EXPECT_EQ(keys.size(), all.count);
    // Nothing is known to be above a key of which all stored bytes are 0xff.
    EXPECT_EQ(tail.empty() || tail[0] == 'z' ? 0u : 1u, all.files_scanned);
    if (all.files_scanned == 0) {
      EXPECT_EQ(0u, blocks);
    }
    std::sort(keys.begin(), keys.end());
    const std::string middle = "\x80" + tail;
    const Slice bound = middle;
    const uint64_t below = KeysIn(keys, "", middle, /*hi_inclusive=*/false);
    EXPECT_EQ(below, Count({nullptr, &bound}).count);
    EXPECT_EQ(keys.size() - below, Count({&bound, nullptr}).count);
  }
}

// Files within the range are not scanned.
TEST_F(CountTest, ReadTiersAndDeadlines) {
  OpenNew("filter_policy=proteus:12;block_size=256");
  const Keys keys = FillNumbers(10000);
  CountResult result;
  ReadOptions read_options;
  const auto count_by = [&](ReadTier tier, bool fill_cache) {
    read_options.read_tier = tier;
    read_options.fill_cache = fill_cache;
    return Count(read_options, Between(keys[500], keys[9000]), &result);
  };
  EXPECT_TRUE(count_by(kBlockCacheTier, true).IsIncomplete());
  ASSERT_OK(Count(read_options, {}, &result));
  EXPECT_EQ(10000u, result.count);
  EXPECT_EQ(2000u, result.in_memtables);
  EXPECT_EQ(0u, result.files_scanned);
  EXPECT_GT(result.files, 10u);
  for (const bool fill_cache : {false, true}) {
    EXPECT_TRUE(count_by(kBlockCacheTier, fill_cache).IsIncomplete());
    const std::chrono::microseconds now(Env::Default()->NowMicros());
    read_options.deadline = now - std::chrono::microseconds(1);
    EXPECT_TRUE(count_by(kReadAllTier, fill_cache).IsTimedOut());
    read_options.deadline = now + std::chrono::hours(1);
    ASSERT_OK(count_by(kReadAllTier, fill_cache));
    read_options.deadline = {};
    ASSERT_OK(count_by(kReadAllTier, fill_cache));
    EXPECT_EQ(8500u, result.count);
    EXPECT_GT(result.files_scanned, 0u);
    EXPECT_LE(result.files_scanned, 8u);
  }
  ASSERT_OK(count_by(kBlockCacheTier, true));
  EXPECT_EQ(8500u, result.count);
  read_options.read_tier = kMemtableTier;
  ASSERT_OK(Count(read_options, {}, &result));
  EXPECT_EQ(2000u, result.count);
  EXPECT_EQ(0u, result.files);
}

// What has no effect, and what no count can obey.
TEST_F(CountTest, OtherReadOptions) {
  OpenNew("filter_policy=surf:0:4");
  const Keys keys = FillNumbers(2000);
  const Slice lower = keys[700];
  const Slice upper = keys[800];
  CountResult result;
  ReadOptions read_options;
  read_options.iterate_lower_bound = &lower;
  read_options.iterate_upper_bound = &upper;
  read_options.prefix_same_as_start = true;
  read_options.auto_prefix_mode = true;
  read_options.tailing = true;
  read_options.async_io = true;
  read_options.verify_checksums = false;
  read_options.readahead_size = 1 << 20;
  ASSERT_OK(Count(read_options, {}, &result));
  EXPECT_EQ(2000u, result.count);
  read_options.table_filter = [](const TableProperties&) { return false; };
  ASSERT_OK(Count(read_options, {}, &result));
  EXPECT_EQ(400u, result.count);
  EXPECT_EQ(400u, result.in_memtables);

  ReadOptions refused[4];
  refused[0].snapshot = db_->GetSnapshot();
  refused[1].timestamp = &upper;
  refused[2].iter_start_ts = &lower;
  refused[3].read_tier = kPersistedTier;
  for (const ReadOptions& options : refused) {
    EXPECT_TRUE(Count(options, {}, &result).IsNotSupported());
    EXPECT_EQ(0u, result.count);
  }
  db_->ReleaseSnapshot(refused[0].snapshot);
}

// The estimate of a long range reads a block at each bound, and is wrong by a
// block there at most if all entries are of one size.
TEST_F(CountTest, LongRangesAreEstimated) {
  for (const char* policy : {"proteus:12", "bloomfilter:10"}) {
    SCOPED_TRACE(policy);
    options_.write_buffer_size = 64 << 20;  // one file
    const std::string table =
        std::string("block_size=4096;filter_policy=") + policy;
    OpenNew(table);
    const Keys keys = MakeKeys(20000, BigEndian);
    WriteFile(keys, /*level=*/0, std::string(100, 'v'));
    constexpr uint64_t kBlock = 4096 / 100;
    Random rnd(301);
    for (int i = 0; i < 200; i++) {
      const uint64_t length = 2000 + rnd.Uniform(15000);
      const uint64_t begin = 1 + rnd.Uniform(static_cast<int>(19999 - length));
      get_perf_context()->Reset();
      const CountResult result = Count(keys[begin], keys[begin + length]);
      EXPECT_LE(get_perf_context()->block_read_count, 3u);
      EXPECT_EQ(1u, result.files_estimated);
      EXPECT_EQ(0u, result.files_scanned);
      EXPECT_FALSE(result.IsExact());
      EXPECT_LE(result.count, length + kBlock) << begin;
      EXPECT_GE(result.count + kBlock, length) << begin;
    }
    // An end may be open.
    const Slice middle = keys[10000];
    for (const RangePtr& half :
         {RangePtr(&middle, nullptr), RangePtr(nullptr, &middle)}) {
      const CountResult result = Count(half);
      EXPECT_EQ(1u, result.files_estimated);
      EXPECT_NEAR(10000.0, static_cast<double>(result.count), kBlock);
    }
    // What cannot be read is not estimated.
    SetTable(table);
    Open();
    CountResult result;
    ReadOptions cached;
    cached.read_tier = kBlockCacheTier;
    EXPECT_TRUE(Count(cached, Between(keys[10000], keys[19000]), &result)
                    .IsIncomplete());
  }
}

TEST_F(CountTest, OverwritesAndDeletions) {
  OpenNew("filter_policy=surf:0:4");
  WriteFile({"a", "b", "c", "d", "e"});
  CountResult result;
  const auto expect = [&](const char* lo, const char* hi, uint64_t count,
                          bool exact) {
    result = Count(lo, hi);
    EXPECT_EQ(count, result.count) << lo << " to " << hi;
    EXPECT_EQ(exact, result.IsExact()) << lo << " to " << hi;
  };
  expect("b", "e", 3, true);

  Put("c", "2");
  expect("b", "e", 4, false);  // c is counted twice
  EXPECT_EQ(1u, result.in_memtables);
  EXPECT_EQ(1u, result.sorted_runs);
  Flush();
  expect("b", "e", 4, false);
  EXPECT_EQ(2u, result.sorted_runs);

  Delete("d");
  expect("d", "e", 1, false);
  EXPECT_EQ(1u, result.deletions);
  ASSERT_OK(
      db_->DeleteRange(WriteOptions(), db_->DefaultColumnFamily(), "a", "c"));
  Flush();
  result = Count("a", "z");
  EXPECT_EQ(2u, result.deletions);
  EXPECT_EQ(0u, result.in_memtables);
  EXPECT_FALSE(result.IsExact());

  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  expect("a", "z", 2, true);
}

TEST_F(CountTest, DeletionsInAFileWithoutTheirValues) {
  OpenNew("filter_policy=surf:0:8");
  WriteFile({"0", "zz"}, /*level=*/3);
  for (const char* key : {"a", "z"}) Put(key);
  for (int i = 0; i < 100; i++) Delete("k" + Digits(i, 3));
  Flush();
  CompactLevel0Into(1);
  for (const char* key : {"a", "k000", "k050", "k099", "m", "z"}) {
    EXPECT_EQ(*key == 'a' || *key == 'z', KeyMayExist(&*db_, key)) << key;
  }
  EXPECT_FALSE(RangeMayExist(&*db_, Between("k0", "k1")));
  EXPECT_FALSE(RangeMayExist(&*db_, Between("k020", "k021")));
  EXPECT_TRUE(RangeMayExist(&*db_, Between("k020", "zz")));
  EXPECT_TRUE(RangeMayExist(&*db_, Between("a", "k1")));

  const auto expect = [this](const char* lo, const char* hi, uint64_t count,
                             uint64_t left_out) {
    const CountResult result = Count(lo, hi);
    EXPECT_EQ(count, result.count) << lo << " to " << hi;
    EXPECT_EQ(left_out, result.deletions_left_out) << lo << " to " << hi;
  };
  expect("0", "zzz", 4, 100);
  expect("b", "z", 0, 100);
  // The number of deletions in a part of a stretch is not known.
  expect("k050", "y", 50, 0);
}

// RocksDB's iterator seeks again, in the middle of the count.
TEST_F(CountTest, KeysOverwrittenManyTimes) {
  OpenNew("filter_policy=surf:0:4");
  WriteFile({"a", "b", "c", "d"});
  for (int i = 0; i < 100; i++) {
    Put("a1", std::to_string(i));
    Put("b1", std::to_string(i));
  }
  const CountResult result = Count("a1", "d");
  EXPECT_EQ(4u, result.count);
  EXPECT_EQ(2u, result.in_memtables);
  EXPECT_EQ(1u, result.files);
}

TEST_F(CountTest, OtherOrders) {
  for (const Comparator* comparator :
       {ReverseBytewiseComparator(), BytewiseComparatorWithU64Ts()}) {
    SCOPED_TRACE(comparator->Name());
    options_.comparator = comparator;
    options_.target_file_size_base = 1 << 20;
    const bool stamped = comparator->timestamp_size() > 0;
    OpenNew("filter_policy=surf:0:4;block_size=300");
    for (int time = 1; time <= 3; time++) {
      std::string timestamp;
      PutFixed64(&timestamp, static_cast<uint64_t>(time));
      for (int i = 0; i < 500; i++) {
        const std::string key = BigEndian(7 * i);
        ASSERT_OK(stamped ? db_->Put(WriteOptions(), key, timestamp, "v")
                          : db_->Put(WriteOptions(), key, "v"));
      }
      Flush();
      ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    }
    const std::string lo = BigEndian(7 * 100 - 1);
    const std::string hi = BigEndian(7 * 200);
    EXPECT_EQ(100u, stamped ? Count(lo, hi).count
                            : Count(BigEndian(7 * 200 - 1), lo).count);
    const CountResult all = Count(RangePtr());
    EXPECT_EQ(500u, all.count);
    EXPECT_EQ(1u, all.sorted_runs);
    const Slice bound = lo;
    const uint64_t below = 100;
    EXPECT_EQ(stamped ? below : 500 - below, Count({nullptr, &bound}).count);
    EXPECT_EQ(stamped ? 500 - below : below, Count({&bound, nullptr}).count);
  }
}

// RocksDB may cut the versions of one key into several files.
TEST_F(CountTest, KeysInSeveralFilesOfARun) {
  for (const std::string& key : {std::string("k"), std::string(70, 'k')}) {
    SCOPED_TRACE(key);
    for (const char* policy : {"surf:0:4", "bloomfilter:10"}) {
      OpenNew(std::string("filter_policy=") + policy);
      std::vector<const Snapshot*> snapshots;
      for (int i = 0; i < 100; i++) {
        Put(key, std::string(200, 'v'));
        snapshots.push_back(db_->GetSnapshot());
      }
      Flush();
      CompactLevel0Into(2, kFileSize);
      const CountResult result = Count("a", "z");
      EXPECT_GT(result.files, 2u);
      EXPECT_EQ(result.count == 1, result.IsExact());
      EXPECT_TRUE(result.IsExact() ||
                  key.size() >= FilterBlockHeader::kMaxStoredKey);
      for (const Snapshot* snapshot : snapshots) db_->ReleaseSnapshot(snapshot);
    }
  }
}

// Whether a write group counts its single deletions depends on its size.
TEST_F(CountTest, DeletionsOfManyThreads) {
  OpenNew("filter_policy=surf:0:4");
  WriteFile(MakeKeys(2000, BigEndian));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; thread++) {
    threads.emplace_back([this, thread] {
      for (int i = thread; i < 2000; i += 4) {
        EXPECT_OK(db_->SingleDelete(WriteOptions(), BigEndian(i)));
      }
    });
  }
  // The deletions move from the memtable to files during the count.
  for (int i = 0; i < 100; i++) {
    const CountResult result = Count(BigEndian(0), BigEndian(2000));
    EXPECT_TRUE(!result.IsExact() || result.count == 2000) << result.count;
    if (i % 10 == 0) Flush();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(Count(BigEndian(0), BigEndian(2000)).IsExact());
}

TEST_F(CountTest, MergesThatNeedTheirBase) {
  class NeedsBase : public AssociativeMergeOperator {
   public:
    const char* Name() const override { return "NeedsBase"; }
    bool Merge(const Slice&, const Slice* existing, const Slice& /*value*/,
               std::string* result, Logger*) const override {
      *result = "merged";
      return existing != nullptr;
    }
  };
  options_.merge_operator = std::make_shared<NeedsBase>();
  OpenNew("filter_policy=surf:0:4");
  WriteFile({"k"});
  ASSERT_OK(db_->Merge(WriteOptions(), "k", "m"));
  const CountResult result = Count("a", "z");
  EXPECT_EQ(2u, result.count);
  EXPECT_FALSE(result.IsExact());
}

TEST_F(CountTest, WritesThatAreNotCommitted) {
  for (const TxnDBWritePolicy policy :
       {WRITE_COMMITTED, WRITE_PREPARED, WRITE_UNPREPARED}) {
    SetPolicy("surf:0:4");
    Destroy();
    TransactionDBOptions transaction_options;
    transaction_options.write_policy = policy;
    ASSERT_OK(
        OpenAs<TransactionDB>(&db_, options_, transaction_options, path_));
    Put("a", "v");
    std::unique_ptr<Transaction> transaction(
        static_cast<TransactionDB*>(db_.get())->BeginTransaction(
            WriteOptions()));
    ASSERT_OK(transaction->SetName("prepared"));
    ASSERT_OK(transaction->Put("b", "v"));
    ASSERT_OK(transaction->Prepare());
    Flush();
    const CountResult result = Count("a", "z");
    EXPECT_EQ(policy == WRITE_COMMITTED, result.IsExact());
    EXPECT_EQ(policy == WRITE_COMMITTED ? 1u : 2u, result.count);
    ASSERT_OK(transaction->Commit());
  }
}

TEST_F(CountTest, OtherTablesAreRefused) {
  OpenNew("filter_policy=surf:0:4");
  SetTable("", "BlockBasedTable");
  CountResult result;
  ExpectRefused(
      ApproximateCount(&*db_, ReadOptions(), NewFamily("plain"), {}, &result),
      {"ApproximateCount needs the table factory ProteanTable, and the column "
       "family plain has BlockBasedTable"});
}

}  // namespace ROCKSDB_NAMESPACE::protean
