// SPDX-License-Identifier: Apache-2.0

//  A refresh preserves the tree of files, its keys and snapshots, and does not
//  disturb other threads. RewriteFile, by which it does so, is last.

#include <thread>

#include "rocksdb/env_encryption.h"
#include "rocksdb/utilities/stackable_db.h"
#include "rocksdb/utilities/transaction_db.h"
#include "table/filter_trial.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Trees ----

// Overlapping files keep their levels, and their order in level 0; deletions
// and snapshots keep what they hide and show.
TEST_F(RefreshTest, FilesStayInTheirLevels) {
  for (const CompactionStyle style :
       {kCompactionStyleLevel, kCompactionStyleUniversal,
        kCompactionStyleFIFO}) {
    SCOPED_TRACE(static_cast<int>(style));
    NewPolicy();
    options_.compaction_style = style;
    const bool fifo = style == kCompactionStyleFIFO;
    options_.num_levels = fifo ? 1 : 4;
    SeedSamples(policy_.get(), Queries(/*close=*/false, 1));
    OpenNew();
    Records model;
    Records model_before;
    ReadOptions before_deletion;
    Random64 random(5);
    for (int round = 0; round < 5; round++) {
      for (const std::string& key : keys_) {
        if (random.OneIn(2)) {
          model[key] = "of round " + std::to_string(round);
          Put(key, model[key]);
        } else if (random.OneIn(5)) {
          model.erase(key);
          Delete(key);
        }
      }
      if (round == 2) {
        model_before = model;
        before_deletion.snapshot = db_->GetSnapshot();
        ASSERT_OK(db_->DeleteRange(WriteOptions(), keys_[100], keys_[200]));
        model.erase(model.lower_bound(keys_[100]),
                    model.lower_bound(keys_[200]));
      }
      Flush();
      if (!fifo && round < 2) CompactLevel0Into(3 - round, kSstBytes);
    }
    const auto count_levels = [this] {
      std::map<int, size_t> count;
      for (const auto& file : Levels()) count[file.second]++;
      return count;
    };
    const auto before = count_levels();
    EXPECT_EQ(fifo ? 5u : 3u, before.at(0));
    Run(Queries(/*close=*/true, 2));

    ASSERT_OK(Refresh());
    EXPECT_EQ(before, count_levels());
    std::map<int, size_t> rewritten;
    const auto names = Levels();
    for (const RefreshedFile& file : result_.files) {
      EXPECT_OK(file.status);
      EXPECT_EQ(file.outcome == Outcome::kRewritten,
                names.count(file.name) == 0);
      if (file.outcome == Outcome::kRewritten) rewritten[file.level]++;
    }
    EXPECT_EQ(before.at(0), rewritten[0]);
    if (!fifo) {
      EXPECT_GT(rewritten[2], 0u);
      EXPECT_GT(rewritten[3], 0u);
    }
    ExpectRecords(db_.get(), model);
    ExpectRecords(db_.get(), model_before, before_deletion);
    db_->ReleaseSnapshot(before_deletion.snapshot);
  }
}

// The versions of a key that snapshots hold lie in two files: both are
// rewritten, and do not become one.
TEST_F(RefreshTest, NeighboursThatShareAKey) {
  SeedSamples(policy_.get(), Queries(/*close=*/false, 1));
  Open();
  keys_.resize(2000);
  std::vector<const Snapshot*> snapshots;
  const std::string value(100, 'v');
  for (size_t i = 0; i < keys_.size(); i++) {
    // A limit of three times the size of a file.
    const int versions = i == 1000 ? 2000 : 1;
    for (int v = 0; v < versions; v++) {
      Put(keys_[i], value);
      if (versions > 1) snapshots.push_back(db_->GetSnapshot());
    }
  }
  Flush();
  CompactLevel0Into(3, kSstBytes);
  const size_t files = NumFiles();
  ASSERT_GT(files, 4u);
  Run(Queries(/*close=*/true, 2, 3000, 1.0));
  EXPECT_GT(Rewritten(), 1u);
  EXPECT_NEAR(static_cast<double>(files), static_cast<double>(NumFiles()), 2);
  for (const Snapshot* snapshot : snapshots) {
    ReadOptions read;
    read.snapshot = snapshot;
    ASSERT_TRUE(Has(keys_[1000], read));
    db_->ReleaseSnapshot(snapshot);
  }
  ExpectAllKeys();
}

