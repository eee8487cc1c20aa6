// SPDX-License-Identifier: Apache-2.0

//  Where keys and queries lie; rounds and processes of the workload write.

#include "db_bench_ext/workload.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <functional>
#include <map>
#include <set>

#include "db_bench_ext/child_process.h"
#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/key_source.h"
#include "db_bench_ext/query_source.h"
#include "db_bench_ext/workload_flags.h"
#include "db_bench_ext/write_summary.h"
#include "rocksdb/env.h"
#include "test_util/testharness.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kNumKeys = 10000;
constexpr uint64_t kNumQueries = 5000;

// b - a for keys of one length that differ in the last 8 bytes only.
uint64_t Distance(const std::string& a, const std::string& b) {
  EXPECT_EQ(a.size(), b.size());
  EXPECT_LE(a, b);
  EXPECT_EQ(a.substr(0, a.size() - 8), b.substr(0, b.size() - 8));
  return LeadingNumber(b.substr(b.size() - 8)) -
         LeadingNumber(a.substr(a.size() - 8));
}

KeySource Source(const std::string& distribution, size_t key_bytes) {
  KeySourceOptions options;
  options.strings = key_bytes != 8;
  options.distribution = distribution;
  options.key_bytes = key_bytes;
  KeySource source;
  EXPECT_OK(MakeKeySource(options, &source));
  return source;
}

Keys Draw(const KeySource& source, uint64_t num = kNumKeys,
          uint64_t seed = 42) {
  Rng rng(seed);
  Keys keys;
  EXPECT_OK(DrawKeys(source, num, &rng, &keys));
  return keys;
}

std::vector<Query> DrawEmpty(const QueryOptions& options,
                             const KeySource& source, const Keys& keys,
                             uint64_t seed = 1) {
  Rng rng(seed);
  std::vector<Query> queries;
  EXPECT_OK(QuerySource(options, source, keys)
                .DrawEmpty(kNumQueries, &rng, &queries));
  return queries;
}

WriteCost Cost(double cpu, double compaction_cpu) {
  WriteCost cost;
  cost.cpu_seconds = cpu;
  cost.compaction_cpu_seconds = compaction_cpu;
  return cost;
}

}  // namespace

TEST(KeyArithmeticTest, CarriesAndSaturates) {
  const std::string largest(10, '\xff');
  const std::string smallest(10, '\0');
  EXPECT_EQ(BigEndianKey(0x10000), KeyPlus(BigEndianKey(0xffff), 1));
  EXPECT_EQ(BigEndianKey(0xffff), KeyMinus(BigEndianKey(0x10000), 1));
  EXPECT_EQ(BigEndianKey(~uint64_t{0}), KeyPlus(BigEndianKey(5), ~uint64_t{5}));
  EXPECT_EQ(BigEndianKey(~uint64_t{0}), KeyPlus(BigEndianKey(6), ~uint64_t{5}));
  EXPECT_EQ(BigEndianKey(0), KeyMinus(BigEndianKey(6), 7));
  EXPECT_EQ(largest, KeyPlus(largest, 1));
  EXPECT_EQ(largest, KeyPlus(KeyMinus(largest, 1000), 1001));
  EXPECT_EQ(smallest, KeyMinus(KeyPlus(smallest, 1000), 1001));
  Rng rng(1);
  for (int i = 0; i < 1000; i++) {
    const uint64_t a = rng();
    const uint64_t b = rng() >> (rng() % 64);
    const std::string key = "\x01\x7f" + BigEndianKey(a);
    EXPECT_EQ(key, KeyMinus(KeyPlus(key, b), b));
    if (a + b >= a) {
      EXPECT_EQ(BigEndianKey(a + b), KeyPlus(BigEndianKey(a), b));
    }
  }
}

