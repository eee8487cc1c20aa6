// SPDX-License-Identifier: Apache-2.0

#include "table/partitioned_filter.h"

#include <algorithm>

#include "filter_policy/protean_filter_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The part of a key that a block would store of it.
Slice StoredPart(const Slice& key) {
  return Slice(key.data(),
               std::min(key.size(), FilterBlockHeader::kMaxStoredKey));
}

// Counts the keys of a part from `lo` on; the part ends at `end`.
bool CountFrom(const FilterBlock& part, const Slice& lo, const Slice& end,
               RangeCount* count) {
  if (lo.compare(part.smallest()) <= 0) {
    count->count = part.header().num_keys;
    return true;
  }
  const bool counted = part.CountRange(lo, end, /*hi_inclusive=*/true, count);
  count->high_ambiguous = false;
  return counted;
}

}  // namespace

const FilterBlock* PartitionedFilter::Part() const {
  const uint64_t offset = parts_.offset();
  if (offset == part_offset_) return part_;
  const Status s = Load(&part_);
  if (!s.ok() || part_ == nullptr || !part_->CanFilter()) part_ = nullptr;
  if (!s.ok() && reports_ != nullptr) reports_->ReportPart(s);
  return part_;
}

Status PartitionedFilter::Load(const FilterBlock** block) const {
  hold_.Reset();
  part_offset_ = parts_.offset();
  *block = nullptr;
  FilterBitsReader* filter;
  const Status s = parts_.Get(&hold_, &filter);
  if (!s.ok()) return s;
  // Policies of Protean make no other readers.
  *block = &static_cast<const ProteanFilterBitsReader*>(filter)->block();
  return Check(**block);
}

// Compares the keys of a part with what the index says of them.
Status PartitionedFilter::Check(const FilterBlock& block) const {
  if (!block.CanFilter()) return block.status();
  const FilterBlockHeader& header = block.header();
  // With prefixes of neighboring keys, a part reaches a little further.
  if ((header.flags & FilterBlockHeader::kMayHoldPrefixes) != 0) {
    return Status::OK();
  }
  bool is_in_place = header.is_part && header.num_keys > 0 &&
                     header.largest.compare(parts_.end()) <= 0;
  if (is_in_place) {
    parts_.Prev();
    if (parts_.Valid()) {
      is_in_place = header.smallest.compare(StoredPart(parts_.end())) >= 0;
      parts_.Next();
    } else {
      parts_.SeekToFirst();
    }
  }
  return is_in_place ? Status::OK()
                     : Status::Corruption(
                           "a part of the filter holds other keys than the "
                           "index of the parts says");
}

bool PartitionedFilter::IsLast() const {
  parts_.Next();
  const bool is_last = !parts_.Valid();
  if (is_last) {
    parts_.SeekToLast();
  } else {
    parts_.Prev();
  }
  return is_last;
}

// ---- Points and ranges ----

bool PartitionedFilter::KeyMayMatch(const Slice& key) const {
  parts_.Seek(key);
  if (!parts_.Valid()) return false;
  const FilterBlock* const part = Part();
  return part == nullptr || part->KeyMayMatch(key);
}

bool PartitionedFilter::RangeMayMatch(const Slice& lo, const Slice& hi,
                                      bool hi_inclusive) const {
  parts_.Seek(lo);
  if (!parts_.Valid()) return false;
  const FilterBlock* part = Part();
  if (part == nullptr || part->RangeMayMatch(lo, hi, hi_inclusive)) return true;
  // A key that ends a part is in that part, even if the next one has it too.
  if (hi.compare(parts_.end()) <= 0) return false;
  parts_.Next();
  if (!parts_.Valid()) return false;
  // All keys of this part are in the range.
  if (hi.compare(parts_.end()) > 0) return true;
  part = Part();
  return part == nullptr || part->RangeMayMatch(lo, hi, hi_inclusive);
}

bool PartitionedFilter::PrefixMayMatch(const Slice& prefix) const {
  parts_.Seek(prefix);
  if (!parts_.Valid()) return false;
  const FilterBlock* const part = Part();
  if (part == nullptr ||
      (part->header().flags & FilterBlockHeader::kPrefixesUnknown) != 0) {
    return true;
  }
  std::string end;
  return !FirstBehindPrefix(prefix, &end) ||
         RangeMayMatch(prefix, end, /*hi_inclusive=*/false);
}

// ---- Seeks ----

bool PartitionedFilter::Bound(const Slice& target, BoundFunction bound_in,
                              std::string* bound) const {
  for (parts_.Seek(target); parts_.Valid(); parts_.Next()) {
    const FilterBlock* const part = Part();
    if (part == nullptr) {
      bound->assign(target.data(), target.size());
      return true;
    }
    if ((part->*bound_in)(target, bound)) return true;
  }
  return false;
}

