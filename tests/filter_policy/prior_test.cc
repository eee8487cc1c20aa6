// SPDX-License-Identifier: Apache-2.0

//  The prior: queries made from the keys alone, and designs that rest on them.

#include "filter_policy/proteus/prior/prior.h"

#include <cmath>
#include <functional>

#include "db_bench_ext/workload.h"
#include "tests/filter_policy/small_blocks.h"
#include "tests/protean_db.h"
#include "tests/with_salt.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::vector<KeyFamily> HurtfulFamilies() {
  std::vector<KeyFamily> families = KeyFamilies(300, 41);
  families.insert(
      families.end(),
      {{"no key", {}},
       {"one key", {"a key"}},
       {"zeros", {"", std::string(1, '\0'), std::string(9, '\0')}},
       {"the last keys", {"\xff", "\xff\xff", "\xff\xff\xff"}},
       {"long keys", {std::string(5000, 'a'), std::string(70000, 'b')}}});
  // Times, some of them beside keys that have none.
  KeyFamily times = {"times", {"", "user:1|", std::string(40, '\xff')}};
  KeyFamily bytes = {"binary times", {std::string(12, '\0')}};
  KeyFamily same = {"the same times", {}};
  for (uint64_t i = 0; i < 300; i++) {
    times.keys.push_back("user:" + std::to_string(i % 20) + "|" +
                         std::to_string(1767225600000 + 7777 * i));
    bytes.keys.push_back(BigEndian(i % 20).substr(4) +
                         BigEndian(1767225600000000000 + 7777 * i));
    same.keys.push_back("1767225600000/" + std::to_string(1000 + i));
    same.keys.push_back("1767225600001/" + std::to_string(1000 + i));
  }
  for (KeyFamily* family : {&times, &bytes, &same}) {
    SortUnique(&family->keys);
    families.push_back(*family);
  }
  return families;
}

bool IsSame(const LocatedQuery& a, const LocatedQuery& b) {
  return a.lo_shared == b.lo_shared && a.hi_shared == b.hi_shared &&
         a.lo_rest == b.lo_rest && a.hi_rest == b.hi_rest &&
         a.weight == b.weight;
}

// The prior depends on nothing but the keys and the number of samples, counts
// as one sample, and is made for the number that a file asks for last.
TEST(PriorTest, OfAFile) {
  for (const KeyFamily& family : HurtfulFamilies()) {
    SCOPED_TRACE(family.name);
    const KeyStore store = Stored(family.keys);
    const KeyStatistics statistics(store);
    for (const bool prefixes_only : {false, true}) {
      FilePrior prior(store, statistics, prefixes_only);
      EXPECT_TRUE(prior.queries().empty());
      for (const size_t num_samples : {10, 5000, 5001, 20, 0}) {
        prior.MakeFor(num_samples);
        const auto& queries = prior.queries();
        const std::vector<LocatedQuery> expected =
            MakePrior(store, statistics, num_samples, prefixes_only);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                               queries.begin(), queries.end(), IsSame));
      }
      if (prefixes_only) continue;
      EXPECT_EQ(family.keys.empty(), prior.queries().empty());
      double weight = 0;
      for (const LocatedQuery& query : prior.queries()) {
        EXPECT_GT(query.weight, 0);
        weight += query.weight;
      }
      EXPECT_NEAR(family.keys.empty() ? 0 : kPriorSamples, weight, 1e-4);
    }
  }
}

TEST(PriorTest, AHandfulOfKeysGivesFewQueries) {
  for (auto& [name, keys] : KeyFamilies(300, 43)) {
    const KeyStore store = Stored(
        Keys(keys.begin(), keys.begin() + std::min<ptrdiff_t>(5, keys.size())));
    EXPECT_LE(MakePrior(store, KeyStatistics(store), 0, false).size(), 150u)
        << name;
  }
}

TEST(PriorTest, DesignsHoldAllKeys) {
  for (const KeyFamily& family : HurtfulFamilies()) {
    SCOPED_TRACE(family.name);
    for (const char* spec : {"proteus:12", "proteus:5:bloom", "prefixbloom:12",
                             "prefixbloom2:12"}) {
      const MemoryFilter filter = FilterOf(spec, family.keys);
      SCOPED_TRACE(filter.report().design);
      ASSERT_NO_FATAL_FAILURE(ExpectHolds(*filter.block(), family.keys));
      for (const std::string& key : family.keys) {
        ASSERT_TRUE(LowerBoundHolds(*filter.block(), family.keys, key));
      }
    }
  }
}

