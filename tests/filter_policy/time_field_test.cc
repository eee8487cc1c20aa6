// SPDX-License-Identifier: Apache-2.0

//  Times are found in keys of any form that is documented, and nowhere else.

#include <gtest/gtest.h>

#include <functional>

#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/key_source.h"
#include "filter_policy/proteus/key_store.h"
#include "filter_policy/proteus/prior/key_form.h"
#include "filter_policy/proteus/prior/time_windows.h"
#include "tests/key_families.h"
#include "tests/stored_keys.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Keys = std::vector<std::string>;

constexpr size_t kNumKeys = 2000;

std::optional<TimeField> FieldOf(const Keys& keys) {
  const KeyStore store = Stored(keys);
  return FindTimeField(store, KeyStatistics(store).NeighbourBits() / 8);
}

// The name of the form of the time in the keys, or "".
std::string FormOf(const Keys& keys) {
  const std::optional<TimeField> field = FieldOf(keys);
  return field ? std::string(field->time.name()) : "";
}

Keys Make(const std::function<std::string(class Random64*)>& make,
          size_t num = kNumKeys) {
  class Random64 rnd(17);
  Keys keys;
  for (size_t i = 0; i < num; i++) keys.push_back(make(&rnd));
  SortUnique(&keys);
  return keys;
}

template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[128];
  snprintf(text, sizeof(text), format, values...);
  return text;
}

// A time in 2026, `per_second` units a second.
unsigned long long AnyTime(class Random64* rnd, uint64_t per_second) {
  return 1767225600 * per_second + rnd->Uniform(31536000 * per_second);
}

std::string BytesOf(uint64_t number, size_t size) {
  return BigEndianKey(number).substr(8 - size);
}

}  // namespace

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

TEST(NumeralTest, ReadsWhatItWrites) {
  const std::optional<TimeField> field = FieldOf(Make([](auto* rnd) {
    return Format("user:%06d|2026-%02d-%02dT%02d:%02d:%02d.%03dZ",
                  static_cast<int>(rnd->Uniform(1000)),
                  static_cast<int>(1 + rnd->Uniform(12)),
                  static_cast<int>(1 + rnd->Uniform(28)),
                  static_cast<int>(rnd->Uniform(24)),
                  static_cast<int>(rnd->Uniform(60)),
                  static_cast<int>(rnd->Uniform(60)),
                  static_cast<int>(rnd->Uniform(1000)));
  }));
  ASSERT_TRUE(field);
  std::string key = "user:000047|2026-01-31T23:59:60.999Z";
  size_t start = 0;
  Numeral::Value value = 0;
  ASSERT_TRUE(field->anchor.Find(key, &start));
  EXPECT_EQ(12u, start);
  EXPECT_EQ(23u, field->time.size());
  ASSERT_TRUE(field->time.Read(key, start, &value));
  field->time.Write(value + 1, start, &key);
  EXPECT_EQ("user:000047|2026-02-01T00:00:00.000Z", key);
  ASSERT_TRUE(field->time.Read(key, start, &value));
  field->time.Write(value - 1, start, &key);
  EXPECT_EQ("user:000047|2026-01-31T23:59:60.999Z", key);
  for (const char* other :
       {"user:000047|2026-13-01T00:00:00.000Z", "user:000047|2026-02-01T00:00",
        "user:000047|2026-02-01T0x:00:00.000Z", "", "user"}) {
    EXPECT_FALSE(field->time.Read(other, start, &value)) << other;
  }
}

