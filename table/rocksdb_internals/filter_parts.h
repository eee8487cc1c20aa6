// SPDX-License-Identifier: Apache-2.0

//  The parts of a partitioned filter as RocksDB keeps them: a top-level index,
//  and a filter block for each part, in the block cache or pinned.

#pragma once

#include <string>

#include "table/block_based/block.h"
#include "table/block_based/block_cache.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// A cursor over the parts. The functions that position it leave it invalid
// behind the last part. Not thread safe.
class FilterParts {
 public:
  // All of these must outlive the object. REQUIRES: file.filter_state() ==
  // kPartitioned
  FilterParts(const BlockBasedFile& file, const ReadOptions& read_options,
              BlockCacheLookupContext* lookup_context)
      : file_(file),
        read_options_(read_options),
        lookup_context_(lookup_context) {}
  FilterParts(const FilterParts&) = delete;
  FilterParts& operator=(const FilterParts&) = delete;

  // Gets the index as RocksDB keeps it, which reads it if necessary. Called
  // once, before all other functions.
  Status Open();

  // Goes to the first part that ends at or above a user key without timestamp.
  void Seek(const Slice& user_key);
  void SeekToFirst() { cursor_.SeekToFirst(); }
  void SeekToLast() { cursor_.SeekToLast(); }
  void Next() { cursor_.Next(); }
  void Prev() { cursor_.Prev(); }
  bool Valid() const { return cursor_.Valid(); }
  // Why the index could not be read; OK if the cursor is merely behind the last
  // part.
  Status status() const { return cursor_.status(); }
  // Where the parts must end in the file: RocksDB writes them, and right behind
  // them their index.
  uint64_t end_offset() const;

  // These require Valid().

  // A string at or above all keys of the part. The keys of the parts behind are
  // above it, but for the part's last key, which the next part may hold, too.
  // Valid until the cursor moves.
  Slice end() const;
  // Where the part begins in the file, and where the next one must begin.
  uint64_t offset() const { return cursor_.value().handle.offset(); }
  uint64_t next_offset() const;
  // Stores the reader that the file's policy has made for the part, as
  // BlockBasedFile::GetFilter.
  Status Get(FilterHold* hold, FilterBitsReader** filter) const;

 private:
  const BlockBasedFile& file_;
  const ReadOptions& read_options_;
  BlockCacheLookupContext* const lookup_context_;
  CachableEntry<Block_kFilterPartitionIndex> index_;
  IndexBlockIter cursor_;
  std::string target_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
