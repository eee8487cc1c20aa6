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

#include "table/block_based/block_based_table_iterator.h"
#include "table/internal_iterator.h"
#include "table/protean_table_reader.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableIterator : public InternalIterator {
 public:
  // Owns `base`, an iterator over reader->table(); both are allocated in an
  // arena or neither is. `read_options` must outlive the iterator.
  ProteanTableIterator(const ProteanTableReader* reader,
                       const ReadOptions& read_options,
                       TableReaderCaller caller, BlockBasedTableIterator* base,
                       bool in_arena)
      : reader_(reader),
        read_options_(read_options),
        lookup_context_(caller),
        base_(base),
        in_arena_(in_arena) {}

  ~ProteanTableIterator() override {
    if (in_arena_) {
      base_->~BlockBasedTableIterator();
    } else {
      delete base_;
    }
  }

  void Seek(const Slice& target) override;
  void SeekToFirst() override;
  void SeekForPrev(const Slice& target) override {
    filtered_ = false;
    base_->SeekForPrev(target);
  }
  void SeekToLast() override {
    filtered_ = false;
    base_->SeekToLast();
  }

  bool Valid() const override { return !filtered_ && base_->Valid(); }
  void Next() override { base_->Next(); }
  bool NextAndGetResult(IterateResult* result) override {
    return base_->NextAndGetResult(result);
  }
  void Prev() override { base_->Prev(); }
  Slice key() const override { return base_->key(); }
  Slice user_key() const override { return base_->user_key(); }
  Slice value() const override { return base_->value(); }
  bool PrepareValue() override { return base_->PrepareValue(); }
  uint64_t write_unix_time() const override { return base_->write_unix_time(); }

  Status status() const override {
    return filtered_ ? Status::OK() : base_->status();
  }
  IterBoundCheck UpperBoundCheckResult() override {
    return filtered_ ? filtered_bound_ : base_->UpperBoundCheckResult();
  }
  bool MayBeOutOfLowerBound() override { return base_->MayBeOutOfLowerBound(); }

  void SetPinnedItersMgr(PinnedIteratorsManager* manager) override {
    base_->SetPinnedItersMgr(manager);
  }
  bool IsKeyPinned() const override {
    return !filtered_ && base_->IsKeyPinned();
  }
  bool IsValuePinned() const override {
    return !filtered_ && base_->IsValuePinned();
  }
  Status GetProperty(std::string name, std::string* value) override {
    return base_->GetProperty(std::move(name), value);
  }
  void GetReadaheadState(ReadaheadFileInfo* info) override {
    base_->GetReadaheadState(info);
  }
  void SetReadaheadState(ReadaheadFileInfo* info) override {
    base_->SetReadaheadState(info);
  }

 private:
  // Asks the filter for [lo, upper bound) and takes the state of a filtered
  // iterator if it says that the range is empty. True if the table must be
  // read.
  bool AskFilter(const Slice& lo, bool* asked);
  void RecordFilterMatch();

  const ProteanTableReader* const reader_;
  const ReadOptions& read_options_;
  BlockCacheLookupContext lookup_context_;
  BlockBasedTableIterator* const base_;
  const bool in_arena_;
  bool filtered_ = false;
  IterBoundCheck filtered_bound_ = IterBoundCheck::kUnknown;
};

}  // namespace ROCKSDB_NAMESPACE::protean
