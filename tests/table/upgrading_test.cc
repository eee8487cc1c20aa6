// SPDX-License-Identifier: Apache-2.0

//  What docs/upgrading.md says of files of RocksDB, backups, checkpoints, and
//  workers for remote compaction; and the way back, a refresh to a policy of
//  RocksDB's own in a running DB. In tools/testdata/rollback.txt, a RocksDB
//  without Protean asks such filters.

#include <cstdlib>

#include "rocksdb/utilities/backup_engine.h"
#include "tests/sst_damage.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

class UpgradingTest : public RefreshTest {
 protected:
  UpgradingTest() {
    table_.no_block_cache = true;
    UsePolicy(policy_, table_);
  }

  // Blocks read by Gets of absent keys, for each Get. There is no block cache.
  double BlocksPerAbsentGet() {
    const std::vector<Query> absent = Queries(/*close=*/false, 9, 1000);
    const uint64_t before = BlocksRead();
    for (const Query& query : absent) EXPECT_FALSE(Has(query.lo));
    return static_cast<double>(BlocksRead() - before) /
           static_cast<double>(absent.size());
  }

  BlockBasedTableOptions table_;
};

// ---- Files of RocksDB alone ----

// A DB is switched to ProteanTable, runs as before, and is refreshed: filters
// are designed by what was asked.
TEST_F(UpgradingTest, FilesOfRocksDBTeachTheFirstFilters) {
  for (const char* stock : {"filter_policy=bloomfilter:12", ""}) {
    SCOPED_TRACE(stock);
    SetTable(stock, "BlockBasedTable");
    Fill();
    NewPolicy();
    UsePolicy(policy_, table_);
    Open();
    const auto blocks_read_by = [this](const std::vector<Query>& queries) {
      const uint64_t before = BlocksRead();
      Run(queries);
      return BlocksRead() - before;
    };
    const std::vector<Query> asked = Queries(/*close=*/true, 2);
    const uint64_t before = blocks_read_by(asked);
    EXPECT_GE(before, asked.size());
    EXPECT_EQ(2000u, queue()->size());  // all that it may hold
    EXPECT_EQ(asked.size(), queue()->sampled());

    ASSERT_OK(Refresh(With("payback_seconds=1000000000")));
    EXPECT_EQ(2000u, result_.samples);
    EXPECT_TRUE(result_.rate_known);
    EXPECT_GT(result_.files_rewritten, 2u);
    EXPECT_LE(result_.bytes_rewritten, Bytes() / 2);
    // Other queries of the same kind.
    EXPECT_LT(blocks_read_by(Queries(/*close=*/true, 4)), before / 5);
    ExpectAllKeys();
  }
}

// ---- Backups ----

// Files of samples are Protean's own, and RocksDB copies only what it knows,
// even if they are in the folder of the DB.
TEST_F(UpgradingTest, BackupsAndCheckpointsHoldNoSamples) {
  Env* const env = Env::Default();
  const std::string samples = path_ + "/queries.samples";
  ASSERT_OK(env->CreateDirIfMissing(path_));
  policy_options_.samples_file = samples;
  NewPolicy();
  Open();
  WriteFile(keys_, /*level=*/3);
  Run(Queries(/*close=*/true, 2));
  Open();  // the samples are saved at Close
  ASSERT_OK(env->FileExists(samples));
  const std::string restored = path_ + "_restored";
  const std::string copy = path_ + "_checkpoint";
  std::unique_ptr<BackupEngine> engine;
  ASSERT_OK(OpenAs<BackupEngine>(&engine,
                                 BackupEngineOptions(path_ + "_backup"), env));
  ASSERT_OK(engine->CreateNewBackup(db_.get()));
  ASSERT_OK(engine->RestoreDBFromLatestBackup(restored, restored));
  ASSERT_OK(MakeCheckpoint(db_.get(), copy));
  for (const std::string& folder : {restored, copy}) {
    EXPECT_TRUE(env->FileExists(folder + "/queries.samples").IsNotFound());
  }
}

// ---- Fleets and replicas ----

