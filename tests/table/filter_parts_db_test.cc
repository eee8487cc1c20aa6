// SPDX-License-Identifier: Apache-2.0

//  DBs whose filters are in parts, in the block cache: what reads read, options
//  that are switched while files live, and what RocksDB does with these files
//  alone. (What the filters answer: parted_filter_test.cc.)

#include "plugin/approximate_count.h"
#include "rocksdb/slice_transform.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kParts[] =
    "metadata_block_size=1024;cache_index_and_filter_blocks=true;";

// The first bytes of keys that have as many. RocksDB's own extractor may not be
// asked for the prefix of a shorter key, but a DBIter with prefix_same_as_start
// asks for that of any key that it comes to.
class FirstBytes : public SliceTransform {
 public:
  explicit FirstBytes(size_t length) : length_(length) {}
  const char* Name() const override { return "FirstBytes"; }
  bool InDomain(const Slice& key) const override {
    return key.size() >= length_;
  }
  Slice Transform(const Slice& key) const override {
    return Slice(key.data(), std::min(key.size(), length_));
  }
  bool FullLengthEnabled(size_t* length) const override {
    *length = length_;
    return true;
  }

 private:
  const size_t length_;
};

class FilterPartsDBTest : public NumberedDBTest {
 protected:
  static constexpr uint64_t kKeys = 30000;

  FilterPartsDBTest() { options_.target_file_size_base = 1 << 20; }

  // Every third key.
  void FillLevel(uint64_t first, int level) {
    WriteNumbers(first, kKeys, /*step=*/3, level);
  }
  void Fill() {
    FillLevel(1, 3);
    FillLevel(2, 2);
    FillLevel(3, 0);
  }

  // All reads find what has been written, and nothing else.
  void CheckAll(uint64_t step) {
    for (uint64_t i = 1; i <= kKeys; i += step) {
      ASSERT_TRUE(Has(Key(i))) << i;
      ASSERT_FALSE(Has(Gap(i))) << i;
      ASSERT_EQ(Key(i), FirstIn(BigEndian(kGap * i - 1), Key(i + 1)));
      ASSERT_EQ("", FirstIn(Gap(i), Key(i + 1))) << i;
      ASSERT_EQ(Key(i), FirstFrom(Gap(i - 1)));
      ASSERT_EQ(Key(i), LastIn("", Gap(i)));
    }
    ASSERT_EQ(kKeys, AllRecords(db_.get()).size());
  }

  void OpenWith(const std::string& table,
                const std::string& id = "ProteanTable") {
    SetTable(table, id);
    Open();
  }
  void OpenNew(const std::string& table,
               const std::string& id = "ProteanTable") {
    Destroy();
    OpenWith(table, id);
  }
  uint64_t AnyGap(uint64_t most = kKeys - 1) {
    return 1 + random_.Uniform(most);
  }

  // The number of parts of each file.
  std::vector<size_t> Parts() {
    std::vector<size_t> parts;
    for (const LiveFileMetaData& file : Files()) {
      std::unique_ptr<BlockBasedFile> apart;
      EXPECT_OK(BlockBasedFile::OpenApart(options_, PathOf(file), &apart));
      const FilterBlock* const filter = apart->GetHeldBlock();
      parts.push_back(filter == nullptr ? 0
                                        : filter->directory().parts().size());
    }
    return parts;
  }

  uint64_t CountIn(const std::string& lo, const std::string& hi) {
    CountResult result;
    EXPECT_OK(ApproximateCount(&*db_, ReadOptions(), db_->DefaultColumnFamily(),
                               Between(lo, hi), &result));
    EXPECT_EQ(0u, result.files_scanned);
    EXPECT_FALSE(result.unsure);
    return result.count;
  }

  Random64 random_{1};
};

}  // namespace

// With room for a tenth of the filters. So does an open seek in a cache that
// holds no part: while a file waits, it keeps the parts that it has asked.
TEST_F(FilterPartsDBTest, ReadsWithSmallCachesReadAPartOfEachRun) {
  constexpr uint64_t kReads = 2000;
  constexpr uint64_t kSeeks = 1000;
  for (const std::string policy : {"proteus:14", "surf:0:16"}) {
    SCOPED_TRACE(policy);
    const std::string table = kParts + ("filter_policy=" + policy);
    OpenNew(table + ";block_cache={capacity=8K;num_shard_bits=0}");
    Fill();
    for (const size_t parts : Parts()) EXPECT_GT(parts, 10u);
    const PerfContext& perf = *get_perf_context();
    get_perf_context()->Reset();
    for (uint64_t n = 0; n < kReads; n++) ASSERT_FALSE(Has(Gap(AnyGap(), 500)));
    EXPECT_LE(perf.filter_block_read_count, 3 * kReads);
    EXPECT_LE(perf.block_read_byte, 3 * kReads * 1200);
    // Untaught, Proteus lets some of these ranges through.
    if (policy == "surf:0:16") {
      get_perf_context()->Reset();
      for (uint64_t n = 0; n < kReads; n++) {
        const uint64_t i = AnyGap();
        ASSERT_EQ("", FirstIn(Gap(i), Gap(i, 700)));
      }
      // A range that ends in another part than it begins in reads both.
      EXPECT_LE(perf.filter_block_read_count, 3 * kReads + kReads / 10);
      EXPECT_LE(perf.block_read_byte, 4 * kReads * 1200);
    }
    OpenWith(table + ";block_cache={capacity=1K;num_shard_bits=0}");
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    it->Seek(Key(kKeys / 2));
    get_perf_context()->Reset();
    for (uint64_t n = 0; n < kSeeks; n++) {
      const uint64_t i = AnyGap(kKeys - 10);
      it->Seek(Gap(i));
      ASSERT_TRUE(it->Valid());
      ASSERT_EQ(Key(i + 1), it->key().ToString());
    }
    // A few seeks begin behind the last key of a part, or wait more than once.
    EXPECT_LE(perf.filter_block_read_count, 3 * kSeeks + kSeeks / 5);
  }
}

