// SPDX-License-Identifier: Apache-2.0

//  How Proteus, 1PBF and 2PBF are selected, and what is refused.

#include "filter_policy/proteus/proteus_policy.h"
#include "rocksdb/slice_transform.h"
#include "table/protean_table_factory.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct Names {
  const char* short_name;
  const char* id;
};

void PrintTo(const Names& names, std::ostream* out) { *out << names.id; }

class ProteusOptionsTest : public OwnDBTest,
                           public testing::WithParamInterface<Names> {
 protected:
  ProteusOptionsTest() : OwnDBTest(Options()) {}

  std::string Id() const { return GetParam().id; }
  std::string ShortName() const { return GetParam().short_name; }
  std::string Object(const std::string& options) const {
    return "{id=" + Id() + ";" + options + "}";
  }

  static Status Parse(const std::string& policy, ColumnFamilyOptions* options) {
    *options = ColumnFamilyOptions();
    return AddOptions(ProteanTableText(policy), options);
  }
  // The option of a policy with that text.
  static std::string OptionIn(const std::string& policy,
                              const std::string& name) {
    ColumnFamilyOptions options;
    EXPECT_OK(Parse(policy, &options));
    return OptionOf(PolicyOf(options), name);
  }
  static double BitsIn(const std::string& policy) {
    return std::stod(OptionIn(policy, "bits_per_key"));
  }
  // Opens the DB and writes a file.
  Status Use() {
    Status s = TryOpen();
    if (s.ok()) s = db_->Put(WriteOptions(), "k", "v");
    if (s.ok()) s = db_->Flush(FlushOptions());
    Close();
    return s;
  }
  // Opens a new DB with the policy, and returns what its OPTIONS file says.
  Options UsedAndLoaded(const std::string& policy) {
    Destroy();
    SetPolicy(policy);
    EXPECT_OK(Use());
    return OptionsOnDisk();
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
      Status s = GetColumnFamilyOptionsFromString(
          config, ColumnFamilyOptions(), ProteanTableText(policy), &options_);
      options_.create_if_missing = true;
      if (ignore && s.ok()) s = Use();
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
    ExpectRefused(Use(), words);
    options_.table_factory.reset(NewBlockBasedTableFactory(table));
    ExpectRefused(Use(), words);
  }

  const std::string file_ = path_ + "_queries";
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
  const FilterPolicy* policy = PolicyOf(options);
  EXPECT_EQ(Id(), policy->Name());
  EXPECT_EQ(14, std::stod(OptionOf(policy, "bits_per_key")));
  for (const auto& [name, value] : {std::pair("prefix_filter_type", "kAuto"),
                                    {"level_bits", "kAuto"},
                                    {"point_lookups_use_whole_keys", "false"},
                                    {"sample_capacity", "20000"},
                                    {"sample_every", "100"}}) {
    EXPECT_EQ(value, OptionOf(policy, name)) << name;
  }
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

TEST_P(ProteusOptionsTest, ObjectForm) {
  ColumnFamilyOptions options;
  ASSERT_OK(Parse(
      Object("bits_per_key=9.75;prefix_filter_type=kRibbon;sample_capacity=17;"
             "sample_every=3;level_bits=kEqual"),
      &options));
  const FilterPolicy* policy = PolicyOf(options);
  EXPECT_EQ(Id(), policy->Name());
  EXPECT_EQ(9.75, std::stod(OptionOf(policy, "bits_per_key")));
  EXPECT_EQ("kRibbon", OptionOf(policy, "prefix_filter_type"));
  EXPECT_EQ("kEqual", OptionOf(policy, "level_bits"));
  const auto samples = ProteanPolicyOf(options)->Samples();
  EXPECT_EQ(17u, samples->options().capacity);
  EXPECT_EQ(3u, samples->options().sample_every);
}

TEST_P(ProteusOptionsTest, FilterBudget) {
  const std::string option = "filter_budget_bytes";
  EXPECT_EQ("0", OptionIn(ShortName() + ":12", option));
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
    const std::string text =
        Object("bits_per_key=9;filter_budget_bytes=" + std::string(size.text));
    EXPECT_EQ(size.bytes, OptionIn(text, option));
    EXPECT_EQ(9, BitsIn(text));
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
  SetPolicy(Object("filter_budget_bytes=1M"));
  Open();
  ASSERT_OK(db_->SetOptions(
      {{"table_factory.filter_policy", Object("filter_budget_bytes=3M")}}));
  EXPECT_NOK(db_->SetOptions(
      {{"table_factory.filter_policy", Object("filter_budget_bytes=3")}}));
  for (const Options& options : {db_->GetOptions(), OptionsOnDisk()}) {
    EXPECT_EQ("3145728", OptionOf(PolicyOf(options), "filter_budget_bytes"));
  }
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
    const Options written = UsedAndLoaded(c.policy);
    EXPECT_STREQ("ProteanTable", written.table_factory->Name());
    const FilterPolicy* policy = PolicyOf(written);
    ASSERT_NE(nullptr, policy);
    EXPECT_EQ(Id(), policy->Name());
    EXPECT_NEAR(c.bits, std::stod(OptionOf(policy, "bits_per_key")), 1e-5);
    EXPECT_EQ(c.type, OptionOf(policy, "prefix_filter_type"));
    EXPECT_EQ(c.every, OptionOf(policy, "sample_every"));
    EXPECT_EQ(c.level_bits, OptionOf(policy, "level_bits"));
    EXPECT_EQ(c.filter_budget_bytes, OptionOf(policy, "filter_budget_bytes"));
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
    const std::vector<std::string> words = {Id(), option + "=true",
                                            "allowed: false"};
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
      const std::vector<std::string> words = {Id(), option + "=true",
                                              "prefix extractor"};
      ExpectRefused(Use(), words);
      ExpectOptionsRefused(in_code, words);
    } else {
      EXPECT_OK(Use());
    }
    options_.prefix_extractor.reset();
  }
}

