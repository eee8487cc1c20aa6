// SPDX-License-Identifier: Apache-2.0

//  What RocksDB makes of a file that it opens, what it asks the builders and
//  readers of filters, what the handles of its C API hold, and what only the
//  text of its sources tells. (How it loads and keeps filters:
//  filter_cache_test.)

#include <algorithm>
#include <cctype>
#include <fstream>
#include <regex>
#include <sstream>

#include "rocksdb/slice_transform.h"
#include "table/block_based/filter_policy_internal.h"
#include "table/block_based/full_filter_block.h"
#include "table/rocksdb_internals/file_iterator.h"
#include "table/rocksdb_internals/handles.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Files, versions and handles ----

// The factory's readers are BlockBasedTables, and unless the filter is
// partitioned, their filter readers are FullFilterBlockReaders: BlockBasedFile
// casts to these classes.
TEST_F(ContractTest, ClassesOfTablesAndFilters) {
  for (const bool cached : {false, true}) {
    BlockBasedTableOptions table;
    table.filter_policy = NewSurfFilterPolicy({0, 8});
    table.cache_index_and_filter_blocks = cached;
    int shown = 0;
    ShowReaders<BlockBasedTableFactory>(
        [&](const TableReaderOptions&, TableReader* reader) {
          shown++;
          const TableReader& opened = *reader;
          EXPECT_CLASS(BlockBasedTable, opened);
          const FilterBlockReader& filter =
              *static_cast<const BlockBasedTable&>(opened).get_rep()->filter;
          EXPECT_CLASS(FullFilterBlockReader, filter);
        },
        table);
    OpenNew();
    AddFile(db_.get(), 0, {"a"});
    EXPECT_GT(shown, 0);
  }
}

// The DB has a session id, another one each time that it is opened: see
// DBSession. The address of the column family's options identifies it, for its
// handles and for the readers of its files: see BlockBasedFile::Describe().
TEST_F(ContractTest, ReadersKnowTheirDBAndColumnFamily) {
  std::multiset<std::string> ids;
  std::set<const void*> families;
  ShowReaders([&](const TableReaderOptions& options, TableReader* reader) {
    ids.insert(options.cur_db_session_id);
    families.insert(
        static_cast<ProteanTableReader*>(reader)->file().Describe(0).family);
  });
  for (int opened = 1; opened <= 2; opened++) {
    Open();
    std::string id;
    ASSERT_OK(db_->GetDbSessionId(id));
    ids.clear();
    ColumnFamilyHandle* const other = NewFamily(std::to_string(opened));
    for (ColumnFamilyHandle* const family :
         {db_->DefaultColumnFamily(), other}) {
      families.clear();
      ASSERT_OK(db_->Put(WriteOptions(), family, "a", "value"));
      ASSERT_OK(db_->Flush(FlushOptions(), family));
      EXPECT_EQ(std::set<const void*>({FamilyOf(family)}), families);
    }
    EXPECT_NE(FamilyOf(db_->DefaultColumnFamily()), FamilyOf(other));
    EXPECT_LE(2u, ids.size());
    EXPECT_EQ(ids.size(), ids.count(id));
    ASSERT_OK(db_->DropColumnFamily(other));
  }
}

// BlockBasedTable::NewIterator makes a BlockBasedTableIterator for every file
// without embedded blobs. If it made an iterator of another class, all would
// work, but slower.
TEST_F(ContractTest, FileIteratorKnowsItsClass) {
  int shown = 0;
  ShowReaders([&](const TableReaderOptions&, TableReader* reader) {
    Arena own;
    for (Arena* const where : {static_cast<Arena*>(nullptr), &own}) {
      const ReadOptions read_options;
      FileIterator it(static_cast<ProteanTableReader*>(reader)->file(),
                      read_options,
                      {/*prefix_extractor=*/nullptr, where,
                       TableReaderCaller::kUserIterator,
                       /*allow_unprepared_value=*/false});
      EXPECT_NE(nullptr, it.Get());
      // An iterator of another class would count as having read a block.
      EXPECT_FALSE(it.HasReadBlock());
      shown++;
    }
  });
  Open();
  AddFile(db_.get(), 0, {"a"});
  EXPECT_EQ("a", FirstFrom(""));
  EXPECT_LE(2, shown);
}

