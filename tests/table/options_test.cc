// SPDX-License-Identifier: Apache-2.0

//  How Protean and its policies are selected: by options strings, OPTIONS
//  files, and code; and what is refused.

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_reader.h"
#include "table/protean_table_factory.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class OptionsTest : public OwnDBTest {
 protected:
  static ColumnFamilyOptions Parsed(const std::string& table) {
    ColumnFamilyOptions options;
    EXPECT_OK(
        AddOptions("table_factory={id=ProteanTable;" + table + "}", &options));
    return options;
  }
  // The option of a policy with that text.
  static std::string OptionIn(const std::string& policy,
                              const std::string& name) {
    return OptionOf(PolicyOf(Parsed("filter_policy=" + policy)), name);
  }
  // Opens the DB, writes a file if that succeeds, and closes it.
  Status Use() {
    const Status s = TryOpen();
    if (s.ok()) WriteFile({"k"});
    Close();
    return s;
  }

  // Such options are refused when they are parsed and, if RocksDB ignores what
  // it cannot parse, when the DB is opened.
  void ExpectPolicyRefused(const std::string& policy, const Keys& words) {
    SCOPED_TRACE(policy);
    for (bool ignore : {false, true}) {
      ConfigOptions config;
      config.ignore_unsupported_options = true;
      config.ignore_unknown_options = ignore;
      options_.table_factory.reset(NewBlockBasedTableFactory());
      Status s = GetColumnFamilyOptionsFromString(
          config, ColumnFamilyOptions(), ProteanTableText(policy), &options_);
      options_.create_if_missing = true;
      if (ignore && s.ok()) s = Use();
      ExpectRefused(s, words);
    }
  }
};

// No filter policy means no filter, in text, in code, and in the OPTIONS file.
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
  for (const std::string policy : {"bloomfilter", "ribbonfilter"}) {
    EXPECT_EQ(policy,
              PolicyOf(Parsed("filter_policy=" + policy + ":10"))->Name());
  }
  for (const bool filters : {true, false}) {
    UsePolicy(filters ? NewProteusFilterPolicy({}) : nullptr);
    EXPECT_EQ(filters, PolicyOf(options_) != nullptr);
    OpenNew();
    const Options loaded = OptionsOnDisk();
    EXPECT_STREQ("ProteanTable", loaded.table_factory->Name());
    EXPECT_EQ(filters, PolicyOf(loaded) != nullptr);
  }
}

// Policies as they are parsed, and as the OPTIONS file has them after a change.
TEST_F(OptionsTest, ShortAndLongForms) {
  for (const auto& [text, bits] :
       {std::pair<std::string, Keys>{"surf:4:7", {"4", "7", "0"}},
        {"surf:0:2:8", {"0", "2", "8"}},
        {"{id=protean.SuRF;hash_suffix_bits=3;real_suffix_bits=0}",
         {"3", "0", "0"}}}) {
    SCOPED_TRACE(text);
    SetPolicy(text, "cache_index_and_filter_blocks=true;block_size=2048");
    OpenNew();
    // Options that may change while the DB is open are changed in a clone.
    ASSERT_OK(db_->SetOptions({{"write_buffer_size", "1000000"}}));
    for (const Options& options : {options_, OptionsOnDisk()}) {
      EXPECT_STREQ("ProteanTable", options.table_factory->Name());
      EXPECT_TRUE(options.table_factory->IsInstanceOf("BlockBasedTable"));
      EXPECT_TRUE(TableOf(options)->cache_index_and_filter_blocks);
      EXPECT_EQ(2048u, TableOf(options)->block_size);
      const FilterPolicy* policy = PolicyOf(options);
      EXPECT_STREQ("protean.SuRF", policy->Name());
      EXPECT_EQ(bits, (Keys{OptionOf(policy, "hash_suffix_bits"),
                            OptionOf(policy, "real_suffix_bits"),
                            OptionOf(policy, "prefix_suffix_bits")}));
    }
  }
}

