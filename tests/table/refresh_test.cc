// SPDX-License-Identifier: Apache-2.0

//  Refreshed filters are as good as after a full compaction, for a part of the
//  bytes, within limits, and in the background.

#include <atomic>
#include <thread>

#include "filter_policy/samples/query_file.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- How good ----

TEST_F(RefreshTest, AsGoodAsAFullCompactionForHalfTheBytes) {
  FillForWide();
  const std::vector<Query> close_again = Queries(/*close=*/true, 4);
  const double before = RateInDB(close_again);
  Run(Queries(/*close=*/true, 2));

  EXPECT_GT(Rewritten(), 0u);
  EXPECT_TRUE(result_.rate_known);
  EXPECT_EQ(2000u, result_.samples);
  EXPECT_LE(result_.bytes_rewritten, Bytes() / 2);
  EXPECT_LE(result_.bytes_read, Bytes() / 2);
  EXPECT_GT(result_.saved_reads_per_second, 0);
  EXPECT_EQ(result_.files_rewritten, Count(Outcome::kRewritten));
  for (const RefreshedFile& file : result_.files) {
    SCOPED_TRACE(file.name + " " + ToString(file.outcome));
    EXPECT_EQ(3, file.level);
    EXPECT_GT(file.bytes, 0u);
    EXPECT_GT(file.entries, 100u);
    EXPECT_OK(file.status);
    if (file.outcome == Outcome::kRewritten) {
      EXPECT_GT(file.queries, 20u);
      EXPECT_GT(file.old_fpr, 0.1);
      EXPECT_LT(file.new_fpr, 0.1);
      EXPECT_GE(file.new_fpr, 0);
      EXPECT_EQ(0u, file.old_design.find("proteus: "));
      EXPECT_EQ(0u, file.new_design.find("proteus: "));
      EXPECT_NE(file.old_design, file.new_design);
      EXPECT_NEAR(file.asked_per_second * (file.old_fpr - file.new_fpr),
                  file.saved_reads_per_second,
                  0.01 * file.saved_reads_per_second);
    } else {
      EXPECT_EQ(Outcome::kNotAsked, file.outcome);
      EXPECT_LT(file.new_fpr, 0);
    }
  }
  ExpectAllKeys();
  const double refreshed = RateInDB(close_again);
  Compact();
  const double compacted = RateInDB(close_again);
  EXPECT_GT(before, 0.5);
  EXPECT_LE(refreshed, 1.1 * compacted + kNoise);
}

TEST_F(RefreshTest, ThereAndBack) {
  FillForWide();
  const std::vector<Query> wide = Queries(/*close=*/false, 3);
  const std::vector<Query> wide_again = Queries(/*close=*/false, 5);
  const double first = RateInDB(wide_again);
  Run(Queries(/*close=*/true, 2));
  ASSERT_OK(Refresh());
  EXPECT_GT(RateInDB(wide_again), 2 * first);
  Run(wide);
  EXPECT_GT(Rewritten(), 0u);
  // Only the files that were rewritten for the close queries are rewritten.
  EXPECT_LE(result_.bytes_rewritten, Bytes() / 2);
  EXPECT_LE(RateInDB(wide_again), 1.1 * first + kNoise);
  Run(wide);
  EXPECT_EQ(0u, Rewritten());
  EXPECT_EQ(0u, Count(Outcome::kNotReached));
}

TEST_F(RefreshTest, NothingToDo) {
  FillForWide();
  const auto before = Levels();
  EXPECT_EQ(0u, Rewritten());
  EXPECT_FALSE(result_.rate_known) << "of samples from a seed_file";
  EXPECT_EQ(before, Levels());
  EXPECT_EQ(result_.files.size(), Count(Outcome::kTooLittleGain));

  // A column family without files.
  keys_.clear();
  OpenNew();
  ASSERT_OK(Refresh());
  EXPECT_TRUE(result_.files.empty());
}

// ---- Limits ----

