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
  EXPECT_EQ("auto", Option(PolicyOf(options), "amq"));
  EXPECT_EQ("auto", Option(PolicyOf(options), "level_bits"));
  EXPECT_EQ("auto", Option(PolicyOf(options), "points"));
  EXPECT_EQ("20000", Option(PolicyOf(options), "sample_capacity"));
  EXPECT_EQ("100", Option(PolicyOf(options), "sample_every"));
  for (const char* amq : {"bloom", "ribbon", "auto"}) {
    ASSERT_OK(Parse(ShortName() + ":10.5:" + amq, &options));
    EXPECT_EQ(10.5, std::stod(Option(PolicyOf(options), "bits_per_key")));
    EXPECT_EQ(amq, Option(PolicyOf(options), "amq"));
  }
  ASSERT_OK(Parse(ShortName() + ":2", &options));
  ASSERT_OK(Parse(ShortName() + ":64", &options));
}

TEST_P(ProteusOptionsTest, ObjectForm) {
  ColumnFamilyOptions options;
  ASSERT_OK(Parse(Object("bits_per_key=9.75;amq=ribbon;sample_capacity=17;"
                         "sample_every=3;level_bits=equal"),
                  &options));
  const FilterPolicy* policy = PolicyOf(options);
  EXPECT_EQ(Id(), policy->Name());
  EXPECT_EQ(9.75, std::stod(Option(policy, "bits_per_key")));
  EXPECT_EQ("ribbon", Option(policy, "amq"));
  EXPECT_EQ("equal", Option(policy, "level_bits"));
  const auto samples = AsProteanFilterPolicy(policy)->Samples();
  EXPECT_EQ(17u, samples->options().capacity);
  EXPECT_EQ(3u, samples->options().sample_every);
}

TEST_P(ProteusOptionsTest, FilterMemory) {
  ColumnFamilyOptions options;
  ASSERT_OK(Parse(ShortName() + ":12", &options));
  EXPECT_EQ("0", Option(PolicyOf(options), "filter_memory"));
  struct Size {
    const char* text;
    const char* bytes;
  };
  for (const Size& size : {Size{"0", "0"},
                           {"1024", "1024"},
                           {"1K", "1024"},
                           {"3kb", "3072"},
                           {"512M", "536870912"},
                           {"2G", "2147483648"},
                           {"2GB", "2147483648"},
                           {"2GiB", "2147483648"},
                           {"5000B", "5000"},
                           {"1T", "1099511627776"},
                           {"1048576T", "1152921504606846976"}}) {
    SCOPED_TRACE(size.text);
    ASSERT_OK(
        Parse(Object("bits_per_key=9;filter_memory=" + std::string(size.text)),
              &options));
    EXPECT_EQ(size.bytes, Option(PolicyOf(options), "filter_memory"));
    EXPECT_EQ(9, std::stod(Option(PolicyOf(options), "bits_per_key")));
  }
  ASSERT_OK(Parse(ShortName() + ":2G:bloom", &options));
  EXPECT_EQ("2147483648", Option(PolicyOf(options), "filter_memory"));
  EXPECT_EQ("bloom", Option(PolicyOf(options), "amq"));
  for (const char* size : {"1", "1023", "-1", "-2G", "2X", "2GG", "G", "1.5G",
                           "1152921504606846977", "1048577T",
                           "99999999999999999999", "2 G", "0x400", "many"}) {
    ExpectPolicyRefused(Object("filter_memory=" + std::string(size)),
                        {Id(), "filter_memory", size, "0, or a size from 1K"});
  }
  ProteusPolicyOptions in_code;
  in_code.filter_memory = 1000;
  ExpectOptionsRefused(in_code, {Id(), "filter_memory=1000", "from 1K"});
}

// SetOptions changes the budget of an open DB, which keeps it in its OPTIONS
// file.
TEST_P(ProteusOptionsTest, FilterMemoryOfAnOpenDB) {
  ASSERT_OK(GetColumnFamilyOptionsFromString(
      ConfigOptions(), ColumnFamilyOptions(),
      TableWith(Object("filter_memory=1M")), &options_));
  options_.create_if_missing = true;
  std::unique_ptr<DB> db;
  ASSERT_OK(OpenDB(&db, options_, path_));
  ASSERT_OK(db->SetOptions(
      {{"table_factory.filter_policy", Object("filter_memory=3M")}}));
  EXPECT_NOK(db->SetOptions(
      {{"table_factory.filter_policy", Object("filter_memory=3")}}));
  EXPECT_EQ("3145728", Option(PolicyOf(db->GetOptions()), "filter_memory"));
  db.reset();
  DBOptions db_options;
  std::vector<ColumnFamilyDescriptor> families;
  ASSERT_OK(LoadLatestOptions(ConfigOptions(), path_, &db_options, &families));
  EXPECT_EQ("3145728", Option(PolicyOf(families[0].options), "filter_memory"));
}