TEST(KeySourceTest, KeysAreSortedDistinctAndDependOnTheSeed) {
  const std::pair<std::string, size_t> sources[] = {
      {"uniform", 8},   {"normal", 8},   {"books", 8},
      {"facebook", 8},  {"uniform", 10}, {"normal", 25},
      {"uniform", 180}, {"domain", 0},   {"text", 0}};
  for (const auto& [name, bytes] : sources) {
    SCOPED_TRACE(name + std::to_string(bytes));
    const KeySource source = Source(name, bytes);
    EXPECT_EQ(bytes, source.key_bytes);
    const Keys keys = Draw(source);
    ASSERT_EQ(kNumKeys, keys.size());
    for (size_t i = 0; i < keys.size(); i++) {
      ASSERT_TRUE(i == 0 || keys[i - 1] < keys[i]);
      ASSERT_TRUE(bytes == 0 || bytes == keys[i].size());
    }
    EXPECT_EQ(keys, Draw(source));
    EXPECT_NE(keys, Draw(source, kNumKeys, 43));
  }
}

// With every compiler and on every CPU.
TEST(KeySourceTest, SeedGivesTheSameKeysEverywhere) {
  const std::pair<const char*, const char*> first_keys[] = {
      {"text", "com.gmail.host1792@carla.gracem684755"},
      {"url",
       "http://www.david-books.com/products/category-49/item-emma-48558.html"},
      {"domain", "com.carla1212.felix@emma48"},
      {"name", "tarjox-xelpati_docs"},
      {"path",
       "/usr/lib/python3/dist-packages/xelpati/tests/harpel/"
       "docs_auth_mail.cpython-311.pyc"},
      {"host", "com.nukar.www10.ap-south-136"},
      {"user_time", "user:006361|2026-03-04T21:30:29.770Z"},
      {"user_window", "user:001272|2026-01-29T21:42:37.048Z"},
      {"sensor_time", "site-38/sensor-26/1767555366106"},
      {"device_time", "000000000000097918879E3D95A41E1E"},
      {"host_time", "sql-2890.us-east-1.example.com 2026-01-04 19:36:06,106"},
      {"session", "audit-e59d274a-1767555366106-242"},
      {"tenant_time", "8CB8119B8A827CDA"},
      {"edge", "0000000000001DD1000500000000000051F3"},
      {"edge_text", "n60445727/blocks/n166132701"},
      {"package", "@hanetlo/lopael"},
      {"log_time", "2026-01-08 06:36:18,317 host-012 963486"},
      {"uuid1", "9cae4d19-e9a4-11f0-944f-02006253844f"},
      {"uuid6", "1f0e9a49-cae4-6d19-944f-02006253844f"},
      {"uuid7", "019b9c52-000d-79e3-bda9-c3589a40aedf"},
      {"uuid7_bytes", "019B9C52000D79E3BDA9C3589A40AEDF"},
      {"ulid", "01KEE5400D7BWM3AF3C9MG5EVW"},
      {"project", "/home/derder/projects/reder/ficon/mipalo_banet.cc"},
      {"order", "elder-25|address|5WGPpQMfryB0"},
  };
  for (const auto& [name, first_key] : first_keys) {
    KeyType type = KeyType::kU64;
    ASSERT_OK(ParseKeyType(name, &type));
    Rng rng(47);
    const std::string key = SourceOf(type).draw(&rng);
    const bool is_text = std::all_of(
        key.begin(), key.end(), [](char c) { return c >= ' ' && c <= '~'; });
    EXPECT_EQ(first_key, is_text ? key : Hex(key)) << name;
  }
}

TEST(KeySourceTest, NormalKeysHaveTheirMeanAndDeviation) {
  for (size_t bytes : {8, 25}) {
    double sum = 0;
    double squares = 0;
    uint64_t low_bits = 0;
    for (const std::string& key : Draw(Source("normal", bytes))) {
      const double x = static_cast<double>(LeadingNumber(key)) * 0x1p-64;
      sum += x;
      squares += x * x;
      low_bits |= LeadingNumber(key);
    }
    const double mean = sum / kNumKeys;
    EXPECT_NEAR(0.5, mean, 0.001);
    EXPECT_NEAR(0.01, std::sqrt(squares / kNumKeys - mean * mean), 0.001);
    // All bits are drawn, not those of a double only.
    EXPECT_EQ(0x7ff, low_bits & 0x7ff);
  }
}

