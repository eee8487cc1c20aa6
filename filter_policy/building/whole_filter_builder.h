// SPDX-License-Identifier: Apache-2.0

//  Builds the one filter block of a file, in segments where its keys take much
//  memory (segmented_filter.h).

#pragma once

#include <memory>
#include <utility>

#include "filter_policy/building/file_filter_builder.h"
#include "filter_policy/segments/segmented_block.h"

namespace ROCKSDB_NAMESPACE::protean {

class WholeFilterBuilder final : public FileFilterBuilder {
 public:
  WholeFilterBuilder(FilterKind kind, NewBuilder new_builder,
                     const FilterBuildingContext& context,
                     std::shared_ptr<FinishedFilter> built)
      : FileFilterBuilder(kind, std::move(new_builder), context,
                          std::move(built)) {
    block_ = NewBlock(NewFilter(), FilterBlockHeader());
  }

  void AddKey(const Slice& key) override {
    if (block_ == nullptr && !BeginSegment(key)) return;
    block_->AddKey(key);
    if (IsChargeDue(key)) ChargeForKeys();
  }

  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    flags_ |= PrefixFlags(key, alt);
    AddKey(key);
  }

  size_t EstimateEntriesAdded() override {
    return plain_keys_ + segments_.num_keys() +
           (block_ == nullptr ? 0 : block_->num_keys());
  }

  Status MaybePostVerify(const Slice& filter_content) override {
    return verify() ? FilterBlock(filter_content).status() : Status::OK();
  }

 protected:
  size_t MaxSize() const override {
    if (segments_.empty()) {
      return block_ == nullptr ? 0 : block_->MaxSize();
    }
    // The envelope of a segment is as large as that of a part, at most.
    return segments_.MaxSize(block_ == nullptr ? Slice() : block_->last_key()) +
           (block_ == nullptr ? 0 : block_->MaxSize());
  }
  Slice FinishBlock(std::unique_ptr<const char[]>* buf) override {
    return segments_.empty() ? FinishPlain(buf) : FinishSegments(buf);
  }

 private:
  Slice FinishPlain(std::unique_ptr<const char[]>* buf) {
    EndBlock();
    const size_t size = block_->size();
    Charge(block_->MemoryUsage() + size);
    char* const bytes = new char[size]();
    buf->reset(bytes);
    block_->Write(bytes);
    Report(*block_);
    PublishReport();
    plain_keys_ = block_->header().num_keys;
    block_.reset();
    Charge(size);
    return Slice(bytes, size);
  }

  Slice FinishSegments(std::unique_ptr<const char[]>* buf) {
    if (block_ != nullptr) EndSegment();
    const size_t size = segments_.EndAll(flags_);
    Charge(segments_.bytes() + size);
    char* const bytes = new char[size]();
    buf->reset(bytes);
    segments_.Write(bytes);
    if (segments_.HoldsNoKeys()) ReportNoFilter(segments_.num_keys(), size);
    PublishReport();
    Charge(size);
    return Slice(bytes, size);
  }

  // Code that few keys need is out of line, so that AddKey needs no registers
  // for it.
  [[gnu::noinline]] void ChargeForKeys() {
    Charge(block_->MemoryUsage() + segments_.bytes());
    if (block_->IsFull()) Timed([&] { EndSegment(); });
  }

  // Begins a segment with a key. Returns false if the key belongs to none: no
  // segment can hold the keys, or it is the last one of the segment before. A
  // key may come in several versions.
  [[gnu::noinline]] bool BeginSegment(const Slice& key) {
    if (segments_.HoldsNoKeys()) {
      segments_.CountKey(key);
      return false;
    }
    const int order = key.compare(segments_.last_key());
    if (order == 0) return false;
    FilterBlockHeader header;
    header.keys_before = segments_.num_keys();
    block_ = NewBlock(NewFilter(), header);
    if (order > 0) {
      segments_.EndLast(key);
    } else {
      block_->SetUnordered();
    }
    return true;
  }

  void EndSegment() {
    block_->MakePart();
    EndBlock();
    const size_t size = block_->size();
    Charge(block_->MemoryUsage() + segments_.bytes() + size);
    std::unique_ptr<char[]> bytes(new char[size]());
    block_->Write(bytes.get());
    Report(*block_);
    segments_.Add(block_->header(), block_->last_key(), std::move(bytes), size);
    block_.reset();
    Charge(segments_.bytes());
  }

  void EndBlock() {
    block_->AddFlags(flags_);
    const Status s = block_->Finish();
    if (!s.ok()) NoteFailure("file", s);
  }

  std::unique_ptr<BlockBuilder> block_;  // nullptr between two segments
  SegmentedBlock segments_;
  uint64_t plain_keys_ = 0;  // of a finished filter that has no segments
  uint16_t flags_ = 0;       // of the header
};

}  // namespace ROCKSDB_NAMESPACE::protean
