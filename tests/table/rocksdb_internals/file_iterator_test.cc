// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/file_iterator.h"

#include <gtest/gtest.h>

#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

// BlockBasedTable::NewIterator makes a BlockBasedTableIterator for every file
// without embedded blobs. If it made an iterator of another class, all would
// work, but slower.
TEST_F(ContractTest, IteratorsOfFilesAreExact) {
  size_t iterators = 0;
  SetTable([&](std::unique_ptr<SpiedFile> file) {
    const InternalIterator& inner = *file->inner;
    EXPECT_CLASS(BlockBasedTableIterator, inner);
    iterators++;
    return std::make_unique<SpyIterator>(std::move(file->inner));
  });
  Open();
  AddFile(db_.get(), 0, {"a"});
  EXPECT_EQ("a", [&] {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    it->SeekToFirst();
    return it->key().ToString();
  }());
  EXPECT_LE(1u, iterators);
}

TEST_F(ContractTest, FileIteratorKnowsItsClass) {
  class Reader : public SpyTableReader {
   public:
    using SpyTableReader::SpyTableReader;
    InternalIterator* NewIterator(const ReadOptions& read_options,
                                  const SliceTransform* prefix_extractor,
                                  Arena* arena, bool, TableReaderCaller caller,
                                  size_t readahead, bool unprepared) override {
      Arena own;
      for (Arena* const where : {static_cast<Arena*>(nullptr), &own}) {
        FileIterator it(file(), read_options,
                        {prefix_extractor, where, caller, unprepared});
        EXPECT_NE(nullptr, it.Get());
        // An iterator of another class would count as having read a block.
        EXPECT_FALSE(it.HasReadBlock());
      }
      return file().table()->NewIterator(read_options, prefix_extractor, arena,
                                         false, caller, readahead, unprepared);
    }
  };
  class Factory : public ProteanTableFactory {
   public:
    Status NewTableReader(const ReadOptions& ro,
                          const TableReaderOptions& options,
                          std::unique_ptr<RandomAccessFileReader>&& file,
                          uint64_t file_size,
                          std::unique_ptr<TableReader>* reader,
                          bool prefetch) const override {
      std::unique_ptr<BlockBasedFile> opened;
      const Status s = BlockBasedFile::Open(*this, ro, options, std::move(file),
                                            file_size, prefetch, &opened);
      if (s.ok()) {
        reader->reset(new Reader(std::move(opened), "", nullptr));
      }
      return s;
    }
  };
  options_.table_factory = std::make_shared<Factory>();
  Open();
  AddFile(db_.get(), 0, {"a"});
  const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  it->SeekToFirst();
  EXPECT_TRUE(it->Valid());
}

}  // namespace ROCKSDB_NAMESPACE::protean
