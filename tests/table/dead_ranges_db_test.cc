// SPDX-License-Identifier: Apache-2.0

//  What one scan has found to be deleted, the next ones skip, with the values
//  that the deletions hide (table/seek/run_search.h): when they may, and
//  when they may not. deletion_skips_test.cc has all small trees, at all
//  snapshots.

#include "rocksdb/utilities/transaction_db.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class DeadRangesDBTest : public testing::TestWithParam<const char*> {
 protected:
  static constexpr int kItems = 200;

  static std::string Item(int i) { return "q" + Digits(i, 3); }

  void PutItems(int begin, int end) {
    for (int i = begin; i < end; i++) dbs_.Put(Item(i), "value");
  }
  void DeleteItems(int begin, int end) {
    for (int i = begin; i < end; i++) dbs_.Delete(Item(i));
  }

  // A queue whose first items have been consumed: the older run has all items,
  // and the newer one deletions of the first half of them.
  void MakeQueue(int older_level = 0, int newer_level = 0,
                 uint64_t file_size = 1 << 20) {
    dbs_.OpenAnew();
    dbs_.Put("a", "before");
    PutItems(0, kItems);
    dbs_.Put("z", "after");
    dbs_.Flush();
    if (older_level > 0) dbs_.CompactLevel0Into(older_level, file_size);
    dbs_.TakeSnapshot();
    dbs_.Put("c", "before");
    DeleteItems(0, kItems / 2);
    dbs_.Put("y", "after");
    dbs_.Flush();
    if (newer_level > 0) dbs_.CompactLevel0Into(newer_level, file_size);
  }

  // Seeks to the head of the queue with a new iterator, which must find this
  // key. Returns the entries that the next iterator steps over.
  uint64_t StepsToHead(const std::string& found, int snapshot = -1) {
    {
      TwinIterator it(&dbs_, {}, /*lower=*/false, /*upper=*/false, snapshot);
      EXPECT_EQ(found, it.Seek("q") ? it.key().ToString() : "");
    }
    return StepsOf("q");
  }
  uint64_t StepsOf(const std::string& target) {
    const std::unique_ptr<Iterator> it(
        dbs_.protean()->NewIterator(ReadOptions()));
    get_perf_context()->Reset();
    it->Seek(target);
    return get_perf_context()->internal_delete_skipped_count +
           get_perf_context()->internal_key_skipped_count;
  }

  // Writes a run of these entries, where "p*" stands for p00 to p19, and "-p*"
  // for their deletions.
  void WriteRun(const Keys& entries, int level = 0) {
    Keys all;
    for (const std::string& entry : entries) {
      const bool many = entry.back() == '*';
      if (!many) all.push_back(entry);
      for (int i = 0; many && i < 20; i++) {
        all.push_back(entry.substr(0, entry.size() - 1) + Digits(i, 2));
      }
    }
    dbs_.WriteRun(all, level);
  }
  // Seeks with new iterators, twice: what one finds, the next may skip.
  void SeekTwice(const std::string& target, int steps = 1, int snapshot = -1) {
    for (int i = 0; i < 2; i++) {
      TwinIterator it(&dbs_, {}, /*lower=*/false, /*upper=*/false, snapshot);
      bool valid = it.Seek(target);
      for (int step = 1; step < steps && valid; step++) valid = it.Next();
    }
  }

  // Checks that all keys are found as without filters, from the first one and
  // from the head of the queue on, then backwards.
  void CheckScans(int snapshot = -1) {
    for (const char* target : {"", "q", "q050", "q0999"}) {
      TwinIterator it(&dbs_, {}, /*lower=*/false, /*upper=*/false, snapshot);
      for (bool valid = it.Seek(target); valid; valid = it.Next()) {
      }
      it.SeekToFirst();
      while (it.iterator(TwinDB::kPlain)->Valid()) it.Next();
      it.Seek(target);
      for (int i = 0; i < 3 && it.iterator(TwinDB::kPlain)->Valid(); i++) {
        it.Prev();
      }
    }
  }

  static Options OptionsOf() {
    Options options = UnthrottledFiles();
    EXPECT_OK(AddOptions("merge_operator=stringappend", &options));
    return options;
  }

  TwinDB dbs_{
      "dead_ranges", OptionsOf(),
      NewTable("ProteanTable",
               std::string("block_size=256;filter_policy=") + GetParam()),
      NewTable("BlockBasedTable", "block_size=256")};
};

constexpr uint64_t kFewSteps = 8;

TEST_P(DeadRangesDBTest, TheSecondReadSkipsWhatTheFirstHasSteppedOver) {
  MakeQueue();
  EXPECT_LT(StepsToHead(Item(100)), kFewSteps);
  CheckScans();
  EXPECT_LT(StepsOf("q"), kFewSteps);
  EXPECT_LT(StepsOf("d"), kFewSteps);
  EXPECT_LT(StepsOf(Item(50)), kFewSteps);
  // Before the first read, and with nothing to remember, each entry is a step.
  dbs_.Reopen();
  EXPECT_GE(StepsOf("q"), 100u);
}

