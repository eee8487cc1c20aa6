// SPDX-License-Identifier: Apache-2.0

//  KeysMayExist and RangesMayExist against a walk over the DB: what exists is
//  never denied, nearly all that does not exist is, and no data block is read.

#include "plugin/may_exist.h"

#include "plugin/sst_file_filter.h"
#include "rocksdb/slice_transform.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

class MayExistTest : public NumberedDBTest {
 protected:
  MayExistTest() { SetPolicy("surf:0:12"); }

  // Keys up to 4 * num in two levels, L0, and the memtable.
  void Fill(uint64_t num) {
    for (const int level : {2, 1, 0}) {
      WriteNumbers(3 - level, 4 * num, /*step=*/4, level);
    }
    for (uint64_t i = 4; i <= 4 * num; i += 4) Put(Key(i));
  }

  bool KeyMayExist(const Slice& key, const ReadOptions& read_options = {}) {
    return protean::KeyMayExist(db_.get(), key, read_options);
  }
  bool RangeMayExist(const RangePtr& range, const ReadOptions& read = {}) {
    return protean::RangeMayExist(db_.get(), range, read);
  }
  bool RangeMayExist(const std::string& lo, const std::string& hi,
                     const ReadOptions& read = {}) {
    return RangeMayExist(Between(lo, hi), read);
  }
  // The filters of all files, opened one by one.
  using Filters = std::vector<std::unique_ptr<SstFileFilter>>;
  Filters OpenFiles() {
    Filters filters;
    for (const LiveFileMetaData& file : Files()) {
      filters.emplace_back();
      EXPECT_OK(SstFileFilter::Open(options_, PathOf(file), &filters.back()));
    }
    EXPECT_FALSE(filters.empty());
    return filters;
  }
  // How many of `ask`'s answers are yes.
  template <typename Ask>
  static uint64_t Count(const Filters& filters, const Ask& ask) {
    uint64_t yes = 0;
    for (const auto& filter : filters) yes += ask(*filter);
    return yes;
  }

  static uint64_t DataBlockReads() {
    const PerfContext& counters = *get_perf_context();
    return counters.block_read_count - counters.filter_block_read_count -
           counters.index_block_read_count;
  }
};

TEST_F(MayExistTest, WhatIsThereIsNeverDeniedAndNothingIsRead) {
  constexpr uint64_t kNum = 2000;
  for (const char* table :
       {"filter_policy=surf:0:12", "filter_policy=proteus:16",
        "filter_policy=surf:0:12;cache_index_and_filter_blocks=true",
        "filter_policy=proteus:16;partition_filters=true;"
        "index_type=kTwoLevelIndexSearch;metadata_block_size=1024;"
        "cache_index_and_filter_blocks=true"}) {
    SCOPED_TRACE(table);
    SetTable(table);
    OpenNew();
    Fill(kNum);
    Open();  // The memtable has been flushed.
    for (uint64_t i = 3; i <= 4 * kNum; i += 44) Put(Key(i));
    get_perf_context()->Reset();
    size_t denied_keys = 0;
    size_t denied_ranges = 0;
    for (uint64_t i = 1; i <= 4 * kNum; i++) {
      ASSERT_TRUE(KeyMayExist(Key(i))) << i;
      denied_keys += !KeyMayExist(Gap(i, 500));
      ASSERT_TRUE(RangeMayExist(BigEndian(kGap * i - 7), Key(i) + '\0')) << i;
      ASSERT_TRUE(RangeMayExist(Key(i), Gap(i))) << i;
      denied_ranges += !RangeMayExist(Gap(i, 400), Gap(i, 432));
    }
    EXPECT_GT(denied_keys, 4 * kNum * 9 / 10);
    EXPECT_GT(denied_ranges, 4 * kNum * 8 / 10);
    EXPECT_EQ(0u, DataBlockReads());
    EXPECT_FALSE(RangeMayExist(Key(5 * kNum), Key(6 * kNum)));
    EXPECT_FALSE(RangeMayExist("", BigEndian(1)));
    EXPECT_FALSE(RangeMayExist(Key(7), Key(7)));
    EXPECT_FALSE(RangeMayExist(Key(7), Key(3)));
    EXPECT_TRUE(RangeMayExist("", Key(5 * kNum)));
    // The filters of the files alone say the same.
    Flush();
    const Filters filters = OpenFiles();
    const auto count_keys = [&filters](const std::string& key) {
      return Count(filters, [&](auto& f) { return f.KeyMayExist(key); });
    };
    const auto count_ranges = [&filters](const Slice& lo, const Slice& hi) {
      return Count(filters, [range = Between(lo, hi)](auto& f) {
        return f.RangeMayExist(range);
      });
    };
    uint64_t in_vain = 0;
    for (uint64_t i = 1; i <= 4 * kNum; i++) {
      const std::string after = Gap(i, kGap / 2);
      ASSERT_GE(count_keys(Key(i)), 1u);
      ASSERT_GE(count_ranges(Key(i), after), 1u);
      EXPECT_EQ(0u, count_ranges(after, Key(i)));
      in_vain += count_keys(after);
      in_vain += count_ranges(after, Gap(i, kGap / 2 + 9));
    }
    EXPECT_LT(in_vain, 2 * kNum * 4 / 10);
    // Reads after a check read as ever.
    std::string value;
    ASSERT_OK(db_->Get(ReadOptions(), Key(5), &value));
    EXPECT_EQ("some value of it", value);
    EXPECT_EQ(Key(5), FirstFrom(Key(5)));
  }
}

