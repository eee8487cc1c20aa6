// SPDX-License-Identifier: Apache-2.0

//  Builds the parts of a partitioned filter. RocksDB says where they are cut,
//  and writes them to the file after the last key (filter_bits_builder.h).

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/building/cut_requests.h"
#include "filter_policy/building/file_filter_builder.h"

namespace ROCKSDB_NAMESPACE::protean {

class PartitionedFilterBuilder final : public FileFilterBuilder {
 public:
  PartitionedFilterBuilder(FilterKind kind, NewBuilder new_builder,
                           const FilterBuildingContext& context,
                           std::shared_ptr<FinishedFilter> built)
      : FileFilterBuilder(kind, std::move(new_builder), context,
                          std::move(built)),
        whole_keys_(context.table_options.whole_key_filtering) {
    StartBlock(NewFilter());
  }

  void AddKey(const Slice& key) override {
    last_is_prefix_ = false;
    // RocksDB adds the prefix of the last part's last key in this way.
    if (prefixes_ && block_->num_keys() == 0 && !has_first_) {
      has_first_ = true;
      first_.assign(key.data(), key.size());
    } else {
      Add(key);
    }
  }

  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    prefixes_ = true;
    block_->AddFlags(PrefixFlags(key, alt));
    last_is_prefix_ = key.size() == alt.size();
    // RocksDB adds the prefix of the next part's first key in this way. The
    // last key, if it starts with that prefix, answers for it.
    if (last_is_prefix_ && block_->num_keys() > 0 &&
        Slice(last_key_).starts_with(key)) {
      return;
    }
    Add(key);
  }

  // RocksDB asks after the last part, before it writes the parts.
  size_t EstimateEntriesAdded() override {
    if (IsAskedForSize()) return (MaxUncountedBytes() + 1) / 2;
    const size_t entries = block_->num_keys() + (has_first_ ? 1 : 0);
    if (entries == 0 && !waiting_.empty()) Timed([&] { WriteWaiting(); });
    return requests_.Answer(entries, last_is_prefix_);
  }

  size_t ApproximateNumEntries(size_t bytes) override {
    const size_t entries = FileFilterBuilder::ApproximateNumEntries(bytes);
    // Where all entries are prefixes, any may be that of the next key.
    if (whole_keys_) requests_.SetPartSize(entries, bytes);
    return entries;
  }

  // A part is verified when it is written.
  Status MaybePostVerify(const Slice& /*filter_content*/) override {
    return Status::OK();
  }

 protected:
  size_t MaxSize() const override {
    return finished_bytes_ + index_bytes_ + MaxBytesOfBlock();
  }
  Slice FinishBlock(std::unique_ptr<const char[]>* buf) override {
    if (has_first_) AddFirst();
    if (last_is_prefix_) {
      block_->AddFlags(FilterBlockHeader::kMayHoldPrefixes);
    }
    const Status s = block_->Finish();
    if (!s.ok()) NoteFailure("part of a file", s);
    finished_keys_ += block_->header().num_keys;
    const size_t size = block_->size();
    const bool filters = block_->header().kind != FilterKind::kAlwaysTrue;
    requests_.FinishPart(block_->header().num_keys, filters ? size : 0);
    Charge(block_->MemoryUsage() + finished_bytes_ + size);
    finished_bytes_ += size;
    last_part_bytes_ = size;
    index_bytes_ += IndexEntryBytes();
    char* const bytes = new char[size]();
    buf->reset(bytes);
    waiting_.push_back({std::move(block_), bytes});
    BlockBuilder& finished = *waiting_.back().block;
    if (finished.WaitsForParts()) {
      StartBlock(finished.NextPart());
    } else {
      WriteWaiting();
    }
    return Slice(bytes, size);
  }

 private:
  // A finished block whose contents have not been written yet. RocksDB owns the
  // bytes, and reads them when the last part is finished.
  struct Waiting {
    std::unique_ptr<BlockBuilder> block;
    char* bytes;
  };

  // The maximum of the bytes that the last key adds to RocksDB's index of the
  // parts, where a part ends with it, and of what RocksDB adds to the part.
  size_t IndexEntryBytes() const { return last_key_.size() + 48; }
  size_t MaxBytesOfBlock() const {
    if (block_->num_keys() == 0 && !has_first_) return 0;
    // The entry that is not added yet is a prefix.
    return block_->MaxSize() + first_.size() + IndexEntryBytes();
  }
  // RocksDB counts the bytes of finished parts only when a data block ends, and
  // the index only when the file ends.
  size_t MaxUncountedBytes() const {
    return last_part_bytes_ + index_bytes_ + MaxBytesOfBlock();
  }

  void StartBlock(std::unique_ptr<RangeFilterBuilder> builder) {
    FilterBlockHeader header;
    header.is_part = true;
    header.keys_before = finished_keys_;
    if (prefixes_) header.flags = FilterBlockHeader::kAskedForPrefixes;
    block_ = NewBlock(std::move(builder), header);
  }

  void AddFirst() {
    has_first_ = false;
    block_->AddFlags(FilterBlockHeader::kMayHoldPrefixes);
    block_->AddKey(first_);
  }

  void Add(const Slice& key) {
    if (has_first_) {
      // In descending order, a prefix is not in its place before a key that
      // starts with it. The key answers for it.
      if (key.starts_with(first_) && key.compare(last_key_) < 0) {
        has_first_ = false;
      } else {
        AddFirst();
      }
    }
    // Several versions of a key may lie in two parts.
    if (block_->num_keys() == 0 && finished_keys_ > 0 && key == last_key_) {
      block_->CountFirstKeyBefore();
      finished_keys_--;
    }
    last_key_.assign(key.data(), key.size());
    block_->AddKey(key);
    if (IsChargeDue(key)) Charge(block_->MemoryUsage() + finished_bytes_);
  }

  // Writes the blocks that wait, and starts the next part.
  void WriteWaiting() {
    for (const Waiting& waiting : waiting_) {
      BlockBuilder& block = *waiting.block;
      block.Write(waiting.bytes);
      // Writing the first block builds what all of them share.
      if (&waiting == waiting_.data()) {
        Charge(block.MemoryUsage() + finished_bytes_);
      }
      if (verify() && !Verify(Slice(waiting.bytes, block.size()))) {
        block.Overwrite(waiting.bytes);
      }
      Report(block);
    }
    waiting_.clear();
    Charge(finished_bytes_);
    PublishReport();
    StartBlock(NewFilter());
  }

  const bool whole_keys_;
  std::unique_ptr<BlockBuilder> block_;
  CutRequests requests_;
  std::vector<Waiting> waiting_;
  uint64_t finished_keys_ = 0;
  size_t finished_bytes_ = 0;
  size_t last_part_bytes_ = 0;
  size_t index_bytes_ = 0;  // of RocksDB's index of the finished parts
  std::string last_key_;
  // Whether RocksDB adds prefixes, and whether the last entry may be one.
  bool prefixes_ = false;
  bool last_is_prefix_ = false;
  // The first entry of the block if it may be a prefix and is not added yet.
  bool has_first_ = false;
  std::string first_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
