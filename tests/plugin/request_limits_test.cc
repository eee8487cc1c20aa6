// SPDX-License-Identifier: Apache-2.0

//  What a refresh that is asked for may do: of two limits, the stricter one,
//  and of two sets of files, those in both.

#include <gtest/gtest.h>

#include "plugin/request_server.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

RefreshOptions Limited(const RefreshOptions& own, const RefreshOptions& asked,
                       const Comparator* order = BytewiseComparator()) {
  RefreshOptions limited;
  EXPECT_OK(LimitRefresh(own, asked, *order, &limited));
  return limited;
}

void ExpectRefused(const RefreshOptions& own, const RefreshOptions& asked,
                   const std::string& part) {
  RefreshOptions limited;
  const Status s = LimitRefresh(own, asked, *BytewiseComparator(), &limited);
  EXPECT_TRUE(s.IsInvalidArgument());
  EXPECT_NE(std::string::npos, s.ToString().find(part)) << s.ToString();
}

}  // namespace

TEST(RequestLimitsTest, TheStricterLimitCounts) {
  RefreshOptions own;
  RefreshOptions asked;
  EXPECT_EQ(0u, Limited(own, asked).bytes_per_second);
  own.progress = [](const RefreshProgress&) { return true; };
  own.max_parallel_rewrites = 3;
  asked.max_parallel_rewrites = 7;
  own.payback_seconds = 5;
  asked.payback_seconds = 6;
  asked.max_bytes = 10;
  asked.bytes_per_second = 100;
  asked.min_gain = 0.01;
  asked.dry_run = true;
  asked.all_files = true;
  RefreshOptions limited = Limited(own, asked);
  EXPECT_FALSE(limited.progress);
  EXPECT_EQ(3u, limited.max_parallel_rewrites);
  EXPECT_EQ(5, limited.payback_seconds);
  EXPECT_EQ(10u, limited.max_bytes);
  EXPECT_EQ(100u, limited.bytes_per_second);
  EXPECT_EQ(own.min_gain, limited.min_gain);
  EXPECT_TRUE(limited.dry_run);
  EXPECT_TRUE(limited.all_files);
  own.max_bytes = 9;
  own.bytes_per_second = 99;
  limited = Limited(own, asked);
  EXPECT_EQ(9u, limited.max_bytes);
  EXPECT_EQ(99u, limited.bytes_per_second);
  asked.bytes_per_second = 0;
  EXPECT_EQ(99u, Limited(own, asked).bytes_per_second);
}

TEST(RequestLimitsTest, LevelsInBoth) {
  using Levels = std::vector<int>;
  RefreshOptions own;
  RefreshOptions asked;
  EXPECT_EQ(Levels(), Limited(own, asked).levels);
  asked.levels = {5, 6};
  EXPECT_EQ(Levels({5, 6}), Limited(own, asked).levels);
  own.levels = {0, 6};
  EXPECT_EQ(Levels({6}), Limited(own, asked).levels);
  asked.levels = {};
  EXPECT_EQ(Levels({0, 6}), Limited(own, asked).levels);
  asked.levels = {1, 2};
  ExpectRefused(own, asked, "the application allows levels 0,6");
}

TEST(RequestLimitsTest, KeysInBoth) {
  RefreshOptions own;
  RefreshOptions asked;
  own.start = "b";
  own.limit = "y";
  RefreshOptions limited = Limited(own, asked);
  EXPECT_EQ("b", limited.start);
  EXPECT_EQ("y", limited.limit);
  asked.start = "";
  asked.limit = "z";
  limited = Limited(own, asked);
  EXPECT_EQ("b", limited.start);
  EXPECT_EQ("y", limited.limit);
  asked.start = "c";
  asked.limit = "d";
  limited = Limited(own, asked);
  EXPECT_EQ("c", limited.start);
  EXPECT_EQ("d", limited.limit);
  EXPECT_EQ("c", Limited(RefreshOptions(), asked).start);
  // A range in another order: "c" comes before "b" there.
  own.start = "c";
  own.limit = "b";
  asked.start = "d";
  asked.limit = std::nullopt;
  limited = Limited(own, asked, ReverseBytewiseComparator());
  EXPECT_EQ("c", limited.start);
  EXPECT_EQ("b", limited.limit);
}

TEST(RequestLimitsTest, NoKeyInBoth) {
  RefreshOptions own;
  RefreshOptions asked;
  own.limit = "b";
  asked.start = "b";
  ExpectRefused(own, asked, "none that the application allows");
  asked.start = "a";
  asked.limit = "a";
  ExpectRefused(own, asked, "the range has no keys");
}

}  // namespace ROCKSDB_NAMESPACE::protean
