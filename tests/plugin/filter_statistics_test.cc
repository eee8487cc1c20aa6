// SPDX-License-Identifier: Apache-2.0

//  How the outcomes of seeks are counted, and when iterators hand them over;
//  statistics of files that come and go, of several DBs and column families, of
//  filters that are not used, and of samples; and the line in the log.

#include <unistd.h>

#include <chrono>
#include <regex>

#include "rocksdb/slice_transform.h"
#include "rocksdb/utilities/stackable_db.h"
#include "tests/plugin/filter_statistics_fixture.h"
#include "tests/sst_damage.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Outcomes of seeks ----

TEST_F(FilterStatisticsTest, ClosedSeeks) {
  ExpectFirst(6, 9, "", {kNegative, kNegative, kNegative});
  // The target is a key of level 0.
  ExpectFirst(12, 13, Key(12), {kTrue, kNegative, kNegative});
  // The target is no key, so the file waits.
  ExpectFirst(11, 14, Key(12), {kReachedTrue, kNegative, kNegative});
  // All files wait; the search ends in the first one.
  ExpectFirst(1, 100, Key(2), {kReachedTrue, kPassed, kPassed});
  ExpectFirst(3, 20, Key(5), {kPassed, kReachedTrue, kPassed});
}

TEST_F(FilterStatisticsTest, OpenSeeks) {
  EXPECT_EQ(Key(2), FirstFrom(Key(1)));
  ExpectOpen({kReachedTrue, kPassed, kPassed});
  EXPECT_EQ(Key(15), FirstFrom(Key(15)));
  ExpectOpen({kPassed, kTrue, kPassed});
  // The target is beyond all files. Only level 0 asks the filter: in other
  // levels, RocksDB finds no file to seek in.
  EXPECT_EQ("", FirstFrom(Key(101)));
  ExpectOpen({kNegative, kNothing, kNothing});
  // Without a target, the filter cannot be asked.
  EXPECT_EQ(31u, AllRecords(db_.get()).size());
  ExpectOpen({kNothing, kNothing, kNothing});
}

TEST_F(FilterStatisticsTest, Backwards) {
  ExpectLast(6, 9, "", {kNegative, kNegative, kNegative});
  ExpectLast(4, 9, Key(5), {kNegative, kTrue, kNegative});
  // An inverted range is not asked.
  ExpectLast(6, 4, "", {kNothing, kNothing, kNothing});
  EXPECT_EQ(Key(100), LastIn(Key(96), ""));
  ExpectClosed({kNegative, kNegative, kTrue});
}

TEST_F(FilterStatisticsTest, AFilterThatErrs) {
  SetTable(kBlind);
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  ExpectFirst(6, 9, "", {kFalse, kFalse, kFalse});
  ExpectFirst(12, 13, Key(12), {kTrue, kFalse, kFalse});
  ExpectFirst(11, 16, Key(12), {kTrue, kTrue, kFalse});
  // The filter knows the smallest key.
  EXPECT_EQ(Key(0), FirstIn("000", Key(1)));
  ExpectClosed({kNegative, kNegative, kReachedTrue});
  ExpectLast(6, 9, "", {kFalse, kFalse, kFalse});
  ExpectLast(4, 9, Key(5), {kFalse, kTrue, kFalse});
  EXPECT_EQ(Key(12), FirstFrom(Key(11)));
  ExpectOpen({kTrue, kFalse, kFalse});
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    it->Seek(Key(11));
    // The search goes on to 0015, which is in level 1.
    it->Next();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(Key(15), it->key());
  }
  ExpectOpen({kTrue, kTrue, kFalse});
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (int i = 0; i < 3; i++) {
      it->Seek(Key(11));
      ASSERT_TRUE(it->Valid());
    }
  }
  // The second seek finds the blocks loaded.
  ExpectOpen({{0, 0, 3, 0, 0}, {0, 0, 2, 1, 0}, {0, 0, 2, 1, 0}});
}

// RocksDB's iterator over a level goes from file to file.
TEST_F(FilterStatisticsTest, SeeksThatGoOnInTheNextFile) {
  OpenNew();
  for (const int first : {5, 55, 105}) AddFile(1, first, 5);
  Open();
  const ReadOptions read = UpTo(57);
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    int keys = 0;
    for (it->Seek(Key(44)); it->Valid(); it->Next()) keys++;
    EXPECT_EQ(2, keys);
  }
  ExpectClosed({kNothing, {0, 0, 2, 0, 1}, kNothing});
  // The target is between two files; RocksDB does not seek in the first one.
  ExpectFirst(46, 54, "", {kNothing, kNegative, kNothing});
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    it->Seek(Key(45));
    ASSERT_TRUE(it->Valid());
    it->Next();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(Key(55), it->key());
  }
  ExpectClosed({kNothing, {0, 0, 2, 0, 0}, kNothing});
  ExpectFirst(45, 50, Key(45), {kNothing, kTrue, kNothing});
}