// A range over many parts asks two of them at most: the ones between have keys.
TEST_F(FilterPartsDBTest, WideRangesReadFewParts) {
  OpenWith(std::string(kParts) +
           "filter_policy=surf:0:16;block_cache={capacity=1K}");
  FillLevel(1, 3);
  for (uint64_t width : {100u, 1000u, 9000u}) {
    get_perf_context()->Reset();
    ASSERT_NE("", FirstIn(Gap(1000), Key(1000 + 2 * width)));
    EXPECT_LE(get_perf_context()->filter_block_read_count, 2u);
  }
  // A count reads the parts at the ends of the range and of the file.
  get_perf_context()->Reset();
  EXPECT_EQ((29000u - 1001u) / 3, CountIn(Key(1001), Key(29000)));
  EXPECT_LE(get_perf_context()->filter_block_read_count, 8u);
}

// Files of both kinds live side by side, under any options. RocksDB's own table
// reads all data of such files, and with a policy of Protean it filters Gets.
// In ProteanTable, filters outlive their policy.
TEST_F(FilterPartsDBTest, SwitchedOnAndOff) {
  const std::string cache = "block_cache=64K;";
  for (const std::string policy :
       {"proteus:12", "surf:0:8", "surf:0:0:8",
        "levels:surf:0:8,bloomfilter:10,proteus:12"}) {
    SCOPED_TRACE(policy);
    const std::string filter = cache + "filter_policy=" + policy;
    OpenNew(kParts + filter);
    FillLevel(1, 3);
    OpenWith(filter);
    FillLevel(2, 2);
    OpenWith("index_type=kTwoLevelIndexSearch;partition_filters=true;" +
             (kParts + filter));
    FillLevel(3, 0);
    for (const std::string id : {"ProteanTable", "BlockBasedTable"}) {
      for (const std::string& table :
           {kParts + filter, filter,
            std::string(kParts) + cache + "filter_policy=bloomfilter:10",
            cache + "filter_policy=nullptr"}) {
        // RocksDB's table has no policies by level.
        if (id == "BlockBasedTable" &&
            table.find("levels:") != std::string::npos) {
          continue;
        }
        SCOPED_TRACE(id + " " + table);
        OpenWith(table, id);
        ASSERT_OK(options_.statistics->Reset());
        ASSERT_NO_FATAL_FAILURE(CheckAll(37));
        if (policy != "surf:0:8" || id == "BlockBasedTable") continue;
        EXPECT_GE(FilteredSeeks(), 2.9 * kKeys / 37);
        EXPECT_GE(Ticks(BLOOM_FILTER_USEFUL), 2.9 * kKeys / 37);
      }
    }
    OpenWith(kParts + filter);
    ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
    ASSERT_NO_FATAL_FAILURE(CheckAll(37));
    for (const size_t parts : Parts()) EXPECT_GT(parts, 1u);
  }
}

// RocksDB's own table filters Gets with Protean's policies and files, and
// partitions the filters of these policies in its way. Both tables read that.
TEST_F(FilterPartsDBTest, StockTables) {
  const auto check_stock = [this](const std::string& table) {
    SCOPED_TRACE(table);
    OpenWith(table, "BlockBasedTable");
    ASSERT_NO_FATAL_FAILURE(CheckAll(97));
    ASSERT_OK(options_.statistics->Reset());
    for (uint64_t i = 1; i < kKeys; i += 31) ASSERT_FALSE(Has(Gap(i, 500)));
    EXPECT_GT(Ticks(BLOOM_FILTER_USEFUL), 2 * kKeys / 31);
  };
  OpenWith(std::string(kParts) + "filter_policy=proteus:14");
  Fill();
  for (const std::string more : {"", kParts}) {
    check_stock(more + "filter_policy=proteus:12");
  }
  for (const std::string filter :
       {"filter_policy=proteus:12", "filter_policy=surf:0:8"}) {
    const std::string partitioned =
        "index_type=kTwoLevelIndexSearch;partition_filters=true;"
        "metadata_block_size=1024;" +
        filter;
    OpenNew(partitioned, "BlockBasedTable");
    Fill();
    check_stock(partitioned);
    for (const std::string& table : {filter, kParts + filter}) {
      OpenWith(table);
      ASSERT_NO_FATAL_FAILURE(CheckAll(97));
    }
    Compact();
    ASSERT_NO_FATAL_FAILURE(CheckAll(97));
  }
}

