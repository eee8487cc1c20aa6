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

std::map<std::string, int> Declared(const std::string& file,
                                    const std::string& class_name) {
  return NamesIn(ReadFile(file), class_name,
                 std::regex(R"(\bvirtual\s[^;{(]*?(\w+)\()"));
}
std::map<std::string, int> Overridden(const std::string& file,
                                      const std::string& class_name) {
  return NamesIn(
      ReadFile(file), class_name,
      std::regex(R"((\w+)\(([^;{}]|\(\))*\)\s*(const\s*)?(override|final))"));
}

struct Extension {
  const char* base_file;
  const char* base;
  const char* file;
  const char* name;
  // Virtual functions that are left to the base class for a reason.
  std::set<std::string> inherited;
};

}  // namespace

// A new virtual function of a class that Protean extends must be forwarded, or
// left to the base class for a reason: its default body would silently drop
// what the block-based table does.
TEST(VirtualFunctionsTest, NoneIsDropped) {
  const Extension extensions[] = {
      {"table/table_reader.h",
       "TableReader",
       "table/protean_table_reader.h",
       "ProteanTableReader",
       {}},
      {"table/internal_iterator.h",
       "InternalIteratorBase",
       "table/protean_table_iterator.h",
       "ProteanTableIterator",
       // Range tombstones within a level have iterators of their own.
       {"IsDeleteRangeSentinelKey", "SetRangeDelReadSeqno"}},
      {"table/block_based/filter_policy_internal.h",
       "FilterBitsBuilder",
       "filter_policy/building/file_filter_builder.h",
       "FileFilterBuilder",
       {}},
      {"table/block_based/filter_block.h",
       "FilterBlockReader",
       "table/rocksdb_internals/cached_filter.h",
       "CachedFilter",
       // RocksDB's base classes have the first two. The others are not called.
       {"RangeMayExist", "PrefixesMayMatch", "ToString", "CacheDependencies"}},
      {"table/block_based/filter_policy_internal.h",
       "FilterBitsReader",
       "filter_policy/protean_filter_policy.h",
       "ProteanFilterBitsReader",
       // Only filters that take hashes instead of keys have it.
       {"HashMayMatch"}},
      {"include/rocksdb/filter_policy.h",
       "FilterPolicy",
       "table/rocksdb_internals/table_builder.cc",
       "FilterOfFile",
       {}},
      {"db/table_properties_collector.h",
       "InternalTblPropCollFactory",
       "table/rocksdb_internals/table_builder.cc",
       "FilterOfFile",
       {}},
      {"db/table_properties_collector.h",
       "InternalTblPropColl",
       "table/rocksdb_internals/table_builder.cc",
       "PropertiesOfFilter",
       // A filter never wants its file compacted.
       {"NeedCompact"}},
  };
  for (const Extension& extension : extensions) {
    SCOPED_TRACE(extension.name);
    const auto declared =
        Declared(kRocksDB + extension.base_file, extension.base);
    const auto overridden =
        Overridden(kProtean + extension.file, extension.name);
    EXPECT_FALSE(declared.empty());
    for (const auto& [name, count] : declared) {
      if (name == extension.base || extension.inherited.count(name) > 0) {
        continue;
      }
      const auto found = overridden.find(name);
      EXPECT_EQ(count, found == overridden.end() ? 0 : found->second)
          << name << " of " << extension.base;
    }
  }
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
