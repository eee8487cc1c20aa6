// SPDX-License-Identifier: Apache-2.0

//  The markers of ProteanTableIterator are never taken for keys.

#include "rocksdb/attribute_groups.h"
#include "rocksdb/utilities/db_ttl.h"
#include "rocksdb/utilities/optimistic_transaction_db.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/utilities/write_batch_with_index.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"
#include "util/vector_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The sequence number of Protean's markers; see protean_table_iterator.cc.
constexpr SequenceNumber kMarkerSequence = kMaxSequenceNumber - 1;
static_assert(kMarkerSequence == (uint64_t{1} << 56) - 2);

uint64_t markers_made = 0;

// An iterator over the entries of a file, with a marker after the last version
// of each key unless the next key leaves no room for one.
std::unique_ptr<InternalIterator> WithMarkers(std::unique_ptr<SpiedFile> file) {
  InternalIterator* const it = file->inner.get();
  it->SeekToFirst();
  std::vector<std::string> keys;
  std::vector<std::string> values;
  for (; it->Valid(); it->Next()) {
    keys.push_back(it->key().ToString());
    values.push_back(it->value().ToString());
  }
  EXPECT_OK(it->status());
  static const InternalKeyComparator comparator(BytewiseComparator());
  for (size_t i = 0, size = keys.size(); i < size; i++) {
    const std::string after = ExtractUserKey(keys[i]).ToString() + '\0';
    if (i + 1 < size && ExtractUserKey(keys[i + 1]).compare(after) <= 0) {
      continue;
    }
    std::string marker = after;
    PutFixed64(&marker, PackSequenceAndType(kMarkerSequence, kTypeValue));
    keys.push_back(marker);
    values.push_back("a marker");
    markers_made++;
  }
  return std::make_unique<VectorIterator>(std::move(keys), std::move(values),
                                          &comparator);
}

std::unique_ptr<InternalIterator> MarkedForUsers(
    std::unique_ptr<SpiedFile> file) {
  if (file->caller == TableReaderCaller::kUserIterator) {
    return WithMarkers(std::move(file));
  }
  return std::make_unique<SpyIterator>(std::move(file->inner));
}

// Walks and seeks in both directions and expects to find the truth and nothing
// else. `It` is an iterator of any kind, and `value` returns its value.
template <typename It, typename Value>
void ExpectTruth(const Records& truth, It* it, const Value& value) {
  const uint64_t before = markers_made;
  auto expected = truth.begin();
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
    ASSERT_NE(truth.end(), expected) << Hex(it->key());
    ASSERT_EQ(expected->first, it->key().ToString());
    ASSERT_EQ(expected->second, value(it));
  }
  EXPECT_OK(it->status());
  EXPECT_EQ(truth.end(), expected);
  for (it->SeekToLast(); it->Valid(); it->Prev()) {
    ASSERT_NE(truth.begin(), expected) << Hex(it->key());
    ASSERT_EQ((--expected)->first, it->key().ToString());
  }
  EXPECT_OK(it->status());
  EXPECT_EQ(truth.begin(), expected);
  for (const auto& [key, unused] : truth) {
    for (const std::string& target : Around(key)) {
      it->Seek(target);
      const auto next = truth.lower_bound(target);
      ASSERT_EQ(next != truth.end(), it->Valid());
      if (it->Valid()) {
        ASSERT_EQ(next->first, it->key().ToString());
      }
      it->SeekForPrev(target);
      auto last = truth.upper_bound(target);
      ASSERT_EQ(last != truth.begin(), it->Valid());
      if (it->Valid()) {
        ASSERT_EQ((--last)->first, it->key().ToString());
      }
    }
  }
  EXPECT_LT(before, markers_made) << "no marker has been met";
}

void ExpectOnly(const Records& truth, std::unique_ptr<Iterator> it) {
  ExpectTruth(truth, it.get(),
              [](Iterator* i) { return i->value().ToString(); });
}

void ExpectOnly(const Records& truth, DB* db, const ReadOptions& options = {}) {
  ExpectOnly(truth, std::unique_ptr<Iterator>(db->NewIterator(options)));
}

}  // namespace