// Whatever is flushed or compacted meanwhile.
TEST_F(ContractTest, AVersionStaysAsItWas) {
  Open();
  AddFile(db_.get(), 0, {"a", "b"});
  Put("b", "newer");
  Delete("c");
  ASSERT_OK(db_->DeleteRange(WriteOptions(), "x", "z"));
  const ReadOptions read_options;
  const ColumnFamilyVersion version(db_.get(), db_->DefaultColumnFamily(),
                                    read_options);
  InternalIterator* const it = version.iterator();
  Flush();
  AddFile(db_.get(), 0, {"d"});
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  std::string entries;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    entries += it->user_key().ToString();
    if (ExtractValueType(it->key()) == kTypeDeletion) entries += "-";
  }
  EXPECT_OK(it->status());
  EXPECT_EQ("abbc-", entries);
  EXPECT_EQ(1u, version.RangeDeletions());
  EXPECT_FALSE(version.MayHoldUncommitted());
}

// SstFileReader hands what it has opened to the table factory, and goes on
// without a table. Neither the DB's block cache nor its statistics notice.
TEST_F(ContractTest, AFileIsReadApartFromItsDB) {
  BlockBasedTableOptions table;
  table.block_cache = NewLRUCache(1 << 20);
  UsePolicy(NewSurfFilterPolicy({0, 8}), table);
  Open();
  AddFile(db_.get(), 0, {"a", "b"});
  const std::string path = OneFile();
  const size_t cached = table.block_cache->GetUsage();
  std::unique_ptr<BlockBasedFile> apart;
  ASSERT_OK(BlockBasedFile::OpenApart(options_, path, &apart));
  EXPECT_EQ(cached, table.block_cache->GetUsage());
  const BlockBasedFile& file = *apart;
  EXPECT_EQ(BlockBasedFile::FilterState::kFull, file.filter_state());
  EXPECT_NE(nullptr, file.GetHeldFilter());
  const ReadOptions read_options;
  // The DB deletes the file, which can still be read.
  Put("b", "newer");
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  ASSERT_OK(options_.statistics->Reset());
  EXPECT_TRUE(Env::Default()->FileExists(path).IsNotFound());
  const std::unique_ptr<InternalIterator> it(file.table()->NewIterator(
      read_options, /*prefix_extractor=*/nullptr, /*arena=*/nullptr,
      /*skip_filters=*/false, TableReaderCaller::kSSTFileReader));
  std::string values;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    values += it->value().ToString() + ",";
  }
  EXPECT_OK(it->status());
  EXPECT_EQ("value of a,value of b,", values);
  EXPECT_EQ(0u, Ticks(BLOCK_CACHE_MISS));
  std::unique_ptr<BlockBasedFile> none;
  const Status s = BlockBasedFile::OpenApart(options_, path, &none);
  EXPECT_TRUE(s.IsNotFound() || s.IsPathNotFound()) << s.ToString();
}

// The handle of the DB inside a TransactionDB is a struct like all others. (All
// others: tests/shared/c_program.c.)
TEST(CHandlesTest, TransactionDatabases) {
  EXPECT_OK(CheckHandles());
  const std::string path = test::PerThreadDBPath("c_handles");
  char* error = nullptr;
  rocksdb_options_t* const options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_transactiondb_options_t* const transactions =
      rocksdb_transactiondb_options_create();
  rocksdb_transactiondb_t* const db =
      rocksdb_transactiondb_open(options, transactions, path.c_str(), &error);
  ASSERT_NE(nullptr, db) << error;
  rocksdb_t* const base = rocksdb_transactiondb_get_base_db(db);
  EXPECT_EQ(path, DBOf(base)->GetName());
  EXPECT_EQ(DBOf(base)->DefaultColumnFamily(), ColumnFamilyOf(base, nullptr));
  EXPECT_TRUE(ReadOptionsOf(nullptr).fill_cache);
  rocksdb_transactiondb_close_base_db(base);
  rocksdb_transactiondb_close(db);
  rocksdb_destroy_db(options, path.c_str(), &error);
  EXPECT_EQ(nullptr, error);
  rocksdb_transactiondb_options_destroy(transactions);
  rocksdb_options_destroy(options);
}

// ---- Questions to filters ----