TEST(TimeFieldTest, FindsAllForms) {
  struct Case {
    const char* form;
    std::function<std::string(class Random64*)> make;
  };
  const auto date = [](const char* format, const char* tail) {
    return [=](class Random64* rnd) {
      return "k:" +
             Format(format, 2020 + static_cast<int>(rnd->Uniform(9)),
                    1 + static_cast<int>(rnd->Uniform(12)),
                    1 + static_cast<int>(rnd->Uniform(28)),
                    static_cast<int>(rnd->Uniform(24)),
                    static_cast<int>(rnd->Uniform(60)),
                    static_cast<int>(rnd->Uniform(60))) +
             tail;
    };
  };
  const auto number = [](const char* format, uint64_t per_second) {
    return [=](class Random64* rnd) {
      return Format("%04llu/",
                    static_cast<unsigned long long>(rnd->Uniform(20))) +
             Format(format, AnyTime(rnd, per_second)) + "/x";
    };
  };
  const auto binary = [](size_t size, uint64_t per_second, uint64_t from) {
    return [=](class Random64* rnd) {
      const uint64_t time = AnyTime(rnd, per_second);
      return BytesOf(rnd->Uniform(50), 4) +
             BytesOf(from == 0 ? time : from - time, size);
    };
  };
  const auto id = [](const std::string& key_type) {
    KeyType type = KeyType::kU64;
    EXPECT_TRUE(ParseKeyType(key_type, &type).ok());
    const auto draw = SourceOf(type).draw;
    return [draw](class Random64* rnd) {
      Rng rng(rnd->Next());
      return draw(&rng);
    };
  };
  const auto without_hyphens = [&id](const std::string& key_type) {
    return [draw = id(key_type)](class Random64* rnd) {
      std::string key = draw(rnd);
      key.erase(std::remove(key.begin(), key.end(), '-'), key.end());
      return key;
    };
  };
  const Case cases[] = {
      {"date", date("%04d-%02d-%02dT%02d:%02d:%02d", "Z")},
      {"date", date("%04d-%02d-%02d %02d:%02d:%02d", ",123456")},
      {"date", date("%04d/%02d/%02d/%02d/%02d/%02d", "")},
      {"date", date("%04d%02d%02dT%02d%02d%02d", "Z")},
      {"date", date("%04d%02d%02d%02d%02d%02d", "")},
      {"decimal s", number("%llu", 1)},
      {"decimal ms", number("%llu", 1000)},
      {"decimal us", number("%llu", 1000000)},
      {"decimal ns", number("%llu", 1000000000)},
      {"decimal ns", number("%020llu", 1000000000)},
      {"hex s", number("%08llx", 1)},
      {"hex ms", number("%012llx", 1000)},
      {"hex us", number("%llX", 1000000)},
      {"hex ns", number("%016llx", 1000000000)},
      {"binary s", binary(4, 1, 0)},
      {"binary s", binary(8, 1, 0)},
      {"binary ms", binary(6, 1000, 0)},
      {"binary ms", binary(8, 1000, 0)},
      {"binary us", binary(8, 1000000, 0)},
      {"binary ns", binary(8, 1000000000, 0)},
      {"binary ms", binary(8, 1000, ~uint64_t{0})},
      {"binary ms", binary(8, 1000, ~uint64_t{0} >> 1)},
      {"UUID 1", id("uuid1")},
      {"UUID 6", id("uuid6")},
      {"UUID 7", id("uuid7")},
      {"UUID 1", without_hyphens("uuid1")},
      {"UUID 6", without_hyphens("uuid6")},
      {"UUID 7", without_hyphens("uuid7")},
      {"UUID 7", id("uuid7_bytes")},
      {"ULID", id("ulid")},
  };
  for (const Case& c : cases) {
    const Keys keys = Make(c.make);
    EXPECT_EQ(c.form, FormOf(keys)) << keys.front();
  }
}

// Before the time, there are fields of different lengths, and behind it.
TEST(TimeFieldTest, IsFoundWhereverItStands) {
  const auto time = [](class Random64* rnd) {
    return Format("%llu", AnyTime(rnd, 1000));
  };
  const auto word = [](class Random64* rnd) {
    const auto letter = static_cast<char>('a' + rnd->Uniform(20));
    return std::string(1 + rnd->Uniform(5), letter);
  };
  EXPECT_EQ("decimal ms", FormOf(Make([&](auto* rnd) {
              return word(rnd) + "/" + word(rnd) + "/" + time(rnd);
            })));
  EXPECT_EQ("decimal ms", FormOf(Make([&](auto* rnd) {
              return word(rnd) + "/" + time(rnd) + "/" + word(rnd);
            })));
  EXPECT_EQ("decimal ms", FormOf(Make([&](auto* rnd) {
              return "t/" + time(rnd) + word(rnd) + "/" + word(rnd);
            })));
  EXPECT_EQ("binary ns", FormOf(Make([&](auto* rnd) {
              const std::string ns = BytesOf(AnyTime(rnd, 1000000000), 8);
              return word(rnd) + '\0' + ns;
            })));
  // The first of two times is the same in many keys.
  const std::optional<TimeField> second = FieldOf(Make([&](auto* rnd) {
    return Format("2026-01-%02d/", static_cast<int>(1 + rnd->Uniform(9))) +
           time(rnd);
  }));
  ASSERT_TRUE(second);
  EXPECT_EQ("decimal ms", second->time.name());
}

// A few other keys in the same file do no harm.
TEST(TimeFieldTest, OtherKeysAreFew) {
  for (const bool many : {false, true}) {
    const Keys keys = Make([&](auto* rnd) {
      return rnd->Uniform(many ? 3 : 50) == 0
                 ? Format("meta/%06llu", static_cast<unsigned long long>(
                                             rnd->Uniform(1000000)))
                 : Format("time/%llu", AnyTime(rnd, 1000));
    });
    EXPECT_EQ(many ? "" : "decimal ms", FormOf(keys));
  }
}

