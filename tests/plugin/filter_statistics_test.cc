//  The statistics of filters, against seeks whose outcomes are known: one
//  filter of the test knows its keys exactly, another one knows nothing but the
//  smallest and the largest.

#include "plugin/filter_statistics.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/comparator.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/statistics.h"
#include "rocksdb/utilities/stackable_db.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- The filters: all keys, which have four bytes ----

constexpr FilterKind kExactKind{201};
constexpr FilterKind kBlindKind{202};
constexpr size_t kKeySize = 4;

class Exact : public RangeFilter {
 public:
  explicit Exact(const Slice& payload) {
    for (size_t i = 0; i < payload.size(); i += kKeySize) {
      keys_.emplace(payload.data() + i, kKeySize);
    }
  }
  static Status Open(const Slice& payload, const FilterSalt& /*salt*/,
                     std::unique_ptr<RangeFilter>* filter) {
    filter->reset(new Exact(payload));
    return Status::OK();
  }
  bool KeyMayMatch(const Slice& key) const override {
    return keys_.count(key.ToString()) > 0;
  }
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override {
    const auto next = keys_.lower_bound(lo.ToString());
    if (next == keys_.end()) return false;
    const int order = Slice(*next).compare(hi);
    return hi_inclusive ? order <= 0 : order < 0;
  }
  bool LowerBound(const Slice& target, std::string* bound) const override {
    const auto next = keys_.lower_bound(target.ToString());
    if (next == keys_.end()) return false;
    *bound = *next;
    return true;
  }

 private:
  std::set<std::string> keys_;
};

class Blind : public RangeFilter {
 public:
  static Status Open(const Slice& /*payload*/, const FilterSalt& /*salt*/,
                     std::unique_ptr<RangeFilter>* filter) {
    filter->reset(new Blind);
    return Status::OK();
  }
  bool KeyMayMatch(const Slice&) const override { return true; }
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override {
    return hi_inclusive ? lo.compare(hi) <= 0 : lo.compare(hi) < 0;
  }
};

class KeysBuilder : public RangeFilterBuilder {
 public:
  void Write(char* payload) override {
    memcpy(payload, keys_.data(), keys_.size());
  }
  double ApproximateBitsPerKey() const override { return 8 * kKeySize; }

 protected:
  void Add(const Slice& key, size_t, size_t) override {
    keys_.append(key.data(), key.size());
    if (key.size() != kKeySize) {
      status_ = Status::NotSupported("a key of another size");
    }
  }
  void AddLast(const Slice& key, size_t) override { Add(key, 0, 0); }
  Status Prepare(uint64_t* payload_size) override {
    *payload_size = keys_.size();
    return status_;
  }
  size_t Memory() const override { return keys_.size(); }

 private:
  std::string keys_;
  Status status_;
};

template <bool kBlind>
class TestPolicy : public RangeFilterPolicy {
 public:
  const char* Name() const override {
    return kBlind ? "protean.Blind" : "protean.Exact";
  }
  FilterKind kind() const override { return kBlind ? kBlindKind : kExactKind; }
  std::unique_ptr<RangeFilterBuilder> NewRangeFilterBuilder(
      const FilterBuildingContext&, Env*) const override {
    return std::make_unique<KeysBuilder>();
  }
  static std::unique_ptr<const FilterPolicy> Make() {
    return std::make_unique<TestPolicy>();
  }
  static Status Parse(const std::string&,
                      std::unique_ptr<const FilterPolicy>* policy) {
    *policy = Make();
    return Status::OK();
  }
};

[[maybe_unused]] const bool registered = [] {
  using ExactPolicy = TestPolicy<false>;
  using BlindPolicy = TestPolicy<true>;
  static const FilterType exact = {kExactKind,
                                   "Exact",
                                   Exact::Open,
                                   {{"protean.Exact", "exact", "exact:1",
                                     ExactPolicy::Make, ExactPolicy::Parse}}};
  static const FilterType blind = {kBlindKind,
                                   "Blind",
                                   Blind::Open,
                                   {{"protean.Blind", "blind", "blind:1",
                                     BlindPolicy::Make, BlindPolicy::Parse}}};
  RegisterFilterType(&exact);
  RegisterFilterType(&blind);
  return true;
}();

// ---- The tree ----

