// SPDX-License-Identifier: Apache-2.0

//  The way back from Protean in a running DB: the filter policy is set to one
//  of RocksDB's, RefreshFilters gives its filters to all files, and a RocksDB
//  without Protean asks them.

#include <functional>

#include "rocksdb/utilities/stackable_db.h"
#include "table/rewrite_file.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

class ReplaceFiltersTest : public RefreshTest {
 protected:
  void ChangePolicy(const std::string& policy) {
    ASSERT_OK(db_->SetOptions({{"table_factory.filter_policy", policy}}));
  }

  // Opens the DB as RocksDB does without Protean, and checks that the filters
  // of its files deny keys.
  void ExpectStockFilters() {
    SetTable("filter_policy=bloomfilter:10", "BlockBasedTable");
    ASSERT_OK(options_.statistics->Reset());
    Open();
    get_perf_context()->Reset();
    const std::vector<Query> absent = Queries(/*close=*/true, 7);
    for (const Query& query : absent) EXPECT_FALSE(Has(query.lo));
    EXPECT_LT(absent.size() * 9 / 10, Ticks(BLOOM_FILTER_USEFUL));
    EXPECT_LT(absent.size() * 9 / 10, get_perf_context()->bloom_sst_miss_count);
    ExpectAllKeys();
  }
};

TEST_F(ReplaceFiltersTest, InARunningDB) {
  FillForWide();
  const size_t files = NumFiles();
  ChangePolicy("bloomfilter:10");
  RefreshOptions dry;
  dry.dry_run = true;
  ASSERT_OK(Refresh(dry));
  EXPECT_EQ(files, Count(Outcome::kWouldRewrite));
  EXPECT_EQ(Bytes(), result_.bytes_rewritten);
  EXPECT_EQ(0u, Policies()["bloomfilter"]);
  ASSERT_OK(Refresh());
  EXPECT_EQ(files, Count(Outcome::kRewritten));
  EXPECT_EQ((std::map<std::string, size_t>{{"bloomfilter", NumFiles()}}),
            Policies());
  ExpectAllKeys();
  // Nothing is done twice.
  ASSERT_OK(Refresh());
  EXPECT_EQ(NumFiles(), Count(Outcome::kHasFilter));
  EXPECT_EQ(0u, result_.files_rewritten);
  ExpectStockFilters();
}

TEST_F(ReplaceFiltersTest, OtherPoliciesOfRocksDB) {
  FillForWide();
  ChangePolicy("ribbonfilter:10");
  ASSERT_OK(Refresh());
  EXPECT_EQ(NumFiles(), Policies()["ribbonfilter"]);
  // A filter of RocksDB's stays, whichever it is.
  ChangePolicy("bloomfilter:10");
  ASSERT_OK(Refresh());
  EXPECT_EQ(0u, result_.files_rewritten);
  ExpectStockFilters();
}

TEST_F(ReplaceFiltersTest, FilesWithoutAFilter) {
  const auto own = options_.table_factory;
  SetTable("filter_policy=nullptr");
  Fill();
  SetTable("filter_policy=bloomfilter:10");
  Open();
  // A file of range deletions alone has no key for a filter.
  ASSERT_OK(db_->DeleteRange(WriteOptions(), db_->DefaultColumnFamily(),
                             std::string(1, '\0'), std::string(2, '\0')));
  Flush();
  const size_t files = NumFiles();
  ASSERT_OK(Refresh());
  EXPECT_EQ(files - 1, Count(Outcome::kRewritten));
  EXPECT_EQ(1u, Count(Outcome::kUnfiltered));
  ASSERT_OK(Refresh());
  EXPECT_EQ(0u, result_.files_rewritten);
}

TEST_F(ReplaceFiltersTest, LimitsAndEnds) {
  FillForWide();
  ChangePolicy("bloomfilter:10");
  const size_t files = NumFiles();
  RefreshOptions options;
  options.max_bytes = Bytes() / 2;
  ASSERT_OK(Refresh(options));
  const size_t first = result_.files_rewritten;
  EXPECT_GT(first, 0u);
  EXPECT_EQ(files - first, Count(Outcome::kLimitReached));
  EXPECT_LE(result_.bytes_rewritten, options.max_bytes);
  // RefreshFilters ends when it is told to, and goes on where it was.
  options = RefreshOptions();
  options.progress = [](const RefreshProgress& at) {
    return at.bytes_rewritten == 0;
  };
  EXPECT_TRUE(Refresh(options).IsIncomplete());
  EXPECT_EQ(1u, result_.files_rewritten);
  EXPECT_EQ(first, Count(Outcome::kHasFilter));
  ASSERT_OK(Refresh());
  EXPECT_EQ(files - first - 1, result_.files_rewritten);
  ExpectStockFilters();
}