// A dry run changes nothing, and no refresh adds samples or saves them.
TEST_F(RefreshTest, DryRunChangesNothing) {
  const std::string samples = path_ + ".samples";
  Env::Default()->DeleteFile(samples).PermitUncheckedError();
  policy_options_.samples_file = samples;
  NewPolicy();
  FillForWideAndAskClose();
  const auto before = Levels();
  const uint64_t recorded = queue()->recorded();
  ASSERT_OK(options_.statistics->Reset());
  ASSERT_OK(Refresh(DryRun()));
  const RefreshResult expected = result_;
  EXPECT_GT(expected.files_rewritten, 2u);
  EXPECT_GT(expected.bytes_rewritten, 0u);
  EXPECT_EQ(expected.files_rewritten, Count(Outcome::kWouldRewrite));
  EXPECT_EQ(before, Levels());
  // No read of a user has been counted.
  for (const Tickers ticker :
       {BLOCK_CACHE_MISS, BLOCK_CACHE_HIT, BLOCK_CACHE_ADD, BLOOM_FILTER_USEFUL,
        NUMBER_DB_SEEK, LAST_LEVEL_SEEK_FILTERED}) {
    EXPECT_EQ(0u, Ticks(ticker)) << ticker;
  }
  EXPECT_EQ(recorded, queue()->recorded());
  // The refresh does what the dry run has announced.
  EXPECT_EQ(expected.files_rewritten, Rewritten());
  EXPECT_EQ(expected.bytes_rewritten, result_.bytes_rewritten);
  EXPECT_EQ(recorded, queue()->recorded());
  EXPECT_TRUE(Env::Default()->FileExists(samples).IsNotFound());
}

TEST_F(RefreshTest, LimitOfBytes) {
  FillForWide();
  // Two thirds of the queries in the lowest tenth: these files are worth most.
  Run(Queries(/*close=*/true, 2, 700, 0.4));
  Run(Queries(/*close=*/true, 3, 1300, 0.1));
  RefreshOptions options;
  options.max_bytes = 2 * kSstBytes + kSstBytes / 2;
  EXPECT_EQ(2u, Rewritten(options));
  EXPECT_LE(result_.bytes_rewritten, options.max_bytes);
  EXPECT_GT(Count(Outcome::kLimitReached), 2u);
  size_t unread = 0;
  for (const RefreshedFile& file : result_.files) {
    if (file.outcome == Outcome::kRewritten) {
      EXPECT_GT(file.queries, 2000u / 40);
    }
    if (file.outcome == Outcome::kLimitReached && file.new_fpr < 0) unread++;
  }
  // Files that cannot be rewritten need not be read.
  EXPECT_GT(unread, 2u);
  EXPECT_LT(result_.bytes_read, 5 * kSstBytes);

  options.max_bytes = 0;
  ASSERT_OK(Refresh(options));
  EXPECT_EQ(0u, result_.bytes_rewritten);
  EXPECT_EQ(0u, result_.bytes_read);
}

TEST_F(RefreshTest, LimitOfRate) {
  FillForWide();
  Run(Queries(/*close=*/true, 2, 2000, 0.2));
  RefreshOptions options;
  options.bytes_per_second = 400 << 10;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_GE(Rewritten(options), 3u);
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  EXPECT_GE((elapsed.count() + 0.3) * (400 << 10),
            result_.bytes_read + result_.bytes_rewritten);
}

TEST_F(RefreshTest, PaysBack) {
  FillForWideAndAskClose();
  EXPECT_EQ(0u, Rewritten(With("payback_seconds=0.000000001")));
  EXPECT_GT(Count(Outcome::kTooLittleGain), 2u);
  // No filter is so bad that a new one gains all, or it is that bad.
  ASSERT_OK(Refresh(With("min_gain=1")));
  for (const RefreshedFile& file : result_.files) {
    if (file.outcome != Outcome::kRewritten) continue;
    EXPECT_EQ(1, file.old_fpr - file.new_fpr) << file.name;
  }
}

// A query is sampled in each of the runs. Its questions count in equal parts
// for all of them.
TEST_F(RefreshTest, RateOfQuestions) {
  const auto per_second = [this](double questions) {
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - queue()->created();
    return questions / elapsed.count();
  };
  for (const size_t runs : {1, 3}) {
    SCOPED_TRACE(runs);
    NewPolicy();
    SeedSamples(policy_.get(), Queries(/*close=*/false, 1));
    OpenNew();
    for (size_t run = 0; run < runs; run++) {
      for (size_t i = run; i < keys_.size(); i += runs) Put(keys_[i]);
      Flush();
      if (runs == 1) CompactLevel0Into(3);
    }
    Run(Queries(/*close=*/true, 2));
    const double most = per_second(3000);
    ASSERT_OK(Refresh(DryRun()));
    const double least = per_second(3000);
    double asked = 0;
    for (const RefreshedFile& file : result_.files) {
      asked += std::max(file.asked_per_second, 0.0);
      if (runs > 1) {
        EXPECT_LE(file.asked_per_second, most);
        EXPECT_GE(file.asked_per_second, 0.95 * least);
      }
    }
    if (runs > 1) {
      EXPECT_EQ(runs * 3000, queue()->sampled());
      EXPECT_EQ(runs, result_.files_rewritten);
    } else {
      // A few queries lie between two files.
      EXPECT_LE(asked, most);
      EXPECT_GE(asked, 0.95 * least);
    }
  }
}

