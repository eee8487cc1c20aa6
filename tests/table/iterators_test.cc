// SPDX-License-Identifier: Apache-2.0

//  Iterators of every kind find the same with ProteanTable as without it: what
//  random walks (differential_test) do seldom or not at all; what open seeks
//  cost; and table readers.

#include <malloc.h>

#include "db/pinned_iterators_manager.h"
#include "rocksdb/attribute_groups.h"
#include "rocksdb/sst_file_reader.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/table/feature_fixture.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class IteratorsTest : public FeatureTest {};
PROTEAN_FEATURE_TEST(IteratorsTest);

// ---- Options and column families ----

TEST_P(IteratorsTest, Properties) {
  const auto dbs = NewTree();
  WalkOptions walk;
  walk.lower = walk.upper = true;
  TwinIterator it(dbs.get(), ReadOptions(), true, true);
  it.CompareAlso([](const Iterator& iterator) {
    std::string internal_key;
    EXPECT_OK(const_cast<Iterator&>(iterator).GetProperty(
        "rocksdb.iterator.internal-key", &internal_key));
    return " " + Hex(internal_key);
  });
  ExpectFilteredSeeks([&] { WalkBoth(&it, queries_, walk); });

  // Also known before the first seek and after one that was filtered.
  const auto version = [&] {
    return dbs->Same([&](TwinDB::Twin twin) {
      std::string number;
      EXPECT_OK(it.iterator(twin)->GetProperty(
          "rocksdb.iterator.super-version-number", &number));
      return number;
    });
  };
  uint64_t current = 0;
  ASSERT_TRUE(dbs->protean()->GetIntProperty(
      DB::Properties::kCurrentSuperVersionNumber, &current));
  EXPECT_EQ(std::to_string(current), version());
  it.SetUpper(queries_[1]);
  it.Seek(queries_[1]);
  EXPECT_EQ(std::to_string(current), version());
  dbs->Put("new", "value");
  dbs->Flush();
  EXPECT_EQ(std::to_string(current), version());
  it.Refresh(dbs.get());
  EXPECT_LT(current, std::stoull(version()));
  ExpectFilteredSeeks([&] { WalkBoth(&it, queries_, walk); });

  std::string value;
  EXPECT_TRUE(it.iterator(TwinDB::kProtean)
                  ->GetProperty("rocksdb.iterator.no-such-thing", &value)
                  .IsInvalidArgument());
}

// Filters are used, whatever iterators leave out and however they read, and
// whether or not they, or MultiGet, give up. That all answers are right:
// differential_test.
TEST_P(IteratorsTest, OtherReadOptions) {
  const auto dbs = NewTree();
  // RocksDB's tailing iterators know no range deletions, and no new bounds.
  ReadOptions tailing;
  tailing.tailing = true;
  ExpectFilteredSeeks([&] {
    for (size_t i = 0; i + 1 < queries_.size(); i++) {
      dbs->Same([&](TwinDB::Twin twin) {
        return Hex(
            FirstIn(dbs->db(twin), queries_[i], queries_[i + 1], tailing));
      });
    }
  });
  for (size_t i = 0; i + 30 < keys_.size(); i += 60) {
    dbs->DeleteRange(keys_[i], keys_[i + 30]);
  }
  dbs->Flush();
  ReadOptions all[7];
  all[0].ignore_range_deletions = true;
  all[1].adaptive_readahead = true;
  all[1].readahead_size = 2000;
  all[2].fill_cache = false;
  all[2].verify_checksums = false;
  all[3].async_io = true;
  all[3].readahead_size = 16 << 10;
  all[4].allow_unprepared_value = true;
  all[5].table_filter = [](const TableProperties& properties) {
    return properties.num_entries % 2 == 0;
  };
  all[6].value_size_soft_limit = 200;  // a few values of each MultiGet
  for (const ReadOptions& options : all) {
    SCOPED_TRACE(&options - all);
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_, -1, options); });
  }
  std::vector<PinnableSlice> values;
  const auto statuses = MultiGet(dbs->protean(), queries_, &values, all[6]);
  EXPECT_TRUE(std::any_of(statuses.begin(), statuses.end(),
                          [](const Status& s) { return s.IsAborted(); }));

  // At the same limit of skipped keys as without filters.
  for (size_t i = 0; i < keys_.size(); i++) {
    if (i % 20 >= 6) dbs->Delete(keys_[i]);
  }
  dbs->Flush();
  for (const uint64_t most : {1, 10}) {
    ReadOptions options;
    options.max_skippable_internal_keys = most;
    ExpectFilteredSeeks(
        [&] { CompareWalks(dbs.get(), queries_, -1, options); });
    const std::unique_ptr<Iterator> it(dbs->protean()->NewIterator(options));
    bool gave_up = false;
    for (const std::string& key : keys_) {
      it->Seek(key);
      gave_up = gave_up || it->status().IsIncomplete();
    }
    EXPECT_TRUE(gave_up);
  }
}