TEST(KeySourceTest, BooksAreSkewedAndIdsAreDense) {
  const Keys books = Draw(Source("books", 8));
  const uint64_t median = LeadingNumber(books[kNumKeys / 2]);
  EXPECT_NEAR(56, std::log2(static_cast<double>(median)), 0.5);
  EXPECT_GT(LeadingNumber(books[kNumKeys * 9 / 10]) / 8, median);

  const Keys ids = Draw(Source("facebook", 8));
  EXPECT_LT(LeadingNumber(ids.back()), uint64_t{200'000'000} * 384);
  EXPECT_GT(LeadingNumber(ids.back()), uint64_t{190'000'000} * 384);
}

TEST(KeySourceTest, RefusesWhatItCannotDraw) {
  KeySource source;
  for (const auto& [distribution, strings, bytes, allowed] :
       {std::tuple("domain", false, 8, false),
        {"domain", true, 8, true},
        {"books", true, 8, false},
        {"uniform", true, 7, false}}) {
    KeySourceOptions options;
    options.distribution = distribution;
    options.strings = strings;
    options.key_bytes = static_cast<size_t>(bytes);
    EXPECT_EQ(allowed ? Status::kOk : Status::kInvalidArgument,
              MakeKeySource(options, &source).code())
        << distribution;
  }
  KeySource ten;
  ten.key_bytes = 8;
  ten.draw = [](Rng* rng) { return BigEndianKey((*rng)() % 10); };
  Rng rng(1);
  Keys keys;
  EXPECT_TRUE(DrawKeys(ten, 11, &rng, &keys).IsInvalidArgument());
  EXPECT_OK(DrawKeys(ten, 10, &rng, &keys));
  // No query is empty.
  QueryOptions options;
  options.distribution = QueryDistribution::kReal;
  std::vector<Query> queries;
  EXPECT_TRUE(QuerySource(options, ten, keys)
                  .DrawEmpty(10, &rng, &queries)
                  .IsInvalidArgument());
  // Text that is read as numbers.
  const std::string file = test::PerThreadDBPath("keys");
  EXPECT_OK(WriteStringToFile(Env::Default(), "user:000001\n", file));
  const Status s = ReadKeys(file, /*text=*/false, &keys);
  EXPECT_NE(std::string::npos, s.ToString().find("set --key_type=text"));
  EXPECT_OK(Env::Default()->DeleteFile(file));
}

TEST(QuerySourceTest, OffsetsAndDistancesAreInRange) {
  for (size_t bytes : {8, 25}) {
    const KeySource source = Source("normal", bytes);
    const Keys keys = Draw(source);
    for (QueryDistribution distribution :
         {QueryDistribution::kUniform, QueryDistribution::kCorrelated,
          QueryDistribution::kSplit, QueryDistribution::kReal}) {
      QueryOptions options;
      options.distribution = distribution;
      options.rmin = 5;
      options.rmax = 100;
      options.rmax_correlated = 10;
      options.corr_degree = 64;
      uint64_t largest = 0;
      uint64_t near = 0;
      const std::vector<Query> queries = DrawEmpty(options, source, keys);
      ASSERT_EQ(kNumQueries, queries.size());
      for (const Query& query : queries) {
        ASSERT_EQ(bytes, query.lo.size());
        ASSERT_FALSE(Holds(keys, query));
        const uint64_t offset = Distance(query.lo, query.hi);
        ASSERT_GE(offset, options.rmin);
        ASSERT_LE(offset, options.rmax);
        largest = std::max(largest, offset);
        if (Holds(keys, {KeyMinus(query.lo, 64), KeyMinus(query.lo, 1)})) {
          near++;
          if (distribution == QueryDistribution::kSplit) {
            ASSERT_LE(offset, 10);
          }
        }
      }
      EXPECT_EQ(options.rmax, largest);
      if (distribution == QueryDistribution::kCorrelated) {
        EXPECT_EQ(kNumQueries, near);
      } else if (distribution == QueryDistribution::kSplit) {
        EXPECT_NEAR(kNumQueries / 2, near, 200);
      } else {
        EXPECT_LT(near, 10);
      }
      EXPECT_EQ(queries.front().lo,
                DrawEmpty(options, source, keys).front().lo);
      EXPECT_NE(queries.front().lo,
                DrawEmpty(options, source, keys, 2).front().lo);
    }
  }
}