TEST_F(MayExistTest, DeletionsAndSnapshots) {
  Open();
  Fill(500);
  Flush();
  const Snapshot* const before = db_->GetSnapshot();
  ReadOptions then;
  then.snapshot = before;
  Delete(Key(101));
  ASSERT_OK(db_->DeleteRange(WriteOptions(), Key(200), Key(300)));
  Put(Key(250));
  Put(Key(5000));
  for (const bool flushed : {false, true}) {
    if (flushed) Flush();
    SCOPED_TRACE(flushed);
    EXPECT_TRUE(KeyMayExist(Key(101), then));
    EXPECT_FALSE(RangeMayExist(Key(200), Key(240)));
    EXPECT_FALSE(RangeMayExist(Key(201), Key(202)));
    EXPECT_TRUE(RangeMayExist(Key(200), Key(240), then));
    EXPECT_TRUE(RangeMayExist(Key(200), Key(251)));
    EXPECT_TRUE(KeyMayExist(Key(250)));
    EXPECT_FALSE(RangeMayExist(Key(251), Key(300)));
    EXPECT_TRUE(KeyMayExist(Key(5000)));
    if (!flushed) {
      EXPECT_FALSE(KeyMayExist(Key(101)));
      EXPECT_FALSE(KeyMayExist(Key(210)));
      EXPECT_FALSE(KeyMayExist(Key(5000), then));
    }
    EXPECT_TRUE(KeyMayExist(Key(210), then));
  }
  db_->ReleaseSnapshot(before);
}

TEST_F(MayExistTest, FiltersAsTheReadTierAllows) {
  SetTable(
      "filter_policy=surf:0:12;cache_index_and_filter_blocks=true;"
      "block_cache={capacity=16M;num_shard_bits=0}");
  Open();
  Fill(2000);
  Flush();
  Open();
  TableOf(options_)->block_cache->EraseUnRefEntries();
  ReadOptions cached;
  cached.read_tier = kBlockCacheTier;
  get_perf_context()->Reset();
  EXPECT_TRUE(KeyMayExist(Gap(100, 500), cached));
  EXPECT_TRUE(RangeMayExist(Gap(100, 500), Gap(100, 501), cached));
  EXPECT_EQ(0u, get_perf_context()->block_read_count);
  EXPECT_FALSE(KeyMayExist(Gap(100, 500)));
  EXPECT_LT(0u, get_perf_context()->filter_block_read_count);
  EXPECT_FALSE(KeyMayExist(Gap(100, 500), cached));
  EXPECT_EQ(0u, DataBlockReads());
}

