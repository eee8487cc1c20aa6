// SPDX-License-Identifier: Apache-2.0

//  The iterator that the block-based table makes for a file.
//
//  Nearly always that is a BlockBasedTableIterator, and where keys are read one
//  after the other, its functions are called directly instead of through its
//  table of virtual functions. But RocksDB may put another iterator around it,
//  as 11.6 and later do for files with embedded blobs.

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
  // The iterator is made in `arena` unless that is nullptr.
  struct Arguments {
    const SliceTransform* prefix_extractor;
    Arena* arena;
    TableReaderCaller caller;
    bool allow_unprepared_value;
  };

  // RocksDB's iterator is made when it is first needed: making it costs a look
  // at the file's index. `file` and `read_options` must outlive it.
  FileIterator(const BlockBasedFile& file, const ReadOptions& read_options,
               const Arguments& arguments)
      : file_(file),
        read_options_(read_options),
        prefix_extractor_(arguments.prefix_extractor),
        arena_(arguments.arena),
        caller_(arguments.caller),
        allow_unprepared_value_(arguments.allow_unprepared_value) {}
  ~FileIterator();
  FileIterator(const FileIterator&) = delete;
  FileIterator& operator=(const FileIterator&) = delete;

  const ReadOptions& read_options() const { return read_options_; }
  TableReaderCaller caller() const { return caller_; }
  const SliceTransform* prefix_extractor() const { return prefix_extractor_; }
  // Returns true if seeks ask only for keys with the prefix of their target.
  bool SeeksPrefixes() const {
    return prefix_extractor() != nullptr &&
           (read_options_.prefix_same_as_start ||
            !(read_options_.total_order_seek ||
              read_options_.auto_prefix_mode));
  }

  // RocksDB's iterator, if it has been made, is a BlockBasedTableIterator and
  // nothing derived from it, and is not hidden; else nullptr. One look at it
  // tells whether calls for each key may go there.
  BlockBasedTableIterator* shown() const {
    return is_shown_ ? Exact() : nullptr;
  }
  // Changes shown(), and nothing else.
  void Hide() {
    is_hidden_ = true;
    is_shown_ = false;
  }
  void Show() {
    is_hidden_ = false;
    is_shown_ = is_exact_;
  }

  // RocksDB's iterator.
  InternalIterator* Get() {
    if (iterator_ == nullptr) Make();
    return iterator_;
  }

  // All that follows is as InternalIterator has it. An iterator that has not
  // been made is invalid, and its status is OK.

  void Seek(const Slice& target) { Get()->Seek(target); }
  void SeekForPrev(const Slice& target) { Get()->SeekForPrev(target); }
  void SeekToFirst() { Get()->SeekToFirst(); }
  void SeekToLast() { Get()->SeekToLast(); }

  bool Valid() const {
    return is_exact_ ? Exact()->BlockBasedTableIterator::Valid()
                     : iterator_ != nullptr && iterator_->Valid();
  }
  Status status() const {
    return iterator_ != nullptr ? iterator_->status() : Status::OK();
  }
  IterBoundCheck UpperBoundCheckResult() {
    if (is_exact_) {
      return Exact()->BlockBasedTableIterator::UpperBoundCheckResult();
    }
    return iterator_ != nullptr ? iterator_->UpperBoundCheckResult()
                                : IterBoundCheck::kUnknown;
  }

  // These require Valid().

  void Next() { iterator_->Next(); }
  void Prev() { iterator_->Prev(); }
  bool NextAndGetResult(IterateResult* result) {
    return iterator_->NextAndGetResult(result);
  }
  Slice key() const {
    return is_exact_ ? Exact()->BlockBasedTableIterator::key()
                     : iterator_->key();
  }
  Slice user_key() const {
    return is_exact_ ? Exact()->BlockBasedTableIterator::user_key()
                     : iterator_->user_key();
  }
  Slice value() const {
    return is_exact_ ? Exact()->BlockBasedTableIterator::value()
                     : iterator_->value();
  }
  bool PrepareValue() {
    return is_exact_ ? Exact()->BlockBasedTableIterator::PrepareValue()
                     : iterator_->PrepareValue();
  }
  uint64_t write_unix_time() const {
    return is_exact_ ? Exact()->BlockBasedTableIterator::write_unix_time()
                     : iterator_->write_unix_time();
  }
  bool MayBeOutOfLowerBound() {
    return is_exact_ ? Exact()->BlockBasedTableIterator::MayBeOutOfLowerBound()
                     : iterator_->MayBeOutOfLowerBound();
  }

  bool IsKeyPinned() const { return Valid() && iterator_->IsKeyPinned(); }
  bool IsValuePinned() const { return Valid() && iterator_->IsValuePinned(); }

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

  // The result that NextAndGetResult would give for where the iterator is.
  bool GetResult(IterateResult* result);

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
  const ReadOptions& read_options_;
  const SliceTransform* const prefix_extractor_;
  Arena* const arena_;
  InternalIterator* iterator_ = nullptr;
  PinnedIteratorsManager* pinned_iters_manager_ = nullptr;
  std::unique_ptr<ReadaheadFileInfo> readahead_;  // for iterator_
  const TableReaderCaller caller_;
  const bool allow_unprepared_value_;
  // True if iterator_ is a BlockBasedTableIterator, and nothing derived from
  // it; then it is shown unless it is hidden.
  bool is_exact_ = false;
  bool is_shown_ = false;
  bool is_hidden_ = false;
};

// ---- Sampled seek ----

// The seeks of which RocksDB takes samples, from which read-triggered
// compaction (read_triggered_compaction_threshold) chooses files.
//
// Since 11.2, an iterator over a level decides after each seek whether it is
// one, by the next random number of the thread. It counts a read of the file,
// and whether the iterator over the file is at a deletion or at an operand of
// a merge. A marker tells neither, so an iterator does not wait in a sampled
// seek: what it is at then is what RocksDB's own would be at.

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