// No reader sees a write with the sequence number 2^56-2. Otherwise, markers of
// ProteanTableIterator would be taken for keys: look at DBIter::IsVisible and
// the read callbacks.
class MarkersTest : public ContractTest {
 protected:
  MarkersTest() { SetTable(MarkedForUsers); }

  // Writes, overwrites and deletes keys, on several levels and in the memtable.
  void Fill(DB* db, bool delete_ranges = true) {
    AddFile(db, 3, {"", "a", "b", "bb", "c", "d", "f", std::string("g\0", 2)});
    snapshot_truth_ = Read(db);
    snapshot_ = db->GetSnapshot();
    AddFile(db, 2, {"ab", "b", "e", "ee", "\xff"});
    ASSERT_OK(db->Delete(WriteOptions(), "c"));
    if (delete_ranges) {
      ASSERT_OK(db->DeleteRange(WriteOptions(), "e", "ef"));
    }
    AddFile(db, 0, {"bc", "f"});
    ASSERT_OK(db->Put(WriteOptions(), "in the memtable", "value"));
    ASSERT_OK(db->Delete(WriteOptions(), "d"));
    truth_ = Read(db);
  }

  // Reads all keys by Get, which knows no markers.
  static Records Read(DB* db) {
    Records truth;
    Keys keys = {"",  "a", "ab", "b",  "bb", "bc",
                 "c", "d", "e",  "ee", "f",  "in the memtable"};
    keys.insert(keys.end(), {"\xff", std::string("g\0", 2)});
    for (const std::string& key : keys) {
      std::string value;
      if (db->Get(ReadOptions(), key, &value).ok()) truth[key] = value;
    }
    return truth;
  }

  void ExpectHidden(DB* db) {
    EXPECT_LT(8u, truth_.size());
    ExpectOnly(truth_, db);
    if (snapshot_ != nullptr) ExpectOnly(snapshot_truth_, db, At(snapshot_));
  }
  static ReadOptions At(const Snapshot* snapshot) {
    ReadOptions options;
    options.snapshot = snapshot;
    return options;
  }
  void Release(DB* db) {
    if (snapshot_ != nullptr) db->ReleaseSnapshot(snapshot_);
    snapshot_ = nullptr;
  }

  Records truth_;
  Records snapshot_truth_;
  const Snapshot* snapshot_ = nullptr;
};

TEST_F(MarkersTest, SnapshotsBoundsAndOptions) {
  Open();
  Fill(db_.get());
  ExpectHidden(db_.get());
  const Slice lower = "b";
  const Slice upper = "f";
  for (int bits = 0; bits < 16; bits++) {
    ReadOptions options;
    if (bits & 1) options.iterate_lower_bound = &lower;
    if (bits & 2) options.iterate_upper_bound = &upper;
    options.pin_data = (bits & 4) != 0;
    options.total_order_seek = (bits & 8) != 0;
    const Records within(bits & 1 ? truth_.lower_bound("b") : truth_.begin(),
                         bits & 2 ? truth_.lower_bound("f") : truth_.end());
    SCOPED_TRACE(bits);
    ExpectOnly(within, db_.get(), options);
  }
  Release(db_.get());
}

TEST_F(MarkersTest, ReadOnlyAndSecondaryInstancesAndCheckpoints) {
  Open();
  Fill(db_.get());
  Release(db_.get());
  ASSERT_OK(MakeCheckpoint(db_.get(), path_ + "_copy"));
  {
    std::unique_ptr<DB> copy;
    ASSERT_OK(OpenDB(&copy, options_, path_ + "_copy"));
    ExpectHidden(copy.get());
  }
  Flush();
  {
    Options options = options_;
    options.max_open_files = -1;
    std::unique_ptr<DB> secondary;
    ASSERT_OK(OpenSecondary(&secondary, options, path_, path_ + "_log"));
    ExpectHidden(secondary.get());
  }
  db_.reset();
  std::unique_ptr<DB> read_only;
  ASSERT_OK(OpenReadOnly(&read_only, options_, path_));
  ExpectHidden(read_only.get());
}

