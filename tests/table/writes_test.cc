// SPDX-License-Identifier: Apache-2.0

//  In whatever way records are written and deleted, ProteanTable reads the same
//  as the plain table: what random writes (differential_test) do seldom or not
//  at all.

#include "rocksdb/compaction_filter.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"
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
};

PROTEAN_FEATURE_TEST(WritesTest);

TEST_P(WritesTest, MergeOperands) {
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
}

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
  dbs->Compact();
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
  EXPECT_LT(CompareScans(dbs.get()), before);
}

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
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
  dbs->Compact();
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
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

// Old versions are dropped as full_history_ts_low rises. Reads as of a time
// before it fail.
TEST_P(TimestampTest, AsOfAnyTime) {
  const auto dbs = NewTimestampedTree(/*persisted=*/true);
  std::string buffer;
  const auto compare_at = [&](uint64_t at) {
    SCOPED_TRACE(at);
    ExpectFilteredGets([&] { CompareAt(dbs.get(), EncodeU64Ts(at, &buffer)); });
  };
  for (const uint64_t at : {5, 25, 1000}) compare_at(at);
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
  for (const uint64_t at : {30, 50}) compare_at(at);
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

// ---- Transactions ----

// A transaction on each of the two twins, with equal writes.
class TwinTransaction {
 public:
  using Begin = std::function<Transaction*(TwinDB::Twin)>;
  explicit TwinTransaction(const Begin& begin) {
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      transactions_[twin].reset(begin(twin));
    }
  }

  Transaction* operator[](TwinDB::Twin twin) const {
    return transactions_[twin].get();
  }

  // Does the same in both, and compares the results.
  Status Both(const std::function<Status(Transaction*)>& operation) const {
    const Status expected = operation((*this)[TwinDB::kPlain]);
    const Status got = operation((*this)[TwinDB::kProtean]);
    EXPECT_EQ(expected.ToString(), got.ToString());
    return expected;
  }
  Status Prepare() const { return Both(std::mem_fn(&Transaction::Prepare)); }
  Status Commit() const { return Both(std::mem_fn(&Transaction::Commit)); }
  Status Rollback() const { return Both(std::mem_fn(&Transaction::Rollback)); }

  // Reads are made at the transaction's snapshot, if it has one.
  static ReadOptions At(Transaction* transaction, ReadOptions options = {}) {
    options.snapshot = transaction->GetSnapshot();
    return options;
  }
  // The transaction's iterators, which merge its writes with those of the DB.
  TwinIterator::Source Iterators() const {
    return [this](TwinDB::Twin twin, const ReadOptions& options) {
      Transaction* transaction = (*this)[twin];
      return transaction->GetIterator(At(transaction, options));
    };
  }
  void CompareGets(const Keys& keys) const {
    for (const std::string& key : keys) {
      const auto found = [&](TwinDB::Twin twin) {
        Transaction* const t = (*this)[twin];
        std::string value;
        return t->Get(At(t), key, &value).ToString() + value;
      };
      ASSERT_EQ(found(TwinDB::kPlain), found(TwinDB::kProtean)) << Hex(key);
    }
  }

 private:
  std::array<std::unique_ptr<Transaction>, 2> transactions_;
};

// Uncommitted writes are in memory, in the WAL, or in files whose filters
// include them, and readers see what they may. Optimistic transactions, and
// those that are not prepared: differential_test.
class TransactionsTest : public FeatureTest {
 protected:
  static void OpenTransactions(TwinDB* dbs, TxnDBWritePolicy write_policy) {
    dbs->SetOpener([=](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
      TransactionDBOptions options;
      options.write_policy = write_policy;
      return OpenAs<TransactionDB>(db, dbs->options(twin), options,
                                   dbs->path(twin));
    });
    dbs->Open();
  }

  std::unique_ptr<TwinDB> NewTransactionTree(TxnDBWritePolicy write_policy) {
    auto dbs = NewTwins();
    OpenTransactions(dbs.get(), write_policy);
    Fill(dbs.get());
    return dbs;
  }

  static TwinTransaction Begin(TwinDB* dbs,
                               const std::string& name = "transaction") {
    return TwinTransaction([&](TwinDB::Twin twin) {
      TransactionOptions options;
      // Each write of a transaction that may do so goes to the DB at once.
      options.write_batch_flush_threshold = 1;
      Transaction* transaction =
          static_cast<TransactionDB*>(dbs->db(twin))
              ->BeginTransaction(WriteOptions(), options);
      EXPECT_OK(transaction->SetName(name));
      return transaction;
    });
  }

  // Writes and deletes every `step`th query key from `first` on.
  void Write(const TwinTransaction& transaction, size_t first,
             size_t step) const {
    for (size_t i = first; i < queries_.size(); i += step) {
      const Status s = transaction.Both([&](Transaction* t) {
        return i % 3 == 0 ? t->Delete(queries_[i])
                          : t->Put(queries_[i], "of a transaction");
      });
      ASSERT_OK(s);
    }
  }

