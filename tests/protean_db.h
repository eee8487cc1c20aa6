// SPDX-License-Identifier: Apache-2.0

//  What tests of a DB share. They need not include what this header includes,
//  but for versions.h where they use its macros. A DB and its twin without
//  filters are in table/twin_db.h.

#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "filter_policy/samples/query_queue.h"
#include "plugin/filter_statistics.h"
#include "plugin/protean.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/comparator.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/listener.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"
#include "table/rocksdb_internals/versions.h"
#include "table/seek/thread_bounds.h"
#include "test_util/testharness.h"
#include "tests/key_families.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanFilterPolicy;

using Records = std::map<std::string, std::string>;
using Queries = std::vector<SampleQuery>;

inline SampleQuery Point(const std::string& key) { return {key, key, true}; }

// ---- Options ----

// The approximate size of a file that ManySmallFiles makes.
constexpr uint64_t kFileSize = 4 << 10;

// A few records make files on every level, arranged by the test.
Options ManySmallFiles(int num_levels);

// Writes never wait for compactions, which the test starts itself.
Options UnthrottledFiles();

// RocksDB's own options, but for a DB that is new.
Options NewDBOptions();

// ProteanTable or the plain table with these options, such as
// "filter_policy=surf:0:4;block_size=512".
std::shared_ptr<TableFactory> NewTable(const std::string& id,
                                       const std::string& options);

// What is unknown is an error.
ConfigOptions StrictConfig();

// `options` with those of the text, such as "table_factory=ProteanTable".
Status AddOptions(const std::string& text, ColumnFamilyOptions* options);

// The text of a ProteanTable with that filter policy.
std::string ProteanTableText(const std::string& policy);

// The options of their table, which is Protean's or RocksDB's own.
BlockBasedTableOptions* TableOf(const ColumnFamilyOptions& options);
// The filter policy, and the same as one of Protean's; or nullptr.
const FilterPolicy* PolicyOf(const ColumnFamilyOptions& options);
const ProteanFilterPolicy* ProteanPolicyOf(const ColumnFamilyOptions& options);

// DB::OpenAsSecondary, whatever the version of RocksDB.
template <typename... Arguments>
Status OpenSecondary(std::unique_ptr<DB>* db, Arguments&&... arguments) {
  return OpenInto(db, [&](auto* into) {
    return DB::OpenAsSecondary(std::forward<Arguments>(arguments)..., into);
  });
}

// Opens what has an Open of its own, such as a TransactionDB.
template <class Opened, class Held, typename... Arguments>
Status OpenAs(std::unique_ptr<Held>* held, Arguments&&... arguments) {
  Opened* opened = nullptr;
  const Status s = Opened::Open(std::forward<Arguments>(arguments)..., &opened);
  held->reset(opened);
  return s;
}

// What the policy says of its option.
std::string OptionOf(const FilterPolicy* policy, const std::string& name);

// [lo, hi), for the expression in which it is made. The keys are not owned.
class Between {
 public:
  Between(const Slice& lo, const Slice& hi) : lo_(lo), hi_(hi) {}

  operator RangePtr() const { return {&lo_, &hi_}; }

 private:
  const Slice lo_;
  const Slice hi_;
};

// Checks that a text has all of these words.
void ExpectHas(const std::string& text, const Keys& words);

// Checks that `s` refuses what a user has asked for, with these words.
void ExpectRefused(const Status& s, const Keys& words);

// ---- Keys ----

// The number in decimal digits, with zeros in front of it.
std::string Digits(uint64_t number, int width = 16);

// Random numbers, big endian.
Keys RandomNumbers(uint64_t seed, size_t count);

// Orders keys by their last byte, by the one before it, and so on.
class OddComparator : public Comparator {
 public:
  const char* Name() const override { return "OddComparator"; }
  int Compare(const Slice& a, const Slice& b) const override;
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

// ---- Logs, threads and files ----

// Keeps what RocksDB logs.
class RecordingLogger : public Logger {
 public:
  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override;

  // The lines that contain all of `words`.
  Keys Lines(const Keys& words) const;
  void Clear();