// With a bound, the filter is asked for the range, in which there is a key, and
// by RocksDB for the prefix, with which there is none.
TEST_F(FilterStatisticsTest, PrefixSeeks) {
  options_.prefix_extractor.reset(NewFixedPrefixTransform(2));
  OpenNew();
  WriteFile({Key(0), Key(50), Key(2000)});
  Open();
  ReadOptions read;
  read.prefix_same_as_start = true;
  EXPECT_EQ("", FirstIn(Key(1000), Key(3000), read));
  ExpectClosed({kNegative, kNothing, kNothing});
  EXPECT_EQ("", FirstIn(Key(10), Key(20), read));
  ExpectClosed({kNegative, kNothing, kNothing});
  EXPECT_EQ(Key(50), FirstIn(Key(10), Key(60), read));
  ExpectClosed({kTrue, kNothing, kNothing});
  // Without a bound, the prefix ends the range.
  EXPECT_EQ("", FirstFrom(Key(1000), read));
  ExpectClosed({kNegative, kNothing, kNothing});
  EXPECT_EQ(Key(50), FirstFrom(Key(10), read));
  ExpectClosed({kTrue, kNothing, kNothing});
}

TEST_F(FilterStatisticsTest, BlocksThatAreNotInTheCacheTeachNothing) {
  SetPolicy("oracle", "block_cache=1M;block_size=64");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  ReadOptions read = UpTo(13);
  read.read_tier = kBlockCacheTier;
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    it->Seek(Key(12));
    EXPECT_TRUE(it->status().IsIncomplete());
  }
  EXPECT_EQ(0u, Level(FilterStats(), 0).bounded_seeks.asked());
}

// ---- Handing counts over ----

TEST_F(FilterStatisticsTest, IteratorsHandOverNowAndThenAndInTheEnd) {
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (int i = 0; i < 3; i++) {
      it->Seek(Key(1));
      ASSERT_TRUE(it->Valid());
    }
    // The iterator has handed nothing over yet.
    ExpectOpen({kNothing, kNothing, kNothing});
  }
  ExpectOpen({{0, 0, 3, 0, 3}, {0, 3, 0, 0, 0}, {0, 3, 0, 0, 0}});

  const std::unique_ptr<Iterator> it(db_->NewIterator(UpTo(9)));
  for (uint64_t i = 1; i <= 5000; i++) {
    it->Seek(Key(6));
    ASSERT_FALSE(it->Valid());
    if (i % 500 != 0) continue;
    const uint64_t counted = Level(FilterStats(), 0).bounded_seeks.negatives;
    EXPECT_LE(counted, i);
    EXPECT_LT(i, counted + 1024);
  }
}

// ---- Files that come and go ----

TEST_F(FilterStatisticsTest, CompactionsLeaveTheSums) {
  EXPECT_EQ("", FirstIn(Key(6), Key(9)));
  EXPECT_EQ(Key(2), FirstFrom(Key(1)));
  const FilterStatistics old = FilterStats();
  EXPECT_EQ(3u, old.total.open_files);
  EXPECT_EQ(3u, old.live_files);
  EXPECT_EQ(31u, old.total.keys);
  EXPECT_EQ(31u, old.total.entries);
  CompactTo(3);
  FilterStatistics now = FilterStats();
  EXPECT_EQ(1u, now.total.open_files);
  EXPECT_EQ(1u, now.live_files);
  EXPECT_EQ(1u, now.files.size());
  EXPECT_EQ(31u, now.total.keys);
  for (int level = 0; level < 3; level++) {
    EXPECT_EQ(NumbersOf(Level(old, level).bounded_seeks),
              NumbersOf(Level(now, level).bounded_seeks));
    EXPECT_EQ(NumbersOf(Level(old, level).unbounded_seeks),
              NumbersOf(Level(now, level).unbounded_seeks));
  }
  EXPECT_EQ("", FirstIn(Key(6), Key(9)));
  now = FilterStats();
  EXPECT_EQ(old.total.bounded_seeks.negatives + 1,
            now.total.bounded_seeks.negatives);
  EXPECT_EQ(1u, now.files[0].bounded_seeks.negatives);
}

