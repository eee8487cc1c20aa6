// SPDX-License-Identifier: Apache-2.0

//  The prior: queries made from the keys alone, and the designs that rest on
//  them.

#include "filter_policy/proteus/prior/prior.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/query_source.h"
#include "db_bench_ext/seed_samples.h"
#include "db_bench_ext/workload.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/key_families.h"
#include "tests/stored_keys.h"
#include "tests/with_salt.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Keys = std::vector<std::string>;
using PriorQueries = std::vector<LocatedQuery>;

PriorQueries PriorOf(const Keys& keys, bool prefixes_only = false) {
  const KeyStore store = Stored(keys);
  return MakePrior(store, KeyStatistics(store), /*num_samples=*/0,
                   prefixes_only);
}

std::vector<KeyFamily> HurtfulFamilies() {
  std::vector<KeyFamily> families = KeyFamilies(300, 41);
  families.push_back({"no key", {}});
  families.push_back({"the empty key", {""}});
  families.push_back({"one key", {"a key"}});
  families.push_back(
      {"zeros", {"", std::string(1, '\0'), std::string(9, '\0')}});
  families.push_back({"the last keys", {"\xff", "\xff\xff", "\xff\xff\xff"}});
  families.push_back(
      {"long keys", {std::string(5000, 'a'), std::string(70000, 'b')}});
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

}  // namespace

TEST(PriorTest, IsTheSameForTheSameKeys) {
  for (const KeyFamily& family : HurtfulFamilies()) {
    SCOPED_TRACE(family.name);
    for (bool prefixes_only : {false, true}) {
      const PriorQueries once = PriorOf(family.keys, prefixes_only);
      const PriorQueries again = PriorOf(family.keys, prefixes_only);
      ASSERT_EQ(once.size(), again.size());
      for (size_t i = 0; i < once.size(); i++) {
        EXPECT_EQ(once[i].lo_shared, again[i].lo_shared);
        EXPECT_EQ(once[i].hi_shared, again[i].hi_shared);
        EXPECT_EQ(once[i].lo_rest, again[i].lo_rest);
        EXPECT_EQ(once[i].hi_rest, again[i].hi_rest);
        EXPECT_EQ(once[i].weight, again[i].weight);
      }
    }
  }
}

// The prior of a file is made for the number of samples that is asked for last.
TEST(PriorTest, OfAFile) {
  for (const KeyFamily& family : HurtfulFamilies()) {
    SCOPED_TRACE(family.name);
    const KeyStore store = Stored(family.keys);
    const KeyStatistics statistics(store);
    FilePrior prior(store, statistics, /*prefixes_only=*/false);
    EXPECT_TRUE(prior.queries().empty());
    for (size_t num_samples : {0, 10, 5000, 5001, 20}) {
      prior.MakeFor(num_samples);
      const PriorQueries made =
          MakePrior(store, statistics, num_samples, /*prefixes_only=*/false);
      ASSERT_EQ(made.size(), prior.queries().size());
      for (size_t i = 0; i < made.size(); i++) {
        EXPECT_EQ(made[i].lo_rest, prior.queries()[i].lo_rest);
        EXPECT_EQ(made[i].weight, prior.queries()[i].weight);
      }
    }
  }
}

TEST(PriorTest, AHandfulOfKeysGivesFewQueries) {
  for (const auto& [name, keys] : KeyFamilies(300, 43)) {
    const Keys handful(keys.begin(),
                       keys.begin() + std::min<std::ptrdiff_t>(5, keys.size()));
    EXPECT_LE(PriorOf(handful).size(), 150u) << name;
  }
}

TEST(PriorTest, CountsAsOneSample) {
  for (const KeyFamily& family : HurtfulFamilies()) {
    SCOPED_TRACE(family.name);
    const PriorQueries queries = PriorOf(family.keys);
    if (family.keys.empty()) {
      EXPECT_TRUE(queries.empty());
      continue;
    }
    ASSERT_FALSE(queries.empty());
    double weight = 0;
    for (const LocatedQuery& query : queries) {
      EXPECT_GT(query.weight, 0);
      weight += query.weight;
    }
    EXPECT_NEAR(kPriorSamples, weight, 1e-4);
  }
}

