//  A RocksDB with ProteanTable answers everything as a plain RocksDB does, and
//  reads nothing where the filters know that there is nothing.

#include <algorithm>

#include "rocksdb/perf_context.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/statistics.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint32_t kSeed = 4711;
constexpr size_t kFamilySize = 1500;

// A key, or a string close to one.
std::string PickAround(const Keys& keys, Random* rnd) {
  const Keys around = Around(Pick(keys, rnd));
  return Pick(around, rnd);
}

// Writes never wait for compactions, which the test starts itself.
Options UnthrottledFiles() {
  Options options = ManySmallFiles(4);
  options.level0_slowdown_writes_trigger = 1000;
  options.level0_stop_writes_trigger = 1000;
  return options;
}

// Overwrites, deletes, and deletes ranges of a part of the keys.
void WriteRound(TwinDB* dbs, const Keys& keys, int round, Random* rnd) {
  const auto size = static_cast<int>(keys.size());
  for (int i = 0; i < size; i++) {
    const std::string value = "round " + std::to_string(round) + " key " +
                              std::to_string(i) + std::string(i % 40, '.');
    if (round == 0 ? !rnd->OneIn(6) : rnd->OneIn(4)) {
      dbs->Put(keys[i], value);
    } else if (round > 0 && rnd->OneIn(8)) {
      dbs->Delete(keys[i]);
    }
  }
  if (round == 0 || size < 2) return;
  for (int ranges = 0; ranges < 3; ranges++) {
    std::string begin = PickAround(keys, rnd);
    std::string end =
        rnd->OneIn(3) ? PickAround(keys, rnd)
                      : keys[std::min<int>(size - 1, rnd->Uniform(size) / 8 +
                                                         rnd->Uniform(size))];
    // Short ones for the most part, so that something is left.
    const auto from = std::lower_bound(keys.begin(), keys.end(), begin);
    if (from != keys.end() && keys.end() - from > 20 && ranges > 0) {
      end = *(from + 1 + rnd->Uniform(19));
    }
    if (begin < end) dbs->DeleteRange(begin, end);
  }
}

// A tree with data on three levels or more, two overlapping files on level 0,
// range tombstones everywhere, snapshots, and writes that are not flushed.
void FillTree(TwinDB* dbs, const Keys& keys, Random* rnd) {
  WriteRound(dbs, keys, 0, rnd);
  dbs->Flush();
  dbs->CompactLevel0Into(3, kFileSize);
  dbs->TakeSnapshot();
  WriteRound(dbs, keys, 1, rnd);
  dbs->Flush();
  dbs->CompactLevel0Into(2, kFileSize);
  dbs->TakeSnapshot();
  WriteRound(dbs, keys, 2, rnd);
  dbs->Flush();
  const Slice begin = keys[keys.size() / 3];
  const Slice end = keys[keys.size() / 2];
  dbs->Compact(CompactRangeOptions(), &begin, &end);
  for (int round : {3, 4, 5, 6}) {
    WriteRound(dbs, keys, round, rnd);
    if (round < 6) dbs->Flush();
    if (round == 3) dbs->CompactLevel0Into(1, kFileSize);
  }
}

// Seeks under an upper bound: around keys, into gaps, empty and reversed. The
// bounds of one iterator change all the time.
void CompareClosedSeeks(TwinDB* dbs, const Keys& keys, int count, Random* rnd,
                        int snapshot, const ReadOptions& options) {
  TwinIterator it(dbs, options, /*lower=*/false, /*upper=*/true, snapshot);
  for (int i = 0; i < count && !::testing::Test::HasFailure(); i++) {
    const std::string lo = PickAround(keys, rnd);
    switch (rnd->Uniform(4)) {
      case 0:
        it.SetUpper(PickAround(keys, rnd));  // reversed half of the time
        break;
      case 1:
        it.SetUpper(Pick(Around(lo), rnd));
        break;
      case 2:
        it.SetUpper(lo + std::string(1 + rnd->Uniform(2), '\0'));
        break;
      case 3: {
        const auto from = std::lower_bound(keys.begin(), keys.end(), lo);
        const auto left = static_cast<int>(keys.end() - from);
        it.SetUpper(
            left == 0 ? lo + "\xff"
                      : Pick(Around(from[rnd->Uniform(left) % 5 % left]), rnd));
        break;
      }
    }
    bool valid = rnd->OneIn(8) ? it.SeekToFirst() : it.Seek(lo);
    for (int step = rnd->Uniform(8); valid && step > 0; step--) {
      valid = it.Next();
    }
  }
}

