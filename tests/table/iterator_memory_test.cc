// SPDX-License-Identifier: Apache-2.0

//  What the iterators over many files take of memory, beside stock's.

#include <malloc.h>

#include <algorithm>

#include "tests/table/one_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// An arena grows by 4 KB. With few files, that hides what an iterator takes.
constexpr uint64_t kFiles = 40;
constexpr uint64_t kKeysPerFile = 1000;

// The bytes that the process has allocated; 0 if the C library does not tell.
size_t AllocatedBytes() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return mallinfo2().uordblks;
#else
  return 0;
#endif
}

class IteratorMemoryTest : public OneDBTest {
 protected:
  IteratorMemoryTest() : OneDBTest("iterator_memory_test") {}

  // The bytes of an iterator that has read all files, and has sought.
  size_t BytesWith(const std::string& id, const std::string& table) {
    SetTable(table, id);
    EXPECT_OK(DestroyDB(path_, options_));
    Open();
    for (uint64_t file = 0; file < kFiles; file++) {
      for (uint64_t i = 0; i < kKeysPerFile; i++) {
        EXPECT_OK(db_->Put(WriteOptions(), Key(i * kFiles + file), "value"));
      }
      EXPECT_OK(db_->Flush(FlushOptions()));
    }
    size_t least = SIZE_MAX;
    for (int repetition = 0; repetition < 3; repetition++) {
      const size_t before = AllocatedBytes();
      const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      for (uint64_t i = 0; i < kKeysPerFile; i += 50) {
        it->Seek(BigEndian(kGap * i * kFiles + 1));
        for (uint64_t key = 0; key < 2 * kFiles; key++) it->Next();
        EXPECT_TRUE(it->Valid());
      }
      least = std::min(least, AllocatedBytes() - before);
    }
    db_.reset();
    return least;
  }
};

TEST_F(IteratorMemoryTest, IsLittleMoreThanStocks) {
  const size_t stock =
      BytesWith("BlockBasedTable", "filter_policy=bloomfilter:12");
  if (stock == 0) GTEST_SKIP() << "malloc does not tell";
  for (const std::string policy : {"proteus:12", "surf:0:8"}) {
    const size_t bytes = BytesWith("ProteanTable", "filter_policy=" + policy);
    EXPECT_LE(static_cast<double>(bytes), 1.3 * static_cast<double>(stock))
        << policy;
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
