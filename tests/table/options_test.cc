// SPDX-License-Identifier: Apache-2.0

//  How Protean is selected: by options strings, OPTIONS files, and code; and
//  what is refused.

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/sst_file_reader.h"
#include "table/protean_table_factory.h"
#include "tests/protean_db.h"
#include "tests/sst_damage.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class OptionsTest : public OwnDBTest {
 protected:
  static Status Parse(const std::string& table, ColumnFamilyOptions* options) {
    *options = ColumnFamilyOptions();
    return AddOptions("table_factory={id=ProteanTable;" + table + "}", options);
  }
  static ColumnFamilyOptions Parsed(const std::string& table) {
    ColumnFamilyOptions options;
    EXPECT_OK(Parse(table, &options));
    return options;
  }
  static const BlockBasedTableOptions& TableOf(
      const ColumnFamilyOptions& options) {
    return *options.table_factory->GetOptions<BlockBasedTableOptions>();
  }
  // What the policy says of SuRF's bits.
  static Keys SurfBits(const std::string& table) {
    const ColumnFamilyOptions options = Parsed(table);
    const FilterPolicy* policy = PolicyOf(options);
    EXPECT_STREQ("protean.SuRF", policy->Name());
    return {OptionOf(policy, "hash_suffix_bits"),
            OptionOf(policy, "real_suffix_bits"),
            OptionOf(policy, "prefix_suffix_bits")};
  }
};

}  // namespace

// No filter policy means no filter, as in RocksDB's own table, in text and in
// code, and in the OPTIONS file.
TEST_F(OptionsTest, WithoutAPolicy) {
  for (const char* line :
       {"table_factory=ProteanTable", "table_factory={id=ProteanTable}",
        "table_factory={id=ProteanTable;block_size=8192}",
        "table_factory={id=ProteanTable;filter_policy=nullptr}"}) {
    SCOPED_TRACE(line);
    ColumnFamilyOptions options;
    ASSERT_OK(AddOptions(line, &options));
    EXPECT_EQ(nullptr, PolicyOf(options));
  }
  for (const bool filters : {true, false}) {
    BlockBasedTableOptions table;
    if (filters) table.filter_policy = NewProteusFilterPolicy({});
    options_.table_factory = NewProteanTableFactory(table);
    EXPECT_EQ(filters, PolicyOf(options_) != nullptr);
    OpenNew();
    const Options loaded = OptionsOnDisk();
    EXPECT_STREQ("ProteanTable", loaded.table_factory->Name());
    EXPECT_EQ(filters, PolicyOf(loaded) != nullptr);
  }
}

TEST_F(OptionsTest, ShortAndLongForms) {
  const ColumnFamilyOptions options = Parsed("filter_policy=surf:4:7");
  EXPECT_STREQ("ProteanTable", options.table_factory->Name());
  EXPECT_TRUE(options.table_factory->IsInstanceOf("BlockBasedTable"));
  EXPECT_EQ((Keys{"4", "7", "0"}), SurfBits("filter_policy=surf:4:7"));
  EXPECT_EQ((Keys{"0", "2", "8"}), SurfBits("filter_policy=surf:0:2:8"));
  const std::string object =
      "block_size=8192;filter_policy={id=protean.SuRF;hash_suffix_bits=3;"
      "real_suffix_bits=0}";
  EXPECT_EQ((Keys{"3", "0", "0"}), SurfBits(object));
  EXPECT_EQ(8192u, TableOf(Parsed(object)).block_size);
}

TEST_F(OptionsTest, RocksDBsOwnPolicies) {
  EXPECT_STREQ("bloomfilter",
               PolicyOf(Parsed("filter_policy=bloomfilter:10"))->Name());
  EXPECT_NE(nullptr, PolicyOf(Parsed("filter_policy=ribbonfilter:10")));
  EXPECT_EQ(nullptr, PolicyOf(Parsed("filter_policy=nullptr")));
}