TEST_F(OptionsTest, BadPoliciesAreRefused) {
  for (const auto& [policy, words] :
       {std::pair<const char*, Keys>{"surf:33:0",
                                     {"hash_suffix_bits", "33", "0 to 32"}},
        {"surf:0:99", {"real_suffix_bits", "99", "0 to 32"}},
        {"surf:0:-1", {"real_suffix_bits", "-1", "0 to 32"}},
        {"surf:0:x", {"real_suffix_bits", "x", "0 to 32"}},
        {"surf:4", {"surf:4", "surf[:HASH_BITS:REAL_BITS"}},
        {"surf:4:4:4:4", {"surf:4:4:4:4", "[:PREFIX_BITS]"}},
        {"surf:4:4:", {"surf:4:4:"}},
        {"surf:0:0:17", {"prefix_suffix_bits", "17", "0 to 16"}},
        {"surf:32:32:1",
         {"hash_suffix_bits", "real_suffix_bits", "prefix_suffix_bits", "65",
          "up to 64"}},
        {"{id=protean.SuRF;prefix_suffix_bits=20}",
         {"prefix_suffix_bits", "20", "0 to 16"}},
        {"{id=protean.SuRF;no_such_option=1}", {"no_such_option"}}}) {
    ExpectPolicyRefused(policy, words);
  }
  // What options allow one by one, but not together, is refused by DB::Open, as
  // is what code has set.
  SetPolicy(
      "{id=protean.SuRF;hash_suffix_bits=32;real_suffix_bits=32;"
      "prefix_suffix_bits=16}");
  ExpectRefused(TryOpen(), {"hash_suffix_bits", "80", "up to 64"});
  UsePolicy(NewSurfFilterPolicy({0, 40}));
  ExpectRefused(TryOpen(), {"real_suffix_bits", "40", "0 to 32"});
}

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
  Status ValidateOptions(const DBOptions&,
                         const ColumnFamilyOptions&) const override {
    validations++;
    return Status::OK();
  }

  mutable int validations = 0;

 private:
  const char* const name_;
};

TEST_F(OptionsTest, PoliciesOfThePrograms) {
  for (const bool in_constructor : {true, false}) {
    const auto policy = std::make_shared<PolicyOfProgram>(
        in_constructor ? "PolicyInConstructor" : "PolicyAfterwards");
    UsePolicy(in_constructor ? policy : nullptr);
    TableOf(options_)->filter_policy = policy;
    // Writes an OPTIONS file, and reads it back to check it.
    OpenNew();
    WriteFile({"key"});
    NewFamily("other");
    ASSERT_OK(db_->SetOptions({{"write_buffer_size", "1048576"}}));
    EXPECT_TRUE(Has("key"));
    // A program that loads the file gets the other options.
    EXPECT_EQ(nullptr, PolicyOf(OptionsOnDisk()));
  }
  // All other names are refused as without Protean.
  ColumnFamilyOptions parsed;
  ExpectRefused(AddOptions(ProteanTableText("PolicyOfNobody"), &parsed),
                {"PolicyOfNobody", "surf[:HASH_BITS:REAL_BITS",
                 "proteus[:BITS_PER_KEY", "{id=protean.Proteus;...}"});
}

TEST_F(OptionsTest, PoliciesAreValidatedOnce) {
  const auto policy = std::make_shared<PolicyOfProgram>("Counting");
  UsePolicy(policy);
  ASSERT_OK(options_.table_factory->ValidateOptions(options_, options_));
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
  EXPECT_EQ(8192u, TableOf(db_->GetOptions())->block_size);
  EXPECT_STREQ("ProteanTable", db_->GetOptions().table_factory->Name());

  // Files written from then on have the new filter; the other files keep
  // theirs.
  WriteFile({"a"});
  ChangePolicy("{id=protean.Proteus;filter_budget_bytes=3M}");
  for (const Options& options : {db_->GetOptions(), OptionsOnDisk()}) {
    EXPECT_STREQ("protean.Proteus", PolicyOf(options)->Name());
    EXPECT_EQ("3145728", OptionOf(PolicyOf(options), "filter_budget_bytes"));
  }
  WriteFile({"b"});
  ChangePolicy("levels:bloomfilter:10,surf:0:8");
  WriteFile({"c"});
  std::set<std::string> policies;
  for (const auto& [file, properties] : PropertiesOf(db_.get())) {
    policies.insert(properties->filter_policy_name);
  }
  EXPECT_EQ(
      (std::set<std::string>{"bloomfilter", "protean.SuRF", "protean.Proteus"}),
      policies);
  for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(Has(key)) << key;
  ExpectRefused(db_->SetOptions({{"table_factory.filter_policy", "surf:99:0"}}),
                {"hash_suffix_bits", "99"});
}

