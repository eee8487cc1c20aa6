// SPDX-License-Identifier: Apache-2.0

//  Filters follow the queries and the keys from file to file, what reads cost,
//  and how many queries there are for each key that is written.

#include "db_bench_ext/memory_filter.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A DB of one file.
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

TEST_F(AdaptationTest, FiltersFollowTheQueries) {
  // The filters are designed from the keys alone.
  EXPECT_LT(RateInDB(Anywhere(/*close=*/false, 1)), 0.5);
  // The queries shift, and shift back.
  for (const bool close : {false, true, false}) {
    const std::vector<Query> samples = Anywhere(close, close ? 2 : 1);
    const std::vector<Query> asked = Anywhere(close, close ? 4 : 3);
    const double before = RateInDB(asked);
    Run(samples);
    Compact();
    const double rate = RateInDB(asked);
    EXPECT_LE(rate, 1.1 * FreshRate(samples, asked) + kNoise);
    EXPECT_LT(rate, close ? before : 0.2);
  }
}

TEST_F(AdaptationTest, OneLineInTheLogForEachFile) {
  EXPECT_EQ(1u, DesignLines());
  EXPECT_EQ(1u, log_->Lines({"Protean: ", "from the keys alone"}).size());
  Run(Anywhere(/*close=*/false, 5));
  Compact();
  EXPECT_EQ(2u, DesignLines());
  EXPECT_EQ(
      1u, log_->Lines({"sample queries and the keys: predicted", "searched in"})
              .size());

  ASSERT_EQ(1u, NumFiles());
  CompactionOptions compaction;
  compaction.output_file_size_limit = 100 << 10;
  const LiveFileMetaData file = Files()[0];
  ASSERT_OK(db_->CompactFiles(compaction, {file.name}, file.level));
  EXPECT_GT(NumFiles(), 3u);
  EXPECT_EQ(2u + NumFiles(), DesignLines());
}

// ---- Designs that are kept from file to file ----

class KeptDesignsTest : public RefreshTest {
 protected:
  KeptDesignsTest() {
    policy_options_.level_bits = ProteusPolicyOptions::kEqualLevelBits;
    NewPolicy();
    Open();
  }

  // Writes a file of random numbers below 2^bits.
  void WriteFile(int bits = 64) {
    for (int i = 0; i < 2000; i++) Put(BigEndian(random_() >> (64 - bits)));
    Flush();
  }
  size_t Searched() const {
    return log_->Lines({"Protean: ", ", searched in "}).size();
  }
  size_t Kept() const {
    return log_->Lines({"Protean: ", ", kept in "}).size();
  }
  // Checks the number of files whose properties say what the filter was
  // designed for, and of those whose properties say that the design was kept.
  void ExpectDesigns(size_t searched, size_t kept) const {
    std::pair<size_t, size_t> counts;
    for (const auto& [file, properties] : PropertiesOf(db_.get())) {
      const auto& own = properties->user_collected_properties;
      counts.first += own.count(kDesignInputsProperty);
      counts.second += own.count(kKeptDesignProperty);
    }
    EXPECT_EQ(std::make_pair(searched, kept), counts);
  }

  Rng random_{17};
};