// All movements, with and without bounds, in any order.
void CompareWalks(TwinDB* dbs, const Keys& keys, int count, Random* rnd,
                  int snapshot, const ReadOptions& options) {
  for (int bounds = 0; bounds < 4; bounds++) {
    TwinIterator it(dbs, options, bounds & 1, bounds & 2, snapshot);
    for (int i = 0; i < count && !::testing::Test::HasFailure(); i++) {
      std::string lo = PickAround(keys, rnd);
      std::string hi =
          rnd->OneIn(2) ? PickAround(keys, rnd) : Pick(Around(lo), rnd);
      if (hi < lo) std::swap(lo, hi);
      it.SetLower(lo);
      it.SetUpper(hi);
      bool valid = false;
      switch (rnd->Uniform(6)) {
        case 0:
          valid = it.SeekToFirst();
          break;
        case 1:
          valid = it.SeekToLast();
          break;
        case 2:
          valid = it.SeekForPrev(PickAround(keys, rnd));
          break;
        case 3:
          valid = it.SeekForPrev(hi);
          break;
        default:
          valid = it.Seek(rnd->OneIn(3) ? PickAround(keys, rnd) : lo);
      }
      for (int step = rnd->Uniform(12); valid && step > 0; step--) {
        valid = rnd->OneIn(3) ? it.Prev() : it.Next();
      }
    }
  }
}

// Full scans under an upper bound, from SeekToFirst and from Seek.
void CompareClosedScans(TwinDB* dbs, const Keys& keys, Random* rnd,
                        int snapshot, const ReadOptions& options) {
  TwinIterator it(dbs, options, /*lower=*/false, /*upper=*/true, snapshot);
  for (const std::string& hi : {std::string(100, '\xff'), PickAround(keys, rnd),
                                keys.front(), std::string()}) {
    it.SetUpper(hi);
    for (bool valid = it.SeekToFirst(); valid;) valid = it.Next();
    for (bool valid = it.Seek(PickAround(keys, rnd)); valid;) valid = it.Next();
  }
}

// Every way of reading, as of now and as of every snapshot.
void CompareAll(TwinDB* dbs, const Keys& keys, Random* rnd,
                const ReadOptions& options = {}) {
  const int queries = keys.size() < 10 ? 100 : 250;
  for (int snapshot = -1; snapshot < dbs->num_snapshots(); snapshot++) {
    SCOPED_TRACE("snapshot " + std::to_string(snapshot));
    Keys gets = keys;
    for (int i = 0; i < 2 * queries; i++) gets.push_back(PickAround(keys, rnd));
    CompareGets(dbs, gets, snapshot);
    RandomShuffle(gets.begin(), gets.end(), kSeed);
    CompareMultiGets(dbs, gets, snapshot, options);
    CompareScans(dbs, snapshot, options);
    CompareClosedScans(dbs, keys, rnd, snapshot, options);
    CompareClosedSeeks(dbs, keys, 4 * queries, rnd, snapshot, options);
    CompareWalks(dbs, keys, queries, rnd, snapshot, options);
    if (::testing::Test::HasFailure()) return;
  }
}

// Fills a tree and compares it as it is, reopened, and compacted.
void CompareThroughLife(const std::string& name, const Keys& keys,
                        const Options& options,
                        const std::string& protean_table,
                        const ReadOptions& read_options = {}) {
  Random rnd(kSeed);
  TwinDB dbs(name, options, NewTable("ProteanTable", protean_table));
  dbs.Open();
  FillTree(&dbs, keys, &rnd);
  if (keys.size() > 1000) {
    ASSERT_GE(dbs.NumLevels(), 3u);
    ASSERT_GE(dbs.NumFiles(), 8u);
  }
  CompareAll(&dbs, keys, &rnd, read_options);
  dbs.Reopen();  // the snapshots end here
  CompareAll(&dbs, keys, &rnd, read_options);
  dbs.Compact();
  CompareAll(&dbs, keys, &rnd, read_options);
}

const char* const kPolicies[] = {"surf:0:0", "surf:0:4", "surf:4:0", "surf:4:4",
                                 "surf:0:16"};

}  // namespace

// ---- The same answers as a plain RocksDB ----

class DifferentialTest : public ::testing::TestWithParam<const char*> {};