// The columns of a key come from several column families, some of which have
// other filters, or none. They are read all at once, and one by one.
TEST_P(IteratorsTest, OverColumnFamilies) {
  const auto dbs = NewTwins();
  dbs->Open();
  std::array<std::vector<ColumnFamilyHandle*>, 2> families;
  for (const std::string name : {"second", "third"}) {
    dbs->Each([&](TwinDB::Twin twin) {
      ColumnFamilyOptions options(dbs->options(twin));
      if (twin == TwinDB::kProtean) {
        options.table_factory =
            name == "second"
                ? NewTable("ProteanTable", "filter_policy=surf:4:4")
                : NewTable("BlockBasedTable", "filter_policy=bloomfilter:9");
      }
      return dbs->db(twin)->CreateColumnFamily(options, name,
                                               &families[twin].emplace_back());
    });
  }
  for (TwinDB::Twin twin : TwinDB::kTwins) {
    families[twin].push_back(dbs->db(twin)->DefaultColumnFamily());
  }
  Random rnd(31);
  for (int round = 0; round < 3; round++) {
    for (const std::string& key : keys_) {
      const size_t family = rnd.Uniform(3);
      const bool wide = rnd.OneIn(2);
      const bool gone = rnd.OneIn(6);
      const std::string value = "round " + std::to_string(round);
      dbs->Each([&](TwinDB::Twin twin) {
        DB* db = dbs->db(twin);
        ColumnFamilyHandle* handle = families[twin][family];
        if (gone) return db->Delete(WriteOptions(), handle, key);
        if (!wide) return db->Put(WriteOptions(), handle, key, value);
        return db->PutEntity(
            WriteOptions(), handle, key,
            WideColumns{{"a", value}, {"in " + std::to_string(family), "b"}});
      });
    }
    if (round == 2) break;
    dbs->Each([&](TwinDB::Twin twin) {
      return dbs->db(twin)->Flush(FlushOptions(), families[twin]);
    });
  }

  const auto scan = [&](const std::string& lo, const std::string& hi,
                        bool backwards) {
    return dbs->Same([&](TwinDB::Twin twin) {
      const Slice lower(lo);
      const Slice upper(hi);
      ReadOptions options;
      options.iterate_lower_bound = &lower;
      options.iterate_upper_bound = &upper;
      DB* const db = dbs->db(twin);
      std::string described;
      const auto walk = [&](auto* it, const auto& describe) {
        backwards ? it->SeekForPrev(hi) : it->Seek(lo);
        for (; it->Valid(); backwards ? it->Prev() : it->Next()) {
          described += Hex(it->key()) + describe();
        }
        described += it->status().ToString();
      };
      const auto together = db->NewCoalescingIterator(options, families[twin]);
      walk(together.get(), [&] {
        return together->value().ToString() +
               DescribeColumns(together->columns());
      });
      const auto groups =
          db->NewAttributeGroupIterator(options, families[twin]);
      walk(groups.get(), [&] {
        std::string columns;
        for (const auto& group : groups->attribute_groups()) {
          columns += " in " + group.column_family()->GetName() +
                     DescribeColumns(group.columns());
        }
        return columns;
      });
      std::vector<Iterator*> iterators;
      EXPECT_OK(db->NewIterators(options, families[twin], &iterators));
      for (Iterator* raw : iterators) {
        const std::unique_ptr<Iterator> it(raw);
        walk(raw, [&] { return raw->value().ToString() + " "; });
      }
      return described;
    });
  };
  ExpectFilteredSeeks([&] {
    for (size_t i = 0; i + 3 < queries_.size(); i += 3) {
      scan(queries_[i], queries_[i + 1], /*backwards=*/false);
      scan(queries_[i], queries_[i + 3], /*backwards=*/true);
    }
  });
  EXPECT_LT(1000u, scan("", "\xff", /*backwards=*/false).size());
  for (TwinDB::Twin twin : TwinDB::kTwins) {
    for (ColumnFamilyHandle* handle : families[twin]) {
      if (handle == dbs->db(twin)->DefaultColumnFamily()) continue;
      EXPECT_OK(dbs->db(twin)->DestroyColumnFamilyHandle(handle));
    }
  }
}

