// SPDX-License-Identifier: Apache-2.0

//  Statistics of files that come and go, of several DBs and column families, of
//  filters that are not used, of Get and of samples; and the line in the log.

#include <chrono>
#include <functional>

#include "rocksdb/comparator.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/statistics.h"
#include "rocksdb/utilities/stackable_db.h"
#include "tests/open_secondary.h"
#include "tests/plugin/filter_statistics_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Files that come and go ----

TEST_F(FilterStatisticsTest, CompactionsLeaveTheSums) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", Find(Key(6), Key(9)));
  EXPECT_EQ(Key(2), Find(Key(1), {}));
  const FilterStatistics old = Now();
  EXPECT_EQ(3u, old.total.files);
  EXPECT_EQ(3u, old.live_files);
  EXPECT_EQ(31u, old.total.keys);
  EXPECT_EQ(31u, old.total.entries);
  CompactRangeOptions all;
  all.change_level = true;
  all.target_level = 3;
  ASSERT_OK(db_->CompactRange(all, nullptr, nullptr));
  FilterStatistics now = Now();
  EXPECT_EQ(1u, now.total.files);
  EXPECT_EQ(1u, now.live_files);
  EXPECT_EQ(1u, now.files.size());
  EXPECT_EQ(31u, now.total.keys);
  for (int level = 0; level < 3; level++) {
    EXPECT_EQ(NumbersOf(Level(old, level).closed),
              NumbersOf(Level(now, level).closed));
    EXPECT_EQ(NumbersOf(Level(old, level).open),
              NumbersOf(Level(now, level).open));
  }
  EXPECT_EQ("", Find(Key(6), Key(9)));
  now = Now();
  EXPECT_EQ(old.total.closed.negatives + 1, now.total.closed.negatives);
  EXPECT_EQ(1u, now.files[0].closed.negatives);
}

// With a small max_open_files, files are closed and opened again all the time.
TEST_F(FilterStatisticsTest, SmallTableCaches) {
  Open();
  constexpr int kFiles = 60;
  for (int i = 0; i < kFiles; i++) AddFile(db_.get(), 0, 100 * i, 5);
  Close();
  options_.max_open_files = 20;
  options_.skip_stats_update_on_db_open = true;
  Open();
  EXPECT_EQ(uint64_t{kFiles}, Now().live_files);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < kFiles; i++) {
      EXPECT_EQ("", Find(Key(100 * i + 1), Key(100 * i + 9)));
    }
  }
  const FilterStatistics now = Now();
  EXPECT_LT(now.total.files, uint64_t{kFiles});
  // Each seek asks all files of level 0.
  EXPECT_EQ(3u * kFiles * kFiles, now.total.closed.negatives);
  EXPECT_EQ(3u * kFiles * kFiles, now.total.closed.asked());
}

// ---- Several DBs and column families ----

TEST_F(FilterStatisticsTest, TwoDBsThatShareOptions) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  std::unique_ptr<DB> other;
  ASSERT_OK(OpenDB(&other, options_, path_ + "_other"));
  AddFile(other.get(), 0, 0);
  EXPECT_EQ("", Find(Key(6), Key(9)));
  EXPECT_EQ(3u, Now().total.closed.negatives);
  const FilterStatistics of_other =
      Of(other.get(), other->DefaultColumnFamily());
  EXPECT_EQ(1u, of_other.total.files);
  EXPECT_EQ(0u, of_other.total.closed.asked());
  EXPECT_EQ(path_ + "_other", of_other.db);
}

TEST_F(FilterStatisticsTest, InstancesThatOnlyRead) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  Close();
  ASSERT_OK(OpenReadOnly(&db_, options_, path_));
  EXPECT_EQ("", Find(Key(6), Key(9)));
  EXPECT_EQ(3u, Now().total.closed.negatives);
  EXPECT_EQ(3u, Now().live_files);
  Close();
  options_.max_open_files = -1;
  ASSERT_OK(OpenSecondary(&db_, options_, path_, path_ + "_log"));
  EXPECT_EQ("", Find(Key(6), Key(9)));
  EXPECT_EQ(3u, Now().total.closed.negatives);
}