std::string Key(int i) {
  char key[kKeySize + 1];
  snprintf(key, sizeof(key), "%04d", i);
  return key;
}

// A clock that stands still until it is told to go on.
class StoppedClock : public EnvWrapper {
 public:
  StoppedClock() : EnvWrapper(Env::Default()) {}
  const char* Name() const override { return "StoppedClock"; }
  uint64_t NowMicros() override { return now_; }
  void GoOn(uint64_t seconds) { now_ += seconds * 1000 * 1000; }
  void SetTo(uint64_t seconds) { now_ = seconds * 1000 * 1000; }

 private:
  std::atomic<uint64_t> now_{1000 * 1000};
};

class FilterStatisticsTest : public testing::Test {
 protected:
  FilterStatisticsTest() {
    options_ = UnthrottledFiles();
    options_.create_if_missing = true;
    options_.info_log = log_;
    SetTable("exact:1");
    Clean();
  }
  ~FilterStatisticsTest() override {
    Close();
    Clean();
  }
  void Clean() {
    for (const char* name : {"", "_other", "_log", "_outside"}) {
      EXPECT_OK(DestroyDB(path_ + name, Options()));
    }
  }

  void SetTable(const std::string& policy, const std::string& more = "") {
    options_.table_factory =
        NewTable("ProteanTable", "filter_policy=" + policy + ";" + more);
  }
  void Open() { ASSERT_OK(OpenDB(&db_, options_, path_)); }
  void Close() {
    for (ColumnFamilyHandle* family : families_) delete family;
    families_.clear();
    db_.reset();
  }
  // Counts begin with 0.
  void Reopen() {
    Close();
    Open();
  }

  // A file in that level with keys from `first` on, 10 apart.
  static void AddFile(DB* db, int level, int first, int keys = 10) {
    for (int i = 0; i < keys; i++) {
      ASSERT_OK(db->Put(WriteOptions(), Key(first + 10 * i), "value"));
    }
    ASSERT_OK(db->Flush(FlushOptions()));
    if (level > 0) {
      ASSERT_OK(CompactLevel0(db, level, 1 << 20));
    }
  }
  // 0002, ..., 0092 in level 0, 0005, ..., 0095 in level 1, 0000, ..., 0100 in
  // level 2.
  void MakeTree() {
    Open();
    AddFile(db_.get(), 2, 0, 11);
    AddFile(db_.get(), 1, 5);
    AddFile(db_.get(), 0, 2);
    Reopen();
  }

  // ---- Seeks, whose results are those of the tree ----

  using Bound = std::optional<std::string>;

  // The key that the seek finds, or nothing. The iterator is destroyed.
  std::string Find(const std::string& target, const Bound& upper,
                   ReadOptions read = {}) {
    const Slice bound = upper.has_value() ? Slice(*upper) : Slice();
    if (upper.has_value()) read.iterate_upper_bound = &bound;
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    it->Seek(target);
    EXPECT_OK(it->status());
    return it->Valid() ? it->key().ToString() : "";
  }
  std::string FindBackwards(const Bound& target, const std::string& lower) {
    const Slice bound = lower;
    ReadOptions read;
    read.iterate_lower_bound = &bound;
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    if (target.has_value()) {
      it->SeekForPrev(*target);
    } else {
      it->SeekToLast();
    }
    EXPECT_OK(it->status());
    return it->Valid() ? it->key().ToString() : "";
  }

  // ---- Statistics ----

  static FilterStatistics Of(DB* db, ColumnFamilyHandle* family) {
    FilterStatistics statistics;
    EXPECT_OK(GetFilterStatistics(db, family, &statistics));
    return statistics;
  }
  FilterStatistics Now() { return Of(db_.get(), db_->DefaultColumnFamily()); }

  static FilterSums Level(const FilterStatistics& statistics, int level) {
    for (const LevelFilterStatistics& l : statistics.levels) {
      if (l.level == level) return l.sums;
    }
    return FilterSums();
  }