// ---- Open seeks over many sorted runs, and their memory ----

class OpenSeeksTest : public OwnDBTest {
 protected:
  // A run of random numbers, at the bottom of the tree or on level 0.
  void AddNumbers(size_t count, bool bottom = false,
                  const std::string& value = std::string(100, 'v')) {
    Keys keys(count);
    for (std::string& key : keys) key = BigEndian(random_.Next());
    WriteFile(keys, /*level=*/0, value);
    model_.insert(keys.begin(), keys.end());
    if (bottom) CompactLevel0Into(3, 1 << 30);
  }

  // Checks where an iterator is at `target` and some steps on.
  void Check(Iterator* it, const std::string& target, int steps) {
    auto expected = model_.lower_bound(target);
    it->Seek(target);
    for (int i = 0; i <= steps; i++) {
      ASSERT_OK(it->status());
      ASSERT_EQ(expected != model_.end(), it->Valid()) << Hex(target);
      if (!it->Valid()) return;
      ASSERT_EQ(Hex(*expected), Hex(it->key()));
      if (i == steps) return;
      it->Next();
      ++expected;
    }
  }

  // Blocks that such seeks ask for.
  double BlocksPerSeek(int seeks, uint64_t seed, int nexts = 0) {
    Random64 random(seed);
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    const uint64_t before = BlocksUsed();
    for (int i = 0; i < seeks; i++) {
      Check(it.get(), BigEndian(random.Next()), nexts);
    }
    return static_cast<double>(BlocksUsed() - before) / seeks;
  }

  Random64 random_{1};
  std::set<std::string> model_;
};

// Filters of sets do not know where the next key is, but that there is none up
// to the key of another file; even better after a lesson.
TEST_F(OpenSeeksTest, ReadsFewRunsOfMany) {
  SetPolicy("{id=protean.Proteus;bits_per_key=12;sample_every=1}",
            "block_cache=8K");
  Open();
  AddNumbers(20000, /*bottom=*/true);
  for (int i = 0; i < 3; i++) AddNumbers(1000);
  EXPECT_LT(BlocksPerSeek(2000, /*seed=*/2), 1.7);
  EXPECT_LT(BlocksPerSeek(2000, /*seed=*/3, /*nexts=*/1), 2.2);
  // The runs are made again.
  for (const LiveFileMetaData& file : Files()) {
    ASSERT_OK(db_->CompactFiles(CompactionOptions(), {file.name}, file.level));
  }
  EXPECT_LT(BlocksPerSeek(2000, /*seed=*/4), 1.1);
}

// RocksDB's iterator seeks anew when it has skipped some versions of a key, and
// takes markers at one place for such. Then all files seek again, within the
// same search: a file that reads must not wait again. With few runs, and other
// numbers of versions: differential_test.
TEST_F(OpenSeeksTest, ScanOverManyRuns) {
  constexpr int kRuns = 250;
  SetPolicy("proteus:14", "block_cache=64M");
  Open();
  for (int run = 0; run < kRuns; run++) AddNumbers(200, /*bottom=*/false, "v");
  for (const uint64_t target : {0x2000000000000001, 0x7123456789abcdef}) {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    ASSERT_OK(options_.statistics->Reset());
    const uint64_t before = get_perf_context()->internal_recent_skipped_count;
    Check(it.get(), BigEndian(target), /*steps=*/1 << 20);
    // No more than each marker at each place that it moves to, and a seek where
    // many wait at one.
    EXPECT_LE(get_perf_context()->internal_recent_skipped_count - before,
              5u * kRuns);
    EXPECT_LE(Ticks(NUMBER_OF_RESEEKS_IN_ITERATION), kRuns / 10);
  }
}