// A DB of either kind is followed by instances of both: whichever table the
// replica has, it reads every key. With Protean's, it asks the filters that the
// files have; RocksDB's own asks only those of RocksDB.
TEST_F(UpgradingTest, ReplicasWithAndWithoutProtean) {
  const auto own = options_.table_factory;
  const auto stock = NewTable(
      "BlockBasedTable", "filter_policy=bloomfilter:10;no_block_cache=true");
  for (const bool primary_is_stock : {true, false}) {
    options_.table_factory = primary_is_stock ? stock : own;
    Fill();
    const std::unique_ptr<DB> primary = std::move(db_);
    for (const bool replica_is_stock : {true, false}) {
      SCOPED_TRACE(std::to_string(primary_is_stock) + " " +
                   std::to_string(replica_is_stock));
      Options options = options_;
      options.table_factory = replica_is_stock ? stock : own;
      options.max_open_files = -1;
      ASSERT_OK(OpenSecondary(&db_, options, path_, path_ + "_replica"));
      ExpectAllKeys();
      if (!replica_is_stock || primary_is_stock) {
        EXPECT_LT(BlocksPerAbsentGet(), 0.1);
      }
      db_.reset();
    }
  }
}

// ---- Versions ----

// A block of a later version of the format is not asked, and every key is
// found. A file that is written again has a filter that this version asks.
TEST_F(UpgradingTest, FiltersOfALaterVersion) {
  constexpr size_t kVersionOffset = 4;  // in a filter block
  FillForWide();
  const std::vector<LiveFileMetaData> files = Files();
  Close();
  for (const LiveFileMetaData& file : files) {
    ChangeFilter(PathOf(file), /*right_checksum=*/true,
                 [](std::string* filter) { (*filter)[kVersionOffset] = 99; });
  }
  Open();
  ExpectAllKeys();
  EXPECT_GT(BlocksPerAbsentGet(), 0.9);
  Compact();
  ExpectAllKeys();
  EXPECT_LT(BlocksPerAbsentGet(), 0.1);
}

// ---- Remote compaction ----

// Lets another place compact.
class Workers : public CompactionService {
 public:
  // `compact` stores the result of a compaction; false if it could not.
  using Compact =
      std::function<bool(const std::string& input, std::string* result)>;
  explicit Workers(Compact compact) : compact_(std::move(compact)) {}
  const char* Name() const override { return "Workers"; }

  CompactionServiceScheduleResponse Schedule(
      const CompactionServiceJobInfo&, const std::string& input) override {
    jobs++;
    input_ = input;
    return {"job", CompactionServiceJobStatus::kSuccess};
  }
  CompactionServiceJobStatus Wait(const std::string&,
                                  std::string* result) override {
    return compact_(input_, result) ? CompactionServiceJobStatus::kSuccess
                                    : CompactionServiceJobStatus::kUseLocal;
  }

  int jobs = 0;

 private:
  const Compact compact_;
  std::string input_;
};

class RemoteCompactionTest : public UpgradingTest {
 protected:
  RemoteCompactionTest() {
    EXPECT_OK(Env::Default()->CreateDirIfMissing(out_));
    options_.max_subcompactions = 1;
    options_.disable_auto_compactions = true;
  }
  ~RemoteCompactionTest() override {
    Close();
    EXPECT_OK(DestroyDB(out_, Options()));
  }

  void CompactBy(Workers::Compact compact) {
    const auto workers = std::make_shared<Workers>(std::move(compact));
    options_.compaction_service = workers;
    FillForWide();
    Compact();
    EXPECT_GT(workers->jobs, 0);
    ExpectAllKeys();
    EXPECT_LT(BlocksPerAbsentGet(), 0.1);
  }
  const std::string out_ = path_ + "_out";
};

// A worker without Protean replaces the table of the OPTIONS file, which it
// does not know, by its own: the files get its filters. Gets are filtered,
// reads are sampled, and RefreshFilters gives range filters to the files that
// need them.
TEST_F(RemoteCompactionTest, WorkerWithoutProtean) {
  CompactBy([this](const std::string& input, std::string* result) {
    Env* const env = Env::Default();
    EXPECT_OK(WriteStringToFile(env, input, out_ + "/input"));
    const std::string command = std::string(STOCK_WORKER) + " " + path_ + " " +
                                out_ + " " + out_ + "/input " + out_ +
                                "/result";
    EXPECT_EQ(0, std::system(command.c_str()));
    *result = ContentsOf(out_ + "/result");
    for (const char* name : {"/input", "/result"}) {
      EXPECT_OK(env->DeleteFile(out_ + name));
    }
    return true;
  });
  EXPECT_EQ((std::map<std::string, size_t>{{"bloomfilter", NumFiles()}}),
            Policies());
  Run(Queries(/*close=*/true, 2));
  ASSERT_OK(Refresh(With("payback_seconds=1000000000")));
  EXPECT_GT(result_.files_rewritten, 0u);
}

