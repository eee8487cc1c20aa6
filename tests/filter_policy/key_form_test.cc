// SPDX-License-Identifier: Apache-2.0

//  The alphabets, forms and fields of a file's keys.

#include "filter_policy/proteus/prior/key_form.h"

#include <gtest/gtest.h>

#include <functional>

#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/key_source.h"
#include "filter_policy/proteus/key_store.h"
#include "test_util/testharness.h"
#include "tests/key_families.h"
#include "tests/stored_keys.h"

namespace ROCKSDB_NAMESPACE::protean {

TEST(AlphabetTest, IsTheSmallestThatHoldsAll) {
  const std::string digits = "0123456789";
  const std::string upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  EXPECT_EQ(digits, AlphabetOf("7"));
  EXPECT_EQ(digits + "abcdef", AlphabetOf("0c"));
  EXPECT_EQ(digits + "ABCDEF", AlphabetOf("9F"));
  EXPECT_EQ(upper, AlphabetOf("XAZ"));
  EXPECT_EQ("0123456789ABCDEFGHJKMNPQRSTVWXYZ", AlphabetOf("0Z"));
  EXPECT_EQ("234567" + upper, AlphabetOf("7UI"));
  EXPECT_EQ("-" + digits + upper + "_abcdefghijklmnopqrstuvwxyz",
            AlphabetOf("aZ_"));
  EXPECT_EQ("+/" + digits + upper + "abcdefghijklmnopqrstuvwxyz",
            AlphabetOf("aZ+"));
  EXPECT_EQ("|", AlphabetOf("||"));
  EXPECT_EQ("\xfd\xfe\xff", AlphabetOf("\xff\xfd"));
  EXPECT_EQ(256u, AlphabetOf(std::string("\xff\0", 2)).size());
}

TEST(AlphabetTest, APlaceOfOneCharacterDoesNotCount) {
  const KeyStore store = Stored({"a1-x", "a2-x", "a7-y"});
  EXPECT_EQ((std::vector<std::string>{"a", "0123456789", "-",
                                      "abcdefghijklmnopqrstuvwxyz"}),
            CharactersOf(store));
}

namespace {

struct FormCase {
  const char* key_type;
  KeyForm form;
  std::vector<uint32_t> ends;  // of fields, in bits
};

class KeyFormTest : public testing::TestWithParam<FormCase> {};

const FormCase kForms[] = {
    {"u64", KeyForm::kNumber, {}},
    // The first 14 bits tell the tenants apart.
    {"tenant_time", KeyForm::kRecord, {14}},
    {"edge", KeyForm::kRecord, {64, 80}},
    {"device_time", KeyForm::kRecord, {64}},
    // There are as many times as keys.
    {"uuid7_bytes", KeyForm::kRecord, {}},
    {"user_window", KeyForm::kFields, {}},
    {"uuid7", KeyForm::kFields, {}},
    {"session", KeyForm::kFields, {}},
    {"sensor_time", KeyForm::kFields, {}},
    {"text", KeyForm::kText, {}},
    {"package", KeyForm::kText, {}},
    {"url", KeyForm::kText, {}},
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(KeyTypes, KeyFormTest, testing::ValuesIn(kForms),
                         [](const auto& test) { return test.param.key_type; });

TEST_P(KeyFormTest, IsKnownFromTheKeys) {
  KeyType type = KeyType::kU64;
  ASSERT_OK(ParseKeyType(GetParam().key_type, &type));
  Rng rng(17);
  const KeyStore store = Stored(DrawDistinct(SourceOf(type).draw, 50000, &rng));
  const KeyStatistics statistics(store);
  std::vector<uint32_t> ends = FieldEndsOf(statistics);
  EXPECT_EQ(GetParam().form, KeyFormOf(store, statistics, !ends.empty()));
  if (GetParam().form == KeyForm::kFields) return;
  EXPECT_EQ(GetParam().ends, ends);
}

// Numbers of 20 digits are numbers; longer printed keys have fields.
TEST(PrintedFormTest, NumbersHaveTwentyDigits) {
  for (size_t digits : {8, 20, 21}) {
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < 1000; i++) {
      std::string key = std::to_string(7 * i);
      key.insert(0, digits - key.size(), '0');
      keys.push_back(key);
    }
    const KeyStore store = Stored(keys);
    EXPECT_EQ(digits > 20 ? KeyForm::kFields : KeyForm::kDigits,
              KeyFormOf(store, KeyStatistics(store), /*has_fields=*/false));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
