// SPDX-License-Identifier: Apache-2.0

//  What only the text of RocksDB's sources tells.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::string kRocksDB = std::string(PROTEAN_ROCKSDB_DIR) + "/";
const std::string kProtean = std::string(PROTEAN_SOURCE_DIR) + "/";

// The text of a file without its comments and preprocessor lines.
std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return std::regex_replace(text.str(), std::regex("//[^\n]*|#[^\n]*"), "");
}

// How often each name that `pattern` captures is in a class, which ends where a
// line begins with "};".
std::map<std::string, int> NamesIn(const std::string& text,
                                   const std::string& class_name,
                                   const std::regex& pattern) {
  const size_t begin = text.find("class " + class_name);
  EXPECT_NE(std::string::npos, begin) << class_name;
  const std::string body = text.substr(begin, text.find("\n};", begin) - begin);
  std::map<std::string, int> names;
  for (std::sregex_iterator it(body.begin(), body.end(), pattern), end;
       it != end; ++it) {
    names[(*it)[1]]++;
  }
  return names;
}

// Checks that a class of Protean, in `file`, overrides all virtual functions
// that its base class in RocksDB declares, but for some that are left to the
// base class for a reason.
void ExpectForwarded(const std::string& base_file, const std::string& base,
                     const std::string& file, const std::string& name,
                     const std::set<std::string>& inherited = {}) {
  SCOPED_TRACE(name);
  const auto declared = NamesIn(ReadFile(kRocksDB + base_file), base,
                                std::regex(R"(\bvirtual\s[^;{(]*?(\w+)\()"));
  auto overridden = NamesIn(
      ReadFile(kProtean + file), name,
      std::regex(R"((\w+)\(([^;{}]|\(\))*\)\s*(const\s*)?(override|final))"));
  EXPECT_FALSE(declared.empty());
  for (const auto& [function, count] : declared) {
    if (function == base || inherited.count(function) > 0) continue;
    EXPECT_EQ(count, overridden[function]) << function << " of " << base;
  }
}

}  // namespace

// A new virtual function of a class that Protean extends must be forwarded, or
// left to the base class for a reason: its default body would silently drop
// what the block-based table does.
TEST(VirtualFunctionsTest, NoneIsDropped) {
  ExpectForwarded("table/table_reader.h", "TableReader",
                  "table/protean_table_reader.h", "ProteanTableReader");
  // Range tombstones within a level have iterators of their own.
  ExpectForwarded("table/internal_iterator.h", "InternalIteratorBase",
                  "table/protean_table_iterator.h", "ProteanTableIterator",
                  {"IsDeleteRangeSentinelKey", "SetRangeDelReadSeqno"});
  const std::string policies = "table/block_based/filter_policy_internal.h";
  ExpectForwarded(policies, "FilterBitsBuilder",
                  "filter_policy/building/file_filter_builder.h",
                  "FileFilterBuilder");
  // Only filters that take hashes instead of keys have it.
  ExpectForwarded(policies, "FilterBitsReader",
                  "filter_policy/protean_filter_policy.h",
                  "ProteanFilterBitsReader", {"HashMayMatch"});
  // RocksDB's base classes have the first two. The others are not called.
  ExpectForwarded(
      "table/block_based/filter_block.h", "FilterBlockReader",
      "table/rocksdb_internals/cached_filter.h", "CachedFilter",
      {"RangeMayExist", "PrefixesMayMatch", "ToString", "CacheDependencies"});
  const std::string builder = "table/rocksdb_internals/table_builder.cc";
  ExpectForwarded("include/rocksdb/filter_policy.h", "FilterPolicy", builder,
                  "FilterOfFile");
  const std::string collectors = "db/table_properties_collector.h";
  ExpectForwarded(collectors, "InternalTblPropCollFactory", builder,
                  "FilterOfFile");
  // A filter never wants its file compacted.
  ExpectForwarded(collectors, "InternalTblPropColl", builder,
                  "PropertiesOfFilter", {"NeedCompact"});
}

// The block-based table's factory makes a table builder and does nothing else:
// NewTableBuilderWithProperties makes the builder itself, with other options.
TEST(TableBuilderTest, FactoriesOnlyConstructIt) {
  const std::string text =
      ReadFile(kRocksDB + "table/block_based/block_based_table_factory.cc");
  const size_t begin = text.find("BlockBasedTableFactory::NewTableBuilder(");
  ASSERT_NE(std::string::npos, begin);
  const size_t body = text.find('{', begin);
  std::string statements = text.substr(body, text.find("\n}", body) - body);
  statements.erase(
      std::remove_if(statements.begin(), statements.end(),
                     [](unsigned char c) { return std::isspace(c) != 0; }),
      statements.end());
  EXPECT_EQ(
      "{returnnewBlockBasedTableBuilder(table_options_,table_builder_options,"
      "file);",
      statements);
}

}  // namespace ROCKSDB_NAMESPACE::protean