  // What a level has counted since the last call: negatives, passed, true and
  // false positives, of these reached.
  using Numbers = std::vector<uint64_t>;
  static Numbers NumbersOf(const FilterSeeks& seeks) {
    return {seeks.negatives, seeks.passed, seeks.true_positives,
            seeks.false_positives, seeks.reached};
  }
  std::vector<Numbers> News(bool open) {
    const FilterStatistics now = Now();
    std::vector<Numbers> news;
    for (int level = 0; level < 3; level++) {
      const FilterSums new_sums = Level(now, level);
      const FilterSums old_sums = Level(before_, level);
      Numbers numbers = NumbersOf(open ? new_sums.open : new_sums.closed);
      const Numbers old = NumbersOf(open ? old_sums.open : old_sums.closed);
      for (size_t i = 0; i < old.size(); i++) numbers[i] -= old[i];
      news.push_back(numbers);
    }
    return news;
  }
  // Expects that a seek counts so, and not otherwise.
  void ExpectNews(bool open, const std::vector<Numbers>& expected) {
    EXPECT_EQ(expected, News(open));
    EXPECT_EQ(std::vector<Numbers>(3, kNothing), News(!open));
    before_ = Now();
  }
  void ExpectClosed(const std::vector<Numbers>& e) { ExpectNews(false, e); }
  void ExpectOpen(const std::vector<Numbers>& e) { ExpectNews(true, e); }

  inline static const Numbers kNothing = {0, 0, 0, 0, 0};
  inline static const Numbers kNegative = {1, 0, 0, 0, 0};
  inline static const Numbers kPassed = {0, 1, 0, 0, 0};
  inline static const Numbers kTrue = {0, 0, 1, 0, 0};
  inline static const Numbers kFalse = {0, 0, 0, 1, 0};
  inline static const Numbers kReachedTrue = {0, 0, 1, 0, 1};

  const std::string path_ = test::PerThreadDBPath("filter_statistics");
  const std::shared_ptr<RecordingLogger> log_ =
      std::make_shared<RecordingLogger>();
  Options options_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> families_;
  FilterStatistics before_;
};

}  // namespace

// ---- Outcomes of seeks ----

TEST_F(FilterStatisticsTest, ClosedSeeks) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", Find(Key(6), Key(9)));
  ExpectClosed({kNegative, kNegative, kNegative});
  // The target is there.
  EXPECT_EQ(Key(12), Find(Key(12), Key(13)));
  ExpectClosed({kTrue, kNegative, kNegative});
  // It is not, so the file waits.
  EXPECT_EQ(Key(12), Find(Key(11), Key(14)));
  ExpectClosed({kReachedTrue, kNegative, kNegative});
  // All wait; the search ends in the first.
  EXPECT_EQ(Key(2), Find(Key(1), Key(100)));
  ExpectClosed({kReachedTrue, kPassed, kPassed});
  EXPECT_EQ(Key(5), Find(Key(3), Key(20)));
  ExpectClosed({kPassed, kReachedTrue, kPassed});
}

TEST_F(FilterStatisticsTest, ClosedSeeksWithAFilterThatErrs) {
  SetTable("blind:1");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", Find(Key(6), Key(9)));
  ExpectClosed({kFalse, kFalse, kFalse});
  EXPECT_EQ(Key(12), Find(Key(12), Key(13)));
  ExpectClosed({kTrue, kFalse, kFalse});
  EXPECT_EQ(Key(12), Find(Key(11), Key(16)));
  ExpectClosed({kTrue, kTrue, kFalse});
  // It knows the smallest key.
  EXPECT_EQ(Key(0), Find("000", Key(1)));
  ExpectClosed({kNegative, kNegative, kReachedTrue});
}

TEST_F(FilterStatisticsTest, OpenSeeks) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ(Key(2), Find(Key(1), {}));
  ExpectOpen({kReachedTrue, kPassed, kPassed});
  EXPECT_EQ(Key(15), Find(Key(15), {}));
  ExpectOpen({kPassed, kTrue, kPassed});
  // Beyond the file of level 0; a level looks for the file first.
  EXPECT_EQ("", Find(Key(101), {}));
  ExpectOpen({kNegative, kNothing, kNothing});
  // Without a target there is nothing to ask.
  const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
  }
  ExpectOpen({kNothing, kNothing, kNothing});
}

TEST_F(FilterStatisticsTest, OpenSeeksWithAFilterThatErrs) {
  SetTable("blind:1");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ(Key(12), Find(Key(11), {}));
  ExpectOpen({kTrue, kFalse, kFalse});
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    it->Seek(Key(11));
    // It goes on to 0015, which is in level 1.
    it->Next();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(Key(15), it->key());
  }
  ExpectOpen({kTrue, kTrue, kFalse});
}

