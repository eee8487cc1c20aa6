// SPDX-License-Identifier: Apache-2.0

//  The options and the result of a refresh, by name.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plugin/facts.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/convenience.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

TEST(RefreshOptionsTest, TextsAreParsedAsTheyArePrinted) {
  RefreshOptions options;
  EXPECT_OK(options.Validate());
  EXPECT_EQ(
      "dry_run=false;levels=;start=;limit=;max_parallel_rewrites=1;"
      "all_files=false;max_bytes=18446744073709551615;bytes_per_second=0;"
      "min_gain=0.020000;payback_seconds=86400.000",
      options.ToString());
  ASSERT_OK(options.Parse(
      "dry_run=true;levels=0,1,6;start=0x;limit=0x6B00fF;"
      "max_parallel_rewrites=3;all_files=1;max_bytes=2G;bytes_per_second=64K;"
      "min_gain=.5;payback_seconds=0.5"));
  EXPECT_TRUE(options.dry_run);
  EXPECT_EQ((std::vector<int>{0, 1, 6}), options.levels);
  EXPECT_EQ("", options.start);
  EXPECT_EQ(std::string("k\0\xff", 3), options.limit);
  EXPECT_EQ(3u, options.max_parallel_rewrites);
  EXPECT_TRUE(options.all_files);
  EXPECT_EQ(uint64_t{2} << 30, options.max_bytes);
  EXPECT_EQ(uint64_t{64} << 10, options.bytes_per_second);
  EXPECT_EQ(.5, options.min_gain);
  EXPECT_EQ(.5, options.payback_seconds);
  RefreshOptions again;
  ASSERT_OK(again.Parse(options.ToString()));
  EXPECT_EQ(options.ToString(), again.ToString());
  ASSERT_OK(again.Parse(RefreshOptions().ToString()));
  EXPECT_EQ(RefreshOptions().ToString(), again.ToString());
  EXPECT_FALSE(again.start.has_value());
}

TEST(RefreshOptionsTest, WhatIsNotAllowedIsRefused) {
  const std::pair<const char*, std::vector<const char*>> refused[] = {
      {"dry_run", {"", "yes", "2"}},
      {"levels", {"-1", "0,", ",1", "0,,1", "a", "1000", "0 1"}},
      {"start", {"0x6", "0xgg"}},
      {"limit", {"0x6", "0xgg"}},
      {"max_parallel_rewrites", {"", "0", "-1", "1025", "many", "4294967297"}},
      {"all_files", {"", "no way"}},
      {"max_bytes", {"", "-1", "a lot", "+1"}},
      {"bytes_per_second", {"", "-1", "18446744073709551615"}},
      {"min_gain", {"", "5", "1.1", "-0.1", "nan", "1e-3"}},
      {"payback_seconds", {"", "-1", "3153600001", "inf"}},
      {"progress", {"1"}},
      {"min_gains", {"0.1"}},
  };
  for (const auto& [name, values] : refused) {
    for (const char* value : values) {
      RefreshOptions options;
      const Status s = options.Set(name, value);
      EXPECT_TRUE(s.IsInvalidArgument()) << name << "=" << value;
      EXPECT_NE(std::string::npos,
                s.ToString().find(" is not allowed; allowed: "))
          << s.ToString();
      EXPECT_EQ(RefreshOptions().ToString(), options.ToString());
    }
  }
  RefreshOptions options;
  ASSERT_OK(options.Set("limit", "key"));
  EXPECT_EQ("key", options.limit);
  ASSERT_OK(options.Set("limit", "0x6b6579"));
  EXPECT_EQ("key", options.limit);
  EXPECT_TRUE(options.Parse("dry_run=true;min_gain=2").IsInvalidArgument());
  EXPECT_FALSE(options.dry_run);
  options.max_parallel_rewrites = 0;
  EXPECT_NE(std::string::npos,
            options.Validate().ToString().find(
                "RefreshOptions: max_parallel_rewrites=0 is not allowed; "
                "allowed: whole numbers from 1 to 1024"));
}

TEST(RefreshResultTest, Json) {
  RefreshResult result;
  result.files.emplace_back();
  result.files[0].name = "000001.sst";
  result.files[0].old_fpr = 0.25;
  result.files[0].status = Status::Corruption("a \"quote\"");
  const auto json = nlohmann::json::parse(result.ToJson(), nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << result.ToJson();
  EXPECT_EQ(false, json["rate_known"]);
  EXPECT_EQ(0, json["samples"]);
  const auto& file = json["files"].at(0);
  EXPECT_EQ("000001.sst", file["name"]);
  EXPECT_EQ(0.25, file["old_fpr"]);
  EXPECT_TRUE(file["new_fpr"].is_null());
  EXPECT_EQ("Corruption: a \"quote\"", file["status"]);
  EXPECT_EQ("not reached", file["outcome"]);
}

}  // namespace ROCKSDB_NAMESPACE::protean