// A worker whose override names ProteanTable builds Protean's filters, and
// RocksDB compacts itself what a worker could not compact.
TEST_F(RemoteCompactionTest, WorkersWithProteanAndThatFail) {
  for (const bool works : {true, false}) {
    SCOPED_TRACE(works);
    CompactBy([&](const std::string& input, std::string* result) {
      if (!works) return false;
      CompactionServiceOptionsOverride options;
      options.table_factory =
          NewTable("ProteanTable", "filter_policy=surf:0:8");
      const Status s = DB::OpenAndCompact(path_, out_, input, result, options);
      EXPECT_OK(s);
      return s.ok();
    });
    for (const auto& [policy, files] : Policies()) {
      EXPECT_EQ(0u, policy.find("protean.")) << policy;
    }
  }
}

// ---- The way back ----

class ReplaceFiltersTest : public RefreshTest {
 protected:
  // Which of Protean's filters are replaced makes no difference.
  ReplaceFiltersTest() { SetPolicy("surf:0:8"); }

  static RefreshOptions Parallel(uint32_t rewrites) {
    return With("max_parallel_rewrites=" + std::to_string(rewrites));
  }
  void FillAndChangePolicy(const std::string& policy = "bloomfilter:10") {
    Fill();
    ChangePolicy(policy);
  }
  // Writes every `step`-th key once more, into a file of level 0.
  void WriteLevel0(size_t step) {
    for (size_t i = 0; i < keys_.size(); i += step)
      Put(keys_[i], "of step " + std::to_string(step));
    Flush();
  }

  std::map<std::string, LiveFileMetaData> FilesByName() const {
    std::map<std::string, LiveFileMetaData> files;
    for (const LiveFileMetaData& file : Files()) {
      files[file.relative_filename] = file;
    }
    return files;
  }
  // Refreshes, and checks that exactly the files that `selects` are rewritten.
  void ExpectRewritten(
      const RefreshOptions& options,
      const std::function<bool(const LiveFileMetaData&)>& selects) {
    const auto before = FilesByName();
    ASSERT_OK(Refresh(options));
    const auto after = FilesByName();
    size_t selected = 0;
    for (const RefreshedFile& file : result_.files) {
      const bool is_selected = selects(before.at(file.name));
      EXPECT_EQ(is_selected ? Outcome::kRewritten : Outcome::kNotSelected,
                file.outcome)
          << file.name << ": " << ToString(file.outcome);
      EXPECT_EQ(is_selected, after.count(file.name) == 0) << file.name;
      if (is_selected) selected++;
    }
    EXPECT_EQ(selected, result_.files_rewritten);
    EXPECT_GT(selected, 0u);
    EXPECT_LT(selected, result_.files.size());
  }
};

TEST_F(ReplaceFiltersTest, FilesWithoutAFilter) {
  SetTable("filter_policy=nullptr");
  FillAndChangePolicy();
  // A file of range deletions alone has no key for a filter.
  ASSERT_OK(db_->DeleteRange(WriteOptions(), Slice("\0", 1), Slice("\0\0", 2)));
  Flush();
  EXPECT_EQ(NumFiles() - 1, Rewritten());
  EXPECT_EQ(1u, Count(Outcome::kUnfiltered));
  EXPECT_EQ(0u, Rewritten());
}

// The filters of files whose keys have another order, which answer Get only,
// are replaced, too.
TEST_F(ReplaceFiltersTest, OtherComparator) {
  options_.comparator = ReverseBytewiseComparator();
  FillAndChangePolicy();
  EXPECT_EQ(NumFiles(), Rewritten());
  EXPECT_EQ(NumFiles(), Policies()["bloomfilter"]);
}