// The policy's builders and readers note what they are asked.
class RecordingPolicy : public FilterPolicy {
 public:
  const char* Name() const override { return "RecordingPolicy"; }
  const char* CompatibilityName() const override { return Name(); }

  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext&) const override {
    return new Builder();
  }
  FilterBitsReader* GetFilterBitsReader(const Slice&) const override {
    return new Reader();
  }

  static inline Keys calls;

 private:
  struct NewerBuilder : FilterBitsBuilder {
    // RocksDB has these two since 10.9.
    virtual size_t CalculateSpace(size_t) { return 1; }
    virtual double EstimatedFpRate(size_t, size_t) { return 1; }
  };
  struct Builder : NewerBuilder {
    void AddKey(const Slice& key) override {
      calls.push_back("add " + key.ToString());
    }
    void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
      calls.push_back("add " + key.ToString() + " and " + alt.ToString());
    }
    size_t EstimateEntriesAdded() override { return 1; }
    using FilterBitsBuilder::Finish;
    Slice Finish(std::unique_ptr<const char[]>* buf) override {
      buf->reset(new char[1]());
      return Slice(buf->get(), 1);
    }
    size_t ApproximateNumEntries(size_t) override { return 1; }
  };

  struct Reader : FilterBitsReader {
    using FilterBitsReader::MayMatch;
    bool MayMatch(const Slice& entry) override {
      calls.push_back("ask " + entry.ToString());
      return true;
    }
    void MayMatch(int num_keys, Slice** keys, bool* may_match) override {
      std::string call = "ask";
      for (int i = 0; i < num_keys; i++) {
        call += " " + keys[i]->ToString();
        may_match[i] = true;
      }
      calls.push_back(call);
    }
  };
};

// Builders get the keys in order, and with a prefix extractor each key together
// with its prefix. Get asks readers for whole keys. Get without whole-key
// filtering and prefix seeks ask them for prefixes, and do not say that these
// are prefixes. FilterBlockHeader::kAskedForPrefixes rests on it.
TEST_F(ContractTest, KeysAndPrefixes) {
  for (const bool prefixes : {false, true}) {
    for (const bool whole_keys : {true, false}) {
      if (!prefixes && !whole_keys) continue;
      SCOPED_TRACE(prefixes ? "with prefixes" : "without prefixes");
      SCOPED_TRACE(whole_keys ? "with whole keys" : "without whole keys");
      Keys& calls = RecordingPolicy::calls;
      calls.clear();
      BlockBasedTableOptions table;
      table.whole_key_filtering = whole_keys;
      UsePolicy(std::make_shared<RecordingPolicy>(), table);
      if (prefixes) options_.prefix_extractor.reset(NewFixedPrefixTransform(1));
      Open();
      AddFile(db_.get(), 0, {"a1", "a2", "b1"});
      EXPECT_EQ(!prefixes ? (Keys{"add a1", "add a2", "add b1"})
                : whole_keys
                    ? (Keys{"add a1 and a", "add a2 and a", "add b1 and b"})
                    : (Keys{"add a", "add a", "add b"}),
                calls);

      const std::string asked = whole_keys ? "ask a2" : "ask a";
      calls.clear();
      ASSERT_TRUE(Has("a2"));
      EXPECT_EQ(Keys{asked}, calls);

      calls.clear();
      std::vector<PinnableSlice> values;
      MultiGet(db_.get(), {"a2", "b1"}, &values);
      EXPECT_EQ(Keys{whole_keys ? "ask a2 b1" : "ask a b"}, calls);

      calls.clear();
      EXPECT_EQ("a2", FirstFrom("a2"));
      EXPECT_EQ(prefixes ? Keys{"ask a"} : Keys{}, calls);
      calls.clear();
      ReadOptions total;
      total.total_order_seek = true;
      EXPECT_EQ("a2", FirstFrom("a2", total));
      EXPECT_EQ(Keys{}, calls);

      Destroy();
      options_.prefix_extractor.reset();
    }
  }
}

// ---- Sources ----

const std::string kRocksDB = std::string(PROTEAN_ROCKSDB_DIR) + "/";
const std::string kProteanSources = std::string(PROTEAN_SOURCE_DIR) + "/";

// The text of a file without its comments and preprocessor lines.
std::string ReadSource(const std::string& path) {
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
  const auto declared = NamesIn(ReadSource(kRocksDB + base_file), base,
                                std::regex(R"(\bvirtual\s[^;{(]*?(\w+)\()"));
  auto overridden = NamesIn(
      ReadSource(kProteanSources + file), name,
      std::regex(R"((\w+)\(([^;{}]|\(\))*\)\s*(const\s*)?(override|final))"));
  EXPECT_FALSE(declared.empty());
  for (const auto& [function, count] : declared) {
    if (function == base || inherited.count(function) > 0) continue;
    EXPECT_EQ(count, overridden[function]) << function << " of " << base;
  }
}

// The default body of a new one would silently drop what the block-based table
// does.
TEST(VirtualFunctionsTest, NoneIsDropped) {
  ExpectForwarded("table/table_reader.h", "TableReader",
                  "table/protean_table_reader.h", "ProteanTableReader");
  // Range tombstones within a level have iterators of their own.
  ExpectForwarded("table/internal_iterator.h", "InternalIteratorBase",
                  "table/protean_table_iterator.cc", "ProteanTableIterator",
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
      ReadSource(kRocksDB + "table/block_based/block_based_table_factory.cc");
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

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
