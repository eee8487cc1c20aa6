// SPDX-License-Identifier: Apache-2.0

//  In whatever way records are written and deleted, ProteanTable reads the same
//  as the plain table: what random writes (differential_test) do seldom or not
//  at all.

#include "rocksdb/compaction_filter.h"
#include "rocksdb/merge_operator.h"
#include "tests/table/feature_fixture.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

class WritesTest : public FeatureTest {
 protected:
  std::unique_ptr<TwinDB> OpenTwins(
      const Options& options = ManySmallFiles(kLevels)) {
    std::unique_ptr<TwinDB> dbs = NewTwins(options);
    dbs->Open();
    return dbs;
  }
  // Compares the tree as it is, reopened with the data of its log, and
  // compacted.
  void CompareThroughLife(TwinDB* dbs) {
    for (int snapshot = -1; snapshot < dbs->num_snapshots(); snapshot++) {
      CompareReads(dbs, queries_, snapshot);
    }
    dbs->Reopen();
    ExpectFiltered([&] { CompareReads(dbs, queries_); });
    dbs->Compact();
    ExpectFiltered([&] { CompareReads(dbs, queries_); });
  }
};

PROTEAN_FEATURE_TEST(WritesTest);

// ---- Deletions ----

// A file whose filter rules it out still deletes keys in the levels below it.
TEST_P(WritesTest, TombstonesOfFilteredFiles) {
  const auto dbs = OpenTwins();
  for (int i = 0; i < 300; i++) {
    dbs->Put("key" + std::to_string(1000 + i), "value");
  }
  dbs->Flush();
  dbs->CompactLevel0Into(2, kFileSize);
  // One file has keys far from its tombstones, the other has tombstones only.
  dbs->DeleteRange("key1010", "key1050");
  dbs->WriteRun({"a", "z"});
  dbs->DeleteRange("key1100", "key1150");
  dbs->Flush();

  TwinIterator it(dbs.get(), ReadOptions(), /*lower=*/false, /*upper=*/true);
  ExpectFilteredSeeks([&] {
    for (int i = 0; i < 300; i++) {
      const std::string key = "key" + std::to_string(1000 + i);
      it.SetUpper(key + "z");
      const bool deleted = (i >= 10 && i < 50) || (i >= 100 && i < 150);
      EXPECT_EQ(!deleted, it.Seek(key)) << key;
    }
  });
  EXPECT_EQ(300u - 90u + 2u, CompareScans(dbs.get()));
  dbs->Compact();
  EXPECT_EQ(300u - 90u + 2u, CompareScans(dbs.get()));
}

// A file that reaches past its last key because of a tombstone, and is filtered
// there: the seek goes on in the next file of the level.
TEST_P(WritesTest, TombstonesBehindTheLastKey) {
  const auto dbs = OpenTwins();
  dbs->WriteRun({"c", "d", "g"}, 2);
  dbs->DeleteRange("b", "f");
  dbs->WriteRun({"a"}, 1);
  dbs->WriteRun({"g2", "z"}, 1);
  ASSERT_EQ(3u, dbs->NumFiles());
  TwinIterator it(dbs.get(), ReadOptions(), /*lower=*/false, /*upper=*/true);
  it.SetUpper("h");
  ExpectFilteredSeeks([&] {
    EXPECT_TRUE(it.Seek("c"));
    EXPECT_EQ("g", it.key());
    EXPECT_TRUE(it.Next());
    EXPECT_EQ("g2", it.key());
    EXPECT_FALSE(it.Next());
    it.SetUpper("d");
    EXPECT_FALSE(it.Seek("c"));
  });
}

// ---- Merge operators ----

TEST_P(WritesTest, MergesOverSeveralLevels) {
  Options options = ManySmallFiles(kLevels);
  ASSERT_OK(MergeOperator::CreateFromString(ConfigOptions(), "stringappend",
                                            &options.merge_operator));
  const auto dbs = OpenTwins(options);
  Random rnd(13);
  FillTree(dbs.get(), keys_, [&](int round) {
    for (const std::string& key : keys_) {
      if (!rnd.OneIn(2)) continue;
      dbs->Both([&](DB* db) {
        return db->Merge(WriteOptions(), key, std::to_string(round));
      });
    }
    dbs->TakeSnapshot();
  });
  // The operands, one by one.
  for (const std::string& key : queries_) {
    dbs->SameValue([&](TwinDB::Twin twin, std::string* described) {
      DB* db = dbs->db(twin);
      GetMergeOperandsOptions merges;
      merges.expected_max_number_of_operands = 10;
      std::vector<PinnableSlice> operands(10);
      int number = 0;
      const Status s =
          db->GetMergeOperands(ReadOptions(), db->DefaultColumnFamily(), key,
                               operands.data(), &merges, &number);
      for (int i = 0; i < number; i++) {
        *described += " " + operands[i].ToString();
      }
      return s;
    });
  }
  CompareThroughLife(dbs.get());
}

// ---- Compaction filters ----

// Removes some records, changes some, and leaves out whole ranges.
class SomeFilter : public CompactionFilter {
 public:
  const char* Name() const override { return "test.SomeFilter"; }
  Decision FilterV2(int, const Slice& key, ValueType, const Slice&,
                    std::string* new_value,
                    std::string* skip_until) const override {
    const uint32_t dice = Hash(key.data(), key.size(), 1) % 40;
    *skip_until = key.ToString() + "\xff\xff";
    *new_value = "changed";
    return dice == 0   ? Decision::kRemoveAndSkipUntil
           : dice <= 4 ? Decision::kRemove
           : dice <= 6 ? Decision::kChangeValue
                       : Decision::kKeep;
  }
};