TEST_F(FilterStatisticsTest, OpenSeeksThatReadNothingInVain) {
  SetTable("blind:1");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (int i = 0; i < 3; i++) {
      it->Seek(Key(11));
      ASSERT_TRUE(it->Valid());
    }
  }
  // The blocks are at hand the second time.
  ExpectOpen({{0, 0, 3, 0, 0}, {0, 0, 2, 1, 0}, {0, 0, 2, 1, 0}});
}

TEST_F(FilterStatisticsTest, LongIteratorsHandOverInTheEnd) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (int i = 0; i < 3; i++) {
      it->Seek(Key(1));
      ASSERT_TRUE(it->Valid());
    }
    // Not handed over yet.
    ExpectOpen({kNothing, kNothing, kNothing});
  }
  ExpectOpen({{0, 0, 3, 0, 3}, {0, 3, 0, 0, 0}, {0, 3, 0, 0, 0}});
}

// RocksDB's iterator over a level goes from file to file.
TEST_F(FilterStatisticsTest, SeeksThatGoOnInTheNextFile) {
  Open();
  AddFile(db_.get(), 1, 5, 5);
  AddFile(db_.get(), 1, 55, 5);
  AddFile(db_.get(), 1, 105, 5);
  Reopen();
  const std::string upper = Key(57);
  const Slice bound = upper;
  ReadOptions read;
  read.iterate_upper_bound = &bound;
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    int keys = 0;
    for (it->Seek(Key(44)); it->Valid(); it->Next()) keys++;
    EXPECT_EQ(2, keys);
  }
  ExpectClosed({kNothing, {0, 0, 2, 0, 1}, kNothing});
  // Between two files, the first one is not sought.
  EXPECT_EQ("", Find(Key(46), Key(54)));
  ExpectClosed({kNothing, kNegative, kNothing});
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    it->Seek(Key(45));
    ASSERT_TRUE(it->Valid());
    it->Next();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(Key(55), it->key());
  }
  ExpectClosed({kNothing, {0, 0, 2, 0, 0}, kNothing});
  EXPECT_EQ(Key(45), Find(Key(45), Key(50)));
  ExpectClosed({kNothing, kTrue, kNothing});
}

TEST_F(FilterStatisticsTest, Backwards) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", FindBackwards(Key(9), Key(6)));
  ExpectClosed({kNegative, kNegative, kNegative});
  EXPECT_EQ(Key(5), FindBackwards(Key(9), Key(4)));
  ExpectClosed({kNegative, kTrue, kNegative});
  // A range that holds nothing is no question.
  EXPECT_EQ("", FindBackwards(Key(4), Key(6)));
  ExpectClosed({kNothing, kNothing, kNothing});
  EXPECT_EQ(Key(100), FindBackwards({}, Key(96)));
  ExpectClosed({kNegative, kNegative, kTrue});
}

TEST_F(FilterStatisticsTest, BackwardsWithAFilterThatErrs) {
  SetTable("blind:1");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", FindBackwards(Key(9), Key(6)));
  ExpectClosed({kFalse, kFalse, kFalse});
  EXPECT_EQ(Key(5), FindBackwards(Key(9), Key(4)));
  ExpectClosed({kFalse, kTrue, kFalse});
}

// With a bound, the filter is asked for the range, in which there is a key, and
// by RocksDB for the prefix, with which there is none.
TEST_F(FilterStatisticsTest, PrefixSeeks) {
  options_.prefix_extractor.reset(NewFixedPrefixTransform(2));
  Open();
  for (int i : {0, 50, 2000}) {
    ASSERT_OK(db_->Put(WriteOptions(), Key(i), "value"));
  }
  ASSERT_OK(db_->Flush(FlushOptions()));
  Reopen();
  ReadOptions read;
  read.prefix_same_as_start = true;
  EXPECT_EQ("", Find(Key(1000), Key(3000), read));
  ExpectClosed({kNegative, kNothing, kNothing});
  EXPECT_EQ("", Find(Key(10), Key(20), read));
  ExpectClosed({kNegative, kNothing, kNothing});
  EXPECT_EQ(Key(50), Find(Key(10), Key(60), read));
  ExpectClosed({kTrue, kNothing, kNothing});
  // RocksDB's own business.
  EXPECT_EQ("", Find(Key(1000), {}, read));
  ExpectOpen({kNothing, kNothing, kNothing});
}

