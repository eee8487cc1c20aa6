// SPDX-License-Identifier: Apache-2.0

//  Policies and options of refreshes, set in code, in texts and in the OPTIONS
//  files of docs/examples; and where fractions have a comma, as in many JVMs.

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "filter_policy/filter_properties.h"
#include "filter_policy/option_types.h"
#include "plugin/checked_registration.h"
#include "plugin/facts.h"
#include "plugin/filter_properties.h"
#include "plugin/refresh_filters.h"
#include "tests/protean_db.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

// A shared library makes the same check when it is loaded.
TEST(SelfCheckTest, FitsTheRocksDBItWasCompiledFor) { EXPECT_OK(SelfCheck()); }

// ---- Policies in code ----

namespace {

using Policy = std::shared_ptr<const FilterPolicy>;

class PoliciesInCodeTest : public OwnDBTest {
 protected:
  Status OpenWith(const Policy& policy) {
    BlockBasedTableOptions table;
    table.filter_policy = policy;
    options_.table_factory = NewProteanTableFactory(table);
    return TryOpen();
  }
};

TEST_F(PoliciesInCodeTest, EachOptionArrives) {
  const std::string seeds = path_ + ".seeds";
  ASSERT_OK(WriteStringToFile(Env::Default(), "", seeds));
  ProteusOptions all;
  all.bits_per_key = 14.5;
  all.filter_budget_bytes = 1 << 20;
  all.prefix_filter_type = ProteusOptions::PrefixFilterType::kRibbon;
  all.level_bits = ProteusOptions::LevelBits::kEqual;
  all.point_lookups_use_whole_keys = true;
  all.false_positive_cost_micros = 20;
  all.sample_capacity = 123;
  all.sample_every = 7;
  all.seed_file = seeds;
  all.samples_file = path_ + ".samples";
  ProteusOptions bloom;
  bloom.prefix_filter_type = ProteusOptions::PrefixFilterType::kBloom;
  SurfOptions bits;
  bits.hash_suffix_bits = 3;
  bits.real_suffix_bits = 5;
  bits.prefix_suffix_bits = 7;
  ProteusOptions beside;
  beside.bits_per_key = 14;
  beside.samples_file = path_ + "#samples";
  const Policy list = NewLevelsFilterPolicy(
      {nullptr, Policy(NewBloomFilterPolicy(10)),
       NewSurfFilterPolicy({0, 0, 8}), NewProteusFilterPolicy(beside)});
  const std::vector<std::pair<Policy, std::string>> cases = {
      {list, list->ToString(ConfigOptions())},
      {NewProteusFilterPolicy(ProteusOptions()), "{id=protean.Proteus}"},
      {NewProteusFilterPolicy(all),
       "{id=protean.Proteus;bits_per_key=14.5;filter_budget_bytes=1048576;"
       "prefix_filter_type=kRibbon;level_bits=kEqual;"
       "point_lookups_use_whole_keys=true;false_positive_cost_micros=20;"
       "sample_capacity=123;sample_every=7;seed_file=" +
           seeds + ";samples_file=" + all.samples_file + "}"},
      {NewProteusFilterPolicy(bloom),
       "{id=protean.Proteus;prefix_filter_type=kBloom}"},
      {NewSurfFilterPolicy(SurfOptions()), "{id=protean.SuRF}"},
      {NewSurfFilterPolicy(bits),
       "{id=protean.SuRF;hash_suffix_bits=3;real_suffix_bits=5;"
       "prefix_suffix_bits=7}"}};
  for (const auto& [in_code, in_words] : cases) {
    SCOPED_TRACE(in_words);
    Policy read;
    ASSERT_OK(FilterPolicy::CreateFromString(ConfigOptions(), in_words, &read));
    ASSERT_OK(OpenWith(in_code));
    EXPECT_EQ(read->ToString(ConfigOptions()),
              PolicyOf(OptionsOnDisk())->ToString(ConfigOptions()));
  }
}

TEST_F(PoliciesInCodeTest, AGroupSharesAPolicyAsLongAsSomeoneHasIt) {
  const auto shared = [](const std::string& group, const std::string& text) {
    Policy policy;
    EXPECT_OK(GetSharedFilterPolicy(group, text, &policy)) << group << text;
    return policy;
  };
  Policy one = shared("days", "proteus:14");
  ASSERT_NE(nullptr, one);
  EXPECT_EQ(one, shared("days", "proteus:14"));
  EXPECT_NE(one, shared("nights", "proteus:14"));
  EXPECT_NE(one, shared("days", "proteus:14.0"));
  EXPECT_EQ(14, std::stod(OptionOf(one.get(), "bits_per_key")));
  EXPECT_EQ(nullptr, shared("days", "nullptr"));
  const std::weak_ptr<const FilterPolicy> past = one;
  one.reset();
  EXPECT_TRUE(past.expired());
  EXPECT_NE(nullptr, shared("days", "proteus:14"));

  Policy untouched = shared("days", "surf:0:8");
  const Policy before = untouched;
  EXPECT_TRUE(
      GetSharedFilterPolicy("", "surf:0:8", &untouched).IsInvalidArgument());
  EXPECT_NOK(GetSharedFilterPolicy("days", "surf:many", &untouched));
  EXPECT_NOK(GetSharedFilterPolicy("days", "no_such_policy", &untouched));
  EXPECT_EQ(before, untouched);
}

// ProteusOptionsTest.BadOptionsInCodeAreRefusedAtOpen has those of Proteus.
TEST_F(PoliciesInCodeTest, BadOptionsAreRefused) {
  ProteusOptions many_bits;
  many_bits.bits_per_key = 65;
  SurfOptions surf;
  surf.prefix_suffix_bits = 17;
  const Policy proteus(NewProteusFilterPolicy({12}));
  for (const auto& [policy, word] : std::vector<std::pair<Policy, const char*>>{
           {NewProteusFilterPolicy(many_bits), "bits_per_key"},
           {NewSurfFilterPolicy(surf), "prefix_suffix_bits"},
           {NewLevelsFilterPolicy({}), "no policy"},
           {NewLevelsFilterPolicy({proteus, NewSurfFilterPolicy(surf)}),
            "prefix_suffix_bits"},
           {NewLevelsFilterPolicy({NewLevelsFilterPolicy({proteus})}),
            "part of a list"}}) {
    ExpectRefused(OpenWith(policy), {word});
  }
}

// ---- A comma in fractions ----

// Makes a locale of the characters of ASCII, and a comma.
bool MakeCommaLocale(const std::string& folder) {
  std::ofstream(folder + "/characters") << "<code_set_name> ANSI_X3.4-1968\n"
                                           "<escape_char> /\n"
                                           "CHARMAP\n"
                                           "<U0000>..<U007F> /x00\n"
                                           "END CHARMAP\n";
  std::ofstream(folder + "/source") << "LC_NUMERIC\n"
                                       "decimal_point \"<U002C>\"\n"
                                       "thousands_sep \"\"\n"
                                       "grouping -1\n"
                                       "END LC_NUMERIC\n";
  // localedef complains about everything that the locale does not define.
  const std::string command = "localedef -c -i '" + folder + "/source' -f '" +
                              folder + "/characters' '" + folder +
                              "/comma' >'" + folder + "/log' 2>&1";
  return system(command.c_str()) != -1 &&
         setenv("LOCPATH", folder.c_str(), /*overwrite=*/1) == 0 &&
         setlocale(LC_NUMERIC, "comma") != nullptr;
}

class LocaleTest : public OwnDBTest {
 protected:
  void SetUp() override {
    const std::string folder = test::PerThreadDBPath("locale");
    EXPECT_OK(Env::Default()->CreateDirIfMissing(folder));
    if (!MakeCommaLocale(folder)) {
      GTEST_SKIP() << "localedef has made no locale";
    }
    ASSERT_EQ("0,500000", std::to_string(0.5));
  }
  void TearDown() override { setlocale(LC_NUMERIC, "C"); }