TEST_F(RefreshTest, SeveralPaths) {
  const std::string other = path_ + "_other";
  options_.db_paths = {{path_, 1 << 30}, {other, 1 << 30}};
  SeedSamples(policy_.get(), Queries(/*close=*/false, 1));
  Open();
  WriteFile(keys_, /*level=*/0, "a value of thirty bytes or so");
  CompactionOptions compaction;
  compaction.output_file_size_limit = kSstBytes;
  for (const int path : {0, 1}) {
    ASSERT_OK(db_->CompactFiles(compaction, {Files().front().name}, 3, path));
  }
  const auto paths = [this] {
    std::map<std::string, size_t> count;
    for (const LiveFileMetaData& file : Files()) count[file.directory]++;
    return count;
  };
  const auto before = paths();
  EXPECT_GT(before.count(other), 0u);
  Run(Queries(/*close=*/true, 2));
  EXPECT_GT(Rewritten(), 0u);
  EXPECT_EQ(before, paths());
  Open();
  ExpectAllKeys();
}

TEST_F(RefreshTest, OptimizeFiltersForHits) {
  options_.optimize_filters_for_hits = true;
  FillForWideAndAskClose();
  ASSERT_OK(Refresh());
  EXPECT_EQ(NumFiles(), Count(Outcome::kUnfiltered));
  ChangePolicy("bloomfilter:10");
  ASSERT_OK(Refresh());
  EXPECT_EQ(NumFiles(), Count(Outcome::kUnfiltered));
}

// ---- What others do meanwhile ----

TEST_F(RefreshTest, FilesThatAreGone) {
  FillForWideAndAskClose();
  RefreshOptions options;
  bool compacted = false;
  options.progress = [&](const RefreshProgress& progress) {
    if (progress.bytes_read > 0 && !std::exchange(compacted, true)) Compact();
    return true;
  };
  EXPECT_EQ(0u, Rewritten(options));
  EXPECT_GT(Count(Outcome::kGone), 2u);
  EXPECT_EQ(0u, Count(Outcome::kFailed));
  ExpectAllKeys();
}

// Blocks the first compaction until it is told to continue.
class HoldCompaction : public EventListener {
 public:
  void OnCompactionBegin(DB* /*db*/,
                         const CompactionJobInfo& /*job*/) override {
    if (begun.IsSet()) return;
    begun.Set();
    may_go_on.Wait();
  }

  Event begun;
  Event may_go_on;
};

TEST_F(RefreshTest, FilesThatAreBeingCompacted) {
  FillForWide();
  db_.reset();
  const auto hold = std::make_shared<HoldCompaction>();
  options_.listeners = {hold};
  Open();
  Run(Queries(/*close=*/true, 2));
  const std::string first = Files().front().relative_filename;
  std::thread compactor([&] {
    CompactRangeOptions force;
    force.bottommost_level_compaction = BottommostLevelCompaction::kForce;
    const Slice begin(keys_[10]);
    const Slice end(keys_[20]);
    EXPECT_OK(db_->CompactRange(force, &begin, &end));
  });
  hold->begun.Wait();
  EXPECT_GT(Rewritten(), 2u);
  hold->may_go_on.Set();
  compactor.join();
  EXPECT_EQ(1u, Count(Outcome::kBeingCompacted));
  for (const RefreshedFile& file : result_.files) {
    EXPECT_EQ(file.name == first, file.outcome == Outcome::kBeingCompacted);
  }
  options_.listeners.clear();
}

// ---- Column families ----

TEST_F(RefreshTest, RefusesOthers) {
  const std::string needs = "Invalid argument: RefreshFilters needs ";
  const std::string builds = needs + "a filter policy that builds filters";
  const std::string ranges = "Not implemented: range filters";
  for (const auto& [table, words] :
       {std::pair<std::string, std::string>{
            "", needs + "the table factory ProteanTable, and the column family "
                        "default has BlockBasedTable"},
        {"filter_policy=bloomfilter:0", builds},
        {"filter_policy=bloomfilter:10;whole_key_filtering=false", builds},
        {"filter_policy=nullptr",
         needs + "a filter policy of Protean, or one of RocksDB's own"},
        {"filter_policy=proteus:10;whole_key_filtering=false",
         ranges + " are off"},
        {"filter_policy=proteus:10", ranges}}) {
    SCOPED_TRACE(table);
    // With Protean's usual policy, another order is refused.
    if (table == "filter_policy=proteus:10") {
      options_.comparator = ReverseBytewiseComparator();
    }
    SetTable(table, table.empty() ? "BlockBasedTable" : "ProteanTable");
    OpenNew();
    ExpectHas(Refresh().ToString(), {words});
  }
}

