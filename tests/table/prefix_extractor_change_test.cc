// SPDX-License-Identifier: Apache-2.0

//  prefix_extractor is set to nullptr while a compaction runs.
//
//  In RocksDB 9.10, a flush or compaction installs a Version and a SuperVersion
//  with the options that it was begun with. Iterators over these go on to seek
//  prefixes: they miss keys of other prefixes if the files have a prefix filter
//  of any kind. These tests tell that defect from one of Protean's: an iterator
//  misses keys only if its Version or SuperVersion has an extractor, as in
//  stock RocksDB.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/listener.h"
#include "rocksdb/slice_transform.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"
#include "util/cast_util.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr int kNumbers = 1000;

// Six digits, which are the prefix.
std::string Key(int number) {
  char key[16];
  snprintf(key, sizeof(key), "%06d", number);
  return key;
}

// Sets prefix_extractor to nullptr when a compaction begins.
class ExtractorTaker : public EventListener {
 public:
  void OnCompactionBegin(DB* db, const CompactionJobInfo& /*info*/) override {
    ASSERT_OK(db->SetOptions({{"prefix_extractor", "nullptr"}}));
  }
};

class PrefixExtractorChangeTest : public testing::Test {
 protected:
  PrefixExtractorChangeTest()
      : path_(test::PerThreadDBPath("prefix_extractor_change_test")) {}
  ~PrefixExtractorChangeTest() override { Close(); }

  void Close() {
    db_.reset();
    ASSERT_OK(DestroyDB(path_, Options()));
  }

  // Opens a new DB with that table factory, whose level 0 has two files of odd
  // numbers.
  void Open(const std::string& table_factory, bool take_extractor) {
    Close();
    Options options;
    ASSERT_OK(GetColumnFamilyOptionsFromString(
        ConfigOptions(), options, "table_factory=" + table_factory, &options));
    options.create_if_missing = true;
    options.disable_auto_compactions = true;
    options.prefix_extractor.reset(NewFixedPrefixTransform(6));
    if (take_extractor) {
      options.listeners.push_back(std::make_shared<ExtractorTaker>());
    }
    ASSERT_OK(OpenDB(&db_, options, path_));
    for (int file = 0; file < 2; file++) {
      for (int i = 1 + 2 * file; i < kNumbers; i += 4) {
        ASSERT_OK(db_->Put(WriteOptions(), Key(i), "value"));
      }
      ASSERT_OK(db_->Flush(FlushOptions()));
    }
  }

  void Compact() {
    ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  }

  // Whether the current SuperVersion, or its Version, has an extractor,
  // whatever the options of the DB say.
  bool SuperVersionHasExtractor() const {
    auto* const db = static_cast_with_check<DBImpl>(db_->GetRootDB());
    auto* const family = static_cast_with_check<ColumnFamilyHandleImpl>(
                             db_->DefaultColumnFamily())
                             ->cfd();
    SuperVersion* const version = db->GetAndRefSuperVersion(family);
    const bool has =
        version->mutable_cf_options.prefix_extractor != nullptr ||
        version->current->GetMutableCFOptions().prefix_extractor != nullptr;
    db->ReturnAndCleanupSuperVersion(family, version);
    return has;
  }
  uint64_t SuperVersionNumber() const {
    uint64_t number = 0;
    EXPECT_TRUE(
        db_->GetIntProperty("rocksdb.current-super-version-number", &number));
    return number;
  }

  // Seeks to even numbers that do not find the next odd number.
  static int Missed(Iterator* it) {
    int missed = 0;
    for (int i = 0; i + 1 < kNumbers; i += 2) {
      it->Seek(Key(i));
      EXPECT_OK(it->status());
      if (!it->Valid() || it->key() != Key(i + 1)) missed++;
    }
    return missed;
  }
  int Missed(const ReadOptions& read_options) const {
    const std::unique_ptr<Iterator> it(db_->NewIterator(read_options));
    return Missed(it.get());
  }

  const std::string path_;
  std::unique_ptr<DB> db_;
};

const char* const kStock = "{id=BlockBasedTable;filter_policy=bloomfilter:10}";
const std::vector<std::string>& ProteanTables() {
  static const std::vector<std::string> tables = {
      "ProteanTable", "{id=ProteanTable;filter_policy=surf:0:8}",
      "{id=ProteanTable;filter_policy=surf:4:0}"};
  return tables;
}

std::vector<std::string> AllTables() {
  std::vector<std::string> tables = ProteanTables();
  tables.insert(tables.begin(), kStock);
  return tables;
}

TEST_F(PrefixExtractorChangeTest, KeysAreMissedWhereStockSeeksPrefixesAlone) {
  Open(kStock, /*take_extractor=*/true);
  Compact();
  const bool stock_is_stale = SuperVersionHasExtractor();
  // A Bloom filter's false positives find a key now and then.
  EXPECT_EQ(stock_is_stale, Missed(ReadOptions()) > 0);
  for (const std::string& table : ProteanTables()) {
    SCOPED_TRACE(table);
    Open(table, /*take_extractor=*/true);
    Compact();
    EXPECT_EQ(stock_is_stale, SuperVersionHasExtractor());
    EXPECT_TRUE(stock_is_stale || Missed(ReadOptions()) == 0);
    ReadOptions total_order;
    total_order.total_order_seek = true;
    EXPECT_EQ(0, Missed(total_order));
    // Any new SuperVersion has the options of the DB.
    ASSERT_OK(db_->SetOptions({{"prefix_extractor", "nullptr"}}));
    EXPECT_FALSE(SuperVersionHasExtractor());
    EXPECT_EQ(0, Missed(ReadOptions()));
  }
}

// Iterators live over compactions and changes of the extractor. An iterator
// that was made without an extractor finds every key.
TEST_F(PrefixExtractorChangeTest, IteratorsWithoutAnExtractorMissNoKey) {
  for (const std::string& table : AllTables()) {
    SCOPED_TRACE(table);
    Open(table, /*take_extractor=*/false);
    std::atomic<bool> stop{false};
    std::thread compactions([&] {
      Random rnd(301);
      while (!stop) {
        const int number = static_cast<int>(rnd.Uniform(kNumbers / 2)) * 2 + 1;
        EXPECT_OK(db_->Put(WriteOptions(), Key(number), "again"));
        EXPECT_OK(db_->Flush(FlushOptions()));
        if (rnd.OneIn(3)) Compact();
      }
    });
    std::thread changes([&] {
      Random rnd(302);
      while (!stop) {
        EXPECT_OK(db_->SetOptions(
            {{"prefix_extractor", rnd.OneIn(2) ? "fixed:6" : "nullptr"}}));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
    std::vector<std::unique_ptr<Iterator>> judged;
    Random rnd(303);
    while (judged.size() < 40) {
      const uint64_t before = SuperVersionNumber();
      const bool has_extractor = SuperVersionHasExtractor();
      std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      if (SuperVersionNumber() != before) continue;
      if (has_extractor) continue;
      it->Seek(Key(static_cast<int>(rnd.Uniform(kNumbers))));
      judged.push_back(std::move(it));
      // Older iterators go on, out of order.
      const auto& old = judged[rnd.Uniform(static_cast<int>(judged.size()))];
      EXPECT_EQ(0, Missed(old.get()));
    }
    stop = true;
    compactions.join();
    changes.join();
    for (const auto& it : judged) EXPECT_EQ(0, Missed(it.get()));
    judged.clear();
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
