// SPDX-License-Identifier: Apache-2.0

//  Files of one search find each other by the address of their ReadOptions
//  (table/seek/run_search.h).

#include <gtest/gtest.h>

#include <set>

#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The ReadOptions that iterators over files have been made with, by address.
std::multiset<const ReadOptions*>* asked = nullptr;

class AskedReader : public SpyTableReader {
 public:
  using SpyTableReader::SpyTableReader;
  InternalIterator* NewIterator(const ReadOptions& read_options,
                                const SliceTransform* prefix_extractor,
                                Arena* arena, bool skip_filters,
                                TableReaderCaller caller, size_t readahead,
                                bool unprepared) override {
    if (caller == TableReaderCaller::kUserIterator)
      asked->insert(&read_options);
    return file().table()->NewIterator(read_options, prefix_extractor, arena,
                                       skip_filters, caller, readahead,
                                       unprepared);
  }
};

class AskedFactory : public ProteanTableFactory {
 public:
  using ProteanTableFactory::NewTableReader;
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
      *reader = std::make_unique<AskedReader>(std::move(opened), "", nullptr);
    }
    return s;
  }
};

}  // namespace

TEST_F(ContractTest, ReadOptionsNameASearch) {
  std::multiset<const ReadOptions*> addresses;
  asked = &addresses;
  options_.table_factory = std::make_shared<AskedFactory>();
  Open();
  for (const char* key : {"a", "b", "c"}) AddFile(db_.get(), 3, {key});
  AddFile(db_.get(), 0, {"a", "d"});
  AddFile(db_.get(), 0, {"b", "e"});
  constexpr size_t kFiles = 5;

  // All files that one iterator reads, also those that it comes to later.
  const ReadOptions given;
  std::unique_ptr<Iterator> one(db_->NewIterator(given));
  for (one->SeekToFirst(); one->Valid(); one->Next()) {
  }
  EXPECT_OK(one->status());
  ASSERT_LE(kFiles, addresses.size());
  const ReadOptions* const first = *addresses.begin();
  EXPECT_EQ(addresses.size(), addresses.count(first));
  EXPECT_NE(&given, first) << "the iterator has a copy";

  // Another iterator has another address while the first one lives.
  addresses.clear();
  const std::unique_ptr<Iterator> other(db_->NewIterator(given));
  for (other->SeekToFirst(); other->Valid(); other->Next()) one->Seek("c");
  EXPECT_OK(other->status());
  EXPECT_LE(kFiles, addresses.size());
  addresses.erase(first);
  ASSERT_FALSE(addresses.empty());
  EXPECT_EQ(addresses.size(), addresses.count(*addresses.begin()));
}

}  // namespace ROCKSDB_NAMESPACE::protean