TEST_F(FilterStatisticsTest, BlocksThatAreNotInTheCacheTeachNothing) {
  options_.table_factory = NewTable(
      "ProteanTable", "filter_policy=exact:1;block_cache=1M;block_size=64");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  ReadOptions read;
  read.read_tier = kBlockCacheTier;
  const std::string upper = Key(13);
  const Slice bound = upper;
  read.iterate_upper_bound = &bound;
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    it->Seek(Key(12));
    EXPECT_TRUE(it->status().IsIncomplete());
  }
  const FilterSeeks level0 = Level(Now(), 0).closed;
  EXPECT_EQ(0u, level0.asked());
}

// ---- Handing over ----

TEST_F(FilterStatisticsTest, LongIteratorsHandOverNowAndThen) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  const std::string upper = Key(9);
  const Slice bound = upper;
  ReadOptions read;
  read.iterate_upper_bound = &bound;
  const std::unique_ptr<Iterator> it(db_->NewIterator(read));
  for (int i = 1; i <= 5000; i++) {
    it->Seek(Key(6));
    ASSERT_FALSE(it->Valid());
    if (i % 500 != 0) continue;
    const uint64_t counted = Level(Now(), 0).closed.negatives;
    EXPECT_LE(counted, static_cast<uint64_t>(i));
    EXPECT_LT(static_cast<uint64_t>(i), counted + 1024);
  }
}

