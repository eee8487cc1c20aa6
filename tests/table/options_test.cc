// SPDX-License-Identifier: Apache-2.0

//  How Protean is selected: by options strings, OPTIONS files, and code; and
//  what is refused.

#include <gtest/gtest.h>

#include <set>

#include "filter_policy/protean_filter_policy.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/utilities/options_util.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"
#include "tests/sst_damage.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

Status Parse(const std::string& table_factory, ColumnFamilyOptions* options) {
  return GetColumnFamilyOptionsFromString(
      ConfigOptions(), ColumnFamilyOptions(),
      "table_factory={id=ProteanTable;" + table_factory + "}", options);
}

const FilterPolicy* PolicyOf(const ColumnFamilyOptions& options) {
  return options.table_factory->GetOptions<BlockBasedTableOptions>()
      ->filter_policy.get();
}

std::string Option(const FilterPolicy* policy, const std::string& name) {
  std::string value;
  EXPECT_TRUE(policy->GetOption(ConfigOptions(), name, &value).ok());
  return value;
}

void ExpectRefused(const Status& s, const std::vector<std::string>& words) {
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  for (const std::string& word : words) {
    EXPECT_NE(std::string::npos, s.ToString().find(word))
        << s.ToString() << " lacks " << word;
  }
}

}  // namespace

// No filter policy means no filter, as in RocksDB's own table, in text and in
// code, and in the OPTIONS file.
TEST(OptionsTest, WithoutAPolicy) {
  for (const char* line :
       {"table_factory=ProteanTable", "table_factory={id=ProteanTable}",
        "table_factory={id=ProteanTable;block_size=8192}",
        "table_factory={id=ProteanTable;filter_policy=nullptr}"}) {
    SCOPED_TRACE(line);
    ColumnFamilyOptions options;
    ASSERT_OK(GetColumnFamilyOptionsFromString(
        ConfigOptions(), ColumnFamilyOptions(), line, &options));
    EXPECT_EQ(nullptr, PolicyOf(options));
  }
  const std::string path = test::PerThreadDBPath("protean_no_policy");
  for (const bool filters : {true, false}) {
    ASSERT_OK(DestroyDB(path, Options()));
    Options options;
    options.create_if_missing = true;
    BlockBasedTableOptions table;
    if (filters) table.filter_policy = NewProteusFilterPolicy({});
    options.table_factory = NewProteanTableFactory(table);
    EXPECT_EQ(filters, PolicyOf(options) != nullptr);
    std::unique_ptr<DB> db;
    ASSERT_OK(OpenDB(&db, options, path));
    db.reset();
    DBOptions db_options;
    std::vector<ColumnFamilyDescriptor> families;
    ASSERT_OK(LoadLatestOptions(ConfigOptions(), path, &db_options, &families));
    ASSERT_EQ(1u, families.size());
    EXPECT_STREQ("ProteanTable", families[0].options.table_factory->Name());
    EXPECT_EQ(filters, PolicyOf(families[0].options) != nullptr);
  }
  ASSERT_OK(DestroyDB(path, Options()));
}

TEST(OptionsTest, ShortForm) {
  ColumnFamilyOptions options;
  ASSERT_OK(Parse("filter_policy=surf:4:7", &options));
  EXPECT_STREQ("ProteanTable", options.table_factory->Name());
  EXPECT_TRUE(options.table_factory->IsInstanceOf("BlockBasedTable"));
  ASSERT_NE(nullptr, PolicyOf(options));
  EXPECT_STREQ("protean.SuRF", PolicyOf(options)->Name());
  EXPECT_EQ("4", Option(PolicyOf(options), "hash_suffix_bits"));
  EXPECT_EQ("7", Option(PolicyOf(options), "real_suffix_bits"));
  EXPECT_EQ("0", Option(PolicyOf(options), "prefix_suffix_bits"));
  ASSERT_OK(Parse("filter_policy=surf:0:2:8", &options));
  EXPECT_EQ("0", Option(PolicyOf(options), "hash_suffix_bits"));
  EXPECT_EQ("2", Option(PolicyOf(options), "real_suffix_bits"));
  EXPECT_EQ("8", Option(PolicyOf(options), "prefix_suffix_bits"));
}

