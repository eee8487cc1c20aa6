// SPDX-License-Identifier: Apache-2.0

//  Filters follow the queries and the keys from file to file: each is designed
//  for them, or keeps the design of a file before it.

#include "db_bench_ext/memory_filter.h"
#include "filter_policy/filter_properties.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

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

// The file that RocksDB itself writes.
TEST_F(AdaptationTest, LogFile) {
  options_.info_log = nullptr;
  Open();
  Run(Anywhere(/*close=*/true, 6));
  Compact();
  const std::string text = ContentsOf(path_ + "/LOG");
  const size_t line = text.find("predicted false positive rate");
  EXPECT_NE(std::string::npos, line);
  EXPECT_EQ(line, text.rfind("predicted false positive rate"));
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
  for (const Query& query : queries) ASSERT_FALSE(Has(query.lo));
  WriteFile();
  expect(searched + 1, kept);
}

TEST_F(KeptDesignsTest, FilesThatAreRefreshedAreSearched) {
  for (int i = 0; i < 4; i++) WriteFile();
  EXPECT_EQ(1u, Searched());
  EXPECT_EQ(std::make_pair(size_t{1}, size_t{3}), Properties());
  const auto rewritten = [this] {
    RefreshOptions all;
    all.all_files = true;
    RefreshResult result;
    EXPECT_OK(
        RefreshFilters(db_.get(), db_->DefaultColumnFamily(), all, &result));
    return result.files_rewritten;
  };
  // All files have the filters of the policy, if not the best ones.
  EXPECT_EQ(0u, rewritten());
  EXPECT_EQ(1u, Searched());

  policy_options_.bits_per_key = 14;
  OpenWithNewPolicy();
  for (int i = 0; i < 2; i++) WriteFile();
  EXPECT_EQ(2u, Searched());
  EXPECT_EQ(4u, rewritten());
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