// Every family of keys under every set of table options. The policies take
// turns, so that each meets each family.
TEST_P(DifferentialTest, AllFamilies) {
  printf("seed %u\n", kSeed);
  size_t turn = std::string(GetParam()).size();
  for (const KeyFamily& family : KeyFamilies(kFamilySize, kSeed)) {
    const std::string policy = kPolicies[turn++ % std::size(kPolicies)];
    SCOPED_TRACE(family.name + ", " + policy + ", " + GetParam());
    CompareThroughLife("differential", family.keys, UnthrottledFiles(),
                       "filter_policy=" + policy + ";" + GetParam());
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    TableOptions, DifferentialTest,
    ::testing::Values(
        "block_size=4096", "block_size=256;cache_index_and_filter_blocks=true",
        "block_size=512;cache_index_and_filter_blocks=true;"
        "pin_l0_filter_and_index_blocks_in_cache=true",
        "block_size=512;index_type=kBinarySearchWithFirstKey",
        "block_size=128;index_type=kBinarySearchWithFirstKey;block_cache=64K;"
        "cache_index_and_filter_blocks=true",
        "block_size=300;no_block_cache=true;index_type=kBinarySearch"));

class FeatureTest : public ::testing::Test {
 protected:
  const KeyFamily integers_ = KeyFamilies(kFamilySize, kSeed)[0];
  const KeyFamily chains_ = KeyFamilies(kFamilySize, kSeed)[4];
};

TEST_F(FeatureTest, AsyncIO) {
  ReadOptions options;
  options.async_io = true;
  options.readahead_size = 16 << 10;
  for (const KeyFamily& family : {integers_, chains_}) {
    CompareThroughLife("async_io", family.keys, UnthrottledFiles(),
                       "filter_policy=surf:0:4;block_size=256", options);
  }
}

TEST_F(FeatureTest, UniversalCompaction) {
  Options options;
  options.compaction_style = kCompactionStyleUniversal;
  options.write_buffer_size = 64 << 10;
  options.level0_file_num_compaction_trigger = 3;
  Random rnd(kSeed);
  for (const KeyFamily& family : {integers_, chains_}) {
    TwinDB dbs("universal", options,
               NewTable("ProteanTable", "filter_policy=surf:4:4"));
    dbs.Open();
    for (int round = 0; round < 6; round++) {
      WriteRound(&dbs, family.keys, round, &rnd);
      if (round < 5) dbs.Flush();
    }
    CompareAll(&dbs, family.keys, &rnd);
    dbs.Compact();
    CompareAll(&dbs, family.keys, &rnd);
  }
}

TEST_F(FeatureTest, TailingIterators) {
  ReadOptions options;
  options.tailing = true;
  Random rnd(kSeed);
  TwinDB dbs("tailing", UnthrottledFiles(),
             NewTable("ProteanTable", "filter_policy=surf:0:4"));
  dbs.Open();
  // These iterators know nothing of range tombstones and go forward only.
  for (int round = 0; round < 5; round++) {
    for (const std::string& key : integers_.keys) {
      if (rnd.OneIn(3)) dbs.Put(key, "round " + std::to_string(round));
      if (rnd.OneIn(9)) dbs.Delete(key);
    }
    if (round < 4) dbs.Flush();
    if (round < 3) dbs.CompactLevel0Into(3 - round, kFileSize);
  }
  CompareClosedScans(&dbs, integers_.keys, &rnd, -1, options);
  CompareClosedSeeks(&dbs, integers_.keys, 3000, &rnd, -1, options);
}

// ---- What is read, and what is counted ----

// A DB of ProteanTable with the keys 1000, 2000, ..., big endian. A filter with
// 16 real bits is exact on them.
class ReadsTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kKeys = 20000;
  static constexpr uint64_t kGap = 1000;

  ReadsTest() : path_(test::PerThreadDBPath("reads")) {
    SetPerfLevel(kEnableCount);
    options_ = UnthrottledFiles();
    options_.create_if_missing = true;
    options_.target_file_size_base = 32 << 10;
    options_.statistics = CreateDBStatistics();
    options_.table_factory =
        NewTable("ProteanTable", "filter_policy=surf:0:16");
    EXPECT_OK(DestroyDB(path_, options_));
  }

  ~ReadsTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, options_));
    SetPerfLevel(kDisable);
  }

  void Open() {
    ASSERT_OK(OpenDB(&db_, options_, path_));
  }

  // Every third key each in the last level, in the level before, in level 0.
  void FillLevels() {
    Open();
    for (const auto& [level, first] : {std::pair{3, 1}, {2, 2}, {0, 3}}) {
      for (uint64_t i = first; i <= kKeys; i += 3) {
        ASSERT_OK(
            db_->Put(WriteOptions(), BigEndian(kGap * i), "some value of it"));
      }
      ASSERT_OK(db_->Flush(FlushOptions()));
      if (level > 0) MoveLevel0To(level);
    }
    ASSERT_GE(NumFiles(), 8u);
    ASSERT_OK(options_.statistics->Reset());
  }

  void MoveLevel0To(int level) {
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    for (const LiveFileMetaData& file : files) {
      if (file.level != 0) continue;
      CompactionOptions options;
      options.output_file_size_limit = options_.target_file_size_base;
      ASSERT_OK(db_->CompactFiles(options, {file.name}, level));
    }
  }

  size_t NumFiles() {
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    return files.size();
  }

  // The first key of [lo, hi), or "" if there is none.
  std::string FirstIn(const std::string& lo, const std::string& hi) {
    ReadOptions options;
    const Slice upper(hi);
    options.iterate_upper_bound = &upper;
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    lo.empty() ? it->SeekToFirst() : it->Seek(lo);
    EXPECT_OK(it->status());
    return it->Valid() ? it->key().ToString() : "";
  }

  uint64_t Ticks(Tickers ticker) const {
    return options_.statistics->getTickerCount(ticker);
  }

  // Blocks read from files, and blocks of any kind found in the cache.
  static uint64_t BlocksUsed() {
    return get_perf_context()->block_read_count +
           get_perf_context()->block_cache_hit_count;
  }

  const std::string path_;
  Options options_;
  std::unique_ptr<DB> db_;
};