TEST_F(ReplaceFiltersTest, LevelWithoutFilters) {
  options_.optimize_filters_for_hits = true;
  FillForWide();
  ChangePolicy("bloomfilter:10");
  ASSERT_OK(Refresh());
  EXPECT_EQ(NumFiles(), Count(Outcome::kUnfiltered));
}

// The filters of files whose keys have another order, which answer Get only,
// are replaced, too.
TEST_F(ReplaceFiltersTest, OtherComparator) {
  options_.comparator = ReverseBytewiseComparator();
  FillForWide();
  ChangePolicy("bloomfilter:10");
  ASSERT_OK(Refresh());
  EXPECT_EQ(NumFiles(), Policies()["bloomfilter"]);
}

TEST_F(ReplaceFiltersTest, InstancesThatOnlyRead) {
  FillForWide();
  db_.reset();
  SetTable("filter_policy=bloomfilter:10");
  ASSERT_OK(OpenReadOnly(&db_, options_, path_));
  EXPECT_TRUE(Refresh().IsNotSupported());
}

// ---- RewriteFile, by which all files are refreshed ----

namespace {

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

class RewriteFileTest : public RefreshTest {
 protected:
  Status Rewrite(const std::string& name, std::function<void()> before) {
    RacingDB racing(db_.get(), std::move(before));
    return RewriteFile(&racing, db_->DefaultColumnFamily(), name);
  }

  LiveFileMetaData FirstFile() {
    std::vector<LiveFileMetaData> files = Files();
    return files.at(0);
  }

  bool IsLive(const std::string& name) {
    std::vector<LiveFileMetaData> files = Files();
    return std::any_of(files.begin(), files.end(), [&](const auto& file) {
      return file.relative_filename == name;
    });
  }
};

}  // namespace

TEST_F(RewriteFileTest, StaysInItsLevel) {
  Fill();
  const LiveFileMetaData file = FirstFile();
  ASSERT_EQ(file.level, 3);
  EXPECT_OK(Rewrite(file.relative_filename, nullptr));
  EXPECT_FALSE(IsLive(file.relative_filename));
  const LiveFileMetaData rewritten = FirstFile();
  EXPECT_EQ(rewritten.level, 3);
  EXPECT_EQ(rewritten.smallestkey, file.smallestkey);
  EXPECT_EQ(rewritten.largestkey, file.largestkey);
}

// A trivial move gives the same file another level.
TEST_F(RewriteFileTest, FollowsAFileThatIsMoved) {
  options_.num_levels = 5;
  Open();
  Put("key");
  Flush();
  const std::string name = FirstFile().relative_filename;
  const auto move = [&] {
    CompactRangeOptions compact;
    compact.change_level = true;
    compact.target_level = 4;
    compact.bottommost_level_compaction = BottommostLevelCompaction::kSkip;
    ASSERT_OK(db_->CompactRange(compact, nullptr, nullptr));
    ASSERT_EQ(FirstFile().relative_filename, name);
    ASSERT_EQ(FirstFile().level, 4);
  };
  EXPECT_OK(Rewrite(name, move));
  EXPECT_FALSE(IsLive(name));
  EXPECT_EQ(FirstFile().level, 4);
  std::string value;
  EXPECT_OK(db_->Get(ReadOptions(), "key", &value));
  EXPECT_EQ(value, "value");
}

TEST_F(RewriteFileTest, FindsNoFileThatIsGone) {
  Fill();
  const std::string name = FirstFile().relative_filename;
  EXPECT_TRUE(Rewrite("000000.sst", nullptr).IsNotFound());
  EXPECT_TRUE(Rewrite(name, [&] {
                EXPECT_OK(
                    RewriteFile(db_.get(), db_->DefaultColumnFamily(), name));
              }).IsNotFound());
}

}  // namespace ROCKSDB_NAMESPACE::protean