TEST_F(FilterStatisticsTest, ThreadsLoseNothing) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kRounds = 300;
  std::atomic<bool> done{false};
  std::thread reader([&] {
    uint64_t last = 0;
    while (!done) {
      const uint64_t asked = Now().total.closed.asked();
      EXPECT_LE(last, asked);
      last = asked;
    }
  });
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; t++) {
    threads.emplace_back([this] {
      for (uint64_t i = 0; i < kRounds; i++) {
        EXPECT_EQ("", Find(Key(6), Key(9)));
        EXPECT_EQ(Key(2), Find(Key(1), Key(100)));
      }
      const std::string upper = Key(9);
      const Slice bound = upper;
      ReadOptions read;
      read.iterate_upper_bound = &bound;
      const std::unique_ptr<Iterator> it(db_->NewIterator(read));
      for (uint64_t i = 0; i < 10 * kRounds; i++) it->Seek(Key(6));
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  reader.join();
  const uint64_t negatives = kThreads * 11 * kRounds;
  const uint64_t others = kThreads * kRounds;
  ExpectClosed({{negatives, 0, others, 0, others},
                {negatives, others, 0, 0, 0},
                {negatives, others, 0, 0, 0}});
  EXPECT_EQ(3 * negatives + 2 * others, Now().total.blocks_spared());
}

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

// max_open_files: files are closed and opened again all the time.
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

// A file that was written outside of the DB does not say for which column
// family it is.
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

// One may be where another has been in memory.
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

// It had a filter of RocksDB before it came to Protean.
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
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_FALSE(Now().samples.exists);
  SetTable("{id=protean.Proteus;sample_every=2;sample_capacity=10}");
  Close();
  Clean();
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  for (int i = 0; i < 8; i++) EXPECT_EQ("", Find(Key(6), Key(9)));
  const SampleQueueStatistics samples = Now().samples;
  EXPECT_TRUE(samples.exists);
  EXPECT_EQ(10u, samples.held);
  EXPECT_EQ(10u, samples.capacity);
  EXPECT_EQ(2u, samples.sample_every);
  EXPECT_EQ(12u, samples.recorded);
  EXPECT_EQ(12u, samples.sampled);
  EXPECT_EQ(0u, samples.dropped);
  EXPECT_GE(samples.age_seconds, 0);
  EXPECT_LT(samples.age_seconds, 600);
}

// ---- Text, JSON, Prometheus ----

TEST_F(FilterStatisticsTest, Text) {
  SetTable("{id=protean.Proteus;bits_per_key=20}");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", Find(Key(6), Key(9)));
  const FilterStatistics statistics = Now();
  EXPECT_EQ("Proteus", statistics.files.at(0).filter.kind);
  EXPECT_GE(statistics.total.predicted_fpr, 0);
  EXPECT_GT(statistics.total.bits_per_key(), 0);
  const std::string text = statistics.ToString();
  std::istringstream lines(text);
  std::string line;
  size_t count = 0;
  while (std::getline(lines, line)) {
    count++;
    EXPECT_LE(line.size(), 150u) << line;
  }
  // A headline, the head of the table, two rows each, the rest.
  EXPECT_EQ(2u + 2 * 4 + 3, count) << text;
  EXPECT_NE(std::string::npos, text.find("3 of 3 files open")) << text;
}

TEST_F(FilterStatisticsTest, Json) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", Find(Key(6), Key(9)));
  EXPECT_EQ(Key(2), Find(Key(1), {}));
  FilterStatistics statistics = Now();
  const std::string odd = "\"quoted\" \\ \n\t \x01 \xc3\xa4";
  statistics.column_family = odd;
  statistics.files[0].filter.predicted_fpr = 0.25;
  const auto json = nlohmann::json::parse(statistics.ToJson(), nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << statistics.ToJson();
  EXPECT_EQ(odd, json["column_family"]);
  EXPECT_EQ(path_, json["db"]);
  EXPECT_EQ(3, json["live_files"]);
  EXPECT_EQ(3, json["total"]["closed"]["negatives"]);
  EXPECT_EQ(3, json["total"]["closed"]["asked"]);
  EXPECT_EQ(0.0, json["total"]["closed"]["fpr"]);
  EXPECT_EQ(1, json["total"]["open"]["reached"]);
  EXPECT_FALSE(json["total"].contains("predicted_fpr"));
  ASSERT_EQ(3u, json["levels"].size());
  EXPECT_EQ(2, json["levels"][2]["level"]);
  EXPECT_EQ(1, json["levels"][2]["open"]["passed"]);
  EXPECT_EQ(11, json["levels"][2]["keys"]);
  ASSERT_EQ(3u, json["files"].size());
  EXPECT_EQ(0.25, json["files"][0]["predicted_fpr"]);
  EXPECT_EQ("Exact", json["files"][0]["kind"]);
  EXPECT_EQ(false, json["gets"]["known"]);
  EXPECT_EQ(false, json["samples"]["exists"]);
}

namespace {

// The text format: names and types of metrics come before their samples, which
// follow one another, none of them twice. Returns the samples' values.
std::map<std::string, double> ParsePrometheus(const std::string& text) {
  const std::string name = "[a-zA-Z_:][a-zA-Z0-9_:]*";
  const std::string label =
      "[a-zA-Z_][a-zA-Z0-9_]*=\"([^\"\\\\\n]|\\\\[\\\\\"n])*\"";
  const std::regex help("# HELP (" + name + ") \\S.*");
  const std::regex type("# TYPE (" + name + ") (counter|gauge)");
  const std::regex sample("(" + name + ")(\\{" + label + "(," + label +
                          ")*\\}) ([0-9]+(\\.[0-9]+)?)");
  std::map<std::string, double> samples;
  std::map<std::string, std::string> types;
  std::set<std::string> done;
  std::string helped;
  std::string current;
  EXPECT_EQ('\n', text.back());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      helped = match[1];
    } else if (std::regex_match(line, match, type)) {
      EXPECT_EQ(helped, match[1]);
      done.insert(current);
      current = match[1];
      EXPECT_EQ(0u, done.count(current)) << line;
      EXPECT_EQ(0u, types.count(current)) << line;
      types[current] = match[2];
    } else if (std::regex_match(line, match, sample)) {
      EXPECT_EQ(current, match[1]);
      EXPECT_EQ(0u, current.find("protean_filter_")) << line;
      EXPECT_EQ(types[current] == "counter",
                current.size() > 6 &&
                    current.compare(current.size() - 6, 6, "_total") == 0)
          << line;
      const std::string key = match[1].str() + match[2].str();
      EXPECT_EQ(0u, samples.count(key)) << line;
      const std::string value = match[match.size() - 2];
      samples[key] = strtod(value.c_str(), nullptr);
    } else {
      ADD_FAILURE() << line;
    }
  }
  return samples;
}

}  // namespace