  // Checks that the policy in the DB's OPTIONS file has the text.
  void ExpectStored(const std::string& text) const {
    std::string policy;
    EXPECT_OK(OptionsOnDisk().table_factory->GetOption(
        ConfigOptions(), "filter_policy", &policy));
    ExpectHas(policy, {text});
  }
};

TEST_F(LocaleTest, DecimalsArePrintedAndParsed) {
  EXPECT_EQ("12.50", DecimalText(12.5, 2));
  EXPECT_EQ("0", DecimalText(0.25, 0));
  EXPECT_EQ("1000000.0", DecimalText(1e6, 1));
  for (const char* text : {"0", "12", "10.5", "10.", ".5", "00.50"}) {
    double number = -1;
    EXPECT_TRUE(ParseDecimal(text, &number)) << text;
    setlocale(LC_NUMERIC, "C");
    EXPECT_EQ(strtod(text, nullptr), number) << text;
    setlocale(LC_NUMERIC, "comma");
  }
  for (const char* text : {"", ".", "1,5", "1.2.3", "-1", "+1", " 1", "1 ",
                           "1e3", "nan", "inf", "0x10"}) {
    double number = -1;
    EXPECT_FALSE(ParseDecimal(text, &number)) << text;
    EXPECT_EQ(-1, number) << text;
  }
  double number = -1;
  EXPECT_FALSE(ParseDecimal(std::string(400, '9'), &number));
  EXPECT_EQ(-1, number);
}

TEST_F(LocaleTest, OptionsAreWrittenAndRead) {
  for (const auto& [policy, stored] :
       Records{{"proteus:10.5", "bits_per_key=10.5"},
               {"prefixbloom:10.5", "bits_per_key=10.5"},
               {"prefixbloom2:10.5", "bits_per_key=10.5"},
               {"{id=protean.Proteus;bits_per_key=10.5}", "bits_per_key=10.5"},
               {"levels:surf:0:4,proteus:10.5", "proteus:10.5"}}) {
    SetPolicy(policy);
    Destroy();
    for (int round = 0; round < 2; round++) {
      Open();
      WriteFile({"key"});
      Close();
      ExpectStored(stored);
    }
  }
}

TEST_F(LocaleTest, TheDefaultOpensAndChanges) {
  SetPolicy("{id=protean.Proteus}");
  Open();
  ASSERT_OK(db_->SetOptions({{"write_buffer_size", "1000000"}}));
  ChangePolicy("proteus:14.5");
  Close();
  ExpectStored("bits_per_key=14.5");
  // Runs in a process with the other locale.
  setlocale(LC_NUMERIC, "C");
  ExpectStored("bits_per_key=14.5");
}

TEST_F(LocaleTest, PropertiesAndStatistics) {
  SetPolicy("{id=protean.Proteus}");
  Open();
  Keys keys;
  for (int i = 0; i < 10000; i++) keys.push_back(std::to_string(i * 7919));
  WriteFile(keys);
  const TablePropertiesCollection files = PropertiesOf(db_.get());
  ASSERT_EQ(1u, files.size());
  const UserCollectedProperties& properties =
      files.begin()->second->user_collected_properties;
  for (const char* name : {kBitsPerKeyProperty, kPredictedFprProperty}) {
    ASSERT_EQ(1u, properties.count(name));
    ExpectHas(properties.at(name), {"."});
    EXPECT_EQ(std::string::npos, properties.at(name).find(','));
  }
  FilterProperties filter;
  ASSERT_TRUE(GetFilterProperties(*files.begin()->second, &filter));
  EXPECT_NE(std::floor(filter.bits_per_key), filter.bits_per_key);
  EXPECT_GT(filter.predicted_fpr, 0);

  const FilterStatistics statistics = FilterStats();
  const auto json = nlohmann::json::parse(statistics.ToJson());
  EXPECT_NEAR(filter.predicted_fpr,
              json.at("total").at("predicted_fpr").get<double>(), 1e-5);
  // There are commas between labels, too.
  size_t fractions = 0;
  for (const std::string& line :
       StringSplit(ToPrometheus({statistics}), '\n')) {
    if (line[0] == '#') continue;
    const std::string value = line.substr(line.rfind(' ') + 1);
    double number;
    EXPECT_TRUE(ParseDecimal(value, &number)) << line;
    fractions += value.find('.') != std::string::npos;
  }
  EXPECT_GT(fractions, 0u);
}

// ---- OPTIONS files ----

const std::string kExamples = PROTEAN_SOURCE_DIR "/docs/examples/";

using Families = std::vector<ColumnFamilyDescriptor>;

class OptionsFileTest : public OwnDBTest {
 protected:
  // Loads an example, in which /data/ is replaced by a path of this test.
  void Load(const std::string& name) {
    const std::string text = std::regex_replace(
        ContentsOf(kExamples + name), std::regex("/data/"), path_ + ".");
    const std::string file = path_ + ".ini";
    ASSERT_OK(WriteStringToFile(Env::Default(), text, file));
    ASSERT_OK(
        LoadOptionsFromFile(StrictConfig(), file, &db_options_, &loaded_));
  }
  // Opens the DB with the column families that were loaded.
  void Open() {
    Close();
    ASSERT_OK(OpenDB(&db_, db_options_, path_, loaded_, &families_));
  }

