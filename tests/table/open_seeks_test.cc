// SPDX-License-Identifier: Apache-2.0

//  Open seeks over many sorted runs: what files that wait for each other cost,
//  and that a search comes to an end wherever they wait.

#include <malloc.h>

#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A DB of sorted runs, and what is in it.
class OpenSeeksTest : public OwnDBTest {
 protected:
  void OpenWith(const std::string& table) {
    SetTable(table);
    Open();
  }

  // One run of these keys; at the bottom of the tree or on level 0.
  void AddRun(const Keys& keys, bool bottom = false) {
    WriteFile(keys, /*level=*/0, std::string(100, 'v'));
    model_.insert(keys.begin(), keys.end());
    if (bottom) CompactLevel0Into(3, 1 << 30);
  }
  // Numbers that are spread out.
  void AddNumbers(size_t count, bool bottom = false) {
    Keys keys(count);
    for (std::string& key : keys) key = BigEndian(random_.Next());
    AddRun(keys, bottom);
  }

  // Reads all blocks.
  void Scan() {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
    }
  }

  // Checks that an iterator at `target` and some steps on is where it should
  // be.
  void Check(Iterator* it, const std::string& target, int steps) {
    auto expected = model_.lower_bound(target);
    it->Seek(target);
    for (int i = 0; i <= steps; i++) {
      ASSERT_OK(it->status());
      ASSERT_EQ(expected != model_.end(), it->Valid()) << Hex(target);
      if (!it->Valid()) return;
      ASSERT_EQ(Hex(*expected), Hex(it->key()));
      if (i == steps) return;
      it->Next();
      ++expected;
    }
  }

  // Blocks that such seeks ask for.
  double BlocksPerSeek(int seeks, uint64_t seed, int nexts = 0) {
    Random64 random(seed);
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    const uint64_t before = BlocksUsed();
    for (int i = 0; i < seeks; i++) {
      Check(it.get(), BigEndian(random.Next()), nexts);
    }
    return static_cast<double>(BlocksUsed() - before) / seeks;
  }

  Random64 random_{1};
  std::set<std::string> model_;
};

constexpr char kSmallCache[] = ";block_cache=8K";

}  // namespace

// Filters of sets do not know where the next key is, but that there is none up
// to the key of another file; even better after a lesson.
TEST_F(OpenSeeksTest, ReadsFewRunsOfMany) {
  OpenWith(std::string("filter_policy={id=protean.Proteus;bits_per_key=12;"
                       "sample_every=1}") +
           kSmallCache);
  AddNumbers(20000, /*bottom=*/true);
  for (int i = 0; i < 3; i++) AddNumbers(1000);
  EXPECT_LT(BlocksPerSeek(2000, /*seed=*/2), 1.7);
  EXPECT_LT(BlocksPerSeek(2000, /*seed=*/3, /*nexts=*/1), 2.2);
  // The runs are made again.
  std::vector<LiveFileMetaData> files = Files();
  for (const LiveFileMetaData& file : files) {
    ASSERT_OK(db_->CompactFiles(CompactionOptions(), {file.name}, file.level));
  }
  EXPECT_LT(BlocksPerSeek(2000, /*seed=*/4), 1.1);
}

// RocksDB's iterator seeks anew when it has skipped some versions of a key, and
// takes markers at one place for such. Then all files seek again, within the
// same search: a file that reads must not wait again. With few runs, and other
// numbers of versions: differential_test.
TEST_F(OpenSeeksTest, ScanOverManyRuns) {
  constexpr int kRuns = 250;
  OpenWith("filter_policy=proteus:14;block_cache=64M");
  for (int run = 0; run < kRuns; run++) {
    WriteBatch batch;
    for (int i = 0; i < 200; i++) {
      const std::string key = BigEndian(random_.Next());
      ASSERT_OK(batch.Put(key, "v"));
      model_.insert(key);
    }
    ASSERT_OK(db_->Write(WriteOptions(), &batch));
    Flush();
  }
  for (const uint64_t target : {0x2000000000000001, 0x7123456789abcdef}) {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    ASSERT_OK(options_.statistics->Reset());
    const uint64_t before = get_perf_context()->internal_recent_skipped_count;
    Check(it.get(), BigEndian(target), /*steps=*/1 << 20);
    // No more than each marker at each place that it moves to, and a seek where
    // many wait at one.
    const uint64_t skipped =
        get_perf_context()->internal_recent_skipped_count - before;
    EXPECT_LE(skipped, 5u * kRuns);
    EXPECT_LE(Ticks(NUMBER_OF_RESEEKS_IN_ITERATION), kRuns / 10);
  }
}

