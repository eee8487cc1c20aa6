// SPDX-License-Identifier: Apache-2.0

//  The files of a database together.

#pragma once

#include <cstdint>

#include "rocksdb/db.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FileSums {
  uint64_t keys = 0;       // deletions included
  uint64_t deletions = 0;  // of single keys
  uint64_t file_bytes = 0;
  uint64_t filter_bytes = 0;
  uint64_t index_bytes = 0;

  double FilterBitsPerKey() const { return BitsPerKey(filter_bytes); }
  double IndexBitsPerKey() const { return BitsPerKey(index_bytes); }

 private:
  double BitsPerKey(uint64_t bytes) const {
    return keys == 0
               ? 0
               : 8 * static_cast<double>(bytes) / static_cast<double>(keys);
  }
};

// Sums up the files of the default column family.
Status SumFiles(DB* db, FileSums* sums);

// Adds RocksDB's trie indexes to `sums->index_bytes`: all files must have one.
// TableProperties have the size of the usual index only, which each file has
// beside it.
Status AddTrieIndexes(DB* db, FileSums* sums);

}  // namespace ROCKSDB_NAMESPACE::protean
