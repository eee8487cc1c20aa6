// SPDX-License-Identifier: Apache-2.0

//  A DB for tests of filter statistics, whose seeks have known outcomes: one
//  filter of the test knows its keys exactly, the other one knows only the
//  smallest and the largest.

#pragma once

#include <deque>

#include "filter_policy/protean_filter_policy.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Filters of keys of four bytes ----

constexpr FilterKind kExactKind{201};
constexpr FilterKind kBlindKind{202};
constexpr size_t kKeySize = 4;

template <bool kBlind>
class TestFilter : public RangeFilter {
 public:
  static Status Open(const PartContents& part,
                     std::unique_ptr<RangeFilter>* filter) {
    auto opened = std::make_unique<TestFilter>();
    for (size_t i = 0; i < part.payload.size(); i += kKeySize) {
      opened->keys_.emplace(part.payload.data() + i, kKeySize);
    }
    *filter = std::move(opened);
    return Status::OK();
  }
  bool KeyMayMatch(const Slice& key) const override {
    return kBlind || keys_.count(key.ToString()) > 0;
  }
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override {
    std::string next = lo.ToString();
    if (!kBlind && !LowerBound(lo, &next)) return false;
    const int order = Slice(next).compare(hi);
    return hi_inclusive ? order <= 0 : order < 0;
  }
  bool LowerBound(const Slice& target, std::string* bound) const override {
    if (kBlind) return RangeFilter::LowerBound(target, bound);
    const auto next = keys_.lower_bound(target.ToString());
    if (next == keys_.end()) return false;
    *bound = *next;
    return true;
  }

 private:
  std::set<std::string> keys_;
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
  static void Register() {
    static const FilterType type = {
        kBlind ? kBlindKind : kExactKind,
        kBlind ? "Blind" : "Exact",
        TestFilter<kBlind>::Open,
        {{kBlind ? "protean.Blind" : "protean.Exact",
          kBlind ? "blind" : "exact", kBlind ? "blind:1" : "exact:1", Make,
          Parse}}};
    RegisterFilterType(&type);
  }
};

[[maybe_unused]] inline const bool registered = [] {
  TestPolicy<false>::Register();
  TestPolicy<true>::Register();
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
    SetTable("exact:1");
  }

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