// An SstFileWriter does not validate options: it must do without a filter, or
// have the one of the default options.
TEST_F(OptionsTest, BadOptionsInSstFileWriter) {
  // The default options are the first ones.
  std::vector<std::shared_ptr<const FilterPolicy>> policies = {
      NewSurfFilterPolicy({0, 8}), NewSurfFilterPolicy({33, 0}),
      NewSurfFilterPolicy({0, 200}), NewSurfFilterPolicy({~0u, ~0u})};
  const size_t num_surf = policies.size();
  ProteusPolicyOptions bad[5];
  bad[0].prefix_filter_type = 3;
  bad[1].bits_per_key = 1e300;
  bad[2].bits_per_key = std::nan("");
  bad[3].seed_file = path_ + "_missing";
  bad[4].level_bits = 2;
  for (const ProteusPolicyOptions& options : bad) {
    policies.push_back(
        std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus, options));
  }
  const std::string name = path_ + ".sst";
  std::set<uint64_t> surf_sizes;
  for (size_t i = 0; i < policies.size(); i++) {
    SCOPED_TRACE(i);
    UsePolicy(policies[i]);
    WriteSstFile(options_, name, {"a", "abc", "abd", "b"});
    SstFileReader reader(options_);
    ASSERT_OK(reader.Open(name));
    if (i < num_surf) {
      surf_sizes.insert(reader.GetTableProperties()->filter_size);
    }
    const std::unique_ptr<Iterator> it(reader.NewIterator(ReadOptions()));
    it->Seek("abd");
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ("abd", it->key());
  }
  EXPECT_EQ(1u, surf_sizes.size());
}

TEST_F(OptionsTest, CloneKeepsItsOwnOptions) {
  const ColumnFamilyOptions options = Parsed("block_size=2048");
  std::shared_ptr<TableFactory> clone = options.table_factory->Clone();
  EXPECT_STREQ("ProteanTable", clone->Name());
  ASSERT_OK(clone->ConfigureFromString(ConfigOptions(), "block_size=1024"));
  EXPECT_EQ(1024u, clone->GetOptions<BlockBasedTableOptions>()->block_size);
  EXPECT_EQ(2048u, TableOf(options)->block_size);
}

// ---- Proteus, 1PBF and 2PBF ----

// The short name of a policy, and its designs.
using Names = std::pair<const char*, DesignSpace>;

class ProteusOptionsTest : public OptionsTest,
                           public testing::WithParamInterface<Names> {
 protected:
  std::string Id() const {
    return ProteusFilterPolicy::ClassName(GetParam().second);
  }
  std::string ShortName() const { return GetParam().first; }
  std::string Object(const std::string& options) const {
    return "{id=" + Id() + ";" + options + "}";
  }
  static double BitsIn(const std::string& policy) {
    return std::stod(OptionIn(policy, "bits_per_key"));
  }
  // Opens a new DB with the policy, and returns what its OPTIONS file says.
  Options UsedAndLoaded(const std::string& policy) {
    Destroy();
    SetPolicy(policy);
    EXPECT_OK(Use());
    return OptionsOnDisk();
  }

  // Such options are refused when the DB is opened, by either table.
  void ExpectOptionsRefused(const ProteusPolicyOptions& options,
                            const Keys& words) {
    BlockBasedTableOptions table;
    table.filter_policy =
        std::make_shared<ProteusFilterPolicy>(GetParam().second, options);
    options_.table_factory = NewProteanTableFactory(table);
    ExpectRefused(Use(), words);
    options_.table_factory.reset(NewBlockBasedTableFactory(table));
    ExpectRefused(Use(), words);
  }

  const std::string file_ = path_ + "_queries";
};