// Where all blocks are in the cache, trying prefixes one by one takes longer
// than reading. (That the files of a level learn it together: open_db_test.)
TEST_F(OpenSeeksTest, FiltersThatAreSlowAreAskedForReadsFromDisk) {
  SetPolicy("proteus:12", "block_cache=64M");
  Open();
  AddNumbers(20000, /*bottom=*/true);
  for (int i = 0; i < 3; i++) AddNumbers(1000);
  const auto filtered = [&](int seeks) {
    const uint64_t before = get_perf_context()->bloom_sst_miss_count;
    BlocksPerSeek(seeks, /*seed=*/2);
    return static_cast<double>(get_perf_context()->bloom_sst_miss_count -
                               before) /
           seeks;
  };
  EXPECT_GT(filtered(1000), 2);
  AllRecords(db_.get());  // reads all blocks
  BlocksPerSeek(1000, /*seed=*/2);
  EXPECT_LT(filtered(1000), 0.1);
  // Now they are on the disk again.
  TableOf(options_)->block_cache->EraseUnRefEntries();
  TableOf(options_)->block_cache->SetCapacity(0);
  filtered(100);
  EXPECT_GT(filtered(1000), 2);
}

// The bytes that the process has allocated; 0 if the C library does not tell.
size_t AllocatedBytes() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return mallinfo2().uordblks;
#else
  return 0;
#endif
}

using IteratorMemoryTest = NumberedDBTest;

TEST_F(IteratorMemoryTest, IsLittleMoreThanStocks) {
  // An arena grows by 4 KB. With few files, that hides what an iterator takes.
  constexpr uint64_t kFiles = 40;
  constexpr uint64_t kKeysPerFile = 1000;
  // The bytes of an iterator that has read all files, and has sought.
  const auto bytes_with = [&](const std::string& id,
                              const std::string& policy) {
    SetTable("filter_policy=" + policy, id);
    OpenNew();
    for (uint64_t file = 0; file < kFiles; file++) {
      WriteNumbers(file, kFiles * kKeysPerFile - 1, /*step=*/kFiles);
    }
    size_t least = SIZE_MAX;
    for (int repetition = 0; repetition < 3; repetition++) {
      const size_t before = AllocatedBytes();
      const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      for (uint64_t i = 0; i < kKeysPerFile; i += 50) {
        it->Seek(Gap(i * kFiles));
        for (uint64_t key = 0; key < 2 * kFiles; key++) it->Next();
        EXPECT_TRUE(it->Valid());
      }
      least = std::min(least, AllocatedBytes() - before);
    }
    return least;
  };
  const size_t stock = bytes_with("BlockBasedTable", "bloomfilter:12");
  if (stock == 0) GTEST_SKIP() << "malloc does not tell";
  for (const std::string policy : {"proteus:12", "surf:0:8"}) {
    const size_t bytes = bytes_with("ProteanTable", policy);
    EXPECT_LE(static_cast<double>(bytes), 1.3 * static_cast<double>(stock))
        << policy;
  }
}

// ---- Table readers ----

// Iterators as RocksDB may call them, but does not in every version, or only
// from its tools.

class TableReaderTest : public ::testing::Test {
 protected:
  static constexpr int kKeys = 500;

  TableReaderTest() {
    BlockBasedTableOptions table;
    table.block_size = 256;
    table.filter_policy = NewSurfFilterPolicy({0, 8});
    options_.compression = kNoCompression;
    options_.table_factory =
        std::make_shared<ShowingFactory<ProteanTableFactory>>(
            table, [this](const TableReaderOptions&, TableReader* reader) {
              reader_ = reader;
            });
    SstFileWriter writer(EnvOptions(), options_);
    EXPECT_OK(writer.Open(path_));
    for (int i = 0; i < kKeys; i++) {
      EXPECT_OK(writer.Put(Key(2 * i + 1), "value " + std::to_string(i)));
    }
    EXPECT_OK(writer.Finish());
    file_ = std::make_unique<SstFileReader>(options_);
    EXPECT_OK(file_->Open(path_));
  }

  // Odd ones are in the file.
  static std::string Key(int i) { return BigEndian(1000 * i) + "tail"; }
  // What a seek to it looks for.
  static std::string Target(int i) {
    std::string target = Key(i);
    PutFixed64(&target,
               PackSequenceAndType(kMaxSequenceNumber, kValueTypeForSeek));
    return target;
  }

  TableReader* plain() const {
    return static_cast<ProteanTableReader*>(reader_)->file().table();
  }
  std::unique_ptr<InternalIterator> NewIterator(TableReader* reader) const {
    return std::unique_ptr<InternalIterator>(reader->NewIterator(
        read_options_, /*prefix_extractor=*/nullptr, /*arena=*/nullptr,
        /*skip_filters=*/false, TableReaderCaller::kUserIterator,
        /*compaction_readahead_size=*/0, /*allow_unprepared_value=*/false));
  }

