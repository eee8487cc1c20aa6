// SPDX-License-Identifier: Apache-2.0

//  The filters of a DB are designed for what its reads cost: cheap ones where
//  all blocks are in the cache, and the usual ones otherwise.

#include "filter_policy/filter_properties.h"
#include "tests/table/refresh_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kLarge = 32 << 20;
constexpr size_t kSmall = 32 << 10;

const std::set<std::string> kUsual = {""};
const std::set<std::string> kCheap = {"2us"};

class ReadPriceTest : public RefreshTest {
 protected:
  ReadPriceTest() {
    EXPECT_OK(policy_->ConfigureFromMap(
        ConfigOptions(), {{"bits_per_key", "16"}, {"sample_capacity", "20000"}},
        nullptr));
  }

  // A DB with a block cache of that size, each of whose files has the best
  // filter for short ranges.
  void FillWithCache(size_t bytes, size_t samples = 20000) {
    UseCache(bytes);
    SeedSamples(policy_.get(), ShortRanges(samples));
    Fill();
    ASSERT_OK(RefreshAll());
  }
  // A DB whose filters of 12 bits a key were designed for a large cache.
  void FillForCheapReads() {
    EXPECT_OK(policy_->ConfigureFromMap(
        ConfigOptions(),
        {{"bits_per_key", "12"}, {"sample_capacity", "100000"}}, nullptr));
    FillWithCache(kLarge, 100000);
    GetKeys(20000);
    ASSERT_OK(RefreshAll());
    ASSERT_EQ(kCheap, Prices());
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
      std::vector<Slice> keys;
      for (int k = 0; k < 10; k++) keys.push_back(keys_[(i + k) % 50 * 97]);
      std::vector<std::string> values;
      for (const Status& s : db_->MultiGet(ReadOptions(), keys, &values)) {
        ASSERT_OK(s);
      }
    }
  }
  std::set<std::string> Prices() const { return Properties(kPriceProperty); }
  bool AnyDesignHas(const std::string& word) const {
    for (const std::string& design : Properties(kDesignProperty)) {
      if (design.find(word) != std::string::npos) return true;
    }
    return false;
  }
};

}  // namespace

TEST_F(ReadPriceTest, CachedReadsMakeCheapDesigns) {
  FillWithCache(kLarge);
  EXPECT_EQ(kUsual, Prices());
  EXPECT_TRUE(AnyDesignHas("ribbon"));
  GetKeys(20000);
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(kCheap, Prices());
  EXPECT_FALSE(AnyDesignHas("ribbon"));
  EXPECT_EQ(NumFiles(), result_.files_rewritten);
  EXPECT_FALSE(log_->Lines({", at 2us a false positive: "}).empty());
  ExpectAllKeys();

  // The files have what they would get.
  GetKeys(20000);
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(0u, result_.files_rewritten);
  // A DB that has just been opened knows nothing, and leaves them alone.
  Open();
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(0u, result_.files_rewritten);
  EXPECT_EQ(kCheap, Prices());
}

TEST_F(ReadPriceTest, SeeksCountAsGetsDo) {
  FillWithCache(kLarge);
  SeekKeys(20000);
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(kCheap, Prices());
}

TEST_F(ReadPriceTest, BatchesCountAsGetsDo) {
  FillWithCache(kLarge);
  MultiGetKeys(2000);
  ASSERT_OK(RefreshAll());
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

  // The files are redesigned when the cache has grown.
  UseCache(kLarge);
  Open();
  GetKeys(20000);
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(kCheap, Prices());
}

// A refresh of those files where it pays rewrites none for its price.
TEST_F(ReadPriceTest, NoFileIsRewrittenForItsPriceAlone) {
  FillWithCache(kLarge);
  for (const size_t cache : {kLarge, kSmall, kLarge, kSmall}) {
    UseCache(cache);
    Open();
    GetKeys(20000);
    ASSERT_OK(Refresh());
    EXPECT_EQ(0u, result_.files_rewritten);
  }
  EXPECT_EQ(kUsual, Prices());
}

// Filters of 12 bits that were designed for a large cache let less than
// min_gain more through than others would, and are replaced all the same when
// reads go to the disk.
TEST_F(ReadPriceTest, CheapDesignsGoWhenReadsAreDear) {
  ASSERT_NO_FATAL_FAILURE(FillForCheapReads());
  ASSERT_OK(Refresh());
  EXPECT_EQ(0u, result_.files_rewritten);
  UseCache(kSmall);
  Open();
  // Nothing is known of the reads.
  ASSERT_OK(Refresh());
  EXPECT_EQ(0u, result_.files_rewritten);
  GetKeys(5000);
  ASSERT_OK(Refresh());
  EXPECT_EQ(NumFiles(), result_.files_rewritten);
  EXPECT_EQ(kUsual, Prices());
  for (const RefreshedFile& file : result_.files) {
    EXPECT_LT(file.old_fpr, RefreshOptions().min_gain) << file.name;
    EXPECT_LT(file.new_fpr, file.old_fpr / 2) << file.name;
  }
  ASSERT_OK(Refresh());
  EXPECT_EQ(0u, result_.files_rewritten);
}

// RocksDB's statistics tell that reads take 50 ms.
TEST_F(ReadPriceTest, StorageIsFarAway) {
  ASSERT_NO_FATAL_FAILURE(FillForCheapReads());
  UseCache(kSmall);
  Open();
  GetKeys(5000);
  for (int i = 0; i < 200000; i++) {
    options_.statistics->recordInHistogram(FILE_READ_GET_MICROS, 50000);
  }
  ASSERT_OK(Refresh());
  EXPECT_EQ(NumFiles(), result_.files_rewritten);
  EXPECT_EQ(std::set<std::string>{"20ms"}, Prices());
  EXPECT_TRUE(AnyDesignHas("ribbon"));
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(0u, result_.files_rewritten);
  ExpectAllKeys();

  // Filters spare requests.
  const FilterSums total = StatisticsOf(db_.get()).total;
  EXPECT_GT(total.reads_from_storage, 5000u);
  EXPECT_GT(total.reads_from_storage, total.reads_from_cache);
  const uint64_t avoided = total.blocks_avoided() + total.gets.negatives;
  EXPECT_LE(total.requests_saved, avoided);
  EXPECT_GE(total.requests_saved, avoided / 2);
}

TEST_F(ReadPriceTest, AnOptionPinsThePrice) {
  ASSERT_OK(policy_->ConfigureFromMap(
      ConfigOptions(), {{"false_positive_cost_micros", "2"}}, nullptr));
  FillWithCache(kSmall);
  EXPECT_EQ(kCheap, Prices());
  EXPECT_FALSE(AnyDesignHas("ribbon"));
  GetKeys(5000);
  ASSERT_OK(RefreshAll());
  EXPECT_EQ(0u, result_.files_rewritten);
}

}  // namespace ROCKSDB_NAMESPACE::protean