// Only files whose filters are worse are rewritten.
TEST_F(RefreshTest, PolicyWithoutSamples) {
  SetTable("filter_policy=surf:0:0");
  Fill();
  const auto rewritten_with = [this](const std::string& policy) {
    SetPolicy(policy);
    Open();
    return Rewritten();
  };
  EXPECT_EQ(0u, rewritten_with("surf:0:0"));
  EXPECT_EQ(0u, result_.samples);
  EXPECT_EQ(NumFiles(), Count(Outcome::kTooLittleGain));
  EXPECT_EQ(NumFiles(), rewritten_with("surf:0:8"));
  for (const RefreshedFile& file : result_.files) {
    EXPECT_EQ(0u, file.new_design.find("surf: "));
    EXPECT_GT(file.old_fpr, 0.1);
    EXPECT_LT(file.new_fpr, file.old_fpr / 2);
    EXPECT_LT(file.saved_reads_per_second, 0);
  }
  EXPECT_EQ(0u, rewritten_with("surf:0:8"));
  EXPECT_EQ(0u, rewritten_with("surf:0:0")) << "which is worse";
  ExpectAllKeys();
}

// Files without a filter, or with a filter of RocksDB, which denies points.
TEST_F(RefreshTest, OtherFiltersAndNone) {
  for (const auto& [bloom, points] :
       {std::pair(true, false), {false, false}, {true, true}}) {
    SCOPED_TRACE(std::string(bloom ? "Bloom" : "none") +
                 (points ? ", points" : ""));
    SetTable(bloom ? "filter_policy=bloomfilter:12" : "", "BlockBasedTable");
    Fill();
    NewPolicy();
    std::vector<Query> queries = Queries(/*close=*/true, 2);
    if (points) {
      for (Query& query : queries) query.hi = query.lo;
    }
    SeedSamples(policy_.get(), queries);
    Open();
    const size_t rewritten = Rewritten();
    if (points) {
      EXPECT_EQ(0u, rewritten);
      EXPECT_GT(Count(Outcome::kTooLittleGain), 2u);
      continue;
    }
    EXPECT_GT(rewritten, 2u);
    EXPECT_LE(result_.bytes_rewritten, Bytes() / 2);
    for (const RefreshedFile& file : result_.files) {
      if (file.outcome != Outcome::kRewritten) continue;
      EXPECT_EQ(bloom ? "RocksDB's" : "none", file.old_design);
      // RocksDB's filter denies the few points.
      EXPECT_GE(file.old_fpr, bloom ? 0.8 : 1);
      EXPECT_LT(file.new_fpr, 0.2);
    }
    EXPECT_LT(RateInDB(Queries(/*close=*/true, 4)), 0.2);
  }
}

TEST_F(RefreshTest, Timestamps) {
  options_.comparator = BytewiseComparatorWithU64Ts();
  SeedSamples(policy_.get(), Queries(/*close=*/false, 1));
  Open();
  std::string buffer;
  for (uint64_t time = 1; time <= 2; time++) {
    for (const std::string& key : keys_) {
      ASSERT_OK(
          db_->Put(WriteOptions(), key, EncodeU64Ts(time, &buffer), "a value"));
    }
  }
  Flush();
  CompactLevel0Into(3, kSstBytes);
  SeedSamples(policy_.get(), Queries(/*close=*/true, 2));
  EXPECT_GT(Rewritten(), 2u);
  EXPECT_LE(result_.bytes_rewritten, Bytes() / 2);
  for (const RefreshedFile& file : result_.files) {
    if (file.outcome != Outcome::kRewritten) continue;
    EXPECT_GT(file.old_fpr, 0.2);
    EXPECT_LT(file.new_fpr, 0.2);
  }
  const Slice timestamp = EncodeU64Ts(9, &buffer);
  ReadOptions read;
  read.timestamp = &timestamp;
  for (const std::string& key : keys_) ASSERT_TRUE(Has(key, read));
}

TEST_F(RefreshTest, EncryptedFiles) {
  std::shared_ptr<EncryptionProvider> provider;
  ASSERT_OK(EncryptionProvider::CreateFromString(ConfigOptions(), "1://test",
                                                 &provider));
  const std::unique_ptr<Env> env(NewEncryptedEnv(Env::Default(), provider));
  options_.env = env.get();
  FillForWideAndAskClose();
  EXPECT_GT(Rewritten(), 2u);
  ExpectAllKeys();
  Destroy();
  options_.env = Env::Default();
}

// A column family is refreshed with its own samples, through a wrapped DB.
TEST_F(RefreshTest, ColumnFamilyOfATransactionDB) {
  ASSERT_OK(
      OpenAs<TransactionDB>(&db_, options_, TransactionDBOptions(), path_));
  ColumnFamilyHandle* const other = NewFamily("other");
  for (const std::string& key : keys_) {
    Put(key);
    ASSERT_OK(db_->Put(WriteOptions(), other, key, "value"));
  }
  ASSERT_OK(db_->Flush(FlushOptions(), {db_->DefaultColumnFamily(), other}));
  const auto queue =
      policy_->Samples()->Queue("other", Env::Default(), nullptr);
  for (const Query& query : Queries(/*close=*/false, 2)) {
    queue->Add({query.lo, query.hi, /*hi_inclusive=*/true});
  }
  const auto before = Levels();
  ASSERT_OK(RefreshFilters(db_.get(), other, RefreshOptions(), &result_));
  EXPECT_EQ(1u, result_.files_rewritten);
  const auto after = Levels();
  EXPECT_EQ(2u, after.size());
  EXPECT_EQ(0u, after.count(result_.files[0].name));
}

