#pragma once

#include "table/block_based/block_based_table_iterator.h"
#include "table/internal_iterator.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// The iterator that the block-based table makes for a file. Nearly always that
// is a BlockBasedTableIterator, whose functions may then be called without
// looking them up; but RocksDB may put another one around it, as 11.6 and later
// do for files with embedded blobs.
class FileIterator {
 public:
  FileIterator() = default;
  FileIterator(const FileIterator&) = delete;
  FileIterator& operator=(const FileIterator&) = delete;
  ~FileIterator();

  // Makes the iterator, in `arena` unless that is nullptr. As
  // TableReader::NewIterator. REQUIRES: there is none yet
  void Make(const BlockBasedFile& file, const ReadOptions& read_options,
            const SliceTransform* prefix_extractor, Arena* arena,
            TableReaderCaller caller, size_t compaction_readahead_size,
            bool allow_unprepared_value);

  InternalIterator* get() const { return iterator_; }
  InternalIterator* operator->() const { return iterator_; }
  // The iterator if it is exactly of this class, else nullptr.
  BlockBasedTableIterator* exact() const { return exact_; }

  // As InternalIterator::NextAndGetResult; one call a key less than through it.
  bool NextAndGetResult(IterateResult* result);
  // The same without moving: what the iterator has come to.
  bool GetResult(IterateResult* result);

  // Tells the iterator's statistics that its last seek has passed a filter.
  // Returns false if they know already.
  bool MarkFilterUsed();
  // Whether a data block has been read since the last seek, and whether that
  // was in vain, since nobody has asked for a value. An iterator of another
  // class tells nothing: true and false.
  bool HasReadBlock() const;
  bool HasReadInVain() const;

 private:
  InternalIterator* iterator_ = nullptr;
  BlockBasedTableIterator* exact_ = nullptr;
  bool in_arena_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