TEST_F(OptionsTest, BadPoliciesAreRefused) {
  for (bool ignore : {false, true}) {
    ConfigOptions config;
    config.ignore_unsupported_options = true;
    config.ignore_unknown_options = ignore;
    // If RocksDB ignores what it cannot parse, the error comes when the DB is
    // opened.
    auto parse = [&](const std::string& policy) {
      const Status s = GetColumnFamilyOptionsFromString(
          config, ColumnFamilyOptions(), ProteanTableText(policy), &options_);
      options_.create_if_missing = true;
      return ignore && s.ok() ? TryOpen() : s;
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
TEST_F(OptionsTest, TooManySuffixBitsInAll) {
  SetPolicy(
      "{id=protean.SuRF;hash_suffix_bits=32;real_suffix_bits=32;"
      "prefix_suffix_bits=16}");
  ExpectRefused(TryOpen(), {"hash_suffix_bits", "80", "up to 64"});
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

TEST_F(OptionsTest, PoliciesOfThePrograms) {
  for (const bool in_constructor : {true, false}) {
    const auto policy = std::make_shared<PolicyOfProgram>(
        in_constructor ? "PolicyInConstructor" : "PolicyAfterwards");
    BlockBasedTableOptions table;
    if (in_constructor) table.filter_policy = policy;
    options_.table_factory = NewProteanTableFactory(table);
    options_.table_factory->GetOptions<BlockBasedTableOptions>()
        ->filter_policy = policy;
    // Writes an OPTIONS file, and reads it back to check it.
    OpenNew();
    WriteFile({"key"});
    NewFamily("other");
    ASSERT_OK(
        db_->SetOptions({{"write_buffer_size", std::to_string(1 << 20)}}));
    EXPECT_TRUE(Has("key"));
    // A program that loads the file gets the other options.
    EXPECT_EQ(nullptr, PolicyOf(OptionsOnDisk()));
  }
  // All other names are refused as without Protean.
  ColumnFamilyOptions parsed;
  ExpectRefused(Parse("filter_policy=PolicyOfNobody", &parsed),
                {"PolicyOfNobody", "surf[:HASH_BITS:REAL_BITS",
                 "proteus[:BITS_PER_KEY", "{id=protean.Proteus;...}"});
}

TEST_F(OptionsTest, PoliciesAreValidatedOnce) {
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
TEST_F(OptionsTest, OptionsOfAnOpenDB) {
  SetPolicy("surf:0:4");
  Open();
  EXPECT_FALSE(
      db_->SetOptions({{"block_based_table_factory", "{block_size=8192}"}})
          .ok());
  ASSERT_OK(db_->SetOptions({{"table_factory.block_size", "8192"}}));
  EXPECT_EQ(8192u, TableOf(db_->GetOptions()).block_size);
  EXPECT_STREQ("ProteanTable", db_->GetOptions().table_factory->Name());

  // Files written from then on have the new filter; the other files keep
  // theirs.
  WriteFile({"a"});
  ASSERT_OK(db_->SetOptions({{"table_factory.filter_policy", "proteus:12"}}));
  EXPECT_STREQ("protean.Proteus", PolicyOf(db_->GetOptions())->Name());
  WriteFile({"b"});
  std::set<std::string> policies;
  for (const auto& [file, properties] : PropertiesOf(db_.get())) {
    policies.insert(properties->filter_policy_name);
  }
  EXPECT_EQ((std::set<std::string>{"protean.SuRF", "protean.Proteus"}),
            policies);
  EXPECT_TRUE(Has("a"));
  EXPECT_TRUE(Has("b"));
  ExpectRefused(db_->SetOptions({{"table_factory.filter_policy", "surf:99:0"}}),
                {"hash_suffix_bits", "99"});
}

// RocksDB ignores partition_filters without a two-level index, and Protean
// always.
TEST_F(OptionsTest, PartitionFiltersIsOfTheIndex) {
  for (const char* index :
       {"kBinarySearch", "kBinarySearchWithFirstKey", "kTwoLevelIndexSearch"}) {
    SCOPED_TRACE(index);
    SetPolicy("surf:0:4",
              std::string("partition_filters=true;"
                          "cache_index_and_filter_blocks=true;index_type=") +
                  index);
    OpenNew();
    WriteFile({"key"});
    FilterLocation location;
    FindFilter(OneFile(), &location);
    EXPECT_GT(location.handle.size(), FilterDirectory::kFixedSize);
  }
}

TEST_F(OptionsTest, BadNumbersInCodeAreRefusedAtOpen) {
  BlockBasedTableOptions table;
  table.filter_policy = NewSurfFilterPolicy({0, 40});
  options_.table_factory = NewProteanTableFactory(table);
  ExpectRefused(TryOpen(), {"real_suffix_bits", "40", "0 to 32"});
}

// An SstFileWriter does not validate options: it must do without a filter.
TEST_F(OptionsTest, BadNumbersInSstFileWriter) {
  const std::string name = path_ + ".sst";
  std::set<uint64_t> filter_sizes;
  // The default options are the first ones.
  for (const auto& [hash_bits, real_bits] :
       {std::pair<uint32_t, uint32_t>{0, 8}, {33, 0}, {0, 200}, {~0u, ~0u}}) {
    BlockBasedTableOptions table;
    table.filter_policy = NewSurfFilterPolicy({hash_bits, real_bits});
    options_.table_factory = NewProteanTableFactory(table);
    WriteSstFile(options_, name, {"a", "abc", "abd", "b"});
    SstFileReader reader(options_);
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

TEST_F(OptionsTest, OptionsFileRoundTrip) {
  SetPolicy("surf:2:5", "cache_index_and_filter_blocks=true;block_size=2048");
  Open();
  Put("k");
  // Options that may change while the DB is open are changed in a clone.
  ASSERT_OK(db_->SetOptions({{"write_buffer_size", "1000000"}}));
  Close();
  options_ = OptionsOnDisk();
  EXPECT_STREQ("ProteanTable", options_.table_factory->Name());
  EXPECT_EQ("2", OptionOf(PolicyOf(options_), "hash_suffix_bits"));
  EXPECT_EQ("5", OptionOf(PolicyOf(options_), "real_suffix_bits"));
  EXPECT_TRUE(TableOf(options_).cache_index_and_filter_blocks);
  EXPECT_EQ(2048u, TableOf(options_).block_size);
  Open();
  EXPECT_TRUE(Has("k"));
}

TEST_F(OptionsTest, CloneKeepsItsOwnOptions) {
  const ColumnFamilyOptions options =
      Parsed("filter_policy=surf:2:5;block_size=2048");
  std::shared_ptr<TableFactory> clone = options.table_factory->Clone();
  EXPECT_STREQ("ProteanTable", clone->Name());
  ASSERT_OK(clone->ConfigureFromString(ConfigOptions(), "block_size=1024"));
  EXPECT_EQ(1024u, clone->GetOptions<BlockBasedTableOptions>()->block_size);
  EXPECT_EQ(2048u, TableOf(options).block_size);
}

}  // namespace ROCKSDB_NAMESPACE::protean