TEST_F(FilterStatisticsTest, NamesThatAreNotUtf8) {
  // Characters of each size, and at the borders.
  const std::string valid =
      "a\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xef\xbf\xbf"
      "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
  // Each byte of these is wrong where it is.
  const std::vector<std::string> wrong = {"\x80",
                                          "\xbf\xbf",
                                          "\xc1\x81",
                                          "\xe0\x9f\xbf",
                                          "\xed\xa0\x80",
                                          "\xf0\x8f\xbf\xbf",
                                          "\xf4\x90\x80\x80",
                                          "\xf5",
                                          "\xff\xfe",
                                          "\xc3",
                                          "\xe2\x82",
                                          "\xf0\x90\x80"};
  for (const std::string& bytes : wrong) {
    std::string expected = valid;
    for (size_t i = 0; i < bytes.size(); i++) expected += "\xef\xbf\xbd";
    expected += valid;
    FilterStatistics statistics;
    statistics.column_family = valid + bytes + valid;
    const auto json =
        nlohmann::json::parse(statistics.ToJson(), nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << statistics.ToJson();
    EXPECT_EQ(expected, json["column_family"]);
    EXPECT_NE(std::string::npos,
              ToPrometheus({statistics}).find("\"" + expected + "\""));
  }
}

TEST_F(FilterStatisticsTest, Prometheus) {
  EXPECT_EQ("", ToPrometheus({}));
  options_.statistics = CreateDBStatistics();
  SetTable("{id=protean.Proteus;bits_per_key=20}");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", Find("000600", "000601"));
  std::string value;
  EXPECT_TRUE(db_->Get(ReadOptions(), Key(13), &value).IsNotFound());
  FilterStatistics first = Now();
  FilterStatistics second = first;
  second.column_family = "odd \"name\" \\ \n";
  second.total.unused["damaged"] = 1;
  second.levels[0].sums.unused["damaged"] = 1;
  second.levels.back().level = -1;
  const auto samples = ParsePrometheus(ToPrometheus({first, second}));
  const std::string db = "db=\"" + path_ + "\"";
  const std::string family = "{" + db + ",column_family=\"default\"";
  double asked = 0;
  for (const char* level : {"0", "1", "2"}) {
    for (const char* outcome :
         {"negative", "passed", "true_positive", "false_positive"}) {
      const std::string key = "protean_filter_seeks_total" + family +
                              ",level=\"" + level +
                              "\",seek=\"closed\",outcome=\"" + outcome + "\"}";
      ASSERT_EQ(1u, samples.count(key)) << key;
      asked += samples.at(key);
    }
  }
  EXPECT_EQ(3, asked);
  EXPECT_EQ(11, samples.at("protean_filter_keys" + family + ",level=\"2\"}"));
  EXPECT_EQ(3, samples.at("protean_filter_live_files" + family + "}"));
  EXPECT_EQ(1, samples.at("protean_filter_unused_files{" + db +
                          ",column_family=\"odd \\\"name\\\" \\\\ \\n\","
                          "level=\"0\",reason=\"damaged\"}"));
  EXPECT_EQ(1u, samples.count("protean_filter_gets_total{" + db +
                              ",outcome=\"negative\"}"));
  EXPECT_EQ(1u, samples.count("protean_filter_samples" + family + "}"));
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
  // Not what only begins alike.
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
    clock.GoOn(101);
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
  // A file that is opened or closed will do.
  clock.GoOn(101);
  AddFile(db_.get(), 0, 3);
  EXPECT_EQ(4u, lines().size());

  // Years ahead there is a line, back again another one, and then the period
  // holds from there.
  constexpr uint64_t kYears = 20 * 365 * 24 * 60 * 60;
  for (const uint64_t now : {kYears, uint64_t{1}}) {
    clock.SetTo(now);
    const size_t before = lines().size();
    seek();
    seek();
    EXPECT_EQ(before + 1, lines().size()) << now;
    clock.GoOn(101);
    seek();
    EXPECT_EQ(before + 2, lines().size()) << now;
  }

  const size_t last = lines().size();
  Close();
  options_.stats_dump_period_sec = 0;
  Open();
  clock.GoOn(101);
  seek();
  clock.GoOn(101);
  seek();
  EXPECT_EQ(last, lines().size());
  Close();
  options_.env = Env::Default();
}

}  // namespace ROCKSDB_NAMESPACE::protean