TEST(OptionsTest, ObjectForm) {
  ColumnFamilyOptions options;
  ASSERT_OK(
      Parse("block_size=8192;filter_policy={id=protean.SuRF;"
            "hash_suffix_bits=3;real_suffix_bits=0}",
            &options));
  EXPECT_EQ("3", Option(PolicyOf(options), "hash_suffix_bits"));
  EXPECT_EQ("0", Option(PolicyOf(options), "real_suffix_bits"));
  EXPECT_EQ(
      8192u,
      options.table_factory->GetOptions<BlockBasedTableOptions>()->block_size);
}

TEST(OptionsTest, RocksDBsOwnPolicies) {
  ColumnFamilyOptions options;
  ASSERT_OK(Parse("filter_policy=bloomfilter:10", &options));
  EXPECT_STREQ("bloomfilter", PolicyOf(options)->Name());
  ASSERT_OK(Parse("filter_policy=ribbonfilter:10", &options));
  ASSERT_OK(Parse("filter_policy=nullptr", &options));
  EXPECT_EQ(nullptr, PolicyOf(options));
}

TEST(OptionsTest, BadPoliciesAreRefused) {
  const std::string path = test::PerThreadDBPath("protean_options");
  for (bool ignore : {false, true}) {
    ConfigOptions config;
    config.ignore_unsupported_options = true;
    config.ignore_unknown_options = ignore;
    // If RocksDB ignores what it cannot parse, the error comes when the DB is
    // opened.
    auto parse = [&](const std::string& policy) {
      Options options;
      options.create_if_missing = true;
      Status s = GetColumnFamilyOptionsFromString(
          config, ColumnFamilyOptions(),
          "table_factory={id=ProteanTable;filter_policy=" + policy + "}",
          &options);
      if (ignore && s.ok()) {
        std::unique_ptr<DB> db;
        s = OpenDB(&db, options, path);
      }
      return s;
    };
    ExpectRefused(parse("surf:33:0"), {"hash_suffix_bits", "33", "0 to 32"});
    ExpectRefused(parse("surf:0:99"), {"real_suffix_bits", "99", "0 to 32"});
    ExpectRefused(parse("surf:0:-1"), {"real_suffix_bits", "-1", "0 to 32"});
    ExpectRefused(parse("surf:0:x"), {"real_suffix_bits", "x", "0 to 32"});
    ExpectRefused(parse("surf:4"), {"surf:4", "surf[:HASH_BITS:REAL_BITS"});
    ExpectRefused(parse("surf:4:4:4:4"), {"surf:4:4:4:4", "[:PREFIX_BITS]"});
    ExpectRefused(parse("surf:4:4:"), {"surf:4:4:"});
    ExpectRefused(parse("surf:0:0:17"),
                  {"prefix_suffix_bits", "17", "0 to 16"});
    ExpectRefused(parse("surf:32:32:1"),
                  {"hash_suffix_bits", "real_suffix_bits", "prefix_suffix_bits",
                   "65", "up to 64"});
    ExpectRefused(parse("{id=protean.SuRF;prefix_suffix_bits=20}"),
                  {"prefix_suffix_bits", "20", "0 to 16"});
    ExpectRefused(parse("{id=protean.SuRF;no_such_option=1}"),
                  {"no_such_option"});
  }
}

// What options allow one by one, but not together, is refused by DB::Open.
TEST(OptionsTest, TooManySuffixBitsInAll) {
  Options options;
  options.create_if_missing = true;
  ASSERT_OK(
      Parse("filter_policy={id=protean.SuRF;hash_suffix_bits=32;"
            "real_suffix_bits=32;prefix_suffix_bits=16}",
            &options));
  std::unique_ptr<DB> db;
  ExpectRefused(
      OpenDB(&db, options, test::PerThreadDBPath("protean_suffix_bits")),
      {"hash_suffix_bits", "80", "up to 64"});
}

