// SPDX-License-Identifier: Apache-2.0

//  Protean in processes of two kinds: one exits with a DB open, while RocksDB's
//  threads still flush and compact, and a thread of the application writes; one
//  has a locale that writes fractions with a comma, as in many JVMs.

#include <atomic>
#include <chrono>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "filter_policy/filter_properties.h"
#include "filter_policy/option_types.h"
#include "plugin/filter_properties.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Exit ----

// Holds up the end of the process, once told to, when all else has been
// destroyed: what is constructed first is destroyed last.
class LastAtExit {
 public:
  ~LastAtExit() {
    if (waits_) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  void Wait() { waits_ = true; }

 private:
  bool waits_ = false;
};
[[gnu::init_priority(101)]] LastAtExit last_at_exit;

// Ends the process with code 0 while tables are being built, and with another
// one if the DB does not work.
[[noreturn]] void ExitInTheMiddle(const std::string& policy) {
  Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 32 << 10;
  options.target_file_size_base = 32 << 10;
  options.max_bytes_for_level_base = 128 << 10;
  options.level0_file_num_compaction_trigger = 2;
  options.max_background_jobs = 4;
  if (!AddOptions(ProteanTableText(policy), &options).ok()) exit(1);
  std::unique_ptr<DB> opened;
  if (!OpenDB(&opened, options, test::PerThreadDBPath("exit")).ok()) exit(2);
  DB* const db = opened.release();
  std::atomic<bool> failed{false};
  std::atomic<uint64_t> written{0};
  std::thread([db, &failed, &written] {
    Random random(301);
    for (;;) {
      const std::string key = random.HumanReadableString(20);
      const Status s = db->Put(WriteOptions(), key, std::string(50, 'v'));
      if (!s.ok()) failed = true;
      written++;
      std::string value;
      db->Get(ReadOptions(), key + "x", &value).PermitUncheckedError();
    }
  }).detach();
  while (written < 20000 && !failed) std::this_thread::yield();
  if (failed) exit(3);
  last_at_exit.Wait();
  exit(0);
}

// googletest runs tests of this name first: a process that is forked from one
// that has had a DB open lacks the threads of RocksDB.
class ExitDeathTest : public testing::TestWithParam<const char*> {};

TEST_P(ExitDeathTest, InTheMiddleOfCompactions) {
  EXPECT_EXIT(ExitInTheMiddle(GetParam()), testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(
    Policies, ExitDeathTest,
    testing::Values("proteus:12", "surf:4:4",
                    "{id=protean.Proteus;filter_budget_bytes=64K}",
                    "levels:surf:0:8,proteus:12", "bloomfilter:10"));

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

TEST_F(LocaleTest, DecimalText) {
  EXPECT_EQ("12.50", DecimalText(12.5, 2));
  EXPECT_EQ("0", DecimalText(0.25, 0));
  EXPECT_EQ("1000000.0", DecimalText(1e6, 1));
}

TEST_F(LocaleTest, ParseDecimal) {
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
  ASSERT_OK(db_->SetOptions({{"table_factory.filter_policy", "proteus:14.5"}}));
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
  std::istringstream text(ToPrometheus({statistics}));
  size_t fractions = 0;
  for (std::string line; std::getline(text, line);) {
    if (line[0] == '#') continue;
    const std::string value = line.substr(line.rfind(' ') + 1);
    double number;
    EXPECT_TRUE(ParseDecimal(value, &number)) << line;
    fractions += value.find('.') != std::string::npos;
  }
  EXPECT_GT(fractions, 0u);
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
