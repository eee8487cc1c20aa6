//  The iterator over an SST file that asks the file's filter before it reads
//  anything.
//
//  A seek under ReadOptions::iterate_upper_bound looks for keys in [target,
//  upper bound). If the filter says that there are none, the iterator turns
//  invalid without I/O. What it then answers to UpperBoundCheckResult() decides
//  what the iterator over the level does: kOutOfBound, if this file holds a key
//  at or above the bound, ends the search in this level; kUnknown sends it on
//  to the next file, whose SeekToFirst asks that file's filter in the same way.

#pragma once

#include <optional>

#include "table/block_based/block_based_table_iterator.h"
#include "table/internal_iterator.h"
#include "table/protean_table_reader.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableIterator : public InternalIterator {
 public:
  // Walks reader->table(). The block-based table's own iterator, which
  // `arguments` are for, is made when it is first needed: making it costs a
  // look at the file's index, which a filtered seek does not need.
  struct Arguments {
    const SliceTransform* prefix_extractor;
    Arena* arena;  // of this iterator and of the inner one, or nullptr
    TableReaderCaller caller;
    size_t compaction_readahead_size;
    bool allow_unprepared_value;
  };

  // `read_options` must outlive the iterator.
  ProteanTableIterator(ProteanTableReader* reader,
                       const ReadOptions& read_options,
                       const Arguments& arguments)
      : reader_(reader),
        read_options_(read_options),
        arguments_(arguments),
        lookup_context_(arguments.caller) {}

  ~ProteanTableIterator() override {
    if (arguments_.arena == nullptr) {
      delete inner_;
    } else if (inner_ != nullptr) {
      inner_->~BlockBasedTableIterator();
    }
  }

  void Seek(const Slice& target) override;
  void SeekToFirst() override;
  void SeekForPrev(const Slice& target) override {
    filtered_ = false;
    Inner()->SeekForPrev(target);
  }
  void SeekToLast() override {
    filtered_ = false;
    Inner()->SeekToLast();
  }

  bool Valid() const override {
    return !filtered_ && inner_ != nullptr && inner_->Valid();
  }

  // These require Valid(), hence an inner iterator.
  void Next() override { inner_->Next(); }
  bool NextAndGetResult(IterateResult* result) override {
    return inner_->NextAndGetResult(result);
  }
  void Prev() override { inner_->Prev(); }
  Slice key() const override { return inner_->key(); }
  Slice user_key() const override { return inner_->user_key(); }
  Slice value() const override { return inner_->value(); }
  bool PrepareValue() override { return inner_->PrepareValue(); }
  uint64_t write_unix_time() const override {
    return inner_->write_unix_time();
  }
  bool MayBeOutOfLowerBound() override {
    return inner_->MayBeOutOfLowerBound();
  }

  Status status() const override {
    return filtered_ || inner_ == nullptr ? Status::OK() : inner_->status();
  }
  IterBoundCheck UpperBoundCheckResult() override {
    if (filtered_) return filtered_bound_;
    return inner_ == nullptr ? IterBoundCheck::kUnknown
                             : inner_->UpperBoundCheckResult();
  }
  void SetPinnedItersMgr(PinnedIteratorsManager* manager) override {
    pinned_iters_manager_ = manager;
    if (inner_ != nullptr) inner_->SetPinnedItersMgr(manager);
  }
  bool IsKeyPinned() const override { return Valid() && inner_->IsKeyPinned(); }
  bool IsValuePinned() const override {
    return Valid() && inner_->IsValuePinned();
  }
  Status GetProperty(std::string name, std::string* value) override {
    return Inner()->GetProperty(std::move(name), value);
  }
  void GetReadaheadState(ReadaheadFileInfo* info) override {
    if (inner_ != nullptr) inner_->GetReadaheadState(info);
  }
  void SetReadaheadState(ReadaheadFileInfo* info) override {
    if (inner_ != nullptr) {
      inner_->SetReadaheadState(info);
    } else {
      readahead_ = *info;
    }
  }

 private:
  // The block-based table's iterator.
  BlockBasedTableIterator* Inner() {
    if (inner_ == nullptr) MakeInner();
    return inner_;
  }
  void MakeInner();

  // Asks the filter for [lo, upper bound) and takes the state of a filtered
  // iterator if it says that the range is empty. True if the table must be
  // read.
  bool AskFilter(const Slice& lo, bool* asked);
  void RecordFilterMatch();

  // Samples a seek that was closed and found nothing. The block-based table's
  // iterator compares with the upper bound itself, so that this needs neither
  // reads nor comparisons.
  void Sample(const Slice& target) {
    const Slice* upper_bound = read_options_.iterate_upper_bound;
    if (upper_bound == nullptr) return;
    if (!filtered_ && (inner_->Valid() || !inner_->status().ok())) return;
    if (reader_->queue()->Tick()) {
      reader_->queue()->Record(ExtractUserKey(target), *upper_bound,
                               /*hi_inclusive=*/false);
    }
  }

  ProteanTableReader* const reader_;
  const ReadOptions& read_options_;
  const Arguments arguments_;
  BlockCacheLookupContext lookup_context_;
  BlockBasedTableIterator* inner_ = nullptr;
  PinnedIteratorsManager* pinned_iters_manager_ = nullptr;
  std::optional<ReadaheadFileInfo> readahead_;  // for the inner iterator
  bool filtered_ = false;
  IterBoundCheck filtered_bound_ = IterBoundCheck::kUnknown;
};

}  // namespace ROCKSDB_NAMESPACE::protean
