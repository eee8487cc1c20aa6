// SPDX-License-Identifier: Apache-2.0

//  Policies that are built in code: each option arrives, an OPTIONS file has
//  them, and bad ones are refused when a DB is opened.

#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

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
  // The policy as the DB's OPTIONS file has it.
  Policy InOptionsFile() const {
    return OptionsOnDisk()
        .table_factory->GetOptions<BlockBasedTableOptions>()
        ->filter_policy;
  }
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
  ASSERT_OK(OpenWith(NewProteusFilterPolicy(options)));
  const Policy proteus = InOptionsFile();
  for (const auto& [name, value] :
       Records{{"prefix_filter_type", "kRibbon"},
               {"level_bits", "kEqual"},
               {"point_lookups_use_whole_keys", "true"},
               {"false_positive_cost_micros", "20"},
               {"sample_capacity", "123"},
               {"sample_every", "7"},
               {"seed_file", options.seed_file},
               {"samples_file", options.samples_file},
               {"filter_budget_bytes",
                OptionOf(NewProteusFilterPolicy(options).get(),
                         "filter_budget_bytes")}}) {
    EXPECT_EQ(value, OptionOf(proteus.get(), name)) << name;
  }
  EXPECT_EQ(14.5, std::stod(OptionOf(proteus.get(), "bits_per_key")));
  using Type = ProteusOptions::PrefixFilterType;
  for (const auto& [type, name] :
       std::map<Type, std::string>{{Type::kAuto, "kAuto"},
                                   {Type::kBloom, "kBloom"},
                                   {Type::kRibbon, "kRibbon"}}) {
    options.prefix_filter_type = type;
    EXPECT_EQ(name, OptionOf(NewProteusFilterPolicy(options).get(),
                             "prefix_filter_type"));
  }

  SurfOptions bits;
  bits.hash_suffix_bits = 3;
  bits.real_suffix_bits = 5;
  bits.prefix_suffix_bits = 7;
  ASSERT_OK(OpenWith(NewSurfFilterPolicy(bits)));
  const Policy surf = InOptionsFile();
  EXPECT_EQ("3", OptionOf(surf.get(), "hash_suffix_bits"));
  EXPECT_EQ("5", OptionOf(surf.get(), "real_suffix_bits"));
  EXPECT_EQ("7", OptionOf(surf.get(), "prefix_suffix_bits"));
}

TEST_F(PoliciesInCodeTest, AListOfLevelsIsReadAgainFromTheOptionsFile) {
  ProteusOptions proteus;
  proteus.bits_per_key = 14;
  proteus.samples_file = path_ + "#samples";
  const Policy list = NewLevelsFilterPolicy(
      {nullptr, Policy(NewBloomFilterPolicy(10)),
       NewSurfFilterPolicy({0, 0, 8}), NewProteusFilterPolicy(proteus)});
  ASSERT_OK(OpenWith(list));
  const Policy read = InOptionsFile();
  EXPECT_EQ(list->ToString(ConfigOptions()), read->ToString(ConfigOptions()));
  // The list that was read works, too.
  ASSERT_OK(OpenWith(read));
  WriteFile({"key"});
  Compact();
  EXPECT_TRUE(Has("key"));
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

TEST_F(PoliciesInCodeTest, BadOptionsAreRefused) {
  ProteusOptions many_bits;
  many_bits.bits_per_key = 65;
  ProteusOptions no_samples;
  no_samples.sample_every = 0;
  SurfOptions surf;
  surf.prefix_suffix_bits = 17;
  const auto levels = [](const std::vector<Policy>& policies) {
    return NewLevelsFilterPolicy(policies);
  };
  const Policy proteus(NewProteusFilterPolicy({12}));
  for (const auto& [policy, word] : std::vector<std::pair<Policy, const char*>>{
           {NewProteusFilterPolicy(many_bits), "bits_per_key"},
           {NewProteusFilterPolicy(no_samples), "sample_every"},
           {NewSurfFilterPolicy(surf), "prefix_suffix_bits"},
           {levels({}), "no policy"},
           {levels({proteus, NewSurfFilterPolicy(surf)}), "prefix_suffix_bits"},
           {levels({levels({proteus})}), "part of a list"}}) {
    ExpectRefused(OpenWith(policy), {word});
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