TEST_F(FilterStatisticsTest, WrappedDBs) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  db_.reset(new StackableDB(new StackableDB(db_.release())));
  EXPECT_EQ("", Find(Key(6), Key(9)));
  EXPECT_EQ(3u, Now().total.closed.negatives);
  FilterStatistics none;
  EXPECT_TRUE(GetFilterStatistics(nullptr, nullptr, &none).IsInvalidArgument());
}

// A file that was written outside of the DB does not name its column family.
TEST_F(FilterStatisticsTest, ColumnFamiliesAndFilesFromOutside) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  ColumnFamilyHandle* family;
  ASSERT_OK(db_->CreateColumnFamily(options_, "other", &family));
  families_.push_back(family);
  EXPECT_EQ(0u, Of(db_.get(), family).total.files);
  const std::string file = path_ + "/outside.sst";
  SstFileWriter writer(EnvOptions(), options_);
  ASSERT_OK(writer.Open(file));
  ASSERT_OK(writer.Put(Key(3), "value"));
  ASSERT_OK(writer.Put(Key(7), "value"));
  ASSERT_OK(writer.Finish());
  ASSERT_OK(
      db_->IngestExternalFile(family, {file}, IngestExternalFileOptions()));
  const std::string upper = Key(6);
  const Slice bound = upper;
  ReadOptions read;
  read.iterate_upper_bound = &bound;
  std::unique_ptr<Iterator> it(db_->NewIterator(read, family));
  it->Seek(Key(4));
  EXPECT_FALSE(it->Valid());
  it.reset();
  const FilterStatistics statistics = Of(db_.get(), family);
  EXPECT_EQ("other", statistics.column_family);
  EXPECT_EQ(1u, statistics.total.files);
  EXPECT_EQ(1u, statistics.total.closed.negatives);
  EXPECT_EQ(3u, Now().total.files);
  EXPECT_EQ(0u, Now().total.closed.asked());
}

