// SPDX-License-Identifier: Apache-2.0

//  A refresh preserves the tree of files, its keys, snapshots and column
//  families, and does not disturb other threads.

#include <condition_variable>
#include <fstream>
#include <thread>

#include "rocksdb/env_encryption.h"
#include "rocksdb/utilities/transaction_db.h"
#include "tests/open_secondary.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Trees ----

namespace {

class RefreshStyleTest : public RefreshTest,
                         public ::testing::WithParamInterface<CompactionStyle> {
};

std::string StyleName(const ::testing::TestParamInfo<CompactionStyle>& info) {
  return info.param == kCompactionStyleLevel       ? "Level"
         : info.param == kCompactionStyleUniversal ? "Universal"
                                                   : "Fifo";
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Styles, RefreshStyleTest,
                         ::testing::Values(kCompactionStyleLevel,
                                           kCompactionStyleUniversal,
                                           kCompactionStyleFIFO),
                         StyleName);

// Overlapping files keep their levels, and their order in level 0.
TEST_P(RefreshStyleTest, FilesStayInTheirLevels) {
  options_.compaction_style = GetParam();
  const bool fifo = GetParam() == kCompactionStyleFIFO;
  if (fifo) options_.num_levels = 1;
  SeedSamples(policy_.get(), Queries(/*close=*/false, 1));
  Open();
  std::map<std::string, std::string> model;
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
  const auto names_before = Levels();
  Run(Queries(/*close=*/true, 2));

  ASSERT_OK(Refresh());
  EXPECT_EQ(before, count_levels());
  std::map<int, size_t> rewritten;
  const auto names = Levels();
  for (const RefreshedFile& file : result_.files) {
    EXPECT_OK(file.status);
    EXPECT_EQ(file.outcome == Outcome::kRewritten, names.count(file.name) == 0);
    if (file.outcome == Outcome::kRewritten) rewritten[file.level]++;
  }
  EXPECT_EQ(before.at(0), rewritten[0]);
  if (!fifo) {
    EXPECT_GT(rewritten[2], 0u);
    EXPECT_GT(rewritten[3], 0u);
  }
  ExpectRecords(db_.get(), model);
}

// The versions of a key that snapshots hold lie in two files: both are
// rewritten, and do not become one.
TEST_F(RefreshTest, NeighboursThatShareAKey) {
  SeedSamples(policy_.get(), Queries(/*close=*/false, 1));
  keys_.resize(2000);
  Open();
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
  ASSERT_OK(Refresh());
  EXPECT_GT(result_.files_rewritten, 1u);
  EXPECT_NEAR(static_cast<double>(files), static_cast<double>(NumFiles()), 2);
  for (const Snapshot* snapshot : snapshots) {
    ReadOptions read;
    read.snapshot = snapshot;
    std::string found;
    ASSERT_OK(db_->Get(read, keys_[1000], &found));
    db_->ReleaseSnapshot(snapshot);
  }
  ExpectAllKeys();
}

TEST_F(RefreshTest, SnapshotsAndDeletions) {
  FillForWide();
  const Snapshot* snapshot = db_->GetSnapshot();
  for (size_t i = 0; i < keys_.size(); i += 3) Delete(keys_[i]);
  ASSERT_OK(db_->DeleteRange(WriteOptions(), keys_[100], keys_[200]));
  Flush();
  const std::vector<Query> close = Queries(/*close=*/true, 2);
  Run(close);
  ASSERT_OK(Refresh());
  EXPECT_GT(result_.files_rewritten, 1u);
  for (size_t i = 0; i < keys_.size(); i++) {
    std::string value;
    ReadOptions old;
    old.snapshot = snapshot;
    ASSERT_TRUE(Has(keys_[i], old));
    ASSERT_EQ(i % 3 == 0 || (i >= 100 && i < 200),
              db_->Get(ReadOptions(), keys_[i], &value).IsNotFound());
  }
  db_->ReleaseSnapshot(snapshot);
}

TEST_F(RefreshTest, SeveralPaths) {
  const std::string other = path_ + "_other";
  options_.db_paths = {{path_, 1 << 30}, {other, 1 << 30}};
  SeedSamples(policy_.get(), Queries(/*close=*/false, 1));
  Open();
  for (const std::string& key : keys_)
    Put(key, "a value of thirty bytes or so");
  Flush();
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
  ASSERT_OK(Refresh());
  EXPECT_GT(result_.files_rewritten, 0u);
  EXPECT_EQ(before, paths());
  ExpectAllKeys();
  RateInDB({});
}

TEST_F(RefreshTest, OptimizeFiltersForHits) {
  options_.optimize_filters_for_hits = true;
  FillForWideAndAskClose();
  ASSERT_OK(Refresh());
  EXPECT_EQ(result_.files.size(), Count(Outcome::kUnfiltered));
}

// ---- What others do meanwhile ----

TEST_F(RefreshTest, ConcurrentWritesAndCompactions) {
  options_.disable_auto_compactions = false;
  options_.write_buffer_size = 64 << 10;
  options_.max_bytes_for_level_base = 256 << 10;
  options_.level0_file_num_compaction_trigger = 2;
  SeedSamples(policy_.get(), Queries(/*close=*/false, 1));
  Open();
  // None of these keys is within a query.
  std::atomic<bool> done{false};
  std::thread writer([&] {
    Random64 random(9);
    for (int i = 0; i < 100000; i++) {
      const std::string& key = keys_[random.Uniform(keys_.size())];
      Put(key, std::to_string(i));
    }
    for (const std::string& key : keys_) Put(key, "the last");
    done = true;
  });
  int calls = 0;
  std::map<Outcome, size_t> outcomes;
  for (bool close = true; !done; close = !close) {
    Run(Queries(close, 10 + static_cast<uint64_t>(calls), 300));
    ASSERT_OK(Refresh());
    calls++;
    for (const RefreshedFile& file : result_.files) {
      outcomes[file.outcome]++;
      EXPECT_NE(Outcome::kDamaged, file.outcome);
      EXPECT_NE(Outcome::kFailed, file.outcome) << file.status.ToString();
      EXPECT_NE(Outcome::kNotReached, file.outcome);
    }
  }
  writer.join();
  for (const auto& outcome : outcomes) {
    printf("%s: %zu\n", ToString(outcome.first), outcome.second);
  }
  EXPECT_GT(calls, 1);
  EXPECT_GT(outcomes[Outcome::kRewritten], 0u);
  ExpectAllKeys();
  ASSERT_OK(db_->VerifyChecksum());
}

TEST_F(RefreshTest, FilesThatAreGone) {
  FillForWideAndAskClose();
  RefreshOptions options;
  bool compacted = false;
  options.progress = [&](const RefreshProgress& progress) {
    if (progress.bytes_read > 0 && !compacted) {
      compacted = true;
      Compact();
    }
    return true;
  };
  ASSERT_OK(Refresh(options));
  EXPECT_EQ(0u, result_.files_rewritten);
  EXPECT_GT(Count(Outcome::kGone), 2u);
  EXPECT_EQ(0u, Count(Outcome::kFailed));
  ExpectAllKeys();
}

namespace {

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

}  // namespace

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
  ASSERT_OK(Refresh());
  hold->may_go_on.Set();
  compactor.join();
  EXPECT_EQ(1u, Count(Outcome::kBeingCompacted));
  for (const RefreshedFile& file : result_.files) {
    EXPECT_EQ(file.name == first, file.outcome == Outcome::kBeingCompacted);
  }
  EXPECT_GT(result_.files_rewritten, 2u);
  options_.listeners.clear();
}

