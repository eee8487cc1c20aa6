// SPDX-License-Identifier: Apache-2.0

//  A DB whose seeks have known outcomes: the oracle of the benchmarks knows the
//  keys of a file exactly, and kBlind only their first bytes.

#pragma once

#include <deque>

#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// Without suffixes, whatever lies among keys 10 apart may be one of them.
constexpr char kBlind[] = "surf:0:0";

inline std::string Key(int i) { return Digits(static_cast<uint64_t>(i), 4); }

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