namespace {

// A policy that a program has created and not registered by its name.
class PolicyOfProgram : public FilterPolicy {
 public:
  explicit PolicyOfProgram(const char* name) : name_(name) {}
  const char* Name() const override { return name_; }
  const char* CompatibilityName() const override { return name_; }
  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext&) const override {
    return nullptr;
  }
  FilterBitsReader* GetFilterBitsReader(const Slice&) const override {
    return nullptr;
  }

 private:
  const char* const name_;
};

}  // namespace

TEST(OptionsTest, PoliciesOfThePrograms) {
  const std::string path = test::PerThreadDBPath("protean_options");
  for (const bool in_constructor : {true, false}) {
    ASSERT_OK(DestroyDB(path, Options()));
    const auto policy = std::make_shared<PolicyOfProgram>(
        in_constructor ? "PolicyInConstructor" : "PolicyAfterwards");
    BlockBasedTableOptions table;
    if (in_constructor) table.filter_policy = policy;
    Options options;
    options.create_if_missing = true;
    options.table_factory = NewProteanTableFactory(table);
    options.table_factory->GetOptions<BlockBasedTableOptions>()->filter_policy =
        policy;
    std::unique_ptr<DB> db;
    // Writes an OPTIONS file, and reads it back to check it.
    ASSERT_OK(OpenDB(&db, options, path));
    ASSERT_OK(db->Put(WriteOptions(), "key", "value"));
    ASSERT_OK(db->Flush(FlushOptions()));
    ColumnFamilyHandle* family;
    ASSERT_OK(db->CreateColumnFamily(options, "other", &family));
    ASSERT_OK(db->DestroyColumnFamilyHandle(family));
    ASSERT_OK(db->SetOptions({{"write_buffer_size", std::to_string(1 << 20)}}));
    std::string value;
    ASSERT_OK(db->Get(ReadOptions(), "key", &value));
    EXPECT_EQ("value", value);
    db.reset();
    // A program that loads the file gets the other options.
    DBOptions db_options;
    std::vector<ColumnFamilyDescriptor> families;
    ASSERT_OK(LoadLatestOptions(ConfigOptions(), path, &db_options, &families));
    EXPECT_EQ(nullptr, PolicyOf(families[0].options));
  }
  // All other names are refused as without Protean.
  ColumnFamilyOptions parsed;
  ExpectRefused(Parse("filter_policy=PolicyOfNobody", &parsed),
                {"PolicyOfNobody", "surf[:HASH_BITS:REAL_BITS",
                 "proteus[:BITS_PER_KEY", "{id=protean.Proteus;...}"});
}

TEST(OptionsTest, PoliciesAreValidatedOnce) {
  class Counting : public PolicyOfProgram {
   public:
    Counting() : PolicyOfProgram("Counting") {}
    Status ValidateOptions(const DBOptions&,
                           const ColumnFamilyOptions&) const override {
      validations++;
      return Status::OK();
    }
    mutable int validations = 0;
  };
  const auto policy = std::make_shared<Counting>();
  BlockBasedTableOptions table;
  table.filter_policy = policy;
  ColumnFamilyOptions options;
  options.table_factory = NewProteanTableFactory(table);
  ASSERT_OK(options.table_factory->ValidateOptions(DBOptions(), options));
  EXPECT_EQ(1, policy->validations);
}

