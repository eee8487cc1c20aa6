//  The iterator of an SST file, with what RocksDB keeps to itself.

#pragma once

#include "table/block_based/block_based_table_iterator.h"
#include "table/internal_iterator.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// The iterator that the block-based table makes for a file. Nearly always it is
// a BlockBasedTableIterator, whose functions may then be called without a
// virtual call; but RocksDB may wrap it in another iterator, as 11.6 and later
// do for files with embedded blobs.
class FileIterator {
 public:
  FileIterator() = default;
  FileIterator(const FileIterator&) = delete;
  FileIterator& operator=(const FileIterator&) = delete;
  ~FileIterator();

  // Makes the iterator as TableReader::NewIterator does, in `arena` unless it
  // is nullptr. REQUIRES: there is no iterator yet
  void Make(const BlockBasedFile& file, const ReadOptions& read_options,
            const SliceTransform* prefix_extractor, Arena* arena,
            TableReaderCaller caller, size_t compaction_readahead_size,
            bool allow_unprepared_value);

  InternalIterator* get() const { return iterator_; }
  InternalIterator* operator->() const { return iterator_; }
  // The iterator if it is exactly of this class, else nullptr.
  BlockBasedTableIterator* exact() const { return exact_; }

  // Does what InternalIterator::NextAndGetResult does, with one virtual call
  // less for each key.
  bool NextAndGetResult(IterateResult* result);
  // Stores what NextAndGetResult would have stored for the current entry.
  bool GetResult(IterateResult* result);

  // Records in the iterator's statistics that its last seek has passed a
  // filter. Returns false if that has been recorded already.
  bool MarkFilterUsed();
  // Whether a data block has been read since the last seek, and whether it was
  // read in vain, because no value has been asked for since. An iterator of
  // another class tells neither, which counts as true and false.
  bool HasReadBlock() const;
  bool HasReadInVain() const;

 private:
  InternalIterator* iterator_ = nullptr;
  BlockBasedTableIterator* exact_ = nullptr;
  bool in_arena_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