TEST(QuerySourceTest, NoRangeWrapsRoundTheEnd) {
  // One key at either end of the space.
  const KeySource source = Source("uniform", 8);
  const Keys keys = {BigEndianKey(0), BigEndianKey(~uint64_t{0})};
  QueryOptions options;
  options.rmax = uint64_t{1} << 63;
  const QuerySource uniform(options, source, keys);
  options.distribution = QueryDistribution::kCorrelated;
  const QuerySource correlated(options, source, keys);
  Rng rng(1);
  for (int i = 0; i < 1000; i++) {
    const Query query = uniform.Draw(&rng);
    EXPECT_GE(Distance(query.lo, query.hi), 2);
    EXPECT_LE(LeadingNumber(query.lo), ~uint64_t{0} - options.rmax);
    const Query other = correlated.Draw(&rng);
    EXPECT_LE(other.lo, other.hi);
    const Query positive = correlated.DrawPositive(&rng);
    EXPECT_LE(positive.lo, positive.hi);
    EXPECT_TRUE(Holds(keys, positive));
  }
}

TEST(QuerySourceTest, PointsAndText) {
  const KeySource source = Source("domain", 0);
  const Keys keys = Draw(source);
  QueryOptions options;
  options.distribution = QueryDistribution::kReal;
  for (const Query& query : DrawEmpty(options, source, keys)) {
    ASSERT_EQ(query.hi, KeyPlus(query.lo, 1));
  }
  options.point_share = 0.25;
  uint64_t points = 0;
  for (const Query& query : DrawEmpty(options, source, keys)) {
    points += query.lo == query.hi;
  }
  EXPECT_NEAR(kNumQueries / 4, points, kNumQueries / 10);
  options.rmax = 0;
  for (const Query& query : DrawEmpty(options, source, keys)) {
    ASSERT_EQ(query.lo, query.hi);
  }
  QueryDistribution parsed;
  EXPECT_OK(ParseQueryDistribution("real", source, &parsed));
  EXPECT_TRUE(
      ParseQueryDistribution("uniform", source, &parsed).IsInvalidArgument());
}

TEST(QuerySourceTest, UpperBoundLiesJustBehindTheRange) {
  const KeySource numbers = Source("uniform", 8);
  const std::string number = BigEndianKey(255);
  EXPECT_EQ(BigEndianKey(256), UpperBoundOf({number, number}, numbers));
  EXPECT_EQ(number, UpperBoundOf({"", number, false}, numbers));
  const std::string largest(8, '\xff');
  EXPECT_EQ(largest + '\0', UpperBoundOf({largest, largest}, numbers));
  EXPECT_EQ(std::string("a\0", 2),
            UpperBoundOf({"a", "a"}, Source("domain", 0)));
}

// Scans find nothing, are longer than what keys share, and exclude their ends.
TEST(QuerySourceTest, ScansOfPrefixes) {
  const KeySource source = Source("domain", 0);
  const Keys keys = Draw(source, 5000);
  QueryOptions options;
  options.distribution = QueryDistribution::kPrefix;
  const QuerySource queries(options, source, keys);
  Rng rng(1);
  std::set<size_t> lengths;
  for (int i = 0; i < 1000; i++) {
    const Query query = queries.Draw(&rng);
    EXPECT_FALSE(Holds(keys, query)) << query.lo;
    EXPECT_FALSE(query.hi_inclusive);
    EXPECT_EQ(query.lo.size(), query.hi.size());
    EXPECT_EQ(query.lo.back() + 1, query.hi.back());
    lengths.insert(query.lo.size());
    const Query positive = queries.DrawPositive(&rng);
    EXPECT_TRUE(Holds(keys, positive)) << positive.lo;
  }
  EXPECT_GT(lengths.size(), 5u);
  // A query includes its end, or does not.
  EXPECT_TRUE(Holds({"a"}, {"", "a"}));
  EXPECT_FALSE(Holds({"a"}, {"", "a", false}));
}