TEST_F(MarkersTest, Transactions) {
  for (const TxnDBWritePolicy policy :
       {WRITE_COMMITTED, WRITE_PREPARED, WRITE_UNPREPARED}) {
    SCOPED_TRACE(policy);
    TransactionDBOptions transaction_options;
    transaction_options.write_policy = policy;
    std::unique_ptr<TransactionDB> db;
    ASSERT_OK(OpenAs<TransactionDB>(&db, options_, transaction_options, path_));
    AddFile(db.get(), 3, {"a", "b", "bb", "c", "d"});
    AddFile(db.get(), 2, {"ab", "b", "e", "ee"});
    AddFile(db.get(), 0, {"bc", "f"});
    truth_ = Read(db.get());
    ASSERT_EQ(10u, truth_.size());
    ExpectOnly(truth_, db.get());

    std::unique_ptr<Transaction> open(db->BeginTransaction(WriteOptions()));
    ASSERT_OK(open->Put("aa", "mine"));
    ASSERT_OK(open->Delete("e"));
    Records mine = truth_;
    mine["aa"] = "mine";
    mine.erase("e");
    ExpectOnly(mine,
               std::unique_ptr<Iterator>(open->GetIterator(ReadOptions())));
    // No other reader sees the writes of the transaction, even those that are
    // in the DB already.
    ASSERT_OK(open->SetName("open"));
    ASSERT_OK(open->Prepare());
    ExpectOnly(truth_, db.get());
    ASSERT_OK(open->Commit());
    ExpectOnly(mine, db.get());
    {
      ManagedSnapshot snapshot(db.get());
      ASSERT_OK(db->Delete(WriteOptions(), "f"));
      ExpectOnly(mine, db.get(), At(snapshot.snapshot()));
    }
    open.reset();
    db.reset();
    ASSERT_OK(DestroyDB(path_, options_));
  }
}

TEST_F(MarkersTest, OptimisticTransactionsAndTimeToLive) {
  {
    std::unique_ptr<OptimisticTransactionDB> db;
    ASSERT_OK(OpenAs<OptimisticTransactionDB>(&db, options_, path_));
    Fill(db.get(), /*delete_ranges=*/false);
    ExpectHidden(db.get());
    const std::unique_ptr<Transaction> open(
        db->BeginTransaction(WriteOptions()));
    ASSERT_OK(open->Put("aa", "mine"));
    truth_["aa"] = "mine";
    ExpectOnly(truth_,
               std::unique_ptr<Iterator>(open->GetIterator(ReadOptions())));
    Release(db.get());
  }
  ASSERT_OK(DestroyDB(path_, options_));
  std::unique_ptr<DBWithTTL> db;
  ASSERT_OK(OpenAs<DBWithTTL>(&db, options_, path_));
  snapshot_truth_.clear();
  Fill(db.get());
  ExpectHidden(db.get());
  Release(db.get());
}

TEST_F(MarkersTest, IteratorsOverColumnFamilies) {
  Open();
  Fill(db_.get());
  Release(db_.get());
  ColumnFamilyHandle* const other = NewFamily("other");
  ASSERT_OK(db_->Put(WriteOptions(), other, "only here", "value"));
  ASSERT_OK(db_->Flush(FlushOptions(), other));
  Records both = truth_;
  both["only here"] = "value";
  const std::vector<ColumnFamilyHandle*> families = {db_->DefaultColumnFamily(),
                                                     other};
  ExpectOnly(both, db_->NewCoalescingIterator(ReadOptions(), families));
  const auto groups = db_->NewAttributeGroupIterator(ReadOptions(), families);
  ExpectTruth(both, groups.get(), [](AttributeGroupIterator* it) {
    EXPECT_EQ(1u, it->attribute_groups().size());
    return it->attribute_groups()[0].columns()[0].value().ToString();
  });
  WriteBatchWithIndex batch(BytewiseComparator(), 0, /*overwrite_key=*/true);
  ASSERT_OK(batch.Put("aa", "mine"));
  truth_["aa"] = "mine";
  ExpectOnly(truth_, std::unique_ptr<Iterator>(batch.NewIteratorWithBase(
                         db_->NewIterator(ReadOptions()))));
}

}  // namespace ROCKSDB_NAMESPACE::protean
