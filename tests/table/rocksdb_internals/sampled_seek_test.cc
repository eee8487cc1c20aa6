// SPDX-License-Identifier: Apache-2.0

//  RocksDB's samples of reads: those of a file say the same as without
//  Protean, of whatever the file's iterator would have waited at.

#include "db/column_family.h"
#include "db/version_set.h"
#include "table/rocksdb_internals/file_iterator.h"
#include "tests/protean_db.h"
#include "util/cast_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

#if PROTEAN_SAMPLES_SEEKS

TEST(SampledSeekTest, IsKnownBeforeRocksDBDecides) {
  int sampled = 0;
  for (int i = 0; i < 100 * static_cast<int>(kFileReadSampleRate); i++) {
    const bool expected = IsSampledSeek();
    EXPECT_EQ(expected, IsSampledSeek());
    ASSERT_EQ(expected, should_sample_file_read());
    sampled += expected ? 1 : 0;
  }
  EXPECT_GT(sampled, 50);
  EXPECT_LT(sampled, 200);
}

class ReadSamplesTest : public NumberedDBTest {
 protected:
  static constexpr uint64_t kKeys = 20'000;
  static constexpr int kSeeks = 50'000;
  struct Samples {
    uint64_t reads = 0;
    uint64_t collapsible = 0;
  };

  // A level of deletions over one of values that are not deleted; returns what
  // is sampled of the first while seeks come to the second.
  Samples SamplesWith(const std::string& id, const std::string& table) {
    SetTable(table, id);
    OpenNew();
    for (const bool deletions : {false, true}) {
      for (uint64_t i = 0; i < kKeys; i++) {
        deletions ? Delete(Key(2 * i + 1)) : Put(Key(2 * i));
      }
      Flush();
      // A range of its own keeps the compaction from the level below.
      CompactLevel0Into(deletions ? 1 : 2, 1 << 30);
    }
    Random::GetTLSInstance()->Reset(301);
    {
      const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      for (int i = 0; i < kSeeks; i++) {
        it->Seek(
            Key(static_cast<uint64_t>(i) * 7919 % (2 * kKeys - 2) / 2 * 2 + 1));
        EXPECT_TRUE(it->Valid());
      }
    }
    Samples samples;
    auto* const family = static_cast_with_check<ColumnFamilyHandleImpl>(
                             db_->DefaultColumnFamily())
                             ->cfd();
    const auto& files = family->current()->storage_info()->LevelFiles(1);
    EXPECT_FALSE(files.empty());
    for (const FileMetaData* file : files) {
      samples.reads += file->stats.num_reads_sampled;
      samples.collapsible += file->stats.num_collapsible_entry_reads_sampled;
    }
    return samples;
  }
};

TEST_F(ReadSamplesTest, AreThoseOfStock) {
  const Samples stock =
      SamplesWith("BlockBasedTable", "filter_policy=bloomfilter:12");
  ASSERT_GT(stock.collapsible, 10u * kFileReadSampleRate);
  for (const std::string policy : {"proteus:12", "surf:0:8"}) {
    const Samples samples =
        SamplesWith("ProteanTable", "filter_policy=" + policy);
    EXPECT_NEAR(stock.collapsible, samples.collapsible, .3 * stock.collapsible)
        << policy;
    EXPECT_NEAR(stock.reads, samples.reads, .3 * stock.reads) << policy;
  }
}

#else

TEST(SampledSeekTest, ThereIsNoneBefore11_2) { EXPECT_FALSE(IsSampledSeek()); }

#endif

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