INSTANTIATE_TEST_SUITE_P(
    Policies, ProteusOptionsTest,
    testing::Values(Names{"proteus", DesignSpace::kProteus},
                    Names{"prefixbloom", DesignSpace::kOnePrefixFilter},
                    Names{"prefixbloom2", DesignSpace::kTwoPrefixFilters}),
    [](const auto& test) { return std::string(test.param.first); });

TEST_P(ProteusOptionsTest, ShortForm) {
  EXPECT_EQ(14, BitsIn(ShortName() + ":14"));
  for (const std::string type : {"Bloom", "Ribbon", "Auto"}) {
    for (const std::string& spelled :
         {"k" + type, type,
          static_cast<char>(tolower(type[0])) + type.substr(1)}) {
      const std::string text = ShortName() + ":10.5:" + spelled;
      EXPECT_EQ(10.5, BitsIn(text));
      EXPECT_EQ("k" + type, OptionIn(text, "prefix_filter_type"));
    }
  }
  EXPECT_EQ(12, BitsIn(ShortName()));
  EXPECT_EQ(2, BitsIn(ShortName() + ":2"));
  EXPECT_EQ(64, BitsIn(ShortName() + ":64"));
}

TEST_P(ProteusOptionsTest, FilterBudget) {
  const std::string option = "filter_budget_bytes";
  EXPECT_EQ("0", OptionIn(ShortName() + ":12", option));
  for (const auto& [size, bytes] :
       {std::pair<std::string, const char*>{"0", "0"},
        {"1024", "1024"},
        {"1K", "1024"},
        {"3k", "3072"},
        {"512M", "536870912"},
        {"2G", "2147483648"},
        {"1T", "1099511627776"},
        {"1048576T", "1152921504606846976"}}) {
    SCOPED_TRACE(size);
    const std::string text =
        Object("bits_per_key=9;filter_budget_bytes=" + size);
    EXPECT_EQ(bytes, OptionIn(text, option));
    EXPECT_EQ(9, BitsIn(text));
  }
  // A budget is not one letter away from bits per key.
  ExpectPolicyRefused(ShortName() + ":12M",
                      {Id(), "bits_per_key=12M", "filter_budget_bytes=2G"});
}

TEST_P(ProteusOptionsTest, OptionsFileRoundTrip) {
  ASSERT_OK(WriteStringToFile(Env::Default(), "some key\na\tb\n", file_));
  for (const auto& [text, bits, others] :
       {std::tuple<std::string, double, Records>{
            ShortName() + ":11",
            11,
            {{"prefix_filter_type", "kAuto"},
             {"sample_every", "100"},
             {"sample_capacity", "20000"},
             {"level_bits", "kAuto"},
             {"point_lookups_use_whole_keys", "false"},
             {"filter_budget_bytes", "0"},
             {"false_positive_cost_micros", "0"}}},
        {ShortName() + ":10.123:bloom",
         10.123,
         {{"prefix_filter_type", "kBloom"}}},
        {Object("bits_per_key=7.5;prefix_filter_type=kRibbon;level_bits=kEqual;"
                "sample_every=5;sample_capacity=17;seed_file=" +
                file_ + ";samples_file=" + file_ + ".saved"),
         7.5,
         {{"prefix_filter_type", "kRibbon"},
          {"sample_every", "5"},
          {"sample_capacity", "17"},
          {"level_bits", "kEqual"}}},
        {Object("bits_per_key=10;filter_budget_bytes=2G;"
                "false_positive_cost_micros=10000000"),
         10,
         {{"filter_budget_bytes", "2147483648"},
          {"false_positive_cost_micros", "10000000"}}}}) {
    SCOPED_TRACE(text);
    const Options written = UsedAndLoaded(text);
    EXPECT_STREQ("ProteanTable", written.table_factory->Name());
    const FilterPolicy* policy = PolicyOf(written);
    ASSERT_NE(nullptr, policy);
    EXPECT_EQ(Id(), policy->Name());
    EXPECT_NEAR(bits, std::stod(OptionOf(policy, "bits_per_key")), 1e-5);
    for (const auto& [name, value] : others) {
      EXPECT_EQ(value, OptionOf(policy, name)) << name;
    }
    const ProteanFilterPolicy& loaded = *ProteanPolicyOf(written);
    // What was measured, unless the option says what a false positive costs.
    const uint64_t micros =
        std::stoull(OptionOf(policy, "false_positive_cost_micros"));
    for (const uint64_t measured : {kUsualPrice, kCachedPrice}) {
      EXPECT_EQ(micros == 0 ? measured : 1000 * micros,
                loaded.PriceFor(measured));
    }
    const SampleStoreOptions& samples = loaded.Samples()->options();
    EXPECT_EQ(OptionOf(policy, "sample_capacity"),
              std::to_string(samples.sample_capacity));
    EXPECT_EQ(OptionOf(policy, "sample_every"),
              std::to_string(samples.sample_every));
    for (const char* file : {"seed_file", "samples_file"}) {
      EXPECT_EQ(OptionOf(PolicyOf(options_), file), OptionOf(policy, file));
    }
    options_.table_factory = written.table_factory;
    Open();
    EXPECT_TRUE(Has("k"));
  }
}

