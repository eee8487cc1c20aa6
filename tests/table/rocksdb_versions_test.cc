// SPDX-License-Identifier: Apache-2.0

//  What depends on the version of RocksDB: what it has had only since a version
//  after 9.10, and the defects of 9.10 that docs/rocksdb_defects.md tells of.
//  Each is shown with RocksDB's own table, and Protean's tables answer in the
//  same way. Where a later version of RocksDB has mended a defect, its test is
//  skipped: then the page should say so.

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_reader.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/table/twin_db.h"
#include "util/cast_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr bool kIsKnownVersion = ROCKSDB_MAJOR == 9 && ROCKSDB_MINOR == 10;

const char* const kStock =
    "{id=BlockBasedTable;filter_policy=bloomfilter:10;block_size=1}";
const char* const kProteanTables[] = {
    "{id=ProteanTable;filter_policy=surf:0:8;block_size=1}",
    "{id=ProteanTable;filter_policy=proteus:12;block_size=1}"};

class StockDefectsTest : public OwnDBTest {
 protected:
  StockDefectsTest() : OwnDBTest(Options()) {}

  // Opens the DB with nothing in its caches.
  void OpenWith(const std::string& options_string) {
    Close();
    ASSERT_OK(GetOptionsFromString(Options(), options_string, &options_));
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    if (has_row_cache_) options_.row_cache = NewLRUCache(1 << 20);
    options_.listeners = listeners_;
    Open();
  }

  // Checks that all tables answer alike: with the defect or, in a version that
  // has mended it, otherwise. If `mended` is empty, that may be anything else.
  void ExpectOfStock(
      const std::string& defect, const std::string& mended,
      const std::function<std::string(const std::string& table)>& answer) {
    const std::string stock = answer(kStock);
    for (const char* table : kProteanTables) {
      EXPECT_EQ(stock, answer(table)) << table;
    }
    const bool is_mended = mended.empty() ? stock != defect : stock == mended;
    if (!kIsKnownVersion && is_mended) GTEST_SKIP() << "mended: " << stock;
    EXPECT_EQ(defect, stock);
  }

  bool has_row_cache_ = false;
  std::vector<std::shared_ptr<EventListener>> listeners_;
};

// With prefix_same_as_start, RocksDB's table iterators ask the prefix filter
// even if total_order_seek is set, but DBIter takes their order for a total
// one. At a turn, it does not seek the prefix anew: the merging iterator seeks
// all files where it happens to be, which may be at a key of another prefix.
TEST_F(StockDefectsTest, PrefixSeeksInTotalOrderMissKeysBehindATurn) {
  // Returns the key behind p1, after a turn.
  const auto behind_the_turn = [this](const std::string& table,
                                      bool total_order, bool same_prefix) {
    Destroy();
    OpenWith("prefix_extractor=fixed:1;table_factory=" + table);
    WriteFile({"o1", "p9"});
    WriteFile({"p1", "p2"});
    ReadOptions read_options;
    read_options.total_order_seek = total_order;
    read_options.prefix_same_as_start = same_prefix;
    const std::unique_ptr<Iterator> it(db_->NewIterator(read_options));
    it->SeekForPrev("p2");
    EXPECT_TRUE(it->Valid());
    it->Prev();
    EXPECT_TRUE(it->Valid());
    EXPECT_EQ("p1", it->key());
    it->Next();
    EXPECT_OK(it->status());
    return it->Valid() ? it->key().ToString() : "";
  };
  EXPECT_EQ("p2", behind_the_turn(kStock, true, false));
  EXPECT_EQ("p2", behind_the_turn(kStock, false, true));
  ExpectOfStock("p9", "p2", [&](const std::string& table) {
    return behind_the_turn(table, true, true);
  });
}

