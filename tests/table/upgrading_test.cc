// SPDX-License-Identifier: Apache-2.0

//  What docs/upgrading.md says of files of RocksDB, backups, checkpoints, and
//  workers for remote compaction.

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
  BlockBasedTableOptions bloom = table_;
  bloom.filter_policy.reset(NewBloomFilterPolicy(10));
  const std::shared_ptr<TableFactory> stock(NewBlockBasedTableFactory(bloom));
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

}  // namespace ROCKSDB_NAMESPACE::protean
