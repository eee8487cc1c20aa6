// SPDX-License-Identifier: Apache-2.0

//  Iterators of every kind find the same with ProteanTable as without it: what
//  random walks (differential_test) do seldom or not at all.

#include "rocksdb/attribute_groups.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

class IteratorsTest : public FeatureTest {};
PROTEAN_FEATURE_TEST(IteratorsTest);

// ---- Options ----

// Keys and values that pin_data pins stay in place until the iterator is
// destroyed, whichever way it moves and however many files it leaves.
TEST_P(IteratorsTest, PinnedData) {
  const auto dbs = NewTree(ManySmallFiles(kLevels),
                           "block_size=512;use_delta_encoding=false");
  ReadOptions options;
  options.pin_data = true;
  for (const bool closed : {false, true}) {
    TwinIterator it(dbs.get(), options, /*lower=*/false, closed);
    it.CompareAlso([](const Iterator& iterator) {
      std::string described;
      for (const char* name : {"is-key-pinned", "is-value-pinned"}) {
        std::string value;
        auto& mutable_iterator = const_cast<Iterator&>(iterator);
        EXPECT_OK(mutable_iterator.GetProperty(
            std::string("rocksdb.iterator.") + name, &value));
        described += std::string(" ") + name + "=" + value;
      }
      return described;
    });
    it.SetUpper(queries_.back());
    std::vector<std::pair<Slice, std::string>> pinned;
    const auto pin = [&] {
      const Slice key = it.iterator(TwinDB::kProtean)->key();
      std::string is_pinned;
      ASSERT_OK(
          it.iterator(TwinDB::kProtean)
              ->GetProperty("rocksdb.iterator.is-key-pinned", &is_pinned));
      ASSERT_EQ("1", is_pinned);
      pinned.emplace_back(key, key.ToString());
    };
    for (bool valid = it.SeekToFirst(); valid; valid = it.Next()) pin();
    ExpectFilteredSeeks([&] {
      for (size_t i = 1; i < queries_.size(); i++) {
        it.SetUpper(queries_[i]);
        if (it.Seek(queries_[i - 1])) pin();
        if (!closed) continue;
        ASSERT_FALSE(it.Seek(queries_[i]));
      }
      // An iterator without an upper bound is never filtered.
      if (!closed) CompareWalks(dbs.get(), queries_, -1, options);
    });
    for (bool valid = it.SeekToLast(); valid; valid = it.Prev()) pin();
    for (const auto& [slice, copy] : pinned) ASSERT_EQ(copy, slice.ToString());
  }
}

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

// What iterators leave out and how they read is the same with filters. Tailing
// iterators, and those that give up at a limit of skipped keys:
// differential_test.
TEST_P(IteratorsTest, OtherReadOptions) {
  const auto dbs = NewTree(ManySmallFiles(kLevels),
                           "block_size=256;num_file_reads_for_auto_readahead=1;"
                           "initial_auto_readahead_size=512;"
                           "index_type=kBinarySearchWithFirstKey");
  const size_t before = CompareScans(dbs.get());
  for (size_t i = 0; i + 30 < keys_.size(); i += 60) {
    dbs->DeleteRange(keys_[i], keys_[i + 30]);
    if (i % 180 == 0) dbs->Flush();
  }
  EXPECT_LT(CompareScans(dbs.get()), before);
  ReadOptions all[8];
  all[0].ignore_range_deletions = true;
  all[1].adaptive_readahead = true;
  all[2].readahead_size = 2000;
  all[2].auto_readahead_size = false;
  all[3].fill_cache = false;
  all[3].verify_checksums = false;
  all[3].background_purge_on_iterator_cleanup = true;
  all[4].async_io = true;
  all[4].readahead_size = 16 << 10;
  // Values are loaded when PrepareValue asks for them.
  all[5].allow_unprepared_value = true;
  for (const uint64_t rest : {0, 1}) {
    all[6 + rest].table_filter = [rest](const TableProperties& properties) {
      return properties.num_entries % 2 == rest;
    };
  }
  for (const ReadOptions& options : all) {
    SCOPED_TRACE(&options - all);
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_, -1, options); });
  }
  EXPECT_EQ(before, CompareScans(dbs.get(), -1, all[0]));
  ReadOptions none;
  none.table_filter = [](const TableProperties&) { return false; };
  CompareWalks(dbs.get(), queries_, -1, none);
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

TEST_P(CrossFamilyTest, AttributeGroupIterator) {
  const auto scan = [&](const std::string& lo, const std::string& hi,
                        bool backwards) {
    return dbs_->Same([&](TwinDB::Twin twin) {
      const Slice lower(lo);
      const Slice upper(hi);
      ReadOptions options;
      options.iterate_lower_bound = &lower;
      options.iterate_upper_bound = &upper;
      const auto it =
          dbs_->db(twin)->NewAttributeGroupIterator(options, families_[twin]);
      std::string described;
      backwards ? it->SeekForPrev(hi) : it->Seek(lo);
      for (; it->Valid(); backwards ? it->Prev() : it->Next()) {
        described += Hex(it->key());
        for (const auto& group : it->attribute_groups()) {
          described += " in " + group.column_family()->GetName() +
                       DescribeColumns(group.columns());
        }
      }
      return described + it->status().ToString();
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

TEST_P(CrossFamilyTest, NewIterators) {
  ExpectFilteredSeeks([&] {
    for (size_t i = 0; i + 2 < queries_.size(); i += 5) {
      dbs_->Same([&](TwinDB::Twin twin) {
        const Slice upper(queries_[i + 2]);
        ReadOptions options;
        options.iterate_upper_bound = &upper;
        std::vector<Iterator*> iterators;
        EXPECT_OK(
            dbs_->db(twin)->NewIterators(options, families_[twin], &iterators));
        std::string described;
        for (Iterator* raw : iterators) {
          const std::unique_ptr<Iterator> it(raw);
          for (it->Seek(queries_[i]); it->Valid(); it->Next()) {
            described += Hex(it->key()) + it->value().ToString() + " ";
          }
          described += it->status().ToString();
        }
        return described;
      });
    }
  });
}

}  // namespace ROCKSDB_NAMESPACE::protean
