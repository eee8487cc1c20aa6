// SPDX-License-Identifier: Apache-2.0

#include "table/part_cursor.h"

#include <algorithm>

#include "filter_policy/protean_filter_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The part of a key that a block would store of it.
Slice StoredPart(const Slice& key) {
  return Slice(key.data(),
               std::min(key.size(), FilterBlockHeader::kMaxStoredKey));
}

}  // namespace

Status PartCursor::Open() {
  Status s = parts_.Open();
  if (!s.ok()) return s;
  parts_.SeekToFirst();
  if (parts_.Valid()) return s;
  s = parts_.status();
  return s.ok() ? Status::Corruption("the index of the filter's parts is empty")
                : s;
}

bool PartCursor::AtEnd() {
  Status s = parts_.status();
  if (s.ok()) {
    parts_.SeekToLast();
    if (!parts_.Valid() || parts_.next_offset() != parts_.end_offset()) {
      s = Status::Corruption("the index of the filter's parts lacks the end");
    }
  }
  if (!s.ok()) ReportDamaged(s);
  return s.ok();
}

bool PartCursor::IsLast() {
  parts_.Next();
  const bool is_last = !parts_.Valid();
  if (is_last) {
    parts_.SeekToLast();
  } else {
    parts_.Prev();
  }
  return is_last;
}

const FilterBlock* PartCursor::Part() {
  const uint64_t offset = parts_.offset();
  if (slots_[latest_].offset == offset) return slots_[latest_].part;
  latest_ = 1 - latest_;
  Slot& slot = slots_[latest_];
  if (slot.offset == offset) return slot.part;
  const FilterBlock* block;
  const Status s = Load(&block);
  const bool may_be_used = s.ok() && block != nullptr && block->CanFilter();
  slot.part = may_be_used ? block : nullptr;
  slot.offset = offset;
  return slot.part;
}

Status PartCursor::Load(const FilterBlock** block) {
  Slot& slot = slots_[latest_];
  slot.hold.Reset();
  slot.offset = ~uint64_t{0};
  *block = nullptr;
  FilterBitsReader* filter;
  Status s = parts_.Get(&slot.hold, &filter);
  if (!s.ok()) {
    if (reports_ != nullptr) reports_->ReportUnreadPart(s);
    return s;
  }
  if (filter == nullptr) return Status::Corruption("a part has no bytes");
  // Policies of Protean make no other readers.
  *block = &static_cast<const ProteanFilterBitsReader*>(filter)->block();
  s = Check(**block);
  if (!s.ok()) ReportDamaged(s);
  return s;
}

// Leaves the cursor at the part, or nowhere if the index cannot be read.
Status PartCursor::Check(const FilterBlock& block) {
  if (!block.status().ok()) return block.status();
  const Status gap = Status::Corruption(
      "the index of the filter's parts lacks a part, or has one twice");
  const FilterBlockHeader& header = block.header();
  // With prefixes of neighboring keys, a part reaches a little further.
  const bool has_range =
      in_order_ && header.num_keys > 0 && block.CanFilter() &&
      (header.flags & FilterBlockHeader::kMayHoldPrefixes) == 0;
  bool is_in_place = header.is_part &&
                     (!has_range || header.largest.compare(parts_.end()) <= 0);

  const uint64_t offset = parts_.offset();
  const uint64_t behind = parts_.next_offset();
  parts_.Next();
  if (parts_.Valid()) {
    const bool follows = parts_.offset() == behind;
    parts_.Prev();
    if (!follows) return gap;
  } else if (!parts_.status().ok()) {
    return parts_.status();
  } else {
    parts_.SeekToLast();
    if (parts_.end_offset() != behind) return gap;
  }

  parts_.Prev();
  if (parts_.Valid()) {
    const bool follows = parts_.next_offset() == offset;
    is_in_place =
        is_in_place &&
        (!has_range || header.smallest.compare(StoredPart(parts_.end())) >= 0);
    parts_.Next();
    if (!follows) return gap;
  } else if (!parts_.status().ok()) {
    return parts_.status();
  } else {
    parts_.SeekToFirst();
    if (header.keys_before != 0) return gap;
  }
  return is_in_place ? Status::OK()
                     : Status::Corruption(
                           "a part of the filter holds other keys than the "
                           "index of the parts says");
}

}  // namespace ROCKSDB_NAMESPACE::protean