TEST(WorkloadTest, NamesAreTheSameForAllPrograms) {
  const NamedWorkload* workload = nullptr;
  for (const std::string name : {"point", "range", "mixed", "prefix",
                                 "short_range", "ranges", "strings"}) {
    for (const bool engine : {false, true}) {
      EXPECT_OK(FindWorkload(name, engine, &workload));
      EXPECT_EQ(name, workload->name);
    }
  }
  for (const char* name : {"timeseries", "open_seeks", "cache_sizes"}) {
    EXPECT_OK(FindWorkload(name, /*engine=*/true, &workload));
    EXPECT_TRUE(
        FindWorkload(name, /*engine=*/false, &workload).IsInvalidArgument());
  }
}

TEST(DataSetTest, HalfOfTheQueriesFindNothing) {
  for (KeyType type :
       {KeyType::kU64, KeyType::kText, KeyType::kDense, KeyType::kTimeseries,
        KeyType::kUrl, KeyType::kDomain, KeyType::kName, KeyType::kPath,
        KeyType::kHost, KeyType::kUserTime}) {
    Workload workload;
    ASSERT_OK(Generate(WorkloadKind::kPoint, type,
                       {kNumKeys, kNumQueries, /*samples=*/1000, /*seed=*/7},
                       &workload));
    EXPECT_EQ(kNumKeys, workload.keys.size());
    EXPECT_TRUE(std::is_sorted(workload.keys.begin(), workload.keys.end()));
    const auto [empty, positive] =
        SplitByTruth(workload.keys, workload.queries);
    EXPECT_EQ(kNumQueries, empty.size() + positive.size());
    EXPECT_NEAR(kNumQueries / 2, empty.size(), kNumQueries / 20);
    EXPECT_EQ(1000, workload.samples.size());
    for (const Query& sample : workload.samples) {
      ASSERT_FALSE(Holds(workload.keys, sample));
    }
  }
}

// Zipf's law with an exponent of nearly 1 gives the most popular of n keys a
// share of 1 / (ln n + .577) of the queries, the second one half of that.
TEST(DataSetTest, AccessByZipfsLaw) {
  DataSet data(KeyType::kU64, /*num_keys=*/5000, /*seed=*/7, {}, /*zipf=*/true);
  std::map<std::string, int> times;
  for (const Query& query : data.MakeQueries(WorkloadKind::kPoint, 100000)) {
    times[query.lo]++;
  }
  std::vector<int> most;
  for (const auto& key : times) most.push_back(key.second);
  std::sort(most.rbegin(), most.rend());
  EXPECT_NEAR(100000 / (std::log(10000) + .577), most[0], 1500);
  EXPECT_NEAR(most[0] / 2.0, most[1], 1500);
  EXPECT_GT(most.size(), 7000u);
}

TEST(DataSetTest, RangesLieBehindKeysAndMixedOnesTakeTurns) {
  DataSet data(KeyType::kTimeseries, kNumKeys, /*seed=*/7);
  const std::vector<Query> queries =
      data.MakeQueries(WorkloadKind::kMixed, 100);
  for (size_t i = 0; i < queries.size(); i++) {
    const Query& query = queries[i];
    if (i % 2 == 0) {
      ASSERT_EQ(query.lo, query.hi);
      continue;
    }
    // A window over all sensors.
    EXPECT_EQ(std::string(8, '\0'), query.lo.substr(8));
    EXPECT_EQ(std::string(8, '\xff'), query.hi.substr(8));
    const uint64_t size = LeadingNumber(query.hi) - LeadingNumber(query.lo);
    EXPECT_EQ(LeadingNumber(queries[1].hi) - LeadingNumber(queries[1].lo),
              size);
    EXPECT_GT(size, 0);
  }
}