// The order of the keys tells which files overlap.
TEST_F(ReplaceFiltersTest, OtherComparatorAndOptimizeFiltersForHits) {
  options_.comparator = ReverseBytewiseComparator();
  options_.optimize_filters_for_hits = true;
  Fill();
  WriteLevel0(5);
  ChangePolicy("bloomfilter:10");
  EXPECT_EQ(1u, Rewritten());
  EXPECT_EQ(NumFiles() - 1, Count(Outcome::kUnfiltered));
  EXPECT_EQ(0u, Rewritten());
  EXPECT_EQ(1u, Count(Outcome::kHasFilter));
}

// In level 0, a file gets a filter if anything is older, wherever it lies.
TEST_F(ReplaceFiltersTest, Level0AndOptimizeFiltersForHits) {
  options_.optimize_filters_for_hits = true;
  Fill();
  Put(keys_.back() + "beyond", "all others");
  Flush();
  ChangePolicy("bloomfilter:10");
  EXPECT_EQ(1u, Rewritten());
  EXPECT_EQ(NumFiles() - 1, Count(Outcome::kUnfiltered));
  EXPECT_EQ(0u, Rewritten());
  EXPECT_EQ(1u, Count(Outcome::kHasFilter));
}

// ---- Chosen levels and keys ----

TEST_F(ReplaceFiltersTest, Levels) {
  Fill();
  WriteLevel0(5);
  WriteLevel0(3);
  ChangePolicy("bloomfilter:10");
  RefreshOptions options;
  for (const int level : {0, 3}) {
    SCOPED_TRACE(level);
    options.levels = {level, 5};
    ExpectRewritten(options, [level](const LiveFileMetaData& file) {
      return file.level == level;
    });
    if (level == 0) {
      // A second pass finds nothing to do in this level.
      EXPECT_EQ(0u, Rewritten(options));
      EXPECT_EQ(2u, Count(Outcome::kHasFilter));
    }
  }
  ExpectAllKeys();
  options.levels = {1, 2};
  ASSERT_OK(Refresh(options));
  EXPECT_EQ(result_.files.size(), Count(Outcome::kNotSelected));
}

// Levels whose policy is RocksDB's, or that have no filters, are done with once
// their files have what the policy gives.
TEST_F(ReplaceFiltersTest, LevelsOfRocksDB) {
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
    EXPECT_EQ(NumFiles(), Rewritten(AllFiles()));
    EXPECT_EQ(0u, Rewritten(AllFiles()));
    EXPECT_LT(result_.bytes_read, Bytes() / 5);
    for (const RefreshedFile& file : result_.files) {
      const char of_level =
          policies[file.level == 0 ? 0 : policies.find(',') + 1];
      EXPECT_EQ(of_level == 's'   ? Outcome::kTooLittleGain
                : of_level == 'n' ? Outcome::kUnfiltered
                                  : Outcome::kHasFilter,
                file.outcome);
    }
  }
  open("bloomfilter:10,ribbonfilter:14");
  EXPECT_EQ(NumFiles(), Rewritten(AllFiles()));
  ExpectAllKeys();
}