// No query lies between keys that share all the bits that count, nor, as bits,
// between keys of which each is a prefix of the next.
TEST(PriorTest, NoQueryCanBeMade) {
  Keys chain;
  for (int i = 1; i <= 1100; i++) chain.push_back(std::string(i, 'a'));
  const Keys same_head = MakeKeys(200, [](size_t i) {
    return std::string(65536, 'x') + static_cast<char>(i);
  });
  for (const char* spec : {"proteus:12", "prefixbloom:12", "prefixbloom2:12"}) {
    for (size_t length = 800; length <= chain.size(); length += 17) {
      std::shared_ptr<const FilterPolicy> policy;
      ASSERT_OK(MakeFilterPolicy(spec, &policy));
      const auto builder = NewBuilder(*policy);
      for (size_t i = 0; i < length; i++) builder->AddKeyAndAlt(chain[i], "a");
      const OwnBlock block(Finish(builder.get()));
      for (size_t i = 0; i < length; i++) {
        ASSERT_TRUE(block->PrefixMayMatch(chain[i]));
      }
    }
    ExpectHolds(*FilterOf(spec, same_head).block(), same_head);
  }
}

// ---- Rates ----

// Keys by the name of their type, queries of which more bits let no more
// through from a number of bits on, and the largest rate with 14 bits.
struct UntaughtCase {
  const char* keys;
  WorkloadKind queries;
  double most;
  int least_bits = 10;
};

// Times of one entity, ids that begin with a time, texts and numbers.
constexpr UntaughtCase kUntaught[] = {
    {"user_window", WorkloadKind::kRange, 0.05},
    {"sensor_time", WorkloadKind::kRange, 0.05},
    {"device_time", WorkloadKind::kRange, 0.02},
    {"log_time", WorkloadKind::kRange, 0.02},
    {"uuid1", WorkloadKind::kRange, 0.02},
    {"uuid6", WorkloadKind::kRange, 0.02},
    {"uuid7", WorkloadKind::kRange, 0.02},
    {"ulid", WorkloadKind::kRange, 0.02},
    {"uuid7_bytes", WorkloadKind::kRange, 0.02},
    {"project", WorkloadKind::kRange, 0.1},
    {"order", WorkloadKind::kRange, 0.05},
    {"host_time", WorkloadKind::kRange, 0.03},
    {"tenant_time", WorkloadKind::kRange, 0.05},
    {"session", WorkloadKind::kRange, 0.05},
    {"edge", WorkloadKind::kRange, 0.05, 12},
    {"text", WorkloadKind::kRange, 1},
    {"u64", WorkloadKind::kShortRange, 0.03},
};

class UntaughtKeysTest : public testing::TestWithParam<UntaughtCase> {};

INSTANTIATE_TEST_SUITE_P(KeyTypes, UntaughtKeysTest,
                         testing::ValuesIn(kUntaught),
                         [](const auto& test) { return test.param.keys; });

// The keys of some files, and queries that find none of them.
struct WorkloadFiles {
  WorkloadFiles(KeyType type, WorkloadKind kind) {
    DataSet data(type, /*num_keys=*/100000, /*seed=*/47);
    const Keys all = data.StoredKeys();
    ranges = SplitByTruth(all, data.MakeQueries(kind, 20000)).first;
    points =
        SplitByTruth(all, data.MakeQueries(WorkloadKind::kPoint, 20000)).first;
    // Other files lack a hundredth of the keys, or two.
    keys = {all, {}, {}};
    for (size_t i = 0; i < all.size(); i++) {
      if (i % 100 != 0) keys[1].push_back(all[i]);
      if (i % 50 != 1) keys[2].push_back(all[i]);
    }
  }

  std::vector<Keys> keys;
  std::vector<Query> ranges;
  std::vector<Query> points;
};

struct Rates {
  double ranges = 0;
  double points = 0;
};

// The mean rates for several files and salts. The queries that the prior draws
// decide between designs of nearly the same cost, and the salt decides which
// few prefixes collide with others. A Bloom filter has no salt.
Rates RatesOf(const std::string& spec, const WorkloadFiles& files,
              uint64_t salts = 2) {
  const double share = 1.0 / static_cast<double>(salts * files.keys.size());
  Rates mean;
  for (const Keys& keys : files.keys) {
    for (uint64_t seed = 0; seed < salts; seed++) {
      const WithSalt salt(SaltOf(seed));
      const MemoryFilter filter = FilterOf(spec, keys);
      mean.ranges += share * RateOf(filter, files.ranges);
      mean.points += share * RateOf(filter, files.points);
    }
  }
  return mean;
}

