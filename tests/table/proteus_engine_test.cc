// SPDX-License-Identifier: Apache-2.0

//  A DB whose files design their filters themselves: answers are always right,
//  and filters follow the queries.

#include <map>

#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/seed_samples.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/statistics.h"
#include "tests/table/empty_seeks.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class ProteusEngineTest : public testing::TestWithParam<const char*> {};

std::string AnyKey(Random* rnd, bool text) {
  if (!text) return BigEndian(uint64_t{rnd->Uniform(1 << 20)} << 20);
  return "user" + std::to_string(rnd->Uniform(20000)) +
         RandomString(rnd, std::string("\0x\xff", 3), 2);
}

// Compares a seek in [lo, hi) and the following steps with the model.
void CompareSeek(DB* db, const std::map<std::string, std::string>& model,
                 const std::string& lo, const std::string& hi) {
  const Slice upper(hi);
  ReadOptions options;
  options.iterate_upper_bound = &upper;
  const std::unique_ptr<Iterator> it(db->NewIterator(options));
  auto expected = model.lower_bound(lo);
  it->Seek(lo);
  for (int step = 0; step < 4; step++) {
    const bool there = expected != model.end() && expected->first < hi;
    ASSERT_EQ(there, it->Valid()) << Hex(lo) << " " << Hex(hi);
    ASSERT_OK(it->status());
    if (!there) return;
    ASSERT_EQ(Hex(expected->first), Hex(it->key()));
    ASSERT_EQ(expected->second, it->value().ToString());
    ++expected;
    it->Next();
  }
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
    const std::string path = test::PerThreadDBPath("proteus_engine");
    Options options = ManySmallFiles(4);
    options.create_if_missing = true;
    options.statistics = CreateDBStatistics();
    options.table_factory =
        NewTable("ProteanTable", std::string("filter_policy=") + GetParam() +
                                     ";block_size=512");
    const auto* policy = AsProteanFilterPolicy(
        options.table_factory->GetOptions<BlockBasedTableOptions>()
            ->filter_policy.get());
    ASSERT_OK(DestroyDB(path, options));
    std::unique_ptr<DB> db;
    ASSERT_OK(OpenDB(&db, options, path));
    std::map<std::string, std::string> model;
    for (int step = 0; step < 12000; step++) {
      const std::string key = AnyKey(&rnd, text);
      if (rnd.OneIn(8)) {
        ASSERT_OK(db->Delete(WriteOptions(), key));
        model.erase(key);
      } else if (rnd.OneIn(500)) {
        const std::string end = key + '\xff';
        ASSERT_OK(db->DeleteRange(WriteOptions(), key, end));
        model.erase(model.lower_bound(key), model.lower_bound(end));
      } else {
        const std::string value = std::to_string(step);
        ASSERT_OK(db->Put(WriteOptions(), key, value));
        model[key] = value;
      }
      if (step % 1000 == 999) {
        ASSERT_OK(db->Flush(FlushOptions()));
      }
      if (step % 4000 == 3999) {
        ASSERT_OK(db->CompactRange(CompactRangeOptions(), nullptr, nullptr));
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
      ASSERT_NO_FATAL_FAILURE(CompareSeek(db.get(), model, lo, hi));
      ASSERT_NO_FATAL_FAILURE(
          CompareSeek(db.get(), model, lo, AnyKey(&rnd, text)));
      for (const std::string& point : {lo, key}) {
        std::string value;
        const Status s = db->Get(ReadOptions(), point, &value);
        const auto expected = model.find(point);
        ASSERT_EQ(expected != model.end(), s.ok()) << Hex(point);
        if (s.ok()) {
          ASSERT_EQ(expected->second, value);
        } else {
          ASSERT_TRUE(s.IsNotFound());
        }
      }
    }
    EXPECT_GT(policy->Samples()
                  ->Queue(kDefaultColumnFamilyName, Env::Default(), nullptr)
                  ->recorded(),
              10u);
    EXPECT_GT(options.statistics->getTickerCount(BLOOM_FILTER_USEFUL), 100u);
    EXPECT_GT(
        options.statistics->getTickerCount(LAST_LEVEL_SEEK_FILTERED) +
            options.statistics->getTickerCount(NON_LAST_LEVEL_SEEK_FILTERED),
        20u);
    db.reset();
    ASSERT_OK(DestroyDB(path, options));
  }
}