// RocksDB compares the name of the factory when options of an open DB change.
TEST(OptionsTest, OptionsOfAnOpenDB) {
  const std::string path = test::PerThreadDBPath("protean_options");
  ASSERT_OK(DestroyDB(path, Options()));
  Options options;
  options.create_if_missing = true;
  options.disable_auto_compactions = true;
  ASSERT_OK(Parse("filter_policy=surf:0:4", &options));
  std::unique_ptr<DB> db;
  ASSERT_OK(OpenDB(&db, options, path));
  EXPECT_FALSE(
      db->SetOptions({{"block_based_table_factory", "{block_size=8192}"}})
          .ok());
  ASSERT_OK(db->SetOptions({{"table_factory.block_size", "8192"}}));
  const auto table = [&db] {
    return *db->GetOptions()
                .table_factory->GetOptions<BlockBasedTableOptions>();
  };
  EXPECT_EQ(8192u, table().block_size);
  EXPECT_STREQ("ProteanTable", db->GetOptions().table_factory->Name());

  // Files written from then on have the new filter; the other files keep
  // theirs.
  ASSERT_OK(db->Put(WriteOptions(), "a", "before"));
  ASSERT_OK(db->Flush(FlushOptions()));
  ASSERT_OK(db->SetOptions({{"table_factory.filter_policy", "proteus:12"}}));
  EXPECT_STREQ("protean.Proteus", table().filter_policy->Name());
  ASSERT_OK(db->Put(WriteOptions(), "b", "after"));
  ASSERT_OK(db->Flush(FlushOptions()));
  TablePropertiesCollection properties;
  ASSERT_OK(db->GetPropertiesOfAllTables(&properties));
  std::set<std::string> policies;
  for (const auto& file : properties) {
    policies.insert(file.second->filter_policy_name);
  }
  EXPECT_EQ((std::set<std::string>{"protean.SuRF", "protean.Proteus"}),
            policies);
  for (const char* key : {"a", "b"}) {
    std::string value;
    EXPECT_OK(db->Get(ReadOptions(), key, &value));
  }
  ExpectRefused(db->SetOptions({{"table_factory.filter_policy", "surf:99:0"}}),
                {"hash_suffix_bits", "99"});
}

// RocksDB ignores partition_filters without a two-level index, and Protean
// always.
TEST(OptionsTest, PartitionFiltersIsOfTheIndex) {
  const std::string path = test::PerThreadDBPath("protean_options");
  for (const char* index :
       {"kBinarySearch", "kBinarySearchWithFirstKey", "kTwoLevelIndexSearch"}) {
    SCOPED_TRACE(index);
    Options options;
    options.create_if_missing = true;
    ASSERT_OK(
        Parse(std::string("filter_policy=surf:0:4;partition_filters=true;") +
                  "cache_index_and_filter_blocks=true;index_type=" + index,
              &options));
    ASSERT_OK(DestroyDB(path, options));
    std::unique_ptr<DB> db;
    ASSERT_OK(OpenDB(&db, options, path));
    ASSERT_OK(db->Put(WriteOptions(), "key", "value"));
    ASSERT_OK(db->Flush(FlushOptions()));
    std::vector<LiveFileMetaData> files;
    db->GetLiveFilesMetaData(&files);
    ASSERT_EQ(1u, files.size());
    FilterLocation location;
    FindFilter(files[0].directory + "/" + files[0].relative_filename,
               &location);
    EXPECT_GT(location.handle.size(), FilterDirectory::kFixedSize);
    db.reset();
    ASSERT_OK(DestroyDB(path, options));
  }
}

TEST(OptionsTest, BadNumbersInCodeAreRefusedAtOpen) {
  const std::string path = test::PerThreadDBPath("protean_options");
  BlockBasedTableOptions table;
  table.filter_policy = NewSurfFilterPolicy({0, 40});
  Options options;
  options.create_if_missing = true;
  options.table_factory = NewProteanTableFactory(table);
  std::unique_ptr<DB> db;
  const Status s = OpenDB(&db, options, path);
  ExpectRefused(s, {"real_suffix_bits", "40", "0 to 32"});
}