// What the read tier forbids to open may hold anything; what is known is told
// all the same.
TEST_F(MayExistTest, FilesThatAreNotOpen) {
  options_.max_open_files = 20;
  options_.table_cache_numshardbits = 0;
  Open();
  constexpr uint64_t kNum = 20000;
  WriteNumbers(1, kNum);
  CompactLevel0Into(2, 16 << 10);
  Open();
  constexpr uint64_t kHalf = kNum / 2;
  constexpr uint64_t kLast = kNum - 3;
  // Opens a file.
  EXPECT_FALSE(RangeMayExist(Gap(kLast, 500), Gap(kLast, 501)));
  ReadOptions cached;
  cached.read_tier = kBlockCacheTier;
  const Keys bounds = {Gap(kHalf, 500), Gap(kHalf, 501), Gap(kLast, 500),
                       Gap(kLast, 501), Key(kLast),      Gap(kLast, 500)};
  const std::vector<Slice> slices(bounds.begin(), bounds.end());
  const RangePtr ranges[] = {{&slices[0], &slices[1]},
                             {&slices[2], &slices[3]},
                             {&slices[4], &slices[5]}};
  bool may_exist[3];
  ASSERT_OK(RangesMayExist(&*db_, cached, db_->DefaultColumnFamily(), 3, ranges,
                           may_exist));
  EXPECT_TRUE(may_exist[0]);
  EXPECT_FALSE(may_exist[1]);
  EXPECT_TRUE(may_exist[2]);
  EXPECT_TRUE(KeyMayExist(bounds[0], cached));
  EXPECT_FALSE(KeyMayExist(bounds[2], cached));
}

TEST_F(MayExistTest, OtherTablesAreRefused) {
  SetTable("filter_policy=bloomfilter:14", "BlockBasedTable");
  Open();
  bool may_exist = false;
  const Slice key = "a";
  ExpectRefused(KeysMayExist(&*db_, ReadOptions(), db_->DefaultColumnFamily(),
                             1, &key, &may_exist),
                {"ProteanTable"});
  EXPECT_TRUE(may_exist);
  const RangePtr all;
  EXPECT_TRUE(RangesMayExist(&*db_, ReadOptions(), db_->DefaultColumnFamily(),
                             1, &all, &may_exist)
                  .IsInvalidArgument());
}

