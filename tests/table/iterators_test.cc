// SPDX-License-Identifier: Apache-2.0

//  Iterators of every kind find the same with ProteanTable as without it: what
//  random walks (differential_test) do seldom or not at all.

#include "db/pinned_iterators_manager.h"
#include "rocksdb/attribute_groups.h"
#include "rocksdb/sst_file_reader.h"
#include "table/protean_table_factory.h"
#include "table/protean_table_reader.h"
#include "tests/table/feature_fixture.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

class IteratorsTest : public FeatureTest {};
PROTEAN_FEATURE_TEST(IteratorsTest);

// ---- Options ----

TEST_P(IteratorsTest, Properties) {
  const auto dbs = NewTree();
  const WalkOptions walk = WalkOptions::Bounded();
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

// Filters are used, whatever iterators leave out and however they read. That
// all answers are right, also of tailing iterators and of those that give up at
// a limit of skipped keys: differential_test.
TEST_P(IteratorsTest, OtherReadOptions) {
  const auto dbs = NewTree();
  for (size_t i = 0; i + 30 < keys_.size(); i += 60) {
    dbs->DeleteRange(keys_[i], keys_[i + 30]);
  }
  dbs->Flush();
  ReadOptions all[6];
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
  for (const ReadOptions& options : all) {
    SCOPED_TRACE(&options - all);
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_, -1, options); });
  }
}

// ---- Several column families ----

// The columns of a key come from several column families, some of which have
// other filters, or none.
class CrossFamilyTest : public IteratorsTest {
 protected:
  void SetUp() override {
    dbs_ = NewTwins();
    dbs_->Open();
    for (const char* name : {"second", "third"}) {
      dbs_->Each([&](TwinDB::Twin twin) {
        ColumnFamilyOptions options(dbs_->options(twin));
        if (twin == TwinDB::kProtean) {
          options.table_factory =
              name == std::string("second")
                  ? NewTable("ProteanTable", "filter_policy=surf:4:4")
                  : NewTable("BlockBasedTable", "filter_policy=bloomfilter:9");
        }
        ColumnFamilyHandle* handle = nullptr;
        const Status s =
            dbs_->db(twin)->CreateColumnFamily(options, name, &handle);
        families_[twin].push_back(handle);
        return s;
      });
    }
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      families_[twin].push_back(dbs_->db(twin)->DefaultColumnFamily());
    }
    Random rnd(31);
    for (int round = 0; round < 3; round++) {
      for (const std::string& key : keys_) {
        const size_t family = rnd.Uniform(3);
        const bool wide = rnd.OneIn(2);
        const bool gone = rnd.OneIn(6);
        const std::string value = "round " + std::to_string(round);
        dbs_->Each([&](TwinDB::Twin twin) {
          DB* db = dbs_->db(twin);
          ColumnFamilyHandle* handle = families_[twin][family];
          if (gone) return db->Delete(WriteOptions(), handle, key);
          if (!wide) return db->Put(WriteOptions(), handle, key, value);
          return db->PutEntity(
              WriteOptions(), handle, key,
              WideColumns{{"a", value}, {"in " + std::to_string(family), "b"}});
        });
      }
      if (round == 2) break;
      dbs_->Each([&](TwinDB::Twin twin) {
        return dbs_->db(twin)->Flush(FlushOptions(), families_[twin]);
      });
    }
  }

  void TearDown() override {
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      for (ColumnFamilyHandle* handle : families_[twin]) {
        if (handle == dbs_->db(twin)->DefaultColumnFamily()) continue;
        EXPECT_OK(dbs_->db(twin)->DestroyColumnFamilyHandle(handle));
      }
    }
  }

  std::unique_ptr<TwinDB> dbs_;
  std::array<std::vector<ColumnFamilyHandle*>, 2> families_;
};

PROTEAN_FEATURE_TEST(CrossFamilyTest);

TEST_P(CrossFamilyTest, CoalescingIterator) {
  const TwinIterator::Source source = [&](TwinDB::Twin twin,
                                          const ReadOptions& options) {
    return dbs_->db(twin)
        ->NewCoalescingIterator(options, families_[twin])
        .release();
  };
  for (bool upper : {false, true}) {
    WalkOptions walk;
    walk.lower = walk.upper = upper;
    TwinIterator it(source, ReadOptions(), upper, upper);
    it.CompareAlso(
        [](const Iterator& at) { return DescribeColumns(at.columns()); });
    const uint64_t before = FilteredSeeks();
    WalkBoth(&it, queries_, walk);
    if (upper) {
      EXPECT_GT(FilteredSeeks(), before);
    }
  }
}

// All columns of all families at once, and the families one by one.
TEST_P(CrossFamilyTest, AttributeGroupsAndNewIterators) {
  const auto scan = [&](const std::string& lo, const std::string& hi,
                        bool backwards) {
    return dbs_->Same([&](TwinDB::Twin twin) {
      const Slice lower(lo);
      const Slice upper(hi);
      ReadOptions options;
      options.iterate_lower_bound = &lower;
      options.iterate_upper_bound = &upper;
      std::string described;
      const auto walk = [&](auto* it, const auto& describe) {
        backwards ? it->SeekForPrev(hi) : it->Seek(lo);
        for (; it->Valid(); backwards ? it->Prev() : it->Next()) {
          described += Hex(it->key()) + describe();
        }
        described += it->status().ToString();
      };
      const auto groups =
          dbs_->db(twin)->NewAttributeGroupIterator(options, families_[twin]);
      walk(groups.get(), [&] {
        std::string columns;
        for (const auto& group : groups->attribute_groups()) {
          columns += " in " + group.column_family()->GetName() +
                     DescribeColumns(group.columns());
        }
        return columns;
      });
      std::vector<Iterator*> iterators;
      EXPECT_OK(
          dbs_->db(twin)->NewIterators(options, families_[twin], &iterators));
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
}

// ---- Table readers ----

// As RocksDB may call them, but does not in every version, or only from its
// tools: step by step without results, and what is the block-based table's.

namespace {

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
  ~TableReaderTest() override {
    file_.reset();
    EXPECT_OK(Env::Default()->DeleteFile(path_));
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

}  // namespace

// A marker is passed by in both directions, and no key is lost.
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

// Functions that are not Protean's business are the block-based table's.
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
  EXPECT_OK(Env::Default()->DeleteFile(dump));
}

}  // namespace ROCKSDB_NAMESPACE::protean