  const std::string path_ = test::PerThreadDBPath("table_reader.sst");
  const ReadOptions read_options_;
  Options options_;
  TableReader* reader_ = nullptr;
  std::unique_ptr<SstFileReader> file_;
};

void ExpectSame(const InternalIterator& expected, const InternalIterator& it) {
  ASSERT_EQ(expected.Valid(), it.Valid());
  if (!expected.Valid()) return;
  EXPECT_EQ(expected.key(), it.key());
  EXPECT_EQ(expected.user_key(), it.user_key());
  EXPECT_EQ(expected.value(), it.value());
}

TEST_F(TableReaderTest, StepsFromMarkers) {
  PinnedIteratorsManager pinned;
  const auto it = NewIterator(reader_);
  it->SetPinnedItersMgr(&pinned);
  const auto expected = NewIterator(plain());
  Random rnd(61);
  int markers = 0;
  for (int i = 0; i < 2000; i++) {
    const int target = static_cast<int>(rnd.Uniform(2 * kKeys + 1));
    SCOPED_TRACE(target);
    it->Seek(Target(target));
    expected->Seek(Target(target));
    if (it->Valid() && GetInternalKeySeqno(it->key()) != 0) {
      markers++;
      // The marker is not behind the next key, and nothing that a caller reads.
      EXPECT_GT(it->user_key().compare(Key(target)), 0);
      EXPECT_LE(it->user_key().compare(expected->user_key()), 0);
      EXPECT_TRUE(it->PrepareValue());
      EXPECT_EQ("", it->value());
      EXPECT_FALSE(it->IsKeyPinned());
      EXPECT_FALSE(it->IsValuePinned());
      EXPECT_EQ(IterBoundCheck::kUnknown, it->UpperBoundCheckResult());
      if (rnd.OneIn(2)) {
        it->Prev();
        expected->Prev();
      } else {
        it->Next();
      }
    }
    ExpectSame(*expected, *it);
    for (int step = rnd.Uniform(5); step > 0 && expected->Valid(); step--) {
      const bool forward = rnd.OneIn(2);
      for (InternalIterator* const both : {it.get(), expected.get()}) {
        forward ? both->Next() : both->Prev();
      }
      ExpectSame(*expected, *it);
    }
    if (HasFailure()) return;
    if (it->Valid()) {
      EXPECT_EQ(expected->write_unix_time(), it->write_unix_time());
      EXPECT_EQ(expected->IsKeyPinned(), it->IsKeyPinned());
    }
    ASSERT_OK(it->status());
  }
  EXPECT_GT(markers, 100);
}

TEST_F(TableReaderTest, LeavesTheRestToTheTable) {
  const std::string low = Target(100);
  const std::string high = Target(800);
  const Slice low_slice(low);
  const Slice high_slice(high);
  constexpr auto kCaller = TableReaderCaller::kUserApproximateSize;
  EXPECT_GT(reader_->ApproximateOffsetOf(read_options_, high, kCaller), 0u);
  EXPECT_EQ(plain()->ApproximateOffsetOf(read_options_, high, kCaller),
            reader_->ApproximateOffsetOf(read_options_, high, kCaller));
  EXPECT_EQ(plain()->ApproximateSize(read_options_, low, high, kCaller),
            reader_->ApproximateSize(read_options_, low, high, kCaller));
  std::vector<TableReader::Anchor> anchors;
  ASSERT_OK(reader_->ApproximateKeyAnchors(read_options_, anchors));
  EXPECT_GT(anchors.size(), 2u);
  EXPECT_EQ(plain()->GetTableProperties(), reader_->GetTableProperties());
  EXPECT_GT(reader_->ApproximateMemoryUsage(),
            plain()->ApproximateMemoryUsage());
  EXPECT_OK(reader_->Prefetch(read_options_, &low_slice, &high_slice));
  reader_->Prepare(low);
  reader_->SetupForCompaction();
  EXPECT_OK(reader_->VerifyChecksum(read_options_,
                                    kCaller PROTEAN_SINCE_10_8(, false)));

  const std::string dump = path_ + ".dump";
  std::unique_ptr<WritableFile> out;
  ASSERT_OK(Env::Default()->NewWritableFile(dump, &out, EnvOptions()));
  EXPECT_OK(reader_->DumpTable(out.get() PROTEAN_SINCE_10_10(, false)));
  ASSERT_OK(out->Close());
  ExpectHas(ContentsOf(dump), {"Index Details"});
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
