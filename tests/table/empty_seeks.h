// SPDX-License-Identifier: Apache-2.0

//  Closed seeks that find nothing, made by an application.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/query_source.h"
#include "rocksdb/db.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

// Seeks the range of each query, whose bounds are both inclusive; no range may
// hold a key.
inline void SeekEmptyRanges(DB* db, const std::vector<Query>& queries) {
  for (const Query& query : queries) {
    const std::string hi = query.hi + '\0';
    const Slice upper(hi);
    ReadOptions read;
    read.iterate_upper_bound = &upper;
    const std::unique_ptr<Iterator> it(db->NewIterator(read));
    it->Seek(query.lo);
    ASSERT_FALSE(it->Valid());
    ASSERT_OK(it->status());
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