// Whether `rate` exceeds `most` by no more than chance may add, at four
// standard deviations. A few queries more may always get through.
bool IsAtMost(double rate, double most, const std::vector<Query>& queries) {
  const auto n = static_cast<double>(queries.size());
  return rate <= most + 4 * std::sqrt(std::max(rate, most) / n) + 5 / n;
}

// The keys tell where their time is. More bits never let more through, and
// points pass no more often than by a Bloom filter of as many bits.
TEST_P(UntaughtKeysTest, LetsFewThrough) {
  const UntaughtCase& c = GetParam();
  KeyType type = KeyType::kU64;
  ASSERT_OK(ParseKeyType(c.keys, &type));
  const WorkloadFiles files(type, c.queries);
  double least = 1;
  for (const int bits : {10, 12, 14, 20}) {
    if (bits < c.least_bits) continue;
    SCOPED_TRACE(bits);
    const Rates rates = RatesOf("proteus:" + std::to_string(bits), files);
    EXPECT_TRUE(IsAtMost(rates.ranges, least, files.ranges))
        << rates.ranges << " after " << least;
    least = std::min(least, rates.ranges);
    const double bloom =
        RatesOf("bloom:" + std::to_string(bits), files, /*salts=*/1).points;
    EXPECT_TRUE(IsAtMost(rates.points, bloom, files.points))
        << rates.points << ", but " << bloom << " by a Bloom filter";
    if (bits == 14) {
      EXPECT_LE(rates.ranges, c.most);
      EXPECT_LE(rates.points, 0.004);
    }
  }
}

TEST(PriorTest, PointsNearPrintedKeys) {
  class Random64 rnd(45);
  using Key = std::function<std::string()>;
  using Change = std::function<void(std::string*)>;
  const auto digits = [&] { return Digits(rnd.Uniform(1000000000000), 12); };
  const auto text = [&] {
    std::string key(4 + rnd.Uniform(4), ' ');
    for (char& c : key) c = static_cast<char>('a' + rnd.Uniform(26));
    return key + ".smith" + std::to_string(rnd.Uniform(3000)) + "@mail.org";
  };
  const auto change_digit = [&](std::string* key) {
    (*key)[rnd.Uniform(key->size())] = static_cast<char>('0' + rnd.Uniform(10));
  };
  const auto change_case = [&](std::string* key) {
    (*key)[rnd.Uniform(4)] ^= 'a' ^ 'A';
  };
  const auto cut = [](std::string* key) { key->pop_back(); };
  const auto go_on = [](std::string* key) { key->push_back('.'); };
  for (const auto& [name, draw, change, most] :
       std::initializer_list<std::tuple<const char*, Key, Change, double>>{
           {"another digit", digits, change_digit, 0.03},
           {"cut", text, cut, 0.05},
           {"continued", text, go_on, 0.05},
           {"in other letters", text, change_case, 0.01}}) {
    SCOPED_TRACE(name);
    const Keys keys =
        MakeKeys(50000, [&, draw = draw](size_t) { return draw(); });
    std::vector<Query> points;
    while (points.size() < 10000) {
      std::string key = keys[rnd.Uniform(keys.size())];
      change(&key);
      if (!Holds(keys, {key, key})) points.push_back({key, key});
    }
    EXPECT_LT(RateOf(FilterOf("proteus:14", keys), points), most);
  }
}

// A point that is cut or continued has a length that no key has.
TEST(KeyLengthsTest, NeedNoProbe) {
  const Keys keys =
      MakeKeys(10000, [](size_t i) { return BigEndian(i * 1001); });
  for (const char* spec : {"proteus:12", "surf:0:4", "surf:0:0"}) {
    const MemoryFilter filter = FilterOf(spec, keys);
    Keys others;
    for (const std::string& key : keys) {
      ASSERT_TRUE(filter.reader()->MayMatch(key));
      others.insert(others.end(), {key + 'x', key + '\0', key.substr(0, 7)});
    }
    SCOPED_TRACE(spec);
    ExpectReaderSays(false, others, filter.reader());
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