TEST_F(ReadsTest, EmptyClosedSeeksUseNoBlock) {
  FillLevels();
  get_perf_context()->Reset();
  for (uint64_t i = 1; i < kKeys; i++) {
    ASSERT_EQ("", FirstIn(BigEndian(kGap * i + 1), BigEndian(kGap * i + 700)));
  }
  EXPECT_EQ("", FirstIn(BigEndian(kGap * kKeys + 1), "\xff"));
  EXPECT_EQ("", FirstIn(BigEndian(1), BigEndian(kGap)));
  EXPECT_EQ(0u, BlocksUsed());
}

TEST_F(ReadsTest, EmptySeekToFirstUsesNoBlock) {
  FillLevels();
  get_perf_context()->Reset();
  for (uint64_t hi : {uint64_t{0}, kGap / 2, kGap}) {
    EXPECT_EQ("", FirstIn("", BigEndian(hi)));
  }
  EXPECT_EQ(0u, BlocksUsed());
  EXPECT_EQ(BigEndian(kGap), FirstIn("", BigEndian(kGap + 1)));
  EXPECT_GT(BlocksUsed(), 0u);
}

// With indexes and filters in the block cache, no data block is used. (RocksDB
// gets the index block when it makes an iterator, before any seek.)
TEST_F(ReadsTest, EmptyClosedSeeksWithCachedFilters) {
  options_.table_factory =
      NewTable("ProteanTable",
               "filter_policy=surf:0:16;cache_index_and_filter_blocks=true;"
               "block_cache=64M");
  FillLevels();
  for (bool warm : {false, true}) {
    get_perf_context()->Reset();
    for (uint64_t i = 1; i < kKeys; i += 7) {
      ASSERT_EQ("",
                FirstIn(BigEndian(kGap * i + 1), BigEndian(kGap * i + 700)));
    }
    const PerfContext& perf = *get_perf_context();
    EXPECT_LE(perf.block_read_count, warm ? 0 : 2 * NumFiles());
    EXPECT_EQ(perf.block_read_count,
              perf.filter_block_read_count + perf.index_block_read_count);
    EXPECT_EQ(perf.block_cache_hit_count, perf.block_cache_filter_hit_count +
                                              perf.block_cache_index_hit_count);
  }
}

// A file whose bounds are far wider than its keys, because of range tombstones,
// sends a filtered seek on to the next file, which must not be read either.
TEST_F(ReadsTest, EmptyRangeAcrossFiles) {
  Open();
  struct File {
    const char *key, *begin, *end;
  };
  for (const File& file : {File{"a", "b", "f"}, File{"z", "g", "k"}}) {
    const std::string name = path_ + "/ingested";
    SstFileWriter writer(EnvOptions(), options_);
    ASSERT_OK(writer.Open(name));
    ASSERT_OK(writer.Put(file.key, "value"));
    ASSERT_OK(writer.DeleteRange(file.begin, file.end));
    ASSERT_OK(writer.Finish());
    IngestExternalFileOptions move;
    move.move_files = true;
    ASSERT_OK(db_->IngestExternalFile({name}, move));
  }
  ASSERT_EQ(2u, NumFiles());
  EXPECT_EQ("a", FirstIn("a", "j"));
  EXPECT_EQ("z", FirstIn("c", "zz"));
  get_perf_context()->Reset();
  EXPECT_EQ("", FirstIn("c", "j"));
  EXPECT_EQ("", FirstIn("c", "h"));
  EXPECT_EQ(0u, BlocksUsed());
}