class MemoryOnlyTest : public StockDefectsTest {
 protected:
  void OpenTable(const std::string& table, const std::string& more = "") {
    OpenWith(more + "merge_operator=stringappend;table_factory=" + table);
  }
  // Makes a DB with a key whose value takes two blocks: a value and an operand
  // that is merged with it.
  void Make(const std::string& table, const std::string& more = "") {
    Destroy();
    OpenTable(table, more);
    Put("k", "a");
    const Snapshot* const snapshot = db_->GetSnapshot();
    ASSERT_OK(db_->Merge(WriteOptions(), "k", "b"));
    Flush();
    db_->ReleaseSnapshot(snapshot);
    OpenTable(table, more);
  }
  std::string Get(const ReadOptions& read_options) {
    std::string value;
    const Status s = db_->Get(read_options, "k", &value);
    return s.ok() ? "OK " + value : s.ToString();
  }
  std::string MultiGet(const ReadOptions& read_options) {
    std::vector<PinnableSlice> values;
    const Status s =
        protean::MultiGet(db_.get(), {"k"}, &values, read_options)[0];
    return s.ok() ? "OK " + values[0].ToString() : s.ToString();
  }
  static ReadOptions MemoryOnly() {
    ReadOptions read_options;
    read_options.read_tier = kBlockCacheTier;
    return read_options;
  }
};

// MultiGet marks a key whose block is not in the cache as one that may exist,
// and forgets to set the key's status.
TEST_F(MemoryOnlyTest, MultiGetFindsAnEmptyValue) {
  const auto found = [this](const std::string& table,
                            const std::string& more = "") {
    Make(table, more);
    EXPECT_EQ("Result incomplete: no blocking io", Get(MemoryOnly()));
    return MultiGet(MemoryOnly());
  };
  ExpectOfStock("OK ", "", found);
  if (IsSkipped()) return;
  // With reads by mmap, that is so for the first block of a key, too.
  EXPECT_EQ("OK ", found(kStock, "allow_mmap_reads=true;"));
}

// MultiGet puts what it has found until then into the row cache, as if it were
// all that the file has of the key.
TEST_F(MemoryOnlyTest, MultiGetSpoilsTheRowCache) {
  has_row_cache_ = true;
  ExpectOfStock("OK b", "OK a,b", [this](const std::string& table) {
    Make(table);
    MultiGet(MemoryOnly());
    return Get(ReadOptions());
  });
  if (IsSkipped()) return;
  OpenTable(kStock);
  EXPECT_EQ("OK a,b", Get(ReadOptions())) << "what is stored is right";
}

// ---- An extractor that goes while a compaction runs ----

// In RocksDB 9.10, a flush or compaction installs a Version and a SuperVersion
// with the options that it was begun with. Iterators over these go on to seek
// prefixes: they miss keys of other prefixes if the files have a prefix filter
// of any kind. With Protean, too, that happens to no others.

constexpr int kNumRecords = 1000;

// Six digits, which are the prefix.
std::string PrefixKey(int number) { return Digits(number, 6); }

class ExtractorTaker : public EventListener {
 public:
  void OnCompactionBegin(DB* db, const CompactionJobInfo& /*info*/) override {
    ASSERT_OK(db->SetOptions({{"prefix_extractor", "nullptr"}}));
  }
};

class PrefixExtractorChangeTest : public StockDefectsTest {
 protected:
  // A new DB with that table factory, and two files of odd numbers.
  void OpenNew(const std::string& table_factory, bool take_extractor) {
    Destroy();
    listeners_.clear();
    if (take_extractor) listeners_ = {std::make_shared<ExtractorTaker>()};
    OpenWith("prefix_extractor=fixed:6;table_factory=" + table_factory);
    for (int file = 0; file < 2; file++) {
      for (int i = 1 + 2 * file; i < kNumRecords; i += 4) Put(PrefixKey(i));
      Flush();
    }
  }