// A column family may be at the address of one that was dropped.
TEST_F(FilterStatisticsTest, ColumnFamiliesAfterOthers) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  const std::string upper = Key(6);
  const Slice bound = upper;
  ReadOptions read;
  read.iterate_upper_bound = &bound;
  for (int i = 0; i < 20; i++) {
    ColumnFamilyHandle* family;
    ASSERT_OK(
        db_->CreateColumnFamily(options_, "cf" + std::to_string(i), &family));
    for (const int key : {3, 7}) {
      ASSERT_OK(db_->Put(WriteOptions(), family, Key(key), "value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions(), family));
    EXPECT_EQ(0u, Of(db_.get(), family).total.closed.asked()) << i;
    std::unique_ptr<Iterator> it(db_->NewIterator(read, family));
    it->Seek(Key(4));
    it.reset();
    EXPECT_EQ(1u, Of(db_.get(), family).total.closed.asked()) << i;
    ASSERT_OK(db_->DropColumnFamily(family));
    ASSERT_OK(db_->DestroyColumnFamilyHandle(family));
  }
}

// ---- Filters that are not used ----

TEST_F(FilterStatisticsTest, FiltersThatAreNotUsed) {
  struct Case {
    const char* reason;
    const char* policy;
    std::function<void(Options*)> change;
    std::string key;
  };
  const auto nothing = [](Options*) {};
  const std::vector<Case> cases = {
      {"", "exact:1", nothing, "0000"},
      {"no filter", "nullptr", nothing, "0000"},
      {"filter of RocksDB", "bloomfilter:10", nothing, "0000"},
      {"filter of RocksDB",
       "bloomfilter:10;partition_filters=true;index_type=kTwoLevelIndexSearch",
       nothing, "0000"},
      {"other comparator", "exact:1",
       [](Options* o) { o->comparator = ReverseBytewiseComparator(); }, "0000"},
      {"no whole keys", "exact:1;whole_key_filtering=false",
       [](Options* o) {
         o->prefix_extractor.reset(NewFixedPrefixTransform(2));
       },
       "0000"},
      {"keys not held", "exact:1", nothing, "too long"},
      {"keys not held", "exact:1;cache_index_and_filter_blocks=true", nothing,
       "too long"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.policy) + " " + c.reason);
    Close();
    Clean();
    const Options kept = options_;
    c.change(&options_);
    SetTable(c.policy);
    Open();
    ASSERT_OK(db_->Put(WriteOptions(), c.key, "value"));
    ASSERT_OK(db_->Flush(FlushOptions()));
    Reopen();
    const FilterStatistics statistics = Now();
    const bool used = std::string(c.reason).empty();
    EXPECT_EQ(1u, statistics.total.files);
    EXPECT_EQ(1u, statistics.total.entries);
    EXPECT_EQ(used ? 1u : 0u, statistics.total.used());
    EXPECT_EQ(used ? 1u : 0u, statistics.total.keys);
    ASSERT_EQ(1u, statistics.files.size());
    EXPECT_EQ(c.reason, statistics.files[0].unused);
    if (!used) {
      EXPECT_EQ((std::map<std::string, uint64_t>{{c.reason, 1}}),
                statistics.total.unused);
    }
    options_ = kept;
  }
}

// The files have filters of RocksDB from before Protean was configured.
TEST_F(FilterStatisticsTest, FiltersFromBeforeProtean) {
  SetTable("bloomfilter:10");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  SetTable("exact:1");
  Reopen();
  AddFile(db_.get(), 0, 3);
  const FilterStatistics statistics = Now();
  EXPECT_EQ((std::map<std::string, uint64_t>{{"filter of RocksDB", 3}}),
            statistics.total.unused);
  EXPECT_EQ(1u, statistics.total.used());
}

TEST_F(FilterStatisticsTest, DamagedFilters) {
  for (const char* table : {"", "cache_index_and_filter_blocks=true"}) {
    SCOPED_TRACE(table);
    Close();
    Clean();
    SetTable("exact:1", table);
    Open();
    AddFile(db_.get(), 0, 0);
    const std::string path = Now().files.at(0).path;
    Close();
    std::string contents;
    ASSERT_OK(ReadFileToString(Env::Default(), path, &contents));
    const size_t filter = contents.find("PRTN");
    ASSERT_NE(std::string::npos, filter);
    contents[filter + 40] ^= 1;
    ASSERT_OK(WriteStringToFile(Env::Default(), contents, path));
    SetTable("exact:1", table);  // with another block cache
    Open();
    EXPECT_EQ("", Find(Key(6), Key(9)));
    EXPECT_EQ((std::map<std::string, uint64_t>{{"damaged", 1}}),
              Now().total.unused);
    EXPECT_EQ(0u, Now().total.closed.asked());
  }
}

// ---- Gets and samples ----

TEST_F(FilterStatisticsTest, Gets) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_FALSE(Now().gets.known);
  options_.statistics = CreateDBStatistics();
  Reopen();
  std::string value;
  EXPECT_OK(db_->Get(ReadOptions(), Key(12), &value));
  EXPECT_TRUE(db_->Get(ReadOptions(), Key(13), &value).IsNotFound());
  const FilterGets gets = Now().gets;
  EXPECT_TRUE(gets.known);
  EXPECT_EQ(3u, gets.negatives);
  EXPECT_EQ(1u, gets.positives);
  EXPECT_EQ(1u, gets.true_positives);
  EXPECT_EQ(0u, gets.false_positives());
}