  // There are few seeks, since there are many states of a transaction to walk
  // in.
  static WalkOptions ShortWalk() {
    WalkOptions walk;
    walk.seeks = 30;
    return walk;
  }
  void CompareShortly(TwinDB* dbs) {
    CompareReads(dbs, queries_, -1, ReadOptions(), ShortWalk());
  }
  // Compares what the transaction sees, and what others see.
  void Compare(TwinDB* dbs, const TwinTransaction& transaction) {
    transaction.CompareGets(queries_);
    CompareWalks(transaction.Iterators(), queries_, ReadOptions(), ShortWalk());
    CompareShortly(dbs);
  }

  // To save time, not all write policies are combined with all filters.
  static std::vector<TxnDBWritePolicy> WritePolicies() {
    const std::string filter = GetParam().name;
    if (filter == "Proteus") return {WRITE_COMMITTED};
    if (filter == "PrefixBloom") return {WRITE_UNPREPARED};
    return {WRITE_COMMITTED, WRITE_PREPARED, WRITE_UNPREPARED};
  }
};

PROTEAN_FEATURE_TEST(TransactionsTest);

// A transaction that writes a key asks the files whether it has been written
// since the snapshot: they may neither forget such a key nor invent one.
TEST_P(TransactionsTest, ConflictsWithASnapshot) {
  for (TxnDBWritePolicy write_policy : WritePolicies()) {
    SCOPED_TRACE(write_policy);
    const auto dbs = NewTransactionTree(write_policy);
    const TwinTransaction transaction = Begin(dbs.get());
    for (TwinDB::Twin twin : TwinDB::kTwins) transaction[twin]->SetSnapshot();
    for (size_t i = 0; i < queries_.size(); i += 4) {
      dbs->Put(queries_[i], "behind its back");
    }
    dbs->Flush();
    ExpectFiltered([&] {
      transaction.CompareGets(queries_);
      CompareWalks(transaction.Iterators(), queries_, ReadOptions(),
                   ShortWalk());
    });
    ExpectFilteredGets([&] {
      for (size_t i = 0; i < queries_.size(); i++) {
        std::string value;
        const Status s = transaction.Both([&](Transaction* t) {
          return i % 3 == 0 ? t->Put(queries_[i], "too late")
                 : i % 3 == 1
                     ? t->Delete(queries_[i])
                     : t->GetForUpdate(ReadOptions(), queries_[i], &value);
        });
        EXPECT_EQ(i % 4 == 0, s.IsBusy()) << i << s.ToString();
      }
    });
    ASSERT_OK(transaction.Commit());
    CompareShortly(dbs.get());
  }
}

TEST_P(TransactionsTest, SavePoints) {
  for (TxnDBWritePolicy write_policy : WritePolicies()) {
    SCOPED_TRACE(write_policy);
    const auto dbs = NewTransactionTree(write_policy);
    const TwinTransaction transaction = Begin(dbs.get());
    Write(transaction, 0, 7);
    dbs->Flush();  // some write uncommitted keys into a file
    for (TwinDB::Twin twin : TwinDB::kTwins) transaction[twin]->SetSavePoint();
    Write(transaction, 1, 9);
    Compare(dbs.get(), transaction);
    ASSERT_OK(transaction.Both(std::mem_fn(&Transaction::RollbackToSavePoint)));
    ExpectFiltered([&] { Compare(dbs.get(), transaction); });
    ASSERT_OK(transaction.Prepare());
    ASSERT_OK(transaction.Commit());
    CompareShortly(dbs.get());
  }
}

// A copy of a DB in the middle of three prepared transactions, as a crash would
// leave it: one is committed, one rolled back, and one left open.
TEST_P(TransactionsTest, ReopenWithPreparedTransactions) {
  for (TxnDBWritePolicy write_policy : WritePolicies()) {
    SCOPED_TRACE(write_policy);
    const auto dbs = NewTransactionTree(write_policy);
    std::vector<TwinTransaction> open;
    for (size_t i = 0; i < 3; i++) {
      open.push_back(Begin(dbs.get(), "transaction " + std::to_string(i)));
      Write(open[i], i, 9);
      ASSERT_OK(open[i].Prepare());
      if (i == 1) dbs->Flush();
    }
    TwinDB copies("crashed", dbs->options(TwinDB::kPlain),
                  dbs->options(TwinDB::kProtean).table_factory,
                  dbs->options(TwinDB::kPlain).table_factory);
    copies.options(TwinDB::kProtean).statistics = statistics_;
    dbs->Each([&](TwinDB::Twin twin) {
      return MakeCheckpoint(dbs->db(twin), copies.path(twin));
    });
    for (const TwinTransaction& transaction : open) {
      ASSERT_OK(transaction.Rollback());
    }
    open.clear();
    dbs->Close();

    OpenTransactions(&copies, write_policy);
    ExpectFiltered([&] { CompareShortly(&copies); });
    const auto prepared = [&](const std::string& name) {
      return TwinTransaction([&](TwinDB::Twin twin) {
        return static_cast<TransactionDB*>(copies.db(twin))
            ->GetTransactionByName(name);
      });
    };
    ASSERT_OK(prepared("transaction 0").Commit());
    CompareShortly(&copies);
    ASSERT_OK(prepared("transaction 1").Rollback());
    copies.Flush();
    {
      const TwinTransaction left = prepared("transaction 2");
      ExpectFiltered([&] { Compare(&copies, left); });
      ASSERT_OK(left.Rollback());
    }
    copies.Compact();
    CompareShortly(&copies);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
