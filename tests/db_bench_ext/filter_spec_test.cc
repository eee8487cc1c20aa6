// SPDX-License-Identifier: Apache-2.0

//  The suffixes of a filter's spec.

#include <gtest/gtest.h>

#include "db_bench_ext/table_layout.h"
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

TEST(FilterSpecTest, QueryFilters) {
  std::string spec = "bloom:14+query_filter8+prefix3+first_key";
  TableLayout layout;
  EXPECT_OK(TakeTableLayout(&spec, &layout));
  EXPECT_EQ("bloom:14", spec);
  EXPECT_EQ(8u, layout.query_filter_bytes);
  EXPECT_EQ(3u, layout.prefix_bytes);
  EXPECT_TRUE(layout.first_key_index);
  for (const char* given : {"a+query_filter", "a+query_filter0",
                            "a+query_filter-1", "a+query_filter1025"}) {
    spec = given;
    TableLayout refused;
    EXPECT_TRUE(TakeTableLayout(&spec, &refused).IsInvalidArgument()) << given;
  }
}

// Only closed seeks have a range that segments can lie outside of, and all
// seeks may ask for prefixes where that is right.
TEST(FilterSpecTest, SeeksAskWhatIsLegal) {
  const Slice lo("b");
  const Slice upper_bound("c");
  for (const size_t bytes : {size_t{0}, size_t{8}}) {
    TableLayout layout;
    layout.query_filter_bytes = bytes;
    TableLayoutOptions options;
    ASSERT_OK(options.Init(layout, nullptr));
    const SeekOptions closed(options, lo, &upper_bound);
    EXPECT_EQ(&upper_bound, closed.get().iterate_upper_bound);
    EXPECT_EQ(bytes > 0, static_cast<bool>(closed.get().table_filter));
    EXPECT_TRUE(closed.get().auto_prefix_mode);
    const SeekOptions open(options, lo, nullptr);
    EXPECT_EQ(nullptr, open.get().iterate_upper_bound);
    EXPECT_FALSE(static_cast<bool>(open.get().table_filter));
    EXPECT_TRUE(open.get().auto_prefix_mode);
  }
}

TEST(FilterSpecTest, SuffixesThatContradictEachOtherAreRefused) {
  for (const char* given :
       {"a+decoupled", "a+first_key+partitioned", "a+first_key+decoupled",
        "a+trie_index+first_key", "a+trie_index+partitioned"}) {
    std::string spec = given;
    TableLayout layout;
    EXPECT_TRUE(TakeTableLayout(&spec, &layout).IsInvalidArgument()) << given;
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
