// SPDX-License-Identifier: Apache-2.0

//  A refresh of chosen levels or keys, and several files at the same time.

#include <condition_variable>

#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// How many files are written at the same time. The first one waits for another:
// RocksDB does not tell listeners of compactions that CompactFiles makes.
class Overlap : public EventListener {
 public:
  explicit Overlap(bool waits) : waits_(waits) {}

  void OnTableFileCreationStarted(
      const TableFileCreationBriefInfo& /*file*/) override {
    std::unique_lock<std::mutex> lock(mutex_);
    largest_ = std::max(largest_, ++running_);
    changed_.notify_all();
    if (waits_) {
      changed_.wait_for(lock, std::chrono::minutes(10),
                        [this] { return largest_ > 1; });
    }
  }
  void OnTableFileCreated(const TableFileCreationInfo& /*file*/) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    running_--;
  }

  int largest() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return largest_;
  }

 private:
  const bool waits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  int largest_ = 0;
};

class RefreshSelectionTest : public RefreshTest {
 protected:
  // Opens the DB with a policy of RocksDB's own, for which a refresh rewrites
  // all files.
  void OpenForBloom() {
    SetPolicy("bloomfilter:10");
    Open();
  }
  // Writes every `step`-th key once more, into a file of level 0.
  void WriteLevel0(size_t step) {
    for (size_t i = 0; i < keys_.size(); i += step)
      Put(keys_[i], "of step " + std::to_string(step));
    Flush();
  }

  // Checks that exactly the files that `selects` are rewritten.
  void ExpectRewritten(
      const std::map<std::string, LiveFileMetaData>& before,
      const std::function<bool(const LiveFileMetaData&)>& selects) const {
    size_t selected = 0;
    for (const RefreshedFile& file : result_.files) {
      const bool is_selected = selects(before.at(file.name));
      EXPECT_EQ(is_selected ? Outcome::kRewritten : Outcome::kNotSelected,
                file.outcome)
          << file.name << ": " << ToString(file.outcome);
      EXPECT_EQ(is_selected, Levels().count(file.name) == 0) << file.name;
      if (is_selected) selected++;
    }
    EXPECT_EQ(selected, result_.files_rewritten);
    EXPECT_GT(selected, 0u);
    EXPECT_LT(selected, result_.files.size());
  }

  std::map<std::string, LiveFileMetaData> FilesByName() const {
    std::map<std::string, LiveFileMetaData> files;
    for (const LiveFileMetaData& file : Files()) {
      files[file.relative_filename] = file;
    }
    return files;
  }
};

}  // namespace

// ---- Selection ----

TEST_F(RefreshSelectionTest, Levels) {
  Fill();
  WriteLevel0(5);
  WriteLevel0(3);
  OpenForBloom();
  for (const int level : {0, 3}) {
    SCOPED_TRACE(level);
    const auto before = FilesByName();
    RefreshOptions options;
    options.levels = {level, 5};
    ASSERT_OK(Refresh(options));
    ExpectRewritten(before, [level](const LiveFileMetaData& file) {
      return file.level == level;
    });
    if (level == 0) {
      // A second pass finds nothing to do in this level.
      ASSERT_OK(Refresh(options));
      EXPECT_EQ(2u, Count(Outcome::kHasFilter));
      EXPECT_EQ(0u, result_.files_rewritten);
    }
  }
  ExpectAllKeys();
  RefreshOptions none;
  none.levels = {1, 2};
  ASSERT_OK(Refresh(none));
  EXPECT_EQ(result_.files.size(), Count(Outcome::kNotSelected));
}