// Of keys longer than 64 bytes the block stores too little to tell that the
// file goes on past the range: the next file has its say.
TEST_F(ReadsTest, EmptyRangeAmongLongKeys) {
  const std::string prefix(100, 'p');
  Open();
  for (uint64_t i = 1; i <= kKeys; i++) {
    ASSERT_OK(db_->Put(WriteOptions(), prefix + BigEndian(kGap * i), "value"));
  }
  ASSERT_OK(db_->Flush(FlushOptions()));
  MoveLevel0To(2);
  ASSERT_GE(NumFiles(), 4u);
  get_perf_context()->Reset();
  for (uint64_t i = 1; i < kKeys; i += 3) {
    ASSERT_EQ("", FirstIn(prefix + BigEndian(kGap * i + 1),
                          prefix + BigEndian(kGap * i + 700)));
  }
  EXPECT_EQ(0u, BlocksUsed());
  for (uint64_t i = 1; i < kKeys; i += 3) {
    const std::string next = prefix + BigEndian(kGap * (i + 1));
    ASSERT_EQ(next, FirstIn(prefix + BigEndian(kGap * i + 1), next + '\0'));
  }
}

TEST_F(ReadsTest, GetsOfAbsentKeys) {
  options_.table_factory = NewTable("ProteanTable", "filter_policy=surf:4:12");
  FillLevels();
  get_perf_context()->Reset();
  std::string value;
  for (uint64_t i = 1; i < kKeys; i++) {
    ASSERT_TRUE(db_->Get(ReadOptions(), BigEndian(kGap * i + 500), &value)
                    .IsNotFound());
  }
  EXPECT_LE(BlocksUsed(), kKeys / 100);
  EXPECT_GE(Ticks(BLOOM_FILTER_USEFUL), kKeys);
  EXPECT_GE(get_perf_context()->bloom_sst_miss_count, kKeys);
}

TEST_F(ReadsTest, SeeksAreCounted) {
  FillLevels();
  for (uint64_t i = 1; i < kKeys; i++) {
    ASSERT_EQ("", FirstIn(BigEndian(kGap * i + 1), BigEndian(kGap * i + 700)));
  }
  EXPECT_GT(Ticks(LAST_LEVEL_SEEK_FILTERED), kKeys / 2);
  EXPECT_GT(Ticks(NON_LAST_LEVEL_SEEK_FILTERED), kKeys);
  for (Tickers ticker :
       {LAST_LEVEL_SEEK_FILTER_MATCH, NON_LAST_LEVEL_SEEK_FILTER_MATCH,
        LAST_LEVEL_SEEK_DATA, NON_LAST_LEVEL_SEEK_DATA}) {
    EXPECT_EQ(0u, Ticks(ticker)) << ticker;
  }

  for (uint64_t i = 1; i < kKeys; i++) {
    ASSERT_EQ(BigEndian(kGap * i),
              FirstIn(BigEndian(kGap * i), BigEndian(kGap * i + 1)));
  }
  // A third of the keys is in the last level, the others above it.
  EXPECT_NEAR(kKeys / 3, Ticks(LAST_LEVEL_SEEK_FILTER_MATCH), 3);
  EXPECT_NEAR(kKeys * 2 / 3, Ticks(NON_LAST_LEVEL_SEEK_FILTER_MATCH), 3);
  EXPECT_NEAR(kKeys / 3, Ticks(LAST_LEVEL_SEEK_DATA_USEFUL_FILTER_MATCH), 3);
  EXPECT_NEAR(kKeys * 2 / 3,
              Ticks(NON_LAST_LEVEL_SEEK_DATA_USEFUL_FILTER_MATCH), 3);
  EXPECT_EQ(0u, Ticks(LAST_LEVEL_SEEK_DATA_USEFUL_NO_FILTER));
  EXPECT_EQ(0u, Ticks(NON_LAST_LEVEL_SEEK_DATA_USEFUL_NO_FILTER));
}

}  // namespace ROCKSDB_NAMESPACE::protean
