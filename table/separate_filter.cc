// SPDX-License-Identifier: Apache-2.0

#include "table/separate_filter.h"

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/comparator.h"

namespace ROCKSDB_NAMESPACE::protean {

bool FilterKnowsKeysInOrder(const BlockBasedFile& file) {
  const Comparator* const comparator = file.user_comparator();
  return (comparator == BytewiseComparator() ||
          comparator == BytewiseComparatorWithU64Ts()) &&
         file.whole_key_filtering();
}

std::shared_ptr<const SeparateFilter> SeparateFilter::Open(
    const BlockBasedFile& file) {
  using FilterState = BlockBasedFile::FilterState;
  const FilterState state = file.filter_state();
  if ((state != FilterState::kFull && state != FilterState::kPartitioned) ||
      AsProteanFilterPolicy(file.filter_policy()) == nullptr) {
    return nullptr;
  }
  return std::shared_ptr<const SeparateFilter>(new SeparateFilter(file));
}

SeparateFilter::SeparateFilter(const BlockBasedFile& file) {
  if (file.filter_state() == BlockBasedFile::FilterState::kPartitioned) {
    LookAtParts(file);
  } else {
    // Policies of Protean make no other readers.
    LookAtBlock(
        static_cast<const ProteanFilterBitsReader*>(file.GetPinnedFilter())
            ->block());
    if (header_.is_segmented) TakeReport(file);
  }
}

void SeparateFilter::LookAtBlock(const FilterBlock& block) {
  block_ = &block;
  if (block.CanFilter()) filter_ = block_;
  status_ = block.status();
  header_ = block.header();
  if (block.filter() != nullptr) report_ = block.filter()->Report();
}

void SeparateFilter::LookAtParts(const BlockBasedFile& file) {
  const bool in_order = FilterKnowsKeysInOrder(file);
  parts_ = std::make_unique<PartitionedFilter>(
      file, read_options_, &lookup_context_, in_order, /*reports=*/nullptr);
  status_ = parts_->Open();
  if (!status_.ok()) return;
  bool knows_keys = true;
  parts_->ForEachPart([&](const Status& s, const FilterBlock* part) {
    num_parts_++;
    if (!s.ok() && status_.ok()) status_ = s;
    if (part == nullptr) {
      knows_keys = false;
      return;
    }
    const FilterBlockHeader& header = part->header();
    const uint16_t flags = header_.flags;
    knows_keys = knows_keys && part->CanFilter();
    if (part->CanFilter() && header_.kind == FilterKind::kAlwaysTrue) {
      header_ = header;
      smallest_ = header.smallest.ToString();
      if (in_order) filter_ = parts_.get();
    }
    header_.flags = static_cast<uint16_t>(flags | header.flags);
    header_.num_keys = header.keys_before + header.num_keys;
    largest_ = header.largest.ToString();
  });
  // A part that could hold no keys does not know the smallest and the largest.
  if (!in_order || !knows_keys) smallest_ = largest_ = "";
  header_.smallest = smallest_;
  header_.largest = largest_;
  TakeReport(file);
}

// Takes the report of the whole filter from the file's properties.
void SeparateFilter::TakeReport(const BlockBasedFile& file) {
  const auto properties = file.table()->GetTableProperties();
  if (properties == nullptr) return;
  report_ = ReportOf(properties->user_collected_properties);
}

bool SeparateFilter::MayMatch(const Slice& entry, const Slice& key) const {
  if (block_ != nullptr) return block_->EntryMayMatch(entry);
  return num_parts_ == 0 || parts_->EntryMayMatch(entry, key);
}

}  // namespace ROCKSDB_NAMESPACE::protean
