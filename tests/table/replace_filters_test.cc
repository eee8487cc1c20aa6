// SPDX-License-Identifier: Apache-2.0

//  The way back from Protean in a running DB: the filter policy is set to one
//  of RocksDB's, RefreshFilters gives its filters to all files, and a RocksDB
//  without Protean asks them.

#include "rocksdb/perf_context.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

class ReplaceFiltersTest : public RefreshTest {
 protected:
  void SetPolicy(const std::string& policy) {
    ASSERT_OK(db_->SetOptions({{"table_factory.filter_policy", policy}}));
  }

  // The number of files for each name of a filter policy.
  std::map<std::string, size_t> Policies() const {
    TablePropertiesCollection files;
    EXPECT_OK(db_->GetPropertiesOfAllTables(&files));
    std::map<std::string, size_t> policies;
    for (const auto& [path, properties] : files) {
      policies[properties->filter_policy_name]++;
    }
    return policies;
  }

  // Opens the DB as RocksDB does without Protean, and checks that the filters
  // of its files deny keys.
  void ExpectStockFilters() {
    db_.reset();
    Options stock = options_;
    BlockBasedTableOptions table;
    table.filter_policy.reset(NewBloomFilterPolicy(10));
    stock.table_factory.reset(NewBlockBasedTableFactory(table));
    stock.statistics = CreateDBStatistics();
    ASSERT_OK(OpenDB(&db_, stock, path_));
    SetPerfLevel(PerfLevel::kEnableCount);
    get_perf_context()->Reset();
    const std::vector<Query> absent = Queries(/*close=*/true, 7);
    for (const Query& query : absent) {
      std::string value;
      EXPECT_TRUE(db_->Get(ReadOptions(), query.lo, &value).IsNotFound());
    }
    EXPECT_LT(absent.size() * 9 / 10,
              stock.statistics->getTickerCount(BLOOM_FILTER_USEFUL));
    EXPECT_LT(absent.size() * 9 / 10, get_perf_context()->bloom_sst_miss_count);
    ExpectAllKeys();
    db_.reset();
  }
};

TEST_F(ReplaceFiltersTest, InARunningDB) {
  FillForWide();
  const size_t files = Files().size();
  SetPolicy("bloomfilter:10");
  RefreshOptions dry;
  dry.dry_run = true;
  ASSERT_OK(Refresh(dry));
  EXPECT_EQ(files, Count(Outcome::kWouldRewrite));
  EXPECT_EQ(Bytes(), result_.bytes_rewritten);
  EXPECT_EQ(0u, Policies()["bloomfilter"]);
  ASSERT_OK(Refresh());
  EXPECT_EQ(files, Count(Outcome::kRewritten));
  EXPECT_EQ((std::map<std::string, size_t>{{"bloomfilter", Files().size()}}),
            Policies());
  ExpectAllKeys();
  // Nothing is done twice.
  ASSERT_OK(Refresh());
  EXPECT_EQ(Files().size(), Count(Outcome::kHasFilter));
  EXPECT_EQ(0u, result_.files_rewritten);
  ExpectStockFilters();
}

TEST_F(ReplaceFiltersTest, OtherPoliciesOfRocksDB) {
  FillForWide();
  SetPolicy("ribbonfilter:10");
  ASSERT_OK(Refresh());
  EXPECT_EQ(Files().size(), Policies()["ribbonfilter"]);
  // A filter of RocksDB's stays, whichever it is.
  SetPolicy("bloomfilter:10");
  ASSERT_OK(Refresh());
  EXPECT_EQ(0u, result_.files_rewritten);
  ExpectStockFilters();
}

TEST_F(ReplaceFiltersTest, FilesWithoutAFilter) {
  const auto own = options_.table_factory;
  options_.table_factory = NewTable("ProteanTable", "filter_policy=nullptr");
  Fill();
  db_.reset();
  options_.table_factory =
      NewTable("ProteanTable", "filter_policy=bloomfilter:10");
  Open();
  // A file of range deletions alone has no key for a filter.
  ASSERT_OK(db_->DeleteRange(WriteOptions(), db_->DefaultColumnFamily(),
                             std::string(1, '\0'), std::string(2, '\0')));
  ASSERT_OK(db_->Flush(FlushOptions()));
  const size_t files = Files().size();
  ASSERT_OK(Refresh());
  EXPECT_EQ(files - 1, Count(Outcome::kRewritten));
  EXPECT_EQ(1u, Count(Outcome::kUnfiltered));
  ASSERT_OK(Refresh());
  EXPECT_EQ(0u, result_.files_rewritten);
}

TEST_F(ReplaceFiltersTest, LimitsAndEnds) {
  FillForWide();
  SetPolicy("bloomfilter:10");
  const size_t files = Files().size();
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
  SetPolicy("bloomfilter:10");
  ASSERT_OK(Refresh());
  EXPECT_EQ(Files().size(), Count(Outcome::kUnfiltered));
}

// The filters of files whose keys have another order, which answer Get only,
// are replaced, too.
TEST_F(ReplaceFiltersTest, OtherComparator) {
  options_.comparator = ReverseBytewiseComparator();
  FillForWide();
  SetPolicy("bloomfilter:10");
  ASSERT_OK(Refresh());
  EXPECT_EQ(Files().size(), Policies()["bloomfilter"]);
}

TEST_F(ReplaceFiltersTest, InstancesThatOnlyRead) {
  FillForWide();
  db_.reset();
  options_.table_factory =
      NewTable("ProteanTable", "filter_policy=bloomfilter:10");
  ASSERT_OK(OpenReadOnly(&db_, options_, path_));
  EXPECT_TRUE(Refresh().IsNotSupported());
}

}  // namespace ROCKSDB_NAMESPACE::protean
