// SPDX-License-Identifier: Apache-2.0

//  Policies that are built in code: each option arrives, an OPTIONS file has
//  them, and bad ones are refused when a DB is opened.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/utilities/options_util.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Policy = std::shared_ptr<const FilterPolicy>;

std::string Option(const Policy& policy, const std::string& name) {
  std::string value;
  EXPECT_OK(policy->GetOption(ConfigOptions(), name, &value)) << name;
  return value;
}

class PoliciesInCodeTest : public testing::Test {
 protected:
  ~PoliciesInCodeTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, Options()));
  }

  Status Open(const Policy& policy) {
    Options options;
    options.create_if_missing = true;
    BlockBasedTableOptions table;
    table.filter_policy = policy;
    options.table_factory = NewProteanTableFactory(table);
    db_.reset();
    return OpenDB(&db_, options, path_);
  }
  // The policy as the DB's OPTIONS file has it.
  Policy InOptionsFile() const {
    DBOptions db_options;
    std::vector<ColumnFamilyDescriptor> families;
    EXPECT_OK(
        LoadLatestOptions(ConfigOptions(), path_, &db_options, &families));
    return families[0]
        .options.table_factory->GetOptions<BlockBasedTableOptions>()
        ->filter_policy;
  }
  void ExpectRefused(const Policy& policy, const std::string& word) {
    const Status s = Open(policy);
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_NE(std::string::npos, s.ToString().find(word)) << s.ToString();
  }

  const std::string path_ = test::PerThreadDBPath("policies_in_code");
  std::unique_ptr<DB> db_;
};

}  // namespace

TEST_F(PoliciesInCodeTest, DefaultsAreThoseOfTheStrings) {
  for (const auto& [in_code, in_words] :
       {std::pair<Policy, const char*>{NewProteusFilterPolicy(ProteusOptions()),
                                       "{id=protean.Proteus}"},
        {NewSurfFilterPolicy(SurfOptions()), "{id=protean.SuRF}"}}) {
    Policy read;
    ASSERT_OK(FilterPolicy::CreateFromString(ConfigOptions(), in_words, &read));
    EXPECT_EQ(read->ToString(ConfigOptions()),
              in_code->ToString(ConfigOptions()));
  }
}

TEST_F(PoliciesInCodeTest, EachOptionArrives) {
  const std::string seeds = path_ + ".seeds";
  ASSERT_OK(WriteStringToFile(Env::Default(), "", seeds));
  ProteusOptions options;
  options.bits_per_key = 14.5;
  options.filter_budget_bytes = 1 << 20;
  options.prefix_filter_type = ProteusOptions::PrefixFilterType::kRibbon;
  options.level_bits = ProteusOptions::LevelBits::kEqual;
  options.point_lookups_use_whole_keys = true;
  options.false_positive_cost_micros = 20;
  options.sample_capacity = 123;
  options.sample_every = 7;
  options.seed_file = seeds;
  options.samples_file = path_ + ".samples";
  ASSERT_OK(Open(NewProteusFilterPolicy(options)));
  const Policy proteus = InOptionsFile();
  EXPECT_EQ(14.5, std::stod(Option(proteus, "bits_per_key")));
  EXPECT_EQ("kRibbon", Option(proteus, "prefix_filter_type"));
  EXPECT_EQ("kEqual", Option(proteus, "level_bits"));
  EXPECT_EQ("true", Option(proteus, "point_lookups_use_whole_keys"));
  EXPECT_EQ("20", Option(proteus, "false_positive_cost_micros"));
  EXPECT_EQ("123", Option(proteus, "sample_capacity"));
  EXPECT_EQ("7", Option(proteus, "sample_every"));
  EXPECT_EQ(options.seed_file, Option(proteus, "seed_file"));
  EXPECT_EQ(options.samples_file, Option(proteus, "samples_file"));
  EXPECT_EQ(Option(NewProteusFilterPolicy(options), "filter_budget_bytes"),
            Option(proteus, "filter_budget_bytes"));
  using Type = ProteusOptions::PrefixFilterType;
  for (const auto& [type, name] :
       std::map<Type, std::string>{{Type::kAuto, "kAuto"},
                                   {Type::kBloom, "kBloom"},
                                   {Type::kRibbon, "kRibbon"}}) {
    options.prefix_filter_type = type;
    EXPECT_EQ(name,
              Option(NewProteusFilterPolicy(options), "prefix_filter_type"));
  }

  SurfOptions bits;
  bits.hash_suffix_bits = 3;
  bits.real_suffix_bits = 5;
  bits.prefix_suffix_bits = 7;
  ASSERT_OK(Open(NewSurfFilterPolicy(bits)));
  const Policy surf = InOptionsFile();
  EXPECT_EQ("3", Option(surf, "hash_suffix_bits"));
  EXPECT_EQ("5", Option(surf, "real_suffix_bits"));
  EXPECT_EQ("7", Option(surf, "prefix_suffix_bits"));
  db_.reset();
  for (const std::string& file : {seeds, options.samples_file}) {
    Env::Default()->DeleteFile(file).PermitUncheckedError();
  }
}

TEST_F(PoliciesInCodeTest, AListOfLevelsIsReadAgainFromTheOptionsFile) {
  ProteusOptions proteus;
  proteus.bits_per_key = 14;
  proteus.samples_file = path_ + "#samples";
  const Policy list = NewLevelsFilterPolicy(
      {nullptr, Policy(NewBloomFilterPolicy(10)),
       NewSurfFilterPolicy({0, 0, 8}), NewProteusFilterPolicy(proteus)});
  ASSERT_OK(Open(list));
  const Policy read = InOptionsFile();
  EXPECT_EQ(list->ToString(ConfigOptions()), read->ToString(ConfigOptions()));
  // The list that was read works, too.
  ASSERT_OK(Open(read));
  ASSERT_OK(db_->Put(WriteOptions(), "key", "value"));
  ASSERT_OK(db_->Flush(FlushOptions()));
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  std::string value;
  ASSERT_OK(db_->Get(ReadOptions(), "key", &value));
  EXPECT_EQ("value", value);
  db_.reset();
  Env::Default()->DeleteFile(proteus.samples_file).PermitUncheckedError();
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
  EXPECT_EQ(14, std::stod(Option(one, "bits_per_key")));
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

TEST_F(PoliciesInCodeTest, BadOptionsAreRefused) {
  ProteusOptions proteus;
  proteus.bits_per_key = 65;
  ExpectRefused(NewProteusFilterPolicy(proteus), "bits_per_key");
  proteus = ProteusOptions();
  proteus.sample_every = 0;
  ExpectRefused(NewProteusFilterPolicy(proteus), "sample_every");
  SurfOptions surf;
  surf.prefix_suffix_bits = 17;
  ExpectRefused(NewSurfFilterPolicy(surf), "prefix_suffix_bits");
  ExpectRefused(NewLevelsFilterPolicy({}), "no policy");
  ExpectRefused(NewLevelsFilterPolicy(
                    {NewProteusFilterPolicy({12}), NewSurfFilterPolicy(surf)}),
                "prefix_suffix_bits");
  ExpectRefused(NewLevelsFilterPolicy(
                    {NewLevelsFilterPolicy({NewProteusFilterPolicy({12})})}),
                "part of a list");
}

}  // namespace ROCKSDB_NAMESPACE::protean