  Status CompactRange() const {
    return db_->CompactRange(CompactRangeOptions(), nullptr, nullptr);
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
    for (int i = 0; i + 1 < kNumRecords; i += 2) {
      it->Seek(PrefixKey(i));
      EXPECT_OK(it->status());
      if (!it->Valid() || it->key() != PrefixKey(i + 1)) missed++;
    }
    return missed;
  }
  int Missed(const ReadOptions& read_options) const {
    const std::unique_ptr<Iterator> it(db_->NewIterator(read_options));
    return Missed(it.get());
  }
};

const char* const kStockTable =
    "{id=BlockBasedTable;filter_policy=bloomfilter:10}";
const char* const kTablesOfProtean[] = {
    "ProteanTable", "{id=ProteanTable;filter_policy=surf:0:8}",
    "{id=ProteanTable;filter_policy=surf:4:0}"};

TEST_F(PrefixExtractorChangeTest, KeysAreMissedWhereStockSeeksPrefixesAlone) {
  OpenNew(kStockTable, /*take_extractor=*/true);
  ASSERT_OK(CompactRange());
  const bool stock_is_stale = SuperVersionHasExtractor();
  // A Bloom filter's false positives find a key now and then.
  EXPECT_EQ(stock_is_stale, Missed(ReadOptions()) > 0);
  for (const char* table : kTablesOfProtean) {
    SCOPED_TRACE(table);
    OpenNew(table, /*take_extractor=*/true);
    ASSERT_OK(CompactRange());
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
  for (const char* table : {kStockTable, kTablesOfProtean[0],
                            kTablesOfProtean[1], kTablesOfProtean[2]}) {
    SCOPED_TRACE(table);
    OpenNew(table, /*take_extractor=*/false);
    std::atomic<bool> stop{false};
    std::thread compactions([&] {
      Random rnd(301);
      while (!stop) {
        WriteFile({PrefixKey(2 * rnd.Uniform(kNumRecords / 2) + 1)});
        if (rnd.OneIn(3)) {
          EXPECT_OK(CompactRange());
        }
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
      if (SuperVersionNumber() != before || has_extractor) continue;
      it->Seek(PrefixKey(rnd.Uniform(kNumRecords)));
      judged.push_back(std::move(it));
      // Older iterators go on, out of order.
      const auto& old = judged[rnd.Uniform(static_cast<int>(judged.size()))];
      EXPECT_EQ(0, Missed(old.get()));
    }
    stop = true;
    compactions.join();
    changes.join();
    for (const auto& it : judged) EXPECT_EQ(0, Missed(it.get()));
  }
}

// ---- Sizes of files (10.9) ----

#if PROTEAN_HAS_TAIL_ESTIMATES

using FileSizesTest = OwnDBTest;

// Files of compactions where their target size is an upper bound are not
// larger, and not much smaller.
TEST_F(FileSizesTest, TargetIsAnUpperBound) {
  constexpr uint64_t kTarget = 256 << 10;
  options_.target_file_size_base = kTarget;
  options_.target_file_size_is_upper_bound = true;
  const std::string parts =
      ";index_type=kTwoLevelIndexSearch;partition_filters=true";
  for (const std::string& policy :
       {std::string("surf:0:8"), std::string("proteus:12"),
        std::string("{id=protean.Proteus;filter_budget_bytes=1M}"),
        "surf:0:8" + parts, "proteus:12" + parts,
        "surf:0:8" + parts + ";decouple_partitioned_filters=false"}) {
    for (const KeyFamily& family : KeyFamilies(40000, 301)) {
      if (family.keys.size() < 20000) continue;
      SCOPED_TRACE(policy + ", " + family.name);
      SetPolicy(policy);
      OpenNew();
      log_->Clear();
      WriteFile(family.keys, /*level=*/2, "a value of 20 bytes.");
      const std::vector<LiveFileMetaData> files = Files();
      EXPECT_LE(3u, files.size());
      if (files.size() < 3) continue;
      uint64_t sum = 0;
      for (const LiveFileMetaData& file : files) {
        EXPECT_GE(kTarget + kTarget / 50, file.size);
        sum += file.size;
      }
      // RocksDB's own assertion, of which it logs the sides.
      const Keys tails = log_->Lines({"Estimated tail size = "});
      EXPECT_EQ(files.size(), tails.size());
      for (const std::string& line : tails) {
        const auto number_behind = [&line](const char* words) {
          return std::stoull(line.substr(line.find(words) + strlen(words)));
        };
        EXPECT_GE(number_behind("Estimated tail size = "),
                  number_behind("Actual tail size = "))
            << line;
      }
      // The last one is what is left.
      EXPECT_LE(kTarget * 85 / 100, sum / (files.size() - 1));
    }
  }
}

#endif

// ---- Embedded blobs (11.6) ----

#if PROTEAN_ROCKSDB_AT_LEAST(11, 6)

using EmbeddedBlobTest = NumberedDBTest;

// Iterators of SST files with embedded blobs are of another class than all
// others, and must be used accordingly, outside of a DB and in it.
TEST_F(EmbeddedBlobTest, AreRead) {
  SetPolicy("surf:0:16");
  // Every other value is a blob.
  Records truth;
  for (uint64_t i = 1; i <= 2000; i++) {
    truth[Key(i)] =
        i % 2 == 0 ? "small" : std::string(200, 'b') + std::to_string(i);
  }
  const std::string file = path_ + ".sst";
  SstFileWriter writer(EnvOptions(), options_);
  SstFileWriterEmbeddedBlobOptions blobs;
  blobs.min_blob_size = 100;
  ASSERT_OK(writer.OpenWithEmbeddedBlobs(file, blobs));
  for (const auto& [key, value] : truth) ASSERT_OK(writer.Put(key, value));
  ASSERT_OK(writer.Finish());
  {
    SstFileReader reader(options_);
    ASSERT_OK(reader.Open(file));
    // In both directions, and from every key.
    const std::unique_ptr<Iterator> it(reader.NewIterator(ReadOptions()));
    ExpectRecords(it.get(), truth);
    for (const auto& [key, value] : truth) {
      it->Seek(key);
      ASSERT_TRUE(it->Valid());
      ASSERT_EQ(key, it->key().ToString());
      ASSERT_EQ(value, it->value().ToString());
    }
  }
  SetPolicy("surf:0:16");  // with a cache of its own
  Open();
  ASSERT_OK(db_->IngestExternalFile({file}, IngestExternalFileOptions()));
  ExpectRecords(db_.get(), truth);
  // The file's filter is asked as usual.
  get_perf_context()->Reset();
  ASSERT_OK(options_.statistics->Reset());
  for (uint64_t i = 1; i < truth.size(); i++) {
    ASSERT_EQ("", FirstIn(Gap(i, 300), Gap(i, 700)));
  }
  EXPECT_EQ(truth.size() - 1, FilteredSeeks());
  EXPECT_EQ(0u, BlocksRead());
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  ExpectRecords(db_.get(), truth);
}

#endif

// ---- Scans of several ranges (11.7) ----

#if PROTEAN_ROCKSDB_AT_LEAST(11, 7)

// Scans of several ranges that are announced together: files that may hold keys
// of any range are read ahead as RocksDB reads them, and the others are not
// read. (Versions before 11.7 have other rules of what may be announced.) Scans
// of many files and levels: differential_test.

constexpr uint64_t kScanGap = 1000;

struct Reads {
  uint64_t prepared;
  uint64_t blocks;
  uint64_t requests;
};

class MultiScanTest : public ::testing::TestWithParam<const char*> {
 protected:
  using Range = std::pair<std::string, std::string>;

  MultiScanTest() { SetPerfLevel(PerfLevel::kEnableCount); }
  ~MultiScanTest() override { SetPerfLevel(PerfLevel::kDisable); }

  static std::unique_ptr<TwinDB> NewTwinsOfOneFile() {
    auto twins = std::make_unique<TwinDB>(
        "multi_scan", ManySmallFiles(4),
        NewTable("ProteanTable", std::string("filter_policy=") + GetParam()));
    twins->Open();
    for (uint64_t i = 1; i <= 5000; i++) {
      twins->Put(BigEndian(kScanGap * i), "value");
    }
    twins->Flush();
    return twins;
  }

  // Scans the ranges in a DB, and appends what is found to `found`.
  static Reads Scan(DB* db, const std::vector<Range>& ranges, Keys* found) {
    MultiScanArgs args(BytewiseComparator());
    for (const auto& [begin, end] : ranges) args.insert(begin, end);
    Slice upper;
    ReadOptions options;
    options.iterate_upper_bound = &upper;
    options.fill_cache = false;
    get_perf_context()->Reset();
    std::unique_ptr<Iterator> it(db->NewIterator(options));
    it->Prepare(args);
    for (const auto& [begin, end] : ranges) {
      upper = end;
      for (it->Seek(begin); it->Valid(); it->Next()) {
        found->push_back(it->key().ToString() + it->value().ToString());
      }
      EXPECT_OK(it->status());
    }
    it.reset();  // which counts
    const PerfContext& perf = *get_perf_context();
    return {perf.multiscan_prepare_count,
            perf.block_read_count + perf.multiscan_blocks_prefetched,
            perf.multiscan_io_requests};
  }

  // `count` ranges of three gaps each, spread over `keys` keys: with keys in
  // them, or between two keys.
  static std::vector<Range> Ranges(uint64_t count, uint64_t keys, bool empty) {
    std::vector<Range> ranges;
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t begin = (1 + i * keys / count) * kScanGap + 1;
      const uint64_t end = begin + (empty ? kScanGap / 2 : 3 * kScanGap);
      ranges.emplace_back(BigEndian(begin), BigEndian(end));
    }
    return ranges;
  }
};

TEST_P(MultiScanTest, AFileIsReadAheadAsRocksDBDoes) {
  const auto twins = NewTwinsOfOneFile();
  const std::vector<Range> ranges = Ranges(50, 5000, /*empty=*/false);
  Keys found[2];
  const Reads protean = Scan(twins->db(TwinDB::kProtean), ranges, &found[0]);
  const Reads plain = Scan(twins->db(TwinDB::kPlain), ranges, &found[1]);
  EXPECT_EQ(150u, found[1].size());
  EXPECT_EQ(found[1], found[0]);
  EXPECT_EQ(1u, plain.prepared);
  EXPECT_EQ(plain.prepared, protean.prepared);
  EXPECT_LT(0u, plain.requests);
  EXPECT_EQ(plain.requests, protean.requests);
  EXPECT_EQ(plain.blocks, protean.blocks);
}

TEST_P(MultiScanTest, AFileWithoutKeysInTheRangesIsNotRead) {
  const auto twins = NewTwinsOfOneFile();
  constexpr uint64_t kScans = 1000;
  uint64_t prepared = 0;
  for (const Range& range : Ranges(kScans, 5000, /*empty=*/true)) {
    Keys found;
    const Reads plain = Scan(twins->db(TwinDB::kPlain), {range}, &found);
    EXPECT_EQ(1u, plain.prepared);
    EXPECT_LT(0u, plain.blocks);
    const Reads protean = Scan(twins->db(TwinDB::kProtean), {range}, &found);
    EXPECT_EQ(Keys(), found);
    if (protean.prepared == 0) {
      EXPECT_EQ(0u, protean.blocks);
    }
    prepared += protean.prepared;
  }
  // The others are false positives: 27 % of such ranges, for a filter that no
  // query has taught.
  EXPECT_LE(prepared, kScans / 3);
}

INSTANTIATE_TEST_SUITE_P(Policies, MultiScanTest,
                         testing::Values("surf:0:8", "proteus:16"));

#endif

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
