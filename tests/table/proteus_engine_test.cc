// SPDX-License-Identifier: Apache-2.0

//  A DB whose files design their filters themselves: answers are always right,
//  and filters follow the queries.

#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/seed_samples.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "plugin/refresh_filters.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class ProteusEngineTest : public OwnDBTest,
                          public testing::WithParamInterface<const char*> {
 protected:
  ProteusEngineTest() : OwnDBTest(ManySmallFiles(4)) {}

  // Compares a seek in [lo, hi) and the following steps with the model.
  void CompareSeek(const std::string& lo, const std::string& hi) {
    const Slice upper(hi);
    ReadOptions options;
    options.iterate_upper_bound = &upper;
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    auto expected = model_.lower_bound(lo);
    it->Seek(lo);
    for (int step = 0; step < 4; step++) {
      const bool there = expected != model_.end() && expected->first < hi;
      ASSERT_EQ(there, it->Valid()) << Hex(lo) << " " << Hex(hi);
      ASSERT_OK(it->status());
      if (!there) return;
      ASSERT_EQ(Hex(expected->first), Hex(it->key()));
      ASSERT_EQ(expected->second, it->value().ToString());
      ++expected;
      it->Next();
    }
  }

  Records model_;
};

std::string AnyKey(Random* rnd, bool text) {
  if (!text) return BigEndian(uint64_t{rnd->Uniform(1 << 20)} << 20);
  return "user" + std::to_string(rnd->Uniform(20000)) +
         RandomString(rnd, std::string("\0x\xff", 3), 2);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Policies, ProteusEngineTest,
                         testing::Values("proteus:10", "prefixbloom:10",
                                         "prefixbloom2:12:bloom",
                                         "proteus:16:ribbon"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

TEST_P(ProteusEngineTest, RandomWorkload) {
  for (bool text : {false, true}) {
    SCOPED_TRACE(text);
    Random rnd(text ? 51 : 52);
    SetPolicy(GetParam(), "block_size=512");
    OpenNew();
    model_.clear();
    for (int step = 0; step < 12000; step++) {
      const std::string key = AnyKey(&rnd, text);
      if (rnd.OneIn(8)) {
        Delete(key);
        model_.erase(key);
      } else if (rnd.OneIn(500)) {
        const std::string end = key + '\xff';
        ASSERT_OK(db_->DeleteRange(WriteOptions(), key, end));
        model_.erase(model_.lower_bound(key), model_.lower_bound(end));
      } else {
        const std::string value = std::to_string(step);
        Put(key, value);
        model_[key] = value;
      }
      if (step % 1000 == 999) Flush();
      if (step % 4000 == 3999) {
        ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
      }
      if (step % 3 != 0 || step < 500) continue;
      std::string lo = AnyKey(&rnd, text);
      if (rnd.OneIn(2)) lo = Around(lo)[rnd.Uniform(4)];
      std::string hi = lo;
      if (rnd.OneIn(2)) {
        hi += '\x01';
      } else if (hi.back() != '\xff') {
        hi.back()++;
      }
      ASSERT_NO_FATAL_FAILURE(CompareSeek(lo, hi));
      ASSERT_NO_FATAL_FAILURE(CompareSeek(lo, AnyKey(&rnd, text)));
      for (const std::string& point : {lo, key}) {
        std::string value;
        const Status s = db_->Get(ReadOptions(), point, &value);
        const auto expected = model_.find(point);
        ASSERT_EQ(expected != model_.end(), s.ok()) << Hex(point);
        if (s.ok()) {
          ASSERT_EQ(expected->second, value);
        } else {
          ASSERT_TRUE(s.IsNotFound());
        }
      }
    }
    EXPECT_GT(ProteanPolicyOf(options_)
                  ->Samples()
                  ->Queue(kDefaultColumnFamilyName, Env::Default(), nullptr)
                  ->recorded(),
              10u);
    EXPECT_GT(Ticks(BLOOM_FILTER_USEFUL), 100u);
    EXPECT_GT(FilteredSeeks(), 20u);
    ASSERT_OK(options_.statistics->Reset());
  }
}

// ---- Adaptation ----

namespace {

// A DB of numbers, in a few files of one level, and two kinds of queries that
// need different filters.
class AdaptationTest : public RefreshTest {
 protected:
  AdaptationTest() {
    policy_options_.bits_per_key = 12;
    NewPolicy();
    options_.target_file_size_base = 64 << 20;
    keys_.resize(20000);
    Open();
    WriteFile(keys_);
  }

  // All queries ask the filter.
  double RateInDB(const std::vector<Query>& queries) {
    const uint64_t before = FilteredSeeks();
    const double rate = RefreshTest::RateInDB(queries);
    const auto asked = static_cast<double>(queries.size());
    EXPECT_NEAR(asked * (1 - rate),
                static_cast<double>(FilteredSeeks() - before), 0.1);
    return rate;
  }
  std::vector<Query> Anywhere(bool close, uint64_t seed) const {
    return Queries(close, seed, 3000, /*lowest=*/1);
  }
  // The rate of a filter that is built of all keys for these samples.
  double FreshRate(const std::vector<Query>& samples,
                   const std::vector<Query>& queries) const {
    const auto policy = std::make_shared<ProteusFilterPolicy>(
        DesignSpace::kProteus, policy_options_);
    SeedSamples(policy.get(), samples);
    const MemoryFilter filter(policy, keys_);
    uint64_t positives = 0;
    for (const Query& query : queries) positives += filter.MayMatch(query);
    return static_cast<double>(positives) / static_cast<double>(queries.size());
  }

  size_t DesignLines() const {
    return log_->Lines({"Protean: ", "predicted false positive rate"}).size();
  }
};

}  // namespace

TEST_F(AdaptationTest, FiltersFollowTheQueries) {
  const std::vector<Query> wide = Anywhere(/*close=*/false, 1);
  const std::vector<Query> close = Anywhere(/*close=*/true, 2);
  const std::vector<Query> wide_again = Anywhere(/*close=*/false, 3);
  const std::vector<Query> close_again = Anywhere(/*close=*/true, 4);

  // The filters are designed from the keys alone.
  EXPECT_LT(RateInDB(wide), 0.5);
  Run(wide);
  Compact();
  const double fresh_wide = FreshRate(wide, wide_again);
  const double rate_wide = RateInDB(wide_again);
  EXPECT_LE(rate_wide, 1.1 * fresh_wide + kNoise);
  EXPECT_LT(rate_wide, 0.2);

  // The queries shift.
  const double before = RateInDB(close_again);
  Run(close);
  Compact();
  const double fresh_close = FreshRate(close, close_again);
  const double rate_close = RateInDB(close_again);
  EXPECT_LE(rate_close, 1.1 * fresh_close + kNoise);
  EXPECT_LT(rate_close, before);

  // The queries shift back.
  Run(wide);
  Compact();
  EXPECT_LE(RateInDB(wide_again), 1.1 * fresh_wide + kNoise);
}

TEST_F(AdaptationTest, OneLineInTheLogForEachFile) {
  EXPECT_EQ(1u, DesignLines());
  EXPECT_EQ(1u, log_->Lines({"Protean: ", "from the keys alone"}).size());
  Run(Anywhere(/*close=*/false, 5));
  Compact();
  std::vector<LiveFileMetaData> files = Files();
  ASSERT_EQ(1u, files.size());
  EXPECT_EQ(2u, DesignLines());
  const Keys lines = log_->Lines({"sample queries and the keys: predicted"});
  ASSERT_EQ(1u, lines.size());
  EXPECT_NE(std::string::npos, lines[0].find("searched in"));

  CompactionOptions compaction;
  compaction.output_file_size_limit = 100 << 10;
  ASSERT_OK(db_->CompactFiles(compaction, {files[0].name}, files[0].level));
  files = Files();
  EXPECT_GT(files.size(), 3u);
  EXPECT_EQ(2u + files.size(), DesignLines());
}

// The OPTIONS file that RocksDB itself writes.
TEST_F(AdaptationTest, LogFile) {
  options_.info_log = nullptr;
  Open();
  Run(Anywhere(/*close=*/true, 6));
  Compact();
  std::string text;
  ASSERT_OK(ReadFileToString(Env::Default(), path_ + "/LOG", &text));
  size_t lines = 0;
  for (size_t at = 0; (at = text.find("predicted false positive rate", at)) !=
                      std::string::npos;
       at++) {
    lines++;
  }
  EXPECT_EQ(1u, lines);
}

// ---- Designs that are kept from file to file ----

namespace {

// A DB whose every flush writes other keys into a file of level 0.
class KeptDesignsTest : public OwnDBTest {
 protected:
  KeptDesignsTest() : OwnDBTest(Options()) {
    policy_options_.sample_every = 1;
    policy_options_.sample_capacity = 2000;
    policy_options_.level_bits = ProteusPolicyOptions::kEqualLevelBits;
    options_.disable_auto_compactions = true;
    OpenWithNewPolicy();
  }

  void OpenWithNewPolicy() {
    BlockBasedTableOptions table;
    table.filter_policy = std::make_shared<ProteusFilterPolicy>(
        DesignSpace::kProteus, policy_options_);
    options_.table_factory = NewProteanTableFactory(table);
    Open();
  }
  // Writes a file of random numbers below 2^bits.
  void WriteFile(int bits = 64) {
    constexpr int kKeysOfFile = 2000;
    for (int i = 0; i < kKeysOfFile; i++)
      Put(BigEndian(random_() >> (64 - bits)));
    Flush();
  }
  size_t Searched() const {
    return log_->Lines({"Protean: ", ", searched in "}).size();
  }
  size_t Kept() const {
    return log_->Lines({"Protean: ", ", kept in "}).size();
  }
  // The number of files whose properties say what the filter was designed for,
  // and of those whose properties say that the design was kept.
  std::pair<size_t, size_t> Properties() const {
    std::pair<size_t, size_t> counts;
    for (const auto& [file, properties] : PropertiesOf(db_.get())) {
      const auto& own = properties->user_collected_properties;
      counts.first += own.count(kDesignInputsProperty);
      counts.second += own.count(kKeptDesignProperty);
    }
    return counts;
  }

  ProteusPolicyOptions policy_options_;
  Rng random_{17};
};

}  // namespace

TEST_F(KeptDesignsTest, AShiftOfKeysOrSamplesIsSearchedFor) {
  const auto expect = [&](size_t num_searched, size_t num_kept) {
    EXPECT_EQ(num_searched, Searched());
    EXPECT_EQ(num_kept, Kept());
    EXPECT_EQ(std::make_pair(num_searched, num_kept), Properties());
  };
  for (int i = 0; i < 6; i++) WriteFile();
  expect(1, 5);
  // The keys shift.
  WriteFile(30);
  expect(2, 5);
  WriteFile(30);
  expect(2, 6);
  // The keys before are still known.
  WriteFile();
  expect(2, 7);
  // Samples come.
  std::vector<Query> queries;
  for (int i = 0; i < 2000; i++) {
    const uint64_t lo = random_();
    queries.push_back({BigEndian(lo), BigEndian(lo | 0xffff)});
  }
  SeekEmptyRanges(db_.get(), queries);
  WriteFile();
  expect(3, 7);
  // Rates on samples differ a little from file to file.
  for (int i = 0; i < 6; i++) WriteFile();
  EXPECT_GT(Kept(), 9u);
  const size_t searched = Searched();
  const size_t kept = Kept();
  EXPECT_EQ(std::make_pair(searched, kept), Properties());
  // The samples shift.
  for (Query& query : queries) query.hi = query.lo;
  for (const Query& query : queries) {
    ASSERT_FALSE(Has(query.lo));
  }
  WriteFile();
  expect(searched + 1, kept);
}

TEST_F(KeptDesignsTest, FilesThatAreRefreshedAreSearched) {
  for (int i = 0; i < 4; i++) WriteFile();
  EXPECT_EQ(1u, Searched());
  EXPECT_EQ(std::make_pair(size_t{1}, size_t{3}), Properties());
  RefreshOptions all;
  all.all_files = true;
  RefreshResult result;
  const auto refresh = [&] {
    return RefreshFilters(db_.get(), db_->DefaultColumnFamily(), all, &result);
  };
  // All files have the filters of the policy, if not the best ones.
  ASSERT_OK(refresh());
  EXPECT_EQ(0u, result.files_rewritten);
  EXPECT_EQ(1u, Searched());

  policy_options_.bits_per_key = 14;
  OpenWithNewPolicy();
  for (int i = 0; i < 2; i++) WriteFile();
  EXPECT_EQ(2u, Searched());
  ASSERT_OK(refresh());
  EXPECT_EQ(4u, result.files_rewritten);
  EXPECT_EQ(6u, Searched());
  EXPECT_EQ(std::make_pair(size_t{5}, size_t{1}), Properties());
  // What was known before the refresh is forgotten.
  WriteFile();
  EXPECT_EQ(7u, Searched());
}

// Policies that were made by themselves know nothing of each other, nor do
// column families.
TEST_F(KeptDesignsTest, ColumnFamiliesAreApart) {
  WriteFile();
  ColumnFamilyHandle* const other = NewFamily("other");
  ASSERT_OK(db_->Put(WriteOptions(), other, "a", "v"));
  ASSERT_OK(db_->Flush(FlushOptions(), other));
  EXPECT_EQ(2u, Searched());
  EXPECT_EQ(0u, Kept());
}

}  // namespace ROCKSDB_NAMESPACE::protean
