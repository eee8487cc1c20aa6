// SPDX-License-Identifier: Apache-2.0

#include "table/trial_builder.h"

#include <algorithm>
#include <utility>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/segments/segmented_block.h"

namespace ROCKSDB_NAMESPACE::protean {

TrialBuilder::TrialBuilder(std::unique_ptr<FilterBitsBuilder> builder,
                           const BlockBasedTableOptions& options,
                           const SliceTransform* prefix_extractor)
    : builder_(std::move(builder)), prefix_extractor_(prefix_extractor) {
  if (!options.partition_filters) return;
  // RocksDB's table builder has these rules, too.
  const uint64_t bytes =
      (options.metadata_block_size *
           static_cast<uint64_t>(100 - options.block_size_deviation) +
       99) /
      100;
  keys_per_part_ = std::max<size_t>(
      1, builder_->ApproximateNumEntries(std::max<uint64_t>(1, bytes)));
}

void TrialBuilder::Add(const Slice& key) {
  if (IsInParts()) CutBefore(key);
  if (prefix_extractor_ != nullptr && prefix_extractor_->InDomain(key)) {
    builder_->AddKeyAndAlt(key, prefix_extractor_->Transform(key));
  } else {
    builder_->AddKey(key);
  }
  if (IsInParts()) last_key_.assign(key.data(), key.size());
}

Status TrialBuilder::Finish(std::unique_ptr<const char[]>* block,
                            Slice* contents, uint64_t* bytes) {
  Status s;
  if (IsInParts()) {
    FinishPart(Slice());
    // RocksDB asks once more, and then writes the parts.
    builder_->EstimateEntriesAdded();
    *bytes = 0;
    for (const Part& part : parts_) *bytes += part.contents.size();
    *contents = JoinParts(block);
  } else {
    *contents = builder_->Finish(block, &s);
    *bytes = contents->size();
  }
  builder_.reset();
  return s;
}

void TrialBuilder::CutBefore(const Slice& key) {
  if (!has_keys_) {
    has_keys_ = true;
  } else if (builder_->EstimateEntriesAdded() >= keys_per_part_ &&
             key != last_key_) {
    // RocksDB would go on to the end of the data block.
    FinishPart(key);
  }
}

void TrialBuilder::FinishPart(const Slice& next_key) {
  Part& part = parts_.emplace_back();
  part.contents = builder_->Finish(&part.block);
  part.last_key = last_key_;
  part.next_key = next_key.ToString();
}

Slice TrialBuilder::JoinParts(std::unique_ptr<const char[]>* block) {
  if (parts_.size() == 1) {
    *block = std::move(parts_[0].block);
    return parts_[0].contents;
  }
  SegmentedBlock segments;
  for (Part& part : parts_) {
    const FilterBlock opened(part.contents);
    segments.Add(opened.header(), part.last_key, std::move(part.block),
                 part.contents.size());
    if (!part.next_key.empty()) segments.EndLast(part.next_key);
  }
  const size_t size = segments.EndAll(/*flags=*/0);
  char* const joined = new char[size]();
  block->reset(joined);
  segments.Write(joined);
  return Slice(joined, size);
}

}  // namespace ROCKSDB_NAMESPACE::protean