TEST_F(RefreshTest, DamagedFile) {
  options_.paranoid_checks = false;
  FillForWideAndAskClose();
  RefreshOptions dry;
  dry.dry_run = true;
  ASSERT_OK(Refresh(dry));
  const std::string damaged = result_.files.front().name;
  ASSERT_EQ(Outcome::kWouldRewrite, result_.files.front().outcome);
  {
    std::fstream file(path_ + "/" + damaged,
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(kSstBytes / 2);
    file.write("damage", 6);
    ASSERT_TRUE(file.good());
  }
  const auto before = Levels();
  ASSERT_OK(Refresh());
  EXPECT_EQ(Outcome::kDamaged, result_.files.front().outcome);
  EXPECT_TRUE(result_.files.front().status.IsCorruption());
  EXPECT_EQ(1u, Count(Outcome::kDamaged));
  EXPECT_GT(result_.files_rewritten, 2u);
  EXPECT_EQ(1u, Levels().count(damaged));
  // The DB has not noticed, and continues to write.
  Put("key");
  Flush();
}

// ---- Column families ----

TEST_F(RefreshTest, RefusesOthers) {
  const auto expect = [this](const std::string& table,
                             const std::string& words) {
    SetTable(table, table.empty() ? "BlockBasedTable" : "ProteanTable");
    Open();
    return Refresh().ToString().find(words) != std::string::npos;
  };
  EXPECT_TRUE(expect("",
                     "Invalid argument: RefreshFilters needs the table "
                     "factory ProteanTable, not BlockBasedTable"));
  EXPECT_TRUE(expect("filter_policy=bloomfilter:0",
                     "Invalid argument: RefreshFilters needs a filter policy "
                     "that builds filters"));
  EXPECT_TRUE(
      expect("filter_policy=bloomfilter:10;whole_key_filtering=false",
             "Invalid argument: RefreshFilters needs a filter policy that "
             "builds filters"));
  EXPECT_TRUE(expect("filter_policy=nullptr",
                     "Invalid argument: RefreshFilters needs a filter policy "
                     "of Protean, or one of RocksDB's own"));
  EXPECT_TRUE(expect("filter_policy=proteus:10;whole_key_filtering=false",
                     "Not implemented: range filters are off"));
  Destroy();
  options_.comparator = ReverseBytewiseComparator();
  EXPECT_TRUE(
      expect("filter_policy=proteus:10", "Not implemented: range filters"));
}

// With a policy without samples, only files whose filters are worse are
// rewritten.
TEST_F(RefreshTest, PolicyWithoutSamples) {
  SetTable("filter_policy=surf:0:0");
  Fill();
  const auto refresh_with = [this](const std::string& policy) {
    SetPolicy(policy);
    Open();
    return Refresh();
  };
  ASSERT_OK(refresh_with("surf:0:0"));
  EXPECT_EQ(0u, result_.samples);
  EXPECT_EQ(0u, result_.files_rewritten);
  EXPECT_EQ(result_.files.size(), Count(Outcome::kTooLittleGain));
  ASSERT_OK(refresh_with("surf:0:8"));
  EXPECT_EQ(result_.files.size(), result_.files_rewritten);
  for (const RefreshedFile& file : result_.files) {
    EXPECT_EQ(0u, file.new_design.find("surf: "));
    EXPECT_GT(file.old_fpr, 0.1);
    EXPECT_LT(file.new_fpr, file.old_fpr / 2);
    EXPECT_LT(file.saved_reads_per_second, 0);
  }
  ASSERT_OK(refresh_with("surf:0:8"));
  EXPECT_EQ(0u, result_.files_rewritten);
  // Worse filters are not built.
  ASSERT_OK(refresh_with("surf:0:0"));
  EXPECT_EQ(0u, result_.files_rewritten);
  ExpectAllKeys();
}

// Files without a filter, or with a filter of RocksDB.
TEST_F(RefreshTest, OtherFiltersAndNone) {
  const auto own = options_.table_factory;
  for (const bool bloom : {true, false}) {
    SCOPED_TRACE(bloom);
    Destroy();
    SetTable(bloom ? "filter_policy=bloomfilter:12" : "", "BlockBasedTable");
    Fill();
    db_.reset();
    options_.table_factory = own;
    SeedSamples(policy_.get(), Queries(/*close=*/true, 2));
    Open();
    ASSERT_OK(Refresh());
    EXPECT_GT(result_.files_rewritten, 2u);
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

// RocksDB's Bloom filters deny points, too.
TEST_F(RefreshTest, BloomFiltersForPoints) {
  const auto own = options_.table_factory;
  SetTable("filter_policy=bloomfilter:12", "BlockBasedTable");
  Fill();
  db_.reset();
  options_.table_factory = own;
  std::vector<Query> points = Queries(/*close=*/true, 2);
  for (Query& point : points) point.hi = point.lo;
  SeedSamples(policy_.get(), points);
  Open();
  ASSERT_OK(Refresh());
  EXPECT_EQ(0u, result_.files_rewritten);
  EXPECT_GT(Count(Outcome::kTooLittleGain), 2u);
}

TEST_F(RefreshTest, Timestamps) {
  options_.comparator = BytewiseComparatorWithU64Ts();
  SeedSamples(policy_.get(), Queries(/*close=*/false, 1));
  Open();
  for (uint64_t time = 1; time <= 2; time++) {
    std::string timestamp;
    PutFixed64(&timestamp, time);
    for (const std::string& key : keys_) {
      ASSERT_OK(db_->Put(WriteOptions(), key, timestamp, "a value"));
    }
  }
  Flush();
  CompactLevel0Into(3, kSstBytes);
  SeedSamples(policy_.get(), Queries(/*close=*/true, 2));
  ASSERT_OK(Refresh());
  EXPECT_GT(result_.files_rewritten, 2u);
  EXPECT_LE(result_.bytes_rewritten, Bytes() / 2);
  for (const RefreshedFile& file : result_.files) {
    if (file.outcome != Outcome::kRewritten) continue;
    EXPECT_GT(file.old_fpr, 0.2);
    EXPECT_LT(file.new_fpr, 0.2);
  }
  std::string now;
  PutFixed64(&now, 9);
  const Slice timestamp(now);
  ReadOptions read;
  read.timestamp = &timestamp;
  for (const std::string& key : keys_) {
    ASSERT_TRUE(Has(key, read));
  }
}

TEST_F(RefreshTest, EncryptedFiles) {
  std::shared_ptr<EncryptionProvider> provider;
  ASSERT_OK(EncryptionProvider::CreateFromString(ConfigOptions(), "1://test",
                                                 &provider));
  const std::unique_ptr<Env> env(NewEncryptedEnv(Env::Default(), provider));
  options_.env = env.get();
  FillForWideAndAskClose();
  ASSERT_OK(Refresh());
  EXPECT_GT(result_.files_rewritten, 2u);
  ExpectAllKeys();
  Destroy();
  options_.env = Env::Default();
}

// A column family is refreshed with its own samples, through a wrapped DB.
TEST_F(RefreshTest, ColumnFamilyOfATransactionDB) {
  TransactionDB* opened = nullptr;
  ASSERT_OK(
      TransactionDB::Open(options_, TransactionDBOptions(), path_, &opened));
  db_.reset(opened);
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
    RefreshOptions dry;
    dry.dry_run = true;
    ASSERT_OK(Refresh(dry));
    EXPECT_GT(Count(Outcome::kWouldRewrite), 2u);
    EXPECT_TRUE(Refresh().IsNotSupported());
    EXPECT_TRUE(result_.files.empty());
    db_.reset();
    const std::string secondary = path_ + "_secondary";
    ASSERT_OK(OpenSecondary(&db_, options_, path_, secondary));
    EXPECT_TRUE(Refresh().IsNotSupported());
    db_.reset();
    ASSERT_OK(DestroyDB(secondary, Options()));
    Open();
  }
}

// A refresh neither adds samples nor saves them.
TEST_F(RefreshTest, SamplesFileIsLeftAlone) {
  ProteusPolicyOptions policy;
  policy.sample_every = 1;
  policy.samples_file = path_ + ".samples";
  Env::Default()->DeleteFile(policy.samples_file).PermitUncheckedError();
  policy_ =
      std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus, policy);
  UsePolicy(policy_);
  FillForWideAndAskClose();
  const uint64_t recorded = queue()->recorded();
  ASSERT_OK(Refresh());
  EXPECT_GT(result_.files_rewritten, 2u);
  EXPECT_EQ(recorded, queue()->recorded());
  EXPECT_TRUE(Env::Default()->FileExists(policy.samples_file).IsNotFound());
  db_.reset();
  ASSERT_OK(Env::Default()->FileExists(policy.samples_file));
  ASSERT_OK(Env::Default()->DeleteFile(policy.samples_file));
}

}  // namespace ROCKSDB_NAMESPACE::protean
