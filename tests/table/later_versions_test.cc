// SPDX-License-Identifier: Apache-2.0

//  What RocksDB has had only since a version after 9.10.

#include <cstring>

#include "rocksdb/sst_file_reader.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Sizes of files (10.9) ----

#if PROTEAN_HAS_TAIL_ESTIMATES

// Files of compactions where their target size is an upper bound: they are not
// larger, and not much smaller, and their filters are cut as they are without
// that option.

constexpr uint64_t kTarget = 256 << 10;

// A filter policy, and other options of the table.
using Table = std::pair<const char*, const char*>;

class FileSizesTest : public OwnDBTest,
                      public ::testing::WithParamInterface<Table> {
 protected:
  // Writes keys, compacts them, and returns the files.
  std::vector<LiveFileMetaData> CompactedFiles(const Keys& keys) {
    options_.target_file_size_base = kTarget;
    options_.target_file_size_is_upper_bound = true;
    SetPolicy(GetParam().first, GetParam().second);
    OpenNew();
    log_->Clear();
    WriteFile(keys, /*level=*/2, "a value of 20 bytes.");
    return Files();
  }
};

TEST_P(FileSizesTest, TargetIsAnUpperBound) {
  for (const KeyFamily& family : KeyFamilies(40000, 301)) {
    if (family.keys.size() < 20000) continue;
    const std::vector<LiveFileMetaData> files = CompactedFiles(family.keys);
    ASSERT_LE(3u, files.size()) << family.name;
    uint64_t sum = 0;
    for (const LiveFileMetaData& file : files) {
      EXPECT_GE(kTarget + kTarget / 50, file.size) << family.name;
      sum += file.size;
    }
    // RocksDB's own assertion, of which it logs the sides.
    const Keys tails = log_->Lines({"Estimated tail size = "});
    EXPECT_EQ(files.size(), tails.size()) << family.name;
    for (const std::string& line : tails) {
      const auto number_behind = [&line](const char* words) {
        return std::stoull(line.substr(line.find(words) + strlen(words)));
      };
      EXPECT_GE(number_behind("Estimated tail size = "),
                number_behind("Actual tail size = "))
          << family.name << ": " << line;
    }
    // The last one is what is left.
    EXPECT_LE(kTarget * 85 / 100, sum / (files.size() - 1)) << family.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tables, FileSizesTest,
    testing::Values(
        Table{"surf:0:8", ""}, Table{"proteus:12", ""},
        Table{"{id=protean.Proteus;filter_budget_bytes=1M}", ""},
        Table{"surf:0:8",
              "index_type=kTwoLevelIndexSearch;partition_filters=true"},
        Table{"proteus:12",
              "index_type=kTwoLevelIndexSearch;partition_filters=true"},
        Table{"surf:0:8",
              "index_type=kTwoLevelIndexSearch;partition_filters=true;"
              "decouple_partitioned_filters=false"}));

#endif

// ---- Embedded blobs (11.6) ----

#if PROTEAN_ROCKSDB_AT_LEAST(11, 6)

// Iterators of SST files with embedded blobs are of another class than all
// others, and must be used accordingly.
class EmbeddedBlobTest : public NumberedDBTest {
 protected:
  EmbeddedBlobTest() {
    SetPolicy("surf:0:16");
    // Every other value is a blob.
    for (uint64_t i = 1; i <= 2000; i++) {
      truth_[Key(i)] =
          i % 2 == 0 ? "small" : std::string(200, 'b') + std::to_string(i);
    }
    SstFileWriter writer(EnvOptions(), options_);
    SstFileWriterEmbeddedBlobOptions blobs;
    blobs.min_blob_size = 100;
    EXPECT_OK(writer.OpenWithEmbeddedBlobs(file_, blobs));
    for (const auto& [key, value] : truth_) EXPECT_OK(writer.Put(key, value));
    EXPECT_OK(writer.Finish());
  }
  ~EmbeddedBlobTest() override {
    Env::Default()->DeleteFile(file_).PermitUncheckedError();
  }

  const std::string file_ = path_ + ".sst";
  Records truth_;
};

TEST_F(EmbeddedBlobTest, FilesOutsideOfADB) {
  SstFileReader reader(options_);
  ASSERT_OK(reader.Open(file_));
  // In both directions, and from every key.
  const std::unique_ptr<Iterator> it(reader.NewIterator(ReadOptions()));
  ExpectRecords(it.get(), truth_);
  for (const auto& [key, value] : truth_) {
    it->Seek(key);
    ASSERT_TRUE(it->Valid());
    ASSERT_EQ(key, it->key().ToString());
    ASSERT_EQ(value, it->value().ToString());
  }
}

TEST_F(EmbeddedBlobTest, IngestedFiles) {
  Open();
  ASSERT_OK(db_->IngestExternalFile({file_}, IngestExternalFileOptions()));
  ExpectRecords(db_.get(), truth_);
  // The file's filter is asked as usual.
  get_perf_context()->Reset();
  ASSERT_OK(options_.statistics->Reset());
  for (uint64_t i = 1; i < truth_.size(); i++) {
    ASSERT_EQ("", FirstIn(Gap(i, 300), Gap(i, 700)));
  }
  EXPECT_EQ(truth_.size() - 1, FilteredSeeks());
  EXPECT_EQ(0u, BlocksRead());
  ASSERT_OK(db_->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  ExpectRecords(db_.get(), truth_);
}

#endif

// ---- Scans of several ranges (11.7) ----

#if PROTEAN_ROCKSDB_AT_LEAST(11, 7)

// Scans of several ranges that are announced together: files that may hold keys
// of any range are read ahead as RocksDB reads them, and the others are not
// read. (Versions before 11.7 have other rules of what may be announced.) Scans
// of many files and levels: differential_test.

constexpr uint64_t kScanGap = 1000;

// What a scan reads.
struct Reads {
  uint64_t prepared;
  uint64_t blocks;
  uint64_t requests;
};

class MultiScanTest : public ::testing::TestWithParam<const char*> {
 protected:
  struct Range {
    std::string begin;
    std::string end;
  };

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
    for (const Range& range : ranges) args.insert(range.begin, range.end);
    Slice upper;
    ReadOptions options;
    options.iterate_upper_bound = &upper;
    options.fill_cache = false;
    get_perf_context()->Reset();
    std::unique_ptr<Iterator> it(db->NewIterator(options));
    it->Prepare(args);
    for (const Range& range : ranges) {
      upper = range.end;
      for (it->Seek(range.begin); it->Valid(); it->Next()) {
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
      ranges.push_back(
          {BigEndian(begin),
           BigEndian(begin + (empty ? kScanGap / 2 : 3 * kScanGap))});
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