TEST_F(FilterStatisticsTest, Samples) {
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_FALSE(Now().samples.exists);
  SetTable("{id=protean.Proteus;sample_every=2;sample_capacity=10}");
  Close();
  Clean();
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  for (int i = 0; i < 8; i++) EXPECT_EQ("", Find(Key(6), Key(9)));
  const SampleQueueStatistics samples = Now().samples;
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(samples.exists);
  EXPECT_EQ(10u, samples.held);
  EXPECT_EQ(10u, samples.capacity);
  EXPECT_EQ(2u, samples.sample_every);
  EXPECT_EQ(12u, samples.recorded);
  EXPECT_EQ(12u, samples.sampled);
  EXPECT_EQ(0u, samples.dropped);
  EXPECT_GE(samples.age_seconds, 0);
  EXPECT_LE(samples.age_seconds, spent.count());
}

// ---- Without a DB at hand ----

TEST_F(FilterStatisticsTest, SumsOfAFolder) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  for (int i = 0; i < 5; i++) EXPECT_EQ("", Find(Key(6), Key(9)));
  FilterStatistics statistics;
  ASSERT_OK(
      GetFilterStatistics(db_.get(), db_->DefaultColumnFamily(), &statistics));
  const std::string above = path_.substr(0, path_.rfind('/'));
  for (const std::string& folder : {path_, path_ + "//", above}) {
    const FilterSums sums = GetFilterSums(folder);
    EXPECT_EQ(statistics.total.files, sums.files) << folder;
    EXPECT_EQ(statistics.total.keys, sums.keys);
    EXPECT_EQ(statistics.total.filter_bytes, sums.filter_bytes);
    EXPECT_EQ(statistics.total.closed.asked(), sums.closed.asked());
    EXPECT_LT(0u, sums.closed.negatives);
  }
  // A folder whose name is a mere prefix does not count.
  EXPECT_EQ(0u, GetFilterSums(path_.substr(0, path_.size() - 1)).files);
  Close();
  EXPECT_EQ(0u, GetFilterSums(path_).files);
}

// ---- The log ----

TEST_F(FilterStatisticsTest, ALineInTheLogForEachPeriod) {
  StoppedClock clock;
  options_.env = &clock;
  options_.stats_dump_period_sec = 100;
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  const auto lines = [&] {
    return log_->Lines({"Protean: column family default: L0"});
  };
  const auto seek = [&] {
    for (int i = 0; i < 200; i++) EXPECT_EQ("", Find(Key(6), Key(9)));
  };
  seek();
  EXPECT_EQ(0u, lines().size());
  for (size_t period = 1; period <= 3; period++) {
    clock.Advance(101);
    EXPECT_EQ(period - 1, lines().size());
    seek();
    EXPECT_EQ(period, lines().size());
    seek();
    EXPECT_EQ(period, lines().size());
  }
  const std::string line = lines().at(0);
  EXPECT_NE(std::string::npos, line.find("L0 1 files (1 filtered, ")) << line;
  EXPECT_NE(std::string::npos, line.find("; L2 1 files")) << line;
  EXPECT_EQ('.', line.back());
  // Opening or closing a file writes the line, too.
  clock.Advance(101);
  AddFile(db_.get(), 0, 3);
  EXPECT_EQ(4u, lines().size());

  // When the clock is set years ahead, and when it is set back, there is a line
  // at once, and the next one after a period.
  constexpr uint64_t kYears = 20 * 365 * 24 * 60 * 60;
  for (const uint64_t now : {kYears, uint64_t{1}}) {
    clock.SetTo(now);
    const size_t before = lines().size();
    seek();
    seek();
    EXPECT_EQ(before + 1, lines().size()) << now;
    clock.Advance(101);
    seek();
    EXPECT_EQ(before + 2, lines().size()) << now;
  }

  const size_t last = lines().size();
  Close();
  options_.stats_dump_period_sec = 0;
  Open();
  clock.Advance(101);
  seek();
  clock.Advance(101);
  seek();
  EXPECT_EQ(last, lines().size());
  Close();
  options_.env = Env::Default();
}

}  // namespace ROCKSDB_NAMESPACE::protean