TEST_P(ProteusOptionsTest, OptionsFileRoundTrip) {
  ASSERT_OK(WriteStringToFile(Env::Default(), "some key\na\tb\n", file_));
  struct Case {
    std::string policy;
    double bits;
    std::string amq;
    std::string every;
    std::string level_bits;
    std::string filter_memory = "0";
  };
  for (const Case& c : {
           Case{ShortName() + ":11", 11, "auto", "100", "auto"},
           {ShortName() + ":10.123:bloom", 10.123, "bloom", "100", "auto"},
           {Object("bits_per_key=7.5;amq=ribbon;level_bits=equal;"
                   "sample_every=5;seed_file=" +
                   file_ + ";samples_file=" + file_ + ".saved"),
            7.5, "ribbon", "5", "equal"},
           {Object("bits_per_key=10;filter_memory=2G"), 10, "auto", "100",
            "auto", "2147483648"},
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
    EXPECT_EQ(c.amq, Option(policy, "amq"));
    EXPECT_EQ(c.every, Option(policy, "sample_every"));
    EXPECT_EQ(c.level_bits, Option(policy, "level_bits"));
    EXPECT_EQ(c.filter_memory, Option(policy, "filter_memory"));
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

// 2PBF has no place for the set of whole keys that points=keys asks.
TEST_P(ProteusOptionsTest, Points) {
  const bool has_keys = Id() != "protean.TwoPrefixBloom";
  const std::string allowed = has_keys ? "auto, keys" : "auto";
  for (const std::string points : {"auto", "keys"}) {
    ProteusPolicyOptions in_code;
    in_code.points = points;
    if (points == "keys" && !has_keys) {
      ExpectPolicyRefused(Object("points=keys"),
                          {Id(), "points=keys", "allowed: auto"});
      ExpectOptionsRefused(in_code, {Id(), "points=keys", "allowed: auto"});
      continue;
    }
    Loaded file;
    ASSERT_NO_FATAL_FAILURE(
        OpenAndLoad(Object("bits_per_key=14;points=" + points), &file));
    EXPECT_EQ(points, Option(PolicyOf(options_), "points"));
    EXPECT_EQ(points, Option(PolicyOf(file.families[0].options), "points"));

    options_.prefix_extractor.reset(NewFixedPrefixTransform(3));
    if (points == "keys") {
      ExpectRefused(Open(), {Id(), "points=keys", "prefix extractor"});
      ExpectOptionsRefused(in_code, {Id(), "points=keys", "prefix extractor"});
    } else {
      EXPECT_OK(Open());
    }
    options_.prefix_extractor.reset();
  }
  for (const char* points : {"Keys", "all", "none", "auto,keys"}) {
    ExpectPolicyRefused(Object("points=" + std::string(points)),
                        {Id(), "points", points, "allowed: " + allowed});
    ProteusPolicyOptions in_code;
    in_code.points = points;
    ExpectOptionsRefused(in_code, {Id(), "points", points, allowed});
  }
}

TEST_P(ProteusOptionsTest, FalsePositivePrice) {
  ColumnFamilyOptions options;
  ASSERT_OK(Parse(ShortName() + ":12", &options));
  EXPECT_EQ("auto", Option(PolicyOf(options), "false_positive_price"));
  EXPECT_EQ(kUsualPrice,
            AsProteanFilterPolicy(PolicyOf(options))->PriceFor(kUsualPrice));
  EXPECT_EQ(kCachedPrice,
            AsProteanFilterPolicy(PolicyOf(options))->PriceFor(kCachedPrice));
  for (const std::string price : {"2us", "0.1ms", "100ms"}) {
    Loaded file;
    ASSERT_NO_FATAL_FAILURE(
        OpenAndLoad(Object("false_positive_price=" + price), &file));
    const FilterPolicy* policy = PolicyOf(file.families[0].options);
    EXPECT_EQ(price, Option(policy, "false_positive_price"));
    uint64_t parsed = 0;
    ASSERT_TRUE(ParsePrice(price, &parsed));
    EXPECT_EQ(parsed, AsProteanFilterPolicy(policy)->PriceFor(kUsualPrice));
  }
  for (const std::string price : {"2", "0us", "1s", "-1us", "101ms", "cheap"}) {
    const std::vector<std::string> words = {
        Id(), "false_positive_price=" + price,
        "allowed: auto, or a time from 1us to 100ms"};
    ExpectPolicyRefused(Object("false_positive_price=" + price), words);
    ProteusPolicyOptions in_code;
    in_code.false_positive_price = price;
    ExpectOptionsRefused(in_code, words);
  }
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
  const std::string form = ShortName() + ":BITS_PER_KEY";
  for (const std::string& spec :
       {ShortName(), ShortName() + ":", ShortName() + ":12:bloom:3",
        ShortName() + ":12:"}) {
    ExpectPolicyRefused(spec, {spec});
  }
  ExpectPolicyRefused(ShortName() + "::", {ShortName()});
  ExpectPolicyRefused(ShortName() + ":12:", {form});
  for (const char* amq : {"cuckoo", "Bloom", "none", "bloom,ribbon"}) {
    ExpectPolicyRefused(ShortName() + ":12:" + amq,
                        {Id(), "amq", amq, "bloom, ribbon, auto"});
    ExpectPolicyRefused(Object("amq=" + std::string(amq)),
                        {Id(), "amq", amq, "bloom, ribbon, auto"});
  }
  for (const char* level_bits : {"Auto", "monkey", "on", "equal,auto"}) {
    ExpectPolicyRefused(Object("level_bits=" + std::string(level_bits)),
                        {Id(), "level_bits", level_bits, "auto, equal"});
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
  options.amq = "cuckoo";
  ExpectOptionsRefused(options, {Id(), "amq", "cuckoo", "bloom, ribbon, auto"});
  options = {};
  options.level_bits = "monkey";
  ExpectOptionsRefused(options, {Id(), "level_bits", "monkey", "auto, equal"});
  options = {};
  options.sample_capacity = 0;
  ExpectOptionsRefused(options, {Id(), "sample_capacity", "0", "1 to "});
  options = {};
  options.sample_every = 0;
  ExpectOptionsRefused(options, {Id(), "sample_every", "0", "1 to "});
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
    if (bad == 0) options.amq = "cuckoo";
    if (bad == 1) options.bits_per_key = 1e300;
    if (bad == 2) {
      options.bits_per_key = std::numeric_limits<double>::quiet_NaN();
    }
    if (bad == 3) options.seed_file = path_ + "_missing";
    if (bad == 4) options.level_bits = "monkey";
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