TEST_P(DeadRangesDBTest, LevelsOfManyFiles) {
  MakeQueue(/*older_level=*/3, /*newer_level=*/1, /*file_size=*/1 << 9);
  ASSERT_GT(dbs_.NumFiles(), 6u);
  CheckScans();
  EXPECT_LT(StepsOf("q"), 4 * kFewSteps);
  CheckScans();
  CheckScans(/*snapshot=*/0);
}

// What is written later is in memtables, or in files that have no part in the
// range.
TEST_P(DeadRangesDBTest, LaterWritesAreSeen) {
  MakeQueue();
  StepsToHead(Item(100));
  dbs_.Put(Item(60), "again");
  dbs_.Both([](DB* db) { return db->Merge(WriteOptions(), Item(70), "m"); });
  StepsToHead(Item(60));
  CheckScans();
  dbs_.Flush();
  StepsToHead(Item(60));
  CheckScans();
  dbs_.Delete(Item(60));
  StepsToHead(Item(70));
  dbs_.Flush();
  CheckScans();
  StepsToHead(Item(70));
}

// RocksDB seeks the files below a range deletion at its end, and no others.
TEST_P(DeadRangesDBTest, RangeDeletionsMoveSomeRuns) {
  for (int level : {0, 2}) {
    MakeQueue(level, level == 0 ? 0 : 1, 1 << 10);
    CheckScans();
    dbs_.TakeSnapshot();
    dbs_.DeleteRange(Item(20), Item(40));
    dbs_.DeleteRange("b", Item(5));
    dbs_.DeleteRange(Item(90), Item(110));
    CheckScans();
    StepsToHead(Item(110));
    dbs_.Flush();
    CheckScans();
    StepsToHead(Item(110));
    for (int snapshot = 0; snapshot < dbs_.num_snapshots(); snapshot++) {
      CheckScans(snapshot);
    }
  }
}

// The files of the range are gone, and with them what was known.
TEST_P(DeadRangesDBTest, CompactionsEndARange) {
  MakeQueue(/*older_level=*/2, /*newer_level=*/1);
  StepsToHead(Item(100));
  dbs_.Compact();
  CheckScans();
  CheckScans(/*snapshot=*/0);
  DeleteItems(100, 150);
  dbs_.Flush();
  CheckScans();
  EXPECT_LT(StepsToHead(Item(150)), kFewSteps);
  // One of two files is gone, and what it hid is alive.
  dbs_.Put(Item(120), "again");
  dbs_.Flush();
  CheckScans();
  StepsToHead(Item(120));
}

// What is known grows with what the queue leaves behind.
TEST_P(DeadRangesDBTest, ARangeGrows) {
  MakeQueue();
  for (int head = 100; head < kItems; head += 20) {
    EXPECT_LT(StepsToHead(Item(head)), kFewSteps) << head;
    DeleteItems(head, head + 20);
    CheckScans();
    dbs_.Flush();
  }
  CheckScans(/*snapshot=*/0);
}

// Where iterators over files stand when a range begins or ends.
TEST_P(DeadRangesDBTest, RunsBesideARange) {
  const auto seeks = [this](const Keys& targets, int steps) {
    for (const std::string& target : targets) SeekTwice(target, steps);
  };
  // A scan is destroyed while one file has ended at the bound, another one
  // stands at a value, and a third one is ahead of both.
  dbs_.OpenAnew();
  WriteRun({"a", "zz"});  // at the bound
  WriteRun({"p01", "p02", "p03", "p04", "p05", "p06", "p07", "p08c", "z"});
  WriteRun({"-p01", "-p02", "-p03", "-p04", "-p05", "-p06", "-p07", "-p08",
            "-p09", "-p10", "-p11", "-p12"});
  for (int i = 0; i < 3; i++) {
    TwinIterator it(&dbs_, ReadOptions(), /*lower=*/false, /*upper=*/true);
    it.SetUpper("q");
    EXPECT_TRUE(it.Seek("p"));
  }
  CheckScans();
  seeks({"p"}, 1);

  // The file with the values waits before the range when the one with the
  // deletions comes to it.
  dbs_.OpenAnew();
  WriteRun({"a", "q*", "z"});
  WriteRun({"c", "-q*"});
  seeks({"q"}, 1);
  seeks({"c", "c", "c"}, 3);
  CheckScans();

  // While some files skip one range, others come to another one.
  dbs_.OpenAnew();
  WriteRun({"d*", "r*", "z"});
  WriteRun({"-d*", "e"});
  WriteRun({"-c", "-r*", "s"});
  seeks({"d", "r"}, 1);
  seeks({"b", "c", "b", "c", "b", "c"}, 5);
  CheckScans();
}