// Seeks for prefixes that end one part and begin the next.
TEST_F(FilterPartsDBTest, PrefixExtractors) {
  for (const char* policy :
       {"proteus:12", "surf:4:4", "surf:0:8", "surf:0:4:6"}) {
    for (const bool decoupled : {false, true}) {
      for (const size_t length : {4u, 6u}) {
        SCOPED_TRACE(std::string(policy) + " " + std::to_string(length));
        options_.prefix_extractor = std::make_shared<FirstBytes>(length);
        OpenNew(std::string(kParts) +
                "metadata_block_size=128;filter_policy=" + policy +
                (decoupled ? ";decouple_partitioned_filters=true" : ""));
        // Texts of a length from 1 to 8 over few letters.
        std::set<std::string> truth;
        Random rnd(5);
        for (int i = 0; i < 3000; i++) {
          truth.insert(RandomString(&rnd, "abcde", 8));
        }
        truth.erase("");
        WriteFile(Keys(truth.begin(), truth.end()));
        ReadOptions options;
        options.prefix_same_as_start = true;
        for (int i = 0; i < 3000; i++) {
          const std::string target = RandomString(&rnd, "abcde", 9);
          if (target.size() < length) continue;
          const auto found = truth.lower_bound(target);
          const bool expected =
              found != truth.end() &&
              Slice(*found).starts_with(target.substr(0, length));
          ASSERT_EQ(expected ? *found : "", FirstFrom(target, options));
          ASSERT_EQ(truth.count(target) > 0, Has(target)) << target;
        }
      }
    }
  }
}

// RocksDB adds prefixes to the parts, which no count takes for keys.
TEST_F(FilterPartsDBTest, CountsWithPrefixExtractors) {
  // The number of keys below the n-th one.
  const auto below = [](uint64_t n) {
    return (std::min(n, kKeys + 1) + 1) / 3;
  };
  for (const size_t length : {1u, 6u}) {
    options_.prefix_extractor.reset(NewFixedPrefixTransform(length));
    OpenNew(std::string(kParts) +
            "metadata_block_size=256;filter_policy=surf:0:16");
    FillLevel(1, 3);
    for (const auto& [begin, end] : {std::pair<uint64_t, uint64_t>(0, 40000),
                                     {1, 40000},
                                     {5000, 5003},
                                     {5001, 20002}}) {
      EXPECT_EQ(below(end) - below(begin), CountIn(Key(begin), Key(end)))
          << begin << " to " << end;
    }
  }
}

// The prefixes at the borders of parts keep their order in any comparator.
TEST_F(FilterPartsDBTest, PrefixesInDescendingOrder) {
  options_.comparator = ReverseBytewiseComparator();
  options_.prefix_extractor.reset(NewFixedPrefixTransform(6));
  SetTable(std::string(kParts) +
           "metadata_block_size=512;filter_policy=proteus:14;"
           "decouple_partitioned_filters=true");
  Open();
  FillLevel(1, 3);
  ASSERT_GT(Parts().at(0), 10u);
  ASSERT_OK(options_.statistics->Reset());
  for (uint64_t i = 1; i <= kKeys; i++) {
    ASSERT_EQ(i % 3 == 1, Has(Key(i))) << i;
    // A prefix that no key has.
    ASSERT_FALSE(Has(BigEndian((uint64_t{i} << 40) + 7)));
  }
  EXPECT_GT(Ticks(BLOOM_FILTER_USEFUL), kKeys / 2);
}

TEST_F(FilterPartsDBTest, ManyVersionsOfAKey) {
  for (const bool decoupled : {false, true}) {
    OpenNew(std::string(kParts) +
            "metadata_block_size=100;block_size=200;filter_policy=surf:0:16" +
            (decoupled ? ";decouple_partitioned_filters=true" : ""));
    std::vector<const Snapshot*> snapshots;
    for (int version = 0; version < 300; version++) {
      for (uint64_t i = 0; i < 3; i++) Put(Key(500 + i));
      Put(Key(700 + version));
      snapshots.push_back(db_->GetSnapshot());
    }
    Flush();
    EXPECT_GT(Parts().at(0), 3u);
    const auto count = [&](uint64_t begin, uint64_t end) {
      return CountIn(Key(begin), Key(end));
    };
    EXPECT_EQ(303u, count(1, 2000));
    EXPECT_EQ(3u, count(500, 503));
    EXPECT_EQ(2u, count(501, 700));
    EXPECT_EQ(102u, count(501, 800));
    EXPECT_EQ(200u, count(800, 1000));
    for (const Snapshot* snapshot : snapshots) db_->ReleaseSnapshot(snapshot);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
