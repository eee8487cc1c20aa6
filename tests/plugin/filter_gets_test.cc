// SPDX-License-Identifier: Apache-2.0

//  Statistics of Get and MultiGet by column family and level, and of the
//  filters that were built.

#include <chrono>
#include <random>
#include <thread>

#include "rocksdb/merge_operator.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/statistics.h"
#include "tests/plugin/filter_statistics_fixture.h"
#include "utilities/merge_operators.h"

namespace ROCKSDB_NAMESPACE::protean {

class FilterGetsTest : public FilterStatisticsTest {
 protected:
  std::string Get(int key, const ReadOptions& read = {}) {
    std::string value;
    const Status s = db_->Get(read, Key(key), &value);
    EXPECT_TRUE(s.ok() || s.IsNotFound()) << s.ToString();
    return s.ok() ? value : "";
  }
  void MultiGet(const std::vector<int>& keys) {
    std::vector<std::string> names;
    for (const int key : keys) names.push_back(Key(key));
    const std::vector<Slice> slices(names.begin(), names.end());
    std::vector<PinnableSlice> values(keys.size());
    std::vector<Status> statuses(keys.size());
    db_->MultiGet(ReadOptions(), db_->DefaultColumnFamily(), keys.size(),
                  slices.data(), values.data(), statuses.data());
    for (const Status& s : statuses) {
      EXPECT_TRUE(s.ok() || s.IsNotFound()) << s.ToString();
    }
  }