// An SstFileWriter does not validate options: it must do without a filter.
TEST(OptionsTest, BadNumbersInSstFileWriter) {
  const std::string name = test::PerThreadDBPath("protean_options") + ".sst";
  std::set<uint64_t> filter_sizes;
  // The default options are the first ones.
  for (const auto& [hash_bits, real_bits] :
       {std::pair<uint32_t, uint32_t>{0, 8}, {33, 0}, {0, 200}, {~0u, ~0u}}) {
    BlockBasedTableOptions table;
    table.filter_policy = NewSurfFilterPolicy({hash_bits, real_bits});
    Options options;
    options.table_factory = NewProteanTableFactory(table);
    SstFileWriter writer(EnvOptions(), options);
    ASSERT_OK(writer.Open(name));
    for (const char* key : {"a", "abc", "abd", "b"}) {
      ASSERT_OK(writer.Put(key, "value"));
    }
    ASSERT_OK(writer.Finish());
    SstFileReader reader(options);
    ASSERT_OK(reader.Open(name));
    filter_sizes.insert(reader.GetTableProperties()->filter_size);
    const std::unique_ptr<Iterator> it(reader.NewIterator(ReadOptions()));
    it->Seek("abd");
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ("abd", it->key());
    ASSERT_OK(Env::Default()->DeleteFile(name));
  }
  EXPECT_EQ(1u, filter_sizes.size());
}

TEST(OptionsTest, OptionsFileRoundTrip) {
  const std::string path = test::PerThreadDBPath("protean_round_trip");
  Options options;
  ASSERT_OK(DestroyDB(path, options));
  options.create_if_missing = true;
  ASSERT_OK(
      Parse("filter_policy=surf:2:5;cache_index_and_filter_blocks=true;"
            "block_size=2048",
            &options));
  std::unique_ptr<DB> db;
  ASSERT_OK(OpenDB(&db, options, path));
  ASSERT_OK(db->Put(WriteOptions(), "k", "v"));
  // Options that may change while the DB is open are changed in a clone.
  ASSERT_OK(db->SetOptions({{"write_buffer_size", "1000000"}}));
  db.reset();

  DBOptions db_options;
  std::vector<ColumnFamilyDescriptor> families;
  ConfigOptions config;
  ASSERT_OK(LoadLatestOptions(config, path, &db_options, &families));
  ASSERT_EQ(1u, families.size());
  const ColumnFamilyOptions& loaded = families[0].options;
  EXPECT_STREQ("ProteanTable", loaded.table_factory->Name());
  EXPECT_EQ("2", Option(PolicyOf(loaded), "hash_suffix_bits"));
  EXPECT_EQ("5", Option(PolicyOf(loaded), "real_suffix_bits"));
  const auto* table =
      loaded.table_factory->GetOptions<BlockBasedTableOptions>();
  EXPECT_TRUE(table->cache_index_and_filter_blocks);
  EXPECT_EQ(2048u, table->block_size);

  std::vector<ColumnFamilyHandle*> handles;
  ASSERT_OK(OpenDB(&db, db_options, path, families, &handles));
  std::string value;
  ASSERT_OK(db->Get(ReadOptions(), "k", &value));
  for (ColumnFamilyHandle* handle : handles) {
    ASSERT_OK(db->DestroyColumnFamilyHandle(handle));
  }
}

TEST(OptionsTest, CloneKeepsItsOwnOptions) {
  ColumnFamilyOptions options;
  ASSERT_OK(Parse("filter_policy=surf:2:5;block_size=2048", &options));
  std::shared_ptr<TableFactory> clone = options.table_factory->Clone();
  EXPECT_STREQ("ProteanTable", clone->Name());
  ASSERT_OK(clone->ConfigureFromString(ConfigOptions(), "block_size=1024"));
  EXPECT_EQ(1024u, clone->GetOptions<BlockBasedTableOptions>()->block_size);
  EXPECT_EQ(
      2048u,
      options.table_factory->GetOptions<BlockBasedTableOptions>()->block_size);
}

}  // namespace ROCKSDB_NAMESPACE::protean