TEST_P(ProteusOptionsTest, FalsePositiveCost) {
  const std::string option = "false_positive_cost_micros";
  ColumnFamilyOptions options;
  ASSERT_OK(Parse(ShortName() + ":12", &options));
  EXPECT_EQ("0", OptionOf(PolicyOf(options), option));
  for (const uint64_t measured : {kUsualPrice, kCachedPrice}) {
    EXPECT_EQ(measured, ProteanPolicyOf(options)->PriceFor(measured));
  }
  for (const uint64_t micros : {1, 2, 100, 10'000'000}) {
    const Options written =
        UsedAndLoaded(Object(option + "=" + std::to_string(micros)));
    EXPECT_EQ(std::to_string(micros), OptionOf(PolicyOf(written), option));
    EXPECT_EQ(1000 * micros, ProteanPolicyOf(written)->PriceFor(kUsualPrice));
  }
  for (const std::string cost : {"2us", "-1", "10000001", "10M", "cheap"}) {
    ExpectPolicyRefused(Object(option + "=" + cost),
                        {Id(), option + "=" + cost,
                         "allowed: whole numbers from 0 to 10000000"});
  }
  ProteusPolicyOptions in_code;
  in_code.false_positive_cost_micros = 10'000'001;
  ExpectOptionsRefused(in_code, {Id(), option + "=10000001", "0 to 10000000"});
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
  struct Bad {
    std::function<void(ProteusPolicyOptions*)> set;
    Keys words;
  };
  using Policy = ProteusPolicyOptions;
  for (const Bad& bad : {
           Bad{[](Policy* p) { p->prefix_filter_type = 3; },
               {"prefix_filter_type=3", "kAuto, kBloom, kRibbon"}},
           {[](Policy* p) { p->level_bits = 2; },
            {"level_bits=2", "kAuto, kEqual"}},
           {[](Policy* p) { p->sample_capacity = 0; },
            {"sample_capacity", "0", "1 to "}},
           {[](Policy* p) { p->sample_every = 0; },
            {"sample_every", "0", "1 to "}},
           {[](Policy* p) { p->samples_file = "a\\b"; },
            {"samples_file=a\\b", "backslash"}},
           {[](Policy* p) { p->seed_file = "a\\b"; },
            {"seed_file=a\\b", "backslash"}},
       }) {
    options = {};
    bad.set(&options);
    Keys words = bad.words;
    words.push_back(Id());
    ExpectOptionsRefused(options, words);
  }
  options = {};
  options.samples_file = "relative";
  ExpectOptionsRefused(options, {"samples_file=relative", "absolute path"});
  options.samples_file = path_ + "_no_folder/file";
  ExpectOptionsRefused(options, {"samples_file=", "does not exist"});
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
      SetPolicy(Object(option + file_));
      ASSERT_OK(Use());
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
    options_.table_factory = NewProteanTableFactory(table);
    const std::string name = path_ + ".sst";
    WriteSstFile(options_, name, {"a", "b"});
    ASSERT_OK(Env::Default()->DeleteFile(name));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