  // Unasked, negatives, true positives, false positives.
  static Numbers NumbersOf(const FilterLookups& gets) {
    return {gets.unasked, gets.negatives, gets.true_positives,
            gets.false_positives};
  }
  // The numbers of levels 0, 1 and 2.
  std::vector<Numbers> Gets() {
    const FilterStatistics now = Now();
    std::vector<Numbers> gets;
    for (int level = 0; level < 3; level++) {
      gets.push_back(NumbersOf(Level(now, level).gets));
    }
    return gets;
  }
};

TEST_F(FilterGetsTest, Outcomes) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("value", Get(12));  // in level 0
  EXPECT_EQ((std::vector<Numbers>{{0, 0, 1, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}),
            Gets());
  EXPECT_EQ("", Get(13));  // nowhere
  EXPECT_EQ((std::vector<Numbers>{{0, 1, 1, 0}, {0, 1, 0, 0}, {0, 1, 0, 0}}),
            Gets());
  EXPECT_EQ("value", Get(10));  // in level 2
  EXPECT_EQ((std::vector<Numbers>{{0, 2, 1, 0}, {0, 2, 0, 0}, {0, 1, 1, 0}}),
            Gets());
  // A file is not asked for a key outside of its range.
  EXPECT_EQ("", Get(97));
  EXPECT_EQ((std::vector<Numbers>{{0, 2, 1, 0}, {0, 2, 0, 0}, {0, 2, 1, 0}}),
            Gets());
  MultiGet({12, 13, 15, 10, 99});
  EXPECT_EQ((std::vector<Numbers>{{0, 5, 2, 0}, {0, 4, 1, 0}, {0, 4, 2, 0}}),
            Gets());
  // Deletions answer.
  ASSERT_OK(db_->Delete(WriteOptions(), Key(10)));
  ASSERT_OK(db_->Flush(FlushOptions()));
  EXPECT_EQ("", Get(10));
  const FilterSums total = Now().total;
  EXPECT_EQ((Numbers{0, 13, 6, 0}), NumbersOf(total.gets));
  EXPECT_EQ(19u, total.gets.asked());
  EXPECT_EQ(0, total.gets.fpr());
  // Seeks are no Gets, and Gets are no seeks.
  EXPECT_EQ(0u, total.bounded_seeks.asked() + total.unbounded_seeks.asked());
  EXPECT_EQ("", Find(Key(6), Key(9)));
  EXPECT_EQ((Numbers{0, 13, 6, 0}), NumbersOf(Now().total.gets));
  EXPECT_EQ(-1, FilterLookups().fpr());
}

TEST_F(FilterGetsTest, FalsePositives) {
  SetTable("blind:1");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("value", Get(10));  // in level 2
  EXPECT_EQ((std::vector<Numbers>{{0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 1, 0}}),
            Gets());
  MultiGet({5, 6});
  EXPECT_EQ((std::vector<Numbers>{{0, 0, 0, 3}, {0, 0, 1, 2}, {0, 0, 1, 1}}),
            Gets());
  EXPECT_EQ(1, Now().levels[0].sums.gets.fpr());
  // The filter is right, but the key is too new for the snapshot.
  SetTable("exact:1");
  Close();
  Clean();
  Open();
  const Snapshot* const before = db_->GetSnapshot();
  AddFile(db_.get(), 0, 0);
  ReadOptions read;
  read.snapshot = before;
  EXPECT_EQ("", Get(10, read));
  EXPECT_EQ((Numbers{0, 0, 0, 1}), Gets()[0]);
  db_->ReleaseSnapshot(before);
}

// A look-up that has found operands of a merge goes on.
TEST_F(FilterGetsTest, Merges) {
  for (const char* policy : {"blind:1", "exact:1"}) {
    SCOPED_TRACE(policy);
    const bool blind = policy[0] == 'b';
    Close();
    Clean();
    options_.merge_operator = MergeOperators::CreateStringAppendOperator();
    SetTable(policy);
    Open();
    // All files have keys 0 to 9. Levels 2 and 0 know key 5.
    for (const int level : {2, 1, 0}) {
      for (const int key : {0, 9}) {
        ASSERT_OK(db_->Put(WriteOptions(), Key(key), "end"));
      }
      if (level != 1) {
        ASSERT_OK(db_->Merge(WriteOptions(), Key(5), std::to_string(level)));
      }
      ASSERT_OK(db_->Flush(FlushOptions()));
      if (level > 0) {
        ASSERT_OK(CompactLevel0(db_.get(), level, 1 << 20));
      }
    }
    EXPECT_EQ("2,0", Get(5));
    const Numbers useless = blind ? Numbers{0, 0, 0, 1} : Numbers{0, 1, 0, 0};
    EXPECT_EQ((std::vector<Numbers>{{0, 0, 1, 0}, useless, {0, 0, 1, 0}}),
              Gets());
    MultiGet({5});
    Numbers twice = useless;
    for (uint64_t& number : twice) number *= 2;
    EXPECT_EQ((std::vector<Numbers>{{0, 0, 2, 0}, twice, {0, 0, 2, 0}}),
              Gets());
  }
}

TEST_F(FilterGetsTest, FilesWithoutFilters) {
  SetTable("nullptr");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("value", Get(5));  // in level 1
  MultiGet({5, 6});
  EXPECT_EQ((std::vector<Numbers>{{3, 0, 0, 0}, {3, 0, 0, 0}, {1, 0, 0, 0}}),
            Gets());
  EXPECT_NE(std::string::npos, Now().ToString().find(", gets.unasked 7\n"))
      << Now().ToString();
  EXPECT_EQ(0u, Now().builds.filters);
}

// RocksDB's tickers count the same for the whole DB, whatever the filter.
TEST_F(FilterGetsTest, SameAsTickers) {
  for (const char* table :
       {"exact:1", "blind:1", "{id=protean.Proteus;bits_per_key=6}", "surf:0:0",
        "bloomfilter:3", "ribbonfilter:3",
        "surf:0:0;partition_filters=true;index_type=kTwoLevelIndexSearch;"
        "metadata_block_size=64",
        "bloomfilter:3;partition_filters=true;index_type=kTwoLevelIndexSearch;"
        "metadata_block_size=64",
        "exact:1;cache_index_and_filter_blocks=true"}) {
    SCOPED_TRACE(table);
    Close();
    Clean();
    options_.statistics = CreateDBStatistics();
    const std::string text = table;
    const size_t end =
        std::min(text.find(';', text.find('}') + 1), text.size());
    SetTable(text.substr(0, end),
             end == text.size() ? "" : text.substr(end + 1));
    ASSERT_NO_FATAL_FAILURE(MakeTree());
    std::mt19937 random(1);
    const auto draw = [&] { return static_cast<int>(random() % 105); };
    for (int i = 0; i < 300; i++) Get(draw());
    for (int i = 0; i < 40; i++) {
      std::vector<int> keys(1 + random() % 40);
      for (int& key : keys) key = draw();
      MultiGet(keys);
    }
    const FilterStatistics now = Now();
    EXPECT_LT(500u, now.ticker_gets.negatives + now.ticker_gets.true_positives +
                        now.ticker_gets.false_positives);
    EXPECT_LT(0u, now.ticker_gets.true_positives);
    EXPECT_EQ(
        (Numbers{0, now.ticker_gets.negatives, now.ticker_gets.true_positives,
                 now.ticker_gets.false_positives}),
        NumbersOf(now.total.gets));
  }
}

// A filter that the table keeps in memory is asked without RocksDB, one in the
// block cache by RocksDB. Both are counted alike, and so are keys for which
// RocksDB need not ask again, because its own counts are off.
TEST_F(FilterGetsTest, FiltersInMemoryAndInTheCacheCountAlike) {
  const auto count = [this](const char* policy, const char* table,
                            bool statistics, bool by_level) {
    Close();
    Clean();
    options_.statistics = statistics ? CreateDBStatistics() : nullptr;
    SetTable(policy, table);
    MakeTree();
    PerfContext* const counters = get_perf_context();
    const PerfLevel before = GetPerfLevel();
    SetPerfLevel(kEnableCount);
    counters->Reset();
    if (by_level) counters->EnablePerLevelPerfContext();
    std::mt19937 random(1);
    for (int i = 0; i < 300; i++) Get(static_cast<int>(random() % 105));
    Numbers numbers = {counters->bloom_sst_hit_count,
                       counters->bloom_sst_miss_count};
    EXPECT_LT(100u, numbers[1]);
    for (const Numbers& gets : Gets()) {
      numbers.insert(numbers.end(), gets.begin(), gets.end());
    }
    if (by_level) {
      for (const auto& [level, of_level] : *counters->level_to_perf_context) {
        numbers.insert(numbers.end(),
                       {level, of_level.bloom_filter_useful,
                        of_level.bloom_filter_full_positive,
                        of_level.bloom_filter_full_true_positive});
      }
      counters->ClearPerLevelPerfContext();
      counters->DisablePerLevelPerfContext();
    }
    SetPerfLevel(before);
    if (statistics) {
      for (const Tickers ticker :
           {BLOOM_FILTER_USEFUL, BLOOM_FILTER_FULL_POSITIVE,
            BLOOM_FILTER_FULL_TRUE_POSITIVE}) {
        numbers.push_back(options_.statistics->getTickerCount(ticker));
      }
      EXPECT_EQ(numbers[1],
                options_.statistics->getTickerCount(BLOOM_FILTER_USEFUL));
    }
    return numbers;
  };
  for (const char* policy :
       {"exact:1", "surf:8:0", "{id=protean.Proteus;bits_per_key=6}"}) {
    for (const auto& [statistics, by_level] :
         {std::pair(false, false), {true, false}, {true, true}}) {
      SCOPED_TRACE(std::string(policy) + " " + std::to_string(statistics) +
                   std::to_string(by_level));
      EXPECT_EQ(count(policy, "cache_index_and_filter_blocks=true", statistics,
                      by_level),
                count(policy, "", statistics, by_level));
    }
  }
}

TEST_F(FilterGetsTest, NoAnswerIsKnownWithoutThePerfContext) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  PerfContext* const counters = get_perf_context();
  const PerfLevel before = GetPerfLevel();
  SetPerfLevel(kDisable);
  counters->Reset();
  EXPECT_EQ("", Get(13));       // nowhere
  EXPECT_EQ("value", Get(10));  // in level 2
  EXPECT_EQ(0u, counters->bloom_sst_miss_count);
  EXPECT_EQ(0u, counters->bloom_sst_hit_count);
  SetPerfLevel(before);
  EXPECT_EQ((std::vector<Numbers>{{2, 0, 0, 0}, {2, 0, 0, 0}, {2, 0, 0, 0}}),
            Gets());
}

