// SPDX-License-Identifier: Apache-2.0

//  The iterator that the block-based table makes for a file, when it is needed.
//
//  Nearly always that is a BlockBasedTableIterator, which tells more than other
//  iterators. But RocksDB may put another iterator around it, as 11.6 and later
//  do for files with embedded blobs.

#pragma once

#include <memory>
#include <vector>

#include "monitoring/file_read_sample.h"
#include "rocksdb/options.h"
#include "table/block_based/block_based_table_iterator.h"
#include "table/internal_iterator.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

#if PROTEAN_HAS_MULTI_SCAN
// MultiScanRanges is what InternalIterator::Prepare takes a pointer to:
// MultiScanArgs, or before RocksDB 10.6 a vector of ScanOptions.
template <typename Iterator, typename Ranges>
Ranges AnnouncedBy(void (Iterator::*prepare)(const Ranges*));
using MultiScanRanges = decltype(AnnouncedBy(&InternalIterator::Prepare));

// Returns the ranges that are announced, in either type.
inline const std::vector<ScanOptions>& ScansOf(
    const std::vector<ScanOptions>& ranges) {
  return ranges;
}
template <typename Arguments>
const std::vector<ScanOptions>& ScansOf(const Arguments& arguments) {
  return arguments.GetScanRanges();
}
#endif

class FileIterator {
 public:
  // The arguments of TableReader::NewIterator, but for those of compactions.
  // The iterator is made in `arena` unless that is nullptr. With
  // `skip_filters`, the file's filter is not asked.
  struct Arguments {
    const SliceTransform* prefix_extractor;
    Arena* arena;
    TableReaderCaller caller;
    bool allow_unprepared_value;
    bool skip_filters = false;
  };

  // RocksDB's iterator is made when it is first needed: making it costs a look
  // at the file's index. `file` and the ReadOptions must outlive it.
  FileIterator(const BlockBasedFile& file, const ReadOptions& its_read_options,
               const Arguments& its_arguments)
      : read_options(its_read_options), arguments(its_arguments), file_(file) {}
  ~FileIterator();
  FileIterator(const FileIterator&) = delete;
  FileIterator& operator=(const FileIterator&) = delete;

  const ReadOptions& read_options;
  const Arguments arguments;
  const SliceTransform* prefix_extractor() const {
    return arguments.prefix_extractor;
  }
  // Returns true if the file is a sorted run by itself: RocksDB makes iterators
  // over files of level 0 in the arena of the user's iterator, and those over
  // the files of a level, one after the other, on the heap.
  bool is_alone() const { return arguments.arena != nullptr; }
  // Returns true if seeks ask only for keys with the prefix of their target.
  bool SeeksPrefixes() const {
    return prefix_extractor() != nullptr &&
           (read_options.prefix_same_as_start ||
            !(read_options.total_order_seek || read_options.auto_prefix_mode));
  }

  // RocksDB's iterator, which is made by the first call.
  InternalIterator* Get() {
    if (iterator_ == nullptr) Make();
    return iterator_;
  }
  // REQUIRES: it has been made
  InternalIterator* operator->() const { return iterator_; }

  // These may be called before the iterator has been made.

  void SetPinnedItersMgr(PinnedIteratorsManager* manager) {
    pinned_iters_manager_ = manager;
    if (iterator_ != nullptr) iterator_->SetPinnedItersMgr(manager);
  }
  void GetReadaheadState(ReadaheadFileInfo* info) {
    if (iterator_ != nullptr) iterator_->GetReadaheadState(info);
  }
  void SetReadaheadState(ReadaheadFileInfo* info) {
    if (iterator_ != nullptr) {
      iterator_->SetReadaheadState(info);
    } else {
      readahead_ = std::make_unique<ReadaheadFileInfo>(*info);
    }
  }

  // What InternalIterator does not tell:

  // Tells the iterator's statistics that its last seek has passed a filter.
  // Returns false if they know already.
  bool MarkFilterUsed();
  // Whether a data block has been read since the last seek, and whether that
  // was in vain, since no value was asked for. An iterator of another class
  // tells nothing: true and false.
  bool HasReadBlock() const;
  bool HasReadInVain() const;

 private:
  void Make();
  BlockBasedTableIterator* Exact() const {
    return static_cast<BlockBasedTableIterator*>(iterator_);
  }

  const BlockBasedFile& file_;
  InternalIterator* iterator_ = nullptr;
  PinnedIteratorsManager* pinned_iters_manager_ = nullptr;
  std::unique_ptr<ReadaheadFileInfo> readahead_;  // for iterator_
  // True if iterator_ is a BlockBasedTableIterator, and nothing derived from
  // it.
  bool is_exact_ = false;
};

// ---- Sampled seek ----

// The seeks of which RocksDB takes samples, from which read-triggered
// compaction (read_triggered_compaction_threshold) chooses files.
//
// Since 11.2, an iterator over a level decides after each seek whether it is
// one, by the next random number of the thread. It counts whether the iterator
// over the file is at a deletion or at an operand of a merge. A marker tells
// neither, so an iterator does not wait in a sampled seek.

// Returns true if the seek that is under way will be a sample. The thread's
// random numbers stay as they are.
inline bool IsSampledSeek() {
#if PROTEAN_SAMPLES_SEEKS
  Random* const random = Random::GetTLSInstance();
  const Random before = *random;
  const bool is_sampled = should_sample_file_read();
  *random = before;
  return is_sampled;
#else
  return false;
#endif
}

}  // namespace ROCKSDB_NAMESPACE::protean