TEST(TimeFieldTest, IsNotFoundInOtherKeys) {
  for (const KeyFamily& family : KeyFamilies(300, 41)) {
    EXPECT_EQ("", FormOf(family.keys)) << family.name;
  }
  const Keys others[] = {
      {},
      {""},
      {"one key"},
      {"2026-01-01"},
      {std::string(9, '\0'), std::string(9, '\xff')},
      Make([](auto* rnd) {
        return BytesOf(rnd->Next(), 8) + BytesOf(rnd->Next(), 8);
      }),
      Make([](auto* rnd) {
        return Format("%016llx%016llx",
                      static_cast<unsigned long long>(rnd->Next()),
                      static_cast<unsigned long long>(rnd->Next()));
      }),
      Make([](auto* rnd) {
        return Format("%012llu", static_cast<unsigned long long>(
                                     rnd->Uniform(1000000000000)));
      }),
      // UTF-8
      Make([](auto* rnd) {
        std::string key;
        for (int i = 0; i < 6; i++) {
          key += {'\xe4', static_cast<char>(0xb8 + rnd->Uniform(8)),
                  static_cast<char>(0x80 + rnd->Uniform(64))};
        }
        return key;
      }),
      // Text beside a binary number.
      Make([](auto* rnd) {
        std::string key = "customer:";
        for (int i = 0; i < 8; i++) {
          key.push_back(static_cast<char>('a' + rnd->Uniform(26)));
        }
        return key + BytesOf(rnd->Uniform(1000), 4);
      }),
      // Different numbers of fields.
      Make([](auto* rnd) {
        std::string key = "a";
        for (uint64_t i = rnd->Uniform(6); i > 0; i--) {
          key += "/" + std::to_string(rnd->Uniform(1000));
        }
        return key;
      }),
  };
  for (const Keys& keys : others) {
    EXPECT_EQ("", FormOf(keys)) << (keys.empty() ? "no key" : Hex(keys[0]));
  }
}

TEST(TimeWindowsTest, GoFromAKeyToALaterTime) {
  const Keys keys = Make([](auto* rnd) {
    // Compilers evaluate operands in different orders: the numbers are drawn
    // one by one, so that the keys are the same on all platforms.
    const auto last = static_cast<int>(rnd->Uniform(100));
    const std::string time = Format("%llu", AnyTime(rnd, 1000));
    const auto user = static_cast<int>(rnd->Uniform(40));
    return Format("user:%02d|", user) + time + Format("|%02d", last);
  });
  const KeyStore store = Stored(keys);
  const std::optional<TimeWindows> windows = TimeWindows::Find(store, 8);
  ASSERT_TRUE(windows);
  // 50 keys of a user in a year.
  constexpr double kSpacing = 31536000000.0 / 50;
  for (size_t i = 0; i < keys.size(); i++) {
    for (const double order : {0.0, 0.5, 0.999}) {
      std::string lo;
      std::string hi;
      ASSERT_TRUE(windows->Window(i, order, &lo, &hi));
      EXPECT_EQ(keys[i].substr(0, 21), lo);
      EXPECT_EQ(keys[i].substr(0, 8), hi.substr(0, 8));
      EXPECT_EQ(std::string(8, '\xff'), hi.substr(21));
      const double length =
          std::stod(hi.substr(8, 13)) - std::stod(lo.substr(8, 13));
      EXPECT_GE(length, kSpacing / 10 / 16384);
      EXPECT_LE(length, kSpacing * 10 / 2);
    }
    std::string prefix;
    ASSERT_TRUE(windows->NextEntity(i, &prefix));
    EXPECT_EQ(8u, prefix.size());
    EXPECT_GT(prefix, keys[i].substr(0, 8));
    std::string later;
    ASSERT_TRUE(windows->Later(i, 5, &later));
    EXPECT_EQ(std::stoull(keys[i].substr(8, 13)) + 5,
              std::stoull(later.substr(8, 13)));
    size_t end = 0;
    ASSERT_TRUE(windows->EndOfTime(keys[i], &end));
    EXPECT_EQ(21u, end);
  }
  EXPECT_FALSE(TimeWindows::Find(Stored({"a", "b"}), 0));
  EXPECT_FALSE(TimeWindows::Find(Stored(Make([](auto* rnd) {
                                   return Format("%llu", AnyTime(rnd, 1000));
                                 })),
                                 0));
}

}  // namespace ROCKSDB_NAMESPACE::protean