// A key may lie between two blocks. The index then knows that none need be
// read, but only if RocksDB asks the filter.
TEST_F(FilterGetsTest, IndexWithFirstKeysSparesReads) {
  for (const char* where : {"", "cache_index_and_filter_blocks=true"}) {
    SCOPED_TRACE(where);
    Close();
    Clean();
    SetTable("blind:1",
             std::string("index_type=kBinarySearchWithFirstKey;block_size=1;"
                         "index_shortening=kNoShortening;") +
                 where);
    Open();
    AddFile(db_.get(), 0, 0);
    for (int key = 1; key < 90; key++) Get(key);
    PerfContext* const counters = get_perf_context();
    const PerfLevel before = GetPerfLevel();
    SetPerfLevel(kEnableCount);
    counters->Reset();
    uint64_t found = 0;
    for (int key = 1; key < 90; key++) found += Get(key).empty() ? 0 : 1;
    const uint64_t data_blocks = counters->block_cache_hit_count -
                                 counters->block_cache_index_hit_count -
                                 counters->block_cache_filter_hit_count;
    SetPerfLevel(before);
    EXPECT_EQ(8u, found);
    EXPECT_EQ(found, data_blocks + counters->block_read_count);
  }
}

// Files that were written before the DB came to Protean.
TEST_F(FilterGetsTest, FiltersOfRocksDB) {
  SetTable("bloomfilter:20");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  SetTable("exact:1");
  Reopen();
  EXPECT_EQ("value", Get(10));
  EXPECT_EQ((std::vector<Numbers>{{0, 1, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}),
            Gets());
}

TEST_F(FilterGetsTest, ColumnFamiliesAndReopening) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  ColumnFamilyHandle* family;
  ASSERT_OK(db_->CreateColumnFamily(options_, "other", &family));
  families_.push_back(family);
  ASSERT_OK(db_->Put(WriteOptions(), family, Key(1), "value"));
  ASSERT_OK(db_->Flush(FlushOptions(), family));
  std::string value;
  ASSERT_OK(db_->Get(ReadOptions(), family, Key(1), &value));
  EXPECT_EQ((Numbers{0, 0, 1, 0}), NumbersOf(Of(db_.get(), family).total.gets));
  EXPECT_EQ((Numbers{0, 0, 0, 0}), NumbersOf(Now().total.gets));
  EXPECT_EQ("", Get(13));
  // A compaction leaves the counts to the levels.
  CompactRangeOptions all;
  all.change_level = true;
  all.target_level = 3;
  ASSERT_OK(db_->CompactRange(all, nullptr, nullptr));
  EXPECT_EQ((std::vector<Numbers>{{0, 1, 0, 0}, {0, 1, 0, 0}, {0, 1, 0, 0}}),
            Gets());
  EXPECT_EQ("", Get(13));
  EXPECT_EQ((Numbers{0, 4, 0, 0}), NumbersOf(Now().total.gets));
  EXPECT_EQ((Numbers{0, 4, 1, 0}), NumbersOf(GetFilterSums(path_).gets));
  ASSERT_OK(db_->DropColumnFamily(family));
  // Other levels had the same counters.
  Reopen();
  EXPECT_EQ((Numbers{0, 0, 0, 0}), NumbersOf(Now().total.gets));
  EXPECT_EQ("", Get(13));
  EXPECT_EQ((Numbers{0, 1, 0, 0}), NumbersOf(Now().total.gets));
}