bool PartitionedFilter::LowerBoundIsSlow(const Slice& target) const {
  parts_.Seek(target);
  if (!parts_.Valid()) return false;
  const FilterBlock* const part = Part();
  return part != nullptr && part->LowerBoundIsSlow(target);
}

// ---- Counts ----

bool PartitionedFilter::CountRange(const Slice& lo, const Slice& hi,
                                   bool hi_inclusive, RangeCount* count) const {
  *count = RangeCount();
  count->has_limits = true;
  parts_.Seek(lo);
  if (!parts_.Valid()) return true;
  const FilterBlock* part = Part();
  if (part == nullptr) return false;
  count->low_limit = parts_.end().ToString();
  if (hi.compare(count->low_limit) <= 0) {
    RangeCount inside;
    if (!part->CountRange(lo, hi, hi_inclusive, &inside)) return false;
    inside.has_limits = true;
    inside.low_limit = inside.high_limit = count->low_limit;
    *count = std::move(inside);
    return true;
  }
  // All keys of this part from `lo` on, which none of the others is beyond.
  RangeCount low;
  if (!CountFrom(*part, lo, count->low_limit, &low)) return false;
  count->count = low.count;
  count->low_ambiguous = low.low_ambiguous;
  count->low_shared = low.low_shared;
  const FilterBlockHeader low_header = part->header();
  parts_.Seek(hi);
  const bool is_behind = !parts_.Valid();
  if (is_behind) parts_.SeekToLast();
  if (parts_.offset() == part_offset_) return true;
  part = Part();
  if (part == nullptr) return false;
  count->high_limit = parts_.end().ToString();
  RangeCount high;
  if (is_behind) {
    high.count = part->header().num_keys;
  } else if (!part->CountRange(Slice(), hi, hi_inclusive, &high)) {
    return false;
  }
  // The difference is negative where this part begins with the key with which
  // the other one ends.
  count->count += high.count + part->header().keys_before -
                  (low_header.keys_before + low_header.num_keys);
  count->high_ambiguous = high.high_ambiguous;
  count->high_shared = high.high_shared;
  return true;
}

// ---- Ends ----

bool PartitionedFilter::MayHaveKeyAtOrAbove(const Slice& bound) const {
  parts_.Seek(bound);
  if (!parts_.Valid()) return false;
  if (!IsLast()) return true;
  const FilterBlock* const part = Part();
  return part == nullptr || part->MayHaveKeyAtOrAbove(bound);
}

bool PartitionedFilter::MayHaveKeyAtOrBelow(const Slice& bound) const {
  parts_.SeekToFirst();
  if (!parts_.Valid() || bound.compare(parts_.end()) >= 0) return true;
  const FilterBlock* const part = Part();
  return part == nullptr || part->MayHaveKeyAtOrBelow(bound);
}

bool PartitionedFilter::HasKeyBelow(const Slice& bound) const {
  parts_.SeekToFirst();
  if (!parts_.Valid()) return false;
  if (bound.compare(parts_.end()) > 0) return true;
  const FilterBlock* const part = Part();
  return part != nullptr && part->HasKeyBelow(bound);
}

bool PartitionedFilter::HasKeyAtOrAbove(const Slice& bound) const {
  parts_.Seek(bound);
  if (!parts_.Valid()) return false;
  if (!IsLast()) return true;
  const FilterBlock* const part = Part();
  return part != nullptr && part->HasKeyAtOrAbove(bound);
}

bool PartitionedFilter::HasKeys() const {
  parts_.SeekToFirst();
  return parts_.Valid();
}

Slice PartitionedFilter::smallest() const {
  parts_.SeekToFirst();
  const FilterBlock* const part = parts_.Valid() ? Part() : nullptr;
  return part == nullptr ? Slice() : part->smallest();
}

Slice PartitionedFilter::largest() const {
  parts_.SeekToLast();
  const FilterBlock* const part = parts_.Valid() ? Part() : nullptr;
  return part == nullptr ? Slice() : part->largest();
}

void PartitionedFilter::ForEachPart(
    const std::function<void(const Status& status, const FilterBlock* part)>&
        visit) const {
  for (parts_.SeekToFirst(); parts_.Valid(); parts_.Next()) {
    const FilterBlock* block;
    const Status s = Load(&block);
    visit(s, block);
  }
  part_offset_ = ~uint64_t{0};
}

}  // namespace ROCKSDB_NAMESPACE::protean
