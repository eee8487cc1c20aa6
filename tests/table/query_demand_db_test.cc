// SPDX-License-Identifier: Apache-2.0

//  Filters are built the faster, the fewer queries their column family is asked
//  for each key that is written.

#include "filter_policy/filter_properties.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class QueryDemandDBTest : public RefreshTest {
 protected:
  QueryDemandDBTest() {
    EXPECT_OK(policy_->ConfigureFromMap(ConfigOptions(),
                                        {{"bits_per_key", "12"},
                                         {"level_bits", "kEqual"},
                                         {"queries_per_key", "0"},
                                         {"false_positive_cost_micros", "200"}},
                                        nullptr));
  }

  // The numbers of queries for each key; 1 where they are not few.
  std::vector<double> Demands() const {
    std::vector<double> demands;
    for (const auto& [file, properties] : PropertiesOf(db_.get())) {
      demands.push_back(PropertyNumber(properties->user_collected_properties,
                                       kQueriesPerKeyProperty, 1));
    }
    return demands;
  }
  size_t CountDesignsWith(const std::string& word) const {
    size_t count = 0;
    for (const auto& [file, properties] : PropertiesOf(db_.get())) {
      const std::string design =
          PropertyText(properties->user_collected_properties, kDesignProperty);
      count += design.find(word) != std::string::npos ? 1 : 0;
    }
    return count;
  }
  // Writes all keys in level 0 several times, as one file each time.
  void WriteTimes(int times) {
    for (int i = 0; i < times; i++) WriteFile(keys_, /*level=*/0, "value");
  }
};

const std::set<std::string> kNone = {""};

}  // namespace

TEST_F(QueryDemandDBTest, WritingAloneMakesFiltersThatAreBuiltFast) {
  options_.target_file_size_base = 64 << 20;
  Open();
  WriteTimes(40);
  std::vector<double> demands = Demands();
  std::sort(demands.begin(), demands.end());
  EXPECT_LT(demands.front(), 0.004);
  EXPECT_DOUBLE_EQ(0.03, demands.back());
  EXPECT_FALSE(log_->Lines({" queries a key: "}).empty());
  // The last files have Bloom filters, the first ones may have Ribbon filters.
  EXPECT_GE(CountDesignsWith("bloom"), 30u);
  ExpectAllKeys();

  // The last level keeps more: its files may live long.
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  for (const double demand : Demands()) EXPECT_DOUBLE_EQ(0.01, demand);
  ExpectAllKeys();
}

TEST_F(QueryDemandDBTest, QueriesMakeFiltersThatLetFewThrough) {
  SeedSamples(policy_.get(), Queries(/*close=*/true, 1, 20000, 1));
  EXPECT_OK(policy_->ConfigureFromMap(
      ConfigOptions(), {{"sample_every", "100"}, {"sample_capacity", "20000"}},
      nullptr));
  Fill();
  EXPECT_EQ(kNone, Properties(kQueriesPerKeyProperty));
}

// A bulk load is followed by reads, and then by one call.
TEST_F(QueryDemandDBTest, RefreshesBuildForManyQueries) {
  Fill();
  for (const double demand : Demands()) EXPECT_LE(demand, 0.03);
  const std::vector<Query> queries = Queries(/*close=*/true, 3);
  const double before = RateInDB(queries);
  Run(queries);
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(NumFiles(), result_.files_rewritten);
  EXPECT_EQ(kNone, Properties(kQueriesPerKeyProperty));
  EXPECT_LT(RateInDB(queries), before / 2);
  ExpectAllKeys();
  // The files have what they would get.
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(0u, result_.files_rewritten);
}

TEST_F(QueryDemandDBTest, AnOptionSetsIt) {
  ASSERT_OK(policy_->ConfigureFromMap(ConfigOptions(),
                                      {{"queries_per_key", "0.002"}}, nullptr));
  Fill();
  EXPECT_EQ(kNone, Properties(kQueriesPerKeyProperty));
  for (const std::string& design : Properties(kDesignProperty)) {
    EXPECT_NE(std::string::npos, design.find("bloom")) << design;
  }
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(0u, result_.files_rewritten);
  ASSERT_OK(policy_->ConfigureFromMap(ConfigOptions(),
                                      {{"queries_per_key", "1000"}}, nullptr));
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(NumFiles(), result_.files_rewritten);
  for (const std::string& design : Properties(kDesignProperty)) {
    EXPECT_NE(std::string::npos, design.find("ribbon")) << design;
  }

  for (const char* refused : {"-1", "0.001", "1001", "many"}) {
    const Status s = policy_->ConfigureFromMap(
        ConfigOptions(), {{"queries_per_key", refused}}, nullptr);
    EXPECT_TRUE(s.IsInvalidArgument()) << refused << ": " << s.ToString();
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
