// SPDX-License-Identifier: Apache-2.0

//  A DB for tests of filter statistics, whose seeks have known outcomes: one
//  filter of the test knows its keys exactly, the other one knows only the
//  smallest and the largest.

#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <set>

#include "filter_policy/protean_filter_policy.h"
#include "plugin/filter_statistics.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Filters of keys of four bytes ----

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
  static Status Open(const PartContents& part,
                     std::unique_ptr<RangeFilter>* filter) {
    filter->reset(new Exact(part.payload));
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
  static Status Open(const PartContents& /*part*/,
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
  using RangeFilterBuilder::RangeFilterBuilder;

  void Write(size_t /*part*/, char* payload) override {
    memcpy(payload, keys_.data(), keys_.size());
  }
  double ApproximateBitsPerKey() const override { return 8 * kKeySize; }
  uint64_t MaxSize() const override { return num_keys() * kKeySize + 64; }

 protected:
  void Add(const Slice& key, size_t, size_t) override {
    keys_.append(key.data(), key.size());
    if (key.size() != kKeySize) {
      status_ = Status::NotSupported("a key of another size");
    }
  }
  void AddLast(const Slice& key, size_t) override { Add(key, 0, 0); }
  Status Plan(const KeysEnd& /*end*/,
              std::vector<PlannedPart>* parts) override {
    parts->resize(1);
    parts->front().num_keys = num_keys();
    parts->front().payload_size = keys_.size();
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
      const FilterBuildingContext&, Env*,
      const FilterTask& task) const override {
    return std::make_unique<KeysBuilder>(task);
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

[[maybe_unused]] inline const bool registered = [] {
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

inline std::string Key(int i) {
  char key[kKeySize + 1];
  snprintf(key, sizeof(key), "%04d", i);
  return key;
}

// A clock that stands still between calls of Advance and SetTo.
class StoppedClock : public EnvWrapper {
 public:
  StoppedClock() : EnvWrapper(Env::Default()) {}
  const char* Name() const override { return "StoppedClock"; }
  uint64_t NowMicros() override { return now_; }
  void Advance(uint64_t seconds) { now_ += seconds * 1000 * 1000; }
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

  // Reads in vain are not remembered, so that they count each time.
  void SetTable(const std::string& policy, const std::string& more = "") {
    options_.table_factory =
        NewTable("ProteanTable",
                 "filter_policy=" + policy + ";miss_cache_size=0;" + more);
  }
  void Open() { ASSERT_OK(OpenDB(&db_, options_, path_)); }
  void Close() {
    for (ColumnFamilyHandle* family : families_) delete family;
    families_.clear();
    db_.reset();
  }
  // Counts start at 0 again.
  void Reopen() {
    Close();
    Open();
  }

  // Adds a file in the level, with keys from `first` on, 10 apart.
  static void AddFile(DB* db, int level, int first, int keys = 10) {
    for (int i = 0; i < keys; i++) {
      ASSERT_OK(db->Put(WriteOptions(), Key(first + 10 * i), "value"));
    }
    ASSERT_OK(db->Flush(FlushOptions()));
    if (level > 0) {
      ASSERT_OK(CompactLevel0(db, level, 1 << 20));
    }
  }
  // Keys 0002, ..., 0092 in level 0, 0005, ..., 0095 in level 1, and 0000, ...,
  // 0100 in level 2.
  void MakeTree() {
    Open();
    AddFile(db_.get(), 2, 0, 11);
    AddFile(db_.get(), 1, 5);
    AddFile(db_.get(), 0, 2);
    Reopen();
  }

  // ---- Seeks ----

  using Bound = std::optional<std::string>;

  // The key that a seek finds, or an empty string. The iterator is destroyed.
  std::string Find(const std::string& target, const Bound& upper,
                   ReadOptions read = {}) {
    const Slice bound = upper.has_value() ? Slice(*upper) : Slice();
    if (upper.has_value()) read.iterate_upper_bound = &bound;
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    it->Seek(target);
    EXPECT_OK(it->status());
    return it->Valid() ? it->key().ToString() : "";
  }
  // Read options with this upper bound.
  ReadOptions UpTo(int key) {
    bounds_.push_back(Key(key));
    bound_slices_.emplace_back(bounds_.back());
    ReadOptions read;
    read.iterate_upper_bound = &bound_slices_.back();
    return read;
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

  // Negatives, passed, true positives, false positives; reached among these.
  using Numbers = std::vector<uint64_t>;
  static Numbers NumbersOf(const FilterSeeks& seeks) {
    return {seeks.negatives, seeks.passed, seeks.true_positives,
            seeks.false_positives, seeks.reached};
  }
  // What each level has counted since the last ExpectNews.
  std::vector<Numbers> News(bool open) {
    const FilterStatistics now = Now();
    std::vector<Numbers> news;
    for (int level = 0; level < 3; level++) {
      const FilterSums new_sums = Level(now, level);
      const FilterSums old_sums = Level(before_, level);
      Numbers numbers =
          NumbersOf(open ? new_sums.unbounded_seeks : new_sums.bounded_seeks);
      const Numbers old =
          NumbersOf(open ? old_sums.unbounded_seeks : old_sums.bounded_seeks);
      for (size_t i = 0; i < old.size(); i++) numbers[i] -= old[i];
      news.push_back(numbers);
    }
    return news;
  }
  // Expects these new counts of one kind of seek, and none of the other kind.
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
  std::deque<std::string> bounds_;  // of UpTo
  std::deque<Slice> bound_slices_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