// A range deletion in the memtable moves the file with the values, and not the
// one with the deletions, from before the range.
TEST_P(DeadRangesDBTest, ARangeDeletionBeforeARange) {
  for (const bool flush : {false, true}) {
    dbs_.OpenAnew();
    WriteRun({"c1", "c2", "r*", "z"});
    WriteRun({"a", "-r*", "y"});
    SeekTwice("r");
    SeekTwice("q");
    dbs_.TakeSnapshot();
    dbs_.DeleteRange("c", "d");
    dbs_.DeleteRange("r03", "r05");
    if (flush) dbs_.Flush();
    for (int i = 0; i < 3; i++) SeekTwice("a", /*steps=*/4);
    CheckScans();
    SeekTwice("a", /*steps=*/4, /*snapshot=*/0);
    CheckScans(/*snapshot=*/0);
  }
}

// A scan does not pass what a range deletion hides, and an older snapshot sees
// it.
TEST_P(DeadRangesDBTest, WhatRangeDeletionsHideIsNotDead) {
  dbs_.Open();
  WriteRun({"b", "q05m", "s", "q*", "z"}, 3);
  WriteRun({"c", "-q*", "y"}, 2);
  WriteRun({"e1", "t"}, 1);
  dbs_.TakeSnapshot();
  dbs_.DeleteRange("e", "f");
  dbs_.DeleteRange("q05a", "q06");
  dbs_.DeleteRange("r", "t");
  for (int i = 0; i < 3; i++) {
    for (const char* target : {"b", "d", "p", "q03", "q05a"}) {
      SeekTwice(target, /*steps=*/3);
      SeekTwice(target, /*steps=*/3, /*snapshot=*/0);
    }
    CheckScans();
    CheckScans(/*snapshot=*/0);
    if (i == 1) dbs_.Flush();
  }
}

// Many short reads from anywhere, next to a range that is being deleted from
// its beginning on.
TEST_P(DeadRangesDBTest, ReadsFromAnywhere) {
  constexpr int kEnd = 1 << 30;
  for (int seed = 301; seed < 321 && !HasFailure(); seed++) {
    dbs_.OpenAnew();
    Random random(seed);
    std::set<std::string> keys;
    for (int run = 0; run < 3; run++) {
      for (int i = 0; i < 1000; i++) {
        const std::string key = Digits(random.Uniform(kEnd), 10);
        keys.insert(key);
        dbs_.Put(key, std::to_string(run));
        const auto gone = keys.lower_bound(Digits(kEnd / 2, 10));
        if (i % 10 < 9 || gone == keys.end()) continue;
        dbs_.Delete(*gone);
        keys.erase(gone);
      }
      dbs_.Flush();
      for (int i = 0; i < 300 && !HasFailure(); i++) {
        const int from = random.Uniform(kEnd - 1000);
        {
          TwinIterator it(&dbs_, ReadOptions(), /*lower=*/true, /*upper=*/true);
          it.SetLower(Digits(from, 10));
          it.SetUpper(Digits(from + 1000, 10));
          it.Seek(Digits(from, 10));
          it.SeekForPrev(Digits(from + 999, 10));
        }
        TwinIterator it(&dbs_, ReadOptions(), /*lower=*/false, /*upper=*/false);
        if (it.Seek(Digits(from, 10))) it.Next();
      }
    }
  }
}

// Readers of transactions that are prepared before they are committed do not
// see entries in the order of their sequence numbers.
TEST_P(DeadRangesDBTest, PreparedTransactions) {
  dbs_.SetOpener([this](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
    TransactionDBOptions transactions;
    transactions.write_policy = TxnDBWritePolicy::WRITE_PREPARED;
    return OpenAs<TransactionDB>(db, dbs_.options(twin), transactions,
                                 dbs_.path(twin));
  });
  dbs_.Open();
  PutItems(0, kItems);
  dbs_.Put("z", "after");
  dbs_.Flush();
  std::vector<std::unique_ptr<Transaction>> transactions;
  dbs_.Both([&](DB* db) {
    auto* const transaction_db = static_cast<TransactionDB*>(db);
    transactions.emplace_back(transaction_db->BeginTransaction(WriteOptions()));
    Status s = transactions.back()->SetName("deletes");
    for (int i = 0; s.ok() && i < kItems / 2; i++) {
      s = transactions.back()->Delete(Item(i));
    }
    return s.ok() ? transactions.back()->Prepare() : s;
  });
  dbs_.Flush();
  dbs_.TakeSnapshot();
  CheckScans();
  for (auto& transaction : transactions) ASSERT_OK(transaction->Commit());
  CheckScans();
  CheckScans(/*snapshot=*/0);
  StepsToHead(Item(100));
  transactions.clear();
}

INSTANTIATE_TEST_SUITE_P(Policies, DeadRangesDBTest,
                         testing::Values("surf:0:8", "proteus:12"));

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