TEST_F(KeptDesignsTest, AShiftOfKeysOrSamplesIsSearchedFor) {
  const auto expect = [&](size_t num_searched, size_t num_kept) {
    EXPECT_EQ(num_searched, Searched());
    EXPECT_EQ(num_kept, Kept());
    ExpectDesigns(num_searched, num_kept);
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
  Run(queries);
  WriteFile();
  expect(3, 7);
  // Rates on samples differ a little from file to file.
  for (int i = 0; i < 6; i++) WriteFile();
  EXPECT_GT(Kept(), 9u);
  const size_t searched = Searched();
  const size_t kept = Kept();
  ExpectDesigns(searched, kept);
  // The samples shift.
  for (const Query& query : queries) ASSERT_FALSE(Has(query.lo));
  WriteFile();
  expect(searched + 1, kept);
}

TEST_F(KeptDesignsTest, FilesThatAreRefreshedAreSearched) {
  for (int i = 0; i < 4; i++) WriteFile();
  EXPECT_EQ(1u, Searched());
  ExpectDesigns(1, 3);
  // All files have the filters of the policy, if not the best ones.
  EXPECT_EQ(0u, Rewritten(AllFiles()));
  EXPECT_EQ(1u, Searched());

  policy_options_.bits_per_key = 14;
  NewPolicy();
  Open();
  for (int i = 0; i < 2; i++) WriteFile();
  EXPECT_EQ(2u, Searched());
  EXPECT_EQ(4u, Rewritten(AllFiles()));
  EXPECT_EQ(6u, Searched());
  ExpectDesigns(5, 1);
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

// ---- What reads cost ----

class DesignEconomyTest : public RefreshTest {
 protected:
  using Texts = std::unordered_map<std::string, std::string>;

  explicit DesignEconomyTest(const Texts& options) { Configure(options); }

  void Configure(const Texts& options) {
    EXPECT_OK(policy_->ConfigureFromMap(ConfigOptions(), options, nullptr));
  }

  // The number of files whose design has the word.
  size_t CountDesignsWith(const std::string& word) const {
    size_t count = 0;
    for (const auto& [file, properties] : PropertiesOf(db_.get())) {
      const std::string design =
          PropertyText(properties->user_collected_properties, kDesignProperty);
      count += design.find(word) != std::string::npos ? 1 : 0;
    }
    return count;
  }
};

constexpr size_t kLarge = 32 << 20;
constexpr size_t kSmall = 32 << 10;

const std::set<std::string> kUsual = {""};
const std::set<std::string> kCheap = {"2us"};

class ReadPriceTest : public DesignEconomyTest {
 protected:
  ReadPriceTest()
      : DesignEconomyTest(
            {{"bits_per_key", "16"}, {"sample_capacity", "20000"}}) {}

  // A DB with a block cache of that size, each of whose files has the best
  // filter for short ranges.
  void FillWithCache(size_t bytes, size_t samples = 20000) {
    UseCache(bytes);
    SeedSamples(policy_.get(), ShortRanges(samples));
    Fill();
    ASSERT_OK(RefreshAll());
  }
  // Short ranges anywhere, for which one set of prefixes is best.
  std::vector<Query> ShortRanges(size_t count) const {
    Random64 random(7);
    std::vector<Query> queries;
    while (queries.size() < count) {
      const uint64_t lo = std::min(random.Next(), ~uint64_t{1000});
      queries.push_back({BigEndian(lo), BigEndian(lo + random.Uniform(1000))});
      if (Holds(keys_, queries.back())) queries.pop_back();
    }
    return queries;
  }
  void UseCache(size_t bytes) {
    BlockBasedTableOptions table;
    table.block_cache = NewLRUCache(bytes, /*num_shard_bits=*/0);
    UsePolicy(policy_, table);
  }
  // A few keys, again and again.
  void GetKeys(int times) {
    for (int i = 0; i < times; i++) ASSERT_TRUE(Has(keys_[i % 50 * 97]));
  }
  void SeekKeys(int times) {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (int i = 0; i < times; i++) {
      it->Seek(keys_[i % 50 * 97]);
      ASSERT_TRUE(it->Valid());
    }
  }
  void MultiGetKeys(int times) {
    for (int i = 0; i < times; i++) {
      Keys keys;
      for (int k = 0; k < 10; k++) keys.push_back(keys_[(i + k) % 50 * 97]);
      std::vector<PinnableSlice> values;
      for (const Status& s : MultiGet(db_.get(), keys, &values)) ASSERT_OK(s);
    }
  }
  std::set<std::string> Prices() const { return Properties(kPriceProperty); }
};

TEST_F(ReadPriceTest, CachedReadsMakeCheapDesigns) {
  FillWithCache(kLarge);
  EXPECT_EQ(kUsual, Prices());
  EXPECT_GT(CountDesignsWith("ribbon"), 0u);
  // Any kind of read tells the price.
  for (const int way : {0, 1, 2}) {
    SCOPED_TRACE(way);
    Open();
    if (way == 0) SeekKeys(20000);
    if (way == 1) MultiGetKeys(2000);
    if (way == 2) GetKeys(20000);
    RefreshOptions options = AllFiles();
    options.dry_run = way < 2;
    EXPECT_EQ(NumFiles(), Rewritten(options));
    for (const RefreshedFile& file : result_.files) {
      EXPECT_EQ(std::string::npos, file.new_design.find("ribbon"));
    }
  }
  EXPECT_EQ(kCheap, Prices());
  EXPECT_FALSE(log_->Lines({", at 2us a false positive: "}).empty());
  EXPECT_EQ(0u, CountDesignsWith("ribbon"));
  ExpectAllKeys();

  // The files have what they would get.
  GetKeys(20000);
  EXPECT_EQ(0u, Rewritten(AllFiles()));
  // A DB that has just been opened knows nothing, and leaves them alone.
  Open();
  EXPECT_EQ(0u, Rewritten(AllFiles()));
  EXPECT_EQ(kCheap, Prices());
}

TEST_F(ReadPriceTest, ReadsFromFilesKeepTheUsualDesigns) {
  FillWithCache(kSmall);
  const std::set<std::string> designs = Properties(kDesignProperty);
  GetKeys(5000);
  SeekKeys(5000);
  MultiGetKeys(500);
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(kUsual, Prices());
  EXPECT_EQ(designs, Properties(kDesignProperty));

  // A refresh of those files where it pays rewrites none for its price.
  for (const size_t cache : {kLarge, kSmall, kLarge}) {
    UseCache(cache);
    Open();
    GetKeys(20000);
    EXPECT_EQ(0u, Rewritten());
  }
  EXPECT_EQ(kUsual, Prices());
  // A refresh of all files redesigns them when the cache has grown.
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(kCheap, Prices());
}

// Filters of 12 bits that were designed for a large cache let less than
// min_gain more through than others would, and are replaced all the same when
// reads go to the disk, or to a storage that is far away.
TEST_F(ReadPriceTest, CheapDesignsGoWhenReadsAreDear) {
  Configure({{"bits_per_key", "12"}, {"sample_capacity", "100000"}});
  FillWithCache(kLarge, 100000);
  GetKeys(20000);
  ASSERT_OK(RefreshAll());
  ASSERT_EQ(kCheap, Prices());
  EXPECT_EQ(0u, Rewritten());
  const std::string copy = path_ + "_copy";
  ASSERT_OK(MakeCheckpoint(db_.get(), copy));
  for (const bool far_away : {false, true}) {
    SCOPED_TRACE(far_away);
    if (far_away) {
      Destroy();
      ASSERT_OK(Env::Default()->RenameFile(copy, path_));
    }
    UseCache(kSmall);
    Open();
    // Nothing is known of the reads.
    EXPECT_EQ(0u, Rewritten());
    GetKeys(5000);
    if (far_away) {
      // RocksDB's statistics tell that reads take 50 ms.
      for (int i = 0; i < 200000; i++) {
        options_.statistics->recordInHistogram(FILE_READ_GET_MICROS, 50000);
      }
    }
    EXPECT_EQ(NumFiles(), Rewritten());
    EXPECT_EQ(far_away ? std::set<std::string>{"20ms"} : kUsual, Prices());
    for (const RefreshedFile& file : result_.files) {
      EXPECT_LT(file.old_fpr, RefreshOptions().min_gain) << file.name;
      EXPECT_LT(file.new_fpr, file.old_fpr / 2) << file.name;
    }
    EXPECT_EQ(0u, Rewritten(far_away ? AllFiles() : RefreshOptions()));
  }
  EXPECT_GT(CountDesignsWith("ribbon"), 0u);
  ExpectAllKeys();

  // Filters spare requests.
  const FilterSums total = FilterStats().total;
  EXPECT_GT(total.reads_from_storage, 5000u);
  EXPECT_GT(total.reads_from_storage, total.reads_from_cache);
  const uint64_t avoided = total.blocks_avoided() + total.gets.negatives;
  EXPECT_LE(total.requests_saved, avoided);
  EXPECT_GE(total.requests_saved, avoided / 2);
}

TEST_F(ReadPriceTest, AnOptionPinsThePrice) {
  Configure({{"false_positive_cost_micros", "2"}});
  FillWithCache(kSmall);
  EXPECT_EQ(kCheap, Prices());
  EXPECT_EQ(0u, CountDesignsWith("ribbon"));
  GetKeys(5000);
  EXPECT_EQ(0u, Rewritten(AllFiles()));
}

// ---- How many queries there are ----

class QueryDemandDBTest : public DesignEconomyTest {
 protected:
  QueryDemandDBTest()
      : DesignEconomyTest({{"bits_per_key", "12"},
                           {"level_bits", "kEqual"},
                           {"queries_per_key", "0"},
                           {"false_positive_cost_micros", "200"}}) {}

  // The numbers of queries for each key; 1 where they are not few.
  std::vector<double> Demands() const {
    std::vector<double> demands;
    for (const auto& [file, properties] : PropertiesOf(db_.get())) {
      demands.push_back(PropertyNumber(properties->user_collected_properties,
                                       kQueriesPerKeyProperty, 1));
    }
    return demands;
  }
  void ExpectManyQueries() const {
    EXPECT_EQ(std::set<std::string>{""}, Properties(kQueriesPerKeyProperty));
  }
};

TEST_F(QueryDemandDBTest, WritingAloneMakesFiltersThatAreBuiltFast) {
  options_.target_file_size_base = 64 << 20;
  Open();
  for (int i = 0; i < 40; i++) WriteFile(keys_);
  std::vector<double> demands = Demands();
  std::sort(demands.begin(), demands.end());
  EXPECT_LT(demands.front(), 0.004);
  EXPECT_DOUBLE_EQ(0.03, demands.back());
  EXPECT_FALSE(log_->Lines({" queries a key: "}).empty());
  // The last files have Bloom filters, the first ones may have Ribbon filters.
  EXPECT_GE(CountDesignsWith("bloom"), 30u);
  ExpectAllKeys();

  // The last level keeps more: its files may live long.
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  for (const double demand : Demands()) EXPECT_DOUBLE_EQ(0.01, demand);
  ExpectAllKeys();
}

TEST_F(QueryDemandDBTest, QueriesMakeFiltersThatLetFewThrough) {
  SeedSamples(policy_.get(), Queries(/*close=*/true, 1, 20000, 1));
  Configure({{"sample_every", "100"}, {"sample_capacity", "20000"}});
  Fill();
  ExpectManyQueries();
}

// A bulk load is followed by reads, and then by one call.
TEST_F(QueryDemandDBTest, RefreshesBuildForManyQueries) {
  Fill();
  for (const double demand : Demands()) EXPECT_LE(demand, 0.03);
  const std::vector<Query> queries = Queries(/*close=*/true, 3);
  const double before = RateInDB(queries);
  Run(queries);
  EXPECT_EQ(NumFiles(), Rewritten(AllFiles()));
  ExpectManyQueries();
  EXPECT_LT(RateInDB(queries), before / 2);
  ExpectAllKeys();
  // The files have what they would get.
  EXPECT_EQ(0u, Rewritten(AllFiles()));
}

TEST_F(QueryDemandDBTest, AnOptionSetsIt) {
  Configure({{"queries_per_key", "0.002"}});
  Fill();
  ExpectManyQueries();
  EXPECT_EQ(NumFiles(), CountDesignsWith("bloom"));
  EXPECT_EQ(0u, Rewritten(AllFiles()));
  Configure({{"queries_per_key", "1000"}});
  EXPECT_EQ(NumFiles(), Rewritten(AllFiles()));
  EXPECT_EQ(NumFiles(), CountDesignsWith("ribbon"));
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
