// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/query_demand.h"

#include <gtest/gtest.h>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

TEST(QueryDemandTest, BuildingCountsWhereFewQueriesCome) {
  FilterDemand demand;
  // 200 us a false positive, 1,000 queries a key.
  EXPECT_DOUBLE_EQ(1e-6, demand.CostOfBuilding(200));
  EXPECT_DOUBLE_EQ(0.002 + 1e-5, demand.MaxRateForTime());
  demand.queries_per_key = 0.01;
  EXPECT_DOUBLE_EQ(0.1, demand.CostOfBuilding(200));
  demand.price = kCachedPrice;
  EXPECT_DOUBLE_EQ(10, demand.CostOfBuilding(200));
  // What an option says was not found.
  EXPECT_FALSE(demand.WasFoundLow());
  demand.is_measured = true;
  EXPECT_TRUE(demand.WasFoundLow());
  demand.queries_per_key = 1;
  EXPECT_FALSE(demand.WasFoundLow());
}

TEST(QueryDemandTest, WritingAloneLowersIt) {
  DemandCounts counts;
  double before = counts.QueriesPerKey(0, 0);
  EXPECT_DOUBLE_EQ(0.03, before);
  for (int file = 0; file < 100; file++) {
    const double now = counts.QueriesPerKey(0, 100000);
    EXPECT_LE(now, before);
    before = now;
  }
  EXPECT_DOUBLE_EQ(kFewQueriesPerKey, before);
}

TEST(QueryDemandTest, QueriesRaiseIt) {
  DemandCounts counts;
  for (int file = 0; file < 10; file++) counts.QueriesPerKey(0, 100000);
  EXPECT_NEAR(0.1, counts.QueriesPerKey(100000, 0), 0.01);
  EXPECT_NEAR(1, counts.QueriesPerKey(1000000, 0), 0.02);
  EXPECT_DOUBLE_EQ(kManyQueriesPerKey,
                   counts.QueriesPerKey(uint64_t{1} << 40, 0));
}

// What was long ago counts less and less: a family that is no longer read is
// soon one that is only written to, and the other way round.
TEST(QueryDemandTest, ForgetsWhatWasLongAgo) {
  DemandCounts counts;
  constexpr uint64_t kQueries = 1000 * 1000 * 1000;
  constexpr uint64_t kKeys = 1 << 20;
  EXPECT_DOUBLE_EQ(kManyQueriesPerKey, counts.QueriesPerKey(kQueries, kKeys));
  for (int file = 0; file < 16; file++) counts.QueriesPerKey(kQueries, kKeys);
  EXPECT_GT(counts.QueriesPerKey(kQueries, 0), 1);
  for (int file = 0; file < 200; file++) counts.QueriesPerKey(kQueries, kKeys);
  EXPECT_LT(counts.QueriesPerKey(kQueries, 0), 0.01);
  EXPECT_NEAR(1, counts.QueriesPerKey(kQueries + (12 << 20), 0), 0.5);
}

// The count of queries may fall when the sampling rate is changed.
TEST(QueryDemandTest, IsNeverNegative) {
  DemandCounts counts;
  for (int file = 0; file < 40; file++) {
    counts.QueriesPerKey(1000 * 1000 * 1000, 1 << 20);
  }
  EXPECT_DOUBLE_EQ(kFewQueriesPerKey, counts.QueriesPerKey(0, 1 << 20));
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