TEST_P(WritesTest, CompactionFilters) {
  const SomeFilter filter;
  Options options = ManySmallFiles(kLevels);
  options.compaction_filter = &filter;
  const auto dbs = OpenTwins(options);
  FillTree(dbs.get(), keys_);
  const size_t before = CompareScans(dbs.get());
  CompareThroughLife(dbs.get());
  EXPECT_LT(CompareScans(dbs.get()), before);
}

// ---- Blob files ----

TEST_P(WritesTest, BlobFiles) {
  Options options = ManySmallFiles(kLevels);
  options.enable_blob_files = true;
  options.min_blob_size = 0;
  options.blob_file_size = 4 << 10;
  options.enable_blob_garbage_collection = true;
  options.blob_garbage_collection_age_cutoff = 1.0;
  const auto dbs = NewTree(options);
  uint64_t blob_files = 0;
  ASSERT_TRUE(dbs->protean()->GetIntProperty(DB::Properties::kNumBlobFiles,
                                             &blob_files));
  EXPECT_GE(blob_files, 4u);
  CompareThroughLife(dbs.get());
  // Every key, backwards.
  TwinIterator it(dbs.get(), ReadOptions(), /*lower=*/false, /*upper=*/false);
  for (const std::string& query : queries_) it.SeekForPrev(query);
}

// ---- Timestamps ----

// Keys with timestamps, read as of any of them. The filter does not know the
// timestamps.
class TimestampTest : public WritesTest {
 protected:
  std::unique_ptr<TwinDB> NewTimestampedTree(bool persisted) {
    Options options = ManySmallFiles(kLevels);
    options.comparator = BytewiseComparatorWithU64Ts();
    options.persist_user_defined_timestamps = persisted;
    options.allow_concurrent_memtable_write = false;
    auto dbs = OpenTwins(options);
    Random rnd(15);
    for (int round = 0; round < 4; round++) {
      std::string buffer;
      const Slice time = EncodeU64Ts(10 * (round + 1), &buffer);
      for (const std::string& key : keys_) {
        // RocksDB asserts that timestamp() is not called for the empty key.
        if (key.empty()) continue;
        const bool put = rnd.OneIn(2);
        const bool gone = rnd.OneIn(10);
        if (!put && !gone) continue;
        dbs->Both([&](DB* db) {
          ColumnFamilyHandle* family = db->DefaultColumnFamily();
          return put ? db->Put(WriteOptions(), family, key, time,
                               "at " + std::to_string(round))
                     : db->Delete(WriteOptions(), family, key, time);
        });
      }
      for (size_t i = 10 * round;
           persisted && round > 0 && i + 5 < keys_.size(); i += 80) {
        dbs->Both([&](DB* db) {
          return db->DeleteRange(WriteOptions(), db->DefaultColumnFamily(),
                                 keys_[i], keys_[i + 5], time);
        });
      }
      if (round == 3) break;
      dbs->Flush();
      if (round < 2) dbs->CompactLevel0Into(2 - round, kFileSize);
    }
    return dbs;
  }

  static std::string Time(const Iterator& at) {
    return " at " + Hex(at.timestamp());
  }

  void CompareAt(TwinDB* dbs, const Slice& time) {
    ReadOptions options;
    options.timestamp = &time;
    CompareGets(dbs, queries_, -1, options);
    CompareMultiGets(dbs, queries_, -1, options);
    CompareWalks(TwinIterator::Of(dbs), queries_, options, {}, Time);
  }
};

PROTEAN_FEATURE_TEST(TimestampTest);

TEST_P(TimestampTest, AsOfAnyTime) {
  const auto dbs = NewTimestampedTree(/*persisted=*/true);
  {
    // All versions within a span of time.
    std::string first_buffer;
    std::string last_buffer;
    const Slice first = EncodeU64Ts(15, &first_buffer);
    const Slice last = EncodeU64Ts(35, &last_buffer);
    ReadOptions options;
    options.timestamp = &last;
    options.iter_start_ts = &first;
    CompareWalks(TwinIterator::Of(dbs.get()), queries_, options, {}, Time);
  }
  std::string buffer;
  for (bool compacted : {false, true}) {
    if (compacted) dbs->Compact();
    for (uint64_t at : {5, 10, 25, 40, 1000}) {
      SCOPED_TRACE(at);
      ExpectFilteredGets(
          [&] { CompareAt(dbs.get(), EncodeU64Ts(at, &buffer)); });
    }
  }
  // Old versions are dropped as full_history_ts_low rises. Reads as of a time
  // before it fail.
  std::string low;
  const Slice low_slice = EncodeU64Ts(30, &low);
  CompactRangeOptions trim;
  trim.full_history_ts_low = &low_slice;
  trim.bottommost_level_compaction = BottommostLevelCompaction::kForce;
  dbs->Compact(trim);
  const Slice before = EncodeU64Ts(20, &buffer);
  ReadOptions options;
  options.timestamp = &before;
  CompareGets(dbs.get(), queries_, -1, options);
  for (uint64_t at : {30, 50}) {
    SCOPED_TRACE(at);
    CompareAt(dbs.get(), EncodeU64Ts(at, &buffer));
  }
}

// Timestamps that are dropped when memtables are flushed.
TEST_P(TimestampTest, NotPersisted) {
  const auto dbs = NewTimestampedTree(/*persisted=*/false);
  for (bool compacted : {false, true}) {
    if (compacted) dbs->Compact();
    ExpectFilteredGets([&] { CompareAt(dbs.get(), MaxU64Ts()); });
  }
  dbs->Reopen();
  ExpectFilteredGets([&] { CompareAt(dbs.get(), MaxU64Ts()); });
}

}  // namespace ROCKSDB_NAMESPACE::protean
