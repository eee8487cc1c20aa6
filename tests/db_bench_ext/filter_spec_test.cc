// SPDX-License-Identifier: Apache-2.0

//  The suffixes of a filter's spec.

#include "db_bench_ext/filter_spec.h"

#include <gtest/gtest.h>

#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

TEST(FilterSpecTest, SuffixesAreTakenInAnyOrder) {
  std::string spec = "bloom:12";
  TableLayout plain;
  EXPECT_OK(TakeTableLayout(&spec, &plain));
  EXPECT_EQ("bloom:12", spec);
  EXPECT_FALSE(plain.first_key_index || plain.partitioned || plain.decoupled);

  spec = "none+first_key";
  TableLayout first_key;
  EXPECT_OK(TakeTableLayout(&spec, &first_key));
  EXPECT_EQ("none", spec);
  EXPECT_TRUE(first_key.first_key_index);
  EXPECT_FALSE(first_key.partitioned);

  spec = "{id=protean.Proteus;bits_per_key=12}+partitioned";
  TableLayout parts;
  EXPECT_OK(TakeTableLayout(&spec, &parts));
  EXPECT_EQ("{id=protean.Proteus;bits_per_key=12}", spec);
  EXPECT_TRUE(parts.partitioned);
  EXPECT_FALSE(parts.first_key_index || parts.decoupled);

  for (const char* both :
       {"a+partitioned+decoupled", "a+decoupled+partitioned"}) {
    spec = both;
    TableLayout decoupled;
    EXPECT_OK(TakeTableLayout(&spec, &decoupled));
    EXPECT_EQ("a", spec);
    EXPECT_TRUE(decoupled.partitioned && decoupled.decoupled);
  }
}

TEST(FilterSpecTest, Prefixes) {
  std::string spec = "bloom:14+prefix12+partitioned";
  TableLayout layout;
  EXPECT_OK(TakeTableLayout(&spec, &layout));
  EXPECT_EQ("bloom:14", spec);
  EXPECT_EQ(12u, layout.prefix_bytes);
  EXPECT_TRUE(layout.partitioned);
  for (const char* given : {"a+prefix", "a+prefixes", "a+prefix0", "a+prefix-1",
                            "a+prefix1.5", "a+prefix9999"}) {
    spec = given;
    TableLayout refused;
    EXPECT_TRUE(TakeTableLayout(&spec, &refused).IsInvalidArgument()) << given;
  }
}

TEST(FilterSpecTest, SuffixesThatContradictEachOtherAreRefused) {
  for (const char* given :
       {"a+decoupled", "a+first_key+partitioned", "a+first_key+decoupled"}) {
    std::string spec = given;
    TableLayout layout;
    EXPECT_TRUE(TakeTableLayout(&spec, &layout).IsInvalidArgument()) << given;
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