// All counts are there at once, while threads run and when they have ended.
TEST_F(FilterGetsTest, Threads) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  constexpr uint64_t kThreads = 8;
  constexpr uint64_t kGets = 500;
  std::atomic<uint64_t> done{0};
  std::atomic<bool> seen{false};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kThreads; i++) {
    threads.emplace_back([&] {
      for (uint64_t j = 0; j < kGets; j++) {
        EXPECT_EQ("", Get(13));
        EXPECT_EQ("value", Get(12));
      }
      done++;
      while (!seen) std::this_thread::yield();
    });
  }
  while (done < kThreads) {
    // Sums never fall.
    const FilterLookups before = Now().total.gets;
    EXPECT_LE(before.negatives, Now().total.gets.negatives);
  }
  const Numbers all = {0, 3 * kThreads * kGets, kThreads * kGets, 0};
  EXPECT_EQ(all, NumbersOf(Now().total.gets));
  seen = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all, NumbersOf(Now().total.gets));
  std::thread([&] { EXPECT_EQ("", Get(13)); }).join();
  EXPECT_EQ(all[1] + 3, Now().total.gets.negatives);
}

// ---- Filters built ----

TEST_F(FilterGetsTest, FiltersBuilt) {
  SetTable("{id=protean.Proteus;bits_per_key=14}");
  Open();
  // The first file is written when no file of the DB is open.
  const auto begin = std::chrono::steady_clock::now();
  AddFile(db_.get(), 0, 0, 500);
  FilterStatistics now = Now();
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(1u, now.builds.filters);
  EXPECT_EQ(500u, now.builds.keys);
  EXPECT_EQ(now.total.filter_bytes, now.builds.filter_bytes);
  EXPECT_EQ(now.total.model_micros, now.builds.model_micros);
  EXPECT_LT(0u, now.builds.model_micros);
  EXPECT_LT(0u, now.builds.build_micros);
  EXPECT_GT(spent.count() * 1e6, static_cast<double>(now.builds.build_micros +
                                                     now.builds.model_micros));
  EXPECT_NE(std::string::npos,
            now.ToString().find("\nbuilds: filters 1, keys 500, "));
  AddFile(db_.get(), 0, 5, 100);
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  const uint64_t compacted = Now().live_files;
  const FilterBuilds builds = Now().builds;
  EXPECT_EQ(2 + compacted, builds.filters);
  EXPECT_EQ(500u + 100 + 600, builds.keys);
  EXPECT_LE(now.builds.build_micros, builds.build_micros);
  // Not of another column family, nor of another process.
  ColumnFamilyHandle* family;
  ASSERT_OK(db_->CreateColumnFamily(options_, "other", &family));
  families_.push_back(family);
  const std::string file = path_ + "/outside.sst";
  SstFileWriter writer(EnvOptions(), options_);
  ASSERT_OK(writer.Open(file));
  ASSERT_OK(writer.Put(Key(1), "value"));
  ASSERT_OK(writer.Finish());
  IngestExternalFileOptions ingestion;
  ingestion.move_files = true;
  ASSERT_OK(db_->IngestExternalFile(family, {file}, ingestion));
  EXPECT_EQ(0u, Of(db_.get(), family).builds.filters);
  ASSERT_OK(db_->Put(WriteOptions(), family, Key(2), "value"));
  ASSERT_OK(db_->Flush(FlushOptions(), family));
  EXPECT_EQ(1u, Of(db_.get(), family).builds.filters);
  EXPECT_EQ(2 + compacted, Now().builds.filters);
  ASSERT_OK(db_->DropColumnFamily(family));
  Reopen();
  EXPECT_EQ(0u, Now().builds.filters);
}

TEST_F(FilterGetsTest, PartitionedFiltersBuilt) {
  SetTable("surf:0:4",
           "partition_filters=true;index_type=kTwoLevelIndexSearch;"
           "metadata_block_size=64");
  Open();
  AddFile(db_.get(), 0, 0, 500);
  const FilterBuilds builds = Now().builds;
  EXPECT_EQ(1u, builds.filters);
  EXPECT_EQ(500u, builds.keys);
  // The filter's size includes the index of the parts.
  EXPECT_LT(0u, builds.filter_bytes);
  EXPECT_LE(builds.filter_bytes, Now().total.filter_bytes);
  EXPECT_EQ(0u, builds.model_micros);
  EXPECT_LT(0u, builds.build_micros);
}

}  // namespace ROCKSDB_NAMESPACE::protean
