// SPDX-License-Identifier: Apache-2.0

//  How Proteus, 1PBF and 2PBF are selected, and what is refused.

#include <gtest/gtest.h>

#include "filter_policy/proteus/proteus_policy.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/utilities/options_util.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct Names {
  const char* short_name;
  const char* id;
};

void PrintTo(const Names& names, std::ostream* out) { *out << names.id; }

std::string TableWith(const std::string& policy) {
  return "table_factory={id=ProteanTable;filter_policy=" + policy + "}";
}

const FilterPolicy* PolicyOf(const ColumnFamilyOptions& options) {
  return options.table_factory->GetOptions<BlockBasedTableOptions>()
      ->filter_policy.get();
}

std::string Option(const FilterPolicy* policy, const std::string& name) {
  std::string value;
  EXPECT_OK(policy->GetOption(ConfigOptions(), name, &value));
  return value;
}

void ExpectRefused(const Status& s, const std::vector<std::string>& words) {
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  for (const std::string& word : words) {
    EXPECT_NE(std::string::npos, s.ToString().find(word))
        << s.ToString() << " lacks " << word;
  }
}

class ProteusOptionsTest : public testing::TestWithParam<Names> {
 protected:
  ProteusOptionsTest() {
    options_.create_if_missing = true;
    EXPECT_OK(DestroyDB(path_, options_));
  }
  ~ProteusOptionsTest() override { EXPECT_OK(DestroyDB(path_, options_)); }

  std::string Id() const { return GetParam().id; }
  std::string ShortName() const { return GetParam().short_name; }
  std::string Object(const std::string& options) const {
    return "{id=" + Id() + ";" + options + "}";
  }

  Status Parse(const std::string& policy, ColumnFamilyOptions* options) {
    return GetColumnFamilyOptionsFromString(
        ConfigOptions(), ColumnFamilyOptions(), TableWith(policy), options);
  }
  Status Open() {
    std::unique_ptr<DB> db;
    Status s = OpenDB(&db, options_, path_);
    if (s.ok()) s = db->Put(WriteOptions(), "k", "v");
    if (s.ok()) s = db->Flush(FlushOptions());
    return s;
  }

  // The contents of an OPTIONS file.
  struct Loaded {
    DBOptions db_options;
    std::vector<ColumnFamilyDescriptor> families;
  };
  // Opens a new DB with the policy, and loads its OPTIONS file.
  void OpenAndLoad(const std::string& policy, Loaded* loaded) {
    ASSERT_OK(DestroyDB(path_, options_));
    ASSERT_OK(GetColumnFamilyOptionsFromString(
        ConfigOptions(), ColumnFamilyOptions(), TableWith(policy), &options_));
    options_.create_if_missing = true;
    ASSERT_OK(Open());
    ConfigOptions config;
    config.ignore_unknown_options = false;
    config.ignore_unsupported_options = false;
    ASSERT_OK(LoadLatestOptions(config, path_, &loaded->db_options,
                                &loaded->families));
    ASSERT_EQ(1u, loaded->families.size());
  }

  // Such options are refused when they are parsed and, if RocksDB ignores what
  // it cannot parse, when the DB is opened.
  void ExpectPolicyRefused(const std::string& policy,
                           const std::vector<std::string>& words) {
    SCOPED_TRACE(policy);
    for (bool ignore : {false, true}) {
      ConfigOptions config;
      config.ignore_unsupported_options = true;
      config.ignore_unknown_options = ignore;
      options_.table_factory.reset(NewBlockBasedTableFactory());
      Status s = GetColumnFamilyOptionsFromString(config, ColumnFamilyOptions(),
                                                  TableWith(policy), &options_);
      options_.create_if_missing = true;
      if (ignore && s.ok()) s = Open();
      ExpectRefused(s, words);
    }
  }

  // Such options are refused when the DB is opened, by either table.
  void ExpectOptionsRefused(const ProteusPolicyOptions& policy_options,
                            const std::vector<std::string>& words) {
    BlockBasedTableOptions table;
    for (DesignSpace space :
         {DesignSpace::kOnePrefixFilter, DesignSpace::kTwoPrefixFilters,
          DesignSpace::kProteus}) {
      if (ProteusFilterPolicy::ClassName(space) != Id()) continue;
      table.filter_policy =
          std::make_shared<ProteusFilterPolicy>(space, policy_options);
    }
    ASSERT_NE(nullptr, table.filter_policy);
    options_.table_factory = NewProteanTableFactory(table);
    ExpectRefused(Open(), words);
    options_.table_factory.reset(NewBlockBasedTableFactory(table));
    ExpectRefused(Open(), words);
  }