// Scans of the first fields of keys, which end with a field or with the key.
TEST(DataSetTest, PrefixesEndWithAField) {
  for (KeyType type : {KeyType::kText, KeyType::kName, KeyType::kPath,
                       KeyType::kHost, KeyType::kUserTime}) {
    Workload workload;
    ASSERT_OK(Generate(WorkloadKind::kPrefix, type,
                       {kNumKeys, kNumQueries, /*samples=*/100, /*seed=*/7},
                       &workload));
    size_t whole_fields = 0;
    for (const Query& query : workload.queries) {
      const std::string& prefix = query.lo;
      whole_fields += !isalnum(static_cast<uint8_t>(prefix.back()));
      std::string end = prefix;
      end.back()++;
      ASSERT_EQ(end, query.hi);
    }
    EXPECT_GT(whole_fields, workload.queries.size() / 8);
    EXPECT_FALSE(SplitByTruth(workload.keys, workload.queries).first.empty());
  }
}

TEST(DataSetTest, RefusesWhatKeysCannotBeAskedFor) {
  Workload workload;
  for (const auto& [kind, type, keys] :
       {std::tuple(WorkloadKind::kShortRange, KeyType::kText, kNumKeys),
        {WorkloadKind::kPrefix, KeyType::kU64, kNumKeys},
        {WorkloadKind::kPoint, KeyType::kText, uint64_t{0}}}) {
    EXPECT_TRUE(
        Generate(kind, type, {keys, 1, 0, 1}, &workload).IsInvalidArgument());
  }
}

TEST(WorkloadFlagsTest, ParsesAmounts) {
  uint64_t value = 0;
  for (const auto& [text, amount] : std::map<std::string, uint64_t>{
           {"1024", 1024}, {"2^63", uint64_t{1} << 63}, {"0", 0}}) {
    EXPECT_OK(ParseAmount("--rmax", text, &value));
    EXPECT_EQ(amount, value) << text;
  }
  for (const char* text : {"", "-1", "2^64", "2^", "^2", "1e3", "2^2^2",
                           "99999999999999999999", "3^41"}) {
    EXPECT_TRUE(ParseAmount("--rmax", text, &value).IsInvalidArgument())
        << text;
  }
}

// ---- The workload write ----

TEST(WriteSummaryTest, MediansAndRatiosOfRounds) {
  // The second round was slow for both.
  const std::vector<WriteCost> base = {Cost(2, 1), Cost(20, 10), Cost(4, 1)};
  const std::vector<WriteCost> costs = {Cost(3, 2), Cost(30, 15), Cost(5, 4)};
  const WriteRow row = SummarizeWriting(costs, base);
  EXPECT_EQ(3u, row.rounds);
  EXPECT_EQ(5, row.cost.cpu_seconds);
  EXPECT_EQ(4, row.cost.compaction_cpu_seconds);
  EXPECT_EQ(1.5, row.cpu_ratio);
  EXPECT_EQ(2, row.compaction_cpu_ratio);
  EXPECT_EQ(1.5, row.min_compaction_cpu_ratio);
  EXPECT_EQ(4, row.max_compaction_cpu_ratio);
  // Nothing was compacted.
  const WriteRow none = SummarizeWriting({Cost(1, 0)}, {Cost(1, 0)});
  EXPECT_EQ(1, none.cpu_ratio);
  EXPECT_EQ(0, none.compaction_cpu_ratio);
}

TEST(ChildProcessTest, HandsOverWhatItMade) {
  const std::string bytes = std::string(100000, 'x') + '\0' + 'y';
  const pid_t parent = getpid();
  std::string text;
  ASSERT_OK(RunInChild(
      [&](std::string* made) {
        *made = getpid() == parent ? "no child" : bytes;
        return Status::OK();
      },
      &text));
  EXPECT_EQ(bytes, text);
}

TEST(ChildProcessTest, SaysWhyItFailed) {
  const auto expect = [](const std::string& words,
                         const std::function<Status()>& work) {
    std::string text;
    const Status s =
        RunInChild([&work](std::string*) { return work(); }, &text);
    EXPECT_TRUE(s.IsAborted()) << s.ToString();
    EXPECT_NE(std::string::npos, s.ToString().find(words)) << s.ToString();
  };
  expect("the disk: is full",
         [] { return Status::IOError("the disk", "is full"); });
  expect("ended by signal 9", [] {
    raise(SIGKILL);
    return Status::OK();
  });
  expect("ended early", []() -> Status { _exit(3); });
}

}  // namespace ROCKSDB_NAMESPACE::protean