 private:
  mutable std::mutex mutex_;
  Keys lines_;
};

// Something that a thread waits for.
class Event {
 public:
  void Set();
  bool IsSet() const;
  // Fails the test if that takes longer than on any busy machine.
  void Wait();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

std::vector<LiveFileMetaData> FilesOf(DB* db);
TablePropertiesCollection PropertiesOf(DB* db,
                                       ColumnFamilyHandle* family = nullptr);

// Makes the test's temporary folder anew, without what is in it: in memory,
// unless TEST_TMPDIR was set when the program began, or /dev/shm is missing or
// has less than 1 GB free. For tests that make many databases.
void PutOwnFolderInMemory();
// A path in it, once that is done: syncing is not what most tests are about.
std::string PathInMemory(const std::string& name);

// Whether files of the test's folder can be read without the page cache.
bool HasDirectReads();

std::string PathOf(const LiveFileMetaData& file);
// What a file contains, which must be there.
std::string ContentsOf(const std::string& path);
FilterStatistics StatisticsOf(DB* db, ColumnFamilyHandle* family = nullptr);

std::map<std::string, FilterProperties> FilterPropertiesOf(
    DB* db, ColumnFamilyHandle* family = nullptr);

// Writes an SST file of these keys, which are in order.
void WriteSstFile(const Options& options, const std::string& path,
                  const Keys& keys, const Slice& value = "value");

// All files of level 0, and what they overlap.
Status CompactLevel0(DB* db, int level, uint64_t file_size,
                     ColumnFamilyHandle* family = nullptr);
// A copy of the DB in another folder, by links.
Status MakeCheckpoint(DB* db, const std::string& path);
// Rewrites all files.
Status CompactAll(DB* db, ColumnFamilyHandle* family = nullptr);

// The bounds of a thread, where tests need no scope.
inline void SetSearchBounds(const Slice* lower, const Slice* upper) {
  ThreadBounds::SetCurrent(std::make_shared<const ThreadBounds>(lower, upper));
}
inline void ClearSearchBounds() { ThreadBounds::SetCurrent(nullptr); }

// ---- Reads, which must not fail ----

// Whether a key exists.
bool Has(DB* db, const Slice& key, const ReadOptions& options = {});

// The first key at or above `lo`, and below `hi`; "" if there is none.
std::string FirstFrom(DB* db, const Slice& lo, const ReadOptions& options = {},
                      ColumnFamilyHandle* family = nullptr);
std::string FirstIn(DB* db, const Slice& lo, const Slice& hi,
                    ReadOptions options = {},
                    ColumnFamilyHandle* family = nullptr);

// The last key in [lo, hi], or from `lo` on if `hi` is ""; "" if there is none.
std::string LastIn(DB* db, const Slice& lo, const Slice& hi,
                   ReadOptions options = {});

// Stores the values of the keys.
std::vector<Status> MultiGet(DB* db, const Keys& keys,
                             std::vector<PinnableSlice>* values,
                             const ReadOptions& options = {},
                             bool sorted = false);

// Whether the filters say that a key may exist, or a key in a range.
bool KeyMayExist(DB* db, const Slice& key, const ReadOptions& options = {});
bool RangeMayExist(DB* db, const RangePtr& range,
                   const ReadOptions& options = {});

// What an iterator finds from end to end.
Records AllRecords(DB* db, const ReadOptions& options = {});

// Checks that Get and iterators, in both directions, find just these records.
void ExpectRecords(DB* db, const Records& expected,
                   const ReadOptions& options = {});
void ExpectRecords(Iterator* it, const Records& expected);

// The blocks of any kind that the thread has read from files, and with those
// that it has found in the cache, since its perf context was reset.
uint64_t BlocksRead();
uint64_t BlocksUsed();

// ---- A DB of a test's own ----

// A DB with a ProteanTable that has no filter policy, statistics and a logger,
// which counts what its thread reads.
class OwnDB {
 public:
  // The DB has the name if a test has several at a time.
  explicit OwnDB(const Options& options = UnthrottledFiles(),
                 const std::string& name = "db");
  ~OwnDB();

  OwnDB(const OwnDB&) = delete;
  OwnDB& operator=(const OwnDB&) = delete;

  // Options of its table, such as "filter_policy=surf:0:4;block_size=512".
  void SetTable(const std::string& table,
                const std::string& id = "ProteanTable") {
    options_.table_factory = NewTable(id, table);
  }
  void SetPolicy(const std::string& policy, const std::string& more = "") {
    SetTable("filter_policy=" + policy + ";" + more);
  }
  // A policy that the test has made.
  void UsePolicy(std::shared_ptr<const FilterPolicy> policy,
                 BlockBasedTableOptions table = {}) {
    table.filter_policy = std::move(policy);
    options_.table_factory = NewProteanTableFactory(table);
  }