// ---- Adaptation ----

namespace {

constexpr uint64_t kKeys = 20000;

// A DB of numbers, in a few files of one level, and two kinds of queries that
// need different filters.
class AdaptationTest : public testing::Test {
 protected:
  static constexpr uint64_t kQueries = 3000;

  AdaptationTest() {
    policy_options_.sample_every = 1;
    policy_options_.sample_capacity = 2000;
    policy_options_.bits_per_key = 12;
    policy_ = std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus,
                                                    policy_options_);
    BlockBasedTableOptions table;
    table.filter_policy = policy_;
    EXPECT_OK(DestroyDB(path_, Options()));
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    options_.info_log = log_;
    options_.compression = kNoCompression;
    options_.table_factory = NewProteanTableFactory(table);
    Random rnd(61);
    for (uint64_t i = 0; i < kKeys; i++)
      keys_.push_back(BigEndian(rnd.Next64()));
    SortUnique(&keys_);
    Open();
    for (const std::string& key : keys_) {
      EXPECT_OK(db_->Put(WriteOptions(), key, "value"));
    }
    EXPECT_OK(db_->Flush(FlushOptions()));
  }
  ~AdaptationTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, Options()));
  }

  void Open() { EXPECT_OK(OpenDB(&db_, options_, path_)); }

  // Long ranges anywhere, or short ranges right after a key; none holds a key.
  std::vector<Query> Queries(bool close, uint64_t seed) const {
    Rng rng(seed);
    std::vector<Query> queries;
    while (queries.size() < kQueries) {
      uint64_t lo = rng();
      uint64_t width = rng() >> 16;
      if (close) {
        const std::string& key = keys_[rng() % keys_.size()];
        lo = EndianSwapValue(DecodeFixed64(key.data())) + 1 + rng() % 4096;
        width = rng() % 16;
      }
      if (lo + width < lo) continue;
      const Query query = {BigEndian(lo), BigEndian(lo + width)};
      if (Holds(keys_, query) || query.hi < keys_.front() ||
          query.lo > keys_.back()) {
        continue;
      }
      queries.push_back(query);
    }
    return queries;
  }

  void Run(const std::vector<Query>& queries) {
    SeekEmptyRanges(db_.get(), queries);
  }

  // The false positive rate of the DB's filters, measured by whether files are
  // read.
  double RateInDB(const std::vector<Query>& queries) {
    uint64_t positives = 0;
    options_.statistics = CreateDBStatistics();
    db_.reset();
    // Opened with another policy, which takes no samples.
    const auto table = options_.table_factory;
    options_.table_factory = NewTable("ProteanTable", "filter_policy=surf:0:0");
    Open();
    Run(queries);
    positives =
        options_.statistics->getTickerCount(LAST_LEVEL_SEEK_FILTER_MATCH) +
        options_.statistics->getTickerCount(NON_LAST_LEVEL_SEEK_FILTER_MATCH);
    const uint64_t negatives =
        options_.statistics->getTickerCount(LAST_LEVEL_SEEK_FILTERED) +
        options_.statistics->getTickerCount(NON_LAST_LEVEL_SEEK_FILTERED);
    EXPECT_EQ(queries.size(), positives + negatives);
    db_.reset();
    options_.table_factory = table;
    Open();
    return static_cast<double>(positives) / static_cast<double>(queries.size());
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

  void Compact() {
    CompactRangeOptions all;
    all.bottommost_level_compaction = BottommostLevelCompaction::kForce;
    ASSERT_OK(db_->CompactRange(all, nullptr, nullptr));
  }

  size_t DesignLines() const {
    return log_->Lines({"Protean: ", "predicted false positive rate"}).size();
  }

  static constexpr double kNoise = 0.01;

  const std::string path_ = test::PerThreadDBPath("proteus_adaptation");
  const std::shared_ptr<RecordingLogger> log_ =
      std::make_shared<RecordingLogger>();
  ProteusPolicyOptions policy_options_;
  std::shared_ptr<ProteusFilterPolicy> policy_;
  Options options_;
  Keys keys_;
  std::unique_ptr<DB> db_;
};

}  // namespace

