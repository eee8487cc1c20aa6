// SPDX-License-Identifier: Apache-2.0

//  SST files with embedded blobs, which RocksDB has had since 11.6: iterators
//  of such files are of another class than all others, and must be used
//  accordingly.

#include "table/rocksdb_internals/versions.h"

#if PROTEAN_ROCKSDB_AT_LEAST(11, 6)

#include <map>

#include "rocksdb/perf_context.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/statistics.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

class EmbeddedBlobTest : public ::testing::TestWithParam<const char*> {
 protected:
  EmbeddedBlobTest()
      : path_(test::PerThreadDBPath("embedded_blobs")), file_(path_ + ".sst") {
    options_.create_if_missing = true;
    options_.statistics = CreateDBStatistics();
    options_.table_factory =
        NewTable("ProteanTable", std::string("filter_policy=") + GetParam());
    EXPECT_OK(DestroyDB(path_, options_));
    // Every other value is a blob.
    for (uint64_t i = 1; i <= 2000; i++) {
      truth_[BigEndian(1000 * i)] =
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
    EXPECT_OK(DestroyDB(path_, options_));
  }

  // In both directions, and from every key.
  void ExpectTruth(Iterator* it) {
    auto expected = truth_.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
      ASSERT_NE(truth_.end(), expected);
      ASSERT_EQ(expected->first, it->key().ToString());
      ASSERT_EQ(expected->second, it->value().ToString());
    }
    ASSERT_OK(it->status());
    ASSERT_EQ(truth_.end(), expected);
    auto back = truth_.rbegin();
    for (it->SeekToLast(); it->Valid(); it->Prev(), ++back) {
      ASSERT_NE(truth_.rend(), back);
      ASSERT_EQ(back->first, it->key().ToString());
      ASSERT_EQ(back->second, it->value().ToString());
    }
    ASSERT_EQ(truth_.rend(), back);
    for (const auto& [key, value] : truth_) {
      it->Seek(key);
      ASSERT_TRUE(it->Valid());
      ASSERT_EQ(key, it->key().ToString());
      ASSERT_EQ(value, it->value().ToString());
    }
  }

  const std::string path_;
  const std::string file_;
  Options options_;
  std::map<std::string, std::string> truth_;
};

TEST_P(EmbeddedBlobTest, FilesOutsideOfADB) {
  SstFileReader reader(options_);
  ASSERT_OK(reader.Open(file_));
  const std::unique_ptr<Iterator> it(reader.NewIterator(ReadOptions()));
  ExpectTruth(it.get());
}

TEST_P(EmbeddedBlobTest, IngestedFiles) {
  std::unique_ptr<DB> db;
  ASSERT_OK(OpenDB(&db, options_, path_));
  ASSERT_OK(db->IngestExternalFile({file_}, IngestExternalFileOptions()));
  {
    const std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
    ExpectTruth(it.get());
  }
  for (const auto& [key, value] : truth_) {
    std::string found;
    ASSERT_OK(db->Get(ReadOptions(), key, &found));
    ASSERT_EQ(value, found);
  }
  // The file's filter is asked as usual.
  SetPerfLevel(kEnableCount);
  get_perf_context()->Reset();
  ASSERT_OK(options_.statistics->Reset());
  for (uint64_t i = 1; i < truth_.size(); i++) {
    const std::string hi = BigEndian(1000 * i + 700);
    const Slice upper(hi);
    ReadOptions options;
    options.iterate_upper_bound = &upper;
    const std::unique_ptr<Iterator> it(db->NewIterator(options));
    it->Seek(BigEndian(1000 * i + 300));
    ASSERT_FALSE(it->Valid());
    ASSERT_OK(it->status());
  }
  EXPECT_EQ(
      truth_.size() - 1,
      options_.statistics->getTickerCount(LAST_LEVEL_SEEK_FILTERED) +
          options_.statistics->getTickerCount(NON_LAST_LEVEL_SEEK_FILTERED));
  EXPECT_EQ(0u, get_perf_context()->block_read_count);
  SetPerfLevel(kDisable);
  ASSERT_OK(db->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  const std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  ExpectTruth(it.get());
}

INSTANTIATE_TEST_SUITE_P(Policies, EmbeddedBlobTest,
                         ::testing::Values("surf:0:16"));

}  // namespace ROCKSDB_NAMESPACE::protean

#endif