  // `step` leaves some keys out.
  void Fill(ColumnFamilyHandle* family, int step) {
    for (int i = 0; i < kKeys; i += step) {
      ASSERT_OK(db_->Put(WriteOptions(), family, Digits(37 * i, 8), "value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions(), family));
  }

  // The names of the files' policies.
  Keys PolicyNames(ColumnFamilyHandle* family) {
    Keys names;
    for (const auto& [path, table] : PropertiesOf(db_.get(), family)) {
      EXPECT_GT(table->filter_size, 0u) << path;
      names.push_back(table->filter_policy_name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  static constexpr int kKeys = 5000;

  DBOptions db_options_;
  Families loaded_;
};

}  // namespace

TEST_F(OptionsFileTest, TheExampleBuildsTheFiltersThatItPromises) {
  Load("OPTIONS.example.ini");
  ASSERT_EQ(2u, loaded_.size());
  ASSERT_NE(nullptr, db_options_.statistics);
  const auto* table = TableOf(loaded_[0].options);
  EXPECT_EQ(512u << 20, table->block_cache->GetCapacity());
  ExpectHas(OptionOf(PolicyOf(loaded_[0].options), "samples_file"),
            {".events.samples"});
  for (const ColumnFamilyDescriptor& family : loaded_) {
    EXPECT_EQ(
        PinningTier::kAll,
        TableOf(family.options)->metadata_cache_options.unpartitioned_pinning);
  }
  Open();

  Fill(families_[0], 1);
  ASSERT_EQ(Keys{"protean.Proteus"}, PolicyNames(families_[0]));
  const auto events = FilterPropertiesOf(db_.get(), families_[0]);
  ASSERT_EQ(1u, events.size());
  EXPECT_EQ("Proteus", events.begin()->second.kind);
  EXPECT_NEAR(12, events.begin()->second.bits_per_key, 0.5);
  EXPECT_GT(table->block_cache->GetPinnedUsage(), 0u);

  // A Bloom filter on level 0, and Proteus below.
  Fill(families_[1], 1);
  EXPECT_EQ(Keys{"bloomfilter"}, PolicyNames(families_[1]));
  EXPECT_TRUE(FilterPropertiesOf(db_.get(), families_[1]).empty());
  ASSERT_OK(CompactAll(db_.get(), families_[1]));
  EXPECT_EQ(Keys{"protean.Proteus"}, PolicyNames(families_[1]));
  Fill(families_[1], 2);
  EXPECT_EQ((Keys{"bloomfilter", "protean.Proteus"}),
            PolicyNames(families_[1]));

  // Filters are used in both column families.
  for (ColumnFamilyHandle* family : families_) {
    ASSERT_OK(db_options_.statistics->Reset());
    for (int i = 0; i < 1000; i++) {
      ASSERT_EQ("", protean::FirstIn(db_.get(), Digits(37 * i + 10, 8),
                                     Digits(37 * i + 20, 8), {}, family));
    }
    EXPECT_GT(db_options_.statistics->getTickerCount(LAST_LEVEL_SEEK_FILTERED) +
                  db_options_.statistics->getTickerCount(
                      NON_LAST_LEVEL_SEEK_FILTERED),
              900u);
  }
}

TEST_F(OptionsFileTest, ThoseOfDbBench) {
  const std::map<std::string, std::string> policies = {
      {"bloom12", "bloomfilter"},
      {"bloom12_first_key", "bloomfilter"},
      {"proteus12", "protean.Proteus"},
      {"surf04", "protean.SuRF"}};
  std::vector<std::string> names;
  ASSERT_OK(Env::Default()->GetChildren(kExamples + "db_bench", &names));
  EXPECT_EQ(policies.size(), names.size());
  for (const auto& [name, policy] : policies) {
    SCOPED_TRACE(name);
    Load("db_bench/" + name + ".ini");
    db_options_.create_if_missing = true;
    db_options_.use_direct_reads = false;  // not every file system has them
    db_options_.use_direct_io_for_flush_and_compaction = false;
    Open();
    Fill(families_[0], 1);
    EXPECT_EQ(Keys{policy}, PolicyNames(families_[0]));
    Destroy();
  }
}

// ---- The page of all options ----

// The section with this heading has a row for each of these options, no other.
void ExpectOptions(const std::string& heading, const std::string& options) {
  SCOPED_TRACE(heading);
  const std::string page = ContentsOf(PROTEAN_SOURCE_DIR "/docs/options.md");
  const size_t begin = page.find("## " + heading);
  ASSERT_NE(std::string::npos, begin);
  const std::string section =
      page.substr(begin, page.find("\n## ", begin) - begin);
  std::unordered_map<std::string, std::string> values;
  ASSERT_OK(StringToMap(options, &values));
  values.erase("id");
  for (const auto& [name, value] : values) {
    ExpectHas(section, {"\n| `" + name + "` |"});
  }
  size_t rows = 0;
  for (size_t at = 0;
       (at = section.find("\n| `", at + 1)) != std::string::npos;) {
    rows++;
  }
  EXPECT_EQ(values.size(), rows);
}

TEST(OptionsPageTest, HasEachOption) {
  ProteusOptions with_files;  // empty texts are left out
  with_files.seed_file = "/data/seed";
  with_files.samples_file = "/data/samples";
  for (const auto& [heading, policy] :
       {std::make_pair("Proteus", NewProteusFilterPolicy(with_files)),
        std::make_pair("SuRF", NewSurfFilterPolicy())}) {
    ExpectOptions(heading, policy->ToString(ConfigOptions()));
  }
  ExpectOptions("Refreshing", RefreshOptions().ToString());
  // Options of text alone.
  ExpectHas(ContentsOf(PROTEAN_SOURCE_DIR "/docs/options.md"), {"`seeds`"});
}

// ---- Options and results of refreshes ----

TEST(RefreshOptionsTest, TextsAreParsedAsTheyArePrinted) {
  RefreshOptions options;
  EXPECT_OK(options.Validate());
  EXPECT_EQ(
      "dry_run=false;levels=;start=;limit=;max_parallel_rewrites=1;"
      "all_files=false;max_bytes=18446744073709551615;bytes_per_second=0;"
      "min_gain=0.020000;payback_seconds=86400.000",
      options.ToString());
  ASSERT_OK(options.Parse(
      "dry_run=true;levels=0,1,6;start=0x;limit=0x6B00fF;"
      "max_parallel_rewrites=3;all_files=1;max_bytes=2G;bytes_per_second=64K;"
      "min_gain=.5;payback_seconds=0.5"));
  EXPECT_TRUE(options.dry_run);
  EXPECT_EQ((std::vector<int>{0, 1, 6}), options.levels);
  EXPECT_EQ("", options.start);
  EXPECT_EQ(std::string("k\0\xff", 3), options.limit);
  EXPECT_EQ(3u, options.max_parallel_rewrites);
  EXPECT_TRUE(options.all_files);
  EXPECT_EQ(uint64_t{2} << 30, options.max_bytes);
  EXPECT_EQ(uint64_t{64} << 10, options.bytes_per_second);
  EXPECT_EQ(.5, options.min_gain);
  EXPECT_EQ(.5, options.payback_seconds);
  RefreshOptions again;
  ASSERT_OK(again.Parse(options.ToString()));
  EXPECT_EQ(options.ToString(), again.ToString());
  ASSERT_OK(again.Parse(RefreshOptions().ToString()));
  EXPECT_EQ(RefreshOptions().ToString(), again.ToString());
  EXPECT_FALSE(again.start.has_value());
}

TEST(RefreshOptionsTest, WhatIsNotAllowedIsRefused) {
  const std::pair<const char*, std::vector<const char*>> refused[] = {
      {"dry_run", {"", "yes", "2"}},
      {"levels", {"-1", "0,", ",1", "0,,1", "a", "1000", "0 1"}},
      {"start", {"0x6", "0xgg"}},
      {"limit", {"0x6", "0xgg"}},
      {"max_parallel_rewrites", {"", "0", "-1", "1025", "many", "4294967297"}},
      {"all_files", {"", "no way"}},
      {"max_bytes", {"", "-1", "a lot", "+1"}},
      {"bytes_per_second", {"", "-1", "18446744073709551615"}},
      {"min_gain", {"", "5", "1.1", "-0.1", "nan", "1e-3"}},
      {"payback_seconds", {"", "-1", "3153600001", "inf"}},
      {"progress", {"1"}},
      {"min_gains", {"0.1"}},
  };
  for (const auto& [name, values] : refused) {
    for (const char* value : values) {
      RefreshOptions options;
      const Status s = options.Set(name, value);
      SCOPED_TRACE(std::string(name) + "=" + value);
      ExpectRefused(s, {" is not allowed; allowed: "});
      EXPECT_EQ(RefreshOptions().ToString(), options.ToString());
    }
  }
  RefreshOptions options;
  for (const char* key : {"key", "0x6b6579"}) {
    ASSERT_OK(options.Set("limit", key));
    EXPECT_EQ("key", options.limit);
  }
  EXPECT_TRUE(options.Parse("dry_run=true;min_gain=2").IsInvalidArgument());
  EXPECT_FALSE(options.dry_run);
  options.max_parallel_rewrites = 0;
  ExpectRefused(options.Validate(),
                {"RefreshOptions: max_parallel_rewrites=0 is not allowed; "
                 "allowed: whole numbers from 1 to 1024"});
}

TEST(RefreshResultTest, Json) {
  RefreshResult result;
  result.files.emplace_back();
  result.files[0].name = "000001.sst";
  result.files[0].old_fpr = 0.25;
  result.files[0].status = Status::Corruption("a \"quote\"");
  const auto json = nlohmann::json::parse(result.ToJson());
  EXPECT_EQ(false, json["rate_known"]);
  EXPECT_EQ(0, json["samples"]);
  const auto& file = json["files"].at(0);
  EXPECT_EQ("000001.sst", file["name"]);
  EXPECT_EQ(0.25, file["old_fpr"]);
  EXPECT_TRUE(file["new_fpr"].is_null());
  EXPECT_EQ("Corruption: a \"quote\"", file["status"]);
  EXPECT_EQ("not reached", file["outcome"]);
}

}  // namespace ROCKSDB_NAMESPACE::protean