TEST_F(AdaptationTest, FiltersFollowTheQueries) {
  const std::vector<Query> wide = Queries(/*close=*/false, 1);
  const std::vector<Query> close = Queries(/*close=*/true, 2);
  const std::vector<Query> wide_again = Queries(/*close=*/false, 3);
  const std::vector<Query> close_again = Queries(/*close=*/true, 4);

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
  Run(Queries(/*close=*/false, 5));
  Compact();
  std::vector<LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  ASSERT_EQ(1u, files.size());
  EXPECT_EQ(2u, DesignLines());
  const Keys lines = log_->Lines({"sample queries and the keys: predicted"});
  ASSERT_EQ(1u, lines.size());
  EXPECT_NE(std::string::npos, lines[0].find("searched in"));

  CompactionOptions compaction;
  compaction.output_file_size_limit = 100 << 10;
  ASSERT_OK(db_->CompactFiles(compaction, {files[0].name}, files[0].level));
  files.clear();
  db_->GetLiveFilesMetaData(&files);
  EXPECT_GT(files.size(), 3u);
  EXPECT_EQ(2u + files.size(), DesignLines());
}

// The OPTIONS file that RocksDB itself writes.
TEST_F(AdaptationTest, LogFile) {
  db_.reset();
  options_.info_log = nullptr;
  Open();
  Run(Queries(/*close=*/true, 6));
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
class KeptDesignsTest : public testing::Test {
 protected:
  KeptDesignsTest() {
    policy_options_.sample_every = 1;
    policy_options_.sample_capacity = 2000;
    policy_options_.level_bits = ProteusPolicyOptions::kEqualLevelBits;
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    options_.info_log = log_;
    EXPECT_OK(DestroyDB(path_, Options()));
    Open();
  }
  ~KeptDesignsTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, Options()));
  }

  // Opens the DB with a policy of its own.
  void Open() {
    policy_ = std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus,
                                                    policy_options_);
    BlockBasedTableOptions table;
    table.filter_policy = policy_;
    options_.table_factory = NewProteanTableFactory(table);
    EXPECT_OK(OpenDB(&db_, options_, path_));
  }
  // Writes a file of random numbers below 2^bits.
  void WriteFile(int bits = 64) {
    constexpr int kKeysOfFile = 2000;
    for (int i = 0; i < kKeysOfFile; i++) {
      ASSERT_OK(
          db_->Put(WriteOptions(), BigEndian(random_() >> (64 - bits)), "v"));
    }
    ASSERT_OK(db_->Flush(FlushOptions()));
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
    TablePropertiesCollection all;
    EXPECT_OK(db_->GetPropertiesOfAllTables(&all));
    std::pair<size_t, size_t> counts;
    for (const auto& [file, properties] : all) {
      const auto& own = properties->user_collected_properties;
      counts.first += own.count(kDesignInputsProperty);
      counts.second += own.count(kKeptDesignProperty);
    }
    return counts;
  }

  const std::string path_ = test::PerThreadDBPath("kept_designs");
  const std::shared_ptr<RecordingLogger> log_ =
      std::make_shared<RecordingLogger>();
  ProteusPolicyOptions policy_options_;
  std::shared_ptr<ProteusFilterPolicy> policy_;
  Options options_;
  Rng random_{17};
  std::unique_ptr<DB> db_;
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
    std::string value;
    ASSERT_TRUE(db_->Get(ReadOptions(), query.lo, &value).IsNotFound());
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

  db_.reset();
  policy_options_.bits_per_key = 14;
  Open();
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
  ColumnFamilyHandle* other = nullptr;
  ASSERT_OK(db_->CreateColumnFamily(options_, "other", &other));
  ASSERT_OK(db_->Put(WriteOptions(), other, "a", "v"));
  ASSERT_OK(db_->Flush(FlushOptions(), other));
  EXPECT_EQ(2u, Searched());
  EXPECT_EQ(0u, Kept());
  ASSERT_OK(db_->DestroyColumnFamilyHandle(other));
}

}  // namespace ROCKSDB_NAMESPACE::protean