// 2PBF has no place for a set of whole keys.
TEST_P(ProteusOptionsTest, PointLookupsUseWholeKeys) {
  const std::string option = "point_lookups_use_whole_keys";
  ProteusPolicyOptions in_code;
  in_code.point_lookups_use_whole_keys = true;
  if (Id() == "protean.TwoPrefixBloom") {
    const Keys words = {Id(), option + "=true", "allowed: false"};
    SetPolicy(Object(option + "=true"));
    ExpectRefused(Use(), words);
    ExpectOptionsRefused(in_code, words);
    return;
  }
  for (const std::string value : {"false", "true"}) {
    const Options written =
        UsedAndLoaded(Object("bits_per_key=14;" + option + "=" + value));
    EXPECT_EQ(value, OptionOf(PolicyOf(options_), option));
    EXPECT_EQ(value, OptionOf(PolicyOf(written), option));
    options_.prefix_extractor.reset(NewFixedPrefixTransform(3));
    if (value == "true") {
      const Keys words = {Id(), option + "=true", "prefix extractor"};
      ExpectRefused(Use(), words);
      ExpectOptionsRefused(in_code, words);
    } else {
      EXPECT_OK(Use());
    }
    options_.prefix_extractor.reset();
  }
}

TEST_P(ProteusOptionsTest, BadPoliciesAreRefused) {
  const Keys bad_counts = {"0", "-1", "4294967296", "many", "1.5"};
  const struct {
    std::string option;
    Keys values;
    std::string allowed;
    std::string short_form = "";  // what comes before the value
  } rows[] = {
      {"bits_per_key",
       {"1", "1.99", "64.5", "65", "0", "-3", "x", "12x", "nan", "inf", "1e1",
        "0x10", "99999999999999999999", "1.2.3", "."},
       "2 to 64",
       ShortName() + ":"},
      {"prefix_filter_type",
       {"cuckoo", "kkBloom", "none", "bloom,ribbon"},
       "kAuto, kBloom, kRibbon",
       ShortName() + ":12:"},
      {"level_bits", {"k", "monkey", "on", "equal,auto"}, "kAuto, kEqual"},
      {"sample_capacity", bad_counts, "1 to 4294967295"},
      {"sample_every", bad_counts, "1 to 4294967295"},
      {"filter_budget_bytes",
       {"1", "1023", "-1", "-2G", "2X", "2GG", "G", "1.5G",
        "1152921504606846977", "1048577T", "2GB", "5000B",
        "99999999999999999999", "2 G", "0x400", "many"},
       "0, or whole numbers from 1024"},
      {"false_positive_cost_micros",
       {"2us", "-1", "10000001", "10M", "cheap"},
       "whole numbers from 0 to 10000000"},
      {"queries_per_key",
       {"0.001", "-1", "1001", "many"},
       "0, or numbers from 0.002 to 1000"}};
  for (const auto& [option, values, allowed, short_form] : rows) {
    for (const std::string& value : values) {
      const std::string text = option + "=" + value;
      const Keys words = {Id(), text, "allowed: ", allowed};
      ExpectPolicyRefused(Object(text), words);
      if (!short_form.empty()) ExpectPolicyRefused(short_form + value, words);
    }
  }
  for (const std::string& spec :
       {ShortName() + ":", ShortName() + ":12:bloom:3", ShortName() + ":12:"}) {
    ExpectPolicyRefused(spec, {spec, ShortName() + "[:BITS_PER_KEY"});
  }
  ExpectPolicyRefused(ShortName() + "::", {ShortName()});
  ExpectPolicyRefused(Object("no_such_option=1"), {"no_such_option"});
  // Options that are misspelled are answered with the nearest one.
  ExpectPolicyRefused(Object("bit_per_key=12"),
                      {Id(), "bit_per_key", "did you mean bits_per_key?"});
  ExpectPolicyRefused(Object("amq=bloom"),
                      {Id(), "amq", "allowed: bits_per_key, "});
}