// Levels whose policy is RocksDB's, or that have no filters, are done with once
// their files have what the policy gives.
TEST_F(RefreshSelectionTest, LevelsOfRocksDB) {
  Fill();
  WriteLevel0(5);
  const auto open = [this](const std::string& policies, bool in_parts = false) {
    SetPolicy("{id=protean.Levels;policies=" + policies + "}",
              in_parts ? "partition_filters=true;index_type="
                         "kTwoLevelIndexSearch;metadata_block_size=1024"
                       : "");
    Open();
  };
  // Each line differs from the one before it in both levels.
  const std::vector<std::pair<std::string, bool>> lines = {
      {"surf:0:4,bloomfilter:10", false},
      {"bloomfilter:10,bloomfilter:14", false},
      {"ribbonfilter:10,bloomfilter:10", false},
      {"nullptr,ribbonfilter:10", false},
      {"surf:0:4,nullptr", false},
      {"bloomfilter:10,ribbonfilter:14", true}};
  for (const auto& [policies, in_parts] : lines) {
    SCOPED_TRACE(policies);
    open(policies, in_parts);
    ASSERT_OK(RefreshAll());
    EXPECT_EQ(result_.files.size(), result_.files_rewritten);
    ASSERT_OK(RefreshAll());
    EXPECT_EQ(0u, result_.files_rewritten);
    EXPECT_LT(result_.bytes_read, Bytes() / 5);
    for (const RefreshedFile& file : result_.files) {
      const std::string of_level =
          policies.substr(file.level == 0 ? 0 : policies.find(',') + 1);
      const std::string outcome = ToString(file.outcome);
      EXPECT_EQ(of_level[0] == 's'   ? ToString(Outcome::kTooLittleGain)
                : of_level[0] == 'n' ? ToString(Outcome::kUnfiltered)
                                     : ToString(Outcome::kHasFilter),
                outcome);
    }
  }
  open("bloomfilter:10,ribbonfilter:14");
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(result_.files.size(), result_.files_rewritten);
  ExpectAllKeys();
}

TEST_F(RefreshSelectionTest, Ranges) {
  Fill();
  OpenForBloom();
  const auto check = [this](const RefreshOptions& options) {
    const auto before = FilesByName();
    ASSERT_OK(Refresh(options));
    ExpectRewritten(before, [&options](const LiveFileMetaData& file) {
      return (!options.start || file.largestkey >= *options.start) &&
             (!options.limit || file.smallestkey < *options.limit);
    });
  };
  RefreshOptions options;
  options.limit = keys_[kKeys / 10];
  check(options);
  options.start = keys_[kKeys * 9 / 10];
  options.limit.reset();
  check(options);
  // One key, which is the first one of a file or not.
  options.start = keys_[kKeys / 2];
  options.limit = keys_[kKeys / 2] + '\0';
  check(options);
  EXPECT_EQ(1u, result_.files_rewritten);
  // The limit is outside of the range, and the start is in it.
  const auto files = FilesByName();
  const auto file =
      std::find_if(files.begin(), files.end(), [this](const auto& named) {
        return named.second.smallestkey > keys_[kKeys / 5];
      });
  ASSERT_NE(files.end(), file);
  options.start = file->second.smallestkey;
  options.limit = file->second.smallestkey;
  ASSERT_OK(Refresh(options));
  EXPECT_EQ(result_.files.size(), Count(Outcome::kNotSelected));
  options.start = file->second.largestkey;
  options.limit = file->second.largestkey + '\0';
  check(options);
  EXPECT_EQ(1u, result_.files_rewritten);
  ExpectAllKeys();
}

// Redesigning takes the same choice.
TEST_F(RefreshSelectionTest, RangeOfARedesign) {
  FillForWideAndAskClose();
  RefreshOptions options;
  options.limit = keys_[kKeys / 5];
  const auto before = FilesByName();
  ASSERT_OK(Refresh(options));
  EXPECT_GT(result_.files_rewritten, 0u);
  for (const RefreshedFile& file : result_.files) {
    EXPECT_EQ(before.at(file.name).smallestkey < *options.limit,
              file.outcome != Outcome::kNotSelected)
        << file.name;
  }
  ExpectAllKeys();
}

// ---- Several at the same time ----