TEST_F(ReplaceFiltersTest, Ranges) {
  FillAndChangePolicy();
  const auto check = [this](const RefreshOptions& options) {
    ExpectRewritten(options, [&options](const LiveFileMetaData& file) {
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

// ---- Several at the same time ----

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

TEST_F(ReplaceFiltersTest, OneByOneOrInParallel) {
  for (const uint32_t rewrites : {1u, 3u}) {
    SCOPED_TRACE(rewrites);
    const auto overlap = std::make_shared<Overlap>(/*waits=*/rewrites > 1);
    options_.listeners.clear();
    Fill();
    options_.listeners = {overlap};
    Open();
    ChangePolicy("bloomfilter:10");
    const size_t files = NumFiles();
    EXPECT_EQ(files, Rewritten(DryRun()));
    EXPECT_EQ(files, Count(Outcome::kWouldRewrite));
    EXPECT_EQ(Bytes(), result_.bytes_rewritten);
    EXPECT_EQ(0u, Policies()["bloomfilter"]);
    EXPECT_EQ(files, Rewritten(Parallel(rewrites)));
    EXPECT_EQ(files, Count(Outcome::kRewritten));
    EXPECT_EQ((std::map<std::string, size_t>{{"bloomfilter", NumFiles()}}),
              Policies());
    EXPECT_LE(rewrites > 1 ? 2 : 1, overlap->largest());
    EXPECT_GE(static_cast<int>(rewrites), overlap->largest());
    ExpectAllKeys();
    // Nothing is done twice, and a filter of RocksDB's stays, whichever it is.
    for (const char* again : {"bloomfilter:10", "ribbonfilter:10"}) {
      ChangePolicy(again);
      EXPECT_EQ(0u, Rewritten(Parallel(rewrites))) << again;
      EXPECT_EQ(files, Count(Outcome::kHasFilter)) << again;
    }
  }
}

// Where a policy of Protean designs the filters.
TEST_F(ReplaceFiltersTest, RedesignInParallel) {
  UsePolicy(policy_);
  FillForWide();
  const std::vector<Query> close_again = Queries(/*close=*/true, 4);
  const double before = RateInDB(close_again);
  Run(Queries(/*close=*/true, 2));
  EXPECT_GT(Rewritten(Parallel(4)), 1u);
  EXPECT_EQ(result_.files_rewritten, Count(Outcome::kRewritten));
  EXPECT_EQ(0u, Count(Outcome::kBeingCompacted) + Count(Outcome::kFailed));
  ExpectAllKeys();
  EXPECT_LT(RateInDB(close_again), before / 2);
}

// Files of level 0 overlap, and RocksDB may refuse to compact two of them at
// the same time. All are rewritten, and keep their order.
TEST_F(ReplaceFiltersTest, Level0InParallel) {
  Open();
  for (const size_t step : {1, 2, 3, 4, 5}) WriteLevel0(step);
  ChangePolicy("bloomfilter:10");
  EXPECT_EQ(5u, Rewritten(Parallel(4)));
  EXPECT_EQ(5u, Count(Outcome::kRewritten));
  EXPECT_EQ(5u, NumFiles());
  for (const auto& file : Levels()) EXPECT_EQ(0, file.second);
  std::string value;
  for (size_t i = 0; i < keys_.size(); i += 10) {
    ASSERT_OK(db_->Get(ReadOptions(), keys_[i], &value));
    EXPECT_EQ("of step 5", value);
  }
  ASSERT_OK(db_->Get(ReadOptions(), keys_[7], &value));
  EXPECT_EQ("of step 1", value);
  ExpectAllKeys();
}

// A refresh ends when it is told to, keeps to its limit of bytes, and goes on
// where it was. Files in work are finished and counted.
TEST_F(ReplaceFiltersTest, LimitsAndEnds) {
  for (const uint32_t rewrites : {1u, 3u}) {
    SCOPED_TRACE(rewrites);
    SetPolicy("surf:0:8");
    FillAndChangePolicy("ribbonfilter:10");
    RefreshOptions options = Parallel(rewrites);
    options.progress = [](const RefreshProgress& progress) {
      return progress.files_decided < 2;
    };
    EXPECT_TRUE(Refresh(options).IsIncomplete());
    const size_t rewritten = Count(Outcome::kRewritten);
    EXPECT_GE(rewritten, 2u);
    EXPECT_LE(rewritten, rewrites + 1);
    EXPECT_EQ(rewritten, result_.files_rewritten);
    EXPECT_EQ(result_.files.size(), rewritten + Count(Outcome::kNotReached));
    const auto levels = Levels();
    for (const RefreshedFile& file : result_.files) {
      EXPECT_EQ(file.outcome == Outcome::kRewritten,
                levels.count(file.name) == 0);
    }
    ExpectAllKeys();

    options = Parallel(rewrites);
    options.max_bytes = Bytes() / 3;
    ASSERT_OK(Refresh(options));
    EXPECT_EQ(rewritten, Count(Outcome::kHasFilter));
    EXPECT_LE(result_.bytes_rewritten, options.max_bytes);
    EXPECT_GT(result_.bytes_rewritten, options.max_bytes - 2 * kSstBytes);
    const size_t left = Count(Outcome::kLimitReached);
    EXPECT_GT(left, 0u);
    EXPECT_EQ(left, Rewritten(Parallel(rewrites)));
    EXPECT_EQ(NumFiles(), Policies()["ribbonfilter"]);
    ExpectAllKeys();
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