// Where all blocks are in the cache, trying prefixes one by one takes longer
// than reading.
TEST_F(OpenSeeksTest, FiltersThatAreSlowAreAskedForReadsFromDisk) {
  OpenWith("filter_policy=proteus:12;block_cache=64M");
  AddNumbers(20000, /*bottom=*/true);
  for (int i = 0; i < 3; i++) AddNumbers(1000);
  const auto filtered = [&](int seeks) {
    const uint64_t before = get_perf_context()->bloom_sst_miss_count;
    BlocksPerSeek(seeks, /*seed=*/2);
    return static_cast<double>(get_perf_context()->bloom_sst_miss_count -
                               before) /
           seeks;
  };
  EXPECT_GT(filtered(1000), 2);
  Scan();
  BlocksPerSeek(1000, /*seed=*/2);
  EXPECT_LT(filtered(1000), 0.1);
  // Now they are on the disk again.
  const auto* table =
      options_.table_factory->GetOptions<BlockBasedTableOptions>();
  table->block_cache->EraseUnRefEntries();
  table->block_cache->SetCapacity(0);
  filtered(100);
  EXPECT_GT(filtered(1000), 2);
}

// Each of many files is read rarely; but the files of a level learn from each
// other what a read costs.
TEST_F(OpenSeeksTest, FilesOfLevelZeroLearnTogetherThatReadsAreCheap) {
  constexpr int kRuns = 100;
  OpenWith("filter_policy=proteus:12;block_cache=64M");
  for (int run = 0; run < kRuns; run++) AddNumbers(200);
  Scan();
  const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  const auto seek = [&](int seeks) {
    const uint64_t before = get_perf_context()->bloom_sst_miss_count;
    for (int i = 0; i < seeks; i++) {
      Check(it.get(), BigEndian(random_.Next()), 0);
    }
    return get_perf_context()->bloom_sst_miss_count - before;
  };
  EXPECT_GT(seek(100), 0u);
  EXPECT_EQ(seek(200), 0u);
}

// ---- Memory ----

namespace {

// An arena grows by 4 KB. With few files, that hides what an iterator takes.
constexpr uint64_t kFiles = 40;
constexpr uint64_t kKeysPerFile = 1000;

// The bytes that the process has allocated; 0 if the C library does not tell.
size_t AllocatedBytes() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return mallinfo2().uordblks;
#else
  return 0;
#endif
}

class IteratorMemoryTest : public NumberedDBTest {
 protected:
  // The bytes of an iterator that has read all files, and has sought.
  size_t BytesWith(const std::string& id, const std::string& table) {
    SetTable(table, id);
    OpenNew();
    for (uint64_t file = 0; file < kFiles; file++) {
      WriteNumbers(file, kFiles * kKeysPerFile - 1, /*step=*/kFiles);
    }
    size_t least = SIZE_MAX;
    for (int repetition = 0; repetition < 3; repetition++) {
      const size_t before = AllocatedBytes();
      const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      for (uint64_t i = 0; i < kKeysPerFile; i += 50) {
        it->Seek(Gap(i * kFiles));
        for (uint64_t key = 0; key < 2 * kFiles; key++) it->Next();
        EXPECT_TRUE(it->Valid());
      }
      least = std::min(least, AllocatedBytes() - before);
    }
    return least;
  }
};

TEST_F(IteratorMemoryTest, IsLittleMoreThanStocks) {
  const size_t stock =
      BytesWith("BlockBasedTable", "filter_policy=bloomfilter:12");
  if (stock == 0) GTEST_SKIP() << "malloc does not tell";
  for (const std::string policy : {"proteus:12", "surf:0:8"}) {
    const size_t bytes = BytesWith("ProteanTable", "filter_policy=" + policy);
    EXPECT_LE(static_cast<double>(bytes), 1.3 * static_cast<double>(stock))
        << policy;
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