// Once RocksDB makes its instance for a single level of files, once the other.
TEST_F(RefreshTest, InstancesThatOnlyRead) {
  FillForWide();
  for (const bool one_level : {true, false}) {
    SCOPED_TRACE(one_level);
    if (!one_level) {
      Put(keys_[0]);
      Flush();
    }
    Run(Queries(/*close=*/true, 2));
    db_.reset();
    ASSERT_OK(OpenReadOnly(&db_, options_, path_));
    ASSERT_OK(Refresh(DryRun()));
    EXPECT_GT(Count(Outcome::kWouldRewrite), 2u);
    EXPECT_TRUE(Refresh().IsNotSupported());
    EXPECT_TRUE(result_.files.empty());
    db_.reset();
    ASSERT_OK(OpenSecondary(&db_, options_, path_, path_ + "_secondary"));
    EXPECT_TRUE(Refresh().IsNotSupported());
    Open();
  }
  // A policy of RocksDB's own.
  db_.reset();
  SetTable("filter_policy=bloomfilter:10");
  ASSERT_OK(OpenReadOnly(&db_, options_, path_));
  EXPECT_TRUE(Refresh().IsNotSupported());
}

// ---- RewriteFile ----

// Runs `before` once, between the look at the tree and the first compaction.
class RacingDB : public StackableDB {
 public:
  RacingDB(DB* db, std::function<void()> before)
      : StackableDB(std::shared_ptr<DB>(db, [](DB*) {})),
        before_(std::move(before)) {}

  using StackableDB::CompactFiles;
  Status CompactFiles(const CompactionOptions& options,
                      ColumnFamilyHandle* column_family,
                      const std::vector<std::string>& names, int level,
                      int path, std::vector<std::string>* output,
                      CompactionJobInfo* info) override {
    if (before_) std::exchange(before_, nullptr)();
    return StackableDB::CompactFiles(options, column_family, names, level, path,
                                     output, info);
  }

 private:
  std::function<void()> before_;
};

class RewriteFileTest : public OwnDBTest {
 protected:
  Status Rewrite(const std::string& name, std::function<void()> before) {
    RacingDB racing(db_.get(), std::move(before));
    return RewriteFile(&racing, db_->DefaultColumnFamily(), name);
  }
  LiveFileMetaData OnlyFile() const { return Files().at(0); }
};

// A trivial move gives the same file another level.
TEST_F(RewriteFileTest, FollowsAFileThatIsMoved) {
  options_.num_levels = 5;
  Open();
  WriteFile({"a", "key"}, /*level=*/3);
  for (const bool moved : {false, true}) {
    SCOPED_TRACE(moved);
    const LiveFileMetaData before = OnlyFile();
    ASSERT_EQ(3, before.level);
    const std::function<void()> move = [&] {
      CompactRangeOptions compact;
      compact.change_level = true;
      compact.target_level = 4;
      compact.bottommost_level_compaction = BottommostLevelCompaction::kSkip;
      ASSERT_OK(db_->CompactRange(compact, nullptr, nullptr));
      ASSERT_EQ(before.relative_filename, OnlyFile().relative_filename);
      ASSERT_EQ(4, OnlyFile().level);
    };
    EXPECT_OK(Rewrite(before.relative_filename, moved ? move : nullptr));
    EXPECT_EQ(1u, NumFiles());
    const LiveFileMetaData after = OnlyFile();
    EXPECT_NE(before.relative_filename, after.relative_filename);
    EXPECT_EQ(moved ? 4 : 3, after.level);
    EXPECT_EQ("a", after.smallestkey);
    EXPECT_EQ("key", after.largestkey);
    EXPECT_TRUE(Has("key"));
  }
}

TEST_F(RewriteFileTest, FindsNoFileThatIsGone) {
  Open();
  WriteFile({"key"});
  const std::string name = OnlyFile().relative_filename;
  EXPECT_TRUE(Rewrite("000000.sst", nullptr).IsNotFound());
  EXPECT_TRUE(Rewrite(name, [&] {
                EXPECT_OK(
                    RewriteFile(db_.get(), db_->DefaultColumnFamily(), name));
              }).IsNotFound());
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