// With a small max_open_files, files are closed and opened again all the time.
TEST_F(FilterStatisticsTest, SmallTableCaches) {
  OpenNew();
  constexpr int kFiles = 60;
  for (int i = 0; i < kFiles; i++) AddFile(0, 100 * i, 5);
  Close();
  options_.max_open_files = 20;
  options_.skip_stats_update_on_db_open = true;
  Open();
  EXPECT_EQ(uint64_t{kFiles}, FilterStats().live_files);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < kFiles; i++) {
      EXPECT_EQ("", FirstIn(Key(100 * i + 1), Key(100 * i + 9)));
    }
  }
  const FilterStatistics now = FilterStats();
  EXPECT_LT(now.total.open_files, uint64_t{kFiles});
  // Each seek asks all files of level 0.
  EXPECT_EQ(3u * kFiles * kFiles, now.total.bounded_seeks.negatives);
  EXPECT_EQ(3u * kFiles * kFiles, now.total.bounded_seeks.asked());
}

// ---- Several DBs and column families ----

TEST_F(FilterStatisticsTest, TwoDBsThatShareOptions) {
  const std::string path = path_ + "_other";
  std::unique_ptr<DB> other;
  ASSERT_OK(OpenDB(&other, options_, path));
  AddFile(other.get(), 0, 0);
  EXPECT_EQ("", FirstIn(Key(6), Key(9)));
  EXPECT_EQ(3u, FilterStats().total.bounded_seeks.negatives);
  const FilterStatistics of_other = StatisticsOf(other.get());
  EXPECT_EQ(1u, of_other.total.open_files);
  EXPECT_EQ(0u, of_other.total.bounded_seeks.asked());
  EXPECT_EQ(path, of_other.db);
}

TEST_F(FilterStatisticsTest, OtherInstances) {
  options_.max_open_files = -1;  // which a secondary instance needs
  const std::function<Status()> opens[] = {
      [this] { return OpenReadOnly(&db_, options_, path_); },
      [this] { return OpenSecondary(&db_, options_, path_, path_ + "_log"); },
      [this] {
        const Status s = OpenDB(&db_, options_, path_);
        db_.reset(new StackableDB(new StackableDB(db_.release())));
        return s;
      }};
  for (const std::function<Status()>& open : opens) {
    Close();
    ASSERT_OK(open());
    EXPECT_EQ("", FirstIn(Key(6), Key(9)));
    EXPECT_EQ(3u, FilterStats().total.bounded_seeks.negatives);
    EXPECT_EQ(3u, FilterStats().live_files);
  }
  FilterStatistics none;
  EXPECT_TRUE(GetFilterStatistics(nullptr, nullptr, &none).IsInvalidArgument());
}

// A file that was written outside of the DB does not name its column family.
TEST_F(FilterStatisticsTest, ColumnFamiliesAndFilesFromOutside) {
  ColumnFamilyHandle* const family = NewFamily("other");
  EXPECT_EQ(0u, StatisticsOf(db_.get(), family).total.open_files);
  const std::string file = path_ + "/outside.sst";
  WriteSstFile(options_, file, {Key(3), Key(7)});
  ASSERT_OK(
      db_->IngestExternalFile(family, {file}, IngestExternalFileOptions()));
  EXPECT_EQ("", protean::FirstIn(db_.get(), Key(4), Key(6), {}, family));
  const FilterStatistics statistics = StatisticsOf(db_.get(), family);
  EXPECT_EQ("other", statistics.column_family);
  EXPECT_EQ(1u, statistics.total.open_files);
  EXPECT_EQ(1u, statistics.total.bounded_seeks.negatives);
  EXPECT_EQ(0u, statistics.builds.filters);  // the file's is not of this DB
  EXPECT_EQ(3u, FilterStats().total.open_files);
  EXPECT_EQ(0u, FilterStats().total.bounded_seeks.asked());
}

// ---- Filters that are not used ----

using Unused = std::map<std::string, uint64_t>;

TEST_F(FilterStatisticsTest, FiltersThatAreNotUsed) {
  struct Case {
    const char* reason;
    const char* policy;
    std::string key = "0000";
    std::function<void(Options*)> change = nullptr;
  };
  const std::vector<Case> cases = {
      {"", "oracle"},
      {"no_filter", "nullptr"},
      {"rocksdb_filter", "bloomfilter:10"},
      {"rocksdb_filter",
       "bloomfilter:10;partition_filters=true;index_type=kTwoLevelIndexSearch"},
      {"other_comparator", "oracle", "0000",
       [](Options* o) { o->comparator = ReverseBytewiseComparator(); }},
      {"no_whole_keys", "oracle;whole_key_filtering=false", "0000",
       [](Options* o) {
         o->prefix_extractor.reset(NewFixedPrefixTransform(2));
       }},
      {"unfilterable_keys", "rosetta:12", "not 8 bytes"},
      {"unfilterable_keys", "rosetta:12;cache_index_and_filter_blocks=true",
       "not 8 bytes"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.policy) + " " + c.reason);
    const Options kept = options_;
    if (c.change != nullptr) c.change(&options_);
    SetTable(c.policy);
    OpenNew();
    WriteFile({c.key});
    Open();
    const FilterStatistics statistics = FilterStats();
    const bool used = std::string(c.reason).empty();
    EXPECT_EQ(1u, statistics.total.open_files);
    EXPECT_EQ(1u, statistics.total.entries);
    EXPECT_EQ(used ? 1u : 0u, statistics.total.used_files());
    EXPECT_EQ(used ? 1u : 0u, statistics.total.keys);
    ASSERT_EQ(1u, statistics.files.size());
    EXPECT_EQ(c.reason, statistics.files[0].unused);
    EXPECT_EQ(used ? Unused() : Unused({{c.reason, 1}}),
              statistics.total.unused_files);
    options_ = kept;
  }
}