  // Closes the DB if it is open.
  Status TryOpen();
  void Open() { ASSERT_OK(TryOpen()); }
  // Closes the handles of NewFamily, too.
  void Close();
  void Destroy();
  void OpenNew() {
    Destroy();
    Open();
  }
  // What the DB's OPTIONS file says.
  Options OptionsOnDisk() const;

  void Put(const Slice& key, const Slice& value = "value") {
    ASSERT_OK(db_->Put(WriteOptions(), key, value));
  }
  void Delete(const Slice& key) { ASSERT_OK(db_->Delete(WriteOptions(), key)); }
  void Flush() { ASSERT_OK(db_->Flush(FlushOptions())); }
  // Writes these keys into a file of the level, or into several.
  void WriteFile(const Keys& keys, int level = 0, const Slice& value = "value");
  // Adds a file that was written outside of the DB.
  void Ingest(const Keys& keys);
  // Into files of target_file_size_base, or of another size.
  void CompactLevel0Into(int level, uint64_t file_size = 0);
  // Rewrites all files.
  void Compact() { ASSERT_OK(CompactAll(db_.get())); }
  void CompactTo(int level);
  void WaitForCompactions() {
    ASSERT_OK(db_->WaitForCompact(WaitForCompactOptions()));
  }
  // The filter policy of files that are written from now on.
  void ChangePolicy(const std::string& policy) {
    ASSERT_OK(db_->SetOptions({{"table_factory.filter_policy", policy}}));
  }
  // Another column family with the options of the DB.
  ColumnFamilyHandle* NewFamily(const std::string& name);

  std::vector<LiveFileMetaData> Files() const { return FilesOf(db_.get()); }
  size_t NumFiles() const { return Files().size(); }
  // The path of the only file.
  std::string OneFile() const;

  bool Has(const Slice& key, const ReadOptions& options = {}) const {
    return protean::Has(db_.get(), key, options);
  }
  std::string FirstFrom(const Slice& lo,
                        const ReadOptions& options = {}) const {
    return protean::FirstFrom(db_.get(), lo, options);
  }
  std::string FirstIn(const Slice& lo, const Slice& hi,
                      const ReadOptions& options = {}) const {
    return protean::FirstIn(db_.get(), lo, hi, options);
  }
  std::string LastIn(const Slice& lo, const Slice& hi,
                     const ReadOptions& options = {}) const {
    return protean::LastIn(db_.get(), lo, hi, options);
  }

  FilterStatistics FilterStats() const { return StatisticsOf(db_.get()); }
  uint64_t Ticks(Tickers ticker) const {
    return options_.statistics->getTickerCount(ticker);
  }
  uint64_t DataBlocks() const {
    return Ticks(BLOCK_CACHE_DATA_HIT) + Ticks(BLOCK_CACHE_DATA_MISS);
  }
  uint64_t FilteredSeeks() const {
    return Ticks(LAST_LEVEL_SEEK_FILTERED) +
           Ticks(NON_LAST_LEVEL_SEEK_FILTERED);
  }

  const std::string path_;
  const std::shared_ptr<RecordingLogger> log_ =
      std::make_shared<RecordingLogger>();
  Options options_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> families_;  // of NewFamily
};

class OwnDBTest : public testing::Test, protected OwnDB {
 protected:
  using OwnDB::OwnDB;
};

// The keys are multiples of kGap, big endian.
class NumberedDBTest : public OwnDBTest {
 protected:
  static constexpr uint64_t kGap = 1000;

  using OwnDBTest::OwnDBTest;

  static std::string Key(uint64_t i) { return BigEndian(kGap * i); }
  // A string between the i-th key and the next one.
  static std::string Gap(uint64_t i, uint64_t after = 1) {
    return BigEndian(kGap * i + after);
  }
  // Writes every `step`-th key from `first` to `last` into files of a level.
  void WriteNumbers(uint64_t first, uint64_t last, uint64_t step = 1,
                    int level = 0) {
    for (uint64_t i = first; i <= last; i += step) {
      Put(Key(i), "some value of it");
    }
    Flush();
    if (level > 0) CompactLevel0Into(level);
  }
};

}  // namespace ROCKSDB_NAMESPACE::protean