TEST_F(RefreshSelectionTest, OneByOneOrInParallel) {
  for (const uint32_t rewrites : {1u, 3u}) {
    SCOPED_TRACE(rewrites);
    const auto overlap = std::make_shared<Overlap>(/*waits=*/rewrites > 1);
    Destroy();
    options_.listeners.clear();
    SetTable("filter_policy=surf:0:4");
    Fill();
    options_.listeners = {overlap};
    OpenForBloom();
    const size_t files = NumFiles();
    RefreshOptions options;
    options.max_parallel_rewrites = rewrites;
    ASSERT_OK(Refresh(options));
    EXPECT_EQ(files, Count(Outcome::kRewritten));
    EXPECT_EQ(files, result_.files_rewritten);
    if (rewrites > 1) {
      EXPECT_GE(overlap->largest(), 2);
      EXPECT_LE(overlap->largest(), 3);
    } else {
      EXPECT_EQ(1, overlap->largest());
    }
    ExpectAllKeys();
    ASSERT_OK(Refresh(options));
    EXPECT_EQ(files, Count(Outcome::kHasFilter));
  }
}

TEST_F(RefreshSelectionTest, RedesignInParallel) {
  FillForWide();
  const std::vector<Query> close_again = Queries(/*close=*/true, 4);
  const double before = RateInDB(close_again);
  Run(Queries(/*close=*/true, 2));
  RefreshOptions options;
  options.max_parallel_rewrites = 4;
  ASSERT_OK(Refresh(options));
  EXPECT_GT(result_.files_rewritten, 1u);
  EXPECT_EQ(result_.files_rewritten, Count(Outcome::kRewritten));
  EXPECT_EQ(0u, Count(Outcome::kBeingCompacted) + Count(Outcome::kFailed));
  ExpectAllKeys();
  EXPECT_LT(RateInDB(close_again), before / 2);
}

// Files of level 0 overlap, and RocksDB may refuse to compact two of them at
// the same time. All are rewritten, and keep their order.
TEST_F(RefreshSelectionTest, Level0InParallel) {
  Open();
  for (const size_t step : {1, 2, 3, 4, 5}) WriteLevel0(step);
  OpenForBloom();
  RefreshOptions options;
  options.max_parallel_rewrites = 4;
  ASSERT_OK(Refresh(options));
  EXPECT_EQ(5u, Count(Outcome::kRewritten));
  EXPECT_EQ(5u, NumFiles());
  for (const auto& file : Levels()) EXPECT_EQ(0, file.second);
  for (size_t i = 0; i < keys_.size(); i += 10) {
    std::string value;
    ASSERT_OK(db_->Get(ReadOptions(), keys_[i], &value));
    EXPECT_EQ("of step 5", value);
  }
  std::string value;
  ASSERT_OK(db_->Get(ReadOptions(), keys_[7], &value));
  EXPECT_EQ("of step 1", value);
  ExpectAllKeys();
}

// Files in work count against the limit of bytes.
TEST_F(RefreshSelectionTest, LimitOfBytesInParallel) {
  Fill();
  OpenForBloom();
  RefreshOptions options;
  options.max_parallel_rewrites = 4;
  options.max_bytes = Bytes() / 3;
  ASSERT_OK(Refresh(options));
  EXPECT_LE(result_.bytes_rewritten, options.max_bytes);
  EXPECT_GT(result_.bytes_rewritten, options.max_bytes - 2 * kSstBytes);
  EXPECT_GT(Count(Outcome::kLimitReached), 0u);
  ExpectAllKeys();
}

// The files in work are finished, and counted.
TEST_F(RefreshSelectionTest, CancelledInParallel) {
  Fill();
  OpenForBloom();
  RefreshOptions options;
  options.max_parallel_rewrites = 3;
  options.progress = [](const RefreshProgress& progress) {
    return progress.files_decided < 2;
  };
  EXPECT_TRUE(Refresh(options).IsIncomplete());
  const size_t rewritten = Count(Outcome::kRewritten);
  EXPECT_GE(rewritten, 2u);
  EXPECT_LE(rewritten, 4u);
  EXPECT_EQ(rewritten, result_.files_rewritten);
  EXPECT_EQ(result_.files.size(), rewritten + Count(Outcome::kNotReached));
  for (const RefreshedFile& file : result_.files) {
    EXPECT_EQ(file.outcome == Outcome::kRewritten,
              Levels().count(file.name) == 0);
  }
  ExpectAllKeys();
}

}  // namespace ROCKSDB_NAMESPACE::protean