TEST_F(FilterStatisticsTest, DamagedFilters) {
  for (const char* table : {"", "cache_index_and_filter_blocks=true"}) {
    SCOPED_TRACE(table);
    SetTable("oracle", table);
    OpenNew();
    AddFile(0, 0);
    const std::string path = OneFile();
    Close();
    DamageFilter(path, /*where=*/40, /*right_checksum=*/false);
    SetTable("oracle", table);  // with another block cache
    Open();
    EXPECT_EQ("", FirstIn(Key(6), Key(9)));
    EXPECT_EQ(Unused({{"damaged", 1}}), FilterStats().total.unused_files);
    EXPECT_EQ(0u, FilterStats().total.bounded_seeks.asked());
  }
}

// ---- Samples ----

TEST_F(FilterStatisticsTest, Samples) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(FilterStats().samples.exists);
  SetTable("{id=protean.Proteus;sample_every=2;sample_capacity=10}");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  for (int i = 0; i < 8; i++) EXPECT_EQ("", FirstIn(Key(6), Key(9)));
  const FilterStatistics designed = FilterStats();
  EXPECT_EQ("Proteus", designed.files.at(0).filter.kind);
  EXPECT_EQ(3u, designed.total.files_by_basis.at("keys"));
  EXPECT_GE(designed.total.predicted_fpr, 0);
  EXPECT_GT(designed.total.bits_per_key(), 0);
  const SampleQueueStatistics samples = FilterStats().samples;
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
  for (int i = 0; i < 5; i++) EXPECT_EQ("", FirstIn(Key(6), Key(9)));
  const FilterStatistics statistics = FilterStats();
  const std::string above = path_.substr(0, path_.rfind('/'));
  // However the folder is spelled.
  const std::string link = path_ + ".link";
  ASSERT_EQ(0, symlink(above.c_str(), link.c_str()));
  const std::string behind_link = link + path_.substr(above.size());
  for (const std::string& folder :
       {path_, path_ + "//", above, path_ + "/../" + path_.substr(above.size()),
        behind_link}) {
    const FilterSums sums = GetFilterSums(folder);
    EXPECT_EQ(statistics.total.open_files, sums.open_files) << folder;
    EXPECT_EQ(statistics.total.keys, sums.keys);
    EXPECT_EQ(statistics.total.filter_bytes, sums.filter_bytes);
    EXPECT_EQ(statistics.total.bounded_seeks.asked(),
              sums.bounded_seeks.asked());
    EXPECT_LT(0u, sums.bounded_seeks.negatives);
  }
  ASSERT_EQ(0, unlink(link.c_str()));
  // A folder whose name is a mere prefix does not count.
  EXPECT_EQ(0u, GetFilterSums(path_.substr(0, path_.size() - 1)).open_files);
  Close();
  EXPECT_EQ(0u, GetFilterSums(path_).open_files);
}

// ---- The log ----

TEST_F(FilterStatisticsTest, ALineInTheLogForEachPeriod) {
  StoppedClock clock;
  options_.env = &clock;
  options_.stats_dump_period_sec = 100;
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  const auto lines = [&] {
    return log_->Lines({"Protean: column family default: L0:"});
  };
  const auto seek = [&] {
    for (int i = 0; i < 200; i++) EXPECT_EQ("", FirstIn(Key(6), Key(9)));
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
  ExpectHas(line, {" L0: open_files 1, used_files 1, bits_per_key ",
                   "; L2: open_files 1, "});
  // Numbers are called as in all other formats.
  std::set<std::string> known;
  for (const StatisticsFact& fact : StatisticsFacts()) known.insert(fact.name);
  const std::regex word("[a-z_]+(\\.[a-z_]+)?(?= [0-9])");
  const std::string numbers = line.substr(line.find(" L0:"));
  for (std::sregex_iterator at(numbers.begin(), numbers.end(), word), end;
       at != end; ++at) {
    EXPECT_EQ(1u, known.count(at->str())) << at->str();
  }
  EXPECT_EQ('.', line.back());
  // Opening or closing a file writes the line, too.
  clock.Advance(101);
  AddFile(0, 3);
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
