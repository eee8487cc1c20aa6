// SPDX-License-Identifier: Apache-2.0

//  Files of one search find each other by the address of their ReadOptions
//  (table/seek/run_search.h).

#include <gtest/gtest.h>

#include <set>

#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

TEST_F(ContractTest, ReadOptionsNameASearch) {
  // The ReadOptions that iterators over files have been made with, by address.
  std::multiset<const ReadOptions*> addresses;
  SetTable([&](std::unique_ptr<SpiedFile> file) {
    if (file->caller == TableReaderCaller::kUserIterator) {
      addresses.insert(file->read_options);
    }
    return std::move(file->inner);
  });
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