  const std::string path_ = test::PerThreadDBPath("proteus_options");
  const std::string file_ = path_ + "_queries";
  Options options_;
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(
    Policies, ProteusOptionsTest,
    testing::Values(Names{"proteus", "protean.Proteus"},
                    Names{"prefixbloom", "protean.PrefixBloom"},
                    Names{"prefixbloom2", "protean.TwoPrefixBloom"}),
    [](const auto& test) { return std::string(test.param.short_name); });

TEST_P(ProteusOptionsTest, ShortForm) {
  ColumnFamilyOptions options;
  ASSERT_OK(Parse(ShortName() + ":14", &options));
  EXPECT_EQ(Id(), PolicyOf(options)->Name());
  EXPECT_EQ(14, std::stod(Option(PolicyOf(options), "bits_per_key")));
  EXPECT_EQ("kAuto", Option(PolicyOf(options), "prefix_filter_type"));
  EXPECT_EQ("kAuto", Option(PolicyOf(options), "level_bits"));
  EXPECT_EQ("false", Option(PolicyOf(options), "point_lookups_use_whole_keys"));
  EXPECT_EQ("20000", Option(PolicyOf(options), "sample_capacity"));
  EXPECT_EQ("100", Option(PolicyOf(options), "sample_every"));
  for (const std::string type : {"Bloom", "Ribbon", "Auto"}) {
    for (const std::string& spelled :
         {"k" + type, type,
          static_cast<char>(tolower(type[0])) + type.substr(1)}) {
      ASSERT_OK(Parse(ShortName() + ":10.5:" + spelled, &options));
      EXPECT_EQ(10.5, std::stod(Option(PolicyOf(options), "bits_per_key")));
      EXPECT_EQ("k" + type, Option(PolicyOf(options), "prefix_filter_type"));
    }
  }
  ASSERT_OK(Parse(ShortName(), &options));
  EXPECT_EQ(12, std::stod(Option(PolicyOf(options), "bits_per_key")));
  ASSERT_OK(Parse(ShortName() + ":2", &options));
  ASSERT_OK(Parse(ShortName() + ":64", &options));
}

TEST_P(ProteusOptionsTest, ObjectForm) {
  ColumnFamilyOptions options;
  ASSERT_OK(Parse(
      Object("bits_per_key=9.75;prefix_filter_type=kRibbon;sample_capacity=17;"
             "sample_every=3;level_bits=kEqual"),
      &options));
  const FilterPolicy* policy = PolicyOf(options);
  EXPECT_EQ(Id(), policy->Name());
  EXPECT_EQ(9.75, std::stod(Option(policy, "bits_per_key")));
  EXPECT_EQ("kRibbon", Option(policy, "prefix_filter_type"));
  EXPECT_EQ("kEqual", Option(policy, "level_bits"));
  const auto samples = AsProteanFilterPolicy(policy)->Samples();
  EXPECT_EQ(17u, samples->options().capacity);
  EXPECT_EQ(3u, samples->options().sample_every);
}

TEST_P(ProteusOptionsTest, FilterBudget) {
  ColumnFamilyOptions options;
  ASSERT_OK(Parse(ShortName() + ":12", &options));
  EXPECT_EQ("0", Option(PolicyOf(options), "filter_budget_bytes"));
  struct Size {
    const char* text;
    const char* bytes;
  };
  for (const Size& size : {Size{"0", "0"},
                           {"1024", "1024"},
                           {"1K", "1024"},
                           {"3k", "3072"},
                           {"512M", "536870912"},
                           {"2G", "2147483648"},
                           {"1T", "1099511627776"},
                           {"1048576T", "1152921504606846976"}}) {
    SCOPED_TRACE(size.text);
    ASSERT_OK(Parse(
        Object("bits_per_key=9;filter_budget_bytes=" + std::string(size.text)),
        &options));
    EXPECT_EQ(size.bytes, Option(PolicyOf(options), "filter_budget_bytes"));
    EXPECT_EQ(9, std::stod(Option(PolicyOf(options), "bits_per_key")));
  }
  // A budget is not one letter away from bits per key.
  ExpectPolicyRefused(ShortName() + ":12M",
                      {Id(), "bits_per_key=12M", "filter_budget_bytes=2G"});
  for (const char* size : {"1", "1023", "-1", "-2G", "2X", "2GG", "G", "1.5G",
                           "1152921504606846977", "1048577T", "2GB", "5000B",
                           "99999999999999999999", "2 G", "0x400", "many"}) {
    ExpectPolicyRefused(
        Object("filter_budget_bytes=" + std::string(size)),
        {Id(), "filter_budget_bytes", size, "0, or whole numbers from 1024"});
  }
  ProteusPolicyOptions in_code;
  in_code.filter_budget_bytes = 1000;
  ExpectOptionsRefused(in_code,
                       {Id(), "filter_budget_bytes=1000", "from 1024"});
}

// SetOptions changes the budget of an open DB, which keeps it in its OPTIONS
// file.
TEST_P(ProteusOptionsTest, FilterBudgetOfAnOpenDB) {
  ASSERT_OK(GetColumnFamilyOptionsFromString(
      ConfigOptions(), ColumnFamilyOptions(),
      TableWith(Object("filter_budget_bytes=1M")), &options_));
  options_.create_if_missing = true;
  std::unique_ptr<DB> db;
  ASSERT_OK(OpenDB(&db, options_, path_));
  ASSERT_OK(db->SetOptions(
      {{"table_factory.filter_policy", Object("filter_budget_bytes=3M")}}));
  EXPECT_NOK(db->SetOptions(
      {{"table_factory.filter_policy", Object("filter_budget_bytes=3")}}));
  EXPECT_EQ("3145728",
            Option(PolicyOf(db->GetOptions()), "filter_budget_bytes"));
  db.reset();
  DBOptions db_options;
  std::vector<ColumnFamilyDescriptor> families;
  ASSERT_OK(LoadLatestOptions(ConfigOptions(), path_, &db_options, &families));
  EXPECT_EQ("3145728",
            Option(PolicyOf(families[0].options), "filter_budget_bytes"));
}

TEST_P(ProteusOptionsTest, OptionsFileRoundTrip) {
  ASSERT_OK(WriteStringToFile(Env::Default(), "some key\na\tb\n", file_));
  struct Case {
    std::string policy;
    double bits;
    std::string type;
    std::string every;
    std::string level_bits;
    std::string filter_budget_bytes = "0";
  };
  for (const Case& c : {
           Case{ShortName() + ":11", 11, "kAuto", "100", "kAuto"},
           {ShortName() + ":10.123:bloom", 10.123, "kBloom", "100", "kAuto"},
           {Object(
                "bits_per_key=7.5;prefix_filter_type=kRibbon;level_bits=kEqual;"
                "sample_every=5;seed_file=" +
                file_ + ";samples_file=" + file_ + ".saved"),
            7.5, "kRibbon", "5", "kEqual"},
           {Object("bits_per_key=10;filter_budget_bytes=2G"), 10, "kAuto",
            "100", "kAuto", "2147483648"},
       }) {
    SCOPED_TRACE(c.policy);
    Loaded file;
    ASSERT_NO_FATAL_FAILURE(OpenAndLoad(c.policy, &file));
    const ColumnFamilyOptions& loaded = file.families[0].options;
    EXPECT_STREQ("ProteanTable", loaded.table_factory->Name());
    const FilterPolicy* policy = PolicyOf(loaded);
    ASSERT_NE(nullptr, policy);
    EXPECT_EQ(Id(), policy->Name());
    EXPECT_NEAR(c.bits, std::stod(Option(policy, "bits_per_key")), 1e-5);
    EXPECT_EQ(c.type, Option(policy, "prefix_filter_type"));
    EXPECT_EQ(c.every, Option(policy, "sample_every"));
    EXPECT_EQ(c.level_bits, Option(policy, "level_bits"));
    EXPECT_EQ(c.filter_budget_bytes, Option(policy, "filter_budget_bytes"));
    EXPECT_EQ(Option(PolicyOf(options_), "seed_file"),
              Option(policy, "seed_file"));
    EXPECT_EQ(Option(PolicyOf(options_), "samples_file"),
              Option(policy, "samples_file"));

    std::vector<ColumnFamilyHandle*> handles;
    std::unique_ptr<DB> db;
    ASSERT_OK(OpenDB(&db, file.db_options, path_, file.families, &handles));
    std::string value;
    EXPECT_OK(db->Get(ReadOptions(), "k", &value));
    for (ColumnFamilyHandle* handle : handles) {
      EXPECT_OK(db->DestroyColumnFamilyHandle(handle));
    }
  }
}

// 2PBF has no place for a set of whole keys.
TEST_P(ProteusOptionsTest, PointLookupsUseWholeKeys) {
  const std::string option = "point_lookups_use_whole_keys";
  ProteusPolicyOptions in_code;
  in_code.point_lookups_use_whole_keys = true;
  if (Id() == "protean.TwoPrefixBloom") {
    const std::vector<std::string> words = {Id(), option + "=true",
                                            "allowed: false"};
    ASSERT_OK(GetColumnFamilyOptionsFromString(
        ConfigOptions(), ColumnFamilyOptions(),
        TableWith(Object(option + "=true")), &options_));
    ExpectRefused(Open(), words);
    ExpectOptionsRefused(in_code, words);
    return;
  }
  for (const std::string value : {"false", "true"}) {
    Loaded file;
    ASSERT_NO_FATAL_FAILURE(
        OpenAndLoad(Object("bits_per_key=14;" + option + "=" + value), &file));
    EXPECT_EQ(value, Option(PolicyOf(options_), option));
    EXPECT_EQ(value, Option(PolicyOf(file.families[0].options), option));
    options_.prefix_extractor.reset(NewFixedPrefixTransform(3));
    if (value == "true") {
      const std::vector<std::string> words = {Id(), option + "=true",
                                              "prefix extractor"};
      ExpectRefused(Open(), words);
      ExpectOptionsRefused(in_code, words);
    } else {
      EXPECT_OK(Open());
    }
    options_.prefix_extractor.reset();
  }
}

TEST_P(ProteusOptionsTest, FalsePositiveCost) {
  const std::string option = "false_positive_cost_micros";
  ColumnFamilyOptions options;
  ASSERT_OK(Parse(ShortName() + ":12", &options));
  EXPECT_EQ("0", Option(PolicyOf(options), option));
  for (const uint64_t measured : {kUsualPrice, kCachedPrice}) {
    EXPECT_EQ(measured,
              AsProteanFilterPolicy(PolicyOf(options))->PriceFor(measured));
  }
  for (const uint64_t micros : {1, 2, 100, 100'000}) {
    Loaded file;
    ASSERT_NO_FATAL_FAILURE(
        OpenAndLoad(Object(option + "=" + std::to_string(micros)), &file));
    const FilterPolicy* policy = PolicyOf(file.families[0].options);
    EXPECT_EQ(std::to_string(micros), Option(policy, option));
    EXPECT_EQ(1000 * micros,
              AsProteanFilterPolicy(policy)->PriceFor(kUsualPrice));
  }
  for (const std::string cost : {"2us", "-1", "100001", "1M", "cheap"}) {
    ExpectPolicyRefused(
        Object(option + "=" + cost),
        {Id(), option + "=" + cost, "allowed: whole numbers from 0 to 100000"});
  }
  ProteusPolicyOptions in_code;
  in_code.false_positive_cost_micros = 100'001;
  ExpectOptionsRefused(in_code, {Id(), option + "=100001", "0 to 100000"});
}

// Options that are misspelled are answered with the nearest one.
TEST_P(ProteusOptionsTest, MisspelledOptions) {
  ColumnFamilyOptions options;
  const Status s = Parse(Object("bit_per_key=12"), &options);
  ExpectRefused(s, {Id(), "bit_per_key", "did you mean bits_per_key?"});
  ExpectRefused(Parse(Object("amq=bloom"), &options),
                {Id(), "amq", "allowed: bits_per_key, "});
}

TEST_P(ProteusOptionsTest, BadPoliciesAreRefused) {
  for (const char* bits :
       {"1", "1.99", "64.5", "65", "0", "-3", "x", "12x", "nan", "inf", "1e1",
        "0x10", "99999999999999999999", "1.2.3", "."}) {
    ExpectPolicyRefused(ShortName() + ":" + bits,
                        {Id(), "bits_per_key", bits, "2 to 64"});
    ExpectPolicyRefused(Object("bits_per_key=" + std::string(bits)),
                        {Id(), "bits_per_key", "2 to 64"});
  }
  const std::string form = ShortName() + "[:BITS_PER_KEY";
  for (const std::string& spec :
       {ShortName() + ":", ShortName() + ":12:bloom:3", ShortName() + ":12:"}) {
    ExpectPolicyRefused(spec, {spec});
  }
  ExpectPolicyRefused(ShortName() + "::", {ShortName()});
  ExpectPolicyRefused(ShortName() + ":12:", {form});
  const std::string types = "kAuto, kBloom, kRibbon";
  for (const char* type : {"cuckoo", "kkBloom", "none", "bloom,ribbon"}) {
    ExpectPolicyRefused(ShortName() + ":12:" + type,
                        {Id(), "prefix_filter_type", type, types});
    ExpectPolicyRefused(Object("prefix_filter_type=" + std::string(type)),
                        {Id(), "prefix_filter_type", type, types});
  }
  for (const char* level_bits : {"k", "monkey", "on", "equal,auto"}) {
    ExpectPolicyRefused(Object("level_bits=" + std::string(level_bits)),
                        {Id(), "level_bits", level_bits, "kAuto, kEqual"});
  }
  for (const char* number : {"0", "-1", "4294967296", "many", "1.5"}) {
    for (const std::string option : {"sample_capacity", "sample_every"}) {
      ExpectPolicyRefused(Object(option + "=" + number),
                          {Id(), option, number, "1 to 4294967295"});
    }
  }
  ExpectPolicyRefused(Object("no_such_option=1"), {"no_such_option"});
}

TEST_P(ProteusOptionsTest, BadOptionsInCodeAreRefusedAtOpen) {
  ProteusPolicyOptions options;
  for (double bits : {1.5, 65.0, 0.0, -1.0, 1e300,
                      std::numeric_limits<double>::quiet_NaN()}) {
    options.bits_per_key = bits;
    ExpectOptionsRefused(options, {Id(), "bits_per_key", "2 to 64"});
  }
  options = {};
  options.prefix_filter_type = 3;
  ExpectOptionsRefused(
      options, {Id(), "prefix_filter_type=3", "kAuto, kBloom, kRibbon"});
  options = {};
  options.level_bits = 2;
  ExpectOptionsRefused(options, {Id(), "level_bits=2", "kAuto, kEqual"});
  options = {};
  options.sample_capacity = 0;
  ExpectOptionsRefused(options, {Id(), "sample_capacity", "0", "1 to "});
  options = {};
  options.sample_every = 0;
  ExpectOptionsRefused(options, {Id(), "sample_every", "0", "1 to "});
  options = {};
  options.samples_file = "relative";
  ExpectOptionsRefused(options, {"samples_file=relative", "absolute path"});
  options.samples_file = path_ + "_no_folder/file";
  ExpectOptionsRefused(options, {"samples_file=", "does not exist"});
  options = {};
  options.samples_file = "a\\b";
  ExpectOptionsRefused(options, {Id(), "samples_file=a\\b", "backslash"});
  options = {};
  options.seed_file = "a\\b";
  ExpectOptionsRefused(options, {Id(), "seed_file=a\\b", "backslash"});
}

TEST_P(ProteusOptionsTest, DevicesAndBadSeedsAreRefusedAtOpen) {
  ProteusPolicyOptions options;
  options.seed_file = "/dev/zero";
  ExpectOptionsRefused(options, {"seed_file=/dev/zero", "allowed: "});
  std::swap(options.seed_file, options.samples_file);
  ExpectOptionsRefused(options, {"samples_file=/dev/zero", "allowed: "});
  options = {};
  options.seeds = "0x61,0x1";
  ExpectOptionsRefused(options, {"seeds, query 2 ", "allowed: "});
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
      ColumnFamilyOptions parsed;
      ASSERT_OK(Parse(Object(option + file_), &parsed));
      options_.table_factory = parsed.table_factory;
      ASSERT_OK(Open());
    }
  }
}

// An SstFileWriter does not validate options: it must do without a filter.
TEST_P(ProteusOptionsTest, BadOptionsInSstFileWriter) {
  for (int bad = 0; bad < 5; bad++) {
    ProteusPolicyOptions options;
    if (bad == 0) options.prefix_filter_type = 3;
    if (bad == 1) options.bits_per_key = 1e300;
    if (bad == 2) {
      options.bits_per_key = std::numeric_limits<double>::quiet_NaN();
    }
    if (bad == 3) options.seed_file = path_ + "_missing";
    if (bad == 4) options.level_bits = 2;
    SCOPED_TRACE(bad);
    BlockBasedTableOptions table;
    table.filter_policy =
        std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus, options);
    Options writer_options;
    writer_options.table_factory = NewProteanTableFactory(table);
    SstFileWriter writer(EnvOptions(), writer_options);
    const std::string name = path_ + ".sst";
    ASSERT_OK(writer.Open(name));
    ASSERT_OK(writer.Put("a", "value"));
    ASSERT_OK(writer.Put("b", "value"));
    ASSERT_OK(writer.Finish());
    ASSERT_OK(Env::Default()->DeleteFile(name));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
