// SPDX-License-Identifier: Apache-2.0

//  Open seeks over many sorted runs: what files that wait for each other cost,
//  and that a search comes to an end wherever they wait.

#include <gtest/gtest.h>

#include <set>

#include "plugin/protean.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "test_util/testharness.h"
#include "tests/table/twin_db.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A DB of sorted runs, and what is in it.
class OpenSeeksTest : public testing::Test {
 protected:
  OpenSeeksTest() {
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    options_.compression = kNoCompression;
    options_.level0_slowdown_writes_trigger = 1000;
    options_.level0_stop_writes_trigger = 1000;
    EXPECT_OK(DestroyDB(path_, options_));
  }
  ~OpenSeeksTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, options_));
  }

  void Open(const std::string& table) {
    options_.table_factory = NewTable("ProteanTable", table);
    ASSERT_OK(OpenDB(&db_, options_, path_));
  }

  // One run of these keys; at the bottom of the tree or on level 0.
  void AddRun(const std::vector<std::string>& keys, bool bottom = false) {
    for (const std::string& key : keys) {
      ASSERT_OK(db_->Put(WriteOptions(), key, std::string(100, 'v')));
      model_.insert(key);
    }
    ASSERT_OK(db_->Flush(FlushOptions()));
    if (bottom) {
      ASSERT_OK(CompactLevel0(db_.get(), 6, 1 << 30));
    }
  }
  // Numbers that are spread out.
  void AddNumbers(size_t count, bool bottom = false) {
    std::vector<std::string> keys(count);
    for (std::string& key : keys) key = BigEndian(random_.Next());
    AddRun(keys, bottom);
  }

  // Checks that an iterator at `target` and some steps on is where it should
  // be.
  void Check(Iterator* it, const std::string& target, int steps) {
    auto expected = model_.lower_bound(target);
    it->Seek(target);
    for (int i = 0; i <= steps; i++) {
      ASSERT_OK(it->status());
      ASSERT_EQ(expected != model_.end(), it->Valid())
          << Slice(target).ToString(true);
      if (!it->Valid() || i == steps) return;
      ASSERT_EQ(Slice(*expected).ToString(true), it->key().ToString(true));
      it->Next();
      ++expected;
    }
  }

  // Blocks that such seeks ask for.
  double BlocksPerSeek(int seeks, uint64_t seed, int nexts = 0) {
    Random64 random(seed);
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    const auto blocks = [] {
      return get_perf_context()->block_read_count +
             get_perf_context()->block_cache_hit_count;
    };
    const uint64_t before = blocks();
    for (int i = 0; i < seeks; i++) {
      Check(it.get(), BigEndian(random.Next()), nexts);
    }
    return static_cast<double>(blocks() - before) / seeks;
  }

  const std::string path_ = test::PerThreadDBPath("open_seeks_test");
  Options options_;
  Random64 random_{1};
  std::unique_ptr<DB> db_;
  std::set<std::string> model_;
};

constexpr char kSmallCache[] = ";block_cache=8K";

}  // namespace

// Filters of sets do not know where the next key is, but that there is none up
// to the key of another file; even better after a lesson.
TEST_F(OpenSeeksTest, ReadsFewRunsOfMany) {
  Open(std::string("filter_policy={id=protean.Proteus;bits_per_key=12;"
                   "sample_every=1}") +
       kSmallCache);
  AddNumbers(20000, /*bottom=*/true);
  for (int i = 0; i < 3; i++) AddNumbers(1000);
  EXPECT_LT(BlocksPerSeek(2000, /*seed=*/2), 1.7);
  EXPECT_LT(BlocksPerSeek(2000, /*seed=*/3, /*nexts=*/1), 2.2);
  // The runs are made again.
  std::vector<LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  for (const LiveFileMetaData& file : files) {
    ASSERT_OK(db_->CompactFiles(CompactionOptions(), {file.name}, file.level));
  }
  EXPECT_LT(BlocksPerSeek(2000, /*seed=*/4), 1.1);
}

// RocksDB's iterator seeks anew when it has skipped some versions of a key, and
// takes markers at one place for such.
TEST_F(OpenSeeksTest, MoreRunsThanItSkips) {
  for (const uint64_t max_skip : {0, 1, 8}) {
    options_.max_sequential_skip_in_iterations = max_skip;
    db_.reset();
    ASSERT_OK(DestroyDB(path_, options_));
    model_.clear();
    Open(std::string("filter_policy=proteus:12") + kSmallCache);
    for (int run = 0; run < 24; run++) {
      std::vector<std::string> keys;
      for (int i = 0; i < 50; i++) {
        // Also keys that others begin with, which go on with zeros.
        std::string key = BigEndian(random_.Next() & ~uint64_t{0xffff});
        key.resize(random_.Uniform(2) == 0 ? 8 : 6 + random_.Uniform(6));
        keys.push_back(key);
      }
      AddRun(keys);
    }
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (int i = 0; i < 1000 && !HasFailure(); i++) {
      auto near = model_.lower_bound(BigEndian(random_.Next()));
      std::string target =
          near == model_.end() ? BigEndian(random_.Next()) : *near;
      switch (random_.Uniform(4)) {
        case 0:
          target.append(random_.Uniform(4), '\0');
          break;
        case 1:
          target = BigEndian(random_.Next());
          break;
        case 2:
          target.resize(random_.Uniform(target.size()));
          break;
        default:
          break;
      }
      Check(it.get(), target, static_cast<int>(random_.Uniform(4)));
    }
  }
}

// Then all of them seek again, within the same search: a file that reads must
// not wait again.
TEST_F(OpenSeeksTest, ScanOverManyRuns) {
  constexpr int kRuns = 250;
  options_.statistics = CreateDBStatistics();
  Open("filter_policy=proteus:14;block_cache=64M");
  for (int run = 0; run < kRuns; run++) {
    WriteBatch batch;
    for (int i = 0; i < 200; i++) {
      const std::string key = BigEndian(random_.Next());
      ASSERT_OK(batch.Put(key, "v"));
      model_.insert(key);
    }
    ASSERT_OK(db_->Write(WriteOptions(), &batch));
    ASSERT_OK(db_->Flush(FlushOptions()));
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
    EXPECT_LE(
        options_.statistics->getTickerCount(NUMBER_OF_RESEEKS_IN_ITERATION),
        kRuns / 10);
  }
}

// A scan that begins where the one before it has ended.
TEST_F(OpenSeeksTest, Pages) {
  Open(std::string("filter_policy=proteus:12") + kSmallCache);
  AddNumbers(3000, /*bottom=*/true);
  for (int i = 0; i < 10; i++) AddNumbers(200);
  const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  std::string target;
  for (auto key = model_.begin(); key != model_.end() && !HasFailure();) {
    Check(it.get(), target, 2);
    for (int i = 0; i < 3 && key != model_.end(); i++) target = *key++;
    target.push_back('\0');
  }
}

// Where all blocks are in the cache, trying prefixes one by one takes longer
// than reading.
TEST_F(OpenSeeksTest, FiltersThatAreSlowAreAskedForReadsFromDisk) {
  Open("filter_policy=proteus:12;block_cache=64M");
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
  // Loads all.
  std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
  }
  it.reset();
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
  Open("filter_policy=proteus:12;block_cache=64M");
  for (int run = 0; run < kRuns; run++) AddNumbers(200);
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
    }
  }
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

}  // namespace ROCKSDB_NAMESPACE::protean
