// SPDX-License-Identifier: Apache-2.0

//  A DB for tests of filter statistics, whose seeks have known outcomes: the
//  oracle of the benchmarks knows the keys of a file exactly, and a filter of
//  the test knows only the smallest and the largest.

#pragma once

#include <deque>

#include "filter_policy/protean_filter_policy.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- A filter of keys of four bytes at most ----

constexpr FilterKind kBlindKind{202};
constexpr size_t kKeySize = 4;

class BlindFilter : public RangeFilter {
 public:
  static Status Open(const PartContents& /*part*/,
                     std::unique_ptr<RangeFilter>* filter) {
    *filter = std::make_unique<BlindFilter>();
    return Status::OK();
  }
  bool KeyMayMatch(const Slice& /*key*/) const override { return true; }
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override {
    const int order = lo.compare(hi);
    return hi_inclusive ? order <= 0 : order < 0;
  }
};

class BlindBuilder : public RangeFilterBuilder {
 public:
  using RangeFilterBuilder::RangeFilterBuilder;

  void Write(size_t /*part*/, char* /*payload*/) override {}
  double ApproximateBitsPerKey() const override { return 1; }
  uint64_t MaxSize() const override { return 64; }

 protected:
  void Add(const Slice&, size_t, size_t) override {}
  Status Plan(const KeysEnd& /*end*/,
              std::vector<PlannedPart>* parts) override {
    if (last_key().size() > kKeySize) return Status::NotSupported("long keys");
    parts->resize(1);
    parts->front().num_keys = num_keys();
    parts->front().payload_size = 8;
    return Status::OK();
  }
  size_t Memory() const override { return 0; }
};

class BlindPolicy : public ProteanFilterPolicy {
 public:
  const char* Name() const override { return "protean.Blind"; }
  FileBuilders NewFileBuilders(const FilterBuildingContext&, Env*,
                               uint64_t) const override {
    return {kBlindKind, [](const FilterTask& task) {
              return std::make_unique<BlindBuilder>(task);
            }};
  }
  static std::unique_ptr<const FilterPolicy> Make() {
    return std::make_unique<BlindPolicy>();
  }
  static Status Parse(const std::string&,
                      std::unique_ptr<const FilterPolicy>* policy) {
    *policy = Make();
    return Status::OK();
  }
};

[[maybe_unused]] inline const bool registered = [] {
  static const FilterType type = {kBlindKind,
                                  "Blind",
                                  BlindFilter::Open,
                                  {{"protean.Blind", "blind", "blind:1",
                                    BlindPolicy::Make, BlindPolicy::Parse}}};
  RegisterFilterType(&type);
  return true;
}();

// ---- The tree ----

inline std::string Key(int i) {
  return Digits(static_cast<uint64_t>(i), kKeySize);
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

class FilterStatisticsTest : public OwnDBTest {
 protected:
  FilterStatisticsTest() {
    options_.statistics = nullptr;
    SetTable("oracle");
  }
  void SetUp() override { MakeTree(); }

  // Reads in vain are not remembered, so that they count each time.
  void SetTable(const std::string& policy, const std::string& more = "") {
    SetPolicy(policy, "miss_cache_size=0;" + more);
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
  void AddFile(int level, int first, int keys = 10) {
    AddFile(db_.get(), level, first, keys);
  }
  // Keys 0002, ..., 0092 in level 0, 0005, ..., 0095 in level 1, and 0000, ...,
  // 0100 in level 2. Counts start at 0 when the DB is opened again.
  void MakeTree() {
    OpenNew();
    before_ = {};
    AddFile(2, 0, 11);
    AddFile(1, 5);
    AddFile(0, 2);
    Open();
  }

  // Read options with this upper bound.
  ReadOptions UpTo(int key) {
    bounds_.push_back(Key(key));
    bound_slices_.emplace_back(bounds_.back());
    ReadOptions read;
    read.iterate_upper_bound = &bound_slices_.back();
    return read;
  }

  // ---- Statistics ----

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
    const auto of = [open](const FilterStatistics& statistics, int level) {
      const FilterSums sums = Level(statistics, level);
      return NumbersOf(open ? sums.unbounded_seeks : sums.bounded_seeks);
    };
    const FilterStatistics now = FilterStats();
    std::vector<Numbers> news;
    for (int level = 0; level < 3; level++) {
      news.push_back(of(now, level));
      const Numbers old = of(before_, level);
      for (size_t i = 0; i < old.size(); i++) news.back()[i] -= old[i];
    }
    return news;
  }
  // Expects these new counts of one kind of seek, and none of the other kind.
  void ExpectNews(bool open, const std::vector<Numbers>& expected) {
    EXPECT_EQ(expected, News(open));
    EXPECT_EQ(std::vector<Numbers>(3, kNothing), News(!open));
    before_ = FilterStats();
  }
  void ExpectClosed(const std::vector<Numbers>& e) { ExpectNews(false, e); }
  void ExpectOpen(const std::vector<Numbers>& e) { ExpectNews(true, e); }
  // Expects that a closed seek finds this key, and these new counts.
  void ExpectFirst(int lo, int hi, const std::string& found,
                   const std::vector<Numbers>& expected) {
    EXPECT_EQ(found, FirstIn(Key(lo), Key(hi)));
    ExpectClosed(expected);
  }
  void ExpectLast(int lo, int hi, const std::string& found,
                  const std::vector<Numbers>& expected) {
    EXPECT_EQ(found, LastIn(Key(lo), Key(hi)));
    ExpectClosed(expected);
  }

  inline static const Numbers kNothing = {0, 0, 0, 0, 0};
  inline static const Numbers kNegative = {1, 0, 0, 0, 0};
  inline static const Numbers kPassed = {0, 1, 0, 0, 0};
  inline static const Numbers kTrue = {0, 0, 1, 0, 0};
  inline static const Numbers kFalse = {0, 0, 0, 1, 0};
  inline static const Numbers kReachedTrue = {0, 0, 1, 0, 1};

  FilterStatistics before_;
  std::deque<std::string> bounds_;  // of UpTo
  std::deque<Slice> bound_slices_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