TEST_F(RefreshTest, Cancelled) {
  FillForWideAndAskClose();
  RefreshOptions options;
  RefreshProgress last;
  options.progress = [&last](const RefreshProgress& progress) {
    EXPECT_GE(progress.files_decided, last.files_decided);
    EXPECT_GE(progress.bytes_read, last.bytes_read);
    last = progress;
    return progress.bytes_rewritten == 0;
  };
  EXPECT_TRUE(Refresh(options).IsIncomplete());
  EXPECT_EQ(1u, result_.files_rewritten);
  EXPECT_EQ(1u, Count(Outcome::kRewritten));
  EXPECT_GT(result_.bytes_rewritten, 0u);
  EXPECT_GT(Count(Outcome::kNotReached), 1u);
  EXPECT_EQ(result_.files.size(), last.files);
  ExpectAllKeys();

  // Refreshing ends at once.
  const auto before = Levels();
  options.progress = [](const RefreshProgress&) { return false; };
  EXPECT_TRUE(Refresh(options).IsIncomplete());
  EXPECT_EQ(result_.files.size(),
            Count(Outcome::kNotReached) + Count(Outcome::kNotAsked));
  EXPECT_EQ(before, Levels());

  // Refreshing ends while it pauses, or reads.
  options.bytes_per_second = 1000;
  int calls = 0;
  options.progress = [&calls](const RefreshProgress&) { return ++calls < 10; };
  EXPECT_TRUE(Refresh(options).IsIncomplete());
  EXPECT_EQ(before, Levels());

  // The rest is refreshed now.
  EXPECT_GT(Rewritten(), 1u);

  db_->DisableManualCompaction();
  Run(Queries(/*close=*/false, 3));
  EXPECT_TRUE(Refresh().IsIncomplete());
  EXPECT_GT(Count(Outcome::kNotReached), 1u);
}

// ---- Once converged ----

// While queries of the same kind come, files that were read in vain are not
// read again, but for one now and then.
TEST_F(RefreshTest, ConvergedFilesAreNotReadAgain) {
  // No filter of this size does well with close queries.
  ASSERT_OK(policy_->ConfigureFromMap(ConfigOptions(), {{"bits_per_key", "4"}},
                                      nullptr));
  FillForWideAndAskClose();
  EXPECT_GT(Rewritten(), 2u);
  Run(Queries(/*close=*/true, 3));
  EXPECT_EQ(0u, Rewritten());
  // Read in vain, since their filters let through too much.
  EXPECT_GT(result_.bytes_read, 5 * kSstBytes);

  uint64_t read = 0;
  for (int i = 0; i < 8; i++) {
    Run(Queries(/*close=*/true, 10 + i));
    EXPECT_EQ(0u, Rewritten()) << i;
    EXPECT_LE(result_.bytes_read, 2 * kSstBytes) << i;
    read += result_.bytes_read;
  }
  EXPECT_GT(read, 0u);
  EXPECT_LE(read, 3 * kSstBytes);

  // The shift back is seen at once.
  Run(Queries(/*close=*/false, 5));
  EXPECT_GT(Rewritten(), 2u);
}

// A filter that knows nothing lets through all queries of any kind, so it is
// looked at again although that does not change.
TEST_F(RefreshTest, FutileFilesAreLookedAt) {
  FillForWide();
  // Right above keys, where a filter of this size has nothing to say.
  const auto right_above = [this](uint64_t seed) {
    Random64 random(seed);
    std::vector<Query> queries;
    while (queries.size() < 3000) {
      const uint64_t lo = NumberOf(keys_[random.Uniform(keys_.size())]) + 1;
      queries.push_back({BigEndian(lo), BigEndian(lo + (uint64_t{1} << 44))});
      if (Holds(keys_, queries.back())) queries.pop_back();
    }
    return queries;
  };
  Run(right_above(1));
  EXPECT_EQ(0u, Rewritten());
  EXPECT_GT(result_.bytes_read, Bytes() / 2);
  uint64_t rewritten = 0;
  for (int i = 0; i < 4; i++) {
    Run(Queries(/*close=*/true, 20 + i, 3000, /*lowest=*/1));
    rewritten += Rewritten();
  }
  EXPECT_GT(rewritten, NumFiles() / 2);
}

// A refresh of all files after a change of the policy, which ended early, goes
// on where it was, although the samples have changed meanwhile.
TEST_F(RefreshTest, AllFilesGoOn) {
  FillForWide();
  db_.reset();
  policy_options_.bits_per_key = 10;
  NewPolicy();
  Open();
  Run(Queries(/*close=*/true, 2));
  RefreshOptions options = AllFiles();
  options.progress = [](const RefreshProgress& progress) {
    return progress.bytes_rewritten < 5 * kSstBytes;
  };
  EXPECT_TRUE(Refresh(options).IsIncomplete());
  const uint64_t before = result_.bytes_rewritten;
  const uint64_t files_before = result_.files_rewritten;
  EXPECT_GE(files_before, 4u);
  Run(Queries(/*close=*/true, 3, 100));
  EXPECT_EQ(result_.files.size() - files_before, Rewritten(AllFiles()));
  EXPECT_LE(before + result_.bytes_rewritten, Bytes() * 21 / 20);
  ExpectAllKeys();
}