// For any keys, a filter of the chosen design holds them all.
TEST(PriorTest, DesignsHoldAllKeys) {
  for (const KeyFamily& family : HurtfulFamilies()) {
    SCOPED_TRACE(family.name);
    for (const char* spec : {"proteus:12", "proteus:5:bloom", "prefixbloom:12",
                             "prefixbloom2:12"}) {
      std::shared_ptr<const FilterPolicy> policy;
      ASSERT_OK(MakeFilterPolicy(spec, &policy));
      const MemoryFilter filter(policy, family.keys);
      ASSERT_OK(filter.block()->status());
      SCOPED_TRACE(filter.report().design);
      for (const std::string& key : family.keys) {
        ASSERT_TRUE(filter.block()->KeyMayMatch(key)) << Hex(key);
        ASSERT_TRUE(filter.block()->RangeMayMatch(key, key, true)) << Hex(key);
        ASSERT_TRUE(filter.block()->RangeMayMatch(key, key + '\0', false));
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
  Keys same_head;
  for (int i = 0; i < 200; i++) {
    same_head.push_back(std::string(65536, 'x') + static_cast<char>(i));
  }
  for (const char* spec : {"proteus:12", "prefixbloom:12", "prefixbloom2:12"}) {
    for (size_t length = 800; length <= chain.size(); length += 5) {
      std::shared_ptr<const FilterPolicy> policy;
      ASSERT_OK(MakeFilterPolicy(spec, &policy));
      const std::unique_ptr<FilterBitsBuilder> builder = NewBuilder(*policy);
      for (size_t i = 0; i < length; i++) builder->AddKeyAndAlt(chain[i], "a");
      std::unique_ptr<const char[]> buffer;
      const FilterBlock block(builder->Finish(&buffer));
      ASSERT_OK(block.status());
      for (size_t i = 0; i < length; i++) {
        ASSERT_TRUE(block.PrefixMayMatch(chain[i]));
      }
    }
    std::shared_ptr<const FilterPolicy> policy;
    ASSERT_OK(MakeFilterPolicy(spec, &policy));
    const MemoryFilter filter(policy, same_head);
    ASSERT_OK(filter.block()->status());
    for (const std::string& key : same_head) {
      ASSERT_TRUE(filter.block()->KeyMayMatch(key));
    }
  }
}

namespace {

double RateOf(const MemoryFilter& filter, const std::vector<Query>& queries) {
  size_t matches = 0;
  for (const Query& query : queries) matches += filter.MayMatch(query);
  return static_cast<double>(matches) / static_cast<double>(queries.size());
}

struct UntaughtCase {
  const char* name;
  const char* keys;
  const char* queries;
  uint64_t rmax;
  double most;
};

constexpr UntaughtCase kUntaught[] = {
    {"points", "uniform", "uniform", 0, 0.002},
    {"short_ranges", "uniform", "uniform", 1 << 10, 0.03},
    {"long_ranges", "uniform", "uniform", 1 << 30, 0.06},
    {"behind_keys", "uniform", "correlated", 1 << 5, 0.08},
    {"normal_split", "normal", "split", 1 << 30, 0.08},
};

class UntaughtTest : public testing::TestWithParam<UntaughtCase> {};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Workloads, UntaughtTest, testing::ValuesIn(kUntaught),
                         [](const auto& test) { return test.param.name; });

// One design, chosen without any query, serves all of these queries.
TEST_P(UntaughtTest, FiltersFromTheFirstFileOn) {
  Rng rng(43);
  KeySourceOptions key_options;
  key_options.distribution = GetParam().keys;
  KeySource source;
  ASSERT_OK(MakeKeySource(key_options, &source));
  Keys keys;
  ASSERT_OK(DrawKeys(source, 100000, &rng, &keys));
  QueryOptions query_options;
  ASSERT_OK(ParseQueryDistribution(GetParam().queries, source,
                                   &query_options.distribution));
  query_options.rmax = GetParam().rmax;
  query_options.corr_degree = 1 << 10;
  const QuerySource query_source(query_options, source, keys);
  std::vector<Query> queries;
  ASSERT_OK(query_source.DrawEmpty(20000, &rng, &queries));
  std::shared_ptr<const FilterPolicy> policy;
  ASSERT_OK(MakeFilterPolicy("proteus:14", &policy));
  const MemoryFilter filter(policy, keys);
  EXPECT_LE(RateOf(filter, queries), GetParam().most) << filter.report().design;
  EXPECT_EQ("from the keys alone", filter.report().basis);
}

namespace {

struct WindowCase {
  const char* key_type;
  double most;
};

// Times of one entity, and ids that begin with a time.
constexpr WindowCase kWindowCases[] = {
    {"user_window", 0.05}, {"sensor_time", 0.05}, {"device_time", 0.02},
    {"log_time", 0.02},    {"uuid1", 0.02},       {"uuid6", 0.02},
    {"uuid7", 0.02},       {"ulid", 0.02},        {"uuid7_bytes", 0.02},
    {"project", 0.1},      {"order", 0.05},       {"host_time", 0.03},
    {"tenant_time", 0.05}, {"session", 0.05},     {"edge", 0.05},
};

class UntaughtWindowsTest : public testing::TestWithParam<WindowCase> {};

}  // namespace

INSTANTIATE_TEST_SUITE_P(KeyTypes, UntaughtWindowsTest,
                         testing::ValuesIn(kWindowCases),
                         [](const auto& test) { return test.param.key_type; });

// The keys tell where their time is, and windows of it are filtered. Absent
// keys are, as by a Bloom filter.
TEST_P(UntaughtWindowsTest, FilterFromTheFirstFileOn) {
  KeyType type = KeyType::kU64;
  ASSERT_OK(ParseKeyType(GetParam().key_type, &type));
  for (const WorkloadKind kind : {WorkloadKind::kRange, WorkloadKind::kPoint}) {
    Workload workload;
    ASSERT_OK(Generate(kind, type, {100000, 20000, 0, 46}, &workload));
    const std::vector<Query> empty =
        SplitByTruth(workload.keys, workload.queries).first;
    std::shared_ptr<const FilterPolicy> policy;
    ASSERT_OK(MakeFilterPolicy("proteus:14", &policy));
    const MemoryFilter filter(policy, workload.keys);
    EXPECT_LE(RateOf(filter, empty),
              kind == WorkloadKind::kRange ? GetParam().most : 0.004)
        << filter.report().design;
  }
}

namespace {

// Keys and queries whose rates must not rise with the bits.
struct MoreBitsCase {
  const char* name;
  KeyType keys;
  WorkloadKind queries;
};

constexpr MoreBitsCase kMoreBits[] = {
    {"user_window", KeyType::kUserWindow, WorkloadKind::kRange},
    {"sensor_time", KeyType::kSensorTime, WorkloadKind::kRange},
    {"device_time", KeyType::kDeviceTime, WorkloadKind::kRange},
    {"log_time", KeyType::kLogTime, WorkloadKind::kRange},
    {"uuid1", KeyType::kUuid1, WorkloadKind::kRange},
    {"uuid6", KeyType::kUuid6, WorkloadKind::kRange},
    {"uuid7", KeyType::kUuid7, WorkloadKind::kRange},
    {"uuid7_bytes", KeyType::kUuid7Bytes, WorkloadKind::kRange},
    {"ulid", KeyType::kUlid, WorkloadKind::kRange},
    {"order", KeyType::kOrder, WorkloadKind::kRange},
    {"project", KeyType::kProject, WorkloadKind::kRange},
    {"emails", KeyType::kText, WorkloadKind::kRange},
    {"numbers", KeyType::kU64, WorkloadKind::kShortRange},
};

class MoreBitsTest : public testing::TestWithParam<MoreBitsCase> {};

// What chance may add to a rate, at four standard deviations. A few queries
// more may always get through.
double Chance(double rate, size_t queries) {
  const auto n = static_cast<double>(queries);
  return 4 * std::sqrt(rate / n) + 5 / n;
}

// Some files of such keys, and queries for each.
std::vector<Workload> WorkloadsOf(WorkloadKind kind, KeyType type) {
  std::vector<Workload> workloads(3);
  uint64_t num_keys = 100000;
  for (Workload& workload : workloads) {
    EXPECT_OK(Generate(kind, type, {num_keys, 20000, 0, 47}, &workload));
    workload.queries = SplitByTruth(workload.keys, workload.queries).first;
    num_keys -= 1000;
  }
  return workloads;
}

// The mean rate for several files and salts. The queries that the prior draws
// decide between designs of nearly the same cost, and the salt decides which
// few prefixes collide with others.
double RateOf(const std::string& spec, const std::vector<Workload>& workloads) {
  constexpr uint64_t kSalts = 2;
  std::shared_ptr<const FilterPolicy> policy;
  EXPECT_OK(MakeFilterPolicy(spec, &policy));
  double sum = 0;
  for (const Workload& workload : workloads) {
    for (uint64_t seed = 0; seed < kSalts; seed++) {
      const WithSalt salt(SaltOf(seed));
      sum += RateOf(MemoryFilter(policy, workload.keys), workload.queries);
    }
  }
  return sum / (kSalts * workloads.size());
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(KeyTypes, MoreBitsTest, testing::ValuesIn(kMoreBits),
                         [](const auto& test) { return test.param.name; });

// More bits never let more through.
TEST_P(MoreBitsTest, LetNoMoreThrough) {
  const std::vector<Workload> workloads =
      WorkloadsOf(GetParam().queries, GetParam().keys);
  const size_t queries = workloads[0].queries.size();
  double least = 1;
  for (const char* bits : {"10", "12", "14", "16", "18", "20"}) {
    const double rate = RateOf(std::string("proteus:") + bits, workloads);
    EXPECT_LE(rate, least + Chance(std::max(least, rate), queries)) << bits;
    least = std::min(least, rate);
  }
}

// Points like the keys pass no more often than by a Bloom filter of as many
// bits.
TEST_P(MoreBitsTest, PointsAreAsPromised) {
  const std::vector<Workload> workloads =
      WorkloadsOf(WorkloadKind::kPoint, GetParam().keys);
  const size_t queries = workloads[0].queries.size();
  for (const char* bits : {"10", "14", "18"}) {
    const double bloom = RateOf(std::string("bloom:") + bits, workloads);
    const double rate = RateOf(std::string("proteus:") + bits, workloads);
    EXPECT_LE(rate, bloom + Chance(std::max(bloom, rate), queries)) << bits;
  }
}

// A few samples count, and the design still serves other queries.
TEST(PriorTest, ThreeSamples) {
  Rng rng(44);
  KeySource source;
  ASSERT_OK(MakeKeySource(KeySourceOptions(), &source));
  Keys keys;
  ASSERT_OK(DrawKeys(source, 50000, &rng, &keys));
  QueryOptions near;
  near.distribution = QueryDistribution::kCorrelated;
  near.rmax = 1 << 5;
  near.corr_degree = 1 << 10;
  std::vector<Query> samples;
  std::vector<Query> points;
  ASSERT_OK(QuerySource(near, source, keys).DrawEmpty(3, &rng, &samples));
  QueryOptions anywhere;
  anywhere.distribution = QueryDistribution::kUniform;
  anywhere.rmax = 0;
  ASSERT_OK(
      QuerySource(anywhere, source, keys).DrawEmpty(20000, &rng, &points));
  std::shared_ptr<const FilterPolicy> policy;
  ASSERT_OK(MakeFilterPolicy("proteus:14", &policy));
  SeedSamples(policy.get(), samples);
  const MemoryFilter filter(policy, keys);
  EXPECT_EQ(3u, filter.report().samples);
  EXPECT_EQ("from 3 sample queries and the keys", filter.report().basis);
  EXPECT_LT(RateOf(filter, points), 0.01);
}

// Points that look like printed keys: they have another digit, or are a text
// that is cut, continued, or in other letters.
TEST(PriorTest, PointsNearPrintedKeys) {
  class Random64 rnd(45);
  struct Case {
    const char* name;
    std::function<std::string()> key;
    std::function<void(std::string*)> change;
    double most;
  };
  const auto digits = [&] {
    char key[16];
    snprintf(key, sizeof(key), "%012llu",
             static_cast<unsigned long long>(rnd.Uniform(1000000000000)));
    return std::string(key);
  };
  const auto text = [&] {
    std::string key(4 + rnd.Uniform(4), ' ');
    for (char& c : key) c = static_cast<char>('a' + rnd.Uniform(26));
    return key + ".smith" + std::to_string(rnd.Uniform(3000)) + "@mail.org";
  };
  const std::vector<Case> cases = {
      {"another digit", digits,
       [&](std::string* key) {
         (*key)[rnd.Uniform(key->size())] =
             static_cast<char>('0' + rnd.Uniform(10));
       },
       0.03},
      {"cut", text, [](std::string* key) { key->pop_back(); }, 0.05},
      {"continued", text, [](std::string* key) { key->push_back('.'); }, 0.05},
      {"in other letters", text,
       [&](std::string* key) { (*key)[rnd.Uniform(4)] ^= 'a' ^ 'A'; }, 0.01},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Keys keys;
    for (int i = 0; i < 50000; i++) keys.push_back(c.key());
    SortUnique(&keys);
    const std::set<std::string> present(keys.begin(), keys.end());
    std::vector<Query> points;
    while (points.size() < 10000) {
      std::string key = keys[rnd.Uniform(keys.size())];
      c.change(&key);
      if (present.count(key) == 0) points.push_back({key, key});
    }
    std::shared_ptr<const FilterPolicy> policy;
    ASSERT_OK(MakeFilterPolicy("proteus:14", &policy));
    EXPECT_LT(RateOf(MemoryFilter(policy, keys), points), c.most);
  }
}

// A point that is cut or continued has a length that no key has.
TEST(KeyLengthsTest, NeedNoProbe) {
  Keys keys;
  for (uint64_t i = 0; i < 10000; i++) keys.push_back(BigEndianKey(i * 1001));
  for (const char* spec : {"proteus:12", "surf:0:4", "surf:0:0"}) {
    std::shared_ptr<const FilterPolicy> policy;
    ASSERT_OK(MakeFilterPolicy(spec, &policy));
    const MemoryFilter filter(policy, keys);
    std::vector<std::string> others;
    for (const std::string& key : keys) {
      ASSERT_TRUE(filter.reader()->MayMatch(key));
      others.push_back(key + 'x');
      others.push_back(key + '\0');
      others.push_back(key.substr(0, 7));
    }
    std::vector<Slice> slices(others.begin(), others.end());
    std::vector<Slice*> pointers;
    for (Slice& slice : slices) {
      EXPECT_FALSE(filter.reader()->MayMatch(slice)) << spec;
      pointers.push_back(&slice);
    }
    const std::unique_ptr<bool[]> answers(new bool[slices.size()]);
    filter.reader()->MayMatch(static_cast<int>(slices.size()), pointers.data(),
                              answers.get());
    for (size_t i = 0; i < slices.size(); i++) EXPECT_FALSE(answers[i]);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