TEST_F(MayExistTest, RandomOperations) {
  for (const char* table :
       {"filter_policy=surf:4:8", "filter_policy=proteus:12",
        "filter_policy=proteus:12;partition_filters=true;index_type="
        "kTwoLevelIndexSearch;metadata_block_size=256"}) {
    for (uint32_t seed = 1; seed <= 3; seed++) {
      SCOPED_TRACE(table + std::to_string(seed));
      SetTable(table);
      OpenNew();
      Random random(seed);
      std::set<std::string> truth;
      const auto any = [&] {
        std::string key(1 + random.Uniform(3), 'a');
        for (char& c : key) c = static_cast<char>('a' + random.Uniform(12));
        return key;
      };
      for (int step = 0; step < 6000; step++) {
        const uint32_t what = random.Uniform(100);
        const std::string a = any();
        const std::string b = any();
        if (what < 30) {
          Put(a, "v");
          truth.insert(a);
        } else if (what < 40) {
          Delete(a);
          truth.erase(a);
        } else if (what < 41 && a < b) {
          ASSERT_OK(db_->DeleteRange(WriteOptions(), a, b));
          truth.erase(truth.lower_bound(a), truth.lower_bound(b));
        } else if (what < 42 && random.OneIn(3)) {
          Flush();
          if (random.OneIn(4)) {
            ASSERT_OK(
                db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
          }
        } else if (what < 70) {
          ASSERT_TRUE(KeyMayExist(a) || truth.count(a) == 0) << a;
        } else if (a < b) {
          const auto first = truth.lower_bound(a);
          const bool exists = first != truth.end() && *first < b;
          ASSERT_TRUE(RangeMayExist(a, b) || !exists) << a << " " << b;
        }
      }
    }
  }
}

// Without a bound on one side, or on both.
TEST_F(MayExistTest, OpenRanges) {
  Open();
  const Slice key = "m";
  const Slice below = "a";
  const Slice above = "z";
  EXPECT_FALSE(RangeMayExist(RangePtr()));
  for (const bool flushed : {false, true}) {
    SCOPED_TRACE(flushed);
    ASSERT_OK(flushed ? db_->Flush(FlushOptions())
                      : db_->Put(WriteOptions(), key, "value"));
    EXPECT_TRUE(RangeMayExist(RangePtr()));
    EXPECT_TRUE(RangeMayExist({&key, nullptr}));
    EXPECT_TRUE(RangeMayExist({&below, nullptr}));
    EXPECT_FALSE(RangeMayExist({&above, nullptr}));
    EXPECT_TRUE(RangeMayExist({nullptr, &above}));
    EXPECT_FALSE(RangeMayExist({nullptr, &key}));
    EXPECT_FALSE(RangeMayExist({nullptr, &below}));
  }
}

// ---- Files ----

// Where the filters do not know the keys in their order, anything may exist;
// but the DB asks RocksDB's filters for keys.
TEST_F(MayExistTest, FilesWithoutAFilterAnythingMayExist) {
  for (const char* table :
       {"filter_policy=bloomfilter:14", "whole_key_filtering=false", ""}) {
    for (const Comparator* comparator :
         {BytewiseComparator(), ReverseBytewiseComparator()}) {
      const bool knows = comparator == BytewiseComparator() && *table == '\0';
      SCOPED_TRACE(std::string(table) + comparator->Name());
      options_.comparator = comparator;
      options_.prefix_extractor.reset(NewFixedPrefixTransform(4));
      SetTable(std::string("filter_policy=surf:0:12;") + table);
      OpenNew();
      const bool descends = comparator == ReverseBytewiseComparator();
      constexpr uint64_t kNum = 8000;
      WriteNumbers(1, kNum);
      uint64_t denied = 0;
      for (uint64_t i = 1; i <= kNum; i++) {
        const std::string next = descends ? BigEndian(kGap * i - 1) : Gap(i);
        ASSERT_TRUE(KeyMayExist(Key(i))) << i;
        ASSERT_TRUE(RangeMayExist(Key(i), next)) << i;
        denied += !KeyMayExist(Gap(i, 500));
      }
      if (Slice(table).starts_with("filter_policy")) {
        EXPECT_GT(denied, 7800u);
      }
      const Filters filters = OpenFiles();
      const std::string lo = BigEndian(descends ? 2 : 1);
      const std::string hi = BigEndian(descends ? 1 : 2);
      EXPECT_EQ(!knows, filters[0]->KeyMayExist(lo));
      EXPECT_EQ(!knows, filters[0]->RangeMayExist(Between(lo, hi)));
      EXPECT_FALSE(filters[0]->RangeMayExist(Between(hi, lo)));
      EXPECT_TRUE(filters[0]->KeyMayExist(Key(5)));
      const Slice first(lo);
      const Slice second(hi);
      EXPECT_TRUE(filters[0]->RangeMayExist({}));
      EXPECT_TRUE(filters[0]->RangeMayExist({&first, nullptr}));
      EXPECT_EQ(!knows, filters[0]->RangeMayExist({nullptr, &second}));
    }
  }
}

TEST_F(MayExistTest, BadFiles) {
  std::unique_ptr<SstFileFilter> filter;
  EXPECT_TRUE(SstFileFilter::Open(options_, path_ + "/none.sst", &filter)
                  .IsPathNotFound());
  const std::string bad = path_ + "_bad.sst";
  ASSERT_OK(WriteStringToFile(options_.env, std::string(5000, 'x'), bad));
  EXPECT_TRUE(SstFileFilter::Open(options_, bad, &filter).IsCorruption());
  SetTable("", "BlockBasedTable");
  EXPECT_TRUE(SstFileFilter::Open(options_, bad, &filter).IsInvalidArgument());
  EXPECT_EQ(nullptr, filter);
}

}  // namespace ROCKSDB_NAMESPACE::protean