// A job that refreshes all files each night rewrites those for which that pays,
// though samples differ each time, and some files have kept a design.
TEST_F(RefreshTest, AllFilesEachNight) {
  // A price that is measured may be another one each night.
  policy_options_.false_positive_cost_micros = 200;
  for (const uint64_t filter_budget_bytes : {uint64_t{0}, kKeys * 12 / 8}) {
    SCOPED_TRACE(filter_budget_bytes);
    policy_options_.filter_budget_bytes = filter_budget_bytes;
    NewPolicy();
    FillForWide();
    const uint64_t all = NumFiles();
    // Under a budget, the files of a new tree get more bits than they had.
    ASSERT_OK(RefreshAll());
    for (int night = 0; night < 3; night++) {
      Run(Queries(/*close=*/false, 10 + night, 500));
      // A file is asked a hundred queries, by which another design may look
      // better.
      EXPECT_LE(Rewritten(AllFiles()), 1u) << night;
    }
    // The queries shift, among the lowest keys.
    Run(Queries(/*close=*/true, 4));
    EXPECT_GT(Rewritten(AllFiles()), all / 5);
    if (filter_budget_bytes == 0) {
      EXPECT_LT(result_.files_rewritten, all * 3 / 5);
    }
    Run(Queries(/*close=*/true, 5, 500));
    EXPECT_EQ(0u, Rewritten(AllFiles()));
    ExpectAllKeys();
  }
}

// Where samples come from is no part of what filters are designed for, and
// samples that are gone are no reason to design filters without any.
TEST_F(RefreshTest, AnotherPathOfSeedsIsNoOtherPolicy) {
  const std::string seeds = path_ + ".seeds";
  std::vector<SampleQuery> queries;
  for (const Query& query : Queries(/*close=*/false, 1)) {
    queries.push_back({query.lo, query.hi, false});
  }
  const auto seed = [&](const std::string& file) {
    ASSERT_OK(WriteQueryFile(Env::Default(), file, queries));
    SetPolicy("{id=protean.Proteus;sample_every=50;seed_file=" + file + "}");
  };
  seed(seeds);
  Fill();
  db_.reset();
  seed(seeds + ".moved");
  for (const bool gone : {false, true}) {
    SCOPED_TRACE(gone);
    if (gone) SetPolicy("{id=protean.Proteus;sample_every=50}");
    Open();
    EXPECT_EQ(0u, Rewritten(AllFiles()));
    EXPECT_EQ(0u, result_.bytes_read);
  }
}

// ---- In the background ----

TEST_F(RefreshTest, InTheBackground) {
  FillForWideAndAskClose();
  std::vector<uint64_t> rewritten;
  Event reported_twice;
  {
    const FilterRefresher refresher(
        db_.get(), db_->DefaultColumnFamily(), RefreshOptions(),
        /*period_seconds=*/1,
        [&](const Status& status, const RefreshResult& result) {
          EXPECT_OK(status);
          rewritten.push_back(result.files_rewritten);
          if (rewritten.size() == 2) reported_twice.Set();
        });
    reported_twice.Wait();
  }
  EXPECT_GT(rewritten[0], 2u);
  EXPECT_EQ(0u, rewritten[1]);
  ExpectAllKeys();

  // A period that is as good as infinite.
  for (const uint64_t seconds : {~uint64_t{0}, ~uint64_t{0} / 1000000 + 1}) {
    std::atomic<int> refreshes{0};
    {
      const FilterRefresher refresher(
          db_.get(), db_->DefaultColumnFamily(), RefreshOptions(), seconds,
          [&](const Status&, const RefreshResult&) { refreshes++; });
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    EXPECT_EQ(0, refreshes) << seconds;
  }

  // The refresher ends in the middle of a refresh.
  Run(Queries(/*close=*/false, 3));
  RefreshOptions slow;
  slow.bytes_per_second = 1000;
  Event began;
  slow.progress = [&began](const RefreshProgress&) {
    began.Set();
    return true;
  };
  Status status;
  {
    FilterRefresher refresher(
        db_.get(), db_->DefaultColumnFamily(), slow, /*period_seconds=*/1,
        [&status](const Status& s, const RefreshResult&) { status = s; });
    began.Wait();
  }
  EXPECT_TRUE(status.IsIncomplete());
}

}  // namespace ROCKSDB_NAMESPACE::protean