TEST_P(ProteusOptionsTest, BadOptionsInCodeAreRefusedAtOpen) {
  using Policy = ProteusPolicyOptions;
  for (const double bits : {1.5, 65.0, 0.0, -1.0, 1e300, std::nan("")}) {
    Policy options;
    options.bits_per_key = bits;
    ExpectOptionsRefused(options, {Id(), "bits_per_key", "2 to 64"});
  }
  using Set = std::function<void(Policy*)>;
  for (const auto& [set, words] :
       {std::pair<Set, Keys>{
            [](Policy* p) { p->prefix_filter_type = 3; },
            {Id(), "prefix_filter_type=3", "kAuto, kBloom, kRibbon"}},
        {[](Policy* p) { p->filter_budget_bytes = 1000; },
         {Id(), "filter_budget_bytes=1000", "from 1024"}},
        {[](Policy* p) { p->false_positive_cost_micros = 10'000'001; },
         {Id(), "false_positive_cost_micros=10000001", "0 to 10000000"}},
        {[](Policy* p) { p->level_bits = 2; },
         {Id(), "level_bits=2", "kAuto, kEqual"}},
        {[](Policy* p) { p->sample_capacity = 0; },
         {Id(), "sample_capacity", "0", "1 to "}},
        {[](Policy* p) { p->sample_every = 0; },
         {Id(), "sample_every", "0", "1 to "}},
        {[](Policy* p) { p->samples_file = "a\\b"; },
         {Id(), "samples_file=a\\b", "backslash"}},
        {[](Policy* p) { p->seed_file = "a\\b"; },
         {Id(), "seed_file=a\\b", "backslash"}},
        {[](Policy* p) { p->samples_file = "relative"; },
         {"samples_file=relative", "absolute path"}},
        {[this](Policy* p) { p->samples_file = path_ + "_no_folder/file"; },
         {"samples_file=", "does not exist"}},
        {[](Policy* p) { p->seed_file = "/dev/zero"; },
         {"seed_file=/dev/zero", "allowed: "}},
        {[](Policy* p) { p->samples_file = "/dev/zero"; },
         {"samples_file=/dev/zero", "allowed: "}},
        {[](Policy* p) { p->seeds = "0x61,0x1"; },
         {"seeds, query 2 ", "allowed: "}}}) {
    Policy options;
    set(&options);
    ExpectOptionsRefused(options, words);
  }
}

// A backup has no such files, and a restart finds them as others have left
// them.
TEST_P(ProteusOptionsTest, BadFilesKeepNoDBClosed) {
  for (const bool missing : {true, false}) {
    for (const std::string option : {"seed_file=", "samples_file="}) {
      SCOPED_TRACE(option);
      if (!missing) {
        ASSERT_OK(WriteStringToFile(Env::Default(), "good\n0x1\n", file_));
      }
      SetPolicy(Object(option + file_));
      ASSERT_OK(Use());
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
